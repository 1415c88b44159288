//! ODA's examples: an ideal run derived call by call from the verified program. Relation calls
//! become explored sets and remembered groups, comparisons become narrowed groups, set operations
//! and the end become expressions over the memory. A run is kept only if it gives the program's
//! answer.

use std::collections::{BTreeMap, BTreeSet};

use kg::Kg;
use toolbox::call::{Arg, Call, HandleKind, Target, Tool, ToolTable};
use toolbox::oda::{Awaited, OdaOptions, Reflection, Run};
use toolbox::prompt::Template;
use toolbox::rank::RankError;

use crate::example::{AgentExamples, Example, ExampleBuilder};
use crate::question::GoldQuestion;
use crate::verify::{Refused, Verified, VerifyOptions, walked_name};
use common::hash;

/// Share of the examples without observations, so that one model works with and without them.
const BLIND: f64 = 0.2;

/// Makes ODA's examples.
pub struct OdaExamples<'a> {
    kg: &'a dyn Kg,
    template: &'a Template,
    verify: &'a VerifyOptions,
    options: OdaOptions,
    builder: ExampleBuilder<'a>,
}

/// Reasons why a program has no ideal run.
enum Missing {
    /// ODA's turns cannot express the program. This is not an error.
    Inexpressible,
    /// A derived turn does not run as expected.
    Failed(String),
    /// The ranker failed.
    Rank(RankError),
}

impl<'a> OdaExamples<'a> {
    /// Makes examples on one graph with one template.
    #[must_use]
    pub fn new(kg: &'a dyn Kg, template: &'a Template, verify: &'a VerifyOptions) -> Self {
        Self {
            kg,
            template,
            verify,
            options: OdaOptions::default(),
            builder: ExampleBuilder::new(kg, template),
        }
    }

    /// Replaces the default run options; reflection always stays with the model.
    #[must_use]
    pub fn observing(self, options: OdaOptions) -> Self {
        Self {
            options: OdaOptions {
                reflection: Reflection::Model,
                ..options
            },
            ..self
        }
    }

    /// The texts of the turns of the ideal run of a verified question; `None` if it has no ideal
    /// run.
    ///
    /// # Errors
    /// A turn that does not run as derived.
    pub fn ideal(
        &self,
        question: &GoldQuestion,
        verified: &Verified,
    ) -> Result<Option<Vec<String>>, Refused> {
        match self.run(question, verified, &self.options) {
            Ok((_, written)) => Ok(Some(written)),
            Err(Missing::Inexpressible) => Ok(None),
            Err(Missing::Failed(why)) => Err(Refused::rendering(why)),
            Err(Missing::Rank(error)) => Err(error.into()),
        }
    }

    fn run(
        &self,
        question: &GoldQuestion,
        verified: &Verified,
        options: &OdaOptions,
    ) -> Result<(Run<'a>, Vec<String>), Missing> {
        let run = verified
            .session(self.kg, question, self.verify)
            .and_then(|session| Run::open(session, self.template, options))
            .map_err(Missing::Rank)?;
        let mut ideal = Ideal {
            run,
            values: BTreeMap::new(),
            written: Vec::new(),
        };
        ideal.follow(&verified.gold.calls)?;
        let answer = ideal.run.session().answer();
        if answer != Some(&verified.value) {
            return Err(Missing::Failed(format!(
                "the ideal run answers {answer:?} instead of {:?}",
                verified.value
            )));
        }
        Ok((ideal.run, ideal.written))
    }
}

impl AgentExamples for OdaExamples<'_> {
    fn examples(
        &self,
        question: &GoldQuestion,
        verified: &Verified,
    ) -> Result<Vec<Example>, Refused> {
        let observation =
            self.options.observation && !hash::falls_into(BLIND, 0, "blind", &question.id);
        match self.run(
            question,
            verified,
            &OdaOptions {
                observation,
                ..self.options.clone()
            },
        ) {
            Ok((run, _)) => {
                let (_, turns) = run.into_parts();
                Ok(vec![self.builder.example(
                    question,
                    verified,
                    &turns,
                    verified.gold.calls.len(),
                )])
            }
            Err(Missing::Inexpressible) => Ok(Vec::new()),
            Err(Missing::Failed(why)) => Err(Refused::rendering(format!("as oda: {why}"))),
            Err(Missing::Rank(error)) => Err(error.into()),
        }
    }
}

