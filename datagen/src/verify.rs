//! Verification (spec A.2.4): the gold query and the converted program run on the same graph, and only equal answers are kept.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use toolbox::call::{Arg, Call, Tool};
use toolbox::exec::{Exclude, ExecOptions, Relation, Session, ToolError, Value, run_program};
use toolbox::kg::spargebra::Query;
use toolbox::kg::{Kg, QueryAnswer, QueryLimits, clean, fold, parse_query};
use toolbox::limits::{MAX_STEPS, QUESTION_DEADLINE, SHOWN_RELATIONS};
use toolbox::link::Linked;
use toolbox::rank::Ranker;
use toolbox::term::{NodeId, RelId, Term};

use crate::convert::{Context, GoldProgram, convert};
use crate::question::{GoldQuery, GoldQuestion};
use crate::{Refusal, limits};

/// How strictly and how long a question is checked.
#[derive(Clone, Copy, Debug)]
pub struct VerifyOptions {
    /// Limits of the gold query.
    pub limits: QueryLimits,
    /// Keeps a program whose extreme has several members where the gold query's LIMIT 1 names one of them.
    pub ties: bool,
    /// Turns a question whose gold query has no answer into an example of giving up, where a relation list shows why.
    pub abstain: bool,
    /// Relations shown per list.
    pub shown: usize,
    /// Calls of one question.
    pub max_steps: usize,
    /// Wall-clock limit of one program.
    pub deadline: Duration,
}

impl Default for VerifyOptions {
    fn default() -> Self {
        Self {
            limits: QueryLimits::default(),
            ties: false,
            abstain: false,
            shown: SHOWN_RELATIONS,
            max_steps: MAX_STEPS,
            deadline: QUESTION_DEADLINE,
        }
    }
}

/// A question whose program gives the gold query's answer on the graph at hand.
#[derive(Clone, Debug)]
pub struct Verified {
    /// The program and what it came from.
    pub gold: GoldProgram,
    /// Entities and values of the question; every constant of the program is among them.
    pub linked: Linked,
    /// What the program answers.
    pub value: Value,
    /// Relations that the program walks: lists must hold them.
    pub must_show: Vec<Relation>,
    /// Classes that the program names: the offer must hold them.
    pub must_offer: Vec<NodeId>,
    /// Entities kept out of the answer (rule R7).
    pub exclude: Exclude,
    /// Literals of the program that the question does not spell out.
    pub values_added: usize,
    /// Whether the gold query's LIMIT 1 named one of several extremes.
    pub ties: bool,
    /// Whether the right thing to do is to give up.
    pub abstain: bool,
    /// Relations taken out of the session's view.
    pub without: Vec<RelId>,
}

/// Why a question is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The reason, of the closed list.
    pub reason: Refusal,
    /// What exactly.
    pub detail: String,
    /// Whether the query had become a program.
    pub converted: bool,
}

impl Refused {
    fn before(reason: Refusal, detail: impl Into<String>) -> Self {
        Self { reason, detail: shorten(&detail.into()), converted: false }
    }

    fn after(reason: Refusal, detail: impl Into<String>) -> Self {
        Self { reason, detail: shorten(&detail.into()), converted: true }
    }
}

/// Cuts a text for reports.
fn shorten(text: &str) -> String {
    match text.char_indices().nth(limits::DETAIL_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

impl Verified {
    /// The options of a session in which the program runs as verified.
    #[must_use]
    pub fn exec_options(&self, options: &VerifyOptions) -> ExecOptions {
        ExecOptions {
            exclude: self.exclude.clone(),
            shown: options.shown,
            max_steps: options.max_steps,
            deadline: options.deadline,
            must_show: self.must_show.clone(),
            without: self.without.clone(),
            ..ExecOptions::default()
        }
    }

    /// A fresh session for the question.
    #[must_use]
    pub fn session<'g>(&self, kg: &'g dyn Kg, question: &GoldQuestion, options: &VerifyOptions) -> Session<'g> {
        Session::new(kg, &question.question, self.linked.clone(), &self.must_offer, self.exec_options(options))
    }

    /// The answer of the program. Its calls carry full names, so the order of lists does not matter and is not worked out.
    fn run(&self, kg: &dyn Kg, question: &GoldQuestion, options: &VerifyOptions) -> Result<Value, (usize, ToolError)> {
        let options = ExecOptions { ranker: Arc::new(Unranked), ..self.exec_options(options) };
        let mut session = Session::new(kg, &question.question, self.linked.clone(), &self.must_offer, options);
        run_program(&mut session, &self.gold.calls)
    }
}

