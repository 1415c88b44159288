//! The agents for which examples are made. Each turns a verified question into the conversations
//! that a model learns from.

mod kg_agent;
mod oda;
mod triad;

pub use crate::example::AgentExamples;
pub use oda::OdaExamples;

use kg::Kg;
use toolbox::agent::Agent;
use toolbox::prompt::Template;

use crate::Error;
use crate::verify::VerifyOptions;

/// The maker of a template's examples.
///
/// # Errors
/// [`Error::Agent`] for an agent without training examples.
pub fn examples_of<'a>(
    kg: &'a dyn Kg,
    template: &'a Template,
    options: &'a VerifyOptions,
) -> Result<Box<dyn AgentExamples + 'a>, Error> {
    Ok(match template.agent {
        Agent::KgAgent => Box::new(kg_agent::KgAgentExamples::new(kg, template, options)),
        Agent::Triad => Box::new(triad::TriadExamples::new(kg, template, options)),
        Agent::Oda => Box::new(OdaExamples::new(kg, template, options)),
    })
}
