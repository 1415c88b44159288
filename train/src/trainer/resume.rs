//! Continuing an interrupted run.

use std::fs;

use super::run::TrainingRun;
use crate::TrainError;
use crate::checkpoint::{self, CheckpointState, difference};
use crate::progress::{TrainEvent, TrainProgress};

impl TrainingRun<'_> {
    /// Continues from the newest valid checkpoint, if `resume` is set.
    ///
    /// # Errors
    /// When the checkpoint belongs to another run, or when there are checkpoints and `resume` is
    /// not set.
    pub(super) fn resume(&mut self, progress: &mut dyn TrainProgress) -> Result<(), TrainError> {
        if !self.config.resume {
            return checkpoint::clear(&self.partial);
        }
        checkpoint::sweep(&self.partial);
        let mut damaged = Vec::new();
        for (step, path) in checkpoint::list(&self.partial) {
            let (state, weights, optimizer) = match checkpoint::load(&path) {
                Ok(loaded) => loaded,
                Err(error) => {
                    progress.event(&TrainEvent::Note(format!(
                        "skipping the damaged {}: {error}",
                        path.display()
                    )));
                    damaged.push((step, path));
                    continue;
                }
            };
            if let Some(other) = difference(&state, &self.state) {
                return Err(TrainError::Another {
                    checkpoint: path,
                    other,
                });
            }
            let first = &mut self.replicas[0];
            first.model.load(&weights)?;
            self.optimizer.load(&optimizer, state.step, &first.device)?;
            self.copy_weights();
            for line in state.metrics.lines() {
                if let Ok(report) = serde_json::from_str(line) {
                    self.reports.push(report);
                } else if let Ok(validation) = serde_json::from_str(line) {
                    self.validations.push(validation);
                }
            }
            progress.event(&TrainEvent::Note(format!(
                "continuing after step {} from {}",
                state.step,
                path.display()
            )));
            let program = self.config.program.clone();
            if program != state.program {
                progress.event(&TrainEvent::Note(
                    "another build of kgagent wrote this checkpoint: the model may differ from that \
                     of either build alone"
                        .to_owned(),
                ));
            }
            self.state = CheckpointState { program, ..state };
            for (step, path) in damaged {
                // Renamed, so that it does not count as one of the checkpoints to keep.
                let _ = fs::rename(path, self.partial.join(format!("damaged-{step}")));
            }
            return Ok(());
        }
        progress.event(&TrainEvent::Note(
            "there is no checkpoint; starting from the beginning".to_owned(),
        ));
        Ok(())
    }
}
