//! Token masks: which tokens may follow under an [`Acceptor`], which bytes must follow, and how a
//! text can be completed.
//!
//! A token may follow if and only if the acceptor accepts all of its bytes. A state from which no
//! token can be written is an error, never an invalid text.

use std::collections::HashMap;

use common::acceptor::Acceptor;

use crate::trie::TokenTrie;

/// Maximum number of forced bytes appended at once, in case an acceptor loops forever.
const MAX_FORCED: usize = 4096;
/// Maximum length of a completion.
const MAX_COMPLETION: usize = 4096;
/// Maximum number of texts of one length that the search for a completion keeps.
const MAX_FRONT: usize = 512;
/// A state with more possible next bytes than this is treated as free text.
const WIDE: u32 = 48;
/// Maximum number of texts of one length kept with the same set of next bytes.
const MAX_ALIKE: usize = 4;

/// Writes the allowed tokens to `out`, sorted. `pending` holds bytes that are settled but not yet
/// written as tokens; `state` is the acceptor's state after them. A token is allowed if it is a
/// prefix of `pending`, or consists of `pending` and bytes that the acceptor accepts.
pub fn allowed<A: Acceptor>(
    trie: &TokenTrie,
    acceptor: &A,
    state: &A::State,
    pending: &[u8],
    out: &mut Vec<u32>,
) {
    enum At<S> {
        Pending(usize),
        Free(S),
    }
    out.clear();
    let start = if pending.is_empty() {
        At::Free(state.clone())
    } else {
        At::Pending(0)
    };
    let step = |at: &At<A::State>, byte: u8| match at {
        At::Free(state) => acceptor.step(state, byte).map(At::Free),
        At::Pending(i) if pending[*i] != byte => None,
        At::Pending(i) if i + 1 < pending.len() => Some(At::Pending(i + 1)),
        At::Pending(_) => Some(At::Free(state.clone())),
    };
    trie.for_each_accepted(start, step, |id| out.push(id));
    out.sort_unstable();
}

/// Whether some token spells `settled` and at least one more byte that the acceptor accepts after
/// `state`.
pub(crate) fn can_grow<A: Acceptor>(
    trie: &TokenTrie,
    acceptor: &A,
    state: &A::State,
    settled: &[u8],
) -> bool {
    let mut grows = false;
    let step = |at: &(usize, Option<A::State>), byte: u8| match settled.get(at.0) {
        Some(&want) => {
            (want == byte).then(|| (at.0 + 1, (at.0 + 1 == settled.len()).then(|| state.clone())))
        }
        None => {
            at.1.as_ref()
                .and_then(|s| acceptor.step(s, byte))
                .map(|next| (at.0 + 1, Some(next)))
        }
    };
    trie.for_each_accepted((0, settled.is_empty().then(|| state.clone())), step, |id| {
        grows |= trie.bytes(id).is_some_and(|b| b.len() > settled.len());
    });
    grows
}

/// The bytes that may follow, at most `limit` of them.
pub(crate) fn next_bytes<A: Acceptor>(acceptor: &A, state: &A::State, limit: usize) -> Vec<u8> {
    (0..=255)
        .filter(|&b| acceptor.step(state, b).is_some())
        .take(limit)
        .collect()
}

/// Appends to `out` the bytes that must follow (there is no alternative, and the text may not end
/// before them) and returns the state after them.
pub fn forced<A: Acceptor>(acceptor: &A, mut state: A::State, out: &mut Vec<u8>) -> A::State {
    for _ in 0..MAX_FORCED {
        if acceptor.may_end(&state) {
            break;
        }
        let [byte] = next_bytes(acceptor, &state, 2)[..] else {
            break;
        };
        let Some(next) = acceptor.step(&state, byte) else {
            break;
        };
        out.push(byte);
        state = next;
    }
    state
}

/// A short text that leads from `state` to a state in which the text may end. The search is
/// breadth-first over bytes. Of each length it keeps at most [`MAX_ALIKE`] texts with the same set
/// of next bytes, and only one if that set is large (inside a quoted string, for example). The
/// result is the shortest completion if few texts are alike, otherwise a short one. `None` if there
/// is no completion of up to [`MAX_COMPLETION`] bytes.
pub fn shortest<A: Acceptor>(acceptor: &A, state: &A::State) -> Option<Vec<u8>> {
    if acceptor.may_end(state) {
        return Some(Vec::new());
    }
    // Each text is a link to the text that it extends.
    let mut links: Vec<(usize, u8)> = Vec::new();
    let mut front = vec![PartialText {
        link: usize::MAX,
        state: state.clone(),
        bytes: follows(acceptor, state),
        looped: false,
    }];
    for _ in 0..MAX_COMPLETION {
        let mut alike: HashMap<[u64; 4], usize> = HashMap::new();
        let mut next: Vec<PartialText<A::State>> = Vec::new();
        for open in &front {
            for byte in open.tries() {
                let Some(after) = acceptor.step(&open.state, byte) else {
                    continue;
                };
                if acceptor.may_end(&after) {
                    let mut text = vec![byte];
                    let mut at = open.link;
                    while let Some(&(before, byte)) = links.get(at) {
                        text.push(byte);
                        at = before;
                    }
                    text.reverse();
                    return Some(text);
                }
                let bytes = follows(acceptor, &after);
                let wide = bytes.iter().map(|b| b.count_ones()).sum::<u32>() > WIDE;
                let seen = alike.entry(bytes).or_default();
                *seen += 1;
                if *seen <= if wide { 1 } else { MAX_ALIKE } && next.len() < MAX_FRONT {
                    links.push((open.link, byte));
                    next.push(PartialText {
                        link: links.len() - 1,
                        state: after,
                        bytes,
                        looped: wide && bytes == open.bytes,
                    });
                }
            }
        }
        front = next;
    }
    None
}

