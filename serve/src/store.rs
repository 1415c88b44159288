//! The answers of the last questions, by id, so that a trace can be looked at and shared.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use toolbox::answer::Answer;
use toolbox::trace::TraceEvent;

/// Answers that are kept.
const ANSWERS: usize = 1_000;
/// Bytes of kept answers and traces as JSON; older ones make room.
const BYTES: usize = 64 << 20;

/// One answered question.
pub(crate) struct StoredAnswer {
    pub(crate) id: String,
    /// The name of the graph.
    pub(crate) graph: String,
    /// The content hash of the graph when it was asked.
    pub(crate) content_hash: String,
    /// The object of `POST /api/ask`.
    pub(crate) object: serde_json::Value,
    pub(crate) answer: Answer,
    /// The answer in one line.
    pub(crate) text: String,
    /// Names of the topic entities.
    pub(crate) entities: Vec<String>,
    pub(crate) question: String,
    pub(crate) events: Vec<TraceEvent>,
    /// Bytes of object and trace as JSON.
    pub(crate) bytes: usize,
}

/// A bounded list of answers; the oldest leaves first.
#[derive(Default)]
pub(crate) struct AnswerStore {
    kept: Mutex<Kept>,
    asked: AtomicU64,
    random: RandomState,
}

#[derive(Default)]
struct Kept {
    answers: VecDeque<Arc<StoredAnswer>>,
    bytes: usize,
}

impl AnswerStore {
    /// A new id that cannot be guessed from others.
    pub(crate) fn id(&self) -> String {
        let number = self.asked.fetch_add(1, Ordering::Relaxed);
        format!("{:016x}", self.random.hash_one(number))
    }

    pub(crate) fn put(&self, answer: Arc<StoredAnswer>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.bytes += answer.bytes;
        kept.answers.push_back(answer);
        while kept.answers.len() > ANSWERS || (kept.bytes > BYTES && kept.answers.len() > 1) {
            let Some(oldest) = kept.answers.pop_front() else {
                break;
            };
            kept.bytes -= oldest.bytes;
        }
    }

    pub(crate) fn get(&self, id: &str) -> Option<Arc<StoredAnswer>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.answers.iter().find(|one| one.id == id).cloned()
    }
}
