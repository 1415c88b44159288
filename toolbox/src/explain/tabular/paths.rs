//! The columns that a set can have: paths of relations from its members, and which of them a phrase
//! names.

use std::sync::Arc;

use common::cancel::{Cancel, Cancelled};
use kg::term::{Literal, NodeId, RelId, Term};
use kg::value::Kind;
use kg::{Kg, words};

use super::super::links::{has_reference, refers_to_named};
use super::super::nodes::{is_key_of, is_nameless};
use super::super::plan::{Hop, Way};
use super::super::values::reached;
use super::super::vocabulary::{split, stems};
use super::super::words::{Explainer, is_part_of_name};
use super::request::{Label, Phrase, Role};
use crate::exec::{Relation, Session};

/// Members of a set whose relations are looked at.
const LOOKED_AT: usize = 2_000;
/// Members of a set that are asked whether they have several of something.
const COUNTED: usize = 64;
/// Relations of a path.
const LONGEST: usize = 3;
/// Paths from one set.
const PATHS: usize = 600;
/// Probability of a word that nothing explains.
const FLOOR: f32 = 0.01;
/// Probability from which a word counts as explained.
pub(super) const EXPLAINED: f32 = 0.05;
/// What one more relation of a path costs, as a log-probability.
const LONGER: f32 = 0.7;
/// What following a relation backwards costs more.
const BACKWARDS: f32 = 0.3;
/// Cost of a path to things without a name of their own; `UNNAMED` if the graph has no name for
/// them at all.
const NAMELESS: f32 = 0.4;
const UNNAMED: f32 = 3.0;
/// How much it counts that the question asks for the whole name of a column.
const LITTLE: f32 = 0.01;
/// What it costs that a column has keys where the question does not ask for them.
const CODED: f32 = 1.0;
/// How much it counts that few of the rows have what they are grouped by.
const SPARSE: f32 = 0.3;
/// What it costs that a name stands in a relation that is not called `name`, and that it may be the name of something
/// else: `coach_name` of a player.
const OTHERWISE: f32 = 0.3;
const OF_ANOTHER: f32 = 0.4;
/// Probability from which a word counts as explained by the set itself, or as what rows are grouped
/// by.
pub(super) const KNOWN: f32 = 0.15;
/// How much better than the class a path must explain a word to be meant by it.
const BETTER: f32 = 2.0;
/// The log-probability that a phrase without words of its own means a certain relation to a name.
const NAMED: f32 = -0.5;

/// A path of relations from the members of a set.
#[derive(Clone, Debug)]
pub(super) struct Path {
    pub(super) hops: Vec<Hop>,
    /// For each content word, the probability with which the path explains it.
    pub(super) words: Arc<[f32]>,
    /// The same of its last relation and the class that it leads to.
    last: Arc<[f32]>,
    /// How much the question asks for the last relation.
    pub(super) asked: f32,
    /// Whether it ends at things that have no name.
    nameless: bool,
    /// Whether these have no name in the graph.
    unnamed: bool,
    /// Whether it ends at the names or the keys of things, and what it costs that the relation is
    /// not called so.
    label: Option<(Label, f32)>,
    /// Whether it ends at keys of other things.
    pub(super) coded: bool,
    /// Whether it ends at keys of rows, by which these are told apart and not measured.
    pub(super) key: bool,
    /// Whether these are the keys of the rows before it.
    own_key: bool,
    /// Whether it ends with the hop from what somebody is to the person.
    role: bool,
    /// Whether that is the hop before the last.
    of_role: bool,
    /// Whether it leads from some thing to several, which can be counted.
    several: bool,
    /// The share of the members that it leads from, as far as the first ones show.
    covers: f32,
    /// First members of the set that it leads to.
    ends: Vec<NodeId>,
}

impl Path {
    /// Whether it leads to the keys of the members themselves.
    pub(super) fn is_own_key(&self) -> bool {
        self.own_key && self.hops.len() == 1
    }

    /// Whether each member has at most one of the values that it leads to.
    pub(super) fn has_one_value(&self) -> bool {
        self.hops.len() == 1 && !self.several
    }

    /// How many relations it has beyond the first, not counting the one from what somebody is to the person.
    pub(super) fn relations(&self) -> usize {
        (self.hops.len().saturating_sub(1)).saturating_sub(usize::from(self.of_role))
    }

    /// Whether it leads to at most one node.
    pub(super) fn leads_to_one(&self) -> bool {
        self.ends.len() < 2
    }
}

