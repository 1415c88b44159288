//! Steps of several sessions taken together, so that the weights are read once for all of them.
//!
//! Sessions live on threads of their own and wait here when they have tokens to run. As soon as all of them wait (or [`PATIENCE`] has passed), the
//! one that noticed takes a step for everybody: the rows of all go through the layers as one block, or as one a thread (see [`share`]). Who
//! finishes a question goes on to the next while the others decode. What a session gets does not depend on whom it shared a step with, so nothing
//! here needs an order.
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::cache::KvCache;
use super::llama::{Scratch, Segment};
use super::{Engine, EngineError};
use rayon::prelude::*;

/// How long a step waits for sessions that are busy with something else, from the end of the step before: who waited during that one would otherwise
/// never share a step with those who were in it.
const PATIENCE: Duration = Duration::from_millis(2);

/// Rows from which on a thread takes conversations of its own: with fewer, reading all weights takes longer than multiplying with them.
const ROWS_APIECE: usize = 4;

/// Where sessions of one engine meet.
pub struct Batch {
    engine: Engine,
    /// The threads that multiply.
    pool: rayon::ThreadPool,
    desk: Mutex<BatchQueue>,
    changed: Condvar,
}

#[derive(Default)]
struct BatchQueue {
    /// Sessions there are.
    seats: usize,
    /// What is waiting for a step.
    waiting: Vec<Request>,
    /// What a step has finished and its session has not taken yet.
    done: Vec<Request>,
    /// Whether somebody is taking a step, and when the last one ended.
    stepping: bool,
    ended: Option<Instant>,
    next_ticket: u64,
    scratch: Vec<Scratch>,
}

/// Tokens on their way through the model, with the state of their session.
struct Request {
    ticket: u64,
    ids: Vec<u32>,
    /// Whether the logits after every one of them are wanted.
    every: bool,
    /// How many of them are in the cache.
    fed: usize,
    cache: KvCache,
    logits: Vec<f32>,
    since: Instant,
    /// Why a step with it did not come to its end.
    failed: Option<String>,
}

impl Batch {
    /// A meeting place for sessions of `engine`; products run on `threads` threads of its own.
    ///
    /// # Errors
    /// When the threads cannot be started.
    pub fn new(engine: &Engine, threads: usize) -> Result<Arc<Self>, EngineError> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .map_err(|error| EngineError::Config(error.to_string()))?;
        Ok(Arc::new(Self {
            engine: engine.clone(),
            pool,
            desk: Mutex::default(),
            changed: Condvar::new(),
        }))
    }

    /// Whose sessions meet here.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    fn desk(&self) -> MutexGuard<'_, BatchQueue> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One step for as many requests as there is room for, each thread with conversations of its own where that is fair.
    fn step(
        &self,
        requests: &mut [Request],
        scratch: &mut Vec<Scratch>,
    ) -> Result<(), EngineError> {
        let model = self.engine.model();
        // A device takes one block after the other.
        let threads = if self.engine.is_on_device() {
            1
        } else {
            self.pool.current_num_threads()
        };
        let waiting: Vec<usize> = requests
            .iter()
            .map(|request| request.ids.len() - request.fed)
            .collect();
        let shares = share(&waiting, threads, model.rows());
        scratch.resize_with(scratch.len().max(shares.len()), Scratch::default);
        let mut blocks: Vec<Vec<Segment<'_>>> = shares
            .iter()
            .map(|share| Vec::with_capacity(share.len()))
            .collect();
        for (r, request) in requests.iter_mut().enumerate() {
            let place = shares.iter().enumerate().find_map(|(s, share)| {
                share
                    .iter()
                    .find(|(at, _)| *at == r)
                    .map(|(_, rows)| (s, *rows))
            });
            let Some((share, rows)) = place else { continue };
            let ids = &request.ids[request.fed..request.fed + rows];
            request.fed += rows;
            request.cache.reserve(request.cache.len() + rows);
            let logits =
                (request.every || request.fed == request.ids.len()).then_some(&mut request.logits);
            blocks[share].push(Segment {
                ids,
                cache: &mut request.cache,
                logits,
                every: request.every,
            });
        }
        self.pool.install(|| match &mut blocks[..] {
            [all] => model.block(all, &mut scratch[0], rayon::current_num_threads()),
            blocks => blocks
                .par_iter_mut()
                .zip(scratch)
                .with_max_len(1)
                .try_for_each(|(block, scratch)| model.block(block, scratch, 1)),
        })
    }
}

