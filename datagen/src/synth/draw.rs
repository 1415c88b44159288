//! Drawing what to ask: a question of a wanted shape around an edge of a relation, or around a class, such that the graph has an answer.

use toolbox::term::{Literal, NodeId};
use toolbox::value::Op;

use super::plan::{Ask, Set, Test};
use super::profile::{Profile, Tail};
use super::words::Rng;

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
    ("two-hop", 8),
    ("three-hop", 4),
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
    ("union", 3),
    ("compare", 2),
    ("interval", 3),
    ("shared", 3),
    ("class", 4),
    ("class-attribute", 6),
    ("class-constraint", 9),
    ("class-superlative", 9),
    ("class-count", 4),
    ("constrained-count", 6),
];

/// Neighbours of a node that are looked at when one is drawn.
const NEIGHBOURS: usize = 200;

/// One drawing.
pub(super) struct Draw<'a, 'g> {
    pub profile: &'a Profile<'g>,
    pub rng: Rng,
}

/// A step from one node to another; a statement node stands between them where `via` is given.
struct Step {
    relation: usize,
    forward: bool,
    to: NodeId,
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
                let (set, x) = self.back(r, s, o, &literal)?;
                let test = self.entity_test(x, Some(r))?;
                let set = set.keep(test);
                self.list(set, x)
            }
            "entity-constraint" => {
                literal.is_none().then_some(())?;
                let other = self.thing(o)?;
                let set = self.reach(s, 1)?.keep(Test::Is { relation: r, forward: true, set: Box::new(other) });
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
                let shape = if tail == Tail::Text { "literal-constraint" } else { "comparison" };
                let test = self.value_test(shape, r, tail, &value)?;
                let second = if self.rng.chance(0.5) { self.entity_test(s, Some(r)) } else { self.attribute_test(s, Some(r)) }?;
                let base = self.base(s)?;
                let set = if self.rng.chance(0.5) { base.keep(test).keep(second) } else { base.keep(second).keep(test) };
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
                    (tail == Tail::Text).then_some(())?;
                    Some(Ask::Count { set: Set::Class(class).walk(r, true) })
                }
                None if self.rng.chance(0.5) => {
                    let from = self.reach(s, 0)?;
                    Some(Ask::Count { set: from.walk(r, true) })
                }
                None => {
                    let from = self.thing(o)?;
                    Some(Ask::Count { set: from.walk(r, false) })
                }
            },
            "boolean" => {
                literal.is_none().then_some(())?;
                let of = self.lone(s)?;
                let other = if self.rng.chance(0.5) { o } else { self.rng.pick(&profile.relations[r].sample)?.1 };
                let set = Box::new(self.lone(other)?);
                Some(Ask::Yes { of, test: Test::Is { relation: r, forward: true, set } })
            }
            "boolean-comparison" => {
                matches!(tail, Tail::Number | Tail::Time).then_some(())?;
                let other = self.rng.pick(&profile.relations[r].sample)?.1;
                let value = profile.kg.term(if self.rng.chance(0.5) { o } else { other }).as_literal()?.clone();
                let test = self.value_test("comparison", r, tail, &value)?;
                let of = self.lone(s)?;
                Some(Ask::Yes { of, test })
            }
            "compare" => {
                matches!(tail, Tail::Number | Tail::Time).then_some(())?;
                let (other, _) = *self.rng.pick(&profile.relations[r].sample)?;
                let named = |node: NodeId| profile.is_thing(node) && profile.is_labelled(node);
                (other != s && named(s) && named(other)).then_some(())?;
                Some(Ask::Compare { left: s, right: other, relation: r, max: self.rng.chance(0.6) })
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
                    None => Test::Is { relation: r, forward: true, set: Box::new(self.thing(o)?) },
                };
                self.tested(Set::Class(class).keep(test), s)
            }
            "class-superlative" => {
                matches!(tail, Tail::Number | Tail::Time).then_some(())?;
                if self.rng.chance(0.35)
                    && let Some(ask) = self.joined_superlative(r, s)
                {
                    return Some(ask);
                }
                let class = self.class(s)?;
                let set = Set::Class(class).most(r, self.rng.chance(0.6));
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
                    return Some(Ask::Count { set: Set::Class(class) });
                }
                let test = match literal {
                    Some(value) => {
                        let shape = if tail == Tail::Text { "literal-constraint" } else { "comparison" };
                        self.value_test(shape, r, tail, &value)?
                    }
                    None => Test::Is { relation: r, forward: true, set: Box::new(self.thing(o)?) },
                };
                let mut set = Set::Class(class).keep(test);
                if self.rng.chance(0.3) {
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
        let step = self.neighbour(s, None, |profile, other| profile.is_thing(other) && profile.class_of(other).is_some())?;
        let class = self.class(step.to)?;
        let set = Set::Class(class).most_via((step.relation, !step.forward), r, self.rng.chance(0.6));
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
                let test = if self.rng.chance(0.5) { self.attribute_test(node, None) } else { self.entity_test(node, None) };
                let set = set.keep(test?);
                if shape == "constrained-count" { Some(Ask::Count { set }) } else { self.tested(set, node) }
            }
            "type" => {
                let set = self.reach(node, 1)?.keep(Test::Of(class));
                self.list(set, node)
            }
            _ => None,
        }
    }

    /// The question for the members of a set, or for what names them; `end` is one of them.
    fn list(&mut self, set: Set, end: NodeId) -> Option<Ask> {
        let profile = self.profile;
        if matches!(set, Set::Entity(_)) || is_idle(&set) {
            return None;
        }
        if profile.kg.term(end).as_literal().is_some() || profile.is_labelled(end) {
            return Some(Ask::List { set, by: None });
        }
        let Some((_, key, _)) = profile.key(end) else {
            // What has no name of its own goes by the one thing that it is joined to.
            let mut joined = profile.kg.out_relations(end).into_iter().filter_map(|id| {
                let to = profile.kg.tails(end, id).iter().copied().find(|&to| profile.is_thing(to))?;
                Some((profile.relation(id)?, profile.key(to)?.1))
            });
            let (join, key) = joined.next()?;
            if joined.next().is_some() || matches!(set, Set::Walk { .. }) {
                return None;
            }
            return Some(Ask::List { set: set.silent(join, true).walk(key, true), by: None });
        };
        // Asking for the name of what is given by its name is no question.
        if let Set::Keep { test: Test::Value { relation, op: Op::Eq, .. }, .. } = &set
            && *relation == key
        {
            return None;
        }
        Some(Ask::List { set, by: Some(key) })
    }

    /// A set under test is listed itself, or something of it.
    fn tested(&mut self, set: Set, node: NodeId) -> Option<Ask> {
        if self.profile.is_statement(node) || self.rng.chance(0.4) {
            let (set, end) = self.onward_any(set, node)?;
            return self.list(set, end);
        }
        self.list(set, node)
    }

    /// A named thing as a set: by label, or by class and the attribute that names it.
    fn thing(&mut self, node: NodeId) -> Option<Set> {
        let profile = self.profile;
        if !profile.is_thing(node) {
            return None;
        }
        if profile.is_labelled(node) {
            return Some(Set::Entity(node));
        }
        let (class, relation, value) = profile.key(node)?;
        speakable(&value).then_some(Set::Class(class).keep(Test::Value { relation, op: Op::Eq, value }))
    }

    /// A thing that goes by a label.
    fn lone(&mut self, node: NodeId) -> Option<Set> {
        (self.profile.is_thing(node) && self.profile.is_labelled(node)).then_some(Set::Entity(node))
    }

    /// The class of a node.
    fn class(&mut self, node: NodeId) -> Option<usize> {
        let classes = self.profile.classes_of(node);
        // The most special one is what people say; now and then a wider one.
        if self.rng.chance(0.7) { self.profile.class_of(node) } else { self.rng.pick(&classes).copied() }
    }

    /// A set that holds the node, described over so many relations. A statement node is described by what it hangs on.
    fn reach(&mut self, node: NodeId, hops: usize) -> Option<Set> {
        if self.profile.is_statement(node) {
            let step = self.neighbour(node, None, |profile, other| profile.is_thing(other) && !profile.is_statement(other))?;
            let from = self.reach(step.to, hops.saturating_sub(1))?;
            return Some(from.silent(step.relation, !step.forward));
        }
        if hops == 0 {
            return self.thing(node);
        }
        let step = self.neighbour(node, None, is_thing)?;
        let from = if self.profile.is_statement(step.to) {
            self.reach_statement(step.to, node, hops - 1)?
        } else {
            self.reach(step.to, hops - 1)?
        };
        Some(from.walk(step.relation, !step.forward))
    }

    /// A set that holds a statement node, described from a side other than `but`.
    fn reach_statement(&mut self, node: NodeId, but: NodeId, hops: usize) -> Option<Set> {
        let step = self.neighbour(node, Some(but), |profile, other| profile.is_thing(other) && !profile.is_statement(other))?;
        let from = self.reach(step.to, hops)?;
        Some(from.silent(step.relation, !step.forward))
    }

    /// What a constraint is put on: a class, or what a thing is related to.
    fn base(&mut self, node: NodeId) -> Option<Set> {
        if self.profile.class_of(node).is_some() && self.rng.chance(0.5) {
            return self.class(node).map(Set::Class);
        }
        self.reach(node, 1).or_else(|| self.class(node).map(Set::Class))
    }

    /// The heads of an edge, described by its tail, and one of them that has a name.
    fn back(&mut self, r: usize, s: NodeId, o: NodeId, literal: &Option<Literal>) -> Option<(Set, NodeId)> {
        let set = match literal {
            None => self.thing(o)?.walk(r, false),
            Some(value) => {
                speakable(value).then_some(())?;
                let class = self.profile.relations[r].heads.or_else(|| self.profile.class_of(s))?;
                Set::Class(class).keep(Test::Value { relation: r, op: Op::Eq, value: value.clone() })
            }
        };
        self.out_of_statements(set, s)
    }

    /// Goes on from a statement node to what it is about.
    fn out_of_statements(&mut self, set: Set, end: NodeId) -> Option<(Set, NodeId)> {
        if !self.profile.is_statement(end) {
            return Some((set, end));
        }
        let Set::Walk { from, relation, forward, .. } = set else { return None };
        let step = self.neighbour(end, None, |profile, other| !profile.is_statement(other))?;
        // Not back the way it came.
        if step.relation == relation && step.forward != forward {
            return None;
        }
        Some((from.silent(relation, forward).walk(step.relation, step.forward), step.to))
    }

    /// One relation on, to things.
    fn onward(&mut self, set: Set, at: NodeId) -> Option<(Set, NodeId)> {
        let step = self.neighbour(at, None, is_thing)?;
        if undoes(&set, &step) {
            return None;
        }
        self.out_of_statements(set.walk(step.relation, step.forward), step.to)
    }

    /// One relation on, to things or values.
    fn onward_any(&mut self, set: Set, at: NodeId) -> Option<(Set, NodeId)> {
        match self.rng.below(10) {
            0..=4 => {
                let (relation, _, to) = self.attribute(at, None)?;
                Some((set.walk(relation, true), to))
            }
            5 | 6 => {
                // An attribute of what the members are joined to, said as if it were theirs.
                let step = self.neighbour(at, None, |profile, other| profile.is_thing(other) && profile.class_of(other).is_some())?;
                if undoes(&set, &step) {
                    return None;
                }
                let (relation, _, to) = self.attribute(step.to, None)?;
                Some((set.silent(step.relation, step.forward).walk(relation, true), to))
            }
            _ => self.onward(set, at),
        }
    }

    /// A neighbour of a node that a test lets pass.
    fn neighbour(&mut self, node: NodeId, but: Option<NodeId>, fits: impl Fn(&Profile<'_>, NodeId) -> bool) -> Option<Step> {
        let profile = self.profile;
        let kg = profile.kg;
        let forward = self.rng.chance(0.5);
        for forward in [forward, !forward] {
            let relations = if forward { kg.out_relations(node) } else { kg.in_relations(node) };
            // A few draws: the first relation may lead to nothing that fits.
            for _ in 0..3 {
                let Some(&id) = self.rng.pick(&relations) else { break };
                let Some(relation) = profile.relation(id) else { continue };
                let others = if forward { kg.tails(node, id) } else { kg.heads(id, node) };
                let at = self.rng.below(others.len());
                let found = others.iter().cycle().skip(at).take(others.len().min(NEIGHBOURS));
                if let Some(&to) = found.into_iter().find(|&&to| Some(to) != but && to != node && fits(profile, to)) {
                    return Some(Step { relation, forward, to });
                }
            }
        }
        None
    }

    /// An attribute of a node and its value.
    fn attribute(&mut self, node: NodeId, but: Option<usize>) -> Option<(usize, Literal, NodeId)> {
        let profile = self.profile;
        let relations: Vec<usize> = profile.kg.out_relations(node).into_iter().filter_map(|id| profile.relation(id)).collect();
        let relations: Vec<usize> = relations.into_iter().filter(|&r| profile.relations[r].tail != Tail::Thing && Some(r) != but).collect();
        let relation = *self.rng.pick(&relations)?;
        let values = profile.kg.tails(node, profile.relations[relation].id);
        let value = *self.rng.pick(&values)?;
        Some((relation, profile.kg.term(value).as_literal()?.clone(), value))
    }

    fn attribute_test(&mut self, node: NodeId, but: Option<usize>) -> Option<Test> {
        if self.rng.chance(0.25)
            && let Some(step) = self.neighbour(node, None, |profile, other| profile.is_thing(other) && profile.class_of(other).is_some())
            && let Some(class) = self.profile.class_of(step.to)
        {
            // What the member is joined to passes the test.
            let (relation, value, _) = self.attribute(step.to, but)?;
            let tail = self.profile.relations[relation].tail;
            let test = self.value_test(if tail == Tail::Text { "literal-constraint" } else { "comparison" }, relation, tail, &value)?;
            let set = Box::new(Set::Class(class).keep(test));
            return Some(Test::Is { relation: step.relation, forward: step.forward, set });
        }
        let (relation, value, _) = self.attribute(node, but)?;
        let tail = self.profile.relations[relation].tail;
        let shape = match (tail, self.rng.below(3)) {
            (Tail::Text, _) | (_, 0) => "literal-constraint",
            _ => "comparison",
        };
        self.value_test(shape, relation, tail, &value)
    }

    fn entity_test(&mut self, node: NodeId, but: Option<usize>) -> Option<Test> {
        let step = self.neighbour(node, None, |profile, other| profile.is_thing(other) && !profile.is_statement(other))?;
        if Some(step.relation) == but && self.rng.chance(0.5) {
            return None;
        }
        let set = Box::new(self.thing(step.to)?);
        Some(Test::Is { relation: step.relation, forward: step.forward, set })
    }

    /// A test that a value passes.
    fn value_test(&mut self, shape: &str, relation: usize, tail: Tail, value: &Literal) -> Option<Test> {
        let with = |lexical: String| Literal { lexical, ..value.clone() };
        Some(match (shape, tail) {
            ("literal-constraint", Tail::Time) if value.lexical.len() > 4 => return None,
            ("literal-constraint", _) => {
                speakable(value).then_some(())?;
                Test::Value { relation, op: Op::Eq, value: value.clone() }
            }
            ("negation", Tail::Text) => {
                // Another value than the witness's.
                let other = self.rng.pick(&self.profile.relations[relation].sample)?.1;
                let other = self.profile.kg.term(other).as_literal()?.clone();
                (other.lexical != value.lexical && speakable(&other)).then_some(())?;
                Test::Value { relation, op: Op::Ne, value: other }
            }
            ("comparison", Tail::Number) => {
                let number: f64 = value.lexical.parse().ok()?;
                let op = *self.rng.pick(&[Op::Gt, Op::Gt, Op::Gt, Op::Lt, Op::Lt, Op::Lt, Op::Ge, Op::Le])?;
                let bound = if matches!(op, Op::Ge | Op::Le) && self.rng.chance(0.5) {
                    value.lexical.clone()
                } else {
                    self.rounded(number, matches!(op, Op::Lt | Op::Le), value.lexical.contains('.'))?
                };
                Test::Value { relation, op, value: with(bound) }
            }
            ("between", Tail::Number) => {
                let number: f64 = value.lexical.parse().ok()?;
                let decimal = value.lexical.contains('.');
                let (low, high) = (self.rounded(number, false, decimal)?, self.rounded(number, true, decimal)?);
                Test::Between { relation, low: with(low), high: with(high) }
            }
            ("comparison", Tail::Time) => {
                let year = value.lexical.get(..4).filter(|year| year.bytes().all(|b| b.is_ascii_digit()))?;
                let year: u32 = year.parse().ok()?;
                (1001..2100).contains(&year).then_some(())?;
                let full = value.lexical.len() > 4;
                let apart = 1 + u32::try_from(self.rng.below(8)).ok()?;
                if self.rng.chance(0.5) {
                    let bound = if full { format!("{}-12-31", year - apart) } else { (year - apart).to_string() };
                    Test::Value { relation, op: Op::Gt, value: with(bound) }
                } else {
                    // A year begins with its first day, which is how a lone year compares.
                    let datatype = if full { Some(format!("{}gYear", toolbox::term::XSD)) } else { value.datatype.clone() };
                    Test::Value { relation, op: Op::Lt, value: Literal { lexical: (year + apart).to_string(), datatype, lang: None } }
                }
            }
            _ => return None,
        })
    }

    /// A round number below or above a number, so near that it is worth asking for.
    fn rounded(&mut self, number: f64, above: bool, decimal: bool) -> Option<String> {
        let shift = number.abs().max(1.0) * [0.02, 0.1, 0.3, 0.6][self.rng.below(4)];
        let target = if above { number + shift } else { number - shift };
        let digits = 10_f64.powf(target.abs().max(1.0).log10().floor() - f64::from(u8::try_from(self.rng.below(2)).ok()?));
        let mut round = (target / digits).round() * digits;
        if !decimal {
            round = round.round();
        }
        let fits = if above { round > number } else { round < number };
        if !fits {
            round = if above { number.ceil() + 1.0 } else { number.floor() - 1.0 };
        }
        (round >= 0.0 && round.is_finite()).then(|| if round.fract() == 0.0 { format!("{round:.0}") } else { format!("{round:.1}") })
    }

    /// Things related to either of two.
    fn union(&mut self, r: usize, s: NodeId, o: NodeId, literal: Option<&Literal>) -> Option<Ask> {
        let profile = self.profile;
        let (s2, o2) = *self.rng.pick(&profile.relations[r].sample)?;
        let (left, right, end) = match literal {
            Some(value) => {
                (profile.relations[r].tail == Tail::Text).then_some(())?;
                let other = profile.kg.term(o2).as_literal()?.clone();
                (other.lexical != value.lexical && speakable(&other) && speakable(value)).then_some(())?;
                let class = self.class(s)?;
                let set = |value: Literal| Set::Class(class).keep(Test::Value { relation: r, op: Op::Eq, value });
                (set(value.clone()), set(other), s)
            }
            None if self.rng.chance(0.5) => {
                (o != o2).then_some(())?;
                (self.thing(o)?.walk(r, false), self.thing(o2)?.walk(r, false), s)
            }
            None => {
                (s != s2).then_some(())?;
                (self.thing(s)?.walk(r, true), self.thing(s2)?.walk(r, true), o)
            }
        };
        match self.list(left, end)? {
            Ask::List { set, by } => Some(Ask::Either { left: set, right, by }),
            _ => None,
        }
    }

    /// What a thing is related to through a statement whose interval holds in a year.
    fn interval(&mut self, r: usize, s: NodeId, o: NodeId) -> Option<Ask> {
        let profile = self.profile;
        // The statement is the tail of this edge, or its head.
        let statement = if profile.is_statement(o) { o } else { s };
        let kg = profile.kg;
        let (interval, from) = profile.intervals.iter().enumerate().find_map(|(i, (from, _))| {
            let from = kg.find(&toolbox::term::Term::Iri(from.clone()))?.relation();
            let start = kg.tails(statement, from).iter().find_map(|&node| kg.term(node).as_literal().cloned())?;
            Some((i, start))
        })?;
        let year: u32 = from.lexical.get(..4)?.parse().ok()?;
        let year = year + u32::try_from(self.rng.below(4)).ok()?;
        let test = Test::During { interval, year };
        let (set, entry) = if statement == o {
            (self.thing(s)?.silent(r, true).keep(test), Some(r))
        } else {
            let step = self.neighbour(s, None, |profile, other| profile.is_thing(other) && !profile.is_statement(other))?;
            (self.thing(step.to)?.silent(step.relation, !step.forward).keep(test), Some(step.relation))
        };
        if statement == s {
            (entry != Some(r)).then_some(())?;
            return self.list(set.walk(r, true), o);
        }
        let step = self.neighbour(o, Some(s), |profile, other| profile.is_thing(other) && !profile.is_statement(other))?;
        self.list(set.walk(step.relation, step.forward), step.to)
    }

    /// Values or things that two differently described sets share: countries with both old and young singers.
    fn shared(&mut self, r: usize, s: NodeId, o: NodeId) -> Option<Ask> {
        let profile = self.profile;
        let kg = profile.kg;
        let heads = kg.heads(profile.relations[r].id, o);
        let other = *self.rng.pick(&heads)?;
        if kg.term(o).as_literal().is_some() && profile.relations[r].tail != Tail::Text {
            return None;
        }
        let class = profile.relations[r].heads?;
        let first = self.attribute_test(s, Some(r))?;
        let second = self.attribute_test(other, Some(r))?;
        (first != second).then_some(())?;
        let second = Set::Class(class).keep(second);
        let set = Set::Class(class).keep(first).walk(r, true).keep(Test::Is { relation: r, forward: false, set: Box::new(second) });
        self.list(set, o)
    }
}

