//! `kgagent ask`: answer one question, with program and evidence, or with the step whose result was
//! empty.

use std::path::Path;

use anyhow::{Context, Result, bail};
use common::input::read_text;
use infer::agent::{AgentKind, GIVING_UP, Outcome};
use infer::answerer::{Answerer, Asking};
use infer::planner::{Planner, Scripted, public_address};
use toolbox::answer::{AnswerTable, AnswerValue, Provenance};
use toolbox::call::ToolTable;
use toolbox::link;
use toolbox::prompt::Template;
use toolbox::rank::Ranker;
use toolbox::trace::{DecidedCandidate, TraceEvent};
use toolbox::usage::ServedUsage;

use super::eval::{Planning, Serving};
use super::{graph, output, ranking};
use crate::cli::AskArgs;
use crate::exit::ExitStatus;
use crate::ui::{Ui, clean_value, table};

/// How a trace begins.
const TRACE: &str = "{\"event\":\"observe\"";

pub(crate) fn run(args: &AskArgs, ui: &Ui) -> Result<ExitStatus> {
    link::check_question(&args.question)?;
    if let Some(path) = &args.trace {
        output::file(path, Some(TRACE))?;
    }
    let graph = graph::open(&args.answering.graph)?;
    let ranker = ranking::open(&args.answering.ranking)?;
    let linked = args.entities.is_empty();
    let agent = args
        .answering
        .agent(args.agent, linked, args.model.as_deref());
    let (mut planner, template) = planner(args, &agent, ranker.as_ref(), ui)?;
    let answerer = Answerer {
        kg: &graph,
        agent: &agent,
        template: &template,
        ranker: &ranker,
        model_name: &public_address(args.model.as_deref().unwrap_or("none")),
    };
    let asking = Asking {
        entities: &args.entities,
        exclude: args.exclude_topics,
        model_knowledge: args.answering.allow_model_knowledge,
        ..Asking::of(&args.question)
    };
    let answered = answerer.answer(asking, planner.as_mut())?;
    let names = answered.names(&graph);
    let outcome = answered.outcome;
    if let Some(path) = &args.trace {
        let mut bytes = Vec::new();
        toolbox::trace::write(&outcome.events, &mut bytes)?;
        common::fs::write_file(path, &bytes)?;
    }
    print_text(ui, &args.question, &names, &outcome);
    if args.why {
        print_why(ui, &outcome.events);
    }
    let mut object = outcome.object(&args.question, &names);
    if let Some(served) = &outcome.served {
        let cost = args.answering.price.map(|price| price.cost(served));
        print_served(ui, served, cost);
        if let Some(cost) = cost {
            object["served"]["cost"] = cost.into();
        }
    }
    ui.object(&object);
    Ok(if outcome.answer.is_none() {
        ExitStatus::Negative
    } else {
        ExitStatus::Done
    })
}

/// The planner of `--model` and its template.
fn planner(
    args: &AskArgs,
    agent: &AgentKind,
    ranker: &dyn Ranker,
    ui: &Ui,
) -> Result<(Box<dyn Planner>, Template)> {
    let model = args.model.as_deref();
    if let Some(file) = model.and_then(|name| name.strip_prefix("scripted:")) {
        let text = read_text(Path::new(file)).with_context(|| format!("cannot read {file}"))?;
        let turns = scripted_turns(&text);
        return Ok((
            Box::new(Scripted::new(turns)),
            Template::of(agent.trained_as()),
        ));
    }
    let serving = Serving {
        seed: args.seed,
        shots: args.answering.remote.shots,
        concurrency: 1,
        tools: ToolTable::Extended,
    };
    let (planning, template) = Planning::open(agent, model, &args.answering, serving, &mut None)?;
    if let Planning::Local(model) = &planning
        && let Some(warning) = model.other_ranker(ranker)
    {
        ui.warn(&warning);
    }
    let Some(planner) = planning.planner(args.answering.abstention_threshold) else {
        bail!("the oracle replays gold programs, and your own question has none; see `eval`")
    };
    Ok((planner, template))
}

/// The turns of a script: one a line, or of several lines with a line `---` between two turns.
fn scripted_turns(text: &str) -> Vec<String> {
    let between = |line: &str| line.trim() == "---";
    let turns: Vec<String> = if text.lines().any(between) {
        let lines: Vec<&str> = text.lines().collect();
        let turns = lines.split(|line| between(line));
        turns
            .map(|lines| lines.join("\n").trim().to_owned())
            .collect()
    } else {
        let lines = text.lines();
        lines
            .map(|line| line.trim().trim_end_matches(';').to_owned())
            .collect()
    };
    turns.into_iter().filter(|turn| !turn.is_empty()).collect()
}

/// Maximum number of printed answers, and of printed evidence triples.
const PRINTED: usize = 20;

