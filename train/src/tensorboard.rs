//! TensorBoard event files: records of `length, crc, bytes, crc`. Each contains an `Event` in
//! protobuf's wire format; a scalar needs five of its fields.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use crate::progress::{StepReport, Validation};

/// Folder of event files in a run's folder.
pub(crate) const FOLDER: &str = "runs";

/// Writes an event file.
pub(crate) struct EventFile<W> {
    out: W,
    /// Unix time of the start of step 0.
    start: f64,
}

impl EventFile<File> {
    /// Creates a file in `dir` with a name that TensorBoard recognises.
    pub(crate) fn create(dir: &Path, start: f64) -> io::Result<Self> {
        fs::create_dir_all(dir)?;
        let out = File::create(dir.join(format!("events.out.tfevents.{start:.0}.kgagent")))?;
        let mut file = Self { out, start };
        let mut event = Vec::new();
        double(&mut event, 1, start);
        bytes(&mut event, 3, b"brain.Event:2");
        file.record(&event)?;
        Ok(file)
    }
}

impl<W: Write> EventFile<W> {
    /// Writes the scalars of a step.
    pub(crate) fn step(&mut self, report: &StepReport) -> io::Result<()> {
        for (tag, value) in [
            ("train/loss", report.loss),
            ("train/learning_rate", report.rate),
            ("train/gradient_norm", report.norm),
            ("train/tokens_per_second", report.tokens_per_second),
        ] {
            self.scalar(report.seconds, report.step, tag, value)?;
        }
        self.out.flush()
    }

    /// Writes the scalars of a validation `seconds` after the start of step 0.
    pub(crate) fn validation(&mut self, validation: &Validation, seconds: f64) -> io::Result<()> {
        let mut all = vec![
            ("valid/loss".to_owned(), validation.loss),
            ("valid/accuracy".to_owned(), validation.accuracy),
        ];
        all.extend(
            validation
                .exact()
                .map(|share| ("valid/exact_calls".to_owned(), share)),
        );
        all.extend(
            validation
                .tools
                .iter()
                .map(|(tool, score)| (format!("valid/exact_calls/{tool}"), score.share())),
        );
        for (tag, value) in all {
            self.scalar(seconds, validation.step, &tag, value)?;
        }
        self.out.flush()
    }

    fn scalar(&mut self, seconds: f64, step: usize, tag: &str, value: f64) -> io::Result<()> {
        let mut scalar = Vec::new();
        bytes(&mut scalar, 1, tag.as_bytes());
        key(&mut scalar, 2, 5);
        scalar.extend((value as f32).to_le_bytes());
        let mut summary = Vec::new();
        bytes(&mut summary, 1, &scalar);
        let mut event = Vec::new();
        double(&mut event, 1, self.start + seconds);
        key(&mut event, 2, 0);
        varint(&mut event, step as u64);
        bytes(&mut event, 5, &summary);
        self.record(&event)
    }

    fn record(&mut self, event: &[u8]) -> io::Result<()> {
        let length = (event.len() as u64).to_le_bytes();
        let record = [&length, masked(&length).as_slice(), event, &masked(event)].concat();
        self.out.write_all(&record)
    }
}

/// TensorBoard's masked checksum, for data that contains checksums itself.
fn masked(bytes: &[u8]) -> [u8; 4] {
    crc32c::crc32c(bytes)
        .rotate_right(15)
        .wrapping_add(0xa282_ead8)
        .to_le_bytes()
}

fn varint(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

fn key(out: &mut Vec<u8>, field: u64, wire: u64) {
    varint(out, field << 3 | wire);
}

fn double(out: &mut Vec<u8>, field: u64, value: f64) {
    key(out, field, 1);
    out.extend(value.to_le_bytes());
}

fn bytes(out: &mut Vec<u8>, field: u64, value: &[u8]) {
    key(out, field, 2);
    varint(out, value.len() as u64);
    out.extend(value);
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_the_bytes_that_tensorboard_writes() {
        // The output of tensorboard.summary.writer.record_writer.RecordWriter for the same event:
        // step 300, tag a/b, value 0.5, time 1.5.
        let mut file = EventFile {
            out: Vec::new(),
            start: 1.0,
        };
        file.scalar(0.5, 300, "a/b", 0.5).unwrap();
        let hex: String = file.out.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            hex,
            "1a00000000000000129bd82d09000000000000f83f10ac022a0c0a0a0a03612f62150000003f49db135b"
        );
    }
}