/// [`Profile::is_thing`] as a test of neighbours.
fn is_thing(profile: &Profile<'_>, node: NodeId) -> bool {
    profile.is_thing(node)
}

/// Whether a set asks for what it is given by, or tests the same twice.
fn is_idle(set: &Set) -> bool {
    match set {
        Set::Entity(_) | Set::Class(_) => false,
        Set::Walk { from, relation, forward, .. } => {
            let given = |set: &Set| match set {
                Set::Keep { test: Test::Value { relation: tested, op: Op::Eq, .. }, .. } => *forward && tested == relation,
                Set::Keep { test: Test::Is { relation: tested, forward: along, .. }, .. } => tested == relation && along == forward,
                _ => false,
            };
            given(from) || is_idle(from)
        }
        Set::Keep { of, test } => {
            let twice = match (of.as_ref(), test) {
                (Set::Keep { test: before, .. }, _) if before == test => true,
                (Set::Walk { from, relation, forward, .. }, Test::Is { relation: tested, forward: along, set }) => {
                    relation == tested && forward != along && from == set
                }
                _ => false,
            };
            twice || is_idle(of)
        }
        Set::Most { of, .. } => is_idle(of),
    }
}

/// Whether the step goes back over the relation that the set came by.
fn undoes(set: &Set, step: &Step) -> bool {
    matches!(set, Set::Walk { relation, forward, .. } if *relation == step.relation && *forward != step.forward)
}

/// Whether a value can stand in a question: short, on one line, with a letter or a digit in it.
fn speakable(value: &Literal) -> bool {
    let text = value.lexical.as_str();
    let words = text.split_whitespace().count();
    (1..=8).contains(&words) && text.chars().count() <= 60 && text.chars().any(char::is_alphanumeric) && !text.contains(['"', '\n', '?'])
}
