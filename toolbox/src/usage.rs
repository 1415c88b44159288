//! What a served model counted and what that costs.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// Requests and tokens, as the server reports them. A server that reports nothing counts as zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServedUsage {
    /// Requests that were answered.
    pub requests: u64,
    /// Prompt tokens, the cached ones included.
    pub prompt_tokens: u64,
    /// Prompt tokens that the server had in its cache.
    pub cached_tokens: u64,
    /// Tokens that the model wrote, its thoughts included.
    pub completion_tokens: u64,
}

impl AddAssign for ServedUsage {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.prompt_tokens += other.prompt_tokens;
        self.cached_tokens += other.cached_tokens;
        self.completion_tokens += other.completion_tokens;
    }
}

/// Prices for a million tokens, in the user's currency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// Of prompt tokens that were not cached.
    pub prompt: f64,
    /// Of prompt tokens that were cached.
    pub cached: f64,
    /// Of written tokens.
    pub completion: f64,
}

impl Prices {
    /// Reads `PROMPT,COMPLETION` or `PROMPT,COMPLETION,CACHED`. Without its own price, a cached
    /// token costs as much as any other prompt token.
    ///
    /// # Errors
    /// A message with the right form.
    pub fn read(text: &str) -> Result<Self, String> {
        let numbers: Option<Vec<f64>> = text
            .split(',')
            .map(|part| part.trim().parse().ok())
            .map(|price| price.filter(|price: &f64| price.is_finite() && *price >= 0.0))
            .collect();
        let (prompt, completion, cached) = match numbers.as_deref() {
            Some(&[prompt, completion]) => (prompt, completion, prompt),
            Some(&[prompt, completion, cached]) => (prompt, completion, cached),
            _ => {
                return Err(
                    "write PROMPT,COMPLETION or PROMPT,COMPLETION,CACHED: prices for a million tokens, such as 0.15,0.60"
                        .to_owned(),
                );
            }
        };
        Ok(Self {
            prompt,
            cached,
            completion,
        })
    }

    /// The cost of the tokens, rounded to a millionth.
    #[must_use]
    pub fn cost(&self, usage: &ServedUsage) -> f64 {
        let fresh = usage.prompt_tokens.saturating_sub(usage.cached_tokens);
        let millionths = fresh as f64 * self.prompt
            + usage.cached_tokens as f64 * self.cached
            + usage.completion_tokens as f64 * self.completion;
        millionths.round() / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_tokens_cost_their_own_price() {
        let usage = ServedUsage {
            requests: 2,
            prompt_tokens: 3_000_000,
            cached_tokens: 1_000_000,
            completion_tokens: 500_000,
        };
        let cost = |text: &str| Prices::read(text).map(|prices| prices.cost(&usage));
        assert_eq!(cost("1,4"), Ok(5.0));
        assert_eq!(cost("1, 4, 0.5"), Ok(4.5));
        for wrong in ["", "1", "1,2,3,4", "1,x", "-1,2", "NaN,1"] {
            assert!(cost(wrong).is_err(), "{wrong}");
        }
    }
}
