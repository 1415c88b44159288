//! Lookups in the three orders of the triples. Every lookup returns slices of the file; unknown ids
//! give empty slices.

use std::ops::Range;

use super::image::Image;
use super::layout::Section;

/// First step of the galloping search.
const WALK: usize = 8;

/// The range of values equal to `value` in a sorted column.
fn equal(column: &[u32], value: u32) -> Range<usize> {
    let start = column.partition_point(|&v| v < value);
    start..start + run(&column[start..], value)
}

/// Length of the run of `value` at the start of a sorted column, found in logarithmic time.
fn run(column: &[u32], value: u32) -> usize {
    let mut step = WALK;
    let mut known = 0;
    // Galloping search: most runs are short, but those of hubs are very long.
    while known + step <= column.len() && column[known + step - 1] == value {
        known += step;
        step *= 2;
    }
    let end = column.len().min(known + step);
    known + column[known..end].partition_point(|&v| v == value)
}

/// The distinct values of a sorted column.
pub(super) fn distinct(mut column: &[u32]) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let &first = column.first()?;
        // Advances by at least one, even in a damaged file.
        column = &column[run(column, first).max(1)..];
        Some(first)
    })
}

impl Image {
    /// The rows of entry `at` of a list of starts, in two columns.
    #[inline]
    fn rows(&self, starts: Section, at: usize, columns: [Section; 2]) -> [&[u32]; 2] {
        let range = self.range(starts, at);
        columns.map(|column| self.ids(column).get(range.clone()).unwrap_or(&[]))
    }

    /// The rows of entry `at` of a list of starts; empty if out of range.
    pub(super) fn range(&self, starts: Section, at: usize) -> Range<usize> {
        match self.ids(starts).get(at..).unwrap_or(&[]) {
            [start, end, ..] => *start as usize..*end as usize,
            _ => 0..0,
        }
    }

    /// Relations and objects of a subject's rows.
    #[inline]
    pub(super) fn out_edges(&self, s: u32) -> [&[u32]; 2] {
        self.rows(
            Section::SpoStarts,
            s as usize,
            [Section::SpoP, Section::SpoO],
        )
    }

    /// Relations and subjects of an object's rows.
    #[inline]
    pub(super) fn in_edges(&self, o: u32) -> [&[u32]; 2] {
        self.rows(
            Section::OpsStarts,
            o as usize,
            [Section::OpsP, Section::OpsS],
        )
    }

    /// Objects and subjects of a relation's rows.
    #[inline]
    pub(super) fn pairs(&self, p: u32) -> [&[u32]; 2] {
        match self.ids(Section::Relations).binary_search(&p) {
            Ok(at) => self.rows(Section::PosStarts, at, [Section::PosO, Section::PosS]),
            Err(_) => [&[], &[]],
        }
    }

    /// Objects of a subject and relation.
    #[inline]
    pub(super) fn tails(&self, s: u32, p: u32) -> &[u32] {
        let [relations, objects] = self.out_edges(s);
        objects.get(equal(relations, p)).unwrap_or(&[])
    }

    /// Subjects of a relation and object.
    #[inline]
    pub(super) fn heads(&self, p: u32, o: u32) -> &[u32] {
        let [relations, subjects] = self.in_edges(o);
        subjects.get(equal(relations, p)).unwrap_or(&[])
    }

    pub(super) fn has(&self, s: u32, p: u32, o: u32) -> bool {
        self.tails(s, p).binary_search(&o).is_ok()
    }

    /// The rows of the graph at this place in the list of named graphs.
    pub(super) fn rows_of_graph(&self, at: usize) -> &[u32] {
        let rows = self.ids(Section::GraphRows);
        rows.get(self.range(Section::GraphStarts, at))
            .unwrap_or(&[])
    }

    /// The places in SPO order of a subject's rows, or of those with one relation.
    pub(super) fn row_range(&self, s: u32, p: Option<u32>) -> Range<usize> {
        let all = self.range(Section::SpoStarts, s as usize);
        let Some(p) = p else { return all };
        let own = equal(self.out_edges(s)[0], p);
        all.start + own.start..all.start + own.end
    }

    /// The place of a triple in SPO order.
    pub(super) fn row_of(&self, s: u32, p: u32, o: u32) -> Option<u32> {
        let at = self.tails(s, p).binary_search(&o).ok()?;
        u32::try_from(self.row_range(s, Some(p)).start + at).ok()
    }

    /// All rows as subject, relation and object, in this order.
    pub(super) fn triples(&self) -> impl Iterator<Item = [u32; 3]> + '_ {
        (0..self.header.resources).flat_map(move |s| {
            let [relations, objects] = self.out_edges(s);
            relations.iter().zip(objects).map(move |(&p, &o)| [s, p, o])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_every_length_are_found() {
        for before in [0, 1, 9] {
            for length in 0..70 {
                for after in [0, 1, 20] {
                    let mut column = vec![1; before];
                    column.extend(vec![5; length]);
                    column.extend(vec![7; after]);
                    assert_eq!(equal(&column, 5), before..before + length);
                    let values: Vec<u32> = distinct(&column).collect();
                    let mut want = column.clone();
                    want.dedup();
                    assert_eq!(values, want);
                }
            }
        }
    }

    #[test]
    fn searches_of_unsorted_columns_terminate() {
        assert!(distinct(&[3, 1, 3, 3, 0]).count() <= 5);
        assert!(equal(&[9, 1, 5, 5, 2], 5).end <= 5);
    }
}
