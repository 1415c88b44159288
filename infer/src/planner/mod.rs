//! Planners write the next call: a local model, a model behind a server, the gold program
//! (`oracle`) or given texts (`scripted`).

mod learned;
mod local;
mod remote;
mod shots;

use std::sync::Arc;

use common::cancel::Cancel;
use common::transcript::Turn;
use common::wordings::Wordings;
use toolbox::agent::Agent;
use toolbox::call::Call;
use toolbox::exec::Session;
use toolbox::explain::WordTables;
use toolbox::grammar::Grammar;
use toolbox::prompt::Template;
use toolbox::trace::ServedReply;

use crate::InferError;

pub use learned::words_of;
pub use local::{LocalModel, LocalPlanner, PromptTokens};
pub use remote::{Constraint, Endpoint, Protocol, RemoteOptions, RemotePlanner, public_address};
pub use shots::shots;

/// The state in which a planner writes a call.
pub struct PlannerInput<'a, 'g> {
    /// The session so far.
    pub session: &'a Session<'g>,
    /// The prompt template.
    pub template: &'a Template,
    /// The turns before the call.
    pub turns: &'a [Turn],
}

/// A call or other turn written by a planner.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Proposal {
    /// The text.
    pub text: String,
    /// Prompt tokens that this question had not read or written before. The opening shared by all
    /// questions is not counted; tokens still cached from another question are, so that the number
    /// depends on the question alone.
    pub read: usize,
    /// Tokens chosen by the model.
    pub decided: usize,
    /// Tokens without an alternative.
    pub forced: usize,
    /// Log-probability of the chosen tokens under the constraint.
    pub logprob: f64,
    /// The replies of a server, the last of which has the text.
    pub replies: Vec<ServedReply>,
}

/// Maximum characters of a free reply of a model that is not behind a server.
const REPLY_CHARS: usize = 400;

/// Writes calls and other turns, one at a time.
pub trait Planner {
    /// Starts a new question, which ends with [`InferError::Cancelled`] when `cancel` says so.
    fn begin(&mut self, cancel: &Cancel) {
        let _ = cancel;
    }
    /// The next call.
    ///
    /// # Errors
    /// [`InferError`] if no call can be written.
    fn propose(&mut self, input: &PlannerInput<'_, '_>) -> Result<Proposal, InferError>;
    /// The next call, but not one of `rejected`; `None` if there is no other. Planners that are not
    /// [`constrained`](Self::constrained) may still write a rejected call.
    ///
    /// # Errors
    /// [`InferError`] if no call can be written.
    fn propose_except(
        &mut self,
        input: &PlannerInput<'_, '_>,
        rejected: &[String],
    ) -> Result<Option<Proposal>, InferError> {
        let _ = rejected;
        self.propose(input).map(Some)
    }
    /// A turn in the language of `grammar` after `turns`, for agents other than the tool loop.
    /// Planners that are not [`constrained`](Self::constrained) may write anything.
    ///
    /// # Errors
    /// [`InferError`] if no turn can be written.
    fn write(&mut self, turns: &[Turn], grammar: &Grammar) -> Result<Proposal, InferError>;
    /// A reply in free text to prompts that name all they need (agents in their published form).
    /// Thoughts are left out. A model of ours writes one line.
    ///
    /// # Errors
    /// [`InferError`] if nothing can be written.
    fn reply(&mut self, turns: &[Turn]) -> Result<Proposal, InferError> {
        self.write(turns, &Grammar::free(1, REPLY_CHARS, ""))
    }
    /// Makes the next replies sample number `sample` of the same question: a server gets another
    /// seed. [`begin`](Self::begin) starts at 0.
    fn resample(&mut self, sample: u64) {
        let _ = sample;
    }
    /// For each program, the log-probability of all trained turns of its samples (see
    /// [`toolbox::prompt::Conversation::into_samples`]) without a constraint; `None` if the planner
    /// has no probabilities. `places` are those of the programs among all candidates of a decision, by which a replay
    /// knows them.
    ///
    /// # Errors
    /// [`InferError`] if the model fails.
    fn logprobs_of(
        &mut self,
        programs: &[Vec<Vec<Turn>>],
        places: &[usize],
    ) -> Result<Vec<Option<f64>>, InferError> {
        let _ = places;
        Ok(vec![None; programs.len()])
    }
    /// The template of the tool loop's conversations, if the planner has log-probabilities of them.
    fn program_template(&self) -> Option<Template> {
        None
    }
    /// The translation tables that explain programs: those of the program, and for a model those of
    /// its training data too.
    fn words(&self) -> Arc<WordTables> {
        WordTables::base()
    }
    /// How the questions that its model was trained on are worded; `None` if that is unknown.
    fn wordings(&self) -> Option<Arc<Wordings>> {
        None
    }
    /// Whether its output is constrained, so that no call can be invalid.
    fn constrained(&self) -> bool;
}

