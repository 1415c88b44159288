//! Grammars for the short texts that a model writes: pick a handle, list some triples, write a few
//! words. A decoder can be constrained to a grammar. [`crate::call`] defines the calls of the tool
//! loop; this module knows only text.
//!
//! A grammar compiles to a nondeterministic finite automaton over bytes. The acceptor's state is
//! the set of automaton states reached by the prefix. Automaton states that cannot reach the end
//! are removed at construction, so every accepted prefix can be completed.

use common::acceptor::Acceptor;

/// A language of single-line texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grammar {
    /// This exact text.
    Text(String),
    /// A sequence.
    Seq(Vec<Grammar>),
    /// One of the alternatives; an empty list matches no text.
    Any(Vec<Grammar>),
    /// Between `min` and `max` of the items, each at most once, in the given order.
    List {
        /// The items.
        items: Vec<Grammar>,
        /// Between two items.
        separator: String,
        /// Fewest items.
        min: usize,
        /// Most items.
        max: usize,
    },
    /// Between `min` and `max` characters, excluding control characters and those in `stop`.
    Free {
        /// Fewest characters.
        min: usize,
        /// Most characters.
        max: usize,
        /// ASCII characters that end the free text.
        stop: String,
    },
}

impl Grammar {
    /// Fixed text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }
    /// A sequence.
    #[must_use]
    pub fn seq(parts: impl IntoIterator<Item = Self>) -> Self {
        Self::Seq(parts.into_iter().collect())
    }
    /// One of several alternatives.
    #[must_use]
    pub fn any(choices: impl IntoIterator<Item = Self>) -> Self {
        Self::Any(choices.into_iter().collect())
    }
    /// One of several fixed texts.
    #[must_use]
    pub fn one_of<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self::any(texts.into_iter().map(Self::text))
    }
    /// The part or the empty text.
    #[must_use]
    pub fn maybe(part: Self) -> Self {
        Self::any([part, Self::text("")])
    }
    /// Between `min` and `max` of the items, in their order.
    #[must_use]
    pub fn list(
        items: impl IntoIterator<Item = Self>,
        separator: &str,
        min: usize,
        max: usize,
    ) -> Self {
        Self::List {
            items: items.into_iter().collect(),
            separator: separator.to_owned(),
            min,
            max,
        }
    }
    /// Free text on one line.
    #[must_use]
    pub fn free(min: usize, max: usize, stop: &str) -> Self {
        Self::Free {
            min,
            max,
            stop: stop.to_owned(),
        }
    }

    /// Whether `text` is in the language.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        let acceptor = GrammarAcceptor::new(self);
        let end = text
            .bytes()
            .try_fold(acceptor.start(), |state, byte| acceptor.step(&state, byte));
        end.is_some_and(|state| acceptor.may_end(&state))
    }
}

/// Accepts exactly the texts of a grammar.
#[derive(Clone, Debug)]
pub struct GrammarAcceptor {
    states: Vec<State>,
    start: Vec<u32>,
}

/// One state of the automaton.
#[derive(Clone, Debug, Default)]
struct State {
    /// Byte ranges (both ends inclusive) and the state that each leads to.
    bytes: Vec<(u8, u8, u32)>,
    /// States reachable without consuming input (epsilon transitions).
    epsilon: Vec<u32>,
}

/// The accepting state.
const END: u32 = 0;

/// The multi-byte characters of UTF-8, as sequences of byte ranges.
const BEYOND_ASCII: &[&[(u8, u8)]] = &[
    &[(0xc2, 0xdf), (0x80, 0xbf)],
    &[(0xe0, 0xe0), (0xa0, 0xbf), (0x80, 0xbf)],
    &[(0xe1, 0xec), (0x80, 0xbf), (0x80, 0xbf)],
    &[(0xed, 0xed), (0x80, 0x9f), (0x80, 0xbf)],
    &[(0xee, 0xef), (0x80, 0xbf), (0x80, 0xbf)],
    &[(0xf0, 0xf0), (0x90, 0xbf), (0x80, 0xbf), (0x80, 0xbf)],
    &[(0xf1, 0xf3), (0x80, 0xbf), (0x80, 0xbf), (0x80, 0xbf)],
    &[(0xf4, 0xf4), (0x80, 0x8f), (0x80, 0xbf), (0x80, 0xbf)],
];

impl GrammarAcceptor {
    /// Compiles a grammar.
    #[must_use]
    pub fn new(grammar: &Grammar) -> Self {
        let mut built = Self {
            states: vec![State::default()],
            start: Vec::new(),
        };
        let start = built.compile(grammar, END);
        built.prune();
        built.start = built.closure([start]);
        built
    }

    fn state(&mut self) -> u32 {
        self.states.push(State::default());
        u32::try_from(self.states.len() - 1).unwrap_or(u32::MAX)
    }