/// Ranks nothing: half of the time of a program goes into ranking lists that only a model reads.
struct Unranked;

impl Ranker for Unranked {
    fn score(&self, _question: &str, candidates: &[String]) -> Vec<f32> {
        vec![0.0; candidates.len()]
    }
}

/// The query of a question, parsed.
///
/// # Errors
/// [`Refusal::Syntax`], or the reason why there is none.
pub fn parsed(question: &GoldQuestion) -> Result<Query, Refused> {
    match &question.query {
        GoldQuery::Text(text) => parse_query(text).map_err(|error| Refused::before(Refusal::Syntax, error.to_string())),
        GoldQuery::Algebra(query) => Ok(query.as_ref().clone()),
        GoldQuery::Missing(reason, detail) => Err(Refused::before(*reason, detail.clone())),
    }
}

/// Converts a question's query without running anything.
///
/// # Errors
/// Why there is no program.
pub fn converted(question: &GoldQuestion, kg: Option<&dyn Kg>) -> Result<GoldProgram, Refused> {
    convert_query(&parsed(question)?, question, kg)
}

fn convert_query(query: &Query, question: &GoldQuestion, kg: Option<&dyn Kg>) -> Result<GoldProgram, Refused> {
    let topics: Vec<Term> = question.topics.iter().filter_map(|topic| topic_term(kg, &topic.name)).collect();
    convert(query, &Context { kg, topics: &topics }).map_err(|reason| Refused::before(reason, reason.to_string()))
}

fn topic_term(kg: Option<&dyn Kg>, name: &str) -> Option<Term> {
    let kg = kg?;
    kg.by_name(name).map(|node| kg.term(node))
}

/// Checks one question against the graph.
///
/// # Errors
/// [`Refused`] says why the question is not used.
pub fn verify(kg: &dyn Kg, question: &GoldQuestion, options: &VerifyOptions) -> Result<Verified, Refused> {
    let query = parsed(question)?;
    let program = match convert_query(&query, question, Some(kg)) {
        Err(refused) if refused.reason == Refusal::UnknownConstant && options.abstain => {
            return absent(kg, question, &query, options).ok_or(refused);
        }
        other => other?,
    };
    let unknown = program.constants.iter().find(|term| kg.find(term).is_none());
    if let Some(term) = unknown {
        return Err(Refused::after(Refusal::UnknownConstant, term.to_string()));
    }
    let gold = kg.query(&query, options.limits).map_err(|error| Refused::after(Refusal::QueryFailed, error.to_string()))?;
    let gold = Gold::of(kg, &gold).map_err(|detail| Refused::after(Refusal::AnswerDiffers, detail))?;
    if gold.is_empty() {
        let given_up = options.abstain.then(|| give_up(kg, question, &program, options)).flatten();
        return given_up.ok_or_else(|| Refused::after(Refusal::NoGoldAnswer, "the gold query gives nothing on this graph"));
    }
    let verified = check(kg, question, program, &gold, options)?;
    if question.answers_bind
        && let Some(published) = &question.answers
    {
        compare_published(kg, &verified.value, published).map_err(|detail| Refused::after(Refusal::DatasetAnswerDiffers, detail))?;
    }
    Ok(verified)
}

/// Links a program to the graph: nodes for its constants, values, relations and classes.
///
/// # Errors
/// [`Refusal::UnknownConstant`] where the graph lacks one.
pub fn link(kg: &dyn Kg, question: &GoldQuestion, gold: GoldProgram) -> Result<Verified, Refused> {
    let find = |term: &Term| kg.find(term).ok_or_else(|| Refused::after(Refusal::UnknownConstant, term.to_string()));
    let must_offer = gold.classes.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    let mut entities = gold.constants.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    let topics = question.topics.iter().filter_map(|topic| kg.by_name(&topic.name));
    entities.extend(topics.filter(|node| !must_offer.contains(node)));
    // What is ruled out but not in the graph cannot be in an answer.
    let exclude = Exclude { nodes: gold.exclude.iter().filter_map(|term| kg.find(term)).collect(), when: question.exclude };
    let mut linked = Linked::new(kg, &question.question, &entities);
    let named = linked.values.len();
    for literal in &gold.literals {
        linked.require(literal);
    }
    let values_added = linked.values.len() - named;
    let must_show = gold.calls.iter().filter_map(|call| walked(kg, call)).collect();
    let value = Value::Set([].into());
    let (ties, abstain, without) = (false, false, Vec::new());
    Ok(Verified { gold, linked, value, must_show, must_offer, exclude, values_added, ties, abstain, without })
}

