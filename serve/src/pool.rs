//! The worker pool: plain threads that take jobs from a bounded queue.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

/// Jobs that may wait however few threads there are: one person's burst, such as the page's comparison
/// of three agents or a few calls of an assistant.
const LEAST_QUEUE: usize = 4;

/// Work for one thread of the pool.
pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// The queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueueFull;

/// Threads and their queue. Jobs in the queue are done even if the pool is dropped.
pub(crate) struct Pool {
    jobs: SyncSender<Job>,
    waiting: Arc<AtomicUsize>,
    running: Arc<AtomicUsize>,
}

impl Pool {
    /// Starts `workers` threads with a queue of `queue` jobs; by default as many jobs may wait as there
    /// are threads, so that waiting takes about as long as one answer, but at least [`LEAST_QUEUE`].
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub(crate) fn start(workers: usize, queue: Option<usize>) -> std::io::Result<Self> {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self::start_on(cores, workers, queue)
    }

    /// [`start`](Self::start) for this number of cores.
    fn start_on(cores: usize, workers: usize, queue: Option<usize>) -> std::io::Result<Self> {
        let (jobs, taken) = sync_channel(queue.unwrap_or(workers.max(LEAST_QUEUE)));
        let taken = Arc::new(Mutex::new(taken));
        let waiting = Arc::new(AtomicUsize::new(0));
        let running = Arc::new(AtomicUsize::new(0));
        for number in 0..workers.max(1) {
            let (taken, waiting) = (Arc::clone(&taken), Arc::clone(&waiting));
            let running = Arc::clone(&running);
            let name = move |_| format!("answer-{number}-alone");
            let alone = ThreadPoolBuilder::new().num_threads(1).thread_name(name);
            let cores = Cores {
                number: cores,
                alone: alone.build().map_err(std::io::Error::other)?,
            };
            std::thread::Builder::new()
                .name(format!("answer-{number}"))
                .spawn(move || work(&taken, &waiting, &running, &cores))?;
        }
        Ok(Self {
            jobs,
            waiting,
            running,
        })
    }

    /// Queues a job.
    ///
    /// # Errors
    /// [`QueueFull`].
    pub(crate) fn submit(&self, job: Job) -> Result<(), QueueFull> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        self.jobs.try_send(job).map_err(|error| {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            match error {
                TrySendError::Full(_) | TrySendError::Disconnected(_) => QueueFull,
            }
        })
    }

    /// Jobs that wait for a thread.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Jobs that a thread works on.
    pub(crate) fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }
}

/// How many cores a job uses. While a core is free, a job splits its large products over the threads
/// that all jobs share. When every core has a job, that would only cost changes of threads (a fifth of
/// the answers a second), so the job then keeps to one thread.
struct Cores {
    number: usize,
    /// One thread; a job in it splits nothing.
    alone: ThreadPool,
}

impl Cores {
    /// Does a job; `running` is the number of jobs with this one.
    fn run(&self, running: usize, job: Job) {
        if running < self.number {
            job();
        } else {
            self.alone.install(job);
        }
    }
}

fn work(jobs: &Mutex<Receiver<Job>>, waiting: &AtomicUsize, running: &AtomicUsize, cores: &Cores) {
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        let now = running.fetch_add(1, Ordering::Relaxed) + 1;
        waiting.fetch_sub(1, Ordering::Relaxed);
        // A job that panics drops its reply, which its asker notices.
        let _ = catch_unwind(AssertUnwindSafe(|| cores.run(now, job)));
        running.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_full_queue_refuses_and_a_panic_costs_one_job_only() {
        let pool = Pool::start(1, Some(1)).unwrap();
        let (begun, has_begun) = channel();
        let (go, gone) = channel::<()>();
        pool.submit(Box::new(move || {
            begun.send(()).unwrap();
            gone.recv().unwrap();
            panic!("this job fails");
        }))
        .unwrap();
        has_begun.recv().unwrap();
        let (done, is_done) = channel();
        pool.submit(Box::new(move || done.send(7).unwrap()))
            .unwrap();
        assert_eq!((pool.running(), pool.waiting()), (1, 1));
        assert_eq!(pool.submit(Box::new(|| ())), Err(QueueFull));
        go.send(()).unwrap();
        assert_eq!(is_done.recv(), Ok(7));
    }

    #[test]
    fn a_job_splits_its_work_only_while_a_core_is_free() {
        let pool = Pool::start_on(2, 2, None).unwrap();
        let (told, tells) = channel();
        let gate = Arc::new(Mutex::new(()));
        let closed = gate.lock().unwrap();
        let threads = || {
            let (told, gate) = (told.clone(), Arc::clone(&gate));
            let job = move || {
                told.send(rayon::current_thread_index().map(|_| rayon::current_num_threads()))
                    .unwrap();
                drop(gate.lock());
            };
            pool.submit(Box::new(job)).unwrap();
            tells.recv().unwrap()
        };
        assert_eq!(threads(), None, "the threads that all share");
        assert_eq!(threads(), Some(1));
        drop(closed);
    }

    /// The number of jobs that wait at most while all threads are busy.
    fn default_queue(workers: usize) -> usize {
        let pool = Pool::start(workers, None).unwrap();
        let gate = Arc::new(Mutex::new(()));
        let closed = gate.lock().unwrap();
        let (begun, has_begun) = channel();
        for _ in 0..workers {
            let (begun, gate) = (begun.clone(), Arc::clone(&gate));
            let job = move || {
                begun.send(()).unwrap();
                drop(gate.lock());
            };
            pool.submit(Box::new(job)).unwrap();
            has_begun.recv().unwrap();
        }
        while pool.submit(Box::new(|| ())).is_ok() {}
        let waiting = pool.waiting();
        drop(closed);
        waiting
    }

    #[test]
    fn as_many_jobs_wait_as_there_are_threads_but_a_small_burst_always_may() {
        let found = [1, 2, 4, 16].map(|workers| (workers, default_queue(workers)));
        assert_eq!(found, [(1, 4), (2, 4), (4, 4), (16, 16)]);
    }
}
