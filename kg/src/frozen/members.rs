//! The rows of a graph of a dataset: a sorted set of rows in SPO order, and those that match a pattern.

use super::image::Image;
use super::layout::{NONE, Section};
use super::meta::NamedGraph;
use super::pattern::PatternRows;
use crate::sparql::budget;

/// Memory that [`Origins::of`] takes for each row: two lists of places.
const BYTES_PER_ROW: usize = 2 * size_of::<u32>();

/// The named graphs of each row, computed when they are first needed.
#[derive(Debug)]
pub(super) struct Origins {
    /// First place of each row in `graphs`, and the end.
    starts: Vec<u32>,
    /// Places of graphs in the list of named graphs.
    graphs: Vec<u32>,
}

impl Origins {
    /// Computes them within the limits of the query that needs them first.
    pub(super) fn of(image: &Image, graphs: &[NamedGraph]) -> Self {
        let rows = image.ids(Section::SpoP).len();
        let memory = rows.saturating_mul(BYTES_PER_ROW);
        budget::hold(memory);
        let mut starts = vec![0_u32; rows + 1];
        let named = (0..graphs.len()).filter(|&at| !graphs[at].name.is_empty());
        for at in named.clone() {
            for &row in image.rows_of_graph(at) {
                budget::tick();
                if let Some(count) = starts.get_mut(row as usize + 1) {
                    *count += 1;
                }
            }
        }
        let mut sum = 0;
        for start in &mut starts {
            budget::tick();
            sum += *start;
            *start = sum;
        }
        let mut next = starts.clone();
        let mut of_rows = vec![0; sum as usize];
        for at in named {
            for &row in image.rows_of_graph(at) {
                budget::tick();
                if let Some(place) = next.get_mut(row as usize)
                    && let Some(graph) = of_rows.get_mut(*place as usize)
                {
                    *graph = at as u32;
                    *place += 1;
                }
            }
        }
        // From here on it belongs to the graph.
        budget::release(memory);
        Self {
            starts,
            graphs: of_rows,
        }
    }

    pub(super) fn of_row(&self, row: u32) -> &[u32] {
        let range = self.starts.get(row as usize..).and_then(|rest| match rest {
            [start, end, ..] => self.graphs.get(*start as usize..*end as usize),
            _ => None,
        });
        range.unwrap_or(&[])
    }
}

/// The rows of a set of rows that match a pattern.
pub(super) enum RowsOf<'a> {
    /// Tests each row of the set.
    Scan(Scan<'a>),
    /// Tests whether each row that matches the pattern is in the set.
    Filter {
        image: &'a Image,
        set: &'a [u32],
        rows: PatternRows<'a>,
    },
}

impl<'a> RowsOf<'a> {
    /// `set` is sorted.
    pub(super) fn new(image: &'a Image, set: &'a [u32], pattern: [Option<u32>; 3]) -> Self {
        let [s, p, o] = pattern;
        if let Some(s) = s {
            let range = image.row_range(s, p);
            let place = |row: usize| set.partition_point(|&own| (own as usize) < row);
            let set = set.get(place(range.start)..place(range.end));
            return Self::Scan(Scan::new(image, set.unwrap_or(&[]), pattern));
        }
        let rows = PatternRows::matching(image, None, p, o);
        if set.len() <= rows.len() {
            Self::Scan(Scan::new(image, set, pattern))
        } else {
            Self::Filter { image, set, rows }
        }
    }
}

impl Iterator for RowsOf<'_> {
    type Item = [u32; 3];

    fn next(&mut self) -> Option<[u32; 3]> {
        match self {
            Self::Scan(scan) => scan.next(),
            Self::Filter { image, set, rows } => rows.find(|&[s, p, o]| {
                budget::tick();
                let row = image.row_of(s, p, o);
                row.is_some_and(|row| set.binary_search(&row).is_ok())
            }),
        }
    }
}

/// Reads the rows of a set in order.
pub(super) struct Scan<'a> {
    image: &'a Image,
    set: &'a [u32],
    pattern: [Option<u32>; 3],
    /// The subject of the last row, and the row after its last one.
    subject: u32,
    end: u32,
}

impl<'a> Scan<'a> {
    pub(super) fn new(image: &'a Image, set: &'a [u32], pattern: [Option<u32>; 3]) -> Self {
        let (subject, end) = match pattern[0] {
            Some(subject) => (subject, NONE),
            None => (0, 0),
        };
        Self {
            image,
            set,
            pattern,
            subject,
            end,
        }
    }
}

impl Iterator for Scan<'_> {
    type Item = [u32; 3];

    fn next(&mut self) -> Option<[u32; 3]> {
        let [_, wanted_p, wanted_o] = self.pattern;
        loop {
            let (&row, rest) = self.set.split_first()?;
            self.set = rest;
            budget::tick();
            let column = |section| self.image.ids(section).get(row as usize).copied();
            let (p, o) = (column(Section::SpoP)?, column(Section::SpoO)?);
            if wanted_p.is_some_and(|wanted| wanted != p)
                || wanted_o.is_some_and(|wanted| wanted != o)
            {
                continue;
            }
            if row >= self.end {
                let starts = self.image.ids(Section::SpoStarts);
                let after = starts.partition_point(|&start| start <= row);
                self.subject = after.checked_sub(1)? as u32;
                self.end = starts.get(after).copied()?;
            }
            return Some([self.subject, p, o]);
        }
    }
}