/// The name of the relation that a call walks.
fn relation_name(call: &Call) -> Option<&str> {
    let walks = matches!(call.tool, Tool::GetHeadEntity | Tool::GetTailEntity | Tool::GetEntityByConstraint | Tool::Judge);
    match call.args.get(1).filter(|_| walks)? {
        Arg::Name(name) => Some(name),
        Arg::Inverse(inner) => match inner.as_ref() {
            Arg::Name(name) => Some(name),
            _ => None,
        },
        _ => None,
    }
}

/// The relation that a call walks, if the graph has it.
fn walked(kg: &dyn Kg, call: &Call) -> Option<Relation> {
    let name = relation_name(call)?;
    let interval = kg.schema().intervals.iter().position(|interval| interval.name == name).map(Relation::Interval);
    interval.or_else(|| kg.by_name(name).map(|node| Relation::Plain(node.relation())))
}

fn check(kg: &dyn Kg, question: &GoldQuestion, program: GoldProgram, gold: &Gold, options: &VerifyOptions) -> Result<Verified, Refused> {
    let mut verified = link(kg, question, program)?;
    let value = match verified.run(kg, question, options) {
        Ok(value) => value,
        Err((_, ToolError::Steps { limit })) => {
            return Err(Refused::after(Refusal::TooLong, format!("{} calls, the limit is {limit}", verified.gold.calls.len())));
        }
        Err((step, error)) => {
            let call = verified.gold.calls.get(step).map_or_else(String::new, ToString::to_string);
            return Err(Refused::after(Refusal::ProgramFailed, format!("step {}, {call}: {error}", step + 1)));
        }
    };
    let extreme = verified.gold.calls.iter().any(|call| call.args.iter().any(|arg| matches!(arg, Arg::Extreme(_))));
    verified.ties = match gold.compare(&value) {
        Fit::Equal => false,
        Fit::Part if extreme && options.ties => true,
        Fit::Part if extreme => {
            let detail = format!("the extreme is shared: the program gives {} answers, the gold query {}", size(&value), gold.size());
            return Err(Refused::after(Refusal::AnswerDiffers, detail));
        }
        Fit::Part | Fit::Differs => {
            let detail = format!("the program gives {}, the gold query {}", describe(kg, &value), gold.describe(kg));
            return Err(Refused::after(Refusal::AnswerDiffers, detail));
        }
    };
    verified.value = value;
    Ok(verified)
}

/// The gold query's answer by ids.
enum Gold {
    Set(Vec<NodeId>),
    /// A single value that the query computed and the graph does not hold, such as a count.
    Computed(Term),
    Bool(bool),
}

enum Fit {
    Equal,
    Part,
    Differs,
}

impl Gold {
    fn of(kg: &dyn Kg, answer: &QueryAnswer) -> Result<Self, String> {
        let rows = match answer {
            QueryAnswer::Bool(truth) => return Ok(Self::Bool(*truth)),
            QueryAnswer::Rows { rows, .. } => rows,
        };
        let mut nodes = Vec::new();
        let mut made: BTreeSet<&Term> = BTreeSet::new();
        for term in rows.iter().filter_map(|row| row.first().and_then(Option::as_ref)) {
            match kg.find(term) {
                Some(node) => nodes.push(node),
                None => {
                    made.insert(term);
                }
            }
        }
        nodes.sort_unstable();
        nodes.dedup();
        match (made.pop_first(), nodes.is_empty() && made.is_empty()) {
            (None, _) => Ok(Self::Set(nodes)),
            (Some(term), true) => Ok(Self::Computed(term.clone())),
            (Some(term), false) => Err(format!("the gold query computes terms that the graph does not hold, such as {term}")),
        }
    }

    fn is_empty(&self) -> bool {
        matches!(self, Self::Set(nodes) if nodes.is_empty())
    }

    fn size(&self) -> usize {
        match self {
            Self::Set(nodes) => nodes.len(),
            Self::Computed(_) | Self::Bool(_) => 1,
        }
    }

