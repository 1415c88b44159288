//! Drawing what to ask: a question of a wanted shape around an edge of a relation, or around a class, such that the graph has an answer.

mod sets;
mod several;
mod values;

use kg::term::NodeId;

use super::plan::{Ask, Set, Test};
use super::profile::{Profile, Tail};
use common::rng::Rng;

/// What a question is drawn around.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Focus {
    Relation(usize),
    Class(usize),
}

/// Shapes with their weights: how often each is wanted where the graph has it.
pub(super) const SHAPES: &[(&str, u32)] = &[
    ("attribute", 7),
    ("forward", 7),
    ("backward", 7),
    ("two-hop", 7),
    ("three-hop", 3),
    ("star", 4),
    ("entity-constraint", 5),
    ("literal-constraint", 7),
    ("comparison", 7),
    ("two-constraints", 4),
    ("between", 2),
    ("type", 3),
    ("negation", 3),
    ("count", 6),
    ("superlative", 6),
    ("superlative-attribute", 6),
    ("boolean", 4),
    ("boolean-comparison", 2),
    ("union", 4),
    ("compare", 2),
    ("interval", 3),
    ("shared", 4),
    ("class", 4),
    ("class-attribute", 7),
    ("class-constraint", 12),
    ("class-superlative", 12),
    ("class-count", 5),
    ("constrained-count", 12),
];

/// One drawing.
pub(super) struct Draw<'a, 'g> {
    pub profile: &'a Profile<'g>,
    pub rng: Rng,
}

impl Draw<'_, '_> {
    /// A question of a shape, if one is found around the focus.
    pub(super) fn draw(&mut self, shape: &str, focus: Focus) -> Option<Ask> {
        match focus {
            Focus::Relation(relation) => {
                let edge = *self.rng.pick(&self.profile.relations[relation].sample)?;
                self.around_edge(shape, relation, edge)
            }
            Focus::Class(class) => {
                let node = *self.rng.pick(&self.profile.classes[class].sample)?;
                self.around_class(shape, class, node)
            }
        }
    }

