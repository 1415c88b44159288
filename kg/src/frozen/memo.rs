//! A cache of recent lookups, per thread. The same names, labels and literal prefixes are needed
//! again and again while a question is answered, and each costs a binary search of the dictionary.
//! Graphs are immutable, so entries never become stale.

use std::cell::RefCell;
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};

use rustc_hash::FxHashMap;

use crate::term::NodeId;

/// Entries per table, a few megabytes per thread.
const ENTRIES: usize = 1 << 14;

/// Identifies a graph within the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GraphIdentity(u64);

impl GraphIdentity {
    /// A new identity.
    pub(super) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

#[derive(Default)]
struct MemoTables {
    of: u64,
    names: FxHashMap<u32, String>,
    labels: FxHashMap<u32, Option<String>>,
    nodes: FxHashMap<String, Option<u32>>,
    beginnings: FxHashMap<String, bool>,
    types: FxHashMap<u32, Vec<NodeId>>,
    kinds: FxHashMap<u32, Vec<NodeId>>,
}

thread_local! {
    static TABLES: RefCell<MemoTables> = RefCell::default();
}

/// Returns the cached value, or computes and caches it. `make` may call this function: no table is
/// borrowed meanwhile.
fn remembered<Q, V: Clone>(
    graph: GraphIdentity,
    table: fn(&mut MemoTables) -> &mut FxHashMap<Q::Owned, V>,
    key: &Q,
    make: impl FnOnce() -> V,
) -> V
where
    Q: ToOwned<Owned: Hash + Eq> + Hash + Eq + ?Sized,
{
    let found = TABLES.with_borrow_mut(|tables| {
        if tables.of != graph.0 {
            *tables = MemoTables {
                of: graph.0,
                ..MemoTables::default()
            };
        }
        table(tables).get(key).cloned()
    });
    found.unwrap_or_else(|| {
        let made = make();
        TABLES.with_borrow_mut(|tables| {
            if tables.of == graph.0 {
                let table = table(tables);
                if table.len() >= ENTRIES {
                    table.clear();
                }
                table.insert(key.to_owned(), made.clone());
            }
        });
        made
    })
}

/// The cached name of a node.
pub(super) fn name(graph: GraphIdentity, node: u32, make: impl FnOnce() -> String) -> String {
    remembered(graph, |tables| &mut tables.names, &node, make)
}

/// The cached label of a node.
pub(super) fn label(
    graph: GraphIdentity,
    node: u32,
    make: impl FnOnce() -> Option<String>,
) -> Option<String> {
    remembered(graph, |tables| &mut tables.labels, &node, make)
}

/// The cached node of a name.
pub(super) fn node(
    graph: GraphIdentity,
    name: &str,
    make: impl FnOnce() -> Option<u32>,
) -> Option<u32> {
    remembered(graph, |tables| &mut tables.nodes, name, make)
}

/// The cached classes of a node, with the classes above them.
pub(super) fn types(
    graph: GraphIdentity,
    node: u32,
    make: impl FnOnce() -> Vec<NodeId>,
) -> Vec<NodeId> {
    remembered(graph, |tables| &mut tables.types, &node, make)
}

/// The cached classes above a class.
pub(super) fn kinds(
    graph: GraphIdentity,
    node: u32,
    make: impl FnOnce() -> Vec<NodeId>,
) -> Vec<NodeId> {
    remembered(graph, |tables| &mut tables.kinds, &node, make)
}

/// The cached answer whether some literal starts with `text`.
pub(super) fn begins(graph: GraphIdentity, text: &str, make: impl FnOnce() -> bool) -> bool {
    remembered(graph, |tables| &mut tables.beginnings, text, make)
}

#[cfg(test)]
mod tests {
    use crate::term::{NodeId, Term};
    use crate::{FrozenKg, Kg};

    #[test]
    fn graphs_do_not_share_entries() {
        let iri = |name: &str| Term::Iri(format!("http://a.example/{name}"));
        let one = FrozenKg::from_triples([[iri("a"), iri("p"), iri("b")]]);
        let two = FrozenKg::from_triples([[iri("b"), iri("p"), iri("c")]]);
        for _ in 0..2 {
            assert_eq!(
                (one.by_name("a"), one.by_name("c")),
                (Some(NodeId(0)), None)
            );
            assert_eq!(
                (two.by_name("a"), two.by_name("c")),
                (None, Some(NodeId(1)))
            );
            assert_eq!(
                (one.name(NodeId(0)), two.name(NodeId(0))),
                ("a".to_owned(), "b".to_owned())
            );
        }
    }
}
