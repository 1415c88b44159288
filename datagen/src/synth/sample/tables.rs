//! Questions for tables, groups and summaries (extended tools).

use kg::value::Op;
use toolbox::call::Aggregate;

use super::edge::SampledEdge;
use super::{QuestionSampler, Shape};
use crate::synth::plan::{QuestionPlan, RowGroups, RowOrder, RowValue, Set, TableRows};
use crate::synth::tail::TailType;

/// Averages are asked for most, and numbers of different values not at all: those are counted.
const AGGREGATES: [Aggregate; 6] = [
    Aggregate::Average,
    Aggregate::Average,
    Aggregate::Max,
    Aggregate::Max,
    Aggregate::Min,
    Aggregate::Sum,
];

impl QuestionSampler<'_, '_> {
    /// A question of a shape that needs rows, about the heads of the edge's relation.
    pub(super) fn table(&mut self, shape: Shape, edge: &SampledEdge) -> Option<QuestionPlan> {
        let r = edge.relation;
        let class = self.profile.relations[r].heads?;
        let rows = match shape {
            Shape::Table => TableRows::Listed {
                values: self.row(class, Some(r), 2)?,
                order: None,
            },
            Shape::SortedRows => {
                let max = self.rng.chance(0.4);
                self.sorted(class, r, (max, None))?
            }
            Shape::TopRows => {
                let max = self.rng.chance(0.6);
                let first = if self.rng.chance(0.45) {
                    1
                } else {
                    2 + self.rng.below(4)
                };
                (self.profile.classes[class].size > first).then_some(())?;
                self.sorted(class, r, (max, Some(first)))?
            }
            Shape::Summary => TableRows::Summed(self.summaries(class, r)),
            Shape::BeyondAverage => {
                let rows = TableRows::Beyond {
                    values: self.row(class, None, 1)?,
                    relation: r,
                    max: self.rng.chance(0.5),
                };
                let of = Set::Class(class);
                return Some(QuestionPlan::Table { of, rows });
            }
            Shape::Lacking => return self.lacking(class, r),
            _ => TableRows::Grouped(self.groups(shape, class, r)?),
        };
        let mut of = Set::Class(class);
        let tested = match shape {
            Shape::Table | Shape::SortedRows | Shape::Summary => 0.35,
            Shape::GroupCount | Shape::GroupSummary => 0.2,
            _ => 0.1,
        };
        if self.rng.chance(tested) {
            let test = if self.rng.chance(0.6) {
                self.attribute_test(edge.head, Some(r))?
            } else {
                self.entity_test(edge.head, Some(r))?
            };
            of = of.keep(test);
        }
        Some(QuestionPlan::Table { of, rows })
    }

    /// The attributes of a class. Keys of rows are among them in one case of four.
    fn attributes(&mut self, class: usize) -> Vec<usize> {
        let keys = self.rng.chance(0.25);
        let relations = self.profile.relations.iter().enumerate();
        relations
            .filter(|(_, one)| one.heads == Some(class) && one.tail != TailType::Thing)
            .filter(|(_, one)| !one.sample.is_empty() && (keys || !one.identifier))
            .map(|(i, _)| i)
            .collect()
    }

    /// What names a member: its label, or the attribute that names it.
    fn named(&self, class: usize) -> Option<RowValue> {
        let profile = &self.profile.classes[class];
        if let Some(key) = profile.key {
            return Some(RowValue::own(key));
        }
        let node = *profile.sample.first()?;
        self.profile.is_labelled(node).then_some(RowValue {
            via: Vec::new(),
            relation: None,
        })
    }

    /// The tail of a relation as a value of a row: a thing by its name. Sometimes the thing that it
    /// leads to: the continent of a maker's country.
    fn tail_value(&mut self, relation: usize) -> Option<RowValue> {
        if self.profile.relations[relation].tail != TailType::Thing {
            return Some(RowValue::own(relation));
        }
        let mut via = vec![relation];
        let mut class = self.profile.relations[relation].tails?;
        for _ in 0..2 {
            let links = self.links(class);
            if !self.rng.chance(0.25) || links.is_empty() {
                break;
            }
            let &link = self.rng.pick(&links)?;
            class = self.profile.relations[link].tails?;
            via.push(link);
        }
        let relation = self.named(class)?.relation;
        Some(RowValue { via, relation })
    }

    /// The relations that lead from a class to things of another one.
    fn links(&self, class: usize) -> Vec<usize> {
        let relations = self.profile.relations.iter().enumerate();
        relations
            .filter(|(_, one)| one.heads == Some(class) && one.tail == TailType::Thing)
            .filter(|(_, one)| one.tails.is_some_and(|tails| tails != class))
            .map(|(i, _)| i)
            .collect()
    }

