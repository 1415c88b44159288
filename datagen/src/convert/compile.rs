//! Traversal (rules A.2.3): compiles one conjunctive group into calls.
//!
//! The tree is rooted at the node whose set is wanted. Every set begins at its best start (an
//! entity, class or literal). At every node on the way it is narrowed by the constraints at that
//! node, in a fixed order: entity constraints and branches, comparisons, classes, paths out and
//! back. The set of every node contains exactly the values that its side of the tree allows, so the
//! root's set is exact.

mod constraint;
mod outward;

use std::collections::{BTreeMap, BTreeSet};

use kg::spargebra::algebra::Expression;
use kg::term::{Literal, Term};
use kg::value::{Extreme, Op};
use toolbox::call::{Arg, Call, Tool};
use toolbox::limits::MAX_SET_ARGS;

use super::exact::{ComparisonCheck, ComparisonRequirement, ExtremeOrder, ExtremeRequirement};
use super::names::{CallNames, bare};
use super::view::{Start, StartEntry, StartKind, TreeView};
use crate::graph::{GraphNode, PathStep, PatternGroup, Var, algebra};
use crate::refusal::Refusal;

/// A constraint that may be left out if the result stays the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum OptionalConstraint {
    /// A class constraint.
    Class(Var, String),
    /// The existence of an edge, by its order.
    Exists(usize),
    /// An interval of a variable; it has no effect if no node has either end.
    Interval(Var),
    /// One alternative of an edge, by its order.
    Step(usize, PathStep),
    /// One branch of a union, by the order of its first edge.
    Branch(usize),
    /// The judgement of an ASK by an edge, given by its order, and how.
    Judgement(usize, JudgementKind),
}

/// How an ASK is judged by one of its edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum JudgementKind {
    /// The tail is compared.
    Compared,
    /// The tail is in a set.
    Within,
    /// A tail exists.
    Exists,
}

/// Builds one program.
pub(super) struct Compiler<'a> {
    pub names: CallNames<'a>,
    pub topics: &'a [Term],
    /// Constraints to leave out.
    pub without: &'a BTreeSet<OptionalConstraint>,
    /// Constraints that could be left out.
    pub optional: Vec<OptionalConstraint>,
    pub calls: Vec<Call>,
    pub classes: Vec<Term>,
    /// Start nodes that the query identifies only by a literal.
    pub found: Vec<Term>,
    pub next: u32,
    /// What the query requires of the comparisons.
    pub checks: Vec<ComparisonCheck>,
    /// Whether literals are written as in the query, and not as short as possible.
    pub verbatim: bool,
    /// Whether the extreme comes from MAX or MIN.
    pub aggregated: bool,
    /// The ORDER BY key.
    pub key: Option<Expression>,
    answer: Option<Var>,
    extreme: Option<(Var, Extreme)>,
    /// The narrowed sets of the nodes visited.
    pub sets: BTreeMap<Var, Arg>,
    closed: BTreeSet<usize>,
    /// Whether the right side of a comparison between variables is being compiled.
    comparing: bool,
}

impl<'a> Compiler<'a> {
    pub(super) fn new(
        names: CallNames<'a>,
        topics: &'a [Term],
        without: &'a BTreeSet<OptionalConstraint>,
        answer: Option<Var>,
    ) -> Self {
        Self {
            names,
            topics,
            without,
            optional: Vec::new(),
            calls: Vec::new(),
            classes: Vec::new(),
            found: Vec::new(),
            next: 0,
            checks: Vec::new(),
            verbatim: false,
            aggregated: false,
            key: None,
            answer,
            extreme: None,
            sets: BTreeMap::new(),
            closed: BTreeSet::new(),
            comparing: false,
        }
    }

    pub(super) fn emit(&mut self, tool: Tool, args: Vec<Arg>) -> Arg {
        self.calls.push(Call::new(tool, args, self.next));
        let result = Arg::Var(self.next);
        self.next += 1;
        result
    }

    /// Emits the relation list of a set, then a call that follows one of its relations.
    pub(super) fn along(&mut self, tool: Tool, set: &Arg, rest: Vec<Arg>) -> Arg {
        self.calls
            .push(Call::new(Tool::GetRelation, vec![set.clone()], self.next));
        let mut args = vec![set.clone()];
        args.extend(rest);
        self.emit(tool, args)
    }