/// All paths from the members of a set, shorter ones first.
///
/// # Errors
/// [`Cancelled`] when `cancel` says so.
pub(super) fn paths(
    nodes: &[NodeId],
    explainer: &mut Explainer<'_, '_>,
    cancel: &Cancel,
) -> Result<Vec<Path>, Cancelled> {
    let none: Arc<[f32]> = explainer.asked.words.iter().map(|_| 0.0).collect();
    let root = Path {
        hops: Vec::new(),
        words: Arc::clone(&none),
        last: none,
        asked: 0.0,
        nameless: false,
        unnamed: false,
        label: None,
        coded: false,
        key: false,
        own_key: false,
        role: false,
        of_role: false,
        several: false,
        covers: 1.0,
        ends: nodes[..nodes.len().min(LOOKED_AT)].to_vec(),
    };
    let mut found = Vec::new();
    let mut open = vec![root];
    for _ in 0..LONGEST {
        let mut next = Vec::new();
        for path in &open {
            if found.len() + next.len() > PATHS {
                break;
            }
            cancel.check()?;
            longer(path, explainer, &mut next, cancel)?;
        }
        open = next.clone();
        found.extend(next);
    }
    let unnamed: Vec<bool> = (found.iter())
        .map(|path| path.nameless && name_of(&found, &path.hops).is_none())
        .collect();
    for (path, unnamed) in found.iter_mut().zip(unnamed) {
        path.unnamed = unnamed;
    }
    Ok(found)
}

/// Adds the continuations of a path by one relation.
fn longer(
    path: &Path,
    explainer: &mut Explainer<'_, '_>,
    next: &mut Vec<Path>,
    cancel: &Cancel,
) -> Result<(), Cancelled> {
    let session = explainer.session;
    let kg = session.kg();
    let thing = |node: Option<&NodeId>| {
        node.is_some_and(|&node| !matches!(kg.term(node), Term::Literal(_)))
    };
    if !thing(path.ends.first()) {
        return Ok(());
    }
    for one in explainer.adjacent(&path.ends) {
        cancel.check()?;
        let Relation::Plain(relation) = one.relation else {
            continue;
        };
        let way = if one.out { Way::Out } else { Way::In };
        let hop = Hop {
            relation: one.relation,
            way,
        };
        let back = path
            .hops
            .last()
            .is_some_and(|last| last.relation == hop.relation && last.way != hop.way);
        if back {
            continue;
        }
        let mut ends = reached(session, &path.ends, hop).to_vec();
        ends.truncate(LOOKED_AT);
        let Some(&first) = ends.first() else {
            continue;
        };
        let some = || path.ends.iter().take(COUNTED);
        let reached = |&node: &NodeId| session.step(node, hop.relation, one.out).len();
        let several = path.several || some().any(|node| reached(node) > 1);
        let covered = some().filter(|node| reached(node) > 0).count();
        let explained = explainer.hop(hop);
        let mut last = explained.words.to_vec();
        if thing(Some(&first)) {
            let some = || ends.iter().step_by(ends.len().div_ceil(COUNTED));
            // What is in a country is not all cities.
            for class in kg.types(first) {
                if some().all(|&end| kg.types(end).contains(&class)) {
                    add(&mut last, &explainer.class(class));
                }
            }
        }
        let mut words = path.words.to_vec();
        add(&mut words, &last);
        let mut hops = path.hops.clone();
        hops.push(hop);
        let own_key = one.out
            && is_key_of(
                kg,
                one.member,
                session.step(one.member, hop.relation, true)[0],
            );
        next.push(Path {
            hops,
            words: words.into(),
            last: last.into(),
            asked: explained.asked,
            nameless: is_nameless(kg, first),
            unnamed: false,
            // `room_cd` of a work stands for the room, as `room_id` does.
            coded: !thing(Some(&first))
                && (!own_key
                    && !explainer.asked.keys
                    && refers_to_named(kg, one.member, hop.relation)
                    || (kg.name(relation.node()).to_lowercase())
                        .trim_end_matches('>')
                        .ends_with("_id")),
            key: own_key || one.out && has_reference(kg, hop.relation),
            own_key,
            // What an entrepreneur is called is the name of a person.
            label: if one.out && explainer.role_of(&path.ends).is_none() {
                label_of(explainer, &path.ends, relation)
            } else {
                None
            },
            role: explainer.is_role(hop.relation),
            of_role: path.role,
            several,
            covers: path.covers * covered as f32 / some().count() as f32,
            ends,
        });
    }
    Ok(())
}

