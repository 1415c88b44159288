//! KQA Pro's programs as queries. The 27 functions are processed from last to first: each adds its
//! condition to the set that its predecessor gives.

use kg::Kg;
use kg::kqapro::{DIRECT, INSTANCE_OF, QUALIFIER, STATEMENT, STATEMENT_VALUE, relation, text};
use kg::spargebra::Query;
use kg::spargebra::algebra::{AggregateFunction, GraphPattern};
use kg::spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};
use kg::term::{Literal, RDFS_LABEL};
use kg::value::{Extreme, Op};
use serde_json::Value;

use super::ground::ground;
use super::value::{EdgeEnd, ProgramValue, ValueConstraint, guess, quantity_of, time_of};
use crate::algebra::{
    aggregate, ask, distinct, filter_all, first, join, literal, nothing, order_by, project, select,
    triple, union, variable,
};

/// Functions that join the last two branches, for programs without dependencies.
const TWO: [&str; 5] = [
    "And",
    "Or",
    "SelectBetween",
    "QueryRelation",
    "QueryRelationQualifier",
];

/// A step: its function, the steps it works on, its inputs.
pub(super) struct ProgramStep {
    function: String,
    on: Vec<usize>,
    inputs: Vec<String>,
}

/// Reads the steps of `program`.
pub(super) fn steps(program: &Value) -> Result<Vec<ProgramStep>, String> {
    let list = program.as_array().ok_or("`program` is not a list")?;
    let mut steps: Vec<ProgramStep> = Vec::new();
    let mut branches: Vec<usize> = Vec::new();
    for (i, step) in list.iter().enumerate() {
        let wrong = |what: &str| format!("step {} of `program`: {what}", i + 1);
        let function = step["function"]
            .as_str()
            .ok_or_else(|| wrong("no `function`"))?
            .to_owned();
        let inputs = match step.get("inputs") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(inputs)) => inputs
                .iter()
                .map(|input| {
                    input
                        .as_str()
                        .map_or_else(|| input.to_string(), str::to_owned)
                })
                .collect(),
            Some(_) => return Err(wrong("`inputs` is not a list")),
        };
        let inferred = match function.as_str() {
            "FindAll" | "Find" => {
                branches.push(i);
                Vec::new()
            }
            name if TWO.contains(&name) => {
                let (second, first) = (branches.pop(), branches.pop());
                let both = first
                    .zip(second)
                    .ok_or_else(|| wrong("two sets are needed"))?;
                branches.push(i);
                vec![both.0, both.1]
            }
            _ => {
                let before = branches.pop().ok_or_else(|| wrong("a set is needed"))?;
                branches.push(i);
                vec![before]
            }
        };
        let on = match step["dependencies"].as_array() {
            None => inferred,
            Some(list) => {
                let at = |one: &Value| {
                    one.as_u64()
                        .and_then(|at| usize::try_from(at).ok())
                        .filter(|at| *at < i)
                };
                list.iter()
                    .map(at)
                    .collect::<Option<Vec<_>>>()
                    .ok_or_else(|| wrong("`dependencies` must be earlier steps"))?
            }
        };
        if on.len() != inferred_len(&function) {
            return Err(wrong(&format!(
                "`{function}` works on {} steps, not {}",
                inferred_len(&function),
                on.len()
            )));
        }
        steps.push(ProgramStep {
            function,
            on,
            inputs,
        });
    }
    if steps.is_empty() {
        Err("`program` is empty".to_owned())
    } else {
        Ok(steps)
    }
}

fn inferred_len(function: &str) -> usize {
    match function {
        "FindAll" | "Find" => 0,
        name if TWO.contains(&name) => 2,
        _ => 1,
    }
}

/// The names that the program starts from.
pub(super) fn found(steps: &[ProgramStep]) -> Vec<String> {
    steps
        .iter()
        .filter(|step| step.function == "Find")
        .filter_map(|step| step.inputs.first().map(|name| text(name)))
        .collect()
}

pub(super) fn query(steps: &[ProgramStep], kg: Option<&dyn Kg>) -> Result<Query, String> {
    let last = steps.len().checked_sub(1).ok_or("`program` is empty")?;
    let mut query = QueryBuilder { steps, kg, next: 0 }.last(last)?;
    ground(&mut query, kg);
    Ok(query)
}

struct QueryBuilder<'p> {
    steps: &'p [ProgramStep],
    kg: Option<&'p dyn Kg>,
    next: usize,
}

fn bgp(patterns: Vec<TriplePattern>) -> GraphPattern {
    GraphPattern::Bgp { patterns }
}

impl<'p> QueryBuilder<'p> {
    fn fresh(&mut self, letter: &str) -> String {
        self.next += 1;
        format!("{letter}{}", self.next)
    }

    fn wrong<T>(&self, at: usize, what: &str) -> Result<T, String> {
        Err(format!(
            "step {} of `program`, `{}`: {what}",
            at + 1,
            self.steps[at].function
        ))
    }

