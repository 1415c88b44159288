//! `kgagent eval`: measure an agent on questions with gold answers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use datagen::linking::{Linking, gold_entities};
use datagen::question::{GoldQuery, GoldQuestion};
use datagen::read::ReadOptions;
use datagen::verify::{self, Verified, VerifyOptions};
use indicatif::ProgressBar;
use infer::agent::{Outcome as Answered, kg_agent};
use infer::planner::{LocalModel, LocalPlanner, Oracle};
use model::atomic::StagedFolder;
use rayon::prelude::*;
use serde::Serialize;
use serde_json::json;
use toolbox::answer::{Answer, AnswerValue};
use toolbox::call::parse_program;
use toolbox::exec::{Exclude, ExcludeWhen, ExecOptions};
use toolbox::kg::{Kg, QueryAnswer, QueryLimits, fold};
use toolbox::link::{self, Linked};
use toolbox::memory::{Layout, Template};
use toolbox::metrics::{Metrics, Scored, Scores, score};
use toolbox::rank::Ranker;
use toolbox::term::NodeId;

use super::{datagen as sources, kg, ranking};
use crate::Outcome;
use crate::cli::{EntitySource, EvalArgs};
use crate::ui::{Ui, seconds};

/// Who plans.
pub(crate) enum Planning {
    /// The gold programs.
    Oracle,
    /// A model folder.
    Local(Arc<LocalModel>),
}

/// How questions are put.
pub(crate) struct Setting {
    pub(crate) planning: Planning,
    pub(crate) template: Template,
    pub(crate) entities: EntitySource,
    pub(crate) exclude: Option<ExcludeWhen>,
    pub(crate) ranker: Arc<dyn Ranker>,
}

impl Setting {
    /// The setting of a model folder, or of `oracle`.
    pub(crate) fn open(model: &str, entities: EntitySource, exclude: Option<ExcludeWhen>, ranker: Arc<dyn Ranker>) -> Result<Self> {
        if model == "oracle" {
            return Ok(Self { planning: Planning::Oracle, template: Template::new(Layout::Dialogue), entities, exclude, ranker });
        }
        let model = LocalModel::open(Path::new(model)).with_context(|| format!("cannot load the model {model}"))?;
        let template = model.template()?;
        Ok(Self { planning: Planning::Local(Arc::new(model)), template, entities, exclude, ranker })
    }
}

/// One line of `predictions.jsonl`.
#[derive(Serialize)]
struct Prediction {
    id: String,
    question: String,
    gold: BTreeSet<String>,
    predicted: BTreeSet<String>,
    scores: Scores,
    program: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gold_program: Option<bool>,
    invalid_calls: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    emptied: Option<toolbox::answer::Emptied>,
}

/// What an evaluation gave.
pub(crate) struct Evaluated {
    pub(crate) metrics: Metrics,
    /// How well entities were found, where they were linked.
    pub(crate) linking: Option<Linking>,
    /// Questions that could not be measured (no gold answer, or for the oracle no verified program), with the reason.
    pub(crate) skipped: Vec<(String, String)>,
    predictions: Vec<Prediction>,
    traces: Vec<Vec<toolbox::trace::Event>>,
}

struct One {
    scored: Scored,
    /// Gold and linked entities and how long linking took.
    linking: Option<(Vec<NodeId>, Vec<NodeId>, Duration)>,
    prediction: Prediction,
    events: Vec<toolbox::trace::Event>,
}

