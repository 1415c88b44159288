//! User interface: text and tables or one JSON object on standard output, progress and warnings on
//! standard error.

mod clean;
mod progress;
mod table;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use self::clean::clean_json;
pub(crate) use self::clean::{clean, clean_value};
pub(crate) use self::progress::StageProgress;
pub(crate) use self::table::{header, row, seconds, table};

/// The output of a command.
pub(crate) struct Ui {
    json: bool,
    stop: Arc<AtomicBool>,
}

impl Ui {
    /// Prints text, or one JSON object if `json` is set.
    pub(crate) fn new(json: bool) -> Self {
        Self {
            json,
            stop: Arc::new(AtomicBool::new(false)),
        }
    }

    /// Whether standard output carries JSON only.
    pub(crate) fn json(&self) -> bool {
        self.json
    }

    /// Set when the user interrupts. Long work then finishes its step, saves what can be resumed
    /// and returns.
    pub(crate) fn stop(&self) -> &AtomicBool {
        &self.stop
    }

    /// Makes Ctrl-C and a termination request set [`Ui::stop`] instead of ending the process; the
    /// second one ends it.
    pub(crate) fn catch_interrupts(&self) -> anyhow::Result<()> {
        self.catch_signals(None)
    }

    /// As [`catch_interrupts`](Self::catch_interrupts), but SIGHUP sets the result.
    pub(crate) fn catch_interrupts_and_reloads(&self) -> anyhow::Result<Arc<AtomicBool>> {
        let reload = Arc::new(AtomicBool::new(false));
        self.catch_signals(Some(Arc::clone(&reload)))?;
        Ok(reload)
    }

    fn catch_signals(&self, reload: Option<Arc<AtomicBool>>) -> anyhow::Result<()> {
        let stop = Arc::clone(&self.stop);
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
        let watch = move || {
            for signal in signals.forever() {
                if let (SIGHUP, Some(reload)) = (signal, &reload) {
                    reload.store(true, Ordering::SeqCst);
                    continue;
                }
                if stop.swap(true, Ordering::SeqCst) {
                    std::process::exit(130);
                }
                notice("interrupted: finishing the current step (interrupt again to stop at once)");
            }
        };
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(watch)?;
        Ok(())
    }

    /// Prints a line for people; silent under `--json`.
    pub(crate) fn say(&self, text: impl AsRef<str>) {
        self.say_marked(&clean(text.as_ref()));
    }

    /// [`Ui::say`] for a text that contains our own escape sequences; its other parts must be
    /// [`clean`].
    pub(crate) fn say_marked(&self, text: &str) {
        if !self.json {
            line(text);
        }
    }

    /// Prints a warning on standard error.
    pub(crate) fn warn(&self, text: &str) {
        notice(&format!("kgagent: warning: {text}"));
    }

    /// Prints the result for machines; silent without `--json`.
    pub(crate) fn object(&self, value: &serde_json::Value) {
        if self.json {
            line(&clean_json(&value.to_string()));
        }
    }

    /// Starts the progress display of a stage that works on `total` units, or on an unknown number.
    pub(crate) fn progress(&self, stage: &str, unit: &str, total: Option<u64>) -> StageProgress {
        StageProgress::new(stage, unit, total)
    }

    /// Prints a table whose first row is the head; see [`table`].
    pub(crate) fn table(&self, rows: &[Vec<String>]) {
        self.say(table(rows));
    }
}

/// Prints a line for people on standard error.
pub(crate) fn notice(text: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{}", clean(text));
}

/// Prints a line. A closed pipe (`kgagent … | head`) is not an error.
fn line(text: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stdout(), "{text}");
}
