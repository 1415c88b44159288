//! Plans: candidate programs before they become calls.

use kg::term::{Literal, NodeId};
use kg::value::{Extreme, Op};

use crate::call::{Arg, Call, Tool};
use crate::exec::{Relation, Session};

/// The bit of an entity or a value in a set of them.
pub(super) fn bit(index: usize) -> u64 {
    1_u64 << index.min(63)
}

/// The direction in which a plan follows a relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Way {
    /// From subject to object.
    Out,
    /// From object to subject.
    In,
    /// Both: a symmetric relation that is written in one direction.
    Both,
}

/// A relation and the way it is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Hop {
    pub(super) relation: Relation,
    pub(super) way: Way,
}

/// Where a plan begins.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Start {
    /// The linked entity with this index.
    Entity(usize),
    /// All linked entities.
    Entities,
    /// The instances of a class.
    Class(NodeId),
    /// The things whose names share the content word with this index.
    Alike(usize, Vec<NodeId>),
}

/// 1 if a relation's words stand further from the mention than those of the relation before it, -1 if
/// they stand nearer.
pub(super) fn order(before: Option<usize>, now: Option<usize>) -> i32 {
    match (before, now) {
        (Some(before), Some(now)) => (now > before) as i32 - (now < before) as i32,
        _ => 0,
    }
}

/// The right side of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Against {
    /// The linked entity with this index.
    Entity(usize),
    /// A thing that the question names and that is not linked.
    Named(NodeId),
    /// The value of the question with this index.
    Value(usize),
    /// That value in the unit of the relation.
    Converted(usize, Literal),
    /// One of two values of the question.
    Either(usize, usize),
    /// The value that the linked entity with this index has for the same relation.
    Own(usize),
    /// The value by which the graph says that something is so, or that it is not.
    Truth(Literal),
    /// What another plan finds.
    Found(Box<Plan>),
    /// Any of these texts.
    Texts(Vec<Literal>),
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PlanStep {
    /// Follow a relation.
    Walk(Hop),
    /// Keep the members that satisfy a comparison.
    Compare(Relation, Op, Against),
    /// Keep the members with the extreme value, or with the second, third … value in that order.
    Extreme(Relation, Extreme, usize),
    /// Keep the instances of a class.
    Class(NodeId),
    /// Keep the members that another plan finds too.
    Meet(Box<Plan>),
    /// Add what another plan finds.
    Join(Box<Plan>),
}

/// What is done with the set at the end.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Finish {
    /// It is the answer.
    Set,
    /// Its size is the answer.
    Count,
    /// Whether the comparison holds for a member is the answer.
    Judge(Relation, Op, Against),
    /// Whether it has a member is the answer. This needs an extended tool.
    Exists,
    /// Whether another plan finds some of it too is the answer. This needs an extended tool.
    Meets(Box<Plan>),
}

/// A candidate program.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plan {
    pub(super) start: Start,
    pub(super) steps: Vec<PlanStep>,
    pub(super) finish: Finish,
}

impl Plan {
    /// A plan without steps.
    pub(super) fn at(start: Start) -> Self {
        Self {
            start,
            steps: Vec::new(),
            finish: Finish::Set,
        }
    }

    /// The linked entity with this index, if the plan is at it.
    pub(super) fn topic(&self) -> Option<usize> {
        match self.start {
            Start::Entity(entity) if self.steps.is_empty() => Some(entity),
            _ => None,
        }
    }

    /// The plan with one more step.
    pub(super) fn and(&self, step: PlanStep) -> Self {
        let mut next = self.clone();
        next.steps.push(step);
        next
    }

    /// The calls of the plan, with full names, in the order in which gold programs are written: a
    /// set's relations are listed before one of them is used.
    pub(super) fn calls(&self, session: &Session<'_>) -> Vec<Call> {
        let mut writer = Writer::new(session);
        let set = writer.plan(self);
        let value = match &self.finish {
            Finish::Set => set,
            Finish::Count => writer.assign(Tool::Count, vec![set]),
            Finish::Judge(relation, op, against) => {
                writer.compare(set, *relation, *op, against, Tool::Judge)
            }
            Finish::Exists => writer.assign(Tool::Exists, vec![set]),
            Finish::Meets(other) => {
                let other = writer.plan(other);
                let both = writer.assign(Tool::Intersect, vec![set, other]);
                writer.assign(Tool::Exists, vec![both])
            }
        };
        writer.end(value)
    }
}

/// The program that gives up.
pub(super) fn abstention() -> Vec<Call> {
    vec![Call::new(Tool::End, vec![Arg::List(Vec::new())], 0)]
}

/// Writes the calls of a program.
pub(super) struct Writer<'s, 'g> {
    session: &'s Session<'g>,
    calls: Vec<Call>,
    next: u32,
}

impl<'s, 'g> Writer<'s, 'g> {
    /// A program without calls.
    pub(super) fn new(session: &'s Session<'g>) -> Self {
        Self {
            session,
            calls: Vec::new(),
            next: 0,
        }
    }

    /// The program that ends with this answer.
    pub(super) fn end(mut self, answer: Arg) -> Vec<Call> {
        self.push(Tool::End, vec![answer]);
        self.calls
    }

    fn push(&mut self, tool: Tool, args: Vec<Arg>) {
        self.calls.push(Call::new(tool, args, self.next));
    }

    /// Adds a call that assigns the next variable.
    pub(super) fn assign(&mut self, tool: Tool, args: Vec<Arg>) -> Arg {
        self.push(tool, args);
        self.next += 1;
        Arg::Var(self.next - 1)
    }

