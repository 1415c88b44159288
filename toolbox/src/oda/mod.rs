//! ODA (observe, act, reflect). A [`Run`] works on one question: it provides the
//! [`Grammar`](crate::grammar::Grammar) of the next turn, executes the written turn and keeps the
//! transcript. Data generation and inference drive the same run, so a training example equals the
//! prompt at inference byte for byte.
//!
//! The paper explores single entities and keeps at most 15 triples at a time, which cannot
//! enumerate a large set in 8 iterations. Here, triples with the same near end, relation and
//! direction form one group, which is taken or left as a whole. A taken group is a set that can be
//! explored, narrowed, counted and intersected like an entity. A group is named by its relation,
//! with `~` if it is followed from tails to heads:
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
//! The tools of [`crate::exec`] execute everything, so answers come with program, evidence and
//! provenance.

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

/// How a reflection chooses among the triples of an action (ODA table 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reflection {
    /// The model chooses.
    #[default]
    Model,
    /// The groups most similar to the question.
    Similarity,
    /// A random choice that depends on the seed.
    Random,
    /// No choice: the model writes facts that it knows.
    GeneratedFact,
}

/// The units that an action finds and a reflection chooses from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// Groups of triples with the same near end, relation and direction.
    #[default]
    Grouped,
    /// Single triples of single entities, by handle (`t0`), as in the paper. Sets contain only
    /// individually picked nodes.
    Paper,
}

/// Options of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OdaOptions {
    /// The units that actions find.
    pub form: Form,
    /// Whether observations are made.
    pub observation: bool,
    /// Range and size of observations.
    pub observe: ObserveOptions,
    /// Token budget of a shown observation, by estimate ([`crate::tokens`]).
    pub observation_tokens: usize,
    /// Token budget of the triples that an action finds, by estimate, best first
    /// ([`TurnForm::Paper`]).
    pub triple_tokens: usize,
    /// How reflections are made.
    pub reflection: Reflection,
    /// Number of actions before an answer is forced.
    pub iterations: usize,
    /// Maximum number of groups kept per action, K in the paper.
    pub kept: usize,
    /// Seed of random reflections.
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
