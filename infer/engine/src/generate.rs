//! Constrained generation: the model decides, forced text is appended in one step, and the text
//! ends within its budget.

use common::acceptor::Acceptor;
use common::cancel::Cancelled;

use crate::error::EngineError;
use crate::mask;
use crate::sample::{Decision, choose};
use crate::vocab::Vocab;

/// Number of possible next bytes up to which settled tokens are checked against every continuation.
const LOOKAHEAD: usize = 8;
/// Final bytes of settled text that a longer token may still absorb: a name such as
/// `geography.mountain.elevation` can be one token.
const UNSETTLED: usize = 64;

/// A source of logits: a [`DecodeSession`](crate::DecodeSession), or a stand-in in tests.
pub trait Decoder {
    /// Logits after `ids`, which usually share a prefix with those of the last call.
    ///
    /// # Errors
    /// Those of the model.
    fn next(&mut self, ids: &[u32]) -> Result<&[f32], EngineError>;
    /// Number of logits.
    fn vocab_size(&self) -> usize;
    /// Maximum number of tokens.
    fn max_context(&self) -> usize;
    /// Whether the text is still wanted; asked before each token.
    ///
    /// # Errors
    /// If the caller cancelled it or its deadline has passed.
    fn wanted(&self) -> Result<(), Cancelled> {
        Ok(())
    }
}

/// A generated text.
#[derive(Debug, Clone, PartialEq)]
pub struct Generated {
    /// The text.
    pub text: String,
    /// Its tokens as the tokenizer encodes it, without the end token.
    pub ids: Vec<u32>,
    /// Sum of the decisions' log-probabilities under the constraint.
    pub logprob: f64,
    /// Number of decisions by the model.
    pub decided: usize,
    /// Number of tokens appended without a decision.
    pub forced: usize,
    /// Whether the budget was exceeded and a short completion taken.
    pub cut: bool,
    /// The decisions.
    pub decisions: Vec<Decision>,
}

/// A position to which an overlong text can be reset.
struct Checkpoint<S> {
    bytes: usize,
    state: S,
    decisions: usize,
    forced: usize,
}

/// The text being written.
struct Draft<'a, A: Acceptor> {
    acceptor: &'a A,
    encode: &'a dyn Fn(&str) -> Vec<u32>,
    vocab: &'a Vocab,
    /// Everything settled, including the tokenizer's leading space.
    text: Vec<u8>,
    /// The acceptor's state after `text`.
    state: A::State,
    /// Tokens written, and the bytes of `text` that they cover; the rest is pending.
    ids: Vec<u32>,
    written: usize,
    forced: usize,
    budget: usize,
}

/// Writes a text of the acceptor's language after `prompt`, of at most `max_new_tokens` tokens
/// without the end token. The model chooses among the tokens that keep the text in the language.
/// Bytes that must follow are appended without decoding and tokenised together with the text before
/// them.
///
/// `encode` is the tokenizer, without special tokens. If it fails it may return nothing; the text
/// is then spelled with the longest matching tokens.
///
/// # Errors
/// [`EngineError::Stuck`] if the language has a dead end or cannot be spelled,
/// [`EngineError::Budget`] if its shortest text is too long, [`EngineError::Cancelled`], and the
/// decoder's errors. The text is
/// never outside the language.
pub fn generate<A: Acceptor>(
    decoder: &mut dyn Decoder,
    prompt: &[u32],
    acceptor: &A,
    encode: &dyn Fn(&str) -> Vec<u32>,
    vocab: &Vocab,
    max_new_tokens: usize,
) -> Result<Generated, EngineError> {
    let budget = max_new_tokens.min(room(decoder, prompt, vocab)?);
    let mut draft = Draft {
        acceptor,
        encode,
        vocab,
        text: if vocab.adds_space {
            vec![b' ']
        } else {
            Vec::new()
        },
        state: acceptor.start(),
        ids: Vec::new(),
        written: 0,
        forced: 0,
        budget,
    };
    let mut checkpoints = vec![draft.checkpoint(0)];
    let mut decisions: Vec<Decision> = Vec::new();
    let (mut candidates, mut context) = (Vec::new(), prompt.to_vec());
    loop {
        decoder.wanted()?;
        draft.append_forced();
        let may_end = acceptor.may_end(&draft.state);
        if may_end && mask::next_bytes(acceptor, &draft.state, 1).is_empty() {
            break;
        }
        mask::allowed(
            &vocab.trie,
            acceptor,
            &draft.state,
            &draft.text[draft.written..],
            &mut candidates,
        );
        if may_end && draft.written == draft.text.len() {
            candidates.push(vocab.end);
        }
        let token = match candidates[..] {
            [] => return Err(stuck(&draft.text)),
            [only] => {
                draft.forced += usize::from(only != vocab.end);
                only
            }
            _ => {
                checkpoints.push(draft.checkpoint(decisions.len()));
                context.truncate(prompt.len());
                context.extend_from_slice(&draft.ids);
                let decision = choose(draft.ids.len(), decoder.next(&context)?, &candidates);
                decisions.push(decision);
                decision.token
            }
        };
        if token == vocab.end {
            break;
        }
        draft.write(token)?;
        if draft.ids.len() > budget {
            return draft.cut(&checkpoints, decisions);
        }
    }
    let ids = draft.spell(&draft.text)?;
    if ids.len() > budget {
        return draft.cut(&checkpoints, decisions);
    }
    draft.finish(ids, decisions, false)
}