    fn around_edge(&mut self, shape: &str, r: usize, (s, o): (NodeId, NodeId)) -> Option<Ask> {
        let profile = self.profile;
        let tail = profile.relations[r].tail;
        let literal = profile.kg.term(o).as_literal().cloned();
        match shape {
            "attribute" => {
                literal.as_ref()?;
                let from = self.reach(s, 0)?;
                self.list(from.walk(r, true), o)
            }
            "forward" => {
                let from = self.reach(s, 0)?;
                let (set, end) = self.out_of_statements(from.walk(r, true), o)?;
                self.list(set, end)
            }
            "backward" => {
                let (set, end) = self.back(r, s, o, &literal)?;
                self.list(set, end)
            }
            "two-hop" | "three-hop" => {
                let hops = if shape == "two-hop" { 2 } else { 3 };
                let before = self.rng.below(hops);
                let (mut set, mut at, mut left) = if self.rng.chance(0.6) {
                    let from = self.reach(s, before)?;
                    let (set, end) = self.out_of_statements(from.walk(r, true), o)?;
                    (set, end, hops - 1 - before)
                } else {
                    literal.is_none().then_some(())?;
                    let from = self.reach(o, before)?;
                    let (set, end) = self.out_of_statements(from.walk(r, false), s)?;
                    (set, end, hops - 1 - before)
                };
                while left > 0 {
                    (set, at) = self.onward(set, at)?;
                    left -= 1;
                }
                self.list(set, at)
            }
            "star" => {
                if literal.is_none()
                    && self.rng.chance(0.35)
                    && let Some(ask) = self.both(r, s, o)
                {
                    return Some(ask);
                }
                let (set, x) = self.back(r, s, o, &literal)?;
                let test = self.entity_test(x, Some(r))?;
                let set = set.keep(test);
                self.list(set, x)
            }
            "entity-constraint" => {
                literal.is_none().then_some(())?;
                let other = self.thing(o)?;
                let set = self.reach(s, 1)?.keep(Test::Is {
                    relation: r,
                    forward: true,
                    set: Box::new(other),
                });
                if profile.is_statement(s) || self.rng.chance(0.4) {
                    let (set, end) = self.onward(set, s)?;
                    return self.list(set, end);
                }
                self.list(set, s)
            }
            "literal-constraint" | "comparison" | "between" | "negation" => {
                let value = literal?;
                let test = self.value_test(shape, r, tail, &value)?;
                let base = self.base(s)?;
                self.tested(base.keep(test), s)
            }
            "two-constraints" => {
                let value = literal?;
                let shape = if tail == Tail::Text {
                    "literal-constraint"
                } else {
                    "comparison"
                };
                let test = self.value_test(shape, r, tail, &value)?;
                let second = if self.rng.chance(0.5) {
                    self.entity_test(s, Some(r))
                } else {
                    self.attribute_test(s, Some(r))
                }?;
                let base = self.base(s)?;
                let set = if self.rng.chance(0.5) {
                    base.keep(test).keep(second)
                } else {
                    base.keep(second).keep(test)
                };
                self.tested(set, s)
            }
            "superlative" | "superlative-attribute" => {
                matches!(tail, Tail::Number | Tail::Time).then_some(())?;
                let base = self.base(s)?;
                let max = self.rng.chance(0.6);
                let set = base.most(r, max);
                if shape == "superlative-attribute" {
                    if self.rng.chance(0.3) {
                        return self.list(set.walk(r, true), o);
                    }
                    let (set, end) = self.onward_any(set, s)?;
                    return self.list(set, end);
                }
                self.list(set, s)
            }
            "count" => match literal {
                Some(_) => {
                    // How many different values an attribute has.
                    let class = profile.relations[r].heads?;
                    (tail == Tail::Text || self.rng.chance(0.3)).then_some(())?;
                    Some(Ask::Count {
                        set: Set::Class(class).walk(r, true),
                    })
                }
                None if self.rng.chance(0.2) => {
                    // How many things are in use at all: dogs that went through any treatment.
                    let class = profile.relations[r].heads?;
                    Some(Ask::Count {
                        set: Set::Class(class).walk(r, true),
                    })
                }
                None if self.rng.chance(0.5) => {
                    let from = self.reach(s, 0)?;
                    Some(Ask::Count {
                        set: from.walk(r, true),
                    })
                }
                None => {
                    let from = self.thing(o)?;
                    Some(Ask::Count {
                        set: from.walk(r, false),
                    })
                }
            },
            "boolean" => {
                literal.is_none().then_some(())?;
                let of = self.lone(s)?;
                let other = if self.rng.chance(0.5) {
                    o
                } else {
                    self.rng.pick(&profile.relations[r].sample)?.1
                };
                let set = Box::new(self.lone(other)?);
                Some(Ask::Yes {
                    of,
                    test: Test::Is {
                        relation: r,
                        forward: true,
                        set,
                    },
                })
            }
            "boolean-comparison" => {
                matches!(tail, Tail::Number | Tail::Time).then_some(())?;
                let other = self.rng.pick(&profile.relations[r].sample)?.1;
                let value = profile
                    .kg
                    .term(if self.rng.chance(0.5) { o } else { other })
                    .as_literal()?
                    .clone();
                let test = self.value_test("comparison", r, tail, &value)?;
                let of = self.lone(s)?;
                Some(Ask::Yes { of, test })
            }
            "compare" => {
                matches!(tail, Tail::Number | Tail::Time).then_some(())?;
                let (other, _) = *self.rng.pick(&profile.relations[r].sample)?;
                let named = |node: NodeId| profile.is_thing(node) && profile.is_labelled(node);
                (other != s && named(s) && named(other)).then_some(())?;
                Some(Ask::Compare {
                    left: s,
                    right: other,
                    relation: r,
                    max: self.rng.chance(0.6),
                })
            }
            "union" => self.union(r, s, o, literal.as_ref()),
            "interval" => self.interval(r, s, o),
            "shared" => self.shared(r, s, o),
            "type" => {
                let (set, end) = if self.rng.chance(0.5) {
                    let from = self.reach(s, 0)?;
                    self.out_of_statements(from.walk(r, true), o)?
                } else {
                    self.back(r, s, o, &literal)?
                };
                let class = *self.rng.pick(&profile.classes_of(end))?;
                self.list(set.keep(Test::Of(class)), end)
            }
            "class" => {
                let class = profile.class_of(s)?;
                self.around_class(shape, class, s)
            }
            "class-attribute" => {
                let class = profile.relations[r].heads?;
                let set = Set::Class(class).walk(r, true);
                self.list(set, o)
            }
            "class-constraint" => {
                let class = self.class(s)?;
                let test = match literal {
                    Some(_) if self.rng.chance(0.25) => self.attribute_test(s, Some(r))?,
                    Some(value) => {
                        let shape = match (tail, self.rng.below(4)) {
                            (Tail::Text, _) | (_, 0) => "literal-constraint",
                            _ => "comparison",
                        };
                        self.value_test(shape, r, tail, &value)?
                    }
                    None => Test::Is {
                        relation: r,
                        forward: true,
                        set: Box::new(self.thing(o)?),
                    },
                };
                self.tested(Set::Class(class).keep(test), s)
            }
            "class-superlative" => {
                matches!(tail, Tail::Number | Tail::Time).then_some(())?;
                if self.rng.chance(0.5)
                    && let Some(ask) = self.joined_superlative(r, s)
                {
                    return Some(ask);
                }
                let class = self.class(s)?;
                let mut base = Set::Class(class);
                if self.rng.chance(0.35)
                    && let Some(test) = self.attribute_test(s, Some(r))
                {
                    // The most of some only: the highest score among the players from one country.
                    base = base.keep(test);
                }
                let set = base.most(r, self.rng.chance(0.6));
                match self.rng.below(3) {
                    0 => self.list(set, s),
                    1 => {
                        let (set, end) = self.onward_any(set, s)?;
                        self.list(set, end)
                    }
                    _ => self.list(set.walk(r, true), o),
                }
            }
            "class-count" | "constrained-count" => {
                let class = self.class(s)?;
                if shape == "class-count" {
                    return Some(Ask::Count {
                        set: Set::Class(class),
                    });
                }
                if self.rng.chance(0.35)
                    && let Some(set) = self.joined_set(s)
                {
                    return Some(Ask::Count { set });
                }
                let test = match literal {
                    Some(value) => {
                        let shape = if tail == Tail::Text {
                            "literal-constraint"
                        } else {
                            "comparison"
                        };
                        self.value_test(shape, r, tail, &value)?
                    }
                    None => Test::Is {
                        relation: r,
                        forward: true,
                        set: Box::new(self.thing(o)?),
                    },
                };
                let mut set = Set::Class(class).keep(test);
                if self.rng.chance(0.15) {
                    set = set.keep(self.attribute_test(s, Some(r))?);
                }
                if self.rng.chance(0.3) {
                    set = self.onward_any(set, s)?.0;
                }
                Some(Ask::Count { set })
            }
            _ => None,
        }
    }

