//! `kgagent datagen synth`: questions, gold queries and verified examples from a graph alone.

use anyhow::Result;
use datagen::pipeline::GenerateOptions;
use datagen::synth::{Coverage, SynthOptions};
use datagen::verify::VerifyOptions;
use toolbox::prompt::Template;

use super::super::{graph, output};
use super::generate::{agents, synth_naming, synth_tools, synthesize, template};
use super::report::{print, row};
use crate::cli::SynthArgs;
use crate::exit::ExitStatus;
use crate::ui::{Ui, header};

pub(crate) fn run(args: &SynthArgs, ui: &Ui) -> Result<ExitStatus> {
    ui.catch_interrupts()?;
    output::spare(&args.out, [args.graph.kg.as_path()])?;
    let graph = graph::open(&args.graph)?;
    let samples = &args.samples;
    let threads = samples.threads.unwrap_or(0);
    let tools = (args.tools).unwrap_or_else(|| synth_tools(samples.layout, &samples.agents));
    let verify = VerifyOptions {
        tools,
        ..VerifyOptions::default()
    };
    let synth = SynthOptions {
        count: args.count,
        seed: samples.seed,
        threads,
        verify: verify.clone(),
        ..SynthOptions::default()
    };
    let options = GenerateOptions {
        template: Template {
            tools,
            ..template(samples, synth_naming(&graph))?
        },
        agents: agents(&samples.agents),
        verify: VerifyOptions {
            abstain: args.abstain > 0.0,
            ..verify
        },
        threads,
        seed: samples.seed,
        abstain: args.abstain,
        ..GenerateOptions::default()
    };
    let report = synthesize(
        &args.out,
        &graph,
        &synth,
        args.hold_back,
        Some(&args.reword),
        options,
        ui,
    )?;
    print(&report, ui)?;
    if let Some(coverage) = &report.coverage {
        print_coverage(coverage, ui);
    }
    ui.say(format!("\nwritten to {}", args.out.display()));
    Ok(ExitStatus::Done)
}

/// Relations and classes without a question that are listed.
const UNCOVERED: usize = 8;

fn print_coverage(coverage: &Coverage, ui: &Ui) {
    let share = |name: &str, covered: usize, usable: usize, share: f64| {
        let mut row = row(name, &[usable, covered]);
        row.push(format!("{:.1} %", share * 100.0));
        row
    };
    ui.say("");
    let mut rows = header("coverage|usable|covered|share");
    rows.extend([
        share(
            "relations",
            coverage.relations_covered,
            coverage.relations_usable,
            coverage.relation_share(),
        ),
        share(
            "classes",
            coverage.classes_covered,
            coverage.classes_usable,
            coverage.class_share(),
        ),
    ]);
    ui.table(&rows);
    ui.say("");
    let mut rows = header("shape|questions");
    let shapes = coverage.by_shape.iter();
    rows.extend(shapes.map(|(shape, count)| row(shape, &[*count])));
    rows.extend(coverage.by_hops.iter().map(|(hops, count)| {
        let plural = if *hops == 1 { "" } else { "s" };
        row(&format!("{hops} hop{plural}"), &[*count])
    }));
    ui.table(&rows);
    for (what, list) in [
        ("relations", &coverage.relations_uncovered),
        ("classes", &coverage.classes_uncovered),
    ] {
        if list.is_empty() {
            continue;
        }
        ui.say(format!("\n{} {what} without a question:", list.len()));
        for one in list.iter().take(UNCOVERED) {
            ui.say(format!("  {}: {}", one.name, one.why));
        }
        if list.len() > UNCOVERED {
            ui.say(format!(
                "  … and {} more in report.json",
                list.len() - UNCOVERED
            ));
        }
    }
    if coverage.questions < coverage.wanted {
        ui.say(format!(
            "\nthe graph gave {} different questions of the {} requested",
            coverage.questions, coverage.wanted
        ));
    }
}