pub(super) fn print_text(ui: &Ui, question: &str, entities: &[String], outcome: &Outcome) {
    let answer = &outcome.answer;
    ui.say(format!("question  {}", clean_value(question)));
    if entities.is_empty() {
        // A question about a class or the whole graph names none.
        let hint = if answer.value.is_empty() {
            " (name one with --entity)"
        } else {
            ""
        };
        ui.say(format!("entities  none found in the question{hint}"));
    } else {
        ui.say(format!("entities  {}", clean_value(&entities.join(", "))));
    }
    match &answer.value {
        AnswerValue::Table(table)
            if !table.rows.is_empty() && (table.rows.len() > 1 || table.columns.len() > 1) =>
        {
            say_lines(ui, "answer", table_lines(table));
        }
        _ => ui.say(format!("answer    {}", clean_value(&answer_text(outcome)))),
    }
    if answer.provenance == Provenance::Model {
        ui.say("source    the model's own knowledge; nothing in the graph proves it");
    }
    say_lines(ui, "program", answer.program.iter());
    let evidence = answer.evidence.iter().take(PRINTED);
    let evidence = evidence.map(|triple| triple.text.join(" · "));
    say_lines(ui, "evidence", evidence);
    if answer.evidence.len() > PRINTED {
        ui.say(format!(
            "          … and {} more triples",
            answer.evidence.len() - PRINTED
        ));
    }
    if let Some(emptied) = &answer.emptied {
        ui.say(format!(
            "emptied   step {}: {}: {}",
            emptied.step, emptied.call, emptied.why
        ));
    }
    let nearest = outcome.nearest().map(|nearest| nearest.program);
    if let Some(program) = nearest.filter(|program| !program.is_empty()) {
        say_lines(ui, "nearest", [program.join("; ")]);
    }
}

/// Prints why the program was chosen: the words that its parts explain, and the second-best
/// candidate.
fn print_why(ui: &Ui, events: &[TraceEvent]) {
    let decision = events.iter().find_map(|event| match event {
        TraceEvent::Decision { candidates, why } => Some((candidates, why)),
        _ => None,
    });
    let Some((candidates, why)) = decision else {
        ui.say("why       unknown: only the agent `words` and `--mode decide` compare programs");
        return;
    };
    let best = |chosen: bool| {
        let those = candidates.iter().filter(|one| one.chosen == chosen);
        those.max_by(|a, b| a.score.total_cmp(&b.score))
    };
    let (first, second) = (best(true), best(false));
    let gave_up = |one: &DecidedCandidate| one.program == [GIVING_UP];
    let program = if first.is_some_and(gave_up) {
        "second best program"
    } else {
        "program"
    };
    let mut lines: Vec<String> = why
        .iter()
        .map(|reason| match &reason.by {
            Some(by) => format!(
                "“{}” is explained by {by} ({:.2})",
                reason.word, reason.probability
            ),
            None => format!("nothing in the {program} explains “{}”", reason.word),
        })
        .collect();
    if let (Some(first), Some(second)) = (first, second) {
        let by = first.score - second.score;
        let place = if by < 0.0 {
            format!(
                "scored {:.1} higher, but programs with equal answers add up",
                -by
            )
        } else {
            format!("second best, {by:.1} behind")
        };
        let what = if gave_up(second) {
            "giving up".to_owned()
        } else if second.program.is_empty() {
            "the agent's own answer".to_owned()
        } else {
            second.program.join("; ")
        };
        lines.push(format!("{place}: {what}"));
    }
    say_lines(ui, "why", lines);
}

/// Prints lines, the first of them after a name.
fn say_lines(ui: &Ui, name: &str, lines: impl IntoIterator<Item: AsRef<str>>) {
    for (i, line) in lines.into_iter().enumerate() {
        let name = if i == 0 { name } else { "" };
        ui.say(format!("{name:<9} {}", clean_value(line.as_ref())));
    }
}

/// Maximum characters of a printed cell.
const CELL: usize = 40;

/// The lines of a table: the headings, then the first rows.
fn table_lines(answer: &AnswerTable) -> Vec<String> {
    let cut = |text: &str| match text.char_indices().nth(CELL) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    };
    let mut rows: Vec<Vec<String>> = vec![answer.columns.iter().map(|text| cut(text)).collect()];
    let shown = answer.labels().take(PRINTED);
    rows.extend(shown.map(|row| row.into_iter().map(cut).collect()));
    let mut lines: Vec<String> = table(&rows).lines().map(str::to_owned).collect();
    if answer.rows.len() > PRINTED {
        lines.push(format!("… ({} rows in all)", answer.rows.len()));
    }
    lines
}

/// Prints the requests and tokens that a server counted, and their cost if it is known.
fn print_served(ui: &Ui, served: &ServedUsage, cost: Option<f64>) {
    let cost = cost.map(|cost| format!(", cost {cost:.6}"));
    ui.say(format!(
        "served    {} requests, {} prompt tokens ({} cached), {} written{}",
        served.requests,
        served.prompt_tokens,
        served.cached_tokens,
        served.completion_tokens,
        cost.unwrap_or_default()
    ));
}

/// The answer of an outcome in one line.
pub(super) fn answer_text(outcome: &Outcome) -> String {
    outcome.answer_text(PRINTED)
}