pub(crate) fn run(args: &EvalArgs, ui: &Ui) -> Result<Outcome> {
    let graph = kg::open(&args.graph)?;
    let setting =
        Setting::open(&args.model, args.entities, args.exclude_topics.map(crate::cli::ExcludeTopics::when), ranking::open(&args.ranking)?)?;
    if let Planning::Local(model) = &setting.planning
        && let Some(warning) = ranking::mismatch(setting.ranker.as_ref(), model.info())
    {
        ui.warn(&warning);
    }
    let all = sources::read(std::slice::from_ref(&args.source), Some(&graph), &ReadOptions { seed: args.seed, ..ReadOptions::default() })?;
    let questions = limited(all, args.limit, args.seed);
    if questions.is_empty() {
        bail!("the source {} has no questions to measure on", args.source);
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.threads.unwrap_or(0)).build()?;
    let evaluated = pool.install(|| evaluate(&graph, &questions, &setting, ui))?;
    ranking::check(setting.ranker.as_ref())?;
    let setting = json!({ "ranker": setting.ranker.name(), "model": args.model, "source": args.source, "entities": format!("{:?}", args.entities).to_lowercase() });
    write(&args.out, &evaluated, &setting, args.traces)?;
    print(&evaluated, ui);
    ui.say(format!("\nwritten to {}", args.out.display()));
    let mut value = serde_json::to_value(&evaluated.metrics)?;
    value["skipped"] = json!(evaluated.skipped.len());
    if let Some(linking) = &evaluated.linking {
        value["linking"] = linking_object(linking);
    }
    ui.object(&value);
    Ok(Outcome::Done)
}

/// At most `limit` questions of each hop count, chosen by a hash of id and seed; the order stays.
fn limited(questions: Vec<GoldQuestion>, limit: Option<usize>, seed: u64) -> Vec<GoldQuestion> {
    let Some(limit) = limit else { return questions };
    let mut order: Vec<usize> = (0..questions.len()).collect();
    order.sort_by_cached_key(|&i| datagen::hash::number(seed, "eval", &questions[i].id));
    let mut taken: std::collections::BTreeMap<Option<u32>, usize> = std::collections::BTreeMap::new();
    let mut keep = vec![false; questions.len()];
    for i in order {
        let count = taken.entry(questions[i].hops).or_default();
        if *count < limit {
            *count += 1;
            keep[i] = true;
        }
    }
    questions.into_iter().zip(keep).filter(|(_, keep)| *keep).map(|(question, _)| question).collect()
}

/// Answers every question and scores the answers, on the current thread pool; results do not depend on its size.
pub(crate) fn evaluate(graph: &dyn Kg, questions: &[GoldQuestion], setting: &Setting, ui: &Ui) -> Result<Evaluated> {
    let bar = ui.bar(Some(questions.len() as u64), "evaluate");
    let results: Vec<Result<Result<One, String>>> = questions
        .par_iter()
        .map_init(
            || match &setting.planning {
                Planning::Oracle => None,
                Planning::Local(model) => Some(LocalPlanner::new(model)),
            },
            |planner, question| one(graph, question, setting, planner.as_mut(), &bar, ui),
        )
        .collect();
    bar.finish_and_clear();
    let linking = (setting.entities == EntitySource::Linked).then(Linking::default);
    let mut evaluated =
        Evaluated { metrics: Metrics::default(), linking, skipped: Vec::new(), predictions: Vec::new(), traces: Vec::new() };
    let mut scored = Vec::new();
    for (question, result) in questions.iter().zip(results) {
        match result? {
            Ok(one) => {
                if let (Some(linking), Some((gold, linked, took))) = (&mut evaluated.linking, &one.linking) {
                    linking.add(gold, linked, *took, &one.scored.groups);
                }
                scored.push(one.scored);
                evaluated.traces.push(one.events);
                evaluated.predictions.push(one.prediction);
            }
            Err(reason) => evaluated.skipped.push((question.id.clone(), reason)),
        }
    }
    if scored.is_empty() {
        let first = evaluated.skipped.first().map_or("", |(_, reason)| reason.as_str());
        bail!("none of the {} questions can be measured; the first because: {first}", questions.len());
    }
    evaluated.metrics = Metrics::of(&scored);
    Ok(evaluated)
}

