//! What a program that was run explains: the same tally as that of a plan of the search.

use std::sync::Arc;

use kg::term::NodeId;
use rustc_hash::FxHashMap;

use super::kinship::Lineage;
use super::mentions::is_of_kind;
use super::nodes::{connects, is_event_row, measurable};
use super::plan::{Finish, Hop, Plan, Start, Way, bit, order};
use super::possessive::Progress;
use super::state::{Found, State, used_entity};
use super::tally::Tally;
use super::values::kind_of;
use super::words::{Explainer, is_part_of_name, names, speaks, strength};
use crate::call::{Arg, Target, Tool};
use crate::exec::{Adjacent, EntSet, Observation, Session, Step, Value};
use kg::value::{Kind, Op};

/// An ended session as a found plan. Only what the terms read is filled.
pub(super) fn found(
    session: &Session<'_>,
    answer: &Value,
    explainer: &mut Explainer<'_, '_>,
) -> Found {
    let mut reader = Reader {
        of_kind: false,
        lies: false,
        words: explainer.asked.words.iter().map(|_| 0.0).collect(),
        tally: Tally::default(),
        silent: false,
        finish: Finish::Set,
        classes: Vec::new(),
        way: Followed::default(),
        ways: FxHashMap::default(),
    };
    for step in session.steps() {
        reader.step(session, step, explainer);
    }
    let nodes: EntSet = match answer {
        Value::Set(set) => set.clone(),
        Value::Int(_) | Value::Bool(_) | Value::Table(_) => Vec::new().into(),
    };
    let start = reader.way.topic.map_or(Start::Entities, Start::Entity);
    Found {
        state: State {
            plan: Plan {
                finish: reader.finish,
                ..Plan::at(start)
            },
            nodes,
            statements: false,
            words: reader.words.into(),
            last: reader.way.last,
            relation_said: reader.way.relation_said,
            class_said: reader.way.class_said,
            distance: reader.way.distance,
            lineage: reader.way.lineage,
            progress: reader.way.progress,
            named: None,
            tally: reader.tally,
        },
        answer: answer.clone(),
    }
}

struct Reader {
    words: Vec<f32>,
    tally: Tally,
    /// Whether the present step follows a relation that explains no word.
    silent: bool,
    /// Whether it leads from a kind of things to what is of that kind.
    of_kind: bool,
    /// Whether it leads from a place to the place that contains it, or back.
    lies: bool,
    finish: Finish,
    /// The variables that hold the instances of a class.
    classes: Vec<u32>,
    /// How the set of the present step was reached.
    way: Followed,
    /// How the sets of variables were reached.
    ways: FxHashMap<u32, Followed>,
}

/// How a set was reached.
#[derive(Clone, Default)]
struct Followed {
    /// The linked entity that the relations begin at.
    topic: Option<usize>,
    /// How far from its mention the word stands that the last relation explains.
    distance: Option<usize>,
    /// The relations followed.
    walked: Vec<Hop>,
    /// The family relations followed last.
    lineage: Lineage,
    /// How far they tell what the question says of that entity.
    progress: Progress,
    /// What the last relation explains.
    said: Option<Arc<[f32]>>,
    /// How well the last relation or its class explains the word that names what is asked for.
    last: f32,
    /// Whether that word is part of the last relation's name.
    relation_said: bool,
    /// Whether the set is of a class that this word names.
    class_said: bool,
}

