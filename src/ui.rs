//! What a person sees: progress bars on the error stream, tables and JSON on the output.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How a command talks.
pub(crate) struct Ui {
    json: bool,
    stop: Arc<AtomicBool>,
}

impl Ui {
    /// Text, or one JSON object.
    pub(crate) fn new(json: bool) -> Self {
        Self {
            json,
            stop: Arc::new(AtomicBool::new(false)),
        }
    }

    /// Whether only JSON goes to the output.
    pub(crate) fn json(&self) -> bool {
        self.json
    }

    /// Set when the user interrupts; long work finishes its step, keeps what can be gone on from and returns.
    pub(crate) fn stop(&self) -> &AtomicBool {
        &self.stop
    }

    /// Makes Ctrl-C and a termination request set [`Ui::stop`] instead of ending the process; a second one ends it.
    pub(crate) fn catch_interrupts(&self) -> anyhow::Result<()> {
        let stop = Arc::clone(&self.stop);
        ctrlc::set_handler(move || {
            if stop.swap(true, Ordering::SeqCst) {
                std::process::exit(130);
            }
            eprintln!("interrupted: ending what is under way (once more to stop at once)");
        })?;
        Ok(())
    }

    /// A line for people; silent under `--json`.
    pub(crate) fn say(&self, text: impl AsRef<str>) {
        if !self.json {
            line(text.as_ref());
        }
    }

    /// A warning, on the error stream.
    pub(crate) fn warn(&self, text: &str) {
        eprintln!("kgagent: warning: {text}");
    }

    /// The result for machines; silent without `--json`.
    pub(crate) fn object(&self, value: &serde_json::Value) {
        if self.json {
            line(&value.to_string());
        }
    }

    /// A bar over `total` items, or a counter where the total is not known. Drawn on the error stream of a terminal only.
    pub(crate) fn bar(&self, total: Option<u64>, what: &str) -> ProgressBar {
        let bar = match total {
            Some(total) => ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr()),
            None => ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()),
        };
        let template = match total {
            Some(_) => "{prefix:<12} {bar:30} {human_pos}/{human_len} {msg} {eta} left",
            None => "{prefix:<12} {spinner} {human_pos} {msg}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_prefix(what.to_owned());
        bar.enable_steady_tick(Duration::from_millis(200));
        bar
    }

    /// A table: the first row is its head; columns are as wide as their widest cell, numbers stand right.
    pub(crate) fn table(&self, rows: &[Vec<String>]) {
        self.say(table(rows));
    }
}

/// Prints a line. A reader that has gone away (`kgagent … | head`) is no reason to fail.
fn line(text: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// A table as text.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let numeric =
        |cell: &str| cell.starts_with(|c: char| c.is_ascii_digit()) && !cell.contains(' ');
    let mut text = String::new();
    for (i, row) in rows.iter().enumerate() {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(column, (cell, width))| {
                if column > 0 && (numeric(cell) || i == 0) {
                    format!("{cell:>width$}")
                } else {
                    format!("{cell:<width$}")
                }
            })
            .collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
        if i == 0 {
            text.push_str(
                &widths
                    .iter()
                    .map(|width| "-".repeat(*width))
                    .collect::<Vec<_>>()
                    .join("  "),
            );
            text.push('\n');
        }
    }
    text.trim_end().to_owned()
}

/// Seconds for people.
pub(crate) fn seconds(seconds: f64) -> String {
    if seconds < 60.0 {
        format!("{seconds:.1} s")
    } else {
        format!("{}:{:02} min", seconds as u64 / 60, seconds as u64 % 60)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_stand_right() {
        let rows = vec![
            vec!["what".to_owned(), "n".to_owned()],
            vec!["a".to_owned(), "100".to_owned()],
            vec!["bcdef".to_owned(), "7".to_owned()],
        ];
        assert_eq!(
            super::table(&rows),
            "what     n\n-----  ---\na      100\nbcdef    7"
        );
    }
}
