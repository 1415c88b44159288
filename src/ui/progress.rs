//! Progress of a stage on standard error: a bar on a terminal, otherwise a plain line every half
//! minute.

use std::fmt::Write as _;
use std::io::IsTerminal;
use std::ops::Deref;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::clean::clean_value;
use super::notice;
use super::table::clock;

/// Time between two plain lines.
const INTERVAL: Duration = Duration::from_secs(30);

/// The progress display of one stage; dropping it ends the plain lines.
pub(crate) struct StageProgress {
    bar: ProgressBar,
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
            Some(_) => "{prefix:<12} {bar:30} {human_pos}/{human_len} {msg} {eta} left",
            None => "{prefix:<12} {spinner} {human_pos} {msg}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_prefix(clean_value(stage).into_owned());
        if std::io::stderr().is_terminal() {
            bar.enable_steady_tick(Duration::from_millis(200));
            return Self {
                bar,
                _reporter: None,
            };
        }
        let reporter = report(bar.clone(), unit.to_owned());
        Self {
            bar,
            _reporter: Some(reporter),
        }
    }
}

/// Writes a plain line every [`INTERVAL`] until the bar is finished or the sender is dropped.
fn report(bar: ProgressBar, unit: String) -> Sender<()> {
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
                left: bar.eta().as_secs(),
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
