//! URI linking of the decision maker (rules C.3 and C.4): for each mention entities, for each
//! triple relations between them.

use std::collections::BTreeMap;

use super::super::names::{forms, normal, shown};
use super::read::{NamedEnd, NamedTriple, selection};
use super::{PublishedTriadOptions, Replies};
use crate::exec::{Relation, Session};
use crate::link;
use crate::prompts::{TRIAD_ENTITY, TRIAD_RELATION};
use crate::rank::RankError;
use crate::triad::{
    Bounds, MEANINGS, Pattern, PhraseLink, Place, SubTask, linked_nodes, products, relations,
};
use common::transcript::Part;
use kg::term::NodeId;

/// Relations that a prompt shows; the others of a hub are less like the question.
const SHOWN: usize = 100;
/// Classes shown with an entity, in place of the abstract that not every graph has.
const CLASSES: usize = 3;
/// Combinations of linked triples that give the context of a triple between two variables.
const CONTEXTS: usize = 8;
/// Relations of a triple that state its subject's class.
const CLASS_PHRASES: [&str; 5] = ["a", "type", "is a", "is an", "instance of"];

/// What is linked so far in one try.
pub(super) struct Linker<'s, 'g> {
    session: &'s Session<'g>,
    options: &'s PublishedTriadOptions,
    mentions: BTreeMap<String, Vec<NodeId>>,
    /// Every linked triple with its candidates, best first.
    pub(super) linked: Vec<(NamedTriple, Vec<Pattern>)>,
    pub(super) recall: LinkingRecall,
}

/// The nodes left after each stage of linking.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkingRecall {
    /// Entities that the label index found.
    pub found_entities: Vec<NodeId>,
    /// Entities that the model chose.
    pub chosen_entities: Vec<NodeId>,
    /// Relations around and between entities.
    pub found_relations: Vec<NodeId>,
    /// Relations that the model chose.
    pub chosen_relations: Vec<NodeId>,
}

impl<'s, 'g> Linker<'s, 'g> {
    pub(super) fn new(session: &'s Session<'g>, options: &'s PublishedTriadOptions) -> Self {
        Self {
            session,
            options,
            mentions: BTreeMap::new(),
            linked: Vec::new(),
            recall: LinkingRecall::default(),
        }
    }

    /// Links triples, those with fewer variables first, so that they give context to the others.
    pub(super) fn link_all<E: From<RankError>>(
        &mut self,
        triples: &[NamedTriple],
        bounds: Bounds,
        ask: &mut Replies<'_, E>,
    ) -> Result<(), E> {
        let mut order: Vec<&NamedTriple> = triples.iter().collect();
        order.sort_by_key(|triple| triple.vars().count());
        for triple in order {
            self.patterns(triple, bounds, ask)?;
        }
        Ok(())
    }

    /// The candidates of a triple, best first. A triple that was linked before keeps its own.
    pub(super) fn patterns<E: From<RankError>>(
        &mut self,
        triple: &NamedTriple,
        bounds: Bounds,
        ask: &mut Replies<'_, E>,
    ) -> Result<Vec<Pattern>, E> {
        if let Some((_, patterns)) = self.linked.iter().find(|(known, _)| known == triple) {
            return Ok(patterns.clone());
        }
        let patterns = if CLASS_PHRASES.contains(&triple.phrase.to_lowercase().as_str()) {
            self.classes(triple)
        } else {
            let subjects = self.places(&triple.subject, ask)?;
            let objects = self.places(&triple.object, ask)?;
            let mut patterns: Vec<Pattern> = Vec::new();
            for subject in &subjects {
                for object in &objects {
                    let found = self.between(triple, subject, object, bounds, ask)?;
                    patterns.extend(
                        found
                            .into_iter()
                            .filter(|one| !patterns.contains(one))
                            .collect::<Vec<_>>(),
                    );
                }
            }
            patterns
        };
        self.linked.push((triple.clone(), patterns.clone()));
        Ok(patterns)
    }

    fn places<E>(&mut self, end: &NamedEnd, ask: &mut Replies<'_, E>) -> Result<Vec<Place>, E> {
        Ok(match end {
            NamedEnd::Var(name) => vec![Place::Var(name.clone())],
            NamedEnd::Name(name) => self
                .entities(name, ask)?
                .into_iter()
                .map(Place::Node)
                .collect(),
        })
    }

