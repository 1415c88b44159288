//! The agents that examples are made for: each turns a verified question into the conversations its model has to hold.

mod oda;
mod triad;

pub use oda::OdaExamples;

use kg::Kg;
use toolbox::agent::Agent;
use toolbox::prompt::Template;

use crate::Error;
use crate::example::{Example, Renderer};
use crate::question::GoldQuestion;
use crate::verify::{Refused, Verified, VerifyOptions};

/// Makes an agent's examples.
pub trait AgentExamples: Sync {
    /// The examples of a verified question; none where the agent has no way to answer it.
    ///
    /// # Errors
    /// What went wrong, in words: a step that does not run, or does not read back, as written. The question is refused then.
    fn examples(
        &self,
        question: &GoldQuestion,
        verified: &Verified,
    ) -> Result<Vec<Example>, Refused>;
}

/// The maker of the examples of a template's agent.
///
/// # Errors
/// [`Error::Agent`] for an agent that no examples can be made for.
pub fn examples_of<'a>(
    kg: &'a dyn Kg,
    template: &'a Template,
    options: &'a VerifyOptions,
) -> Result<Box<dyn AgentExamples + 'a>, Error> {
    match template.agent {
        Agent::KgAgent => Ok(Box::new(Renderer::new(kg, template, options))),
        Agent::Triad => Ok(Box::new(triad::TriadExamples::new(kg, template, options))),
        Agent::Oda => Ok(Box::new(OdaExamples::new(kg, template, options))),
    }
}
