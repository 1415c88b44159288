//! Progress of a stage on standard error: a bar on a terminal, otherwise a plain line every half
//! minute.

use std::fmt::Write;
use std::io::IsTerminal;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::clean::clean_value;
use super::notice;
use super::table::clock;

/// Time between two plain lines.
const INTERVAL: Duration = Duration::from_secs(30);

/// No estimate of the time left.
const UNKNOWN: u64 = u64::MAX;

/// The time left: the stage's own estimate, or the bar's.
fn left_of(own: &AtomicU64, of_bar: Duration) -> u64 {
    match own.load(Ordering::Relaxed) {
        UNKNOWN => of_bar.as_secs(),
        own => own,
    }
}

/// The progress display of one stage; dropping it ends the plain lines.
pub(crate) struct StageProgress {
    bar: ProgressBar,
    /// The seconds left as the stage estimates them; [`UNKNOWN`] if it does not.
    left: Arc<AtomicU64>,
    /// Closed on drop, which ends the thread that writes plain lines.
    _reporter: Option<Sender<()>>,
}

impl Deref for StageProgress {
    type Target = ProgressBar;

    fn deref(&self) -> &ProgressBar {
        &self.bar
    }
}

impl StageProgress {
    pub(super) fn new(stage: &str, unit: &str, total: Option<u64>) -> Self {
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
        let template = match total {
            Some(_) => "{prefix:<12} {bar:30} {human_pos}/{human_len} {msg} {left} left",
            None => "{prefix:<12} {spinner} {human_pos} {msg}",
        };
        let left = Arc::new(AtomicU64::new(UNKNOWN));
        if let Ok(style) = ProgressStyle::with_template(template) {
            let own = Arc::clone(&left);
            let shown = move |state: &ProgressState, out: &mut dyn Write| {
                // A bar that cannot be written to is of no use anyway.
                let _ = out.write_str(&clock(left_of(&own, state.eta())));
            };
            bar.set_style(style.with_key("left", shown));
        }
        bar.set_prefix(clean_value(stage).into_owned());
        if std::io::stderr().is_terminal() {
            bar.enable_steady_tick(Duration::from_millis(200));
            return Self {
                bar,
                left,
                _reporter: None,
            };
        }
        let reporter = report(bar.clone(), Arc::clone(&left), unit.to_owned());
        Self {
            bar,
            left,
            _reporter: Some(reporter),
        }
    }

    /// Shows this time left instead of the bar's estimate, which takes all steps for equal.
    pub(crate) fn set_left(&self, seconds: f64) {
        // A float beyond the range becomes the largest number, which is [`UNKNOWN`].
        self.left.store(seconds.round() as u64, Ordering::Relaxed);
    }
}

/// Writes a plain line every [`INTERVAL`] until the bar is finished or the sender is dropped.
fn report(bar: ProgressBar, left: Arc<AtomicU64>, unit: String) -> Sender<()> {
    let (sender, receiver) = channel::<()>();
    std::thread::spawn(move || {
        while receiver.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout)
            && !bar.is_finished()
        {
            let message = bar.message();
            let snapshot = Snapshot {
                stage: &bar.prefix(),
                unit: &unit,
                done: bar.position(),
                total: bar.length(),
                message: message.trim_end_matches(','),
                elapsed: bar.elapsed().as_secs(),
                left: left_of(&left, bar.eta()),
            };
            notice(&snapshot.line());
        }
    });
    sender
}

/// The state of a stage at one moment; times are in seconds.
struct Snapshot<'a> {
    stage: &'a str,
    unit: &'a str,
    done: u64,
    total: Option<u64>,
    message: &'a str,
    elapsed: u64,
    /// Zero if unknown.
    left: u64,
}

impl Snapshot<'_> {
    /// The plain line: `train  step 400 of 1865, loss 0.41, 2:10 elapsed, about 7:30 left`.
    fn line(&self) -> String {
        let mut line = format!("{}  ", self.stage);
        match self.total {
            Some(total) => {
                let _ = write!(line, "{} {} of {total}, ", self.unit, self.done);
            }
            None if self.done > 0 => {
                let _ = write!(line, "{} {}s, ", self.done, self.unit);
            }
            None => {}
        }
        if !self.message.is_empty() {
            let _ = write!(line, "{}, ", self.message);
        }
        let _ = write!(line, "{} elapsed", clock(self.elapsed));
        if self.left > 0 && self.total.is_some() {
            let _ = write!(line, ", about {} left", clock(self.left));
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_line_says_what_is_done_and_what_is_left() {
        let training = Snapshot {
            stage: "train",
            unit: "step",
            done: 400,
            total: Some(1865),
            message: "loss 0.41",
            elapsed: 130,
            left: 450,
        };
        assert_eq!(
            training.line(),
            "train  step 400 of 1865, loss 0.41, 2:10 elapsed, about 7:30 left"
        );
        let loading = Snapshot {
            stage: "load",
            unit: "triple",
            done: 12_000,
            total: None,
            message: "",
            elapsed: 30,
            left: 0,
        };
        assert_eq!(loading.line(), "load  12000 triples, 0:30 elapsed");
        let writing = Snapshot { done: 0, ..loading };
        assert_eq!(writing.line(), "load  0:30 elapsed");
    }
}