/// An unfinished text of the search.
struct PartialText<S> {
    link: usize,
    state: S,
    /// The bytes that may follow.
    bytes: [u64; 4],
    /// The set of next bytes is large and the same as before the last byte.
    looped: bool,
}

impl<S> PartialText<S> {
    /// The bytes to extend the text with: all of them, or inside free text one of each kind and
    /// every punctuation mark, because punctuation ends free text.
    fn tries(&self) -> Vec<u8> {
        let may = |b: u8| self.bytes[usize::from(b) / 64] >> (b % 64) & 1 == 1;
        let all = (0..=255u8).filter(|&b| may(b));
        if !self.looped {
            return all.collect();
        }
        let kind = |b: u8| match b {
            b'a'..=b'z' => Some(0),
            b'A'..=b'Z' => Some(1),
            b'0'..=b'9' => Some(2),
            0x80.. => Some(3),
            _ => None,
        };
        let mut had = [false; 4];
        all.filter(|&b| kind(b).is_none_or(|k| !std::mem::replace(&mut had[k], true)))
            .collect()
    }
}

/// The bytes that may follow, as a bit set.
fn follows<A: Acceptor>(acceptor: &A, state: &A::State) -> [u64; 4] {
    let mut bits = [0; 4];
    for byte in 0..=255u8 {
        if acceptor.step(state, byte).is_some() {
            bits[usize::from(byte) / 64] |= 1 << (byte % 64);
        }
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A language given by its steps; it may end in state 9.
    struct Steps(fn(u8, u8) -> Option<u8>);

    impl Acceptor for Steps {
        type State = u8;

        fn start(&self) -> u8 {
            0
        }

        fn step(&self, state: &u8, byte: u8) -> Option<u8> {
            self.0(*state, byte)
        }

        fn may_end(&self, state: &u8) -> bool {
            *state == 9
        }
    }

    fn completion(step: fn(u8, u8) -> Option<u8>) -> Option<String> {
        let text = shortest(&Steps(step), &0)?;
        Some(String::from_utf8_lossy(&text).into_owned())
    }

    #[test]
    fn free_text_is_extended_by_one_byte_of_each_kind_and_all_punctuation() {
        let text = |looped| PartialText {
            link: 0,
            state: (),
            bytes: [u64::MAX; 4],
            looped,
        };
        assert_eq!(text(false).tries(), (0..=255).collect::<Vec<u8>>());
        let others = (0..128u8).filter(|byte| !byte.is_ascii_alphanumeric());
        let mut wanted: Vec<u8> = others.chain([b'a', b'A', b'0', 0x80]).collect();
        wanted.sort_unstable();
        assert_eq!(text(true).tries(), wanted);
        // The bytes that may not follow are not tried.
        let few = PartialText {
            bytes: [0, 1 << (b'q' % 64) | 1 << (b'x' % 64), 1 << 63, 1],
            ..text(true)
        };
        assert_eq!(few.tries(), [b'q', 191]);
    }

    #[test]
    fn a_completion_is_short() {
        // The first byte of free text may be any letter, so the one that ends it is found.
        let letter_ends = |state, byte| match (state, byte) {
            (0, b'<') => Some(1),
            (1, b'q') => Some(9),
            (1, _) => Some(1),
            _ => None,
        };
        assert_eq!(completion(letter_ends).as_deref(), Some("<q"));
        let quoted = |state, byte| match (state, byte) {
            (0, b'"') => Some(1),
            (1, b'"') => Some(2),
            (1, _) => Some(1),
            (2, b')') => Some(9),
            _ => None,
        };
        assert_eq!(completion(quoted).as_deref(), Some("\"\")"));
        // Of two ways the shorter one, though it is tried later.
        let ways = |state, byte| match (state, byte) {
            (0, b'a') => Some(1),
            (1, b'a') => Some(2),
            (0, b'z') => Some(2),
            (2, b'.') => Some(9),
            _ => None,
        };
        assert_eq!(completion(ways).as_deref(), Some("z."));
        assert_eq!(shortest(&Steps(ways), &9), Some(Vec::new()));
        // A dead end has none.
        assert_eq!(
            completion(|state, byte| (state == 0 && byte == b'a').then_some(1)),
            None
        );
    }

    #[test]
    fn only_bytes_without_an_alternative_are_forced() {
        let steps = Steps(|state, byte| match (state, byte) {
            (0, b'a') => Some(1),
            (1, b'b') => Some(2),
            (2, b'c') => Some(9),
            (2, b'd') => Some(3),
            (3, b'e') => Some(9),
            (9, b'f') => Some(9),
            _ => None,
        });
        let text = |from| {
            let mut out = Vec::new();
            let state = forced(&steps, from, &mut out);
            (out, state)
        };
        assert_eq!(text(0), (b"ab".to_vec(), 2));
        assert_eq!(text(3), (b"e".to_vec(), 9));
        assert_eq!(text(9), (Vec::new(), 9));
        assert_eq!(next_bytes(&steps, &2, 9), b"cd");
        assert_eq!(next_bytes(&steps, &2, 1), b"c");
        // A loop without an end is left.
        let mut out = Vec::new();
        forced(&Steps(|_, byte| (byte == b'x').then_some(1)), 0, &mut out);
        assert_eq!(out.len(), MAX_FORCED);
    }
}
