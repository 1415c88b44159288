//! Tests that a given node passes, and the values they compare with.

use kg::term::{Literal, NodeId};
use kg::value::Op;

use super::{Draw, Set, Test};
use crate::synth::profile::Tail;

impl Draw<'_, '_> {
    /// An attribute of a node and its value.
    pub(super) fn attribute(
        &mut self,
        node: NodeId,
        but: Option<usize>,
    ) -> Option<(usize, Literal, NodeId)> {
        let profile = self.profile;
        let relations: Vec<usize> = profile
            .kg
            .out_relations(node)
            .into_iter()
            .filter_map(|id| profile.relation(id))
            .collect();
        // Keys of rows are asked for now and then.
        let keys = self.rng.chance(0.1);
        let fits = |&r: &usize| {
            profile.relations[r].tail != Tail::Thing
                && Some(r) != but
                && (keys || !profile.relations[r].identifier)
        };
        let relations: Vec<usize> = relations.into_iter().filter(fits).collect();
        let relation = *self.rng.pick(&relations)?;
        let values = profile.kg.tails(node, profile.relations[relation].id);
        let value = *self.rng.pick(&values)?;
        Some((
            relation,
            profile.kg.term(value).as_literal()?.clone(),
            value,
        ))
    }

    pub(super) fn attribute_test(&mut self, node: NodeId, but: Option<usize>) -> Option<Test> {
        if self.rng.chance(0.25)
            && let Some(step) = self.neighbour(node, None, |profile, other| {
                profile.is_thing(other) && profile.class_of(other).is_some()
            })
            && let Some(class) = self.profile.class_of(step.to)
        {
            // What the member is joined to passes the test.
            let (relation, value, _) = self.attribute(step.to, but)?;
            let tail = self.profile.relations[relation].tail;
            let test = self.value_test(
                if tail == Tail::Text {
                    "literal-constraint"
                } else {
                    "comparison"
                },
                relation,
                tail,
                &value,
            )?;
            let set = Box::new(Set::Class(class).keep(test));
            return Some(Test::Is {
                relation: step.relation,
                forward: step.forward,
                set,
            });
        }
        let (relation, value, _) = self.attribute(node, but)?;
        let tail = self.profile.relations[relation].tail;
        let shape = match (tail, self.rng.below(3)) {
            (Tail::Text, _) | (_, 0) => "literal-constraint",
            _ => "comparison",
        };
        self.value_test(shape, relation, tail, &value)
    }

    pub(super) fn entity_test(&mut self, node: NodeId, but: Option<usize>) -> Option<Test> {
        let step = self.neighbour(node, None, |profile, other| {
            profile.is_thing(other) && !profile.is_statement(other)
        })?;
        if Some(step.relation) == but && self.rng.chance(0.5) {
            return None;
        }
        let set = Box::new(self.thing(step.to)?);
        Some(Test::Is {
            relation: step.relation,
            forward: step.forward,
            set,
        })
    }