impl Reader {
    fn step(&mut self, session: &Session<'_>, step: &Step, explainer: &mut Explainer<'_, '_>) {
        for arg in &step.call.args {
            self.uses(session, arg, explainer);
        }
        self.begin(session, step, explainer);
        let filter = matches!(step.call.tool, Tool::GetEntityByConstraint | Tool::Judge);
        if let Some((relation, forward)) = step.walked {
            let way = if forward { Way::Out } else { Way::In };
            let hop = Hop { relation, way };
            let mut explained = explainer.hop(hop);
            if !filter {
                let nodes = set(step).map_or(&[][..], |set| &set[..]);
                if !measurable(session, nodes) {
                    explained.words = Arc::clone(&explained.to_things);
                }
                let before = self.way.walked.last().copied();
                let between = step.inputs.first().map_or(&[][..], |set| &set[..]);
                let sets = [between, nodes];
                let (kind, topic, kg) = (explainer.asked.kind, self.way.topic, session.kg());
                self.of_kind = is_of_kind(kg, kind, topic, &self.way.walked, hop, sets);
                self.lies = before.is_some_and(|before| explainer.lies_in(before, hop, sets));
                self.follow(hop, &mut explained.words, explainer);
                for (mine, word) in self.words.iter_mut().zip(&explainer.asked.words) {
                    if word.is_mark() {
                        *mine = 0.0;
                    }
                }
            }
            self.explain(&explained.words);
            self.silent =
                !filter && !self.of_kind && !self.lies && !speaks(&explained.words, explainer);
            if !filter {
                let away = explainer.leads_away(hop);
                let last = strength(&explained.words, explainer.focus);
                self.way.last = if away { 0.0 } else { last };
                self.way.relation_said =
                    !away && is_part_of_name(&explained.words, explainer.focus);
            }
            let weight = match (filter, self.of_kind) {
                (true, _) => 0.5,
                (false, true) => 0.0,
                (false, false) => 1.0,
            };
            self.tally.asked += weight * explained.asked;
            self.tally.incoming += usize::from(!forward && !filter && !self.of_kind);
        }
        self.silent &= step.walked.is_some();
        let mut narrowed = false;
        match step.call.tool {
            Tool::GetHeadEntity | Tool::GetTailEntity => {
                let statements = set(step)
                    .and_then(|set| set.first().copied())
                    .is_some_and(|node| connects(session, node));
                self.tally.hops += usize::from(!statements && !self.of_kind);
                self.tally.lies += usize::from(self.lies);
                self.way.class_said = false;
            }
            Tool::GetEntityByConstraint => self.constrained(session, step, explainer),
            Tool::Judge => self.tally.filters += 1,
            Tool::Intersect => {
                let class = step.call.args.iter().any(|arg| match arg {
                    Arg::Var(index) => self.classes.contains(index),
                    _ => false,
                });
                self.tally.classes += usize::from(class);
                self.tally.filters += usize::from(!class);
                narrowed = class;
            }
            Tool::GetEntityByType => {
                if let Some(class) = step.inputs.first().and_then(|set| set.first()) {
                    let words = explainer.class(*class);
                    self.explain(&words);
                }
                if let Target::Var(index) = step.call.target {
                    self.classes.push(index);
                }
            }
            Tool::Count => self.finish = Finish::Count,
            _ => {}
        }
        let made = matches!(
            step.call.tool,
            Tool::GetHeadEntity | Tool::GetTailEntity | Tool::GetEntityByType
        );
        if let Some(nodes) = set(step).filter(|_| made || narrowed) {
            let walked = made && step.call.tool != Tool::GetEntityByType;
            self.see_classes(session, nodes, walked, explainer);
        }
        if let Target::Var(index) = step.call.target {
            self.ways.insert(index, self.way.clone());
        }
    }

    /// Notes a comparison or an extreme.
    fn constrained(
        &mut self,
        session: &Session<'_>,
        step: &Step,
        explainer: &mut Explainer<'_, '_>,
    ) {
        let extreme = step
            .call
            .args
            .iter()
            .any(|arg| matches!(arg, Arg::Extreme(_)));
        self.tally.extremes += usize::from(extreme);
        let of_focus = explainer.asked.extreme_of_focus && explainer.class_asked;
        let mut other =
            || (step.walked).is_some_and(|(relation, _)| !explainer.says_extreme(relation));
        let misplaced = extreme && (of_focus && !self.way.class_said || other());
        self.tally.misplaced += usize::from(misplaced);
        self.tally.filters += usize::from(!extreme);
        self.tally.contrary += usize::from(contrary(session, step, explainer));
    }

    /// Notes what the classes of a new set explain.
    fn see_classes(
        &mut self,
        session: &Session<'_>,
        nodes: &[NodeId],
        walked: bool,
        explainer: &mut Explainer<'_, '_>,
    ) {
        self.way.class_said = false;
        let classes = explainer.classes_of(nodes);
        if let Some(said) = self.way.said.take() {
            let mut said = said.to_vec();
            for words in &classes {
                let both = said.iter_mut().zip(words.iter());
                both.for_each(|(said, word)| *said = said.max(*word));
            }
            let chains = &explainer.chains;
            let chain = self.way.topic.and_then(|topic| chains.get(topic));
            self.way.progress = self
                .way
                .progress
                .follow(chain.map_or(&[], Vec::as_slice), &said);
        }
        let connecting = nodes.first().is_some_and(|&node| connects(session, node));
        let silent = self.silent && !connecting;
        let spoken = classes.iter().any(|words| speaks(words, explainer));
        let unsaid = usize::from(silent && !spoken);
        (self.way.lineage).settle(unsaid, 0, &mut self.tally.unsaid);
        let first = nodes.first().filter(|_| connecting && walked);
        let row = first.is_some_and(|&node| is_event_row(session, node));
        self.tally.rows += usize::from(row && !spoken);
        for words in classes {
            self.explain(&words);
            self.way.class_said |= names(&words, explainer.focus);
            self.way.last = self.way.last.max(strength(&words, explainer.focus));
        }
    }

    /// Notes the order of the words that relations explain, relatives, and relations followed back.
    fn follow(&mut self, hop: Hop, words: &mut Arc<[f32]>, explainer: &mut Explainer<'_, '_>) {
        let way = &mut self.way;
        let relations = explainer.relative(&mut way.lineage, hop, words);
        self.tally.hops -= relations.saturating_sub(1).min(self.tally.hops);
        let again = usize::from(relations == 0 && way.walked.contains(&hop));
        way.lineage.settle(again, relations, &mut self.tally.unsaid);
        let back = |earlier: &Hop| earlier.relation == hop.relation && earlier.way != hop.way;
        let returns = way.walked.iter().any(back);
        self.tally.returns += usize::from(returns);
        self.tally.unasked += usize::from(returns && !explainer.says(hop.relation));
        let first = way.topic.filter(|_| way.walked.is_empty());
        self.tally.order -= i32::from(explainer.is_against_verb(hop, first));
        way.walked.push(hop);
        way.said = Some(Arc::clone(words));
        let topic = way.topic.filter(|_| !returns);
        let distance = topic.and_then(|topic| explainer.distance(words, topic));
        self.tally.order += order(way.distance, distance);
        way.distance = distance.or(way.distance);
    }

