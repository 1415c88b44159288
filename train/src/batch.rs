//! Training data: conversations as token sequences, shuffled by seed and epoch, packed into
//! batches.

use std::sync::Arc;

use model::{ChatFormat, TrainingConversation};
use rayon::prelude::*;

use crate::TrainError;
use crate::config::{TooLong, TrainConfig};
use crate::llama::Packed;
use common::rng::Rng;

/// A tokenised example, truncated after its last trained token, because the rest would have no
/// effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Example {
    /// Ids, including the last trained one.
    ids: Vec<u32>,
    /// Positions whose next token is trained.
    rows: Vec<u32>,
    /// The trained turns: called tool and number of `rows`.
    calls: Vec<(String, usize)>,
}

impl Example {
    /// Tokens that the model reads: all but the last, which is only predicted.
    pub(crate) fn len(&self) -> usize {
        self.ids.len() - 1
    }
    /// Number of trained predictions.
    pub(crate) fn trained(&self) -> usize {
        self.rows.len()
    }
    /// The trained turns: called tool and number of predictions.
    pub(crate) fn calls(&self) -> &[(String, usize)] {
        &self.calls
    }
}

/// Tokenised examples and the number of skipped ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Examples {
    pub(crate) examples: Vec<Example>,
    /// Longer than `max_length`.
    pub(crate) too_long: usize,
    /// Without a trained turn.
    pub(crate) untrained: usize,
}

/// Tokenises conversations in parallel and keeps their order.
///
/// # Errors
/// When the tokenizer fails, or when an example is too long and the configuration refuses it.
pub(crate) fn tokenise(
    data: &[TrainingConversation],
    format: &ChatFormat,
    config: &TrainConfig,
) -> Result<Examples, TrainError> {
    let encoded: Result<Vec<_>, model::ModelError> = data
        .par_iter()
        .map(|conversation| format.encode(&conversation.turns))
        .collect();
    let mut out = Examples::default();
    for (encoded, conversation) in encoded?.into_iter().zip(data) {
        let (mut ids, trained) = (encoded.ids, encoded.trained);
        let Some(last) = trained.iter().rposition(|trained| *trained) else {
            out.untrained += 1;
            continue;
        };
        ids.truncate(last + 1);
        if ids.len() > config.max_length {
            if config.too_long == TooLong::Refuse {
                let (id, len, most) = (&conversation.id, ids.len(), config.max_length);
                return Err(TrainError::Data(format!(
                    "example `{id}` has {len} tokens, but `max_length` is {most}"
                )));
            }
            out.too_long += 1;
            continue;
        }
        // Role tokens are not trained, so every trained token has a predecessor.
        let rows = (1..=last)
            .filter(|i| trained[*i])
            .map(|i| i as u32 - 1)
            .collect();
        // For the same reason a sequence of trained tokens is one turn.
        let turns = conversation
            .turns
            .iter()
            .filter(|turn| turn.trained)
            .map(|turn| tool_name(&turn.text()).to_owned());
        let lengths = trained[..=last]
            .chunk_by(|a, b| a == b)
            .filter(|chunk| chunk[0])
            .map(<[bool]>::len);
        let calls = turns.zip(lengths).collect();
        out.examples.push(Example { ids, rows, calls });
    }
    Ok(out)
}

/// The tool that a turn calls: the text before the first parenthesis, without the assignment.
fn tool_name(text: &str) -> &str {
    let Some((head, _)) = text.split_once('(') else {
        return "other";
    };
    let name = head.rsplit(['=', ' ', '\n']).next().unwrap_or_default();
    if name.is_empty() { "other" } else { name }
}

/// One optimizer step: for every device, the examples of each forward pass, as indices.
pub(crate) type StepPlan = Vec<Vec<Vec<usize>>>;

/// The steps of one epoch. Depends only on examples, seed, epoch and configuration.
pub(crate) fn plan(examples: &[Example], epoch: usize, config: &TrainConfig) -> Vec<StepPlan> {
    let mut order: Vec<usize> = (0..examples.len()).collect();
    // The odd constant prevents overlapping sequences of epochs for seeds 1, 2, 3, …
    Rng::new(
        config
            .seed
            .wrapping_add((epoch as u64).wrapping_mul(0xd134_2543_de82_ef95)),
    )
    .shuffle(&mut order);
    let steps = match config.batch_examples {
        Some(most) => order.chunks(most.max(1)).map(<[usize]>::to_vec).collect(),
        None => group(examples, &order, config.batch_tokens),
    };
    let plan = |step: &Vec<usize>| {
        split(examples, step, config.devices())
            .iter()
            .map(|part| group(examples, part, config.micro_tokens))
            .collect()
    };
    steps.iter().map(plan).collect()
}

