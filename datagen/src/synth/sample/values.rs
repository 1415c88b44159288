//! Tests that a given node passes, and the values in them.

use kg::term::{Literal, NodeId};
use kg::value::Op;

use super::QuestionSampler;
use crate::synth::plan::{Set, Test};
use crate::synth::profile::GraphProfile;
use crate::synth::tail::TailType;

/// The kind of a test of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TestKind {
    Equal,
    Compare,
    Between,
    Except,
}

impl TestKind {
    /// Equality for texts, else a comparison.
    pub(super) fn usual(tail: TailType) -> Self {
        if tail == TailType::Text {
            Self::Equal
        } else {
            Self::Compare
        }
    }
}

/// The literal with another lexical form.
fn with_lexical(value: &Literal, lexical: String) -> Literal {
    Literal {
        lexical,
        ..value.clone()
    }
}

/// The year that a date begins with, negative before our era, and the rest of the date.
fn year_of(date: &str) -> Option<(i32, &str)> {
    let (sign, digits) = match date.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, date),
    };
    let (year, rest) = digits.split_at_checked(4)?;
    let whole = year.bytes().all(|b| b.is_ascii_digit());
    let year: i32 = year.parse().ok().filter(|_| whole)?;
    (year < 2100 && !rest.starts_with(|c: char| c.is_ascii_digit())).then_some((sign * year, rest))
}