/// Which of the requests, given by the rows they wait for (few first), take part in a step, and with how many rows: as `(request, rows)`, one list
/// a thread where all threads get about as much and enough for the products' tiles, else one list for all of them. No list has more rows than `room`.
///
/// A thread that has conversations of its own takes them through all layers without waiting for another, and nothing is done by one thread for all.
fn share(waiting: &[usize], threads: usize, room: usize) -> Vec<Vec<(usize, usize)>> {
    let fill = |groups: usize| {
        let mut shares = vec![Vec::new(); groups];
        let mut taken = vec![0; groups];
        for (request, &rows) in waiting.iter().enumerate() {
            let least = (0..groups).min_by_key(|&group| taken[group]).unwrap_or(0);
            let rows = rows.min(room - taken[least]);
            if rows == 0 {
                break;
            }
            taken[least] += rows;
            shares[least].push((request, rows));
        }
        (shares, taken)
    };
    let (shares, taken) = fill(threads);
    let (most, least) = (
        taken.iter().max().copied().unwrap_or(0),
        taken.iter().min().copied().unwrap_or(0),
    );
    if threads > 1 && least >= ROWS_APIECE && 4 * (most - least) <= most {
        shares
    } else {
        fill(1).0
    }
}

/// A session's place in a batch; given up when it is dropped.
pub(crate) struct BatchSlot(Arc<Batch>);

/// Puts the desk in order if a step panics, so that nobody waits for ever.
struct Step<'a> {
    batch: &'a Batch,
    requests: Vec<Request>,
    scratch: Vec<Scratch>,
    failed: Option<String>,
}

impl Drop for Step<'_> {
    fn drop(&mut self) {
        let mut desk = self.batch.desk();
        desk.stepping = false;
        desk.ended = Some(Instant::now());
        desk.scratch = std::mem::take(&mut self.scratch);
        for mut request in self.requests.drain(..) {
            request.failed.clone_from(&self.failed);
            if request.failed.is_some() || request.fed == request.ids.len() {
                desk.done.push(request);
            } else {
                desk.waiting.push(request);
            }
        }
        self.batch.changed.notify_all();
    }
}

impl BatchSlot {
    pub(crate) fn take(batch: &Arc<Batch>) -> Self {
        batch.desk().seats += 1;
        Self(Arc::clone(batch))
    }