    /// Compiles a grammar so that it leads to `to`, working from the end; returns its first state.
    fn compile(&mut self, grammar: &Grammar, to: u32) -> u32 {
        match grammar {
            Grammar::Text(text) => text.bytes().rev().fold(to, |to, byte| {
                let state = self.state();
                self.states[state as usize].bytes.push((byte, byte, to));
                state
            }),
            Grammar::Seq(parts) => parts
                .iter()
                .rev()
                .fold(to, |to, part| self.compile(part, to)),
            Grammar::Any(choices) => {
                let starts: Vec<u32> = choices
                    .iter()
                    .map(|choice| self.compile(choice, to))
                    .collect();
                let state = self.state();
                self.states[state as usize].epsilon = starts;
                state
            }
            Grammar::List {
                items,
                separator,
                min,
                max,
            } => self.list(items, separator, *min, *max, to),
            Grammar::Free { min, max, stop } => {
                let mut next = to;
                for written in (0..*max).rev() {
                    let state = self.character(stop, next);
                    // The minimum is reached before this character, so the text may also end here.
                    if written >= *min {
                        self.states[state as usize].epsilon.push(to);
                    }
                    next = state;
                }
                next
            }
        }
    }

    /// One character that is neither a control character nor in `stop`.
    fn character(&mut self, stop: &str, to: u32) -> u32 {
        let mut bytes: Vec<(u8, u8, u32)> = (b' '..=b'~')
            .filter(|&byte| !stop.contains(char::from(byte)))
            .map(|byte| (byte, byte, to))
            .collect();
        for run in BEYOND_ASCII {
            let mut next = to;
            for &(low, high) in run[1..].iter().rev() {
                let state = self.state();
                self.states[state as usize].bytes.push((low, high, next));
                next = state;
            }
            bytes.push((run[0].0, run[0].1, next));
        }
        let state = self.state();
        self.states[state as usize].bytes = bytes;
        state
    }

    /// One state for each item and each number of items written before it, built from the end.
    fn list(&mut self, items: &[Grammar], separator: &str, min: usize, max: usize, to: u32) -> u32 {
        let max = max.min(items.len());
        // If every item may be listed, counts above the minimum are equivalent and share a state.
        let most = if max == items.len() {
            min.clamp(1, max.max(1))
        } else {
            max
        };
        let ends = |count: usize| count >= min;
        let mut next: Vec<u32> = (0..=most)
            .map(|count| {
                let state = self.state();
                if ends(count) {
                    self.states[state as usize].epsilon.push(to);
                }
                state
            })
            .collect();
        for item in items.iter().rev() {
            let mut here = Vec::with_capacity(most + 1);
            for count in 0..=most {
                let state = self.state();
                let mut epsilon = vec![next[count]];
                let after = if max == items.len() {
                    (count + 1).min(most)
                } else {
                    count + 1
                };
                if after <= most {
                    let item = self.compile(item, next[after]);
                    epsilon.push(if count == 0 {
                        item
                    } else {
                        self.compile(&Grammar::text(separator), item)
                    });
                }
                self.states[state as usize].epsilon = epsilon;
                here.push(state);
            }
            next = here;
        }
        next[0]
    }

    /// Removes transitions to states that cannot reach the end.
    fn prune(&mut self) {
        let mut before: Vec<Vec<u32>> = vec![Vec::new(); self.states.len()];
        for (i, state) in self.states.iter().enumerate() {
            let i = u32::try_from(i).unwrap_or(u32::MAX);
            for &to in state
                .bytes
                .iter()
                .map(|(_, _, to)| to)
                .chain(&state.epsilon)
            {
                before[to as usize].push(i);
            }
        }
        let mut leads = vec![false; self.states.len()];
        let mut open = vec![END];
        while let Some(state) = open.pop() {
            if !std::mem::replace(&mut leads[state as usize], true) {
                open.extend(&before[state as usize]);
            }
        }
        for state in &mut self.states {
            state.bytes.retain(|(_, _, to)| leads[*to as usize]);
            state.epsilon.retain(|to| leads[*to as usize]);
        }
    }

    /// All states reachable from the states in `from` without consuming input (epsilon closure),
    /// reduced to those that can consume a byte or accept.
    fn closure(&self, from: impl IntoIterator<Item = u32>) -> Vec<u32> {
        let mut open: Vec<u32> = from.into_iter().collect();
        let mut seen = rustc_hash::FxHashSet::default();
        let mut kept = Vec::new();
        while let Some(state) = open.pop() {
            if seen.insert(state) {
                let at = &self.states[state as usize];
                open.extend(&at.epsilon);
                if state == END || !at.bytes.is_empty() {
                    kept.push(state);
                }
            }
        }
        kept.sort_unstable();
        kept
    }
}

impl Acceptor for GrammarAcceptor {
    type State = Vec<u32>;

    fn start(&self) -> Self::State {
        self.start.clone()
    }

    fn step(&self, state: &Self::State, byte: u8) -> Option<Self::State> {
        let follow = state
            .iter()
            .flat_map(|&state| &self.states[state as usize].bytes);
        let mut next = follow
            .filter(|(low, high, _)| (*low..=*high).contains(&byte))
            .map(|(_, _, to)| *to)
            .peekable();
        next.peek()?;
        Some(self.closure(next))
    }

