//! The transcript of one question in the tool loop.

use super::template::{Layout, Template};
use crate::exec::Session;
use crate::rank::RankError;
use common::transcript::Turn;

/// The growing transcript of one question: the planner's next prompt and the samples so far.
#[derive(Clone, Debug)]
pub struct Conversation {
    template: Template,
    turns: Vec<Turn>,
    samples: Vec<Vec<Turn>>,
}

impl Conversation {
    /// Opens the conversation for a fresh session.
    #[must_use]
    pub fn open(template: &Template, session: &Session<'_>) -> Self {
        Self {
            template: template.clone(),
            turns: template.opening(session),
            samples: Vec::new(),
        }
    }

    /// The turns after which the planner writes its next call.
    #[must_use]
    pub fn prompt(&self) -> &[Turn] {
        &self.turns
    }

    /// Records the session's latest step; `written` is the call as the planner wrote it.
    ///
    /// # Errors
    /// Returns the error of the ranker, which orders the observation.
    pub fn record(&mut self, session: &Session<'_>, written: &str) -> Result<(), RankError> {
        self.turns.push(Turn::call(written));
        match self.template.layout {
            Layout::Dialogue => {
                if let Some(step) = session.steps().last() {
                    self.turns.extend(self.template.reply(session, step)?);
                }
            }
            Layout::Paper => {
                let next = if session.answer().is_some() {
                    Vec::new()
                } else {
                    self.template.opening(session)
                };
                self.samples.push(std::mem::replace(&mut self.turns, next));
            }
        }
        Ok(())
    }

    /// The training samples: the whole conversation in the dialogue layout, one prompt and call per
    /// step in the paper layout.
    #[must_use]
    pub fn into_samples(self) -> Vec<Vec<Turn>> {
        match self.template.layout {
            Layout::Dialogue => vec![self.turns],
            Layout::Paper => self.samples,
        }
    }
}