    /// At least `few` values of a member, at most three, one of them of `relation`.
    fn row(&mut self, class: usize, relation: Option<usize>, few: usize) -> Option<Vec<RowValue>> {
        let mut values: Vec<RowValue> = Vec::new();
        match self.named(class) {
            Some(name) if self.rng.chance(0.65) => values.push(name),
            Some(_) if self.rng.chance(0.8) => {}
            // A row without a name is known by what it joins.
            _ => {
                for link in self.links(class) {
                    values.extend(self.tail_value(link).filter(|_| values.len() < 2));
                }
            }
        }
        if let Some(relation) = relation {
            let value = self.tail_value(relation)?;
            if !values.contains(&value) {
                values.push(value);
            }
        }
        let wanted = few.max(values.len()) + usize::from(self.rng.chance(0.3));
        let wanted = wanted.min(3);
        let attributes = self.attributes(class);
        for _ in 0..8 {
            let Some(&attribute) = self.rng.pick(&attributes).filter(|_| values.len() < wanted)
            else {
                break;
            };
            let value = RowValue::own(attribute);
            if !values.contains(&value) {
                values.push(value);
            }
        }
        if values.len() > 1 && self.rng.chance(0.25) {
            values.swap(0, 1);
        }
        (values.len() >= few).then_some(values)
    }

    /// Values of the members, in the order of an attribute.
    fn sorted(
        &mut self,
        class: usize,
        relation: usize,
        (max, first): (bool, Option<usize>),
    ) -> Option<TableRows> {
        // One value of one member is a superlative.
        let few = if first == Some(1) { 2 } else { 1 };
        let shown = self.rng.chance(0.2).then_some(relation);
        Some(TableRows::Listed {
            values: self.row(class, shown, few)?,
            order: Some(RowOrder {
                relation,
                max,
                first,
            }),
        })
    }

    fn summaries(&mut self, class: usize, relation: usize) -> Vec<(Aggregate, usize)> {
        let mut summaries = vec![(self.aggregate(), relation)];
        let more = match self.rng.below(10) {
            0..=5 => 0,
            6..=8 => 1,
            _ => 2,
        };
        for _ in 0..more {
            let numbers = self.numbers(class, relation);
            let of = match self.rng.pick(&numbers) {
                Some(&other) if self.rng.chance(0.3) => other,
                _ => relation,
            };
            let summary = (self.aggregate(), of);
            if !summaries.contains(&summary) {
                summaries.push(summary);
            }
        }
        summaries
    }

    fn aggregate(&mut self) -> Aggregate {
        let i = self.rng.below(AGGREGATES.len());
        AGGREGATES[i]
    }

    /// Attributes with numbers other than one of them.
    fn numbers(&mut self, class: usize, but: usize) -> Vec<usize> {
        let mut attributes = self.attributes(class);
        attributes.retain(|&r| {
            let relation = &self.profile.relations[r];
            r != but && relation.tail == TailType::Number && !relation.identifier
        });
        attributes
    }

    /// Groups of the heads of a relation by its tails.
    fn groups(&mut self, shape: Shape, class: usize, relation: usize) -> Option<RowGroups> {
        let profile = &self.profile.relations[relation];
        // Values that are all different make no groups.
        let mut tails: Vec<_> = profile.sample.iter().map(|edge| edge.1).collect();
        tails.sort_unstable();
        tails.dedup();
        let few = match profile.tail {
            TailType::Number => tails.len() * 4,
            _ => tails.len() + 1,
        };
        (few <= profile.sample.len()).then_some(())?;
        let key = self.tail_value(relation)?;
        let mut keys = vec![key.clone()];
        if shape == Shape::GroupCount
            && let (Some(&last), Some(_)) = (key.via.last(), key.relation)
            && self.rng.chance(0.3)
        {
            let attributes = self.attributes(self.profile.relations[last].tails?);
            let other = RowValue {
                via: key.via.clone(),
                relation: Some(*self.rng.pick(&attributes)?),
            };
            if other != key {
                keys.push(other);
            }
        }
        let mut groups = RowGroups {
            keys,
            measure: None,
            shown: true,
            size: None,
            order: None,
        };
        match shape {
            Shape::GroupSummary => {
                let numbers = self.numbers(class, relation);
                groups.measure = Some((self.aggregate(), *self.rng.pick(&numbers)?));
            }
            Shape::GroupMost => {
                let first = if self.rng.chance(0.85) {
                    1
                } else {
                    2 + self.rng.below(2)
                };
                groups.order = Some((self.rng.chance(0.85), Some(first)));
                groups.shown = self.rng.chance(0.2);
            }
            Shape::GroupSize => {
                let op = match self.rng.below(8) {
                    0..=3 => Op::Ge,
                    4..=6 => Op::Gt,
                    _ => Op::Lt,
                };
                let size = if op == Op::Gt { 1 } else { 2 };
                groups.size = Some((op, size + self.rng.below(3)));
                groups.shown = self.rng.chance(0.15);
            }
            _ if self.rng.chance(0.12) => groups.order = Some((self.rng.chance(0.6), None)),
            _ => {}
        }
        Some(groups)
    }

    /// The tails' class without the heads of the relation: teachers without courses.
    fn lacking(&mut self, class: usize, relation: usize) -> Option<QuestionPlan> {
        let of = self.profile.relations[relation].tails?;
        let values = match self.named(of) {
            Some(name) if self.rng.chance(0.65) => vec![name],
            _ if self.rng.chance(0.5) => self.row(of, None, 1)?,
            _ => Vec::new(),
        };
        let rows = TableRows::Lacking {
            values,
            relation,
            class,
        };
        let of = Set::Class(of);
        Some(QuestionPlan::Table { of, rows })
    }
}
