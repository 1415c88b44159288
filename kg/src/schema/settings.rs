//! Settings of a graph that its owner may change.

use serde::{Deserialize, Serialize};

use crate::term::Literal;
use crate::value::is_time;

/// What NOW means without a setting (rule R12): the freeze of the Freebase dump that WebQSP was made on.
const NOW: &str = "2015-08-10";

/// What a graph's owner may set; it stands in `manifest.json` and may be edited there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Languages of labels, best first; a tag stands for its regions too, and the empty one for labels without a language. Where none of
    /// them has a label, one without a language is taken, then the smallest tag.
    pub languages: Vec<String>,
    /// The date that NOW means in comparisons (rule R12).
    pub now: String,
    /// Whether a class has the instances of its subclasses too. SPARQL does not reason, so gold queries that rely on direct types want this off.
    pub subclasses: bool,
    /// Whether an in-relation is left out of a list that has its declared reverse as an out-relation (rule R3). Only right where both
    /// directions are in the graph.
    pub unify_directions: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            languages: vec!["en".to_owned()],
            now: NOW.to_owned(),
            subclasses: false,
            unify_directions: false,
        }
    }
}

impl Settings {
    /// [`Settings::now`] as a date.
    #[must_use]
    pub fn now(&self) -> Literal {
        Literal::xsd(self.now.clone(), "date")
    }

    /// What is wrong with the settings, if anything.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        if !is_time(&self.now()) {
            return Some(format!(
                "`now` is `{}`; write a date such as {NOW}",
                self.now
            ));
        }
        let bad = self
            .languages
            .iter()
            .find(|tag| !tag.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'));
        bad.map(|tag| format!("`{tag}` is no language tag; write one such as `en` or `pt-br`"))
    }
}
