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
    let mut count = |letter: bool, visible: bool| {
        tokens += usize::from(if letter { letters % LETTERS == 0 } else { visible });
        letters = if letter { letters + 1 } else { 0 };
    };
    if text.is_ascii() {
        text.bytes().for_each(|b| count(b.is_ascii_alphabetic(), b == b'\n' || !char::from(b).is_whitespace()));
    } else {
        text.chars().for_each(|c| count(c.is_alphabetic(), c == '\n' || !c.is_whitespace()));
    }
    tokens
}