    fn may_end(&self, state: &Self::State) -> bool {
        state.first() == Some(&END)
    }
}

#[cfg(test)]
#[allow(clippy::expect_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// All texts of a grammar without free text.
    fn all(grammar: &Grammar) -> Vec<String> {
        match grammar {
            Grammar::Text(text) => vec![text.clone()],
            Grammar::Seq(parts) => parts.iter().fold(vec![String::new()], |heads, part| {
                let tails = all(part);
                heads
                    .iter()
                    .flat_map(|head| tails.iter().map(move |tail| format!("{head}{tail}")))
                    .collect()
            }),
            Grammar::Any(choices) => choices.iter().flat_map(all).collect(),
            Grammar::List {
                items,
                separator,
                min,
                max,
            } => {
                let picks = (0u32..1 << items.len())
                    .filter(|bits| (*min..=*max).contains(&(bits.count_ones() as usize)));
                let chosen = picks.map(|bits| {
                    items
                        .iter()
                        .enumerate()
                        .filter(move |(i, _)| bits >> i & 1 == 1)
                        .map(|(_, item)| item)
                });
                let lists = chosen.flat_map(|items| {
                    let items: Vec<&Grammar> = items.collect();
                    let Some((first, rest)) = items.split_first() else {
                        return Vec::new();
                    };
                    rest.iter().fold(all(first), |heads, item| {
                        let tails = all(item);
                        heads
                            .iter()
                            .flat_map(|head| {
                                tails
                                    .iter()
                                    .map(move |tail| format!("{head}{separator}{tail}"))
                            })
                            .collect()
                    })
                });
                lists.chain((*min == 0).then(String::new)).collect()
            }
            Grammar::Free { .. } => unreachable!(),
        }
    }

    /// All texts that the acceptor accepts, found by exhaustive search.
    fn accepted(grammar: &Grammar) -> Vec<String> {
        let acceptor = GrammarAcceptor::new(grammar);
        let mut open = vec![(Vec::new(), acceptor.start())];
        let mut texts = Vec::new();
        while let Some((text, state)) = open.pop() {
            if acceptor.may_end(&state) {
                texts.push(String::from_utf8(text.clone()).expect("ASCII"));
            }
            for byte in 0..=255u8 {
                if let Some(next) = acceptor.step(&state, byte) {
                    let longer = text.iter().copied().chain([byte]).collect();
                    open.push((longer, next));
                }
            }
        }
        texts.sort();
        texts
    }

    fn grammars() -> impl Strategy<Value = Grammar> {
        let leaf = "[ab]{0,2}".prop_map(Grammar::Text);
        leaf.prop_recursive(3, 12, 3, |inner| {
            let some = proptest::collection::vec(inner, 0..3);
            prop_oneof![
                some.clone().prop_map(Grammar::Seq),
                some.clone().prop_map(Grammar::Any),
                (some, 0..3usize, 0..4usize)
                    .prop_map(|(items, min, max)| Grammar::list(items, ",", min, max)),
            ]
        })
    }

    proptest! {
        #[test]
        fn an_acceptor_takes_exactly_the_texts_of_its_grammar(grammar in grammars()) {
            let mut expected = all(&grammar);
            expected.sort();
            expected.dedup();
            prop_assert_eq!(accepted(&grammar), expected);
        }
    }

    #[test]
    fn a_list_keeps_order_and_bounds() {
        let list = Grammar::list((0..20).map(|i| Grammar::text(format!("t{i}"))), " ", 1, 3);
        for (text, good) in [
            ("t1", true),
            ("t1 t11 t19", true),
            ("t2 t1", false),
            ("t1 t1", false),
            ("t1 t2 t3 t4", false),
            ("", false),
        ] {
            assert_eq!(list.matches(text), good, "{text}");
        }
    }

    #[test]
    fn free_text_is_whole_characters_up_to_a_stop() {
        let free = Grammar::seq([Grammar::free(1, 4, "<>"), Grammar::text(">")]);
        for (text, good) in [
            ("é字a😀>", true),
            ("abcde>", false),
            (">", false),
            ("a<b>", false),
            ("a\n>", false),
            ("ab>", true),
        ] {
            assert_eq!(free.matches(text), good, "{text}");
        }
        let acceptor = GrammarAcceptor::new(&free);
        assert!(
            acceptor.step(&acceptor.start(), 0xc0).is_none(),
            "no overlong bytes"
        );
    }

    #[test]
    fn what_cannot_be_finished_cannot_be_begun() {
        let dead = Grammar::any([
            Grammar::seq([Grammar::text("a"), Grammar::any([])]),
            Grammar::text("b"),
        ]);
        let acceptor = GrammarAcceptor::new(&dead);
        assert!(acceptor.step(&acceptor.start(), b'a').is_none());
        assert!(dead.matches("b"));
    }
}
