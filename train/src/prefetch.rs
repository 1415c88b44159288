//! Work of the host that is done on a thread of its own before it is asked for.

use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

/// How many results wait at most: one is being used while the next is ready, and memory stays bounded.
const WAITING: usize = 2;

/// Gives `work` what `make` makes of the items, in their order. It is made while `work` does something else, by one thread, which ends when `work` asks
/// for no more. A panic of `make` is passed on.
pub(crate) fn ahead<I, T: Send, R>(
    items: impl Iterator<Item = I> + Send,
    make: impl Fn(I) -> T + Send,
    work: impl FnOnce(Receiver<T>) -> R,
) -> R {
    thread::scope(|scope| {
        let (ready, made) = sync_channel(WAITING);
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
    fn results_come_in_order_and_no_more_are_made_than_may_wait() {
        let made = AtomicUsize::new(0);
        let make = |n: usize| {
            made.fetch_add(1, Ordering::SeqCst);
            n * n
        };
        let all: Vec<usize> = ahead(0..1000, make, |made| made.iter().collect());
        assert_eq!(all, (0..1000).map(|n| n * n).collect::<Vec<_>>());
        made.store(0, Ordering::SeqCst);
        let some: Vec<usize> = ahead(0..1000, make, |made| made.iter().take(5).collect());
        assert_eq!(some, [0, 1, 4, 9, 16]);
        // Those taken, those waiting, and one that nobody takes any more.
        assert!(made.load(Ordering::SeqCst) <= 5 + WAITING + 1, "{made:?}");
    }

    /// Nobody asks, and still the next results come to be.
    #[test]
    fn the_next_results_are_made_while_the_work_goes_on() {
        let made = AtomicUsize::new(0);
        let make = |_| made.fetch_add(1, Ordering::SeqCst);
        let end = Instant::now() + Duration::from_secs(60);
        ahead(0..1000, make, |asked| {
            while made.load(Ordering::SeqCst) <= WAITING {
                assert!(
                    Instant::now() < end,
                    "nothing is made before it is asked for"
                );
                thread::yield_now();
            }
            drop(asked);
        });
    }

    #[test]
    #[should_panic(expected = "a scoped thread panicked")]
    fn a_panic_is_passed_on() {
        let make = |n: usize| assert!(n < 3, "no more");
        assert_eq!(ahead(0..10, make, |made| made.iter().count()), 3);
    }
}
