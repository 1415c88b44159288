//! Programs linked to a graph, and how they run there.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use kg::term::{NodeId, RelId, Term};
use kg::{Kg, QueryLimits};
use toolbox::call::{Arg, Call, Tool, ToolTable};
use toolbox::exec::{Exclude, ExecOptions, Relation, Session, ToolError, Value, run_program};
use toolbox::limits::{MAX_STEPS, QUESTION_DEADLINE, SHOWN_RELATIONS};
use toolbox::link::Linked;
use toolbox::rank::{self, RankError, Ranker};

use super::refused::Refused;
use crate::Refusal;
use crate::convert::GoldProgram;
use crate::question::GoldQuestion;

/// How strictly and how long a question is checked.
#[derive(Clone)]
pub struct VerifyOptions {
    /// Limits for the gold query.
    pub limits: QueryLimits,
    /// Keeps a program whose extreme has several members although the gold query's LIMIT 1 names
    /// only one.
    pub ties: bool,
    /// Turns a question without an answer into an example of giving up, if a relation list shows
    /// why.
    pub abstain: bool,
    /// The tools that programs may use.
    pub tools: ToolTable,
    /// Relations shown per list.
    pub shown: usize,
    /// Maximum calls per question.
    pub max_steps: usize,
    /// Wall-clock limit per program.
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
            tools: ToolTable::Paper,
            shown: SHOWN_RELATIONS,
            max_steps: MAX_STEPS,
            deadline: QUESTION_DEADLINE,
            ranker: rank::lexical(),
        }
    }
}

/// A program with everything that a session needs to run it on a graph.
#[derive(Clone, Debug)]
pub struct LinkedProgram {
    /// The program and its constants.
    pub gold: GoldProgram,
    /// Entities and values of the question, including every constant of the program.
    pub linked: Linked,
    /// Relations of the program, which relation lists must contain.
    pub must_show: Vec<Relation>,
    /// Classes of the program, which must be offered.
    pub must_offer: Vec<NodeId>,
    /// Entities that the answer must not contain (rule R7).
    pub exclude: Exclude,
    /// Number of literals of the program that the question does not spell out.
    pub values_added: usize,
    /// Relations removed from the session's view.
    pub without: Vec<RelId>,
}

impl LinkedProgram {
    /// The options of a session in which the program runs as verified.
    #[must_use]
    pub fn exec_options(&self, options: &VerifyOptions) -> ExecOptions {
        ExecOptions {
            exclude: self.exclude.clone(),
            tools: options.tools,
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
        self.session_with(kg, question, self.exec_options(options))
    }

    fn session_with<'g>(
        &self,
        kg: &'g dyn Kg,
        question: &GoldQuestion,
        options: ExecOptions,
    ) -> Result<Session<'g>, RankError> {
        let wording = &question.question;
        Session::new(kg, wording, self.linked.clone(), &self.must_offer, options)
    }

    /// The program's answer, or the step that fails. Calls have full names, so the contents of the
    /// relation lists do not matter and are not computed.
    pub(super) fn run(
        &self,
        kg: &dyn Kg,
        question: &GoldQuestion,
        options: &VerifyOptions,
    ) -> Result<Value, (usize, ToolError)> {
        let options = ExecOptions {
            lists: false,
            ..self.exec_options(options)
        };
        let mut session = self
            .session_with(kg, question, options)
            .map_err(|error| (0, error.into()))?;
        run_program(&mut session, &self.gold.calls)
    }

    /// The same question with other calls.
    pub(super) fn with_calls(mut self, calls: Vec<Call>) -> Self {
        self.gold.calls = calls;
        self
    }
}

/// A linked program with its verified result: the gold query's answer, or an abstention.
#[derive(Clone, Debug)]
pub struct Verified {
    /// The program; all its fields can be read directly.
    pub program: LinkedProgram,
    /// The program's answer.
    pub value: Value,
    /// Whether the gold query's LIMIT 1 picked one of several extremes.
    pub ties: bool,
    /// Whether the program gives up because the graph has no answer.
    pub abstain: bool,
}

impl Deref for Verified {
    type Target = LinkedProgram;

    fn deref(&self) -> &LinkedProgram {
        &self.program
    }
}

impl Verified {
    /// A program that has the gold query's answer.
    pub(super) fn answer(program: LinkedProgram, value: Value, ties: bool) -> Self {
        Self {
            program,
            value,
            ties,
            abstain: false,
        }
    }

    /// A program that gives up.
    pub(super) fn abstention(program: LinkedProgram, value: Value) -> Self {
        Self {
            program,
            value,
            ties: false,
            abstain: true,
        }
    }
}

/// Links a program to the graph: finds the nodes of its constants, values, relations and classes.
///
/// # Errors
/// [`Refusal::UnknownConstant`] if the graph lacks one of them.
pub fn link(
    kg: &dyn Kg,
    question: &GoldQuestion,
    mut gold: GoldProgram,
) -> Result<LinkedProgram, Refused> {
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
    // A term that the graph does not contain cannot be in an answer.
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
    // A call refers to a value by handle, and so gets the spelling in the question's list, which
    // may have a language tag from the graph.
    for call in gold
        .calls
        .iter_mut()
        .filter(|call| !matches!(call.tool, Tool::GetCandidateEntity | Tool::First))
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
    Ok(LinkedProgram {
        gold,
        linked,
        must_show,
        must_offer,
        exclude,
        values_added,
        without: Vec::new(),
    })
}

/// The name of the relation that a call follows.
pub(super) fn relation_name(call: &Call) -> Option<&str> {
    walked_name(call).map(|(name, _)| name)
}

/// The name of the relation that a call follows, and whether from heads to tails.
pub(crate) fn walked_name(call: &Call) -> Option<(&str, bool)> {
    let along = call.tool != Tool::GetHeadEntity;
    let second = call.tool.signature().params.get(1);
    let follows = second.is_some_and(|param| param.names_relation());
    let path = call.args.get(1).filter(|_| follows)?;
    match path.relation() {
        Arg::Name(name) => Some((name, along != path.is_inverse())),
        _ => None,
    }
}

/// The relation that a call follows, if the graph has it.
pub(super) fn walked(kg: &dyn Kg, call: &Call) -> Option<Relation> {
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