    fn input(&self, at: usize, number: usize) -> Result<&'p str, String> {
        match self.steps[at].inputs.get(number) {
            Some(input) => Ok(input),
            None => self.wrong(at, &format!("input {} is missing", number + 1)),
        }
    }

    fn on(&self, at: usize, number: usize) -> usize {
        // The step was read with the right number of dependencies, all of them earlier steps.
        self.steps[at].on.get(number).copied().unwrap_or(0)
    }

    /// The query of the last step.
    fn last(&mut self, at: usize) -> Result<Query, String> {
        let function = self.steps[at].function.as_str();
        match function {
            "What" => {
                let set = self.set(self.on(at, 0), "e", &[])?;
                Ok(select(distinct(set, "e")))
            }
            "Count" => {
                let set = self.set(self.on(at, 0), "e", &[])?;
                Ok(select(aggregate(
                    set,
                    AggregateFunction::Count,
                    true,
                    "e",
                    "count",
                )))
            }
            "SelectAmong" | "SelectBetween" => {
                let mut set = self.set(self.on(at, 0), "e", &[])?;
                if function == "SelectBetween" {
                    let other = self.set(self.on(at, 1), "e", &[])?;
                    set = union([set, other]);
                }
                let extreme = match self.input(at, 1)? {
                    "largest" | "greater" => Extreme::Max,
                    "smallest" | "less" => Extreme::Min,
                    other => {
                        return self.wrong(
                            at,
                            &format!("`{other}` is not largest, smallest, greater or less"),
                        );
                    }
                };
                let value = self.fresh("v");
                let key = relation(DIRECT, self.input(at, 0)?);
                let edge = bgp(vec![triple(variable("e"), &key, variable(&value))]);
                let ordered = order_by(join(set, edge), variable(&value).into(), extreme);
                Ok(select(first(project(ordered, vec![variable("e")]))))
            }
            "VerifyStr" | "VerifyNum" | "VerifyYear" | "VerifyDate" => {
                let wanted = self.wanted(at, function.trim_start_matches("Verify"), 0)?;
                let (end, condition) = wanted.end("w");
                let value = self.value(self.on(at, 0), &end)?;
                Ok(ask(filter_all(value, condition)))
            }
            "QueryRelation" => {
                let (first, second) = (
                    self.set(self.on(at, 0), "e1", &[])?,
                    self.set(self.on(at, 1), "e2", &[])?,
                );
                let link = TriplePattern {
                    subject: variable("e1").into(),
                    predicate: NamedNodePattern::Variable(variable("p")),
                    object: variable("e2").into(),
                };
                Ok(select(distinct(
                    join(join(first, second), bgp(vec![link])),
                    "p",
                )))
            }
            "QueryAttr"
            | "QueryAttrUnderCondition"
            | "QueryAttrQualifier"
            | "QueryRelationQualifier" => {
                let value = self.value(at, &variable("v").into())?;
                Ok(select(distinct(value, "v")))
            }
            // A program may end in the set itself.
            _ => {
                let set = self.set(at, "e", &[])?;
                Ok(select(distinct(set, "e")))
            }
        }
    }

    /// The condition in the inputs of a filter, by the kind in the filter's name.
    fn wanted(
        &mut self,
        at: usize,
        kind: &str,
        value_at: usize,
    ) -> Result<ValueConstraint, String> {
        let value = self.input(at, value_at)?;
        let op = match self.steps[at]
            .inputs
            .get(value_at + 1)
            .filter(|_| kind != "Str")
        {
            None => Op::Eq,
            Some(op) => op
                .parse::<Op>()
                .or_else(|error| self.wrong(at, &error.to_string()))?,
        };
        let value = match kind {
            "Str" => Some(ProgramValue::Literal(Literal::plain(text(value)))),
            "Num" => quantity_of(value).map(ProgramValue::Literal),
            "Year" | "Date" => time_of(value),
            _ => None,
        };
        match value {
            Some(value) => Ok(ValueConstraint { op, value }),
            None => self.wrong(at, "its value has the wrong type"),
        }
    }

    /// A fact: a plain edge, or a statement if there are qualifiers.
    fn fact(
        &mut self,
        head: TermPattern,
        key: &str,
        tail: TermPattern,
        qualifiers: &[(String, EdgeEnd)],
    ) -> GraphPattern {
        if qualifiers.is_empty() {
            return bgp(vec![triple(head, &relation(DIRECT, key), tail)]);
        }
        let statement = self.fresh("s");
        let mut triples = vec![
            triple(head, &relation(STATEMENT, key), variable(&statement)),
            triple(variable(&statement), &relation(STATEMENT_VALUE, key), tail),
        ];
        let ends = qualifiers.iter().map(|(key, (end, _))| {
            triple(variable(&statement), &relation(QUALIFIER, key), end.clone())
        });
        triples.extend(ends);
        filter_all(
            bgp(triples),
            qualifiers
                .iter()
                .filter_map(|(_, (_, condition))| condition.clone()),
        )
    }

    /// The conditions of a step on the variable `of`, and on the fact that leads to it.
    fn set(
        &mut self,
        at: usize,
        of: &str,
        qualifiers: &[(String, EdgeEnd)],
    ) -> Result<GraphPattern, String> {
        let function = self.steps[at].function.as_str();
        let bears_facts = function.starts_with("Filter") && function != "FilterConcept"
            || function.starts_with("QFilter")
            || function == "Relate";
        if !qualifiers.is_empty() && !bears_facts {
            return self.wrong(at, "its facts cannot be filtered by qualifiers");
        }
        match function {
            "FindAll" => Ok(nothing()),
            "Find" => {
                let name = literal(&Literal::plain(text(self.input(at, 0)?)));
                Ok(bgp(vec![triple(variable(of), RDFS_LABEL, name)]))
            }
            "FilterConcept" => {
                let concept = self.fresh("c");
                let name = literal(&Literal::plain(text(self.input(at, 0)?)));
                let here = bgp(vec![
                    triple(variable(of), INSTANCE_OF, variable(&concept)),
                    triple(variable(&concept), RDFS_LABEL, name),
                ]);
                Ok(join(self.set(self.on(at, 0), of, &[])?, here))
            }
            "FilterStr" | "FilterNum" | "FilterYear" | "FilterDate" => {
                let key = self.input(at, 0)?;
                let value = self.fresh("v");
                let (end, condition) = self
                    .wanted(at, function.trim_start_matches("Filter"), 1)?
                    .end(&value);
                let fact = self.fact(variable(of).into(), key, end, qualifiers);
                let here = filter_all(fact, condition);
                Ok(join(self.set(self.on(at, 0), of, &[])?, here))
            }
            "QFilterStr" | "QFilterNum" | "QFilterYear" | "QFilterDate" => {
                let key = self.input(at, 0)?.to_owned();
                let value = self.fresh("q");
                let end = self
                    .wanted(at, function.trim_start_matches("QFilter"), 1)?
                    .end(&value);
                let mut more = qualifiers.to_vec();
                more.push((key, end));
                self.set(self.on(at, 0), of, &more)
            }
            "Relate" => {
                let from = self.fresh("e");
                let (start, end): (TermPattern, TermPattern) =
                    (variable(&from).into(), variable(of).into());
                let (head, tail) = match self.input(at, 1)? {
                    "forward" => (start, end),
                    "backward" => (end, start),
                    other => {
                        return self
                            .wrong(at, &format!("`{other}` is neither forward nor backward"));
                    }
                };
                let key = self.input(at, 0)?;
                let here = self.fact(head, key, tail, qualifiers);
                Ok(join(self.set(self.on(at, 0), &from, &[])?, here))
            }
            "And" => Ok(join(
                self.set(self.on(at, 0), of, &[])?,
                self.set(self.on(at, 1), of, &[])?,
            )),
            "Or" => {
                let left = self.set(self.on(at, 0), of, &[])?;
                Ok(union([left, self.set(self.on(at, 1), of, &[])?]))
            }
            _ => self.wrong(at, "it does not give a set"),
        }
    }

    /// The pattern of a step that asks for a value; the value is `end`.
    fn value(&mut self, at: usize, end: &TermPattern) -> Result<GraphPattern, String> {
        let head = self.fresh("e");
        let subject: TermPattern = variable(&head).into();
        match self.steps[at].function.as_str() {
            "QueryAttr" => {
                let here = self.fact(subject, self.input(at, 0)?, end.clone(), &[]);
                Ok(join(self.set(self.on(at, 0), &head, &[])?, here))
            }
            "QueryAttrUnderCondition" => {
                let (key, qualifier) = (self.input(at, 0)?, self.input(at, 1)?);
                let value = guess(self.kg, &relation(QUALIFIER, qualifier), self.input(at, 2)?);
                let condition = ValueConstraint { op: Op::Eq, value }.end(&self.fresh("q"));
                let here = self.fact(
                    subject,
                    key,
                    end.clone(),
                    &[(qualifier.to_owned(), condition)],
                );
                Ok(join(self.set(self.on(at, 0), &head, &[])?, here))
            }
            "QueryAttrQualifier" => {
                let (key, qualifier) = (self.input(at, 0)?, self.input(at, 2)?);
                let value = guess(self.kg, &relation(DIRECT, key), self.input(at, 1)?);
                let (tail, condition) = ValueConstraint { op: Op::Eq, value }.end(&self.fresh("v"));
                let fact = self.fact(
                    subject,
                    key,
                    tail,
                    &[(qualifier.to_owned(), (end.clone(), None))],
                );
                let here = filter_all(fact, condition);
                Ok(join(self.set(self.on(at, 0), &head, &[])?, here))
            }
            "QueryRelationQualifier" => {
                let other = self.fresh("e");
                let (key, qualifier) = (self.input(at, 0)?, self.input(at, 1)?);
                let here = self.fact(
                    subject,
                    key,
                    variable(&other).into(),
                    &[(qualifier.to_owned(), (end.clone(), None))],
                );
                let both = join(
                    self.set(self.on(at, 0), &head, &[])?,
                    self.set(self.on(at, 1), &other, &[])?,
                );
                Ok(join(both, here))
            }
            _ => self.wrong(at, "it does not give a value"),
        }
    }
}
