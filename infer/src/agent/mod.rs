//! The agents. Each is one way of driving the toolbox with a planner; ODA and Triad come beside [`kg_agent`].

pub mod kg_agent;

use toolbox::answer::Answer;
use toolbox::trace::Event;
use toolbox::transcript::Turn;

/// What one question came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The answer, or why there is none.
    pub answer: Answer,
    /// Everything that happened, for the trace.
    pub events: Vec<Event>,
    /// The transcript as training samples (see [`toolbox::memory::Conversation::into_samples`]).
    pub samples: Vec<Vec<Turn>>,
    /// Calls executed.
    pub calls: usize,
    /// Calls that did not parse or could not be executed.
    pub invalid: usize,
    /// Tokens read and written by the model.
    pub tokens: usize,
    /// Seconds in the model.
    pub model_seconds: f64,
    /// Seconds in the graph.
    pub kg_seconds: f64,
}