impl QuestionSampler<'_, '_> {
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
        // Keys of rows are asked for in one case of ten.
        let keys = self.rng.chance(0.1);
        let fits = |&r: &usize| {
            profile.relations[r].tail != TailType::Thing
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

    /// A test of an attribute that a node passes.
    pub(super) fn attribute_test(&mut self, node: NodeId, but: Option<usize>) -> Option<Test> {
        if self.rng.chance(0.25)
            && let Some(step) = self.neighbour(node, None, GraphProfile::is_classed)
            && let Some(class) = self.profile.class_of(step.to)
        {
            // A test of a joined node.
            let (relation, value, _) = self.attribute(step.to, but)?;
            let tail = self.profile.relations[relation].tail;
            let test = self.value_test(TestKind::usual(tail), relation, tail, &value)?;
            return Some(Test::related(
                step.relation,
                step.forward,
                Set::Class(class).keep(test),
            ));
        }
        let (relation, value, _) = self.attribute(node, but)?;
        let tail = self.profile.relations[relation].tail;
        let kind = self.test_kind(tail, 3);
        self.value_test(kind, relation, tail, &value)
    }

    /// Equality for texts and in one case of `n`, else a comparison.
    pub(super) fn test_kind(&mut self, tail: TailType, n: usize) -> TestKind {
        let equal = self.rng.below(n) == 0;
        if equal {
            TestKind::Equal
        } else {
            TestKind::usual(tail)
        }
    }

    /// A test of a related entity that a node passes.
    pub(super) fn entity_test(&mut self, node: NodeId, but: Option<usize>) -> Option<Test> {
        let step = self.neighbour(node, None, GraphProfile::is_named_thing)?;
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
        kind: TestKind,
        relation: usize,
        tail: TailType,
        value: &Literal,
    ) -> Option<Test> {
        match (kind, tail) {
            (TestKind::Equal, _) => self.equality_test(relation, tail, value),
            (TestKind::Except, TailType::Text) => Some(Test::Value {
                relation,
                op: Op::Ne,
                value: self.other_value(relation, value)?,
            }),
            (TestKind::Compare, TailType::Number) => self.number_test(relation, value),
            (TestKind::Compare, TailType::Time) => self.time_test(relation, value),
            (TestKind::Between, TailType::Number) => {
                let number: f64 = value.lexical.parse().ok()?;
                let decimal = value.lexical.contains('.');
                let low = self.rounded(number, false, decimal)?;
                let high = self.rounded(number, true, decimal)?;
                Some(Test::Between {
                    relation,
                    low: with_lexical(value, low),
                    high: with_lexical(value, high),
                })
            }
            _ => None,
        }
    }

    /// Equality with the value, sometimes with an alternative or an exception.
    fn equality_test(&mut self, relation: usize, tail: TailType, value: &Literal) -> Option<Test> {
        if tail == TailType::Time && value.lexical.len() > 4 {
            return None;
        }
        speakable(value).then_some(())?;
        if self.rng.chance(0.2)
            && let Some(other) = self.other_value(relation, value)
        {
            return Some(if tail == TailType::Text && self.rng.chance(0.4) {
                Test::value(relation, Op::Ne, other)
            } else {
                Test::OneOf {
                    relation,
                    values: [value.clone(), other],
                }
            });
        }
        Some(Test::value(relation, Op::Eq, value.clone()))
    }

    /// A comparison of a number with a bound near the value.
    fn number_test(&mut self, relation: usize, value: &Literal) -> Option<Test> {
        const OPS: [Op; 8] = [
            Op::Gt,
            Op::Gt,
            Op::Gt,
            Op::Lt,
            Op::Lt,
            Op::Lt,
            Op::Ge,
            Op::Le,
        ];
        let number: f64 = value.lexical.parse().ok()?;
        let op = *self.rng.pick(&OPS)?;
        let bound = if matches!(op, Op::Ge | Op::Le) && self.rng.chance(0.5) {
            value.lexical.clone()
        } else {
            let above = matches!(op, Op::Lt | Op::Le);
            self.rounded(number, above, value.lexical.contains('.'))?
        };
        Some(Test::Value {
            relation,
            op,
            value: with_lexical(value, bound),
        })
    }

    /// A comparison of a date with a year near the value.
    fn time_test(&mut self, relation: usize, value: &Literal) -> Option<Test> {
        let (year, rest) = year_of(&value.lexical)?;
        let full = !rest.is_empty();
        let apart = 1 + i32::try_from(self.rng.below(8)).ok()?;
        let after = self.rng.chance(0.5);
        let bound = if after { year - apart } else { year + apart };
        // There is no year 0 between the eras.
        (bound != 0 && (bound < 0) == (year < 0)).then_some(())?;
        let width = 4 + usize::from(bound < 0);
        let bound = format!("{bound:0width$}");
        let (op, value) = if after {
            let bound = if full {
                format!("{bound}-12-31")
            } else {
                bound
            };
            (Op::Gt, with_lexical(value, bound))
        } else {
            // A bare year compares as its first day.
            let datatype = if full {
                Some(format!("{}gYear", kg::term::XSD))
            } else {
                value.datatype.clone()
            };
            (
                Op::Lt,
                Literal {
                    lexical: bound,
                    datatype,
                    lang: None,
                },
            )
        };
        Some(Test::value(relation, op, value))
    }

    /// Another value of the relation that may be an alternative: texts, years and small numbers,
    /// but not measurements.
    pub(super) fn other_value(&mut self, relation: usize, value: &Literal) -> Option<Literal> {
        let profile = self.profile;
        let other = self.rng.pick(&profile.relations[relation].sample)?.1;
        let other = profile.kg.term(other).as_literal()?.clone();
        let short = |value: &Literal| {
            value.lexical.len() <= 4 && value.lexical.bytes().all(|byte| byte.is_ascii_digit())
        };
        let fits =
            profile.relations[relation].tail == TailType::Text || (short(value) && short(&other));
        (fits && other.lexical != value.lexical && speakable(&other) && speakable(value))
            .then_some(other)
    }

    /// A round number below or above a number and near it.
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

/// Whether a value fits in a question: short, on one line, with a letter or a digit.
pub(super) fn speakable(value: &Literal) -> bool {
    let text = value.lexical.as_str();
    let words = text.split_whitespace().count();
    (1..=8).contains(&words)
        && text.chars().count() <= 60
        && text.chars().any(char::is_alphanumeric)
        && !text.contains(['"', '\n', '?'])
}
