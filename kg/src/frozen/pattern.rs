//! Iterates over the triples that match a pattern, directly on the columns of an [`Image`].

use super::image::Image;
use super::index::distinct;

/// One of the three columns of the result.
#[derive(Clone, Debug)]
enum PatternColumn<'a> {
    Fixed(u32),
    Listed(&'a [u32]),
    Owned(Vec<u32>),
}

impl PatternColumn<'_> {
    fn get(&self, at: usize) -> u32 {
        match self {
            Self::Fixed(id) => *id,
            Self::Listed(ids) => ids.get(at).copied().unwrap_or(0),
            Self::Owned(ids) => ids.get(at).copied().unwrap_or(0),
        }
    }
}

/// Matching rows of subject, relation and object.
#[derive(Clone, Debug)]
pub(super) struct PatternRows<'a> {
    columns: [PatternColumn<'a>; 3],
    at: usize,
    end: usize,
    /// If nothing is fixed: the graph and the next subject.
    all: Option<(&'a Image, u32)>,
}

impl<'a> PatternRows<'a> {
    /// No rows.
    pub(super) fn none() -> Self {
        Self::new(
            PatternColumn::Fixed(0),
            PatternColumn::Fixed(0),
            PatternColumn::Fixed(0),
            0,
        )
    }

    fn new(s: PatternColumn<'a>, p: PatternColumn<'a>, o: PatternColumn<'a>, len: usize) -> Self {
        Self {
            columns: [s, p, o],
            at: 0,
            end: len,
            all: None,
        }
    }

    /// The number of rows. Call it before the first is read.
    pub(super) fn len(&self) -> usize {
        match self.all {
            Some((image, _)) => usize::try_from(image.header.triples).unwrap_or(usize::MAX),
            None => self.end - self.at,
        }
    }

    /// The rows with these terms.
    pub(super) fn matching(
        image: &'a Image,
        s: Option<u32>,
        p: Option<u32>,
        o: Option<u32>,
    ) -> Self {
        use PatternColumn::{Fixed, Listed, Owned};
        match (s, p, o) {
            (Some(s), Some(p), Some(o)) => {
                let holds = image.has(s, p, o);
                Self::new(Fixed(s), Fixed(p), Fixed(o), usize::from(holds))
            }
            (Some(s), Some(p), None) => {
                let objects = image.tails(s, p);
                Self::new(Fixed(s), Fixed(p), Listed(objects), objects.len())
            }
            (None, Some(p), Some(o)) => {
                let subjects = image.heads(p, o);
                Self::new(Listed(subjects), Fixed(p), Fixed(o), subjects.len())
            }
            (Some(s), None, Some(o)) => {
                let relations = between(image, s, o);
                let len = relations.len();
                Self::new(Fixed(s), Owned(relations), Fixed(o), len)
            }
            (Some(s), None, None) => {
                let [relations, objects] = image.out_edges(s);
                Self::new(
                    Fixed(s),
                    Listed(relations),
                    Listed(objects),
                    relations.len(),
                )
            }
            (None, Some(p), None) => {
                let [objects, subjects] = image.pairs(p);
                Self::new(Listed(subjects), Fixed(p), Listed(objects), subjects.len())
            }
            (None, None, Some(o)) => {
                let [relations, subjects] = image.in_edges(o);
                Self::new(
                    Listed(subjects),
                    Listed(relations),
                    Fixed(o),
                    subjects.len(),
                )
            }
            (None, None, None) => Self {
                all: Some((image, 0)),
                ..Self::none()
            },
        }
    }
}

impl Iterator for PatternRows<'_> {
    type Item = [u32; 3];

    fn next(&mut self) -> Option<[u32; 3]> {
        while self.at >= self.end {
            let (image, next) = self.all.as_mut()?;
            if *next >= image.header.resources {
                return None;
            }
            let [relations, objects] = image.out_edges(*next);
            self.columns = [
                PatternColumn::Fixed(*next),
                PatternColumn::Listed(relations),
                PatternColumn::Listed(objects),
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

/// Relations from a subject to an object: tests those of the node with fewer edges.
fn between(image: &Image, s: u32, o: u32) -> Vec<u32> {
    let ([leaving, _], [entering, _]) = (image.out_edges(s), image.in_edges(o));
    let relations = if leaving.len() <= entering.len() {
        leaving
    } else {
        entering
    };
    distinct(relations)
        .filter(|&p| image.has(s, p, o))
        .collect()
}