/// The value of a program variable in the run.
#[derive(Clone)]
enum RunValue {
    /// A set, as named in actions.
    Set(String),
    /// `count SET` or `judge SET`: valid only as an answer.
    Scalar(String),
}

struct Ideal<'g> {
    run: Run<'g>,
    values: BTreeMap<u32, RunValue>,
    written: Vec<String>,
}

impl Ideal<'_> {
    fn follow(&mut self, calls: &[Call]) -> Result<(), Missing> {
        let mut done: BTreeSet<usize> = BTreeSet::new();
        for (i, call) in calls.iter().enumerate() {
            if done.contains(&i) {
                continue;
            }
            match call.tool {
                Tool::GetRelation if call.args.len() == 1 => self.explore(calls, i, &mut done)?,
                Tool::GetEntityByType => {
                    let class = self.run.session().with_handles(call, self.run_naming());
                    let Some(Arg::Handle(handle)) = class.args.first() else {
                        return Err(Missing::Inexpressible);
                    };
                    self.set(call, RunValue::Set(handle.to_string()));
                }
                Tool::Intersect | Tool::Union => {
                    let mut parts = call
                        .args
                        .iter()
                        .map(|arg| self.named(arg))
                        .collect::<Result<Vec<_>, _>>()?;
                    if parts.iter().any(|part| part.contains('(')) {
                        return Err(Missing::Inexpressible);
                    }
                    let (order, _) = self.run.sets();
                    let place = |part: &String| order.iter().position(|set| set == part);
                    parts.sort_by_key(place);
                    parts.dedup();
                    let value = if parts.len() == 1 {
                        parts.remove(0)
                    } else {
                        format!("{}({})", call.tool.name(), parts.join(", "))
                    };
                    self.set(call, RunValue::Set(value));
                }
                Tool::Count => {
                    let set = self.named(call.args.first().ok_or(Missing::Inexpressible)?)?;
                    self.set(call, RunValue::Scalar(format!("count {set}")));
                }
                Tool::End => {
                    let what = match call.args.first() {
                        Some(Arg::List(items)) if items.is_empty() => "none".to_owned(),
                        Some(Arg::Var(index)) => match self.values.get(index) {
                            Some(RunValue::Set(text) | RunValue::Scalar(text)) => text.clone(),
                            None => return Err(Missing::Inexpressible),
                        },
                        Some(other) => self.named(other)?,
                        None => return Err(Missing::Inexpressible),
                    };
                    self.write(format!("answer {what}"))?;
                }
                // `explore` handles relation calls and comparisons with the list before them; a
                // call without a list has no ODA turn.
                _ => return Err(Missing::Inexpressible),
            }
        }
        Ok(())
    }

    fn run_naming(&self) -> toolbox::exec::Naming {
        self.run.template().naming
    }

    fn set(&mut self, call: &Call, value: RunValue) {
        if let Target::Var(index) = call.target {
            self.values.insert(index, value);
        }
    }

    /// A set argument, as named in actions.
    fn named(&self, arg: &Arg) -> Result<String, Missing> {
        match arg {
            Arg::Var(index) => match self.values.get(index) {
                Some(RunValue::Set(text)) => Ok(text.clone()),
                _ => Err(Missing::Inexpressible),
            },
            Arg::Name(name) => {
                let session = self.run.session();
                let node = session.kg().by_name(name).ok_or(Missing::Inexpressible)?;
                let at = session
                    .linked()
                    .entities
                    .iter()
                    .position(|&entity| entity == node)
                    .ok_or(Missing::Inexpressible)?;
                Ok(format!("{}{at}", HandleKind::Entity.letter()))
            }
            _ => Err(Missing::Inexpressible),
        }
    }

    /// Explores the set of `calls[at]` and remembers all groups of it that later calls use.
    fn explore(
        &mut self,
        calls: &[Call],
        at: usize,
        done: &mut BTreeSet<usize>,
    ) -> Result<(), Missing> {
        let set = calls[at].args.first().ok_or(Missing::Inexpressible)?;
        let of_set = |call: &Call| call.args.first() == Some(set);
        let follows = |call: &Call| ToolTable::Paper.has(call.tool) && walked_name(call).is_some();
        let uses: Vec<usize> = (at + 1..calls.len())
            .filter(|i| of_set(&calls[*i]) && follows(&calls[*i]) && !done.contains(i))
            .collect();
        let text = self.named(set)?;
        // A repeated list of an explored set adds nothing.
        let again = (at + 1..calls.len())
            .filter(|&i| of_set(&calls[i]) && calls[i].tool == Tool::GetRelation);
        done.extend(again);
        self.write(format!("neighbor {text}"))?;
        if let (Arg::Var(index), Some(explored)) = (set, self.run.explored()) {
            // From here on a composed set has its own variable.
            if text.contains('(') {
                self.values
                    .insert(*index, RunValue::Set(explored.to_owned()));
            }
        }
        if uses.is_empty() {
            return self.write("none".to_owned());
        }
        let groups = self.run.groups();
        let mut picks: Vec<(usize, String, usize)> = Vec::new();
        for &i in &uses {
            let (relation, narrowed) = self.group(&calls[i])?;
            // A relation without edges in this direction (`judge` is then false) cannot be
            // remembered.
            let place = groups
                .iter()
                .position(|(group, _)| *group == relation)
                .ok_or(Missing::Inexpressible)?;
            if picks.iter().any(|pick| pick.0 == place) {
                return Err(Missing::Inexpressible);
            }
            picks.push((place, format!("{relation}{narrowed}"), i));
        }
        picks.sort_unstable();
        let before = self.run.session().variables();
        let texts: Vec<&str> = picks.iter().map(|pick| pick.1.as_str()).collect();
        self.write(texts.join("; "))?;
        for (offset, (_, _, i)) in picks.iter().enumerate() {
            let made = format!("v{}", before + offset);
            let value = if calls[*i].tool == Tool::Judge {
                RunValue::Scalar(format!("judge {made}"))
            } else {
                RunValue::Set(made)
            };
            self.set(&calls[*i], value);
            done.insert(*i);
        }
        Ok(())
    }

    /// The group that a call uses, and its narrowing condition.
    fn group(&self, call: &Call) -> Result<(String, String), Missing> {
        // ODA names the set itself; the other arguments are handles.
        let mut call = call.clone();
        let set = self.run.explored().ok_or(Missing::Inexpressible)?;
        let parsed = toolbox::call::parse_call(&format!("get_relation({set})"))
            .map_err(|error| Missing::Failed(error.to_string()))?;
        call.args[0] = parsed
            .args
            .into_iter()
            .next()
            .ok_or(Missing::Inexpressible)?;
        let named = self.run.session().with_handles(&call, self.run_naming());
        let along = call.tool != Tool::GetHeadEntity;
        let (relation, out) = match named.args.get(1) {
            Some(Arg::Inverse(inner)) => (inner.to_string(), !along),
            Some(relation) => (relation.to_string(), along),
            None => return Err(Missing::Inexpressible),
        };
        let relation = if out {
            relation
        } else {
            format!("~{relation}")
        };
        let narrowed = match (named.args.get(2), named.args.get(3)) {
            (None, _) => String::new(),
            (Some(extreme @ Arg::Extreme(_)), None) => format!(" {extreme}"),
            (Some(op), Some(value @ Arg::Handle(_))) => format!(" {op} {value}"),
            _ => return Err(Missing::Inexpressible),
        };
        if !narrowed.is_empty() && !out {
            return Err(Missing::Inexpressible);
        }
        Ok((relation, narrowed))
    }

    /// Writes a turn; the turn's grammar must accept it.
    fn write(&mut self, text: String) -> Result<(), Missing> {
        if self.run.awaited() == Awaited::Action && self.run.forced() && !text.starts_with("answer")
        {
            // The run is out of actions.
            return Err(Missing::Inexpressible);
        }
        if !self.run.grammar().matches(&text) {
            return Err(Missing::Failed(format!(
                "`{text}` is not what can be written after {:?}",
                self.written
            )));
        }
        self.run
            .write(&text)
            .map_err(|error| match error.recoverable() {
                Ok(error) => Missing::Failed(format!("`{text}`: {error}")),
                Err(error) => Missing::Rank(error),
            })?;
        self.written.push(text);
        Ok(())
    }
}
