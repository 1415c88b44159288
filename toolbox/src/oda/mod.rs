//! ODA (observe, act, reflect): one question as a [`Run`] that says what has to be written next, as a [`Grammar`](crate::grammar::Grammar), takes
//! what was written, executes it and keeps the transcript. Data generation and inference drive the same run, so that an example is what a
//! model sees, byte for byte.
//!
//! The paper walks one entity and keeps at most 15 triples at a time, which cannot enumerate a large set in 8 iterations. Here triples that
//! share near end, relation and direction are one group, taken or left as one; what was taken is a set that can be explored, narrowed, counted
//! and intersected like an entity. A group is named by its relation, `~` before it where it is walked from tails to heads:
//!
//! ```text
//! assistant  neighbor e0                       action: explore e0
//! tool       out sports.athlete.teams people.person.place_of_birth …
//! assistant  sports.athlete.teams              reflection: what is worth remembering
//! tool       v0 many                           … and what can be seen from there
//! assistant  neighbor v0
//! tool       out sports.stint.team sports.stint.from_to …
//! assistant  sports.stint.from_to = x0         a group narrowed by a value of the question
//! tool       v1 many
//! assistant  …
//! assistant  answer count v3                   the answer, over what was remembered
//! ```
//!
//! Everything is executed by the tools of [`crate::exec`], so program, evidence and provenance come with the answer.

mod error;
mod grammar;
mod read;
mod rules;
mod run;
mod selected;

pub use error::OdaError;
pub use read::{
    Act, Pick, Say, read_act, read_act_lenient, read_reflection, read_reflection_lenient,
};
pub use run::{Awaited, Run};
pub use selected::Selected;

use serde::{Deserialize, Serialize};

use crate::observe::ObserveOptions;

/// Who chooses what is remembered of an action's triples (ODA table 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reflection {
    /// The model.
    #[default]
    Model,
    /// The groups most like the question.
    Similarity,
    /// Any, by the seed.
    Random,
    /// Nothing is chosen: the model writes down facts that it knows.
    GeneratedFact,
}

/// What an action finds and a reflection takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// Groups of triples that share near end, relation and direction.
    #[default]
    Grouped,
    /// Single triples of single entities, by handle (`t0`), as in the paper. Sets are then never more than what was picked one by one.
    Paper,
}

/// How a run observes, reflects and ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OdaOptions {
    /// What actions find.
    pub form: Form,
    /// Whether anything is observed at all.
    pub observation: bool,
    /// How far and how much.
    pub observe: ObserveOptions,
    /// What is shown of an observation, in tokens by estimate ([`crate::tokens`]); the rest is kept, not shown.
    pub observation_tokens: usize,
    /// What is shown of the triples that an action finds, in tokens by estimate ([`Form::Paper`]); best first.
    pub triple_tokens: usize,
    /// Who reflects.
    pub reflection: Reflection,
    /// Actions before an answer is forced.
    pub iterations: usize,
    /// Groups remembered of one action, K in the paper.
    pub kept: usize,
    /// Seed of random reflection.
    pub seed: u64,
}

impl Default for OdaOptions {
    fn default() -> Self {
        Self {
            form: Form::Grouped,
            observation: true,
            observe: ObserveOptions::default(),
            observation_tokens: crate::observe::shown::TOKENS,
            triple_tokens: 256,
            reflection: Reflection::Model,
            iterations: 8,
            kept: 15,
            seed: 0,
        }
    }
}
