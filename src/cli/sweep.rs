//! Variations of a setting that `eval --sweep` measures.

use clap::ValueEnum;
use infer::agent::AgentKind;
use toolbox::agent::Agent;

use super::agent::{REFLECTIONS, TriadPart, with_examples};

/// A parameter and the values that it takes in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SweepAxis {
    parameter: Parameter,
    /// As they were written.
    pub(crate) values: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parameter {
    Examples,
    Selected,
    Tries,
    LeaveOut,
    Reflection,
    Observation,
}

/// The parameters by name.
const PARAMETERS: [(&str, Parameter); 6] = [
    ("n", Parameter::Examples),
    ("k", Parameter::Selected),
    ("t", Parameter::Tries),
    ("leave-out", Parameter::LeaveOut),
    ("reflection", Parameter::Reflection),
    ("observation", Parameter::Observation),
];

impl SweepAxis {
    /// Reads `n=0,1,3`.
    ///
    /// # Errors
    /// A message about the parameter or the value that is not known.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let known = || {
            let names: Vec<&str> = PARAMETERS.iter().map(|(name, _)| *name).collect();
            format!(
                "write NAME=VALUE,VALUE with one of the names {}",
                names.join(", ")
            )
        };
        let (name, values) = text.split_once('=').ok_or_else(known)?;
        let mut parameters = PARAMETERS.iter();
        let (_, parameter) = parameters
            .find(|(known, _)| *known == name)
            .ok_or_else(known)?;
        let axis = Self {
            parameter: *parameter,
            values: values
                .split(',')
                .map(|value| value.trim().to_owned())
                .collect(),
        };
        for value in &axis.values {
            axis.check(value)?;
        }
        Ok(axis)
    }

    /// The name of the parameter.
    pub(crate) fn name(&self) -> &'static str {
        let mut all = PARAMETERS.iter();
        all.find(|(_, parameter)| *parameter == self.parameter)
            .map_or("", |(name, _)| name)
    }

    fn check(&self, value: &str) -> Result<(), String> {
        let number = value.parse::<usize>().is_ok();
        let (right, wanted) = match self.parameter {
            Parameter::Examples => (number, "a number"),
            Parameter::Selected | Parameter::Tries => {
                (number && value != "0", "a number from 1 on")
            }
            Parameter::LeaveOut => (
                value == "none" || part(value).is_some(),
                "none or a part of --leave-out",
            ),
            Parameter::Reflection => (
                REFLECTIONS.iter().any(|(name, ..)| *name == value),
                "a value of --reflection",
            ),
            Parameter::Observation => (["on", "off"].contains(&value), "on or off"),
        };
        if right {
            Ok(())
        } else {
            Err(format!(
                "`{value}` is no value of {}: write {wanted}",
                self.name()
            ))
        }
    }

    /// The agent and its number of worked examples with this value; `None` if the agent does not
    /// have the parameter.
    pub(crate) fn varied(
        &self,
        agent: &AgentKind,
        shots: usize,
        value: &str,
    ) -> Option<(AgentKind, usize)> {
        let number = value.parse::<usize>().unwrap_or_default();
        let mut varied = agent.clone();
        match self.parameter {
            Parameter::Examples if agent.takes_examples() => {
                return Some((with_examples(varied, number), number));
            }
            Parameter::Examples => return None,
            Parameter::Selected => {
                if let AgentKind::TriadPaper(options) = &mut varied {
                    (options.entities, options.relations) = (number, number);
                } else if let Some(options) = varied.triad_mut() {
                    (options.work.entities, options.work.relations) = (number, number);
                } else {
                    varied.oda_mut()?.kept = number;
                }
            }
            Parameter::Tries => {
                if let AgentKind::TriadPaper(options) = &mut varied {
                    options.tries = number;
                } else if let Some(options) = varied.triad_mut() {
                    options.work.tries = number;
                } else {
                    varied.oda_mut()?.iterations = number;
                }
            }
            Parameter::LeaveOut => {
                if let Some(part) = part(value) {
                    return Some((part.left_out_of(agent)?, shots));
                }
                if varied.trained_as() != Agent::Triad {
                    return None;
                }
            }
            Parameter::Reflection => {
                let mut all = REFLECTIONS.iter();
                varied.oda_mut()?.reflection = all.find(|(name, ..)| *name == value)?.2;
            }
            Parameter::Observation => varied.oda_mut()?.observation = value == "on",
        }
        Some((varied, shots))
    }
}

fn part(value: &str) -> Option<TriadPart> {
    TriadPart::from_str(value, false).ok()
}
