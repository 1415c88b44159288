//! Keeps panics of a library that reads foreign files from ending the process.
//!
//! The library for tokenizers indexes and unwraps the content of a `tokenizer.json`, so a bad file
//! makes it panic. Every call that depends on the content of such a file goes through [`guarded`].

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is in a guarded call, whose panic becomes an error. A panic hook checks this
/// to leave out the message.
#[must_use]
pub fn is_guarded() -> bool {
    GUARDED.get()
}

/// The result of `work`, or the message of its panic.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    let before = GUARDED.replace(true);
    // Nothing of what `work` borrows is used after a panic: the callers return the error.
    let done = catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(before);
    done.map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        text.or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_default()
    })
}
