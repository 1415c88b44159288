//! Reads question sources (`FORMAT=PATH`).

use anyhow::{Context, Result};
use datagen::question::GoldQuestion;
use datagen::read::{QuestionSource, ReadOptions};
use kg::Kg;

/// Reads sources in order.
pub(in crate::commands) fn read(
    sources: &[String],
    kg: Option<&dyn Kg>,
    options: &ReadOptions,
) -> Result<Vec<GoldQuestion>> {
    let mut questions = Vec::new();
    for text in sources {
        let source: QuestionSource = text.parse()?;
        let read = source.read(kg, options);
        questions.extend(read.with_context(|| format!("cannot read the source {text}"))?);
    }
    Ok(questions)
}
