//! Cancelling a question: a flag that any thread may set, and a deadline.
//!
//! Long work holds a [`Cancel`] and calls [`Cancel::check`] between its pieces. Clones share the
//! flag, so the caller keeps one and gives away another:
//!
//! ```
//! use common::cancel::{Cancel, Cancelled};
//! use std::time::Duration;
//!
//! let cancel = Cancel::default().within(Duration::from_secs(60));
//! let question = cancel.clone();
//! let worker = std::thread::spawn(move || loop {
//!     if let Err(cancelled) = question.check() {
//!         return cancelled;
//!     }
//!     std::thread::yield_now();
//! });
//! cancel.cancel();
//! assert_eq!(worker.join().ok(), Some(Cancelled::Asked));
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Items of a list between two looks at the clock.
const ITEMS: usize = 64;

/// When work has to end: when [`Cancel::cancel`] is called on this value or a clone, or at a
/// deadline. By default there is no deadline.
#[derive(Clone, Debug, Default)]
pub struct Cancel {
    flag: Arc<AtomicBool>,
    /// The deadline, and the time that was allowed, for the message.
    until: Option<(Instant, Duration)>,
}

/// Why work ended before it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Cancelled {
    /// The flag was set.
    #[error("the question was cancelled")]
    Asked,
    /// The deadline has passed.
    #[error("the question ran past its deadline of {limit:?}")]
    Deadline {
        /// The time that was allowed.
        limit: Duration,
    },
}

impl Cancel {
    /// A cancel whose flag is `flag`.
    #[must_use]
    pub fn on(flag: Arc<AtomicBool>) -> Self {
        Self { flag, until: None }
    }

    /// The same flag, with a deadline `limit` from now. An earlier deadline stays.
    #[must_use]
    pub fn within(&self, limit: Duration) -> Self {
        self.until(Instant::now().checked_add(limit), limit)
    }

    /// The same flag, with a deadline at this time if there is one; `limit` is the time that was
    /// allowed in all, for the message. An earlier deadline stays.
    #[must_use]
    pub fn until(&self, at: Option<Instant>, limit: Duration) -> Self {
        let later = at.map(|at| (at, limit));
        let until = match (self.until, later) {
            (Some(a), Some(b)) => Some(if b.0 < a.0 { b } else { a }),
            (a, b) => a.or(b),
        };
        Self {
            flag: Arc::clone(&self.flag),
            until,
        }
    }

    /// Cancels the work that holds this value or a clone of it.
    pub fn cancel(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// Whether the work may go on. A call takes some tens of nanoseconds.
    ///
    /// # Errors
    /// [`Cancelled`] if the flag is set or the deadline has passed.
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.flag.load(Ordering::Relaxed) {
            return Err(Cancelled::Asked);
        }
        match self.until {
            Some((at, limit)) if Instant::now() >= at => Err(Cancelled::Deadline { limit }),
            _ => Ok(()),
        }
    }

    /// [`Self::check`] before the item at this place of a list whose items take microseconds: only
    /// some of them look at the clock.
    ///
    /// # Errors
    /// Those of [`Self::check`].
    pub fn check_item(&self, at: usize) -> Result<(), Cancelled> {
        if at.is_multiple_of(ITEMS) {
            return self.check();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_the_flag_and_the_earlier_deadline_counts() {
        let hour = Duration::from_secs(3600);
        let cancel = Cancel::default();
        assert_eq!(cancel.within(hour).check(), Ok(()));
        let past = cancel.within(Duration::ZERO).within(hour);
        let limit = Duration::ZERO;
        assert_eq!(past.check(), Err(Cancelled::Deadline { limit }));
        assert_eq!(cancel.within(Duration::MAX).check(), Ok(()));
        let clone = cancel.within(hour);
        cancel.cancel();
        assert_eq!(clone.check(), Err(Cancelled::Asked));
    }
}
