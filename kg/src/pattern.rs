//! The triples that match a pattern, as an iterator over the columns of a [`FrozenKg`].

use super::{FrozenKg, Kg};
use crate::term::{NodeId, RelId};

/// One of the three places of a row.
#[derive(Clone, Debug)]
enum Column<'a> {
    Fixed(u32),
    Listed(&'a [u32]),
    Owned(Vec<u32>),
}

impl Column<'_> {
    fn get(&self, at: usize) -> u32 {
        match self {
            Self::Fixed(id) => *id,
            Self::Listed(ids) => ids.get(at).copied().unwrap_or(0),
            Self::Owned(ids) => ids.get(at).copied().unwrap_or(0),
        }
    }
}

/// Rows of subject, relation and object.
#[derive(Clone, Debug)]
pub(super) struct Rows<'a> {
    columns: [Column<'a>; 3],
    at: usize,
    end: usize,
    /// The graph, and the next subject, where the pattern asks for everything.
    all: Option<(&'a FrozenKg, u32)>,
}

impl<'a> Rows<'a> {
    /// No rows.
    pub(super) fn none() -> Self {
        Self::new(Column::Fixed(0), Column::Fixed(0), Column::Fixed(0), 0)
    }

    fn new(s: Column<'a>, p: Column<'a>, o: Column<'a>, len: usize) -> Self {
        Self {
            columns: [s, p, o],
            at: 0,
            end: len,
            all: None,
        }
    }

    /// The rows with these parts.
    pub(super) fn matching(
        kg: &'a FrozenKg,
        s: Option<u32>,
        p: Option<u32>,
        o: Option<u32>,
    ) -> Self {
        use Column::{Fixed, Listed, Owned};
        match (s, p, o) {
            (Some(s), Some(p), Some(o)) => {
                let holds = kg.has(NodeId(s), RelId(p), NodeId(o));
                Self::new(Fixed(s), Fixed(p), Fixed(o), usize::from(holds))
            }
            (Some(s), Some(p), None) => {
                let objects = kg.tail_ids(s, p);
                Self::new(Fixed(s), Fixed(p), Listed(objects), objects.len())
            }
            (None, Some(p), Some(o)) => {
                let subjects = kg.head_ids(p, o);
                Self::new(Listed(subjects), Fixed(p), Fixed(o), subjects.len())
            }
            (Some(s), None, Some(o)) => {
                let relations = kg.between(s, o);
                let len = relations.len();
                Self::new(Fixed(s), Owned(relations), Fixed(o), len)
            }
            (Some(s), None, None) => {
                let [relations, objects] = kg.out_edges(s);
                Self::new(
                    Fixed(s),
                    Listed(relations),
                    Listed(objects),
                    relations.len(),
                )
            }
            (None, Some(p), None) => {
                let [objects, subjects] = kg.relation_edges(p);
                Self::new(Listed(subjects), Fixed(p), Listed(objects), subjects.len())
            }
            (None, None, Some(o)) => {
                let [relations, subjects] = kg.in_edges(o);
                Self::new(
                    Listed(subjects),
                    Listed(relations),
                    Fixed(o),
                    subjects.len(),
                )
            }
            (None, None, None) => Self {
                all: Some((kg, 0)),
                ..Self::none()
            },
        }
    }
}

impl Iterator for Rows<'_> {
    type Item = [u32; 3];

    fn next(&mut self) -> Option<[u32; 3]> {
        while self.at >= self.end {
            let (kg, next) = self.all.as_mut()?;
            if *next >= kg.resource_count() {
                return None;
            }
            let [relations, objects] = kg.out_edges(*next);
            self.columns = [
                Column::Fixed(*next),
                Column::Listed(relations),
                Column::Listed(objects),
            ];
            (self.at, self.end) = (0, relations.len());
            *next += 1;
        }
        let at = self.at;
        self.at += 1;
        Some([
            self.columns[0].get(at),
            self.columns[1].get(at),
            self.columns[2].get(at),
        ])
    }
}
