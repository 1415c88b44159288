//! Verification (spec A.2.4): the gold query and the converted program run on the same graph, and only equal answers are kept.

mod abstain;
mod gold;
mod published;

use std::sync::Arc;
use std::time::Duration;

use kg::spargebra::Query;
use kg::term::{NodeId, RelId, Term};
use kg::{Kg, QueryLimits, parse_query};
use toolbox::call::{Arg, Call, Tool};
use toolbox::exec::{Exclude, ExecOptions, Relation, Session, ToolError, Value, run_program};
use toolbox::limits::{MAX_STEPS, QUESTION_DEADLINE, SHOWN_RELATIONS};
use toolbox::link::Linked;
use toolbox::rank::{self, RankError, Ranker};

pub use abstain::abstention;
use abstain::{absent, give_up};
use gold::{Fit, Gold, describe, size};
use published::compare_published;

use crate::convert::{Context, GoldProgram, convert};
use crate::question::{GoldQuery, GoldQuestion};
use crate::{Refusal, limits};

/// How strictly and how long a question is checked.
#[derive(Clone)]
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
    /// Ranks the relations and classes that lists show.
    pub ranker: Arc<dyn Ranker>,
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
            ranker: rank::lexical(),
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
        Self {
            reason,
            detail: shorten(&detail.into()),
            converted: false,
        }
    }

    fn after(reason: Refusal, detail: impl Into<String>) -> Self {
        Self {
            reason,
            detail: shorten(&detail.into()),
            converted: true,
        }
    }
}

impl Refused {
    /// A program that cannot be rendered as examples.
    pub(crate) fn rendering(detail: impl Into<String>) -> Self {
        Self {
            reason: Refusal::ProgramFailed,
            detail: detail.into(),
            converted: true,
        }
    }

    /// A call or turn that fails.
    pub(crate) fn failed(written: impl std::fmt::Display, error: ToolError) -> Self {
        match error.recoverable() {
            Ok(error) => Self::rendering(format!("`{written}`: {error}")),
            Err(error) => error.into(),
        }
    }
}

impl From<RankError> for Refused {
    fn from(error: RankError) -> Self {
        Self {
            reason: Refusal::RankerFailed,
            ..Self::rendering(error.to_string())
        }
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
            ranker: Arc::clone(&options.ranker),
            ..ExecOptions::default()
        }
    }

    /// A fresh session for the question.
    ///
    /// # Errors
    /// Returns the error of the ranker.
    pub fn session<'g>(
        &self,
        kg: &'g dyn Kg,
        question: &GoldQuestion,
        options: &VerifyOptions,
    ) -> Result<Session<'g>, RankError> {
        Session::new(
            kg,
            &question.question,
            self.linked.clone(),
            &self.must_offer,
            self.exec_options(options),
        )
    }

    /// The answer of the program. Its calls carry full names, so what lists show does not matter and is not worked out.
    fn run(
        &self,
        kg: &dyn Kg,
        question: &GoldQuestion,
        options: &VerifyOptions,
    ) -> Result<Value, (usize, ToolError)> {
        let options = ExecOptions {
            lists: false,
            ..self.exec_options(options)
        };
        let mut session = Session::new(
            kg,
            &question.question,
            self.linked.clone(),
            &self.must_offer,
            options,
        )
        .map_err(|error| (0, error.into()))?;
        run_program(&mut session, &self.gold.calls)
    }
}

