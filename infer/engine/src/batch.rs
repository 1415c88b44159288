//! Steps shared by several sessions, so that the weights are read once for all of them.
//!
//! Sessions run on separate threads and queue their tokens here. As soon as every session is
//! waiting (or [`PATIENCE`] has passed), the thread that notices runs a step for all: the rows go
//! through the layers as one block, or as one block per thread (see [`divide`]). A session that
//! finishes a question starts the next one while the others decode. A session's result does not
//! depend on which sessions share its steps, so no order has to be kept.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use common::cancel::Cancel;
use rayon::prelude::*;

use crate::cache::KvCache;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::llama::ForwardBuffers;
use crate::segment::TokenSegment;

/// How long a step waits for busy sessions, counted from the end of the previous step. Without it,
/// sessions that waited during a step would never share one with the sessions that were in it.
const PATIENCE: Duration = Duration::from_millis(2);

/// Rows per thread from which conversations are divided between the threads. With fewer, reading
/// all weights takes longer than multiplying with them.
const ROWS_APIECE: usize = 4;

/// Runs the steps of several sessions of one engine together.
pub struct Batch {
    engine: Engine,
    /// The threads that compute.
    pool: rayon::ThreadPool,
    queue: Mutex<BatchQueue>,
    changed: Condvar,
}

#[derive(Default)]
struct BatchQueue {
    /// Number of sessions in the batch.
    sessions: usize,
    /// Waiting for a step.
    waiting: Vec<QueuedTokens>,
    /// Finished, but not yet collected by their session.
    done: Vec<QueuedTokens>,
    /// Whether a thread is running a step, and when the last one ended.
    stepping: bool,
    ended: Option<Instant>,
    next_ticket: u64,
    buffers: Vec<ForwardBuffers>,
}

/// Tokens to run, with the state of their session.
struct QueuedTokens {
    ticket: u64,
    ids: Vec<u32>,
    /// Whether the logits after every token are wanted.
    every: bool,
    /// How many of the tokens are in the cache.
    fed: usize,
    cache: KvCache,
    logits: Vec<f32>,
    since: Instant,
    /// Why the step failed.
    failed: Option<String>,
}

impl Batch {
    /// A batch for sessions of `engine`, computing on `threads` threads.
    ///
    /// # Errors
    /// If the threads cannot be started.
    pub fn new(engine: &Engine, threads: usize) -> Result<Arc<Self>, EngineError> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .map_err(|error| EngineError::Config(error.to_string()))?;
        Ok(Arc::new(Self {
            engine: engine.clone(),
            pool,
            queue: Mutex::default(),
            changed: Condvar::new(),
        }))
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    fn queue(&self) -> MutexGuard<'_, BatchQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs one step for as many requests as fit.
    fn step(
        &self,
        requests: &mut [QueuedTokens],
        buffers: &mut Vec<ForwardBuffers>,
    ) -> Result<(), EngineError> {
        let model = self.engine.backend();
        // A device runs one block at a time.
        let threads = if self.engine.is_on_device() {
            1
        } else {
            self.pool.current_num_threads()
        };
        let waiting: Vec<usize> = requests
            .iter()
            .map(|request| request.ids.len() - request.fed)
            .collect();
        let shares = divide(&waiting, threads, model.block_rows());
        buffers.resize_with(buffers.len().max(shares.len()), ForwardBuffers::default);
        let mut blocks: Vec<Vec<TokenSegment<'_>>> = shares
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
            blocks[share].push(TokenSegment {
                ids,
                cache: &mut request.cache,
                logits,
                every: request.every,
            });
        }
        self.pool.install(|| match &mut blocks[..] {
            [all] => model.block(all, &mut buffers[0], rayon::current_num_threads()),
            blocks => blocks
                .par_iter_mut()
                .zip(buffers)
                .with_max_len(1)
                .try_for_each(|(block, buffers)| model.block(block, buffers, 1)),
        })
    }
}

/// Divides a step between threads. `waiting` holds the rows of each request, shortest first; the
/// result holds `(request, rows)`: one list per thread if the threads get similar numbers of rows
/// and enough of them for the products' tiles, otherwise a single list. No list exceeds `room`
/// rows.
///
/// With one list per thread, threads run all layers without synchronising.
fn divide(waiting: &[usize], threads: usize, room: usize) -> Vec<Vec<(usize, usize)>> {
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

/// A session's membership in a batch, ended by dropping it.
pub(crate) struct BatchSlot(Arc<Batch>);

/// A running step. Dropping it returns the requests to the queue, even if the step panics, so that
/// no session waits forever.
struct RunningStep<'a> {
    batch: &'a Batch,
    requests: Vec<QueuedTokens>,
    buffers: Vec<ForwardBuffers>,
    failed: Option<String>,
}

impl Drop for RunningStep<'_> {
    fn drop(&mut self) {
        let mut queue = self.batch.queue();
        queue.stepping = false;
        queue.ended = Some(Instant::now());
        queue.buffers = std::mem::take(&mut self.buffers);
        for mut request in self.requests.drain(..) {
            request.failed.clone_from(&self.failed);
            if request.failed.is_some() || request.fed == request.ids.len() {
                queue.done.push(request);
            } else {
                queue.waiting.push(request);
            }
        }
        self.batch.changed.notify_all();
    }
}