    /// Runs `ids`, which have been checked, after what `cache` holds; `logits` gets what follows the last of them, or `every` one.
    pub(crate) fn run(
        &self,
        ids: &[u32],
        every: bool,
        cache: &mut KvCache,
        logits: &mut Vec<f32>,
    ) -> Result<(), EngineError> {
        let batch = &*self.0;
        let mut desk = batch.desk();
        let ticket = desk.next_ticket;
        desk.next_ticket += 1;
        logits.clear();
        let taken = (
            std::mem::replace(cache, batch.engine.model().cache()),
            std::mem::take(logits),
        );
        let since = Instant::now();
        desk.waiting.push(Request {
            ticket,
            ids: ids.to_vec(),
            every,
            fed: 0,
            cache: taken.0,
            logits: taken.1,
            since,
            failed: None,
        });
        loop {
            if let Some(at) = desk
                .done
                .iter()
                .position(|request| request.ticket == ticket)
            {
                let request = desk.done.swap_remove(at);
                (*cache, *logits) = (request.cache, request.logits);
                return request
                    .failed
                    .map_or(Ok(()), |failed| Err(EngineError::Batch(failed)));
            }
            let oldest = desk
                .waiting
                .iter()
                .map(|request| request.since.elapsed())
                .max()
                .unwrap_or_default();
            let waited = desk
                .ended
                .map_or(oldest, |ended| oldest.min(ended.elapsed()));
            if desk.stepping || (desk.waiting.len() < desk.seats && waited < PATIENCE) {
                let wait = if desk.stepping {
                    Duration::from_secs(1)
                } else {
                    PATIENCE - waited
                };
                desk = batch
                    .changed
                    .wait_timeout(desk, wait)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0;
                continue;
            }
            // Short ones first: whoever decodes is not held up by whoever reads a prompt.
            desk.stepping = true;
            let mut requests = std::mem::take(&mut desk.waiting);
            requests.sort_by_key(|request| (request.ids.len() - request.fed, request.ticket));
            let scratch = std::mem::take(&mut desk.scratch);
            drop(desk);
            let mut step = Step {
                batch,
                requests,
                scratch,
                failed: Some("another thread ended".to_owned()),
            };
            let Step {
                requests, scratch, ..
            } = &mut step;
            step.failed = batch
                .step(requests, scratch)
                .err()
                .map(|error| error.to_string());
            drop(step);
            desk = batch.desk();
        }
    }
}

impl Drop for BatchSlot {
    fn drop(&mut self) {
        self.0.desk().seats -= 1;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::super::llama::PREFILL_ROWS;
    use super::*;

    #[test]
    fn shares_are_fair_and_leave_nobody_out_who_has_room() {
        let share = |waiting: &[usize], threads| share(waiting, threads, PREFILL_ROWS);
        // Sixteen who decode, on two threads and on four; on eight each would have too little.
        assert_eq!(
            share(&[1; 16], 2).iter().map(Vec::len).collect::<Vec<_>>(),
            [8, 8]
        );
        assert_eq!(
            share(&[1; 16], 4).iter().map(Vec::len).collect::<Vec<_>>(),
            [4; 4]
        );
        assert_eq!(share(&[1; 16], 8).len(), 1);
        // One thread, one conversation, or one that is much longer than the others: all together.
        assert_eq!(share(&[1; 16], 1).len(), 1);
        assert_eq!(share(&[300], 2), [[(0, PREFILL_ROWS)]]);
        assert_eq!(share(&[1, 1, 1, 60], 2).len(), 1);
        // Prompts are cut where the room ends, each thread having its own.
        assert_eq!(share(&[64; 5], 2), [[(0, 64), (2, 32)], [(1, 64), (3, 32)]]);
        for seed in 0..200usize {
            let mut waiting: Vec<usize> = (0..1 + seed % 19)
                .map(|i| 1 + (seed * 31 + i * 17) % (1 + seed))
                .collect();
            waiting.sort_unstable();
            for threads in 1..6 {
                let shares = share(&waiting, threads);
                assert!(shares.len() == 1 || shares.len() == threads);
                let rows =
                    |share: &[(usize, usize)]| share.iter().map(|(_, rows)| rows).sum::<usize>();
                assert!(
                    shares
                        .iter()
                        .all(|share| !share.is_empty() && rows(share) <= PREFILL_ROWS)
                );
                let mut taken: Vec<(usize, usize)> = shares.concat();
                taken.sort_unstable();
                // The first of them, whole but where a thread's room ends.
                assert!(taken.iter().enumerate().all(
                    |(at, (request, rows))| at == *request && (1..=waiting[at]).contains(rows)
                ));
                assert!(
                    taken.len() == waiting.len()
                        || shares.iter().any(|share| rows(share) == PREFILL_ROWS)
                );
            }
        }
    }
}
