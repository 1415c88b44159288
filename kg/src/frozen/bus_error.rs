//! Files that are cut short while they are mapped.
//!
//! A read beyond the end raises SIGBUS, which ends the process without a message. No library call
//! can return an error instead, so the handler here prints a message before the process ends. Label
//! indexes and models are mapped too, so the message also covers them.

/// The message before the process ends.
#[cfg(unix)]
const MESSAGE: &str = "error: a file in use (a graph, its label index or a model) was cut short, or its disk failed; \
                       restore it, or load or train it again\n";

/// The exit status of errors of the command line.
#[cfg(unix)]
const STATUS: i32 = 2;

/// Installs the handler that prints the message.
#[cfg(unix)]
pub(super) fn explain() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        // SAFETY: all fields of `sigaction` may be zero. The handler has the signature that
        // SA_SIGINFO asks for, and calls only functions that a signal handler may call. On failure
        // the old handler stays.
        #[allow(unsafe_code)]
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = end as *const () as libc::sighandler_t;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut());
        }
    });
}

#[cfg(not(unix))]
pub(super) fn explain() {}

/// Ends the process. If the cause is not a file, restores the default: the fault happens again and
/// ends the process.
#[cfg(unix)]
extern "C" fn end(_signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the system passes a valid `info`; `write`, `_exit` and `signal` may be called in a
    // signal handler.
    #[allow(unsafe_code)]
    unsafe {
        if (*info).si_code == libc::BUS_ADRERR {
            libc::write(libc::STDERR_FILENO, MESSAGE.as_ptr().cast(), MESSAGE.len());
            libc::_exit(STATUS);
        }
        libc::signal(libc::SIGBUS, libc::SIG_DFL);
    }
}
