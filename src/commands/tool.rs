//! `kgagent tool`: run calls on a graph.

use anyhow::{Context, Result};
use serde_json::json;
use toolbox::answer::CELL_SEPARATOR;
use toolbox::call::parse_program;
use toolbox::exec::{ExecOptions, Session};
use toolbox::link::{Linked, check_question};
use toolbox::trace::{ResultText, row_lines};

use super::graph;
use crate::cli::ToolArgs;
use crate::exit::ExitStatus;
use crate::ui::{Ui, clean_value};

pub(crate) fn run(args: &ToolArgs, ui: &Ui) -> Result<ExitStatus> {
    let calls = parse_program(&args.calls).context("the calls do not parse")?;
    let kg = graph::open(&args.graph)?;
    check_question(&args.question)?;
    let mut session = Session::new(
        &kg,
        &args.question,
        Linked::asked(&kg, &args.question, &[]),
        &[],
        ExecOptions {
            tools: args.tools,
            ..ExecOptions::default()
        },
    )?;
    let mut results = Vec::new();
    for call in &calls {
        session
            .run(call)
            .with_context(|| format!("`{call}` cannot be executed"))?;
        if let Some(step) = session.steps().last() {
            let result = ResultText::of(&session, step);
            let written = call.to_string();
            ui.say(format!("{}\n    {}", clean_value(&written), show(&result)));
            results.push(json!({ "call": call.to_string(), "result": result }));
        }
    }
    ui.object(&json!({ "steps": results }));
    Ok(ExitStatus::Done)
}

/// A result in one or two lines.
fn show(result: &ResultText) -> String {
    match result {
        ResultText::Relations { out, r#in } => {
            format!("out: {}\n    in: {}", list(out), list(r#in))
        }
        ResultText::Set { size, first } if first.len() < *size => {
            format!("{size}: {}, …", list(first))
        }
        ResultText::Set { size, first } => format!("{size}: {}", list(first)),
        ResultText::Number(number) => number.to_string(),
        ResultText::Truth(truth) => truth.to_string(),
        ResultText::Table {
            columns,
            size,
            first,
        } => {
            let mut lines = vec![format!("{size} rows: {}", columns.join(CELL_SEPARATOR))];
            lines.extend(row_lines(*size, first));
            let lines = lines.iter().map(|line| clean_value(line));
            lines.collect::<Vec<_>>().join("\n    ")
        }
    }
}

fn list(names: &[String]) -> String {
    if names.is_empty() {
        "none".to_owned()
    } else {
        clean_value(&names.join(", ")).into_owned()
    }
}
