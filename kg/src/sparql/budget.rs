//! The time and the memory of the query that this thread evaluates.
//!
//! The evaluator has no limits, so everything that it calls counts here: terms, rows, texts. What
//! passes a limit unwinds to the caller of the evaluator with [`resume_unwind`], which runs no
//! panic hook and prints nothing.

use std::cell::Cell;
use std::panic::resume_unwind;
use std::time::Instant;

use super::query::QueryLimits;
use crate::limits::QUERY_TEXT;

/// Ticks between two looks at the limits, about 10 microseconds of work.
const TICKS: u32 = 1024;

/// Why an evaluation was unwound.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StopReason {
    /// The deadline has passed.
    Deadline,
    /// The query builds a text longer than [`QUERY_TEXT`].
    Text,
    /// The query holds more than its memory.
    Memory,
}

thread_local! {
    static DEADLINE: Cell<Option<Instant>> = const { Cell::new(None) };
    static TICK: Cell<u32> = const { Cell::new(0) };
    /// Maximum of [`HELD`]; `None` if no query runs, or if it has been stopped.
    static MEMORY: Cell<Option<usize>> = const { Cell::new(None) };
    static HELD: Cell<usize> = const { Cell::new(0) };
}

/// Runs an evaluation with limits on this thread.
pub(crate) fn limited<T>(limits: QueryLimits, evaluate: impl FnOnce() -> T) -> T {
    DEADLINE.set(Instant::now().checked_add(limits.deadline));
    TICK.set(0);
    HELD.set(0);
    MEMORY.set(Some(limits.memory));
    let result = evaluate();
    end();
    result
}

/// Lifts all limits.
fn end() {
    MEMORY.set(None);
    DEADLINE.set(None);
}

fn stop(why: StopReason) -> ! {
    // Destructors that run while unwinding must not stop a second time.
    end();
    resume_unwind(Box::new(why))
}

/// Counts one unit of work.
pub(crate) fn tick() {
    let left = TICK.get();
    if left > 0 {
        TICK.set(left - 1);
        return;
    }
    TICK.set(TICKS);
    if DEADLINE
        .get()
        .is_some_and(|deadline| Instant::now() >= deadline)
    {
        stop(StopReason::Deadline);
    }
    check();
}

fn check() {
    if MEMORY.get().is_some_and(|most| HELD.get() > most) {
        stop(StopReason::Memory);
    }
}

/// Counts memory that [`release`] gives back. The limit is noticed at a later [`tick`].
pub(crate) fn hold(bytes: usize) {
    HELD.set(HELD.get().wrapping_add(bytes));
}

/// Gives back what [`hold`] counted.
pub(crate) fn release(bytes: usize) {
    HELD.set(HELD.get().wrapping_sub(bytes));
}

/// Counts memory that may be large.
pub(crate) fn hold_now(bytes: usize) {
    hold(bytes);
    check();
}

/// Stops at a text of this many bytes if it is too long.
pub(crate) fn text(bytes: usize) {
    if bytes > QUERY_TEXT && MEMORY.get().is_some() {
        stop(StopReason::Text);
    }
}
