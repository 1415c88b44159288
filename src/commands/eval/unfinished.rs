//! The questions that an interrupted evaluation has answered: `OUT.partial`, or
//! `OUT.AGENT.partial` with several agents. The same command continues from there.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Result;
use common::hash;
use common::journal::{Journal, JournalEntry};
use common::wordings::Wording;
use datagen::question::GoldQuestion;
use kg::Kg;
use kg::term::NodeId;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolbox::answer::AnswerValue;
use toolbox::metrics::Scored;
use toolbox::rank::Ranker;
use toolbox::trace::TraceEvent;

use super::question::EvaluatedQuestion;
use super::result::Prediction;
use super::setting::{Planning, Setting};
use crate::cli::EvalArgs;
use crate::identity;

/// The parts of an evaluation that all its agents share.
pub(super) struct Work<'a> {
    args: &'a EvalArgs,
    /// Number of settings that are evaluated.
    settings: usize,
    fixed: serde_json::Value,
}

/// The answered questions of one agent.
pub(in crate::commands) struct Unfinished {
    journal: Journal,
    /// By the hash of the question.
    found: HashMap<u64, JournalEntry>,
    /// Questions answered since.
    answered: AtomicUsize,
}

/// A record of the journal as it is written; read as [`EvaluatedRecord`].
#[derive(Serialize)]
struct RecordToWrite<'a> {
    scored: &'a Scored,
    linking: Option<(Vec<u32>, Vec<u32>, Duration)>,
    prediction: &'a Prediction,
    value: &'a AnswerValue,
    events: &'a [TraceEvent],
    wording: Option<&'a Wording>,
}

/// A record of the journal.
#[derive(Deserialize)]
struct EvaluatedRecord {
    scored: Scored,
    /// Gold and linked entities, and the time of linking.
    linking: Option<(Vec<u32>, Vec<u32>, Duration)>,
    prediction: Prediction,
    value: AnswerValue,
    events: Vec<TraceEvent>,
    wording: Option<Wording>,
}

impl<'a> Work<'a> {
    pub(super) fn new(
        args: &'a EvalArgs,
        settings: usize,
        graph: &dyn Kg,
        ranker: &dyn Ranker,
    ) -> Self {
        let model = args.model.as_deref().unwrap_or_default();
        // An oracle or a server has no files here.
        let files = identity::of_model(Path::new(model));
        let answering = &args.answering;
        let asked = (args.entities, args.exclude_topics, args.withhold);
        let answered = (
            answering.abstention_threshold,
            answering.allow_model_knowledge,
            answering.device,
        );
        let fixed = json!([
            graph.fingerprint(),
            ranker.name(),
            ranker.scorer(),
            model,
            files,
            format!("{asked:?} {answered:?} {:?}", answering.remote),
        ]);
        Self {
            args,
            settings,
            fixed,
        }
    }

    /// The answered questions of an agent.
    ///
    /// # Errors
    /// If the file cannot be opened, is in use, is not ours, or is of another build of the program.
    pub(super) fn of_agent(&self, setting: &Setting) -> Result<Unfinished> {
        let mut out = self.args.out.clone();
        if self.settings > 1 {
            out.add_extension(&setting.name);
        }
        // Only a server samples.
        let served = matches!(setting.planning, Planning::Remote(..)).then_some(setting.sampling);
        let prompts = setting.agent.prompts_hash(true);
        let template = setting.template.hash();
        let work = json!([self.fixed, setting.agent, template, served, prompts]).to_string();
        let fingerprint = format!("evaluation {:016x}", hash::number(0, "eval", &work));
        let (journal, found) = Journal::of_output(&out, identity::program(), &fingerprint)?;
        Ok(Unfinished {
            journal,
            found: found.into_iter().map(|one| (one.piece, one)).collect(),
            answered: AtomicUsize::new(0),
        })
    }
}

impl Unfinished {
    /// The result of a question, if it was answered before.
    pub(super) fn get(&self, question: &GoldQuestion) -> Option<EvaluatedQuestion> {
        let entry = self.found.get(&piece(question))?;
        let bytes = self.journal.read(entry).ok()?;
        let record: EvaluatedRecord = serde_json::from_slice(&bytes).ok()?;
        let nodes = |ids: Vec<u32>| ids.into_iter().map(NodeId).collect();
        Some(EvaluatedQuestion {
            scored: record.scored,
            linking: record
                .linking
                .map(|(gold, linked, took)| (nodes(gold), nodes(linked), took)),
            prediction: Prediction {
                value: record.value,
                ..record.prediction
            },
            events: record.events,
            wording: record.wording,
        })
    }

    /// Adds the result of a question.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(super) fn add(&self, question: &GoldQuestion, done: &EvaluatedQuestion) -> Result<()> {
        let ids = |nodes: &[NodeId]| nodes.iter().map(|node| node.0).collect::<Vec<_>>();
        let linking = done.linking.as_ref();
        let record = RecordToWrite {
            scored: &done.scored,
            linking: linking.map(|(gold, linked, took)| (ids(gold), ids(linked), *took)),
            prediction: &done.prediction,
            value: &done.prediction.value,
            events: &done.events,
            wording: done.wording.as_ref(),
        };
        self.journal
            .append(piece(question), &serde_json::to_vec(&record)?)?;
        self.answered.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Removes the file of an evaluation that failed before its first answer.
    pub(super) fn discard_if_empty(self) {
        if self.answered.into_inner() == 0 && self.found.is_empty() {
            // Best effort: the error of the evaluation is the one to report.
            let _ = self.journal.remove();
        }
    }

    /// Removes the file of a finished evaluation.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub(super) fn remove(self) -> Result<()> {
        Ok(self.journal.remove()?)
    }
}

/// The number of a question in the journal: a hash of everything that its result depends on.
fn piece(question: &GoldQuestion) -> u64 {
    hash::number(0, "question", &format!("{question:?}"))
}