/// Groups examples in order into groups of at most `most` tokens; a longer example is a group by
/// itself.
fn group(examples: &[Example], order: &[usize], most: usize) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut tokens = 0;
    for i in order {
        let len = examples[*i].len();
        match groups.last_mut().filter(|_| tokens + len <= most) {
            Some(group) => {
                group.push(*i);
                tokens += len;
            }
            None => {
                groups.push(vec![*i]);
                tokens = len;
            }
        }
    }
    groups
}

/// Splits a step's examples, in order, into parts with about the same number of tokens, one for
/// each device. There are fewer parts if there are fewer examples.
fn split(examples: &[Example], step: &[usize], devices: usize) -> Vec<Vec<usize>> {
    let devices = devices.clamp(1, step.len().max(1));
    let total: usize = step.iter().map(|i| examples[*i].len()).sum();
    let mut parts = vec![Vec::new()];
    let mut tokens = 0;
    for (at, i) in step.iter().enumerate() {
        tokens += examples[*i].len();
        let (begun, after) = (parts.len(), step.len() - at - 1);
        parts[begun - 1].push(*i);
        let waiting = devices - begun;
        if waiting > 0 && (tokens * devices >= total * begun || after <= waiting) {
            parts.push(Vec::new());
        }
    }
    parts
}

/// Checks that every configured device has work in every step, except the last step of an epoch.
///
/// # Errors
/// Names the first step with fewer examples than devices.
pub(crate) fn check_parts(
    epochs: &[Vec<StepPlan>],
    config: &TrainConfig,
) -> Result<(), TrainError> {
    let Some(devices) = config.devices else {
        return Ok(());
    };
    let steps = epochs.iter().flat_map(|steps| {
        steps
            .iter()
            .enumerate()
            .map(|(i, step)| (i > 0 && i + 1 == steps.len(), step))
    });
    for (index, (is_last, step)) in steps
        .enumerate()
        .take(config.max_steps.unwrap_or(usize::MAX))
    {
        if step.len() < devices && !is_last {
            let (step, has) = (index + 1, step.len());
            return Err(TrainError::Config(format!(
                "`devices` is {devices}, but the batch of step {step} has {has} example{}: use fewer devices or more `batch_tokens`",
                if has == 1 { "" } else { "s" }
            )));
        }
    }
    Ok(())
}

/// The batches of a step by device.
pub(crate) fn batches(examples: &[Example], step: &StepPlan) -> Vec<Vec<Packed>> {
    step.iter()
        .map(|part| part.iter().map(|micro| pack(examples, micro)).collect())
        .collect()
}

/// Concatenates examples.
pub(crate) fn pack(examples: &[Example], indices: &[usize]) -> Packed {
    let mut out = Packed::default();
    let mut targets = Vec::new();
    for i in indices {
        let example = &examples[*i];
        let start = out.ids.len() as u32;
        out.ids.extend(&example.ids[..example.len()]);
        out.segments.push(example.len());
        out.rows.extend(example.rows.iter().map(|row| start + row));
        targets.extend(
            example
                .rows
                .iter()
                .map(|row| example.ids[*row as usize + 1]),
        );
    }
    out.targets = Arc::new(targets);
    out
}

