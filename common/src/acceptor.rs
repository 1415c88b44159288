//! The trait behind constrained decoding: it says which byte may come next.
//!
//! The engine knows only this trait. The languages that implement it (calls, ODA's actions, Triad's
//! triples and templates) live in `toolbox`.

/// A language of byte strings, accepted byte by byte. Every reachable state can be completed.
pub trait Acceptor {
    /// The position in the language after some prefix.
    type State: Clone;
    /// The state before the first byte.
    fn start(&self) -> Self::State;
    /// The state after one more byte, or `None` if the byte may not follow.
    fn step(&self, state: &Self::State, byte: u8) -> Option<Self::State>;
    /// Whether the text may end here.
    fn may_end(&self, state: &Self::State) -> bool;

    /// Whether `text` as a whole belongs to the language.
    fn accepts(&self, text: &str) -> bool {
        text.bytes()
            .try_fold(self.start(), |state, byte| self.step(&state, byte))
            .is_some_and(|state| self.may_end(&state))
    }
}
