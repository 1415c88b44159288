//! How long a text is for a model, where no model is known: an estimate that byte-level BPE vocabularies of 32,000 entries and more rarely
//! exceed on prompts like ours.

/// Letters that one token stands for in the estimate. English words cost less; relation names such as `sports.athlete.teams` about this.
const LETTERS: usize = 4;

/// Tokens of a text by estimate: one for every four letters of a run of letters begun, one for every digit and every other visible character,
/// one for every line break; spaces go with what follows.
///
/// ```
/// assert_eq!(toolbox::tokens::estimate("v0 = get_tail_entity(e0, film.film.directed_by)"), 22);
/// ```
#[must_use]
pub fn estimate(text: &str) -> usize {
    let (mut tokens, mut letters) = (0, 0);
    for c in text.chars() {
        if c.is_alphabetic() {
            tokens += usize::from(letters % LETTERS == 0);
            letters += 1;
            continue;
        }
        letters = 0;
        tokens += usize::from(c == '\n' || !c.is_whitespace());
    }
    tokens
}
