//! Superclasses and subclasses, for graphs whose owner wants instances of subclasses to count
//! ([`crate::Settings::subclasses`]).

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::graph::Kg;
use crate::schema::RDFS_SUBCLASS_OF;
use crate::term::{NodeId, RelId, Term};

/// The given classes and all their superclasses with IRIs, sorted. The hierarchy may contain cycles.
pub(crate) fn wider<K: Kg + ?Sized>(kg: &K, classes: &[NodeId]) -> Vec<NodeId> {
    let mut wider = closure(
        classes,
        |class, relation| kg.tails(class, relation).to_vec(),
        kg,
    );
    wider.retain(|&class| matches!(kg.term(class), Term::Iri(_)));
    wider
}

/// The named classes above a class, sorted.
pub(crate) fn kinds<K: Kg + ?Sized>(kg: &K, class: NodeId) -> Vec<NodeId> {
    let mut kinds = wider(kg, &[class]);
    kinds.retain(|&kind| kind != class);
    kinds
}

/// The given classes and all their subclasses, sorted.
pub(crate) fn narrower<K: Kg + ?Sized>(kg: &K, classes: &[NodeId]) -> Vec<NodeId> {
    closure(
        classes,
        |class, relation| kg.heads(relation, class).to_vec(),
        kg,
    )
}

fn closure<K: Kg + ?Sized>(
    classes: &[NodeId],
    next: impl Fn(NodeId, RelId) -> Vec<NodeId>,
    kg: &K,
) -> Vec<NodeId> {
    let schema = kg.schema();
    let mut found: BTreeSet<NodeId> = classes.iter().copied().collect();
    let mut queue: VecDeque<NodeId> = classes.iter().copied().collect();
    while let Some(class) = queue.pop_front() {
        for &relation in &schema.superclass_relations {
            for other in next(class, relation) {
                // If one relation means both "instance of" and "subclass of", follow it to classes
                // only.
                let is_class = !schema.type_relations.contains(&relation)
                    || kg.direct_classes().binary_search(&other).is_ok();
                if is_class && found.insert(other) {
                    queue.push_back(other);
                }
            }
        }
    }
    found.into_iter().collect()
}

/// How many instances of a class are looked at to learn whether their other classes are stated as well.
const SAMPLE: usize = 16;

/// Whether an instance of a subclass is not stated to be an instance of the class above, so that the members of a
/// class are only found with those of its subclasses.
///
/// For `rdfs:subClassOf` one such instance is enough. The other relations (Wikidata's P279) belong to graphs
/// whose queries name the classes exactly, so for them a class must have no instance of its own. Relations that
/// also mean "instance of" do not count.
pub(crate) fn is_typed_by_leaves<K: Kg + ?Sized>(kg: &K) -> bool {
    let schema = kg.schema();
    let leaves = kg.direct_classes();
    let relations = (schema.superclass_relations.iter())
        .filter(|relation| !schema.type_relations.contains(relation));
    relations.into_iter().any(|&relation| {
        let is_exact =
            !matches!(kg.term(relation.node()), Term::Iri(iri) if iri == RDFS_SUBCLASS_OF);
        leaves.iter().any(|&leaf| {
            let wider = kg.tails(leaf, relation);
            let mut wider = wider.iter().filter(|&&class| class != leaf);
            wider.any(|&class| match leaves.binary_search(&class) {
                Err(_) => is_exact || matches!(kg.term(class), Term::Iri(_)),
                Ok(_) => !is_exact && !is_repeated(kg, leaf, class),
            })
        })
    })
}

/// Whether the first instances of a class are all stated to be instances of another class too.
fn is_repeated<K: Kg + ?Sized>(kg: &K, leaf: NodeId, class: NodeId) -> bool {
    let types = &kg.schema().type_relations;
    let is_stated = |member: NodeId| {
        (types.iter()).any(|&relation| kg.tails(member, relation).contains(&class))
    };
    types.iter().all(|&relation| {
        let members = kg.heads(relation, leaf);
        members.iter().take(SAMPLE).all(|&member| is_stated(member))
    })
}

/// The triples that prove `member` to be an instance of `class`: one type triple, then superclass
/// triples, in reverse order. The chain is the shortest; it is empty if there is no proof.
pub fn proof(kg: &dyn Kg, member: NodeId, class: NodeId) -> Vec<(NodeId, RelId, NodeId)> {
    let schema = kg.schema();
    let mut by: BTreeMap<NodeId, (NodeId, RelId, NodeId)> = BTreeMap::new();
    let mut queue = VecDeque::new();
    for &relation in &schema.type_relations {
        for &own in kg.tails(member, relation).iter() {
            if let Entry::Vacant(free) = by.entry(own) {
                free.insert((member, relation, own));
                queue.push_back(own);
            }
        }
    }
    while let Some(at) = queue.pop_front() {
        if at == class {
            let mut triples = Vec::new();
            let mut at = at;
            while let Some(&triple) = by.get(&at) {
                triples.push(triple);
                if triple.0 == member || triples.len() > by.len() {
                    break;
                }
                at = triple.0;
            }
            return triples;
        }
        if !schema.settings.subclasses {
            continue;
        }
        for &relation in &schema.superclass_relations {
            for &wider in kg.tails(at, relation).iter() {
                if let Entry::Vacant(free) = by.entry(wider) {
                    free.insert((at, relation, wider));
                    queue.push_back(wider);
                }
            }
        }
    }
    Vec::new()
}