fn one(
    graph: &dyn Kg,
    question: &GoldQuestion,
    setting: &Setting,
    planner: Option<&mut LocalPlanner>,
    bar: &ProgressBar,
    ui: &Ui,
) -> Result<Result<One, String>> {
    if ui.stop().load(Ordering::Relaxed) {
        bail!("interrupted");
    }
    bar.inc(1);
    let gold = match Gold::of(graph, question) {
        Ok(gold) => gold,
        Err(reason) => return Ok(Err(reason)),
    };
    let begun = Instant::now();
    let found = match setting.entities {
        EntitySource::Gold => None,
        EntitySource::Linked => Some(link::entities_of(graph, &question.question, setting.ranker.as_ref())?),
    };
    let linking_took = begun.elapsed();
    let (answered, known) = match planner {
        Some(planner) => (model_answer(graph, question, setting, found.as_deref(), planner)?, None),
        None => match verified(graph, question) {
            Ok(verified) => (oracle_answer(graph, question, setting, &verified, found.as_deref())?, Some(verified)),
            Err(reason) => return Ok(Err(reason)),
        },
    };
    let took = begun.elapsed();
    let linking = found.and_then(|found| Some((gold_entities(graph, question)?, found, linking_took)));
    let known = known.or_else(|| verified(graph, question).ok());
    let program = known.map(|verified| verified.gold.calls.iter().map(ToString::to_string).eq(answered.answer.program.iter().cloned()));
    let predicted = gold.comparable(&answered.answer);
    let scores = score(&predicted, &gold.texts);
    let mut groups = Vec::new();
    groups.extend(question.hops.map(|hops| ("hops".to_owned(), hops.to_string())));
    groups.extend(question.kind.clone().map(|kind| ("type".to_owned(), kind)));
    let scored = Scored {
        scores,
        answered: !answered.answer.is_none(),
        calls: answered.calls,
        invalid_calls: answered.invalid,
        tokens: answered.tokens,
        seconds: took.as_secs_f64(),
        program,
        groups,
    };
    let prediction = Prediction {
        id: question.id.clone(),
        question: question.question.clone(),
        gold: gold.texts,
        predicted,
        scores,
        program: answered.answer.program.clone(),
        gold_program: program,
        invalid_calls: answered.invalid,
        emptied: answered.answer.emptied.clone(),
    };
    Ok(Ok(One { scored, linking, prediction, events: answered.events }))
}

/// The gold program, verified against the gold query on this graph. Published answers do not bind here: how often they differ is part of
/// what the oracle measures.
fn verified(graph: &dyn Kg, question: &GoldQuestion) -> Result<Verified, String> {
    let free = GoldQuestion { answers_bind: false, ..question.clone() };
    let options = VerifyOptions { abstain: true, ..VerifyOptions::default() };
    verify::verify(graph, &free, &options).map_err(|refused| format!("{}: {}", refused.reason.name(), refused.detail))
}

/// Replays the gold program. With linked entities it can only be written where all of its entities are linked; elsewhere the oracle gives up,
/// so that its score is the best that any planner can reach on them.
fn oracle_answer(
    graph: &dyn Kg,
    question: &GoldQuestion,
    setting: &Setting,
    verified: &Verified,
    found: Option<&[NodeId]>,
) -> Result<Answered> {
    let reachable = found.is_none_or(|found| verified.linked.entities.iter().all(|node| found.contains(node)));
    let calls = if reachable { verified.gold.calls.clone() } else { parse_program(GIVE_UP)? };
    let task = kg_agent::Task {
        kg: graph,
        question: &question.question,
        linked: verified.linked.clone(),
        must_offer: &verified.must_offer,
        options: verified.exec_options(&VerifyOptions { ranker: Arc::clone(&setting.ranker), ..VerifyOptions::default() }),
        template: &setting.template,
        planner_name: "oracle",
    };
    Ok(kg_agent::answer(task, &mut Oracle::new(calls))?)
}

/// The program that ends without an answer.
const GIVE_UP: &str = "ans = end([])";

fn model_answer(
    graph: &dyn Kg,
    question: &GoldQuestion,
    setting: &Setting,
    found: Option<&[NodeId]>,
    planner: &mut LocalPlanner,
) -> Result<Answered> {
    let entities = match found {
        Some(found) => found.to_vec(),
        None => question.topics.iter().filter_map(|topic| graph.by_name(&topic.name)).collect(),
    };
    let linked = Linked::new(graph, &question.question, &entities);
    let when = setting.exclude.unwrap_or(question.exclude);
    let options = ExecOptions {
        exclude: Exclude { nodes: linked.entities.clone(), when },
        refuse_statements: true,
        ranker: Arc::clone(&setting.ranker),
        ..ExecOptions::default()
    };
    let task = kg_agent::Task {
        kg: graph,
        question: &question.question,
        linked,
        must_offer: &[],
        options,
        template: &setting.template,
        planner_name: "local model",
    };
    Ok(kg_agent::answer(task, planner)?)
}