impl<A: Acceptor> Draft<'_, A> {
    fn checkpoint(&self, decisions: usize) -> Checkpoint<A::State> {
        Checkpoint {
            bytes: self.text.len(),
            state: self.state.clone(),
            decisions,
            forced: self.forced,
        }
    }

    /// Appends a token and the bytes it settles.
    fn write(&mut self, token: u32) -> Result<(), EngineError> {
        let bytes = self.vocab.trie.bytes(token).unwrap_or_default();
        let settled = (self.text.len() - self.written).min(bytes.len());
        for &byte in &bytes[settled..] {
            let Some(next) = self.acceptor.step(&self.state, byte) else {
                return Err(stuck(&self.text));
            };
            self.state = next;
            self.text.push(byte);
        }
        self.written += bytes.len();
        self.ids.push(token);
        Ok(())
    }

    /// Appends the bytes that must follow, and writes as tokens as much of the text as every
    /// continuation tokenises in the same way.
    fn append_forced(&mut self) {
        let before = self.text.len();
        self.state = mask::forced(self.acceptor, self.state.clone(), &mut self.text);
        if self.text.len() == before {
            return;
        }
        let whole = match std::str::from_utf8(&self.text) {
            Ok(_) => self.text.len(),
            Err(e) => e.valid_up_to(),
        };
        let Some(ids) = self.canonical(&self.text[..whole]) else {
            return;
        };
        let keep = self.settled_tokens(&ids, whole);
        let bytes = self.bytes_of(&ids[..keep]);
        if bytes > self.written {
            self.forced += keep.saturating_sub(self.ids.len());
            self.ids = ids;
            self.ids.truncate(keep);
            self.written = bytes;
        }
    }

    /// How many of `ids`, the encoding of the first `whole` bytes, remain the same whatever
    /// follows. The model was trained on the encoding of whole texts, so a token that the next
    /// bytes could merge with must be left to the model.
    fn settled_tokens(&self, ids: &[u32], whole: usize) -> usize {
        // The first position from which a token can extend beyond the text; tokens that end before
        // it are settled.
        let open = (whole.saturating_sub(UNSETTLED)..whole)
            .find(|&from| {
                mask::can_grow(
                    &self.vocab.trie,
                    self.acceptor,
                    &self.state,
                    &self.text[from..],
                )
            })
            .unwrap_or(whole);
        let mut ends = ids.iter().scan(0, |end, &id| {
            *end += self.vocab.trie.bytes(id).map_or(0, <[u8]>::len);
            Some(*end)
        });
        let mut keep = ends.position(|end| end > open).unwrap_or(ids.len());
        let next = mask::next_bytes(self.acceptor, &self.state, LOOKAHEAD + 1);
        if whole == self.text.len() && next.len() <= LOOKAHEAD && next.is_ascii() {
            let mut longer = self.text.clone();
            for byte in next {
                longer.push(byte);
                if let Some(other) = self.canonical(&longer) {
                    keep = keep.min(ids.iter().zip(&other).take_while(|(a, b)| a == b).count());
                }
                longer.pop();
            }
        }
        keep
    }

    /// The tokenizer's encoding of `text`, if its tokens spell exactly these bytes.
    fn canonical(&self, text: &[u8]) -> Option<Vec<u32>> {
        let plain = std::str::from_utf8(&text[usize::from(self.vocab.adds_space)..]).ok()?;
        if plain.is_empty() {
            return None;
        }
        let ids = (self.encode)(plain);
        let mut rest = text;
        for &id in &ids {
            rest = rest.strip_prefix(self.vocab.trie.bytes(id)?)?;
        }
        rest.is_empty().then_some(ids)
    }

    fn bytes_of(&self, ids: &[u32]) -> usize {
        ids.iter()
            .filter_map(|&id| self.vocab.trie.bytes(id))
            .map(<[u8]>::len)
            .sum()
    }

    /// The tokens of a finished text: the tokenizer's encoding, or else the tokens written and the
    /// longest matches for the pending bytes.
    fn spell(&self, text: &[u8]) -> Result<Vec<u32>, EngineError> {
        if text.len() == usize::from(self.vocab.adds_space) {
            return Ok(Vec::new());
        }
        if let Some(ids) = self.canonical(text) {
            return Ok(ids);
        }
        let (mut ids, pending) = if text == self.text {
            (self.ids.clone(), &text[self.written..])
        } else {
            (Vec::new(), text)
        };
        ids.extend(
            self.vocab
                .trie
                .longest_match(pending)
                .ok_or_else(|| stuck(text))?,
        );
        Ok(ids)
    }

    /// Resets an overlong text to a checkpoint from which a short completion fits, and completes
    /// it. Tries the checkpoints 1, 2, 4, … decisions back and finally the beginning, so that
    /// exceeding the budget takes few searches.
    fn cut(
        mut self,
        checkpoints: &[Checkpoint<A::State>],
        mut decisions: Vec<Decision>,
    ) -> Result<Generated, EngineError> {
        let mut needed = 0;
        let steps = (0..usize::BITS)
            .map(|n| 1usize << n)
            .take_while(|&back| back < checkpoints.len());
        for at in steps.map(|back| checkpoints.len() - back).chain([0]) {
            let place = &checkpoints[at];
            let Some(completion) = mask::shortest(self.acceptor, &place.state) else {
                continue;
            };
            let mut text = self.text[..place.bytes].to_vec();
            text.extend(completion);
            let Ok(ids) = self.spell(&text) else { continue };
            needed = ids.len();
            if needed <= self.budget {
                decisions.truncate(place.decisions);
                // Tokens that were neither decided nor forced before the checkpoint belong to the
                // completion.
                self.forced = place.forced.max(needed.saturating_sub(place.decisions));
                self.text = text;
                return self.finish(ids, decisions, true);
            }
        }
        Err(EngineError::Budget {
            needed,
            budget: self.budget,
        })
    }

    fn finish(
        mut self,
        ids: Vec<u32>,
        decisions: Vec<Decision>,
        cut: bool,
    ) -> Result<Generated, EngineError> {
        let text = self.text.split_off(usize::from(self.vocab.adds_space));
        Ok(Generated {
            text: String::from_utf8(text).map_err(|e| EngineError::NotUtf8(e.into_bytes()))?,
            ids,
            logprob: decisions.iter().map(|d| f64::from(d.logprob)).sum(),
            decided: decisions.len(),
            forced: self.forced,
            cut,
            decisions,
        })
    }
}

fn stuck(text: &[u8]) -> EngineError {
    EngineError::Stuck {
        text: String::from_utf8_lossy(text).into_owned(),
    }
}

/// Checks the vocabulary and the prompt against the model and returns the number of tokens that fit
/// after the prompt.
fn room(decoder: &dyn Decoder, prompt: &[u32], vocab: &Vocab) -> Result<usize, EngineError> {
    let size = decoder.vocab_size();
    let largest = (vocab.trie.id_bound() as u32)
        .saturating_sub(1)
        .max(vocab.end);
    if largest as usize >= size {
        return Err(EngineError::Token {
            id: largest,
            vocab: size,
        });
    }
    if prompt.is_empty() {
        return Err(EngineError::EmptyPrompt);
    }
    let max = decoder.max_context();
    max.checked_sub(prompt.len()).ok_or(EngineError::Context {
        needed: prompt.len(),
        max,
    })
}