    /// Union or intersection, in chunks if there are too many sets for one call.
    pub(super) fn combine(&mut self, tool: Tool, sets: Vec<Arg>) -> Arg {
        let mut sets = sets.into_iter();
        let mut chunk: Vec<Arg> = sets.by_ref().take(MAX_SET_ARGS).collect();
        loop {
            let joined = if chunk.len() == 1 {
                chunk.remove(0)
            } else {
                self.emit(tool, chunk)
            };
            let rest: Vec<Arg> = sets.by_ref().take(MAX_SET_ARGS - 1).collect();
            if rest.is_empty() {
                return joined;
            }
            chunk = std::iter::once(joined).chain(rest).collect();
        }
    }

    /// A literal to compare with.
    pub(super) fn literal(&self, literal: &Literal) -> Arg {
        Arg::Literal(if self.verbatim {
            literal.clone()
        } else {
            bare(literal)
        })
    }

    fn intersect(&mut self, a: Arg, b: Arg) -> Arg {
        self.emit(Tool::Intersect, vec![a, b])
    }

    fn walk(&mut self, set: &Arg, steps: &[PathStep], from_subject: bool) -> Result<Arg, Refusal> {
        let mut results = Vec::new();
        for step in steps {
            let tool = if step.forward == from_subject {
                Tool::GetTailEntity
            } else {
                Tool::GetHeadEntity
            };
            let relation = self.names.relation(&step.relation)?;
            results.push(self.along(tool, set, vec![Arg::name(relation)]));
        }
        Ok(self.combine(Tool::Union, results))
    }

    /// The set of the answer in a group.
    pub(super) fn select(
        &mut self,
        group: &PatternGroup,
        answer: Var,
        extreme: Option<(Var, Extreme)>,
    ) -> Result<Arg, Refusal> {
        let view = TreeView::new(group, self.topics);
        self.check(&view, answer)?;
        let Some((attribute, wanted)) = extreme else {
            let set = self.set(&view, answer, None)?;
            self.all_closed(&view)?;
            return Ok(set);
        };
        self.extreme = extreme;
        let [edge] = view.edges_at(attribute, &[])[..] else {
            return Err(Refusal::OrderBy);
        };
        let (owner, relation) = match (view.far(edge, attribute), view.edge(edge).steps.as_slice())
        {
            (GraphNode::Var(owner), [step]) if step.forward == view.is_subject(edge, *owner) => {
                (*owner, step.relation.as_str())
            }
            _ => return Err(Refusal::Extreme),
        };
        if !view.is_leaf(attribute) {
            return Err(Refusal::OrderBy);
        }
        // First all constraints of the query, then the extreme, then the path to the answer (rules
        // A.2.3 e).
        let input = self.set(&view, owner, None)?;
        self.all_closed(&view)?;
        let name = Arg::name(self.names.relation(relation)?);
        let kept = self.along(
            Tool::GetEntityByConstraint,
            &input,
            vec![name, Arg::Extreme(wanted)],
        );
        let place = self.checks.len();
        let set = self.lead_to_answer(&view, &kept, (owner, attribute), answer)?;
        let asked = answer == attribute;
        let requirement = self.extreme_requirement(&view, attribute, wanted, asked);
        let check = ComparisonCheck {
            input,
            output: if asked { set.clone() } else { kept },
            relation: relation.to_owned(),
            requirement,
        };
        self.checks.insert(place, check);
        Ok(set)
    }

    /// What the query requires of an extreme.
    fn extreme_requirement(
        &self,
        view: &TreeView<'_>,
        attribute: Var,
        extreme: Extreme,
        asked: bool,
    ) -> ComparisonRequirement {
        let comparisons = view.group.comparisons.iter();
        let tests = comparisons
            .filter(|comparison| comparison.var == attribute)
            .map(|comparison| comparison.test.clone());
        let choices = view.group.choices.iter();
        let either = choices
            .filter(|(known, _)| *known == attribute)
            .map(|(_, either)| algebra::any(either));
        let tests = tests
            .chain(either)
            .map(|test| algebra::of_tail(&test, attribute));
        let order = match &self.key {
            _ if self.aggregated => ExtremeOrder::Aggregate,
            Some(key) => ExtremeOrder::Key(algebra::of_tail(key, attribute)),
            None => ExtremeOrder::Tail,
        };
        ComparisonRequirement::Extreme(ExtremeRequirement {
            extreme,
            order,
            tests: tests.collect(),
            asked,
        })
    }

