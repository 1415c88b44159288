//! Comparison operators.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

common::worded! {
    /// A comparison.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum Op, fn symbol() {
        /// `=`
        #[serde(rename = "=")]
        Eq = "=",
        /// `!=`
        #[serde(rename = "!=")]
        Ne = "!=",
        /// `<`
        #[serde(rename = "<")]
        Lt = "<",
        /// `<=`
        #[serde(rename = "<=")]
        Le = "<=",
        /// `>`
        #[serde(rename = ">")]
        Gt = ">",
        /// `>=`
        #[serde(rename = ">=")]
        Ge = ">=",
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.symbol())
    }
}

/// A text is not a comparison operator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no comparison; use one of = != < <= > >=")]
pub struct UnknownOp(pub String);

impl FromStr for Op {
    type Err = UnknownOp;

    fn from_str(text: &str) -> Result<Self, UnknownOp> {
        Self::ALL
            .into_iter()
            .find(|op| op.symbol() == text)
            .ok_or_else(|| UnknownOp(text.to_owned()))
    }
}