    fn compare(&self, value: &Value) -> Fit {
        let equal = |holds: bool| if holds { Fit::Equal } else { Fit::Differs };
        match (self, value) {
            (Self::Set(gold), Value::Set(ours)) if gold[..] == ours[..] => Fit::Equal,
            (Self::Set(gold), Value::Set(ours)) if gold.iter().all(|node| ours.binary_search(node).is_ok()) => Fit::Part,
            (Self::Computed(term), Value::Int(number)) => equal(number_of(term) == Some(*number)),
            (Self::Bool(gold), Value::Bool(ours)) => equal(gold == ours),
            _ => Fit::Differs,
        }
    }

    fn describe(&self, kg: &dyn Kg) -> String {
        match self {
            Self::Set(nodes) => describe_set(kg, nodes),
            Self::Computed(term) => term.to_string(),
            Self::Bool(truth) => truth.to_string(),
        }
    }
}

fn number_of(term: &Term) -> Option<u64> {
    term.as_literal()?.lexical.trim_start_matches('+').parse().ok()
}

fn size(value: &Value) -> usize {
    match value {
        Value::Set(set) => set.len(),
        Value::Int(_) | Value::Bool(_) => 1,
    }
}

fn describe(kg: &dyn Kg, value: &Value) -> String {
    match value {
        Value::Set(set) => describe_set(kg, set),
        Value::Int(number) => number.to_string(),
        Value::Bool(truth) => truth.to_string(),
    }
}

/// A set in a few words.
fn describe_set(kg: &dyn Kg, nodes: &[NodeId]) -> String {
    const SHOWN: usize = 5;
    let names: Vec<String> = nodes.iter().take(SHOWN).map(|&node| kg.name(node)).collect();
    let more = if nodes.len() > SHOWN { ", …" } else { "" };
    format!("{} ({}{more})", nodes.len(), names.join(", "))
}

/// Whether the answer is the published one, by label or name, without regard to case and underscores.
fn compare_published(kg: &dyn Kg, value: &Value, published: &[String]) -> Result<(), String> {
    let wanted: BTreeSet<String> = published.iter().map(|text| fold(&clean(text))).collect();
    let nodes = match value {
        Value::Set(nodes) => nodes,
        Value::Int(_) | Value::Bool(_) => {
            let ours = describe(kg, value);
            return if wanted.len() == 1 && wanted.contains(&ours) {
                Ok(())
            } else {
                Err(format!("{ours} instead of {}", published.join("|")))
            };
        }
    };
    let mut met: BTreeSet<String> = BTreeSet::new();
    let mut foreign = None;
    for &node in nodes.iter() {
        let name = kg.name(node);
        let texts = [kg.label(node).map(|label| fold(&label)), Some(fold(&clean(&name)))];
        let before = met.len();
        let mut known = false;
        for text in texts.into_iter().flatten().filter(|text| wanted.contains(text)) {
            known = true;
            met.insert(text);
        }
        if !known && met.len() == before {
            foreign = Some(name);
        }
    }
    let missing = wanted.iter().find(|text| !met.contains(*text));
    match (foreign, missing) {
        (None, None) => Ok(()),
        (Some(name), _) => Err(format!("{} answers, {} published; `{name}` is not among them", nodes.len(), published.len())),
        (None, Some(text)) => Err(format!("{} answers, {} published; `{text}` is missing", nodes.len(), published.len())),
    }
}

/// The calls up to and including the relation list on which the first call that cannot be made rests, and then the end.
fn cut(calls: &[Call], broken: usize) -> Option<Vec<Call>> {
    let set = calls.get(broken)?.args.first()?;
    let list = calls[..broken].iter().rposition(|call| call.tool == Tool::GetRelation && call.args.first() == Some(set))?;
    let mut kept = calls[..=list].to_vec();
    kept.push(Call::new(Tool::End, vec![Arg::List(Vec::new())], 0));
    Some(kept)
}

/// For a question without an answer: the program up to the first relation list that lacks what the program needs, then the end.
fn give_up(kg: &dyn Kg, question: &GoldQuestion, program: &GoldProgram, options: &VerifyOptions) -> Option<Verified> {
    if program.calls.iter().any(|call| matches!(call.tool, Tool::Count | Tool::Judge | Tool::Union)) {
        return None;
    }
    let mut verified = link(kg, question, program.clone()).ok()?;
    let mut session = verified.session(kg, question, options);
    let broken = program.calls.iter().enumerate().find_map(|(i, call)| {
        let relation = walked(kg, call);
        let lacks = relation_name(call).is_some() && {
            let input = call.args.first().and_then(|set| listed(&session, set));
            input.is_some_and(|shown| !shown.out.iter().chain(&shown.incoming).any(|r| Some(*r) == relation))
        };
        (lacks || session.run(call).is_err()).then_some(i)
    })?;
    verified.gold.calls = cut(&program.calls, broken)?;
    verified.abstain = true;
    verified.value = verified.run(kg, question, options).ok()?;
    Some(verified)
}

