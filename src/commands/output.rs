//! What commands refuse to replace. See [`common::listing`].

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use common::listing;
use datagen::read::QuestionSource;

/// Refuses an output that is one of the command's inputs or holds one.
pub(super) fn spare<'a>(out: &Path, inputs: impl IntoIterator<Item = &'a Path>) -> Result<()> {
    listing::check_inputs(out, inputs).with_context(|| out.display().to_string())
}

/// Refuses to replace a file that does not begin with `opening`, as the command's own files do.
pub(super) fn file(path: &Path, opening: Option<&str>) -> Result<()> {
    listing::check_file(path, opening).with_context(|| path.display().to_string())
}

/// The files and folders of sources (`FORMAT=PATH`).
///
/// # Errors
/// If a source is not written in this form.
pub(super) fn paths_of(sources: &[String]) -> Result<Vec<PathBuf>> {
    let path = |text: &String| Ok(text.parse::<QuestionSource>()?.path);
    sources.iter().map(path).collect()
}