    /// The extreme of a class by an attribute of what its members are joined to, as tables join: a player's height stands with the person.
    fn joined_superlative(&mut self, r: usize, s: NodeId) -> Option<Ask> {
        let step = self.neighbour(s, None, |profile, other| {
            profile.is_thing(other) && profile.class_of(other).is_some()
        })?;
        let class = self.class(step.to)?;
        let set =
            Set::Class(class).most_via((step.relation, !step.forward), r, self.rng.chance(0.6));
        if self.rng.chance(0.6) {
            let (set, end) = self.onward_any(set, step.to)?;
            return self.list(set, end);
        }
        self.list(set, step.to)
    }

    fn around_class(&mut self, shape: &str, class: usize, node: NodeId) -> Option<Ask> {
        let set = Set::Class(class);
        match shape {
            "class" => self.list(set, node),
            "class-count" => Some(Ask::Count { set }),
            "class-attribute" => {
                let (set, end) = self.onward_any(set, node)?;
                self.list(set, end)
            }
            "class-constraint" | "constrained-count" => {
                let test = if self.rng.chance(0.5) {
                    self.attribute_test(node, None)
                } else {
                    self.entity_test(node, None)
                };
                let set = set.keep(test?);
                if shape == "constrained-count" {
                    Some(Ask::Count { set })
                } else {
                    self.tested(set, node)
                }
            }
            "type" => {
                let set = self.reach(node, 1)?.keep(Test::Of(class));
                self.list(set, node)
            }
            _ => None,
        }
    }
}