    /// Walks from the owners of an extreme to the answer, narrowing on the way.
    fn lead_to_answer(
        &mut self,
        view: &TreeView<'_>,
        kept: &Arg,
        (owner, attribute): (Var, Var),
        answer: Var,
    ) -> Result<Arg, Refusal> {
        let mut set = kept.clone();
        let path = view.path(owner, answer).ok_or(Refusal::Disconnected)?;
        for (i, (edge, node)) in path.iter().enumerate() {
            let from_subject = !view.is_subject(*edge, *node);
            let reached = self.walk(&set, &view.edge(*edge).steps, from_subject)?;
            set = if *node == attribute {
                reached
            } else if let Some(known) = self.sets.get(node).cloned() {
                self.intersect(known, reached)
            } else {
                let onward = path.get(i + 1).map(|(edge, _)| *edge);
                let without: Vec<usize> = std::iter::once(*edge).chain(onward).collect();
                self.narrow(view, *node, &reached, &without, None, false)?
            };
        }
        Ok(set)
    }

    /// Rejects parts that a tree rooted at the answer cannot represent.
    fn check(&self, view: &TreeView<'_>, answer: Var) -> Result<(), Refusal> {
        if !view.closing.is_empty() && self.names.kg.is_none() {
            return Err(Refusal::Cycle);
        }
        let here = view.component(answer);
        for ordered in &view.group.ordered {
            if here.contains(&ordered.left) == here.contains(&ordered.right) {
                return Err(Refusal::VariableComparison);
            }
        }
        for comparison in &view.group.comparisons {
            if !view.is_leaf(comparison.var) || comparison.var == answer {
                return Err(Refusal::Filter);
            }
        }
        // A union would be lost if it is the only thing that mentions its variable.
        let anchored = |branches: &Vec<PatternGroup>| {
            here.iter()
                .any(|&var| branches.iter().any(|branch| branch.mentions(var)))
        };
        if !view.group.unions.iter().all(anchored) {
            return Err(Refusal::Disconnected);
        }
        Ok(())
    }

    fn all_closed(&self, view: &TreeView<'_>) -> Result<(), Refusal> {
        if view.closing.iter().all(|edge| self.closed.contains(edge)) {
            Ok(())
        } else {
            Err(Refusal::Cycle)
        }
    }

    /// The set of a node: all values that everything except the edge `via` allows.
    pub(super) fn set(
        &mut self,
        view: &TreeView<'_>,
        node: Var,
        via: Option<usize>,
    ) -> Result<Arg, Refusal> {
        let start = view.best(node, via).ok_or(Refusal::NoStart)?;
        let set = self.enter(view, node, &start)?;
        let mut without: Vec<usize> = via.into_iter().collect();
        if let StartEntry::Edge(edge) = start.entry {
            without.push(edge);
        }
        let set = self.narrow(view, node, &set, &without, Some(start.entry), false)?;
        self.sets.insert(node, set.clone());
        Ok(set)
    }

    /// The set at a node that a start leads to.
    fn enter(&mut self, view: &TreeView<'_>, node: Var, start: &Start) -> Result<Arg, Refusal> {
        match start.entry {
            StartEntry::Edge(edge) => {
                let base = match view.far(edge, node) {
                    GraphNode::Entity(iri) => Arg::Name(self.names.iri(iri)?),
                    GraphNode::Literal(literal) => {
                        self.found.push(Term::Literal(literal.clone()));
                        Arg::Name(self.names.literal(literal)?)
                    }
                    GraphNode::Var(far) => self.set(view, *far, Some(edge))?,
                };
                self.walk(&base, &view.edge(edge).steps, !view.is_subject(edge, node))
            }
            StartEntry::Values(i) => {
                let names = view.group.values[i]
                    .1
                    .iter()
                    .map(|term| self.names.node(term).map(Arg::Name))
                    .collect::<Result<_, _>>()?;
                Ok(self.combine(Tool::Union, names))
            }
            StartEntry::Label(i) => self.labelled(&view.group.labels[i].1),
            StartEntry::Union(i) => {
                let mut sets = Vec::new();
                for branch in &view.group.unions[i] {
                    let branch = TreeView::new(branch, self.topics);
                    if !branch.closing.is_empty() {
                        return Err(Refusal::Cycle);
                    }
                    self.check(&branch, node)?;
                    sets.push(self.set(&branch, node, None)?);
                    self.all_closed(&branch)?;
                }
                Ok(self.combine(Tool::Union, sets))
            }
            StartEntry::Class(i) => self.class(&view.group.classes[i].1),
        }
    }

