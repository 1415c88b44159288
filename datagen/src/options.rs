//! Options of a generation run.

use common::hash;
use toolbox::agent::Agent;
use toolbox::prompt::{Layout, Template};

use crate::example::Example;
use crate::question::GoldQuestion;
use crate::reword::RewordCounts;
use crate::scramble;
use crate::select::SelectOptions;
use crate::synth::SynthExtras;
use crate::verify::VerifyOptions;

/// Default share of questions that get an extra example in which a needed relation is missing and
/// the correct result is to abstain. With a share of one twelfth, models answered most questions
/// about missing facts with a different relation (docs/results.md, *What is not in the graph*).
pub const ABSTAIN: f64 = 0.5;

/// How data is made.
#[derive(Clone)]
pub struct GenerateOptions {
    /// Template of the tool loop's examples.
    pub template: Template,
    /// Agents that get examples of every question; each at most once.
    pub agents: Vec<Agent>,
    /// How questions are verified.
    pub verify: VerifyOptions,
    /// Worker threads; 0 means one per core.
    pub threads: usize,
    /// Seed of every random choice.
    pub seed: u64,
    /// Maximum number of questions, chosen by the seed.
    pub limit: Option<usize>,
    /// Share of chain-like questions that also get an abstention example; 0 turns these off.
    pub abstain: f64,
    /// Share of the training examples with scrambled relation names (dialogue layout only).
    pub scramble: f64,
    /// Share of questions that go to `valid.jsonl`.
    pub valid: f64,
    /// Questions whose entities must not occur in the data.
    pub hold_out: Vec<GoldQuestion>,
    /// How verified questions are selected.
    pub select: SelectOptions,
    /// Coverage and held-back questions of synthesised data, written with the data.
    pub synth: Option<SynthExtras>,
    /// Counts of the rewordings among the questions, for the report.
    pub reworded: Option<RewordCounts>,
    /// Identifies the build that makes the data; a build does not continue the work of another.
    pub program: String,
}

impl Default for GenerateOptions {
    fn default() -> Self {
        Self {
            template: Template::new(Layout::Dialogue),
            agents: vec![Agent::KgAgent],
            verify: VerifyOptions::default(),
            threads: 0,
            seed: 0,
            limit: None,
            abstain: ABSTAIN,
            scramble: 0.0,
            valid: 0.02,
            hold_out: Vec::new(),
            select: SelectOptions::default(),
            synth: None,
            reworded: None,
            program: "unknown".to_owned(),
        }
    }
}

impl GenerateOptions {
    /// The template of every agent that gets examples.
    #[must_use]
    pub fn templates(&self) -> Vec<Template> {
        let template = |&agent: &Agent| {
            if agent == Agent::KgAgent {
                self.template.clone()
            } else {
                Template::of(agent)
            }
        };
        self.agents.iter().map(template).collect()
    }

    /// Whether relation names are scrambled in the training examples of a question.
    pub(crate) fn scrambles(&self, question: &GoldQuestion) -> bool {
        self.template.layout == Layout::Dialogue
            && hash::falls_into(self.scramble, self.seed, "scrambled", &question.id)
    }

    /// The example with invented relation names.
    pub(crate) fn scramble(&self, mut example: Example) -> Example {
        // Only the tool loop's turns have a layout that separates names from other words.
        if example.agent == Agent::KgAgent {
            scramble::scramble(&mut example, self.seed);
        }
        example
    }
}
