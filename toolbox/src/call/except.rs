//! The difference of a language and a finite set of texts: keeps a planner from repeating a call
//! that was rejected or already made.

use std::ops::RangeInclusive;

use common::acceptor::Acceptor;

/// The language of `inner` without some texts. Every accepted prefix can still be completed.
#[derive(Debug)]
pub struct Except<'a, A> {
    inner: &'a A,
    /// The excluded texts as a trie; the first node is the empty prefix.
    nodes: Vec<Node>,
}

#[derive(Clone, Debug, Default)]
struct Node {
    next: Vec<(u8, usize)>,
    /// An excluded text ends here.
    out: bool,
    /// Every completion of this prefix is excluded.
    dead: bool,
}

/// A prefix whose continuations are being looked at.
struct OpenPrefix<S> {
    node: usize,
    state: S,
    /// The bytes that are left to try.
    bytes: RangeInclusive<u8>,
    /// Whether some completion is not excluded.
    live: bool,
}

/// A prefix: its state in the language and its trie node while it is a prefix of an excluded text.
#[derive(Clone, Debug)]
pub struct ExceptState<S> {
    inner: S,
    at: Option<usize>,
}

impl<'a, A: Acceptor> Except<'a, A> {
    /// Excludes `texts` from the language of `inner`; texts outside the language have no effect.
    #[must_use]
    pub fn new<T: AsRef<str>>(inner: &'a A, texts: impl IntoIterator<Item = T>) -> Self {
        let mut nodes = vec![Node::default()];
        for text in texts {
            let mut at = 0;
            for &byte in text.as_ref().as_bytes() {
                let known = nodes[at]
                    .next
                    .iter()
                    .find(|(next, _)| *next == byte)
                    .map(|(_, to)| *to);
                at = known.unwrap_or_else(|| {
                    nodes.push(Node::default());
                    let new = nodes.len() - 1;
                    nodes[at].next.push((byte, new));
                    new
                });
            }
            nodes[at].out = true;
        }
        let mut made = Self { inner, nodes };
        made.mark();
        made
    }

    /// Whether no text is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes[0].dead
    }

    /// Marks prefixes without completions. It keeps its own stack: an excluded text may be long.
    fn mark(&mut self) {
        let mut open = vec![self.opened(0, self.inner.start())];
        while let Some(top) = open.last_mut() {
            let Some(byte) = top.bytes.next() else {
                let (node, live) = (top.node, top.live);
                self.nodes[node].dead = !live;
                open.pop();
                if let Some(before) = open.last_mut() {
                    before.live |= live;
                }
                continue;
            };
            let Some(next) = self.inner.step(&top.state, byte) else {
                continue;
            };
            let known = &self.nodes[top.node].next;
            match known.iter().find(|(known, _)| *known == byte) {
                Some(&(_, child)) => open.push(self.opened(child, next)),
                None => top.live = true,
            }
        }
    }

    fn opened(&self, node: usize, state: A::State) -> OpenPrefix<A::State> {
        OpenPrefix {
            node,
            live: self.inner.may_end(&state) && !self.nodes[node].out,
            state,
            bytes: 0..=u8::MAX,
        }
    }
}

impl<A: Acceptor> Acceptor for Except<'_, A> {
    type State = ExceptState<A::State>;

    fn start(&self) -> Self::State {
        ExceptState {
            inner: self.inner.start(),
            at: Some(0),
        }
    }

    fn step(&self, state: &Self::State, byte: u8) -> Option<Self::State> {
        let inner = self.inner.step(&state.inner, byte)?;
        let at = state.at.and_then(|at| {
            self.nodes[at]
                .next
                .iter()
                .find(|(next, _)| *next == byte)
                .map(|(_, to)| *to)
        });
        (!at.is_some_and(|at| self.nodes[at].dead)).then_some(ExceptState { inner, at })
    }

    fn may_end(&self, state: &Self::State) -> bool {
        self.inner.may_end(&state.inner) && !state.at.is_some_and(|at| self.nodes[at].out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::{Grammar, GrammarAcceptor};

    fn all<A: Acceptor>(acceptor: &A) -> Vec<String> {
        let mut open = vec![(Vec::new(), acceptor.start())];
        let mut texts = Vec::new();
        while let Some((text, state)) = open.pop() {
            let ways: Vec<_> = (0..=u8::MAX)
                .filter_map(|byte| Some((byte, acceptor.step(&state, byte)?)))
                .collect();
            assert!(
                acceptor.may_end(&state) || !ways.is_empty() || text.is_empty(),
                "{text:?} cannot be completed"
            );
            if acceptor.may_end(&state) {
                texts.push(String::from_utf8_lossy(&text).into_owned());
            }
            open.extend(
                ways.into_iter()
                    .map(|(byte, next)| (text.iter().copied().chain([byte]).collect(), next)),
            );
        }
        texts.sort();
        texts
    }

    #[test]
    fn what_is_taken_out_cannot_be_written_and_all_else_can() {
        let words = ["a", "ab", "abc", "abd", "b", "bcd", "bce"];
        let language = GrammarAcceptor::new(&Grammar::one_of(words));
        for bits in 0u32..1 << words.len() {
            let out: Vec<&str> = words
                .iter()
                .enumerate()
                .filter(|(i, _)| bits >> i & 1 == 1)
                .map(|(_, word)| *word)
                .collect();
            let left: Vec<&str> = words
                .iter()
                .filter(|word| !out.contains(word))
                .copied()
                .collect();
            let except = Except::new(&language, out.iter().copied().chain(["zz", "abcx"]));
            assert_eq!(all(&except), left, "without {out:?}");
            assert_eq!(except.is_empty(), left.is_empty());
        }
    }

    /// The language of all texts of the letter `a`.
    struct Letters;

    impl Acceptor for Letters {
        type State = ();
        fn start(&self) {}
        fn step(&self, (): &(), byte: u8) -> Option<()> {
            (byte == b'a').then_some(())
        }
        fn may_end(&self, (): &()) -> bool {
            true
        }
    }

    #[test]
    fn a_long_text_does_not_fill_the_stack() {
        let except = Except::new(&Letters, ["a".repeat(200_000)]);
        assert!(!except.is_empty());
    }
}