    fn list(&mut self, set: &Arg) {
        self.push(Tool::GetRelation, vec![set.clone()]);
    }

    /// A relation by its name.
    pub(super) fn relation(&self, relation: Relation) -> Arg {
        Arg::name(self.session.relation_name(relation))
    }

    fn node(&self, node: NodeId) -> Arg {
        Arg::name(self.session.kg().name(node))
    }

    fn entity(&self, index: usize) -> Arg {
        (self.session.linked().entities.get(index))
            .map_or_else(|| Arg::List(Vec::new()), |&node| self.node(node))
    }

    fn against(&mut self, against: &Against) -> Arg {
        match against {
            Against::Found(plan) => self.plan(plan),
            Against::Texts(texts) => Arg::List(texts.iter().cloned().map(Arg::Literal).collect()),
            Against::Entity(index) | Against::Own(index) => self.entity(*index),
            Against::Named(node) => self.node(*node),
            Against::Truth(value) | Against::Converted(_, value) => Arg::Literal(value.clone()),
            Against::Value(index) | Against::Either(index, _) => {
                (self.session.linked().values.get(*index)).map_or_else(
                    || Arg::Literal(Literal::plain(String::new())),
                    |value| Arg::Literal(value.clone()),
                )
            }
        }
    }

    /// Writes a comparison by one of the two tools that compare.
    fn compare(
        &mut self,
        set: Arg,
        relation_id: Relation,
        op: Op,
        against: &Against,
        tool: Tool,
    ) -> Arg {
        let relation = self.relation(relation_id);
        let value = match against {
            Against::Own(index) => {
                let entity = self.entity(*index);
                self.list(&entity);
                self.assign(Tool::GetTailEntity, vec![entity, relation.clone()])
            }
            Against::Either(first, second) => {
                let sides = [first, second].map(|side| {
                    self.compare(set.clone(), relation_id, op, &Against::Value(*side), tool)
                });
                return self.assign(Tool::Union, sides.to_vec());
            }
            Against::Texts(texts) => {
                self.list(&set);
                let one = |text: &Literal| {
                    let text = Arg::Literal(text.clone());
                    self.assign(tool, vec![set.clone(), relation.clone(), Arg::Op(op), text])
                };
                let mut sides: Vec<Arg> = texts.iter().map(one).collect();
                return match sides.len() {
                    1 => sides.remove(0),
                    _ => self.assign(Tool::Union, sides),
                };
            }
            Against::Entity(_)
            | Against::Named(_)
            | Against::Truth(_)
            | Against::Value(_)
            | Against::Found(_)
            | Against::Converted(..) => self.against(against),
        };
        self.list(&set);
        self.assign(tool, vec![set, relation, Arg::Op(op), value])
    }

    /// Writes the choice of the members with the extreme value.
    fn extreme(&mut self, set: &Arg, relation: Relation, extreme: Extreme) -> Arg {
        self.list(set);
        let args = vec![set.clone(), self.relation(relation), Arg::Extreme(extreme)];
        self.assign(Tool::GetEntityByConstraint, args)
    }

    /// Writes the steps of a plan and returns its set.
    pub(super) fn plan(&mut self, plan: &Plan) -> Arg {
        let mut set = match &plan.start {
            Start::Entity(index) => self.entity(*index),
            Start::Entities => {
                let all = (0..self.session.linked().entities.len())
                    .map(|index| self.entity(index))
                    .collect();
                self.assign(Tool::Union, all)
            }
            Start::Class(class) => {
                let class = self.node(*class);
                self.assign(Tool::GetEntityByType, vec![class])
            }
            Start::Alike(_, nodes) => {
                let all = nodes.iter().map(|&node| self.node(node)).collect();
                self.assign(Tool::Union, all)
            }
        };
        for step in &plan.steps {
            set = self.step(set, step);
        }
        set
    }

    /// Writes one step from a set and returns the set that it makes.
    pub(super) fn step(&mut self, set: Arg, step: &PlanStep) -> Arg {
        match step {
            PlanStep::Walk(hop) => {
                let relation = self.relation(hop.relation);
                self.list(&set);
                let one = |writer: &mut Self, tool| {
                    writer.assign(tool, vec![set.clone(), relation.clone()])
                };
                match hop.way {
                    Way::Out => one(self, Tool::GetTailEntity),
                    Way::In => one(self, Tool::GetHeadEntity),
                    Way::Both => {
                        let out = one(self, Tool::GetTailEntity);
                        self.list(&set);
                        let incoming = one(self, Tool::GetHeadEntity);
                        self.assign(Tool::Union, vec![out, incoming])
                    }
                }
            }
            PlanStep::Compare(relation, op, against) => {
                self.compare(set, *relation, *op, against, Tool::GetEntityByConstraint)
            }
            PlanStep::Extreme(relation, extreme, rank) => {
                let mut left = set;
                for _ in 1..*rank {
                    let before = self.extreme(&left, *relation, *extreme);
                    left = self.assign(Tool::Difference, vec![left, before]);
                }
                self.extreme(&left, *relation, *extreme)
            }
            PlanStep::Class(class) => {
                let class = self.node(*class);
                let members = self.assign(Tool::GetEntityByType, vec![class]);
                self.assign(Tool::Intersect, vec![set, members])
            }
            PlanStep::Meet(other) => {
                let other = self.plan(other);
                self.assign(Tool::Intersect, vec![set, other])
            }
            PlanStep::Join(other) => {
                let other = self.plan(other);
                self.assign(Tool::Union, vec![set, other])
            }
        }
    }
}
