//! Token counts for texts whose model is unknown. The estimate is an upper bound in practice:
//! byte-level BPE vocabularies with at least 32,000 entries rarely exceed it on prompts of this
//! project.

/// Letters per token in the estimate. English words take fewer tokens; relation names such as
/// `sports.athlete.teams` take about this many.
const LETTERS: usize = 4;

/// Estimated tokens of a text: one per started group of four letters, one per digit and per other
/// visible character, one per line break. Other white space is free.
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
