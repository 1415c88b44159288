//! The agents that drive the toolbox.

use serde::{Deserialize, Serialize};

common::worded! {
    /// An agent that drives the toolbox. One model can be trained for several; the system turn tells
    /// the model which agent is running.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Agent, fn name() {
        /// One tool call per step (KG-Agent).
        KgAgent = "kg-agent",
        /// Observe, act, reflect (ODA).
        Oda = "oda",
        /// Three roles in four phases (Triad).
        Triad = "triad",
    }
}

impl Agent {
    /// Looks up an agent by name.
    ///
    /// # Errors
    /// Returns a message that lists the known names.
    pub fn named(name: &str) -> Result<Self, String> {
        let known = || Self::ALL.map(Self::name).join(", ");
        Self::ALL
            .into_iter()
            .find(|agent| agent.name() == name)
            .ok_or_else(|| format!("unknown agent `{name}`; the agents are {}", known()))
    }

    /// Incremented whenever the wording of the agent's turns changes, so that the template hashes
    /// change too.
    pub(crate) const fn version(self) -> u32 {
        match self {
            Self::KgAgent => 2,
            Self::Oda | Self::Triad => 1,
        }
    }
}