/// The query of a question, parsed.
///
/// # Errors
/// [`Refusal::Syntax`], or the reason why there is none.
pub fn parsed(question: &GoldQuestion) -> Result<Query, Refused> {
    match &question.query {
        GoldQuery::Text(text) => {
            parse_query(text).map_err(|error| Refused::before(Refusal::Syntax, error.to_string()))
        }
        GoldQuery::Algebra(query) => Ok(query.as_ref().clone()),
        GoldQuery::AnswersOnly { .. } => Err(Refused::before(
            Refusal::AnswersOnly,
            Refusal::AnswersOnly.to_string(),
        )),
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

fn convert_query(
    query: &Query,
    question: &GoldQuestion,
    kg: Option<&dyn Kg>,
) -> Result<GoldProgram, Refused> {
    let topics: Vec<Term> = question
        .topics
        .iter()
        .filter_map(|topic| topic_term(kg, &topic.name))
        .collect();
    convert(
        query,
        &Context {
            kg,
            topics: &topics,
            exclude: question.exclude,
        },
    )
    .map_err(|reason| Refused::before(reason, reason.to_string()))
}

fn topic_term(kg: Option<&dyn Kg>, name: &str) -> Option<Term> {
    let kg = kg?;
    kg.by_name(name).map(|node| kg.term(node))
}

/// Checks one question against the graph.
///
/// # Errors
/// [`Refused`] says why the question is not used.
pub fn verify(
    kg: &dyn Kg,
    question: &GoldQuestion,
    options: &VerifyOptions,
) -> Result<Verified, Refused> {
    let query = parsed(question)?;
    let program = match convert_query(&query, question, Some(kg)) {
        Err(refused) if refused.reason == Refusal::UnknownConstant && options.abstain => {
            return absent(kg, question, &query, options)
                .ok_or(refused)?
                .map_err(Refused::from);
        }
        other => other?,
    };
    let unknown = program
        .constants
        .iter()
        .find(|term| kg.find(term).is_none());
    if let Some(term) = unknown {
        return Err(Refused::after(Refusal::UnknownConstant, term.to_string()));
    }
    let gold = kg
        .query(&query, options.limits)
        .map_err(|error| Refused::after(Refusal::QueryFailed, error.to_string()))?;
    let gold =
        Gold::of(kg, &gold).map_err(|detail| Refused::after(Refusal::AnswerDiffers, detail))?;
    if gold.is_empty() {
        let given_up = options
            .abstain
            .then(|| give_up(kg, question, &program, options))
            .flatten();
        return given_up
            .ok_or_else(|| {
                Refused::after(
                    Refusal::NoGoldAnswer,
                    "the gold query gives nothing on this graph",
                )
            })?
            .map_err(Refused::from);
    }
    let verified = check(kg, question, program, &gold, options)?;
    if question.answers_bind
        && let Some(published) = &question.answers
    {
        compare_published(kg, &verified.value, published)
            .map_err(|detail| Refused::after(Refusal::DatasetAnswerDiffers, detail))?;
    }
    Ok(verified)
}

/// Links a program to the graph: nodes for its constants, values, relations and classes.
///
/// # Errors
/// [`Refusal::UnknownConstant`] where the graph lacks one.
pub fn link(
    kg: &dyn Kg,
    question: &GoldQuestion,
    mut gold: GoldProgram,
) -> Result<Verified, Refused> {
    let find = |term: &Term| {
        kg.find(term)
            .ok_or_else(|| Refused::after(Refusal::UnknownConstant, term.to_string()))
    };
    let must_offer = gold
        .classes
        .iter()
        .map(find)
        .collect::<Result<Vec<_>, _>>()?;
    let mut entities = gold
        .constants
        .iter()
        .map(find)
        .collect::<Result<Vec<_>, _>>()?;
    let topics = question
        .topics
        .iter()
        .filter_map(|topic| kg.by_name(&topic.name));
    entities.extend(topics.filter(|node| !must_offer.contains(node)));
    // What is ruled out but not in the graph cannot be in an answer.
    let exclude = Exclude {
        nodes: gold
            .exclude
            .iter()
            .filter_map(|term| kg.find(term))
            .collect(),
        when: question.exclude,
    };
    let mut linked = Linked::new(kg, &question.question, &entities);
    let named = linked.values.len();
    for literal in &gold.literals {
        linked.require(literal);
    }
    let values_added = linked.values.len() - named;
    // A value goes by its handle, and reads back as the question's list has it: with the language that the graph knows, say.
    for call in gold
        .calls
        .iter_mut()
        .filter(|call| call.tool != Tool::GetCandidateEntity)
    {
        for arg in &mut call.args {
            if let Arg::Literal(literal) = arg
                && let Some(value) = linked
                    .value_index(literal)
                    .and_then(|i| linked.values.get(i))
            {
                literal.clone_from(value);
            }
        }
    }
    let must_show = gold
        .calls
        .iter()
        .filter_map(|call| walked(kg, call))
        .collect();
    let value = Value::Set([].into());
    let (ties, abstain, without) = (false, false, Vec::new());
    Ok(Verified {
        gold,
        linked,
        value,
        must_show,
        must_offer,
        exclude,
        values_added,
        ties,
        abstain,
        without,
    })
}

/// The name of the relation that a call walks.
fn relation_name(call: &Call) -> Option<&str> {
    walked_name(call).map(|(name, _)| name)
}

/// The name of the relation that a call walks, and whether from heads to tails.
pub(crate) fn walked_name(call: &Call) -> Option<(&str, bool)> {
    let along = call.tool != Tool::GetHeadEntity;
    let walks = matches!(
        call.tool,
        Tool::GetHeadEntity | Tool::GetTailEntity | Tool::GetEntityByConstraint | Tool::Judge
    );
    match call.args.get(1).filter(|_| walks)? {
        Arg::Name(name) => Some((name, along)),
        Arg::Inverse(inner) => match inner.as_ref() {
            Arg::Name(name) => Some((name, !along)),
            _ => None,
        },
        _ => None,
    }
}

/// The relation that a call walks, if the graph has it.
fn walked(kg: &dyn Kg, call: &Call) -> Option<Relation> {
    let name = relation_name(call)?;
    let interval = kg
        .schema()
        .intervals
        .iter()
        .position(|interval| interval.name == name)
        .map(Relation::Interval);
    interval.or_else(|| {
        kg.by_name(name)
            .map(|node| Relation::Plain(node.relation()))
    })
}

fn check(
    kg: &dyn Kg,
    question: &GoldQuestion,
    program: GoldProgram,
    gold: &Gold,
    options: &VerifyOptions,
) -> Result<Verified, Refused> {
    let mut verified = link(kg, question, program)?;
    let value = match verified.run(kg, question, options) {
        Ok(value) => value,
        Err((_, ToolError::Steps { limit })) => {
            return Err(Refused::after(
                Refusal::TooLong,
                format!("{} calls, the limit is {limit}", verified.gold.calls.len()),
            ));
        }
        Err((_, ToolError::Rank(error))) => return Err(error.into()),
        Err((step, error)) => {
            let call = verified
                .gold
                .calls
                .get(step)
                .map_or_else(String::new, ToString::to_string);
            return Err(Refused::after(
                Refusal::ProgramFailed,
                format!("step {}, {call}: {error}", step + 1),
            ));
        }
    };
    let extreme = verified
        .gold
        .calls
        .iter()
        .any(|call| call.args.iter().any(|arg| matches!(arg, Arg::Extreme(_))));
    verified.ties = match gold.compare(&value) {
        Fit::Equal => false,
        Fit::Part if extreme && options.ties => true,
        Fit::Part if extreme => {
            let detail = format!(
                "the extreme is shared: the program gives {} answers, the gold query {}",
                size(&value),
                gold.size()
            );
            return Err(Refused::after(Refusal::AnswerDiffers, detail));
        }
        Fit::Part | Fit::Differs => {
            let detail = format!(
                "the program gives {}, the gold query {}",
                describe(kg, &value),
                gold.describe(kg)
            );
            return Err(Refused::after(Refusal::AnswerDiffers, detail));
        }
    };
    verified.value = value;
    Ok(verified)
}
