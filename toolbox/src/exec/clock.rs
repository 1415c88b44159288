//! The time that is left for the calls of a question.

use std::time::{Duration, Instant};

use super::error::ToolError;
use common::cancel::Cancel;

/// Units of work between two readings of the clock, about a millisecond.
const TICKS: u32 = 1024;

/// Counts work until a deadline.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    /// `None` means no deadline.
    until: Option<Instant>,
    /// The deadline of the whole question, for the message.
    limit: Duration,
    /// Ends the work early.
    cancel: Cancel,
    ticks: u32,
}

impl Clock {
    /// A clock that never stops.
    pub(super) fn endless() -> Self {
        Self {
            until: None,
            limit: Duration::ZERO,
            cancel: Cancel::default(),
            ticks: TICKS,
        }
    }

    /// A clock that stops after `left` of `limit`, or when the question is cancelled.
    pub(super) fn new(left: Duration, limit: Duration, cancel: Cancel) -> Self {
        Self {
            until: Instant::now().checked_add(left),
            limit,
            cancel,
            ticks: TICKS,
        }
    }

    /// The same deadline for work that looks at a [`Cancel`].
    pub(super) fn over(&self, cancel: &Cancel) -> Cancel {
        cancel.until(self.until, self.limit)
    }

    /// Counts one unit of work.
    ///
    /// # Errors
    /// [`ToolError::Deadline`] if the time is over, [`ToolError::Cancelled`] if the question is
    /// cancelled.
    pub(crate) fn tick(&mut self) -> Result<(), ToolError> {
        self.ticks -= 1;
        if self.ticks > 0 {
            return Ok(());
        }
        self.ticks = TICKS;
        self.cancel.check()?;
        match self.until {
            Some(until) if Instant::now() >= until => {
                Err(ToolError::Deadline { limit: self.limit })
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_stops_when_its_time_is_over() {
        let limit = Duration::from_secs(30);
        let ticks = |mut clock: Clock| (0..2 * TICKS).try_for_each(|_| clock.tick());
        assert_eq!(
            ticks(Clock::new(Duration::ZERO, limit, Cancel::default())),
            Err(ToolError::Deadline { limit })
        );
        // Reading the clock costs more than a unit of work, so few units do not read it.
        let mut over = Clock::new(Duration::ZERO, limit, Cancel::default());
        assert_eq!((1..TICKS).try_for_each(|_| over.tick()), Ok(()));
        assert!(over.tick().is_err());
        assert_eq!(ticks(Clock::new(limit, limit, Cancel::default())), Ok(()));
        assert_eq!(ticks(Clock::endless()), Ok(()));
        let cancel = Cancel::default();
        cancel.cancel();
        assert!(matches!(
            ticks(Clock::new(limit, limit, cancel)),
            Err(ToolError::Cancelled(_))
        ));
    }
}
