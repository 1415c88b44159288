//! How far the logits of two engines differ on the same text; used to check an export.

use crate::{DecodeSession, Engine, EngineError};

/// The result of a comparison.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LogitComparison {
    /// Texts compared.
    pub prompts: usize,
    /// Positions compared.
    pub tokens: usize,
    /// Positions at which both choose the same token.
    pub equal_tokens: usize,
    /// Texts that both continue in the same way.
    pub equal_texts: usize,
    /// The largest difference between two logits.
    pub largest: f32,
    /// The largest magnitude of a logit, for scale.
    pub scale: f32,
}

impl LogitComparison {
    /// Share of positions with the same choice.
    #[must_use]
    pub fn token_share(&self) -> f64 {
        self.equal_tokens as f64 / self.tokens.max(1) as f64
    }

    /// Share of texts with the same continuation.
    #[must_use]
    pub fn text_share(&self) -> f64 {
        self.equal_texts as f64 / self.prompts.max(1) as f64
    }
}

fn best(logits: &[f32]) -> u32 {
    let better = |best: usize, at: usize| if logits[at] > logits[best] { at } else { best };
    (0..logits.len()).fold(0, better) as u32
}

/// Lets `one` continue every prompt greedily, for `tokens` tokens or until `end`, and compares its
/// logits at every position with those of `other` after the same tokens.
///
/// # Errors
/// An empty prompt, a token outside a vocabulary, a prompt that is too long, or logits that are not
/// finite.
pub fn compare(
    one: &Engine,
    other: &Engine,
    prompts: &[Vec<u32>],
    tokens: usize,
    end: u32,
) -> Result<LogitComparison, EngineError> {
    let mut found = LogitComparison {
        prompts: prompts.len(),
        ..LogitComparison::default()
    };
    for prompt in prompts {
        let (mut a, mut b) = (DecodeSession::new(one), DecodeSession::new(other));
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
                    return Err(EngineError::Config("the logits are not finite".to_owned()));
                }
                found.largest = found.largest.max(difference);
                found.scale = found.scale.max(x.abs());
            }
            let token = best(x);
            let equal = token == best(y);
            found.tokens += 1;
            found.equal_tokens += usize::from(equal);
            alike &= equal;
            if token == end || a.ids().len() + 1 >= one.context() {
                break;
            }
            next = vec![token];
        }
        found.equal_texts += usize::from(alike);
    }
    Ok(found)
}
