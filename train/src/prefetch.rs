//! Preparing items on a background thread before they are needed.

use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

/// Limit of prepared items, which bounds memory.
const CAPACITY: usize = 2;

/// Runs `work` with the results of `make` for the items, in order. A background thread prepares
/// them while `work` runs, and ends when `work` drops the receiver. Propagates a panic of `make`.
pub(crate) fn prefetch<I, T: Send, R>(
    items: impl Iterator<Item = I> + Send,
    make: impl Fn(I) -> T + Send,
    work: impl FnOnce(Receiver<T>) -> R,
) -> R {
    thread::scope(|scope| {
        let (ready, made) = sync_channel(CAPACITY);
        scope.spawn(move || items.map(make).try_for_each(|one| ready.send(one)));
        work(made)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn results_are_in_order_and_within_capacity() {
        let made = AtomicUsize::new(0);
        let make = |n: usize| {
            made.fetch_add(1, Ordering::SeqCst);
            n * n
        };
        let all: Vec<usize> = prefetch(0..1000, make, |made| made.iter().collect());
        assert_eq!(all, (0..1000).map(|n| n * n).collect::<Vec<_>>());
        made.store(0, Ordering::SeqCst);
        let some: Vec<usize> = prefetch(0..1000, make, |made| made.iter().take(5).collect());
        assert_eq!(some, [0, 1, 4, 9, 16]);
        // The items received, the items prepared, and one that waits to be sent.
        assert!(made.load(Ordering::SeqCst) <= 5 + CAPACITY + 1, "{made:?}");
    }

    #[test]
    fn results_are_prepared_without_a_request() {
        let made = AtomicUsize::new(0);
        let make = |_| made.fetch_add(1, Ordering::SeqCst);
        let end = Instant::now() + Duration::from_secs(60);
        prefetch(0..1000, make, |results| {
            while made.load(Ordering::SeqCst) <= CAPACITY {
                assert!(
                    Instant::now() < end,
                    "nothing is prepared without a request"
                );
                thread::yield_now();
            }
            drop(results);
        });
    }

    #[test]
    #[should_panic(expected = "a scoped thread panicked")]
    fn a_panic_is_propagated() {
        let make = |n: usize| assert!(n < 3, "no more");
        assert_eq!(prefetch(0..10, make, |made| made.iter().count()), 3);
    }
}