/// Gold answers as comparable texts.
struct Gold {
    texts: BTreeSet<String>,
    /// Other texts of an answer, and the one that stands for it.
    aliases: BTreeMap<String, String>,
    /// Published labels are compared as folded labels; everything else as terms.
    labels: bool,
}

impl Gold {
    fn of(graph: &dyn Kg, question: &GoldQuestion) -> Result<Self, String> {
        let only = matches!(question.query, GoldQuery::AnswersOnly { .. });
        if let Some(answers) = question.answers.as_ref().filter(|_| question.answers_bind || only) {
            let texts: BTreeSet<String> = answers.iter().map(|answer| fold(answer)).collect();
            // Aliases belong to the one answer there is.
            let aliases = match (&question.query, texts.first().filter(|_| texts.len() == 1)) {
                (GoldQuery::AnswersOnly { aliases }, Some(answer)) => aliases.iter().map(|alias| (fold(alias), answer.clone())).collect(),
                _ => BTreeMap::new(),
            };
            return Ok(Self { texts, aliases, labels: true });
        }
        let query = verify::parsed(question).map_err(|refused| format!("{}: {}", refused.reason.name(), refused.detail))?;
        let texts = match graph.query(&query, QueryLimits::default()).map_err(|error| error.to_string())? {
            QueryAnswer::Bool(truth) => BTreeSet::from([truth.to_string()]),
            QueryAnswer::Rows { rows, .. } => rows.iter().filter_map(|row| row.first()?.as_ref()).map(comparable).collect(),
        };
        Ok(Self { texts, aliases: BTreeMap::new(), labels: false })
    }

    fn comparable(&self, answer: &Answer) -> BTreeSet<String> {
        match &answer.value {
            AnswerValue::Set(members) if self.labels => {
                let own = |text: String| self.aliases.get(&text).cloned().unwrap_or(text);
                members.iter().map(|member| own(fold(&member.label))).collect()
            }
            AnswerValue::Set(members) => members.iter().map(|member| comparable(&member.term)).collect(),
            AnswerValue::Number(number) => BTreeSet::from([number.to_string()]),
            AnswerValue::Truth(truth) => BTreeSet::from([truth.to_string()]),
        }
    }
}

/// A term as it is compared; whole numbers by value, so that a computed count equals ours.
fn comparable(term: &toolbox::term::Term) -> String {
    match term.as_literal() {
        Some(literal) if literal.datatype.as_deref().is_some_and(|datatype| datatype.ends_with("#integer")) => literal.lexical.clone(),
        _ => term.to_string(),
    }
}

/// Writes metrics.json, predictions.jsonl, skipped.jsonl and, if asked for, traces/.
pub(crate) fn write(out: &Path, evaluated: &Evaluated, setting: &serde_json::Value, traces: bool) -> Result<()> {
    let folder = StagedFolder::new(out)?;
    let mut metrics = serde_json::to_value(&evaluated.metrics)?;
    metrics["skipped"] = json!(evaluated.skipped.len());
    metrics["setting"] = setting.clone();
    if let Some(linking) = &evaluated.linking {
        metrics["linking"] = linking_object(linking);
    }
    folder.file("metrics.json", &serde_json::to_vec_pretty(&metrics)?)?;
    folder.file("predictions.jsonl", &lines(&evaluated.predictions)?)?;
    let skipped: Vec<_> = evaluated.skipped.iter().map(|(id, reason)| json!({ "id": id, "reason": reason })).collect();
    folder.file("skipped.jsonl", &lines(&skipped)?)?;
    if traces {
        std::fs::create_dir(folder.path().join("traces"))?;
        for (i, events) in evaluated.traces.iter().enumerate() {
            folder.file(&format!("traces/{i:06}.jsonl"), &lines(events)?)?;
        }
    }
    folder.commit()?;
    Ok(())
}

fn lines<T: Serialize>(items: &[T]) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for item in items {
        serde_json::to_writer(&mut bytes, item)?;
        bytes.push(b'\n');
    }
    Ok(bytes)
}

