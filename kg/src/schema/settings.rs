//! Settings of a graph that its owner may change.

use serde::{Deserialize, Serialize};

use crate::term::Literal;
use crate::value::{FREEBASE_NOW, is_time, today};

/// The owner's settings, stored in `manifest.json`, where they may be edited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Languages of labels, best first. A tag includes its regional variants; the empty tag means
    /// labels without a language. If no listed language has a label, an untagged label is used,
    /// then the smallest tag.
    pub languages: Vec<String>,
    /// The date of NOW (rule R12); by default the day on which it is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<String>,
    /// Whether instances of subclasses are instances of the class. SPARQL does not reason, so leave
    /// this off for gold queries about direct types.
    pub subclasses: bool,
    /// Whether to omit an incoming relation from a list that contains its declared reverse as an
    /// outgoing relation (rule R3). Only correct if the graph contains both directions.
    pub unify_directions: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            languages: vec!["en".to_owned()],
            now: None,
            subclasses: false,
            unify_directions: false,
        }
    }
}

impl Settings {
    /// The date of NOW.
    #[must_use]
    pub fn now(&self) -> Literal {
        Literal::xsd(self.now.clone().unwrap_or_else(today), "date")
    }

    /// The first invalid setting, if any.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        if !is_time(&self.now()) {
            return Some(format!(
                "`now` is `{}`; write a date such as {FREEBASE_NOW}",
                self.now().lexical
            ));
        }
        let bad = self
            .languages
            .iter()
            .find(|tag| !tag.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'));
        bad.map(|tag| format!("`{tag}` is not a language tag; write one such as `en` or `pt-br`"))
    }
}
