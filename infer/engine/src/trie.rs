//! The vocabulary as a byte trie, stored in preorder so that a traversal is one pass with jumps.

/// A node: one byte after the bytes of its parent.
#[derive(Debug, Clone, Copy)]
struct TrieNode {
    byte: u8,
    /// Depth of this node; the children of the root have depth 0.
    depth: u32,
    /// The first node after the descendants of this one.
    end: u32,
    /// Tokens that end here, in `tokens`.
    first_token: u32,
    last_token: u32,
}

/// All text tokens by their bytes. Special and added tokens must be left out, because every token
/// in the trie can become text.
#[derive(Debug, Clone)]
pub struct TokenTrie {
    nodes: Vec<TrieNode>,
    /// Token ids ordered by bytes.
    tokens: Vec<u32>,
    /// The bytes of all tokens, concatenated, and the span of each id.
    text: Vec<u8>,
    spans: Vec<(u32, u32)>,
}

impl TokenTrie {
    /// Builds the trie of `(id, bytes)`. Tokens without bytes are skipped.
    pub fn new(vocab: impl Iterator<Item = (u32, Vec<u8>)>) -> Self {
        let mut vocab: Vec<(Vec<u8>, u32)> = vocab
            .filter(|(_, b)| !b.is_empty())
            .map(|(id, b)| (b, id))
            .collect();
        vocab.sort_unstable();
        vocab.dedup();
        let mut trie = Self {
            nodes: Vec::new(),
            tokens: Vec::with_capacity(vocab.len()),
            text: Vec::new(),
            spans: Vec::new(),
        };
        let mut path: Vec<usize> = Vec::new();
        let mut previous: &[u8] = &[];
        for (bytes, id) in &vocab {
            let shared = previous
                .iter()
                .zip(bytes)
                .take_while(|(a, b)| a == b)
                .count();
            trie.close(&mut path, shared);
            for (depth, &byte) in bytes.iter().enumerate().skip(shared) {
                let here = trie.tokens.len() as u32;
                path.push(trie.nodes.len());
                trie.nodes.push(TrieNode {
                    byte,
                    depth: depth as u32,
                    end: 0,
                    first_token: here,
                    last_token: here,
                });
            }
            trie.tokens.push(*id);
            if let Some(&node) = path.last() {
                trie.nodes[node].last_token = trie.tokens.len() as u32;
            }
            let from = trie.text.len() as u32;
            trie.text.extend_from_slice(bytes);
            let slot = *id as usize;
            if trie.spans.len() <= slot {
                trie.spans.resize(slot + 1, (0, 0));
            }
            trie.spans[slot] = (from, trie.text.len() as u32);
            previous = bytes;
        }
        trie.close(&mut path, 0);
        trie
    }

    fn close(&mut self, path: &mut Vec<usize>, keep: usize) {
        let end = self.nodes.len() as u32;
        for node in path.drain(keep..) {
            self.nodes[node].end = end;
        }
    }

    /// The bytes of a text token.
    #[must_use]
    pub fn bytes(&self, id: u32) -> Option<&[u8]> {
        let &(from, to) = self.spans.get(id as usize)?;
        (from < to).then(|| &self.text[from as usize..to as usize])
    }

    /// The largest id of a text token, plus one.
    #[must_use]
    pub fn id_bound(&self) -> usize {
        self.spans.len()
    }

    /// Spells `text` greedily with the longest matching tokens; `None` if no token matches.
    pub(crate) fn longest_match(&self, mut text: &[u8]) -> Option<Vec<u32>> {
        let mut ids = Vec::new();
        while !text.is_empty() {
            let mut longest = None;
            let step = |&at: &usize, byte: u8| (text.get(at) == Some(&byte)).then_some(at + 1);
            self.for_each_accepted(0, step, |id| longest = Some(id));
            let id = longest?;
            ids.push(id);
            text = &text[self.bytes(id)?.len()..];
        }
        Some(ids)
    }

    /// Calls `token` for every token whose bytes `step` accepts one by one from `start`. Subtrees
    /// after a rejected byte are skipped.
    pub(crate) fn for_each_accepted<S>(
        &self,
        start: S,
        step: impl Fn(&S, u8) -> Option<S>,
        mut token: impl FnMut(u32),
    ) {
        // states[d]: the state before a node of depth d.
        let mut states = vec![start];
        let mut at = 0;
        while let Some(node) = self.nodes.get(at) {
            states.truncate(node.depth as usize + 1);
            match step(&states[node.depth as usize], node.byte) {
                Some(state) => {
                    states.push(state);
                    self.tokens[node.first_token as usize..node.last_token as usize]
                        .iter()
                        .for_each(|&id| token(id));
                    at += 1;
                }
                None => at = node.end as usize,
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn traversal_visits_every_token_once_and_skips_rejected_subtrees() {
        let words = ["a", "ab", "abc", "b", "bc", "", "ab", "x"];
        let trie = TokenTrie::new(
            words
                .iter()
                .enumerate()
                .map(|(i, w)| (i as u32, w.as_bytes().to_vec())),
        );
        let mut all = Vec::new();
        trie.for_each_accepted((), |(), _| Some(()), |id| all.push(id));
        all.sort_unstable();
        assert_eq!(all, vec![0, 1, 2, 3, 4, 6, 7]);
        let mut some = Vec::new();
        trie.for_each_accepted(
            2u8,
            |&left, byte| {
                if byte == b'x' {
                    None
                } else {
                    left.checked_sub(1)
                }
            },
            |id| some.push(id),
        );
        some.sort_unstable();
        assert_eq!(some, vec![0, 1, 3, 4, 6]);
        assert_eq!(
            (trie.bytes(2), trie.bytes(5), trie.bytes(99)),
            (Some(b"abc".as_slice()), None, None)
        );
    }
}
