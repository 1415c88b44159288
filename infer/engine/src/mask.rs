//! Constrained decoding: which tokens of a vocabulary may come next under an [`Acceptor`], which bytes must, and how a text can be finished.
//!
//! A token may follow exactly where the acceptor takes all of its bytes. Nothing else is ever allowed: a state from which no token can be
//! written is an error, never an invalid text.
use super::trie::TokenTrie;
use common::acceptor::Acceptor;
use std::collections::HashMap;

/// The longest run of forced bytes taken at once, so that an acceptor that loops for ever is no trap.
const MAX_FORCED: usize = 4096;
/// The longest completion looked for.
const MAX_COMPLETION: usize = 4096;
/// Texts of one length that the search for a completion keeps.
const MAX_FRONT: usize = 512;
/// More ways on than this is free text.
const WIDE: u32 = 48;
/// Texts of one length kept after which the same bytes may follow.
const MAX_ALIKE: usize = 4;

/// Puts into `out`, sorted, the tokens that may follow. `pending` are bytes already settled but not yet written as tokens; `state` is the
/// acceptor's state after them. A token is allowed where it is a prefix of `pending`, or `pending` and bytes the acceptor takes.
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
    trie.walk(start, step, |id| out.push(id));
    out.sort_unstable();
}

/// Whether some token spells `settled` and at least one more byte that the acceptor takes after `state`.
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
    trie.walk((0, settled.is_empty().then(|| state.clone())), step, |id| {
        grows |= trie.bytes(id).is_some_and(|b| b.len() > settled.len())
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

/// Appends to `out` the bytes that must follow (no other may, and the text may not end before them) and returns the state after them.
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

/// A short text that leads from `state` to one where the text may end: breadth-first over bytes, keeping of each length at most
/// [`MAX_ALIKE`] texts after which the same bytes may follow, and one where many may (the inside of a quoted string, however it was reached).
/// So it is the shortest where few texts look alike, and a short one elsewhere. `None` where none of up to [`MAX_COMPLETION`] bytes was found.
pub fn shortest<A: Acceptor>(acceptor: &A, state: &A::State) -> Option<Vec<u8>> {
    if acceptor.may_end(state) {
        return Some(Vec::new());
    }
    // Texts are kept as links to the text they continue.
    let mut links: Vec<(usize, u8)> = Vec::new();
    let mut front = vec![Open {
        link: usize::MAX,
        state: state.clone(),
        bytes: follows(acceptor, state),
        looped: false,
    }];
    for _ in 0..MAX_COMPLETION {
        let mut alike: HashMap<[u64; 4], usize> = HashMap::new();
        let mut next: Vec<Open<A::State>> = Vec::new();
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
                    next.push(Open {
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

/// A text of the search that is not finished.
struct Open<S> {
    link: usize,
    state: S,
    /// The bytes that may follow.
    bytes: [u64; 4],
    /// Many bytes may follow, and the same as before the last one.
    looped: bool,
}

impl<S> Open<S> {
    /// The bytes to go on with: all, or inside free text one of each kind and every punctuation mark, since that is what ends it.
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

/// The bytes that may follow, as bits.
fn follows<A: Acceptor>(acceptor: &A, state: &A::State) -> [u64; 4] {
    let mut bits = [0; 4];
    for byte in 0..=255u8 {
        if acceptor.step(state, byte).is_some() {
            bits[usize::from(byte) / 64] |= 1 << (byte % 64);
        }
    }
    bits
}

/// Any UTF-8 text: what an unconstrained model may write.
#[derive(Debug, Clone, Copy, Default)]
pub struct AnyText;

/// Where [`AnyText`] stands inside a character: continuation bytes still to come and the bounds of the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InChar {
    left: u8,
    low: u8,
    high: u8,
}

impl Acceptor for AnyText {
    type State = InChar;

    fn start(&self) -> InChar {
        InChar {
            left: 0,
            low: 0x80,
            high: 0xbf,
        }
    }

    fn step(&self, state: &InChar, byte: u8) -> Option<InChar> {
        let (left, low, high) = match (state.left, byte) {
            (0, 0x00..=0x7f) => (0, 0x80, 0xbf),
            (0, 0xc2..=0xdf) => (1, 0x80, 0xbf),
            (0, 0xe0) => (2, 0xa0, 0xbf),
            (0, 0xed) => (2, 0x80, 0x9f),
            (0, 0xe1..=0xef) => (2, 0x80, 0xbf),
            (0, 0xf0) => (3, 0x90, 0xbf),
            (0, 0xf1..=0xf3) => (3, 0x80, 0xbf),
            (0, 0xf4) => (3, 0x80, 0x8f),
            (0, _) => return None,
            (left, _) if (state.low..=state.high).contains(&byte) => (left - 1, 0x80, 0xbf),
            _ => return None,
        };
        Some(InChar { left, low, high })
    }

    fn may_end(&self, state: &InChar) -> bool {
        state.left == 0
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn any_text_is_utf8_and_nothing_else() {
        let accepts = |bytes: &[u8]| {
            let end = bytes
                .iter()
                .try_fold(AnyText.start(), |s, &b| AnyText.step(&s, b));
            end.is_some_and(|s| AnyText.may_end(&s))
        };
        for a in 0..=255u8 {
            for b in 0..=255u8 {
                for tail in [&[][..], &[0x80], &[0xbf, 0x90], &[0x41]] {
                    let text = [&[a, b], tail].concat();
                    assert_eq!(
                        accepts(&text),
                        std::str::from_utf8(&text).is_ok(),
                        "{text:x?}"
                    );
                }
            }
        }
    }
}