/// For a question about what the graph has no relation for: the entities are there, the gold query gives nothing, and a relation list shows why.
fn absent(kg: &dyn Kg, question: &GoldQuestion, query: &Query, options: &VerifyOptions) -> Option<Verified> {
    let answer = kg.query(query, options.limits).ok()?;
    if !Gold::of(kg, &answer).is_ok_and(|gold| gold.is_empty()) {
        return None;
    }
    let mut program = convert_query(query, question, None).ok()?;
    // Without a graph, names come from IRIs: those that the graph knows are written as it writes them.
    let rename = |arg: &mut Arg| {
        if let Arg::Name(name) = arg
            && let Some(node) = kg.by_name(name)
        {
            *name = kg.name(node);
        }
    };
    program.calls.iter_mut().flat_map(|call| &mut call.args).for_each(rename);
    give_up(kg, question, &program, options)
}

/// The relation list last shown for a set argument.
fn listed<'s>(session: &'s Session<'_>, set: &Arg) -> Option<&'s toolbox::exec::Shown> {
    session.steps().iter().rev().find_map(|step| match &step.observation {
        toolbox::exec::Observation::Relations(shown) if step.call.args.first() == Some(set) => Some(shown),
        _ => None,
    })
}

/// Takes one relation that a verified program needs out of the session's view: the right thing to do is then to stop at the list that lacks
/// it. `choice` picks among the relations. `None` where the program is no chain, or where another relation leads to the same place.
#[must_use]
pub fn abstention(kg: &dyn Kg, question: &GoldQuestion, verified: &Verified, options: &VerifyOptions, choice: u64) -> Option<Verified> {
    let calls = &verified.gold.calls;
    let chain =
        |call: &Call| !matches!(call.tool, Tool::Count | Tool::Judge | Tool::Union | Tool::GetCandidateEntity | Tool::DisambiguateEntity);
    let plain = verified.must_show.iter().all(|relation| matches!(relation, Relation::Plain(_)));
    if verified.abstain || !plain || !calls.iter().all(chain) {
        return None;
    }
    let mut relations = verified.must_show.clone();
    relations.sort_unstable();
    relations.dedup();
    let Relation::Plain(taken) = *relations.get(usize::try_from(choice % relations.len().max(1) as u64).ok()?)? else { return None };
    let broken = calls.iter().position(|call| walked(kg, call) == Some(Relation::Plain(taken)))?;
    let mut given_up = verified.clone();
    given_up.without = vec![taken];
    given_up.must_show.retain(|relation| *relation != Relation::Plain(taken));
    // What is left of the view must give the whole program nothing.
    match given_up.run(kg, question, options) {
        Err((step, ToolError::UnknownRelation { .. } | ToolError::WrongDirection { .. })) if step == broken => {}
        Ok(value) if value.is_empty() => {}
        _ => return None,
    }
    given_up.gold.calls = cut(calls, broken)?;
    given_up.abstain = true;
    let mut session = given_up.session(kg, question, options);
    given_up.value = run_program(&mut session, &given_up.gold.calls).ok()?;
    let input = session.steps().iter().rev().find(|step| step.call.tool == Tool::GetRelation)?.inputs.first()?.clone();
    let shown = listed(&session, calls[broken].args.first()?)?;
    let along = calls[broken].tool != Tool::GetHeadEntity && !matches!(calls[broken].args.get(1), Some(Arg::Inverse(_)));
    let others = shown.out.iter().map(|&r| (r, true)).chain(shown.incoming.iter().map(|&r| (r, false)));
    (input.len() <= limits::ABSTAIN_SET && !has_twin(kg, &input, taken, along, others)).then_some(given_up)
}

/// Whether one of the other relations leads from the set exactly where the one taken out leads.
fn has_twin(kg: &dyn Kg, set: &[NodeId], taken: RelId, along: bool, mut others: impl Iterator<Item = (Relation, bool)>) -> bool {
    let reached = |relation: RelId, forward: bool| -> BTreeSet<NodeId> {
        set.iter().flat_map(|&node| if forward { kg.tails(node, relation) } else { kg.heads(relation, node) }).collect()
    };
    let wanted = reached(taken, along);
    others.any(|(relation, forward)| matches!(relation, Relation::Plain(id) if reached(id, forward) == wanted))
}