/// Whether a relation leads to the names or the keys of its subjects.
fn label_of(
    explainer: &Explainer<'_, '_>,
    subjects: &[NodeId],
    relation: RelId,
) -> Option<(Label, f32)> {
    let kg = explainer.session.kg();
    let printed = kg.name(relation.node()).to_lowercase();
    let own = split(&printed).0;
    let subject = *subjects.first()?;
    let key = || {
        let local = kg.name(subject).to_lowercase();
        let local = split(&local).0;
        local.split_once('=').is_some_and(|(key, _)| key == own)
    };
    // A table often has the same name as its column of row names.
    let class = || {
        let class = kg.types(subject).into_iter().next();
        // `artist_no` is no name of an artist.
        class.is_some_and(|class| {
            let name = kg.name(class);
            let name = split(&name).0;
            stems(name) == stems(own) && words(name).len() == words(own).len()
        })
    };
    let schema = kg.schema();
    let alias = schema.alias_relations.contains(&relation)
        || schema
            .row_names
            .iter()
            .any(|names| names.contains(&relation))
        || schema.row_codes.contains(&relation);
    match own {
        "name" => Some((Label::Name, 0.0)),
        "id" => Some((Label::Key, 0.0)),
        _ if alias || class() => Some((Label::Name, OTHERWISE)),
        _ if own.ends_with("name") => Some((Label::Name, OF_ANOTHER)),
        _ if own.ends_with("id") && key() => Some((Label::Key, OTHERWISE)),
        // `the customer ids` of accounts.
        _ if own.ends_with("id") && has_reference(kg, Relation::Plain(relation)) => {
            Some((Label::Key, OF_ANOTHER))
        }
        _ => None,
    }
}

/// Raises probabilities to those of another explanation.
pub(super) fn add(words: &mut [f32], other: &[f32]) {
    for (word, other) in words.iter_mut().zip(other) {
        *word = word.max(*other);
    }
}

impl Path {
    /// Whether it leads to numbers.
    pub(super) fn leads_to_numbers(&self, kg: &dyn Kg) -> bool {
        self.ends.first().is_some_and(|&node| {
            let term = kg.term(node);
            term.as_literal().is_some_and(kg::value::is_number)
        })
    }

    /// Whether it leads to texts that are neither keys nor names.
    pub(super) fn is_text(&self, kg: &dyn Kg) -> bool {
        let literal = |&node: &NodeId| matches!(kg.term(node), Term::Literal(_));
        self.ends.first().is_some_and(literal)
            && !self.key
            && !self.coded
            && self.label.is_none()
            && !self.leads_to_numbers(kg)
    }

    /// Whether its last relation explains one of these words.
    pub(super) fn explains(&self, words: &[usize]) -> bool {
        let p = |at: &usize| self.last.get(*at).copied().unwrap_or_default();
        words.iter().any(|at| p(at) >= EXPLAINED)
    }

    /// Whether it is one relation that is called by these words.
    pub(super) fn is_called(&self, words: &[usize]) -> bool {
        self.hops.len() == 1
            && !words.is_empty()
            && words
                .iter()
                .all(|&at| is_part_of_name(&self.last, Some(at)))
    }

    /// Whether it is one relation that is called by these words, which the class of its subjects explains less well.
    pub(super) fn is_called_better(&self, words: &[usize], class: &[f32]) -> bool {
        let p = |of: &[f32], at: usize| of.get(at).copied().unwrap_or_default();
        self.is_called(words) && (words.iter()).all(|&at| p(&self.last, at) > BETTER * p(class, at))
    }

    /// Whether it leads to numbers or times.
    pub(super) fn has_an_order(&self, kg: &dyn Kg) -> bool {
        let first = self.ends.first().map(|&node| kg.term(node));
        let literal = first.as_ref().and_then(|term| term.as_literal());
        let time = |literal: &Literal| Kind::majority([literal]) == Kind::Time;
        self.leads_to_numbers(kg) || literal.is_some_and(time)
    }

    /// Whether it leads to what can be counted, or to numbers, which are compared.
    pub(super) fn can_be_counted(&self, kg: &dyn Kg) -> bool {
        self.several || self.leads_to_numbers(kg)
    }

    fn cost(&self) -> f32 {
        let backwards = self.hops.iter().filter(|hop| hop.way == Way::In).count();
        let longer = self.hops.len() - usize::from(self.of_role && !self.hops.is_empty());
        LONGER * longer.saturating_sub(1) as f32
            + BACKWARDS * backwards as f32
            + match (self.unnamed, self.nameless) {
                (true, _) => UNNAMED,
                (false, true) => NAMELESS,
                (false, false) => 0.0,
            }
    }

