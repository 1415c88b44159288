//! The worker pool: plain threads that take jobs from a bounded queue.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

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
    /// Starts `workers` threads with a queue of `queue` jobs.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub(crate) fn start(workers: usize, queue: usize) -> std::io::Result<Self> {
        let (jobs, taken) = sync_channel(queue);
        let taken = Arc::new(Mutex::new(taken));
        let waiting = Arc::new(AtomicUsize::new(0));
        let running = Arc::new(AtomicUsize::new(0));
        for number in 0..workers.max(1) {
            let (taken, waiting) = (Arc::clone(&taken), Arc::clone(&waiting));
            let running = Arc::clone(&running);
            std::thread::Builder::new()
                .name(format!("answer-{number}"))
                .spawn(move || work(&taken, &waiting, &running))?;
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

fn work(jobs: &Mutex<Receiver<Job>>, waiting: &AtomicUsize, running: &AtomicUsize) {
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        running.fetch_add(1, Ordering::Relaxed);
        waiting.fetch_sub(1, Ordering::Relaxed);
        // A job that panics drops its reply, which its asker notices.
        let _ = catch_unwind(AssertUnwindSafe(job));
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
        let pool = Pool::start(1, 1).unwrap();
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
}