/// Digest of tokens and masks, to check that a checkpoint belongs to the data.
pub(crate) fn digest(examples: &[Example]) -> String {
    let bytes: Vec<u8> = examples
        .iter()
        .flat_map(|example| {
            let header = [example.ids.len() as u32, example.rows.len() as u32];
            header
                .into_iter()
                .chain(example.ids.iter().copied())
                .chain(example.rows.iter().copied())
                .flat_map(u32::to_le_bytes)
                .collect::<Vec<u8>>()
        })
        .collect();
    model::digest::sha256_hex([bytes.as_slice()])
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn examples(lengths: &[usize]) -> Vec<Example> {
        lengths
            .iter()
            .map(|n| Example {
                ids: (0..=*n as u32).collect(),
                rows: vec![*n as u32 - 1],
                calls: vec![],
            })
            .collect()
    }

    #[test]
    fn every_example_occurs_once_per_epoch_and_limits_hold() {
        let lengths: Vec<usize> = (0..300).map(|i| 5 + i * 7 % 120).collect();
        let examples = examples(&lengths);
        let config = TrainConfig {
            batch_tokens: 1000,
            micro_tokens: 300,
            ..TrainConfig::default()
        };
        for epoch in 0..3 {
            let steps = plan(&examples, epoch, &config);
            let mut seen: Vec<usize> = steps
                .iter()
                .flatten()
                .flatten()
                .flatten()
                .copied()
                .collect();
            let tokens = |micro: &Vec<usize>| micro.iter().map(|i| lengths[*i]).sum::<usize>();
            for step in &steps {
                assert_eq!(step.len(), 1);
                assert!(step.iter().flatten().map(tokens).sum::<usize>() <= 1000);
                assert!(
                    step.iter()
                        .flatten()
                        .all(|micro| tokens(micro) <= 300 && !micro.is_empty())
                );
            }
            for devices in [2, 3, 5] {
                let split = plan(
                    &examples,
                    epoch,
                    &TrainConfig {
                        devices: Some(devices),
                        ..config.clone()
                    },
                );
                assert_eq!(split.len(), steps.len());
                for (split, step) in split.iter().zip(&steps) {
                    let flat = |step: &StepPlan| {
                        step.iter()
                            .flatten()
                            .flatten()
                            .copied()
                            .collect::<Vec<usize>>()
                    };
                    assert_eq!(
                        flat(split),
                        flat(step),
                        "the same examples in the same order"
                    );
                    let fewest = step
                        .iter()
                        .flatten()
                        .map(Vec::len)
                        .sum::<usize>()
                        .min(devices);
                    assert_eq!(split.len(), fewest);
                    let sizes: Vec<usize> = split
                        .iter()
                        .map(|part| part.iter().map(tokens).sum())
                        .collect();
                    assert!(sizes.iter().all(|size| *size > 0), "{sizes:?}");
                    // The deviation is at most one example at each end.
                    let mean = sizes.iter().sum::<usize>() / sizes.len();
                    assert!(
                        sizes.iter().all(|size| size.abs_diff(mean) <= 2 * 124),
                        "{sizes:?}"
                    );
                }
            }
            assert_ne!(seen[..50], (0..50).collect::<Vec<_>>()[..]);
            seen.sort_unstable();
            assert_eq!(seen, (0..300).collect::<Vec<_>>());
        }
        assert_ne!(plan(&examples, 0, &config), plan(&examples, 1, &config));
        let config = TrainConfig {
            batch_examples: Some(7),
            ..config
        };
        let steps = plan(&examples, 0, &config);
        assert!(
            steps[..steps.len() - 1].iter().all(|step| step
                .iter()
                .flatten()
                .map(Vec::len)
                .sum::<usize>()
                == 7)
        );
    }

    #[test]
    fn turns_are_classified_by_their_tool() {
        for (text, name) in [
            (
                "v0 = get_tail_entity(e0, film.directed_by)",
                "get_tail_entity",
            ),
            ("ans = end(v0)", "end"),
            ("get_relation(e0)", "get_relation"),
            ("no call at all", "other"),
            ("", "other"),
        ] {
            assert_eq!(tool_name(text), name);
        }
    }

    #[test]
    fn packing_predicts_the_next_token_of_the_same_sequence() {
        let example = |ids: &[u32], rows: &[u32]| Example {
            ids: ids.to_vec(),
            rows: rows.to_vec(),
            calls: vec![],
        };
        let all = vec![example(&[10, 11, 12], &[0, 1]), example(&[20, 21], &[0])];
        let packed = pack(&all, &[1, 0]);
        assert_eq!(
            (packed.ids.as_slice(), packed.segments.as_slice()),
            ([20, 10, 11].as_slice(), [1, 2].as_slice())
        );
        assert_eq!(
            (packed.rows.as_slice(), packed.targets.as_slice()),
            ([0, 1, 2].as_slice(), [21, 11, 12].as_slice())
        );
    }
}