/// Replays a gold program, which gives the upper bound of the loop's results.
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
    fn propose(&mut self, input: &PlannerInput<'_, '_>) -> Result<Proposal, InferError> {
        let call = self
            .calls
            .next()
            .ok_or(InferError::ScriptEnded { given: self.given })?;
        Ok(Proposal {
            text: input.template.call(input.session, &call).to_string(),
            ..Proposal::default()
        })
    }

    /// Always fails: the gold turns of other agents are replayed by [`Scripted`].
    fn write(&mut self, _turns: &[Turn], _grammar: &Grammar) -> Result<Proposal, InferError> {
        Err(InferError::ScriptEnded { given: 0 })
    }

    fn constrained(&self) -> bool {
        false
    }
}

/// Replays given texts.
pub struct Scripted {
    turns: std::vec::IntoIter<Proposal>,
    given: usize,
    logprobs: Vec<Option<f64>>,
    words: Arc<WordTables>,
}

impl Scripted {
    /// Replays `texts`, one per turn.
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

    /// Replays turns with their token counts and log-probabilities.
    #[must_use]
    pub fn with(turns: Vec<Proposal>) -> Self {
        Self {
            given: turns.len(),
            turns: turns.into_iter(),
            logprobs: Vec::new(),
            words: WordTables::base(),
        }
    }

    /// Explains programs with these tables.
    #[must_use]
    pub fn with_words(self, words: Arc<WordTables>) -> Self {
        Self { words, ..self }
    }

    /// Gives these answers to [`Planner::logprobs_of`], one for each candidate of the decision.
    #[must_use]
    pub fn with_logprobs(self, logprobs: Vec<Option<f64>>) -> Self {
        Self { logprobs, ..self }
    }

    fn next(&mut self) -> Result<Proposal, InferError> {
        self.turns
            .next()
            .ok_or(InferError::ScriptEnded { given: self.given })
    }
}

impl Planner for Scripted {
    fn propose(&mut self, _input: &PlannerInput<'_, '_>) -> Result<Proposal, InferError> {
        self.next()
    }

    fn write(&mut self, _turns: &[Turn], _grammar: &Grammar) -> Result<Proposal, InferError> {
        self.next()
    }

    fn words(&self) -> Arc<WordTables> {
        Arc::clone(&self.words)
    }

    fn program_template(&self) -> Option<Template> {
        let known = self.logprobs.iter().any(Option::is_some);
        known.then(|| Template::of(Agent::KgAgent))
    }

    fn logprobs_of(
        &mut self,
        _programs: &[Vec<Vec<Turn>>],
        places: &[usize],
    ) -> Result<Vec<Option<f64>>, InferError> {
        let at = |place: &usize| self.logprobs.get(*place).copied().flatten();
        Ok(places.iter().map(at).collect())
    }

    fn constrained(&self) -> bool {
        false
    }
}
