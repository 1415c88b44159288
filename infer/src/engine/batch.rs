//! Steps of several sessions taken together, so that the weights are read once for all of them.
//!
//! Sessions live on threads of their own and wait here when they have tokens to run. As soon as all of them wait (or [`PATIENCE`] has passed), the
//! one that noticed takes a step for everybody: the rows of all go through the layers as one block. Who finishes a question goes on to the
//! next while the others decode. What a session gets does not depend on whom it shared a step with, so nothing here needs an order.
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::cache::KvCache;
use super::llama::{PREFILL_ROWS, Scratch, Segment};
use super::{Engine, EngineError};

/// How long a step waits for sessions that are busy with something else, from the end of the step before: who waited during that one would otherwise
/// never share a step with those who were in it.
const PATIENCE: Duration = Duration::from_millis(2);

/// Where sessions of one engine meet.
pub struct Batch {
    engine: Engine,
    /// The threads that multiply.
    pool: rayon::ThreadPool,
    desk: Mutex<Desk>,
    changed: Condvar,
}

#[derive(Default)]
struct Desk {
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
    scratch: Scratch,
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
    /// A step with it did not come to its end.
    failed: bool,
}

impl Batch {
    /// A meeting place for sessions of `engine`; products run on `threads` threads of its own.
    ///
    /// # Errors
    /// When the threads cannot be started.
    pub fn new(engine: &Engine, threads: usize) -> Result<Arc<Self>, EngineError> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|error| EngineError::Config(error.to_string()))?;
        Ok(Arc::new(Self { engine: engine.clone(), pool, desk: Mutex::default(), changed: Condvar::new() }))
    }

    /// Whose sessions meet here.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One step for requests that together have at most [`PREFILL_ROWS`] rows, or for the first of them.
    fn step(&self, requests: &mut [Request], scratch: &mut Scratch) {
        let mut room = PREFILL_ROWS;
        let mut segments = Vec::with_capacity(requests.len());
        for request in requests {
            let rows = (request.ids.len() - request.fed).min(room);
            if rows == 0 {
                break;
            }
            room -= rows;
            let ids = &request.ids[request.fed..request.fed + rows];
            request.fed += rows;
            request.cache.reserve(request.cache.len() + rows);
            let logits = (request.every || request.fed == request.ids.len()).then_some(&mut request.logits);
            segments.push(Segment { ids, cache: &mut request.cache, logits, every: request.every });
        }
        self.pool.install(|| self.engine.model().block(&mut segments, scratch));
    }
}

/// A session's place in a batch; given up when it is dropped.
pub(crate) struct Seat(Arc<Batch>);

/// Puts the desk in order if a step panics, so that nobody waits for ever.
struct Step<'a> {
    batch: &'a Batch,
    requests: Vec<Request>,
    scratch: Scratch,
    whole: bool,
}

impl Drop for Step<'_> {
    fn drop(&mut self) {
        let mut desk = self.batch.desk();
        desk.stepping = false;
        desk.ended = Some(Instant::now());
        desk.scratch = std::mem::take(&mut self.scratch);
        for mut request in self.requests.drain(..) {
            request.failed = !self.whole;
            if request.failed || request.fed == request.ids.len() {
                desk.done.push(request);
            } else {
                desk.waiting.push(request);
            }
        }
        self.batch.changed.notify_all();
    }
}

impl Seat {
    pub(crate) fn take(batch: &Arc<Batch>) -> Self {
        batch.desk().seats += 1;
        Self(Arc::clone(batch))
    }

    /// Runs `ids`, which have been checked, after what `cache` holds; `logits` gets what follows the last of them, or `every` one.
    pub(crate) fn run(&self, ids: &[u32], every: bool, cache: &mut KvCache, logits: &mut Vec<f32>) -> Result<(), EngineError> {
        let batch = &*self.0;
        let mut desk = batch.desk();
        let ticket = desk.next_ticket;
        desk.next_ticket += 1;
        logits.clear();
        let taken = (std::mem::replace(cache, batch.engine.model().cache()), std::mem::take(logits));
        let since = Instant::now();
        desk.waiting.push(Request { ticket, ids: ids.to_vec(), every, fed: 0, cache: taken.0, logits: taken.1, since, failed: false });
        loop {
            if let Some(at) = desk.done.iter().position(|request| request.ticket == ticket) {
                let request = desk.done.swap_remove(at);
                (*cache, *logits) = (request.cache, request.logits);
                return if request.failed { Err(EngineError::Batch) } else { Ok(()) };
            }
            let oldest = desk.waiting.iter().map(|request| request.since.elapsed()).max().unwrap_or_default();
            let waited = desk.ended.map_or(oldest, |ended| oldest.min(ended.elapsed()));
            if desk.stepping || (desk.waiting.len() < desk.seats && waited < PATIENCE) {
                let wait = if desk.stepping { Duration::from_secs(1) } else { PATIENCE - waited };
                desk = batch.changed.wait_timeout(desk, wait).unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            // Short ones first: whoever decodes is not held up by whoever reads a prompt.
            desk.stepping = true;
            let mut requests = std::mem::take(&mut desk.waiting);
            requests.sort_by_key(|request| (request.ids.len() - request.fed, request.ticket));
            let scratch = std::mem::take(&mut desk.scratch);
            drop(desk);
            let mut step = Step { batch, requests, scratch, whole: false };
            let Step { requests, scratch, .. } = &mut step;
            batch.step(requests, scratch);
            step.whole = true;
            drop(step);
            desk = batch.desk();
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.desk().seats -= 1;
        self.0.changed.notify_all();
    }
}
