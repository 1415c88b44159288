//! Writing a text with a model: the constrained loop (decide, take what is forced in one step, end inside the budget) and the free one.
use super::EngineError;
use super::mask;
use super::sample::{Decision, Sampler, Sampling};
use super::trie::TokenTrie;
use common::acceptor::Acceptor;

/// Next bytes up to which settled tokens are checked against every way on.
const LOOKAHEAD: usize = 8;
/// Last bytes of settled text that a longer token might still swallow: a name such as `geography.mountain.elevation` can be one token.
const UNSETTLED: usize = 64;

/// Something that gives logits: a [`Session`](super::Session), or a test's.
pub trait Decoder {
    /// Logits after `ids`, which share a prefix with the last call's more often than not.
    ///
    /// # Errors
    /// As the model says.
    fn next(&mut self, ids: &[u32]) -> Result<&[f32], EngineError>;
    /// Number of logits.
    fn vocab_size(&self) -> usize;
    /// Tokens there is room for.
    fn max_context(&self) -> usize;
}

/// A tokenizer's way from text to tokens: special tokens off, nothing added. Any `Fn(&str) -> Vec<u32>` is one.
pub trait Encode {
    /// The tokens of a text. An encoder that fails may return nothing; the text is then spelled with the longest tokens that match.
    fn encode(&self, text: &str) -> Vec<u32>;
}

impl<F: Fn(&str) -> Vec<u32>> Encode for F {
    fn encode(&self, text: &str) -> Vec<u32> {
        self(text)
    }
}

/// What generation knows of a vocabulary.
#[derive(Debug, Clone)]
pub struct Vocab {
    /// Text tokens.
    pub trie: TokenTrie,
    /// The token that ends a turn.
    pub end: u32,
    /// Whether an encoded text begins with a space that the text does not have.
    pub adds_space: bool,
}

/// Bounds of one generation.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Most tokens the text may have, the end token not counted.
    pub max_new_tokens: usize,
}

/// A text and how it came about.
#[derive(Debug, Clone, PartialEq)]
pub struct Generated {
    /// The text.
    pub text: String,
    /// Its tokens as the tokenizer encodes it, without the end token.
    pub ids: Vec<u32>,
    /// Sum of the decisions' log-probabilities under the constraint.
    pub logprob: f64,
    /// Choices the model made.
    pub decided: usize,
    /// Tokens that followed without a choice.
    pub forced: usize,
    /// Whether the budget ran out and the shortest completion was taken.
    pub cut: bool,
    /// The choices.
    pub decisions: Vec<Decision>,
}

/// A place to which an overlong text can be taken back.
struct Checkpoint<S> {
    bytes: usize,
    state: S,
    decisions: usize,
    forced: usize,
}

/// The text being written.
struct Draft<'a, A: Acceptor, E: Encode + ?Sized> {
    acceptor: &'a A,
    encoder: &'a E,
    vocab: &'a Vocab,
    /// Everything settled, the tokenizer's own leading space included.
    text: Vec<u8>,
    /// The acceptor's state after `text`.
    state: A::State,
    /// Tokens written and the bytes of `text` that they cover; the rest is pending.
    ids: Vec<u32>,
    written: usize,
    forced: usize,
    budget: usize,
}

