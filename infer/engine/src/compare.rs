//! How far two engines are apart on the same text: what an export is checked with.
use super::{Engine, EngineError, Session};

/// What a comparison found.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Comparison {
    /// Texts compared.
    pub prompts: usize,
    /// Positions compared.
    pub tokens: usize,
    /// Positions at which both would choose the same token.
    pub equal_tokens: usize,
    /// Texts that both would go on with in the same way.
    pub equal_texts: usize,
    /// The largest difference of two logits.
    pub largest: f32,
    /// The largest magnitude of a logit, to see the difference against.
    pub scale: f32,
}

impl Comparison {
    /// Share of positions with the same choice.
    pub fn token_share(&self) -> f64 {
        self.equal_tokens as f64 / self.tokens.max(1) as f64
    }

    /// Share of texts that go on in the same way.
    pub fn text_share(&self) -> f64 {
        self.equal_texts as f64 / self.prompts.max(1) as f64
    }
}

fn best(logits: &[f32]) -> u32 {
    let better = |best: usize, at: usize| if logits[at] > logits[best] { at } else { best };
    (0..logits.len()).fold(0, better) as u32
}

/// Lets `one` go on greedily behind every prompt, for `tokens` tokens or to `end`, and compares its logits at every position with those of
/// `other` behind the same tokens.
///
/// # Errors
/// An empty prompt, a token outside a vocabulary or a prompt too long; an engine whose logits are no numbers.
pub fn compare(
    one: &Engine,
    other: &Engine,
    prompts: &[Vec<u32>],
    tokens: usize,
    end: u32,
) -> Result<Comparison, EngineError> {
    let mut found = Comparison {
        prompts: prompts.len(),
        ..Comparison::default()
    };
    for prompt in prompts {
        let (mut a, mut b) = (Session::new(one), Session::new(other));
        let mut next = prompt.clone();
        let mut alike = true;
        for _ in 0..tokens {
            a.feed(&next)?;
            b.feed(&next)?;
            let (x, y) = (a.logits(), b.logits());
            if x.is_empty() || x.len() != y.len() {
                return Err(EngineError::EmptyPrompt);
            }
            for (x, y) in x.iter().zip(y) {
                let difference = (x - y).abs();
                if !difference.is_finite() {
                    return Err(EngineError::Config("the logits are no numbers".to_owned()));
                }
                found.largest = found.largest.max(difference);
                found.scale = found.scale.max(x.abs());
            }
            let token = best(x);
            let equal = token == best(y);
            found.tokens += 1;
            found.equal_tokens += usize::from(equal);
            alike &= equal;
            if token == end || a.ids().len() + 1 >= one.config().context() {
                break;
            }
            next = vec![token];
        }
        found.equal_texts += usize::from(alike);
    }
    Ok(found)
}
