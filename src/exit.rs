//! How a command ends: its exit status, or the line that reports its error.

/// How a command ended if it did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// Exit code 0.
    Done,
    /// Exit code 1: a check failed, or there is no answer.
    Negative,
}

impl ExitStatus {
    /// The exit code.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Negative => 1,
        }
    }
}

/// Characters of an error's line. An error quotes what is wrong, which may be a whole file.
const LINE_CHARS: usize = 1_000;

/// An error and its causes in one line, shortened. A cause that the line already contains is not
/// repeated.
pub(crate) fn error_line(error: &anyhow::Error) -> String {
    let line = error
        .chain()
        .map(ToString::to_string)
        .reduce(|line, cause| {
            if line.contains(&cause) {
                line
            } else {
                format!("{line}: {cause}")
            }
        })
        .unwrap_or_default();
    match line.char_indices().nth(LINE_CHARS) {
        Some((end, _)) => format!("{} …", &line[..end]),
        None => line,
    }
}