/// Writes a text of the acceptor's language after `prompt`. Every choice is the model's among the tokens that keep the text in the language;
/// bytes that must follow are not decoded but appended, tokenised together with what stands before them.
///
/// # Errors
/// [`EngineError::Stuck`] where the language cannot go on or cannot be spelled, [`EngineError::Budget`] where its shortest text is too long,
/// and what the decoder says. Never a text outside the language.
pub fn generate<A: Acceptor, E: Encode + ?Sized>(
    decoder: &mut dyn Decoder,
    prompt: &[u32],
    acceptor: &A,
    encoder: &E,
    vocab: &Vocab,
    limits: Limits,
    sampling: Sampling,
) -> Result<Generated, EngineError> {
    let budget = check(decoder, prompt, vocab, limits)?;
    let mut sampler = Sampler::new(sampling);
    let text = if vocab.adds_space {
        vec![b' ']
    } else {
        Vec::new()
    };
    let mut draft = Draft {
        acceptor,
        encoder,
        vocab,
        text,
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
        draft.take_forced();
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
            [] => {
                return Err(EngineError::Stuck {
                    text: String::from_utf8_lossy(&draft.text).into_owned(),
                });
            }
            [only] => {
                draft.forced += usize::from(only != vocab.end);
                only
            }
            _ => {
                checkpoints.push(draft.checkpoint(decisions.len()));
                context.truncate(prompt.len());
                context.extend_from_slice(&draft.ids);
                let decision =
                    sampler.choose(draft.ids.len(), decoder.next(&context)?, &candidates);
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

impl<A: Acceptor, E: Encode + ?Sized> Draft<'_, A, E> {
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
                return Err(EngineError::Stuck {
                    text: String::from_utf8_lossy(&self.text).into_owned(),
                });
            };
            self.state = next;
            self.text.push(byte);
        }
        self.written += bytes.len();
        self.ids.push(token);
        Ok(())
    }

    /// Takes the bytes that must follow, and writes as tokens as much of the text as no continuation tokenises differently.
    fn take_forced(&mut self) {
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

    /// How many of `ids`, the encoding of the first `whole` bytes, stay as they are whatever follows: training saw the text's encoding, so a
    /// token that the next bytes would merge with must be left for the model to choose.
    fn settled_tokens(&self, ids: &[u32], whole: usize) -> usize {
        // The first place from which a token reaches beyond the text; whatever ends before it stays.
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

    /// The tokenizer's encoding of `text`, where its tokens spell exactly these bytes.
    fn canonical(&self, text: &[u8]) -> Option<Vec<u32>> {
        let plain = std::str::from_utf8(&text[usize::from(self.vocab.adds_space)..]).ok()?;
        if plain.is_empty() {
            return None;
        }
        let ids = self.encoder.encode(plain);
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

    /// The tokens of a finished text: the tokenizer's encoding, else the tokens written and the longest that match what is pending.
    fn spell(&self, text: &[u8]) -> Result<Vec<u32>, EngineError> {
        if text.len() == usize::from(self.vocab.adds_space) {
            return Ok(Vec::new());
        }
        if let Some(ids) = self.canonical(text) {
            return Ok(ids);
        }
        let spelled = if text == self.text {
            let mut ids = self.ids.clone();
            self.vocab
                .trie
                .longest_match(&text[self.written..])
                .map(|rest| {
                    ids.extend(rest);
                    ids
                })
        } else {
            self.vocab.trie.longest_match(text)
        };
        spelled.ok_or_else(|| EngineError::Stuck {
            text: String::from_utf8_lossy(text).into_owned(),
        })
    }

    /// Takes an overlong text back to a place from which a short completion fits, and completes it. Places are tried 1, 2, 4, … decisions
    /// back and last the beginning, so that a long run into the budget costs few searches.
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
                // What was neither decided nor counted as forced before this place is the completion.
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
        let text = String::from_utf8(text).map_err(|e| EngineError::NotUtf8(e.into_bytes()))?;
        Ok(generated(text, ids, decisions, self.forced, cut))
    }
}

/// Writes freely until the end token or the budget; added tokens other than the end are never chosen. Bytes that are no UTF-8 (a cut
/// character) become U+FFFD in the text.
///
/// # Errors
/// What the decoder says, and an empty prompt.
pub fn generate_free(
    decoder: &mut dyn Decoder,
    prompt: &[u32],
    vocab: &Vocab,
    limits: Limits,
    sampling: Sampling,
) -> Result<Generated, EngineError> {
    let budget = check(decoder, prompt, vocab, limits)?;
    let mut sampler = Sampler::new(sampling);
    let mut candidates = vocab.trie.ids().to_vec();
    candidates.push(vocab.end);
    candidates.sort_unstable();
    candidates.dedup();
    let (mut context, mut bytes, mut decisions) = (prompt.to_vec(), Vec::new(), Vec::new());
    let mut cut = true;
    while context.len() - prompt.len() < budget {
        let decision = sampler.choose(
            context.len() - prompt.len(),
            decoder.next(&context)?,
            &candidates,
        );
        decisions.push(decision);
        if decision.token == vocab.end {
            cut = false;
            break;
        }
        bytes.extend_from_slice(vocab.trie.bytes(decision.token).unwrap_or_default());
        context.push(decision.token);
    }
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if vocab.adds_space && text.starts_with(' ') {
        text.remove(0);
    }
    Ok(generated(
        text,
        context.split_off(prompt.len()),
        decisions,
        0,
        cut,
    ))
}

fn generated(
    text: String,
    ids: Vec<u32>,
    decisions: Vec<Decision>,
    forced: usize,
    cut: bool,
) -> Generated {
    let logprob = decisions.iter().map(|d| f64::from(d.logprob)).sum();
    Generated {
        text,
        ids,
        logprob,
        decided: decisions.len(),
        forced,
        cut,
        decisions,
    }
}

/// The tokens there is room for, after the vocabulary and the prompt have been checked against the model.
fn check(
    decoder: &dyn Decoder,
    prompt: &[u32],
    vocab: &Vocab,
    limits: Limits,
) -> Result<usize, EngineError> {
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
    let room = max.checked_sub(prompt.len()).ok_or(EngineError::Context {
        needed: prompt.len(),
        max,
    })?;
    Ok(limits.max_new_tokens.min(room))
}
