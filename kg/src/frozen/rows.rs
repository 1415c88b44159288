//! Runs of triples, sorted one at a time and then merged. With a work file the runs are on disk.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};

use rayon::prelude::*;

use super::spool::{Spool, SpoolReader, WorkFile};

/// Subject, relation, object and graph; the first three may be in another order.
pub(crate) type Row = [u32; 4];

/// Rows per read.
const BATCH: usize = 1 << 12;

/// The triples of one chunk with local ids, and the map from local ids to ids of the graph.
#[derive(Debug)]
pub(super) struct RowRun {
    pub rows: SpoolReader,
    pub count: usize,
    /// The id in the graph of each local id, as bytes of `u32`.
    pub ids: SpoolReader,
    pub terms: usize,
}

/// These rows as a run that can be merged with others.
pub(super) fn run(rows: &[Row]) -> io::Result<RowRun> {
    let ids: BTreeSet<u32> = rows
        .iter()
        .flat_map(|row| row[..3].iter().copied())
        .collect();
    let ids: Vec<u32> = ids.into_iter().collect();
    let local = |id: u32| ids.binary_search(&id).unwrap_or(0) as u32;
    let (mut all, mut of_rows) = (Spool::new(None), Spool::new(None));
    all.write_all(bytemuck::cast_slice(&ids))?;
    for &[s, p, o, graph] in rows {
        of_rows.write_all(bytemuck::cast_slice(&[local(s), local(p), local(o), graph]))?;
    }
    Ok(RowRun {
        rows: of_rows.reader()?,
        count: rows.len(),
        ids: all.reader()?,
        terms: ids.len(),
    })
}

fn unknown_term() -> io::Error {
    io::Error::other("a run names a term it does not have")
}

fn read_ids(reader: &mut SpoolReader, count: usize) -> io::Result<Vec<u32>> {
    let mut ids = vec![0_u32; count];
    reader.rewind();
    reader.read_exact(bytemuck::cast_slice_mut(&mut ids))?;
    Ok(ids)
}

/// Reads rows one after the other.
#[derive(Debug)]
struct RowReader {
    reader: SpoolReader,
    left: usize,
    batch: Vec<Row>,
    at: usize,
}

impl RowReader {
    fn new(mut reader: SpoolReader, count: usize) -> io::Result<Self> {
        reader.rewind();
        Ok(Self {
            reader,
            left: count,
            batch: Vec::new(),
            at: 0,
        })
    }

    fn next(&mut self) -> io::Result<Option<Row>> {
        if self.at == self.batch.len() {
            let take = self.left.min(BATCH);
            if take == 0 {
                return Ok(None);
            }
            self.batch.resize(take, [0; 4]);
            self.reader
                .read_exact(bytemuck::cast_slice_mut(&mut self.batch))?;
            self.left -= take;
            self.at = 0;
        }
        self.at += 1;
        Ok(self.batch.get(self.at - 1).copied())
    }
}

impl RowRun {
    /// Calls `each` for every row with ids of the graph, in the order of the input. Graphs keep their numbers.
    pub(super) fn scan(&mut self, mut each: impl FnMut(Row)) -> io::Result<()> {
        let ids = read_ids(&mut self.ids, self.terms)?;
        self.rows.rewind();
        let mut batch: Vec<Row> = Vec::new();
        let mut left = self.count;
        while left > 0 {
            batch.resize(left.min(BATCH), [0; 4]);
            self.rows.read_exact(bytemuck::cast_slice_mut(&mut batch))?;
            left -= batch.len();
            for &[s, p, o, graph] in &batch {
                let id = |local: u32| ids.get(local as usize).copied().ok_or_else(unknown_term);
                each([id(s)?, id(p)?, id(o)?, graph]);
            }
        }
        Ok(())
    }

    /// The rows with ids of the graph and columns in `order`, sorted, without duplicates.
    fn sorted(
        &mut self,
        order: [usize; 3],
        graphs: &[u32],
        work: Option<&WorkFile>,
    ) -> io::Result<RowReader> {
        let ids = read_ids(&mut self.ids, self.terms)?;
        let mut rows: Vec<Row> = vec![[0; 4]; self.count];
        self.rows.rewind();
        self.rows.read_exact(bytemuck::cast_slice_mut(&mut rows))?;
        let id = |local: u32| ids.get(local as usize).copied().ok_or_else(unknown_term);
        for row in &mut rows {
            let [a, b, c] = order.map(|at| row[at]);
            let graph = graphs.get(row[3] as usize).copied().unwrap_or(0);
            *row = [id(a)?, id(b)?, id(c)?, graph];
        }
        drop(ids);
        rows.par_sort_unstable();
        rows.dedup();
        let count = rows.len();
        let mut spool = Spool::new(work);
        spool.write_all(bytemuck::cast_slice(&rows))?;
        RowReader::new(spool.reader()?, count)
    }
}

/// Calls `each` for every distinct row of all runs, sorted, with columns in `order`. `graphs` maps
/// the graph numbers.
pub(super) fn merge(
    runs: &mut [RowRun],
    order: [usize; 3],
    graphs: &[u32],
    work: Option<&WorkFile>,
    mut each: impl FnMut(Row) -> io::Result<()>,
) -> io::Result<()> {
    let readers: io::Result<Vec<RowReader>> = match work {
        // One run at a time saves memory; all threads sort it.
        Some(_) => runs
            .iter_mut()
            .map(|run| run.sorted(order, graphs, work))
            .collect(),
        None => runs
            .par_iter_mut()
            .map(|run| run.sorted(order, graphs, None))
            .collect(),
    };
    let mut readers = readers?;
    let mut heads: Vec<(Row, usize)> = Vec::new();
    for (i, reader) in readers.iter_mut().enumerate() {
        if let Some(row) = reader.next()? {
            heads.push((row, i));
        }
    }
    let mut heap: std::collections::BinaryHeap<_> =
        heads.into_iter().map(std::cmp::Reverse).collect();
    let mut last = None;
    while let Some(mut top) = heap.peek_mut() {
        let (row, i) = top.0;
        match readers[i].next()? {
            Some(next) => *top = std::cmp::Reverse((next, i)),
            None => {
                std::collections::binary_heap::PeekMut::pop(top);
            }
        }
        if last != Some(row) {
            each(row)?;
            last = Some(row);
        }
    }
    Ok(())
}