impl BatchQueue {
    fn push(&mut self, ids: &[u32], every: bool, cache: KvCache, logits: Vec<f32>) -> u64 {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.waiting.push(QueuedTokens {
            ticket,
            ids: ids.to_vec(),
            every,
            fed: 0,
            cache,
            logits,
            since: Instant::now(),
            failed: None,
        });
        ticket
    }

    /// How long to wait before the next step; `None` if it can start now.
    fn wait(&self) -> Option<Duration> {
        if self.stepping {
            return Some(Duration::from_secs(1));
        }
        let oldest = self
            .waiting
            .iter()
            .map(|request| request.since.elapsed())
            .max()
            .unwrap_or_default();
        let waited = self
            .ended
            .map_or(oldest, |ended| oldest.min(ended.elapsed()));
        (self.waiting.len() < self.sessions && waited < PATIENCE).then(|| PATIENCE - waited)
    }
}

impl BatchSlot {
    pub(crate) fn take(batch: &Arc<Batch>) -> Self {
        batch.queue().sessions += 1;
        Self(Arc::clone(batch))
    }

    /// Runs `ids`, which must have been checked, after the tokens in `cache`. `logits` receives the
    /// logits after the last token, or after `every` token. A cancelled request leaves the queue
    /// between two steps.
    pub(crate) fn run(
        &self,
        ids: &[u32],
        every: bool,
        cache: &mut KvCache,
        logits: &mut Vec<f32>,
        cancel: &Cancel,
    ) -> Result<(), EngineError> {
        let batch = &*self.0;
        let mut queue = batch.queue();
        logits.clear();
        let ticket = queue.push(
            ids,
            every,
            std::mem::replace(cache, batch.engine.backend().cache()),
            std::mem::take(logits),
        );
        loop {
            if let Some(at) = queue.done.iter().position(|done| done.ticket == ticket) {
                let request = queue.done.swap_remove(at);
                (*cache, *logits) = (request.cache, request.logits);
                return request
                    .failed
                    .map_or(Ok(()), |failed| Err(EngineError::Batch(failed)));
            }
            if let Err(cancelled) = cancel.check()
                && let Some(at) = queue.waiting.iter().position(|one| one.ticket == ticket)
            {
                let request = queue.waiting.swap_remove(at);
                (*cache, *logits) = (request.cache, request.logits);
                return Err(cancelled.into());
            }
            if let Some(wait) = queue.wait() {
                queue = batch
                    .changed
                    .wait_timeout(queue, wait)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0;
                continue;
            }
            // Short requests first, so that decoding sessions are not held up by long prompts.
            queue.stepping = true;
            let mut requests = std::mem::take(&mut queue.waiting);
            requests.sort_by_key(|request| (request.ids.len() - request.fed, request.ticket));
            let buffers = std::mem::take(&mut queue.buffers);
            drop(queue);
            let mut step = RunningStep {
                batch,
                requests,
                buffers,
                failed: Some("another thread ended".to_owned()),
            };
            let result = batch.step(&mut step.requests, &mut step.buffers);
            step.failed = result.err().map(|error| error.to_string());
            drop(step);
            queue = batch.queue();
        }
    }
}

impl Drop for BatchSlot {
    fn drop(&mut self) {
        self.0.queue().sessions -= 1;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llama::PREFILL_ROWS;

    #[test]
    fn steps_are_divided_evenly_and_leave_no_room_unused() {
        let divide = |waiting: &[usize], threads| divide(waiting, threads, PREFILL_ROWS);
        // Sixteen decoding sessions: two or four threads can divide them, eight would get too few.
        assert_eq!(
            divide(&[1; 16], 2).iter().map(Vec::len).collect::<Vec<_>>(),
            [8, 8]
        );
        assert_eq!(
            divide(&[1; 16], 4).iter().map(Vec::len).collect::<Vec<_>>(),
            [4; 4]
        );
        assert_eq!(divide(&[1; 16], 8).len(), 1);
        // One thread, one conversation, or one far longer than the others: a single block.
        assert_eq!(divide(&[1; 16], 1).len(), 1);
        assert_eq!(divide(&[300], 2), [[(0, PREFILL_ROWS)]]);
        assert_eq!(divide(&[1, 1, 1, 60], 2).len(), 1);
        // Prompts are cut where a thread's room ends.
        assert_eq!(
            divide(&[64; 5], 2),
            [[(0, 64), (2, 32)], [(1, 64), (3, 32)]]
        );
        for seed in 0..200usize {
            let mut waiting: Vec<usize> = (0..1 + seed % 19)
                .map(|i| 1 + (seed * 31 + i * 17) % (1 + seed))
                .collect();
            waiting.sort_unstable();
            for threads in 1..6 {
                let shares = divide(&waiting, threads);
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
                // The first requests, complete except where a thread's room ends.
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
