//! The time and the memory of the query that this thread evaluates.
//!
//! The evaluator has no limits, so everything that it calls counts here: terms, rows, texts. When a
//! limit is passed, [`resume_unwind`] returns to the caller of the evaluator; it runs no panic hook
//! and prints nothing.

use std::cell::{Cell, RefCell};
use std::panic::resume_unwind;
use std::time::Instant;

use common::cancel::Cancel;

use super::query::QueryLimits;
use crate::limits::QUERY_TEXT;

/// Ticks between two checks of the limits, about 10 microseconds of work.
const TICKS: u32 = 1024;

/// Why an evaluation was unwound.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StopReason {
    /// The deadline has passed.
    Deadline,
    /// The query was cancelled.
    Cancelled,
    /// The query builds a text longer than [`QUERY_TEXT`].
    Text,
    /// The query holds more than its memory.
    Memory,
}

/// The counters of a thread.
struct QueryBudget {
    deadline: Cell<Option<Instant>>,
    tick: Cell<u32>,
    /// Maximum memory in bytes; `None` if no query runs, or if it has been stopped.
    memory: Cell<Option<usize>>,
    /// Number of terms.
    terms: Cell<usize>,
    /// Memory that is counted for a term: that of a row in which it is the only value.
    term: Cell<usize>,
    /// Bytes of everything else.
    held: Cell<usize>,
}

thread_local! {
    static BUDGET: QueryBudget = const {
        QueryBudget {
            deadline: Cell::new(None),
            tick: Cell::new(0),
            memory: Cell::new(None),
            terms: Cell::new(0),
            term: Cell::new(0),
            held: Cell::new(0),
        }
    };

    /// What cancels the queries of this thread.
    static CANCEL: RefCell<Option<Cancel>> = const { RefCell::new(None) };
}

impl QueryBudget {
    /// Lifts all limits.
    fn end(&self) {
        self.memory.set(None);
        self.deadline.set(None);
    }

    fn stop(&self, why: StopReason) -> ! {
        // Destructors that run while unwinding must not stop a second time.
        self.end();
        resume_unwind(Box::new(why))
    }

    #[inline]
    fn tick(&self) {
        let left = self.tick.get();
        if left > 0 {
            self.tick.set(left - 1);
        } else {
            self.look();
        }
    }

    #[cold]
    fn look(&self) {
        self.tick.set(TICKS);
        let deadline = self.deadline.get();
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            self.stop(StopReason::Deadline);
        }
        // Work that no query needs, such as destructors, is not stopped.
        let running = self.memory.get().is_some();
        if running && is_cancelled() {
            self.stop(StopReason::Cancelled);
        }
        self.check();
    }

    fn check(&self) {
        let rows = self.terms.get().saturating_mul(self.term.get());
        let used = rows.saturating_add(self.held.get());
        if self.memory.get().is_some_and(|most| used > most) {
            self.stop(StopReason::Memory);
        }
    }
}

fn is_cancelled() -> bool {
    let check = |cancel: &Cancel| cancel.check().is_err();
    CANCEL.with_borrow(|cancel| cancel.as_ref().is_some_and(check))
}

/// Runs an evaluation with limits on this thread. `term` is the memory of a row with one term.
pub(crate) fn limited<T>(limits: QueryLimits, term: usize, evaluate: impl FnOnce() -> T) -> T {
    BUDGET.with(|budget| {
        budget
            .deadline
            .set(Instant::now().checked_add(limits.deadline));
        budget.memory.set(Some(limits.memory));
        budget.term.set(term);
        for counter in [&budget.terms, &budget.held] {
            counter.set(0);
        }
        budget.tick.set(0);
    });
    let result = evaluate();
    BUDGET.with(QueryBudget::end);
    result
}

/// Runs `work`; the queries that it evaluates on this thread end when `cancel` says so.
pub fn cancelled_by<T>(cancel: &Cancel, work: impl FnOnce() -> T) -> T {
    /// Puts the outer one back, even if `work` panics.
    struct Outer(Option<Cancel>);
    impl Drop for Outer {
        fn drop(&mut self) {
            CANCEL.set(self.0.take());
        }
    }
    let _outer = Outer(CANCEL.replace(Some(cancel.clone())));
    work()
}

/// Counts one unit of work.
#[inline]
pub(crate) fn tick() {
    BUDGET.with(QueryBudget::tick);
}

/// Counts terms that come together, as one unit of work.
#[inline]
pub(crate) fn hold_terms(count: usize) {
    BUDGET.with(|budget| {
        budget.terms.set(budget.terms.get().wrapping_add(count));
        budget.tick();
    });
}

/// Gives back one of the terms that [`hold_terms`] counted.
#[inline]
pub(crate) fn release_term() {
    BUDGET.with(|budget| budget.terms.set(budget.terms.get().wrapping_sub(1)));
}

/// Counts memory in bytes.
pub(crate) fn hold(bytes: usize) {
    BUDGET.with(|budget| {
        budget.held.set(budget.held.get().wrapping_add(bytes));
        budget.check();
    });
}

/// Gives back what [`hold`] counted.
pub(crate) fn release(bytes: usize) {
    BUDGET.with(|budget| budget.held.set(budget.held.get().wrapping_sub(bytes)));
}

/// Stops at a text of this many bytes if it is too long.
pub(crate) fn text(bytes: usize) {
    BUDGET.with(|budget| {
        if bytes > QUERY_TEXT && budget.memory.get().is_some() {
            budget.stop(StopReason::Text);
        }
    });
}