    /// How well the path fits a phrase, as a log-probability. Of the words, `known` are explained by
    /// the set itself.
    fn fits(&self, phrase: &Phrase, known: Known<'_>) -> Option<f32> {
        let at = |words: &[f32], at: usize| words.get(at).copied().unwrap_or_default();
        let unknown = |words: &[f32], word: &usize| at(words, *word) < KNOWN;
        let own = phrase.words.iter();
        // What the class explains a little may be what the path is called.
        let better = |word: &usize| at(&self.last, *word) > BETTER * at(known.class, *word);
        let own: Vec<usize> = own
            .filter(|word| unknown(known.class, word) || better(word))
            .copied()
            .collect();
        let of = phrase.of.iter();
        let of: Vec<usize> = of
            .filter(|word| unknown(known.set, word))
            .copied()
            .collect();
        let sure = if phrase.role == Role::Key {
            KNOWN
        } else {
            EXPLAINED
        };
        let label = match phrase.label {
            Some(label) => {
                let (_, cost) = self.label.filter(|(own, _)| *own == label)?;
                NAMED - cost
            }
            None if own.iter().any(|&word| at(&self.last, word) >= sure) => 0.0,
            None => return None,
        };
        let all = own.iter().chain(&of);
        let said: f32 = all.map(|&word| (FLOOR + at(&self.words, word)).ln()).sum();
        let coded = self.coded && phrase.label != Some(Label::Key);
        let coded = if coded { CODED } else { 0.0 };
        // Rows are grouped by what most of them have.
        let sparse = if matches!(phrase.role, Role::Key | Role::Column) {
            SPARSE * (FLOOR + self.covers).ln()
        } else {
            0.0
        };
        // Of two that say the same, the one that says nothing else: `votes`, not `vote_percent`.
        Some(said + label + sparse - coded - self.cost() + LITTLE * self.asked)
    }
}

/// The words that need no column: for each content word, how well the class of the members explains
/// it, and how well the set does.
#[derive(Clone, Copy)]
pub(super) struct Known<'k> {
    pub(super) class: &'k [f32],
    pub(super) set: &'k [f32],
}

/// Of the paths that `may` be taken, the one that a phrase names best; `None` if it names none.
pub(super) fn best<'p>(
    paths: &'p [Path],
    phrase: &Phrase,
    known: Known<'_>,
    may: impl Fn(&Path) -> bool,
) -> Option<&'p Path> {
    let scored = paths
        .iter()
        .filter(|path| may(path))
        .filter_map(|path| Some((path.fits(phrase, known)?, path)));
    // Of equal ones the key of the rows, or the first, which is the shortest.
    let better = |best: &(f32, &Path), one: &(f32, &Path)| {
        let key = phrase.label.is_none() && one.1.own_key && !best.1.own_key;
        one.0 > best.0 || one.0 == best.0 && key
    };
    scored
        .reduce(|best, one| if better(&best, &one) { one } else { best })
        .map(|(_, path)| path)
}

/// The path to the names of what a path leads to, if that has none of its own.
pub(super) fn named<'p>(paths: &'p [Path], path: &'p Path) -> &'p Path {
    if !path.nameless {
        return path;
    }
    name_of(paths, &path.hops).unwrap_or(path)
}

/// The path to the names of what `hops` lead to.
pub(super) fn name_of<'p>(paths: &'p [Path], hops: &[Hop]) -> Option<&'p Path> {
    label_behind(paths, hops, Label::Name)
}

/// The path to the names or keys of what `hops` lead to.
pub(super) fn label_behind<'p>(paths: &'p [Path], hops: &[Hop], label: Label) -> Option<&'p Path> {
    let behind = paths.iter().filter_map(|path| {
        let (own, cost) = path.label?;
        let more = 1 + usize::from(path.of_role);
        let next = path.hops.len() == hops.len() + more && path.hops.starts_with(hops);
        (own == label && next).then_some((cost, path))
    });
    behind
        .reduce(|best, one| if one.0 < best.0 { one } else { best })
        .map(|(_, path)| path)
}

/// Whether a set has things without a name.
pub(super) fn nameless(session: &Session<'_>, nodes: &[NodeId]) -> bool {
    nodes
        .first()
        .is_some_and(|&node| is_nameless(session.kg(), node))
}