    fn explain(&mut self, words: &Arc<[f32]>) {
        for (mine, words) in self.words.iter_mut().zip(words.iter()) {
            *mine = mine.max(*words);
        }
    }

    /// Notes how the set of the first argument was reached.
    fn begin(&mut self, session: &Session<'_>, step: &Step, explainer: &mut Explainer<'_, '_>) {
        self.way = match step.call.args.first() {
            Some(Arg::Var(index)) => self.ways.get(index).cloned().unwrap_or_default(),
            _ => Followed::default(),
        };
        let walks = matches!(step.call.tool, Tool::GetHeadEntity | Tool::GetTailEntity);
        let Some(Arg::Name(name)) = step.call.args.first().filter(|_| walks) else {
            return;
        };
        let node: Option<NodeId> = session.kg().by_name(name);
        let entities = &session.linked().entities;
        let Some(at) = entities.iter().position(|one| Some(*one) == node) else {
            return;
        };
        self.way.topic = Some(at);
        for value in explainer.named_by(at) {
            self.tally.values |= bit(value);
            for (mine, word) in self.words.iter_mut().zip(&explainer.asked.words) {
                if word.value == Some(value) {
                    *mine = 1.0;
                }
            }
        }
        for words in explainer.classes_of(&entities[at..=at]) {
            let words = explainer.class_of_topic(&words, at);
            self.explain(&words);
        }
    }

    /// Notes the entities and values of an argument.
    fn uses(&mut self, session: &Session<'_>, arg: &Arg, explainer: &Explainer<'_, '_>) {
        let linked = session.linked();
        match arg {
            Arg::Name(name) => {
                let node: Option<NodeId> = session.kg().by_name(name);
                if let Some(at) = linked.entities.iter().position(|one| Some(*one) == node) {
                    used_entity(at, &mut self.words, &mut self.tally, explainer);
                }
            }
            Arg::Literal(literal) => {
                if let Some(at) = linked.value_index(literal) {
                    let everyday = explainer.everyday & !self.tally.values & bit(at) != 0;
                    self.tally.everyday += usize::from(everyday);
                    self.tally.values |= bit(at);
                    for (mine, word) in self.words.iter_mut().zip(&explainer.asked.words) {
                        if word.value == Some(at) {
                            *mine = 1.0;
                        }
                    }
                }
            }
            Arg::List(items) => items
                .iter()
                .for_each(|item| self.uses(session, item, explainer)),
            Arg::Inverse(inner) | Arg::Repeated(_, inner) => {
                self.uses(session, inner, explainer);
            }
            _ => {}
        }
    }
}

fn set(step: &Step) -> Option<&EntSet> {
    match &step.observation {
        Observation::Value(Value::Set(set)) => Some(set),
        _ => None,
    }
}

/// Whether a comparison with a value, or an extreme, goes against what the question asks.
fn contrary(session: &Session<'_>, step: &Step, explainer: &Explainer<'_, '_>) -> bool {
    let (args, asked) = (&step.call.args, explainer.asked);
    let time = || kind_of_values(session, step, explainer) == Some(Kind::Time);
    if let Some(Arg::Extreme(extreme)) = args.get(2) {
        let wanted = asked.extreme.or(asked.either);
        return wanted.is_some_and(|wanted| wanted[usize::from(time())] != *extreme);
    }
    let (Some(Arg::Op(op)), Some(Arg::Literal(value))) = (args.get(2), args.get(3)) else {
        return false;
    };
    if asked.between {
        return false;
    }
    let up = |op: Op| match op {
        Op::Gt | Op::Ge => 1,
        Op::Lt | Op::Le => -1,
        Op::Eq | Op::Ne => 0,
    };
    let index = session.linked().value_index(value);
    let asked = match index {
        Some(index) => asked.compare_of(index),
        None => asked.compare,
    };
    asked.map_or_else(
        || up(*op) != 0,
        |ops| up(ops[usize::from(time())]) != up(*op),
    )
}

/// The kind of the values that a step compares.
fn kind_of_values(
    session: &Session<'_>,
    step: &Step,
    explainer: &Explainer<'_, '_>,
) -> Option<Kind> {
    let (relation, _) = step.walked?;
    let has = |node: &&NodeId| !session.step(**node, relation, true).is_empty();
    let member = *step.inputs.first()?.iter().find(has)?;
    let out = true;
    kind_of(
        explainer,
        &Adjacent {
            member,
            relation,
            out,
        },
    )
}