    /// The entities that a mention means, at most K.
    pub(super) fn entities<E>(
        &mut self,
        mention: &str,
        ask: &mut Replies<'_, E>,
    ) -> Result<Vec<NodeId>, E> {
        if let Some(known) = self.mentions.get(mention) {
            return Ok(known.clone());
        }
        let kg = self.session.kg();
        let mut found: Vec<NodeId> = kg.by_name(mention).into_iter().collect();
        // A damaged index has no entities; `kg check` reports it.
        for one in link::candidates(kg, mention).unwrap_or_default() {
            if found.len() < MEANINGS && !found.contains(&one.node) {
                found.push(one.node);
            }
        }
        self.recall.found_entities.extend(&found);
        let most = self.options.entities.max(1);
        let mut chosen = found.clone();
        if self.options.select_uris && !found.is_empty() {
            let line = |&node: &NodeId| {
                let classes = kg.types(node).into_iter().take(CLASSES);
                let classes: Vec<String> = classes.map(|class| shown(kg, class)).collect();
                if classes.is_empty() {
                    shown(kg, node)
                } else {
                    format!("{} ({})", shown(kg, node), classes.join(", "))
                }
            };
            let lines: Vec<String> = found.iter().map(line).collect();
            let turn = TRIAD_ENTITY.turn(&[
                ("most", Part::ours(most.to_string())),
                ("question", Part::user(self.session.question())),
                ("mention", Part::user(mention)),
                ("candidates", Part::kg(lines.join("\n"))),
            ]);
            let items: Vec<_> = found.iter().map(|&node| forms(kg, node)).collect();
            let chosen_places = ask.read(SubTask::Entity, turn, |reply| {
                selection(reply, &items, most)
            })?;
            chosen = chosen_places
                .unwrap_or_default()
                .into_iter()
                .map(|at| found[at])
                .collect();
        }
        chosen.truncate(most);
        self.recall.chosen_entities.extend(&chosen);
        self.mentions.insert(mention.to_owned(), chosen.clone());
        Ok(chosen)
    }

    /// The candidates of a triple that says of which class its subject is.
    fn classes(&self, triple: &NamedTriple) -> Vec<Pattern> {
        let kg = self.session.kg();
        let (NamedEnd::Name(class), subject) = (&triple.object, &triple.subject) else {
            return Vec::new();
        };
        let named = self.classes_named(class);
        let head = match subject {
            NamedEnd::Var(name) => Place::Var(name.clone()),
            NamedEnd::Name(name) => match link::candidates(kg, name).unwrap_or_default().first() {
                Some(one) => Place::Node(one.node),
                None => return Vec::new(),
            },
        };
        let relations = &kg.schema().type_relations;
        let walk = |&class: &NodeId| {
            relations.iter().map({
                let head = head.clone();
                move |&relation| Pattern::Walk {
                    head: head.clone(),
                    relation: Relation::Plain(relation),
                    tail: Place::Node(class),
                }
            })
        };
        named.iter().flat_map(walk).collect()
    }

    /// The classes that a word means, at most K: by label or name, or by the last part of the name.
    fn classes_named(&self, word: &str) -> Vec<NodeId> {
        let kg = self.session.kg();
        let all = kg.classes();
        let mut named: Vec<NodeId> = kg.by_label(word);
        named.extend(kg.by_name(word));
        named.retain(|node| all.binary_search(node).is_ok());
        if named.is_empty() {
            let wanted = normal(word);
            let last = |node: &NodeId| {
                let name = normal(&kg.name(*node));
                let part = name.rsplit(['.', '/', '#', ':']).next().unwrap_or_default();
                part.replace('_', " ") == wanted
            };
            named.extend(all.iter().copied().filter(last));
        }
        named.dedup();
        named.truncate(self.options.entities.max(1));
        named
    }