    fn class(&mut self, iri: &str) -> Result<Arg, Refusal> {
        let name = self.names.iri(iri)?;
        let term = Term::Iri(iri.to_owned());
        if !self.classes.contains(&term) {
            self.classes.push(term);
        }
        Ok(self.emit(Tool::GetEntityByType, vec![Arg::Name(name)]))
    }

    /// The entities with a label: the nodes themselves if there is a graph, otherwise the
    /// candidates for the mention.
    fn labelled(&mut self, label: &Literal) -> Result<Arg, Refusal> {
        if let Some(kg) = self.names.kg {
            let literal = kg
                .find(&Term::Literal(label.clone()))
                .ok_or(Refusal::UnknownConstant)?;
            let mut nodes: Vec<_> = kg
                .schema()
                .label_relations
                .iter()
                .flat_map(|&relation| kg.heads(relation, literal).into_owned())
                .collect();
            nodes.sort_unstable();
            nodes.dedup();
            match nodes.len() {
                0 => return Err(Refusal::UnknownConstant),
                _ => {
                    self.found.extend(nodes.iter().map(|&node| kg.term(node)));
                    let names = nodes
                        .into_iter()
                        .map(|node| Arg::Name(kg.name(node)))
                        .collect();
                    return Ok(self.combine(Tool::Union, names));
                }
            }
        }
        Ok(self.emit(
            Tool::GetCandidateEntity,
            vec![Arg::Literal(Literal::plain(label.lexical.clone()))],
        ))
    }

    /// Narrows a node's set by all constraints at the node except the one it came from and the
    /// edges `without`. If `inner`, only the values on the way back matter, so a single path out
    /// and back needs no intersection at its end.
    fn narrow(
        &mut self,
        view: &TreeView<'_>,
        node: Var,
        reached: &Arg,
        without: &[usize],
        used: Option<StartEntry>,
        inner: bool,
    ) -> Result<Arg, Refusal> {
        let mut set = reached.clone();
        let mut branches: Vec<Start> = view
            .own_entity_starts(node)
            .into_iter()
            .filter(|start| Some(start.entry) != used)
            .collect();
        let (mut compared, mut outward) = (Vec::new(), Vec::new());
        for edge in view.edges_at(node, without) {
            match (view.start_over(edge, node), view.far(edge, node)) {
                (Some(start), _) if start.kind == StartKind::Entity => branches.push(start),
                (_, GraphNode::Literal(_)) => compared.push(edge),
                (_, GraphNode::Var(far)) if view.is_leaf(*far) && self.is_compared(view, *far) => {
                    compared.push(edge);
                }
                _ => outward.push(edge),
            }
        }
        branches.sort_by_key(Start::mention);
        for start in branches {
            set = self.entity_constraint(view, node, set, &start)?;
        }
        for edge in compared {
            set = self.attribute(view, node, &set, edge)?;
        }
        for interval in view
            .group
            .intervals
            .iter()
            .filter(|interval| interval.node.var() == Some(node))
        {
            let rest = vec![
                Arg::Name(self.names.interval(interval)?),
                Arg::Op(Op::Eq),
                Arg::Literal(interval.value.clone()),
            ];
            let requirement = ComparisonRequirement::Interval(Box::new(interval.clone()));
            let kept = self.along(Tool::GetEntityByConstraint, &set, rest);
            self.checks.push(ComparisonCheck {
                input: set,
                output: kept.clone(),
                relation: interval.from.clone(),
                requirement,
            });
            set = kept;
        }
        for (i, (_, class)) in view
            .group
            .classes
            .iter()
            .enumerate()
            .filter(|(_, (at, _))| at.var() == Some(node))
        {
            self.optional
                .push(OptionalConstraint::Class(node, class.clone()));
            if used != Some(StartEntry::Class(i)) {
                let members = self.class(class)?;
                set = self.intersect(set, members);
            }
        }
        outward.retain(|&edge| self.counts(view, node, edge));
        let lone = inner && set == *reached && outward.len() == 1 && view.closing.is_empty();
        for edge in outward {
            set = self.out_and_back(view, node, set, edge, !lone)?;
        }
        self.close(view, node, set)
    }
}
