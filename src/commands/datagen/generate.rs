//! Writes datasets, with progress; the part that `gold`, `synth` and `demo` share.

use std::path::Path;

use anyhow::{Result, bail};
use datagen::pipeline::GenerateOptions;
use datagen::question::GoldQuestion;
use datagen::report::Report;
use datagen::synth::SynthOptions;
use kg::Kg;
use serde_json::{Value, json};
use toolbox::agent::Agent;
use toolbox::call::ToolTable;
use toolbox::exec::Naming;
use toolbox::prompt::{Layout, Template};

use super::reword::with_rewordings;
use crate::cli::{RewordArgs, SampleArgs};
use crate::identity;
use crate::ui::Ui;

/// Writes the dataset of `questions` to `out`; `run` records where they came from.
pub(in crate::commands) fn generate(
    out: &Path,
    questions: &[GoldQuestion],
    graph: &dyn Kg,
    options: &GenerateOptions,
    run: &Value,
    ui: &Ui,
) -> Result<Report> {
    let stage = ui.progress("generate", "question", Some(questions.len() as u64));
    let progress = |done: usize, total: usize| {
        stage.set_length(total as u64);
        stage.set_position(done as u64);
    };
    let options = &GenerateOptions {
        program: identity::program().to_owned(),
        ..options.clone()
    };
    let report = datagen::write_dataset(out, questions, graph, options, run, &progress, ui.stop())
        .map_err(|error| match error {
            datagen::Error::Stopped { .. } => {
                anyhow::Error::from(error).context("the same command continues from here")
            }
            other => other.into(),
        })?;
    stage.finish_and_clear();
    if report.resumed > 0 {
        ui.say(format!("{} questions had been done before", report.resumed));
    }
    Ok(report)
}

/// Synthesizes questions about a graph, holds out a share of them, and writes the dataset of the
/// rest to `out`.
pub(in crate::commands) fn synthesize(
    out: &Path,
    graph: &dyn Kg,
    synth: &SynthOptions,
    hold_back: f64,
    reword: Option<&RewordArgs>,
    options: GenerateOptions,
    ui: &Ui,
) -> Result<Report> {
    if !(0.0..=0.9).contains(&hold_back) {
        bail!("--hold-back takes a share from 0 to 0.9, not {hold_back}");
    }
    if synth.count == 0 {
        bail!("--count takes a number of questions from 1 on");
    }
    let stage = ui.progress("synthesize", "question", Some(synth.count as u64));
    let progress = |done: usize, _: usize| stage.set_position(done as u64);
    let made = datagen::synth::synthesise(graph, synth, &progress, ui.stop())?;
    stage.finish_and_clear();
    let (questions, extras) = made.split(hold_back, synth.seed);
    // Questions that are held back keep their wording.
    let (questions, reworded) = match reword {
        Some(args) => {
            with_rewordings(args, synth.seed, out, questions, &options.verify, graph, ui)?
        }
        None => (questions, None),
    };
    let options = GenerateOptions {
        synth: Some(extras),
        reworded,
        ..options
    };
    let run = json!({ "count": synth.count, "hold_back": hold_back });
    generate(out, &questions, graph, &options, &run, ui)
}

/// Number of relations above which synthesized data names them by handle.
///
/// A small model trained on synthesized questions sees too few examples of each name to spell more.
/// On graphs with 411 and 726 relations such models answer 0.44 and 0.23 of people's questions by
/// name but 0.62 and 0.42 by handle; on one with 27, 0.34 and 0.32 (docs/results.md, *Bring your
/// own graph*).
const SPELLED: usize = 200;

/// How calls in synthesized data name relations by default.
pub(in crate::commands) fn synth_naming(graph: &dyn Kg) -> Naming {
    if graph.relations().len() > SPELLED {
        Naming::Handles
    } else {
        Naming::Mixed
    }
}

/// The tools of synthesized data by default. The layout of the papers keeps their tools, and only
/// kg-agent has others.
pub(in crate::commands) fn synth_tools(layout: Layout, agents: &[Agent]) -> ToolTable {
    if layout == Layout::Dialogue && agents.contains(&Agent::KgAgent) {
        ToolTable::Extended
    } else {
        ToolTable::Paper
    }
}

/// The template of the tool loop's examples; `naming` is the default for relations.
pub(super) fn template(args: &SampleArgs, naming: Naming) -> Result<Template> {
    let mut template = Template::new(args.layout);
    if args.layout == Layout::Dialogue {
        template.toolbox = args.tool_list;
        template.observe = args.observe;
        template.naming = args.relations.unwrap_or(naming);
    } else if args.observe {
        bail!("--observe is for the dialogue layout: a paper prompt has no room for it");
    }
    Ok(template)
}

/// The named agents, each once, in canonical order.
pub(in crate::commands) fn agents(named: &[Agent]) -> Vec<Agent> {
    Agent::ALL
        .into_iter()
        .filter(|agent| named.contains(agent))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn synthesised_data_has_the_extended_tools_where_they_can_be_called() {
        let tools = |layout, agents: &[Agent]| synth_tools(layout, agents);
        let (extended, paper) = (ToolTable::Extended, ToolTable::Paper);
        assert_eq!(tools(Layout::Dialogue, &[Agent::KgAgent]), extended);
        assert_eq!(tools(Layout::Dialogue, &Agent::ALL), extended);
        assert_eq!(tools(Layout::Dialogue, &[Agent::Oda, Agent::Triad]), paper);
        assert_eq!(tools(Layout::Paper, &[Agent::KgAgent]), paper);
    }
}