/// The row of a table for metrics.
pub(crate) fn row(name: &str, metrics: &Metrics) -> Vec<String> {
    let s = &metrics.scores;
    let share = |x: f64| format!("{x:.4}");
    vec![
        name.to_owned(),
        metrics.n.to_string(),
        share(s.hits_at_1),
        share(s.f1),
        share(s.exact),
        metrics.program.map_or_else(|| "–".to_owned(), share),
        metrics.answered.to_string(),
        metrics.calls.to_string(),
        metrics.invalid_calls.to_string(),
        seconds(metrics.seconds),
    ]
}

/// The head of such a table.
pub(crate) fn head() -> Vec<String> {
    ["questions", "n", "hits@1", "f1", "exact", "program", "answered", "calls", "invalid", "time"].map(str::to_owned).to_vec()
}

fn print(evaluated: &Evaluated, ui: &Ui) {
    let mut rows = vec![head(), row("all", &evaluated.metrics)];
    for (dimension, values) in &evaluated.metrics.by {
        rows.extend(values.iter().map(|(value, metrics)| row(&format!("{dimension} {value}"), metrics)));
    }
    ui.table(&rows);
    if let Some(linking) = &evaluated.linking {
        let mut rows = vec![["entities linked", "n", "recall", "complete", "precision", "a question", "time"].map(str::to_owned).to_vec()];
        rows.push(linking_row("all", linking));
        for (dimension, values) in &linking.by {
            rows.extend(values.iter().map(|(value, linking)| linking_row(&format!("{dimension} {value}"), linking)));
        }
        ui.say("");
        ui.table(&rows);
    }
    if let Some((id, reason)) = evaluated.skipped.first() {
        ui.say(format!("{} questions were not measured, such as {id}: {reason}", evaluated.skipped.len()));
    }
}

fn linking_row(name: &str, linking: &Linking) -> Vec<String> {
    let share = |x: f64| format!("{x:.4}");
    let each = linking.seconds * 1e3 / linking.questions.max(1) as f64;
    vec![
        name.to_owned(),
        linking.questions.to_string(),
        share(linking.recall()),
        share(linking.complete()),
        share(linking.precision()),
        format!("{:.2}", linking.a_question()),
        format!("{each:.2} ms"),
    ]
}

/// Linking for machines: the counts and what follows from them.
fn linking_object(linking: &Linking) -> serde_json::Value {
    let flat = |linking: &Linking| {
        json!({
            "questions": linking.questions,
            "gold": linking.gold,
            "linked": linking.linked,
            "found": linking.found,
            "recall": linking.recall(),
            "complete": linking.complete(),
            "precision": linking.precision(),
            "a_question": linking.a_question(),
            "seconds": linking.seconds,
        })
    };
    let mut value = flat(linking);
    for (dimension, values) in &linking.by {
        for (name, linking) in values {
            value["by"][dimension.as_str()][name.as_str()] = flat(linking);
        }
    }
    value
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use toolbox::answer::{Member, Provenance};
    use toolbox::term::{Literal, Term};

    #[test]
    fn an_alias_counts_as_the_answer_it_stands_for() {
        let graph = toolbox::kg::MemoryKg::from_triples(Vec::new());
        let question = GoldQuestion {
            id: "1".to_owned(),
            source: "trex".to_owned(),
            question: "Arvel Tower [SEP] architect".to_owned(),
            query: GoldQuery::AnswersOnly { aliases: vec!["M. Sol".to_owned()] },
            topics: Vec::new(),
            answers: Some(vec!["Mira Sol".to_owned()]),
            answers_bind: false,
            hops: None,
            kind: None,
            exclude: ExcludeWhen::Never,
        };
        let gold = Gold::of(&graph, &question).unwrap();
        let answer = |labels: &[&str]| {
            let member = |label: &&str| {
                let term = Term::Literal(Literal::plain((*label).to_owned()));
                Member { term, name: String::new(), label: (*label).to_owned() }
            };
            let value = AnswerValue::Set(labels.iter().map(member).collect());
            Answer { value, program: Vec::new(), evidence: Vec::new(), provenance: Provenance::Kg, emptied: None }
        };
        let exact = |labels: &[&str]| score(&gold.comparable(&answer(labels)), &gold.texts).exact;
        assert_eq!([exact(&["m. sol"]), exact(&["Mira Sol", "M. Sol"]), exact(&["Ivo Sol"])], [1.0, 1.0, 0.0]);
    }
}
