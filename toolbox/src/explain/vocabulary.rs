//! The words of a graph's relations and classes, as translation tables see them.

use kg::words;

use crate::rank::{content, stem};

/// The stems of a relation's printed name or label: its last segment and, if there is one, the
/// segment before it.
pub(super) fn relation_stems(name: &str) -> Vec<String> {
    let (own, domain) = split(name);
    let mut stems = stems(own);
    stems.extend(domain_stems(domain));
    stems.sort_unstable();
    stems.dedup();
    stems
}

/// The stems of a text; if it has only stop words, of all its words.
pub(super) fn stems(text: &str) -> Vec<String> {
    let mut own = content(text);
    if own.is_empty() {
        own = words(text);
    }
    let mut stems: Vec<String> = own.iter().map(|word| stem(word)).collect();
    stems.sort_unstable();
    stems.dedup();
    stems
}

/// The last segment of a name, and the one before it.
pub(super) fn split(name: &str) -> (&str, &str) {
    let ends = ['.', '/', '#', ':'];
    let name = name.trim_matches(['<', '>']);
    match name.rsplit_once(ends) {
        Some((before, last)) => (last, before.rsplit(ends).next().unwrap_or_default()),
        None => (name, ""),
    }
}

/// The stems of the segment before the last one; a single letter or digit is a namespace's name.
pub(super) fn domain_stems(domain: &str) -> Vec<String> {
    if domain.chars().count() > 2 {
        stems(domain)
    } else {
        Vec::new()
    }
}