    /// The relations between two ends, in both orders, at most K of them.
    fn between<E: From<RankError>>(
        &mut self,
        triple: &NamedTriple,
        subject: &Place,
        object: &Place,
        bounds: Bounds,
        ask: &mut Replies<'_, E>,
    ) -> Result<Vec<Pattern>, E> {
        let session = self.session;
        let node = |place: &Place| match place {
            Place::Node(node) => Some(vec![*node]),
            Place::Var(_) => None,
        };
        let (mut from, mut to) = (node(subject), node(object));
        if let (Place::Var(a), Place::Var(b)) = (subject, object) {
            (from, to) = (self.context(a, bounds), self.context(b, bounds));
        }
        let ranked = relations(session, &triple.phrase, from.as_deref(), to.as_deref())?;
        let plain: Vec<PhraseLink> = ranked
            .into_iter()
            .map(|(link, _)| link)
            .filter(|link| matches!(link.relation, Relation::Plain(_)))
            .collect();
        let mut names: Vec<NodeId> = Vec::new();
        for link in &plain {
            if let Relation::Plain(id) = link.relation
                && !names.contains(&id.node())
            {
                names.push(id.node());
            }
        }
        self.recall.found_relations.extend(&names);
        names.truncate(SHOWN);
        let most = self.options.relations.max(1);
        let chosen = if self.options.select_uris && !names.is_empty() {
            self.chosen_relations(names, [subject, object], most, ask)?
        } else {
            names.into_iter().take(most).collect()
        };
        self.recall.chosen_relations.extend(&chosen);
        let ordered = chosen.iter().flat_map(|wanted| {
            plain.iter().filter(
                move |link| matches!(link.relation, Relation::Plain(id) if id.node() == *wanted),
            )
        });
        let pattern = |link: &PhraseLink| {
            let (head, tail) = if link.out {
                (subject.clone(), object.clone())
            } else {
                (object.clone(), subject.clone())
            };
            Pattern::Walk {
                head,
                relation: link.relation,
                tail,
            }
        };
        Ok(ordered.map(pattern).collect())
    }

    /// The decision maker's choice among relations, shown in the order of their names.
    fn chosen_relations<E>(
        &self,
        mut names: Vec<NodeId>,
        ends: [&Place; 2],
        most: usize,
        ask: &mut Replies<'_, E>,
    ) -> Result<Vec<NodeId>, E> {
        let kg = self.session.kg();
        names.sort_by_cached_key(|&node| kg.name(node));
        let end = |place: &Place| match place {
            Place::Node(node) => shown(kg, *node),
            Place::Var(name) => format!("?{name}"),
        };
        let lines: Vec<String> = names.iter().map(|&node| shown(kg, node)).collect();
        let turn = TRIAD_RELATION.turn(&[
            ("most", Part::ours(most.to_string())),
            ("question", Part::user(self.session.question())),
            ("ends", Part::kg(ends.map(end).join(", "))),
            ("candidates", Part::kg(lines.join("\n"))),
        ]);
        let items: Vec<_> = names.iter().map(|&node| forms(kg, node)).collect();
        let places = ask.read(SubTask::Relations(0), turn, |reply| {
            selection(reply, &items, most)
        })?;
        Ok(places
            .unwrap_or_default()
            .into_iter()
            .map(|at| names[at])
            .collect())
    }

    /// The possible nodes of a variable under the triples linked so far; `None` if none of them has
    /// it. A bound that is reached gives no context.
    fn context(&self, var: &str, bounds: Bounds) -> Option<Vec<NodeId>> {
        let known: Vec<&Vec<Pattern>> = self
            .linked
            .iter()
            .map(|(_, patterns)| patterns)
            .filter(|patterns| !patterns.is_empty())
            .collect();
        let sizes: Vec<usize> = known.iter().map(|patterns| patterns.len()).collect();
        let mut all: Option<Vec<NodeId>> = None;
        for picks in products(&sizes, CONTEXTS) {
            let patterns: Vec<Pattern> = known
                .iter()
                .zip(picks)
                .map(|(patterns, pick)| patterns[pick].clone())
                .collect();
            if let Ok(Some(nodes)) = linked_nodes(self.session, &patterns, var, bounds) {
                all.get_or_insert_default().extend(nodes);
            }
        }
        if let Some(nodes) = &mut all {
            nodes.sort_unstable();
            nodes.dedup();
        }
        all
    }
}