    /// A test that a value passes.
    pub(super) fn value_test(
        &mut self,
        shape: &str,
        relation: usize,
        tail: Tail,
        value: &Literal,
    ) -> Option<Test> {
        let with = |lexical: String| Literal {
            lexical,
            ..value.clone()
        };
        Some(match (shape, tail) {
            ("literal-constraint", Tail::Time) if value.lexical.len() > 4 => return None,
            ("literal-constraint", _) => {
                speakable(value).then_some(())?;
                // Alternatives and exceptions are said of whatever a value is said of.
                if self.rng.chance(0.2)
                    && let Some(other) = self.other_value(relation, value)
                {
                    return Some(if tail == Tail::Text && self.rng.chance(0.4) {
                        Test::Value {
                            relation,
                            op: Op::Ne,
                            value: other,
                        }
                    } else {
                        Test::OneOf {
                            relation,
                            values: [value.clone(), other],
                        }
                    });
                }
                Test::Value {
                    relation,
                    op: Op::Eq,
                    value: value.clone(),
                }
            }
            ("negation", Tail::Text) => Test::Value {
                relation,
                op: Op::Ne,
                value: self.other_value(relation, value)?,
            },
            ("comparison", Tail::Number) => {
                let number: f64 = value.lexical.parse().ok()?;
                let op = *self.rng.pick(&[
                    Op::Gt,
                    Op::Gt,
                    Op::Gt,
                    Op::Lt,
                    Op::Lt,
                    Op::Lt,
                    Op::Ge,
                    Op::Le,
                ])?;
                let bound = if matches!(op, Op::Ge | Op::Le) && self.rng.chance(0.5) {
                    value.lexical.clone()
                } else {
                    self.rounded(
                        number,
                        matches!(op, Op::Lt | Op::Le),
                        value.lexical.contains('.'),
                    )?
                };
                Test::Value {
                    relation,
                    op,
                    value: with(bound),
                }
            }
            ("between", Tail::Number) => {
                let number: f64 = value.lexical.parse().ok()?;
                let decimal = value.lexical.contains('.');
                let (low, high) = (
                    self.rounded(number, false, decimal)?,
                    self.rounded(number, true, decimal)?,
                );
                Test::Between {
                    relation,
                    low: with(low),
                    high: with(high),
                }
            }
            ("comparison", Tail::Time) => {
                let year = value
                    .lexical
                    .get(..4)
                    .filter(|year| year.bytes().all(|b| b.is_ascii_digit()))?;
                let year: u32 = year.parse().ok()?;
                (1001..2100).contains(&year).then_some(())?;
                let full = value.lexical.len() > 4;
                let apart = 1 + u32::try_from(self.rng.below(8)).ok()?;
                if self.rng.chance(0.5) {
                    let bound = if full {
                        format!("{}-12-31", year - apart)
                    } else {
                        (year - apart).to_string()
                    };
                    Test::Value {
                        relation,
                        op: Op::Gt,
                        value: with(bound),
                    }
                } else {
                    // A year begins with its first day, which is how a lone year compares.
                    let datatype = if full {
                        Some(format!("{}gYear", kg::term::XSD))
                    } else {
                        value.datatype.clone()
                    };
                    Test::Value {
                        relation,
                        op: Op::Lt,
                        value: Literal {
                            lexical: (year + apart).to_string(),
                            datatype,
                            lang: None,
                        },
                    }
                }
            }
            _ => return None,
        })
    }

    /// Another value that the relation has somewhere and that is said as briefly: years and small numbers are given as alternatives,
    /// measurements are not.
    pub(super) fn other_value(&mut self, relation: usize, value: &Literal) -> Option<Literal> {
        let profile = self.profile;
        let other = self.rng.pick(&profile.relations[relation].sample)?.1;
        let other = profile.kg.term(other).as_literal()?.clone();
        let short = |value: &Literal| {
            value.lexical.len() <= 4 && value.lexical.bytes().all(|byte| byte.is_ascii_digit())
        };
        let fits =
            profile.relations[relation].tail == Tail::Text || (short(value) && short(&other));
        (fits && other.lexical != value.lexical && speakable(&other) && speakable(value))
            .then_some(other)
    }

    /// A round number below or above a number, so near that it is worth asking for.
    pub(super) fn rounded(&mut self, number: f64, above: bool, decimal: bool) -> Option<String> {
        let shift = number.abs().max(1.0) * [0.02, 0.1, 0.3, 0.6][self.rng.below(4)];
        let target = if above {
            number + shift
        } else {
            number - shift
        };
        let digits = 10_f64.powf(
            target.abs().max(1.0).log10().floor()
                - f64::from(u8::try_from(self.rng.below(2)).ok()?),
        );
        let mut round = (target / digits).round() * digits;
        if !decimal {
            round = round.round();
        }
        let fits = if above {
            round > number
        } else {
            round < number
        };
        if !fits {
            round = if above {
                number.ceil() + 1.0
            } else {
                number.floor() - 1.0
            };
        }
        (round >= 0.0 && round.is_finite()).then(|| {
            if round.fract() == 0.0 {
                format!("{round:.0}")
            } else {
                format!("{round:.1}")
            }
        })
    }
}

/// Whether a value can stand in a question: short, on one line, with a letter or a digit in it.
pub(super) fn speakable(value: &Literal) -> bool {
    let text = value.lexical.as_str();
    let words = text.split_whitespace().count();
    (1..=8).contains(&words)
        && text.chars().count() <= 60
        && text.chars().any(char::is_alphanumeric)
        && !text.contains(['"', '\n', '?'])
}
