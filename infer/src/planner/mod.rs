//! Who writes the next call: a local model, a model behind a server, the gold program (`oracle`), or given texts (`scripted`), all through the same loop.

mod local;
mod remote;
mod shots;

use common::transcript::Turn;
use toolbox::call::Call;
use toolbox::exec::Session;
use toolbox::grammar::Grammar;
use toolbox::prompt::Template;

use crate::InferError;

pub use local::{LocalModel, LocalPlanner};
pub use remote::{Constraint, RemoteOptions, RemotePlanner};
pub use shots::shots;

/// What a planner sees when it must write a call.
pub struct PlannerInput<'a, 'g> {
    /// The question so far.
    pub session: &'a Session<'g>,
    /// How it is rendered.
    pub template: &'a Template,
    /// The turns behind which the call is written.
    pub turns: &'a [Turn],
}

/// A call as a planner wrote it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Proposal {
    /// The text.
    pub text: String,
    /// Prompt tokens that this question had not read or written before. The opening that all questions share is never counted, and what
    /// the cache still held of another question always is, so that the figure depends on the question alone.
    pub read: usize,
    /// Tokens chosen by the model.
    pub decided: usize,
    /// Tokens that could not have been others.
    pub forced: usize,
    /// Log-probability of the chosen tokens under the constraint; of several calls for one step, of all tokens without it.
    pub logprob: f64,
}

/// Writes calls and other turns, one at a time.
pub trait Planner {
    /// A question begins; what was written before belongs to others.
    fn begin(&mut self) {}
    /// The next call.
    ///
    /// # Errors
    /// [`InferError`] when no call can be written at all.
    fn propose(&mut self, moment: &PlannerInput<'_, '_>) -> Result<Proposal, InferError>;
    /// The next call, and none of `refused`; nothing where nothing else can be written. Planners that are not
    /// [`constrained`](Self::constrained) may write one of them all the same. `choice` is its place among several that are kept side by side,
    /// which are compared by the model's own probability of the whole text.
    ///
    /// # Errors
    /// [`InferError`] when no call can be written at all.
    fn propose_except(
        &mut self,
        moment: &PlannerInput<'_, '_>,
        refused: &[String],
        choice: Option<usize>,
    ) -> Result<Option<Proposal>, InferError> {
        let _ = (refused, choice);
        self.propose(moment).map(Some)
    }
    /// A turn of the language `phrase`, behind `turns`: what agents other than the tool loop have their model write. Planners that are not
    /// [`constrained`](Self::constrained) may write anything.
    ///
    /// # Errors
    /// [`InferError`] when no turn can be written at all.
    fn write(&mut self, turns: &[Turn], phrase: &Grammar) -> Result<Proposal, InferError>;
    /// Whether everything it writes is held to what is live, so that no call can be invalid.
    fn constrained(&self) -> bool;
}

/// Replays a gold program: the ceiling of what the loop can reach.
pub struct Oracle {
    calls: std::vec::IntoIter<Call>,
    given: usize,
}

impl Oracle {
    /// Replays `calls`, given with full names.
    #[must_use]
    pub fn new(calls: Vec<Call>) -> Self {
        Self {
            given: calls.len(),
            calls: calls.into_iter(),
        }
    }
}

impl Planner for Oracle {
    fn propose(&mut self, moment: &PlannerInput<'_, '_>) -> Result<Proposal, InferError> {
        let call = self
            .calls
            .next()
            .ok_or(InferError::ScriptEnded { given: self.given })?;
        Ok(Proposal {
            text: moment.template.call(moment.session, &call).to_string(),
            ..Proposal::default()
        })
    }

    /// Calls are all it has: the gold turns of other agents are replayed by [`Scripted`].
    fn write(&mut self, _turns: &[Turn], _phrase: &Grammar) -> Result<Proposal, InferError> {
        Err(InferError::ScriptEnded { given: 0 })
    }

    fn constrained(&self) -> bool {
        false
    }
}

/// Replays given texts, whatever they are.
pub struct Scripted {
    turns: std::vec::IntoIter<Proposal>,
    given: usize,
}

impl Scripted {
    /// Replays `texts`, one a call.
    #[must_use]
    pub fn new(texts: Vec<String>) -> Self {
        Self::with(
            texts
                .into_iter()
                .map(|text| Proposal {
                    text,
                    ..Proposal::default()
                })
                .collect(),
        )
    }

    /// Replays turns with what they cost and how likely they were.
    #[must_use]
    pub fn with(turns: Vec<Proposal>) -> Self {
        Self {
            given: turns.len(),
            turns: turns.into_iter(),
        }
    }

    fn next(&mut self) -> Result<Proposal, InferError> {
        self.turns
            .next()
            .ok_or(InferError::ScriptEnded { given: self.given })
    }
}

impl Planner for Scripted {
    fn propose(&mut self, _moment: &PlannerInput<'_, '_>) -> Result<Proposal, InferError> {
        self.next()
    }

    fn write(&mut self, _turns: &[Turn], _phrase: &Grammar) -> Result<Proposal, InferError> {
        self.next()
    }

    fn constrained(&self) -> bool {
        false
    }
}
