//! Fingerprints of kept questions, without names and examples: the input of mixing, splitting and
//! the checks for duplicates and leaks.

use kg::Kg;
use serde::{Deserialize, Serialize};
use toolbox::call::{Arg, Call, HandleKind, Tool};
use toolbox::exec::Relation;
use toolbox::wording::{masked_words, words};

use crate::question::GoldQuestion;
use crate::verify::LinkedProgram;
use common::hash;

/// The features by which questions are compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fingerprint {
    /// Hash of the wording without case and punctuation.
    pub(crate) wording: u64,
    /// The words of the wording with handles for entities and `x` for numbers and quotations; empty
    /// if the question has no program.
    pub(crate) masked: String,
    pub(crate) program: u64,
    /// Hash of the program with handles for its entities and `x` for its literals.
    pub(crate) shape: u64,
    pub(crate) relations: Vec<String>,
    /// Names of its classes and functions (`count`, `argmax`, `<`), sorted.
    pub(crate) functions: Vec<String>,
    /// Names of the entities linked to the question, sorted.
    pub(crate) topics: Vec<String>,
}

impl Fingerprint {
    /// The fingerprint of a question with its program.
    pub(crate) fn of(kg: &dyn Kg, question: &GoldQuestion, verified: &LinkedProgram) -> Self {
        let linked = &verified.linked;
        let names: Vec<String> = linked.entities.iter().map(|&node| kg.name(node)).collect();
        let calls = &verified.gold.calls;
        let join =
            |call: &dyn Fn(&Call) -> String| calls.iter().map(call).collect::<Vec<_>>().join("; ");
        let relation = |relation: &Relation| match relation {
            Relation::Plain(id) => kg.name(id.node()),
            Relation::Interval(index) => kg.schema().intervals[*index].name.clone(),
        };
        let mut relations: Vec<String> = verified.must_show.iter().map(relation).collect();
        let mut functions: Vec<String> = verified
            .must_offer
            .iter()
            .map(|&class| kg.name(class))
            .collect();
        functions.extend(calls.iter().flat_map(functions_of));
        let mut topics = names.clone();
        for list in [&mut relations, &mut functions, &mut topics] {
            list.sort_unstable();
            list.dedup();
        }
        Self {
            wording: wording(&question.question),
            masked: masked_words(&question.question, linked),
            program: hash::number(0, "program", &join(&Call::to_string)),
            shape: hash::number(
                0,
                "shape",
                &join(&|call| masked_call(call, &names).to_string()),
            ),
            relations,
            functions,
            topics,
        }
    }

    /// The fingerprint of a question without a program: its wording and the entities that its
    /// source names.
    pub(crate) fn of_wording(kg: &dyn Kg, question: &GoldQuestion) -> Self {
        let name = |name: &str| {
            kg.by_name(name)
                .map_or_else(|| name.to_owned(), |node| kg.name(node))
        };
        let mut topics: Vec<String> = question
            .topics
            .iter()
            .map(|topic| name(&topic.name))
            .collect();
        topics.sort_unstable();
        Self {
            wording: wording(&question.question),
            topics,
            ..Self::default()
        }
    }

    /// Masked wording and masked program as one key; `None` if there is no program.
    pub(crate) fn pattern(&self) -> Option<(&str, u64)> {
        (!self.masked.is_empty()).then_some((self.masked.as_str(), self.shape))
    }
}

fn wording(question: &str) -> u64 {
    hash::number(0, "wording", &words(question).collect::<Vec<_>>().join(" "))
}

fn masked_call(call: &Call, entities: &[String]) -> Call {
    let args = call
        .args
        .iter()
        .map(|arg| masked_arg(arg, entities))
        .collect();
    Call {
        args,
        ..call.clone()
    }
}

fn masked_arg(arg: &Arg, entities: &[String]) -> Arg {
    match arg {
        Arg::Name(name) => match entities.iter().position(|entity| entity == name) {
            Some(index) => Arg::handle(HandleKind::Entity, index),
            None => arg.clone(),
        },
        Arg::Literal(_) => Arg::handle(HandleKind::Value, 0),
        Arg::List(items) => Arg::List(
            items
                .iter()
                .map(|item| masked_arg(item, entities))
                .collect(),
        ),
        Arg::Inverse(inner) => Arg::Inverse(Box::new(masked_arg(inner, entities))),
        Arg::Repeated(repeat, inner) => {
            Arg::Repeated(*repeat, Box::new(masked_arg(inner, entities)))
        }
        Arg::Var(_)
        | Arg::Handle(_)
        | Arg::Op(_)
        | Arg::Extreme(_)
        | Arg::Column(..)
        | Arg::Field(_)
        | Arg::Text(_)
        | Arg::Sign(_) => arg.clone(),
    }
}

/// Operations of a call other than following relations: set operations, comparisons, extremes.
fn functions_of(call: &Call) -> Vec<String> {
    let follows = matches!(
        call.tool,
        Tool::GetRelation
            | Tool::RetrieveRelation
            | Tool::GetHeadEntity
            | Tool::GetTailEntity
            | Tool::GetEntityByType
            | Tool::End
    );
    let mut found: Vec<String> = call
        .args
        .iter()
        .filter(|arg| matches!(arg, Arg::Op(_) | Arg::Extreme(_)))
        .map(|arg| format!("{} {arg}", call.tool.name()))
        .collect();
    if found.is_empty() && !follows {
        found.push(call.tool.name().to_owned());
    }
    found
}
