//! Rewording: a model writes questions in other words. A rewording becomes a question of its own
//! with the same query, if linking finds in it exactly what it finds in the original, its program
//! is verified again, and nothing is worded like it yet. On request the model also has to pick its
//! program among others.

mod meaning;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use common::hash;
use common::journal::{Journal, JournalEntry};
use kg::Kg;
use kg::term::NodeId;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use toolbox::link;

use crate::question::GoldQuestion;
use crate::verify::{self, VerifyOptions};
use crate::{Error, thread_pool};

/// What stands between the id of a question and the number of a rewording.
const MARK: &str = "~reworded";
/// Longest rewording, in characters.
const LONGEST: usize = 400;
/// Failures before the first success after which the model counts as broken.
const HOPELESS: usize = 5;

/// Writes questions in other words, for example with a language model. Its replies are kept as they
/// are and read in every run, so that another build may read them in another way.
pub trait Reworder: Sync {
    /// What the replies depend on besides the question: the model and its prompts.
    fn fingerprint(&self) -> String;
    /// The build that computes the replies, or [`common::journal::ANY_PROGRAM`] if a server does.
    fn program(&self) -> String;
    /// The reply to a request for about `wanted` other wordings of a question, which should hold
    /// every text of `keep` unchanged.
    ///
    /// # Errors
    /// A message, if the model fails.
    fn reword(&self, question: &str, keep: &[String], wanted: usize) -> Result<String, String>;
    /// The wordings in such a reply, at most `wanted`.
    fn wordings(&self, reply: &str, wanted: usize) -> Vec<String>;
    /// The reply to the question which of the programs answers a question. Asked only with
    /// [`RewordOptions::check`].
    ///
    /// # Errors
    /// A message, if the model fails.
    fn pick(&self, question: &str, programs: &[String]) -> Result<String, String>;
    /// The program in such a reply, counted from 0 and below `programs`; `None` if it names none.
    fn picked(&self, reply: &str, programs: usize) -> Option<usize>;
}

/// The replies that the model has given, now and in earlier runs.
struct Replies {
    journal: Journal,
    known: HashMap<u64, JournalEntry>,
    tally: Tally,
}

impl Replies {
    fn open(cache: &Path, reworder: &dyn Reworder) -> Result<Self, Error> {
        let fingerprint = reworder.fingerprint().replace('\n', " ");
        let (journal, known) = Journal::open(cache, &reworder.program(), &fingerprint)?;
        Ok(Self {
            journal,
            known: known.into_iter().map(|one| (one.piece, one)).collect(),
            tally: Tally::default(),
        })
    }

    /// The reply to a request and whether it was known; `None` if the model fails.
    fn get(
        &self,
        request: u64,
        ask: impl FnOnce() -> Result<String, String>,
    ) -> Result<Option<(String, bool)>, Error> {
        let read = |entry| String::from_utf8(self.journal.read(entry).ok()?).ok();
        if let Some(reply) = self.known.get(&request).and_then(read) {
            return Ok(Some((reply, true)));
        }
        match ask() {
            Ok(reply) => {
                self.tally.success();
                self.journal.append(request, reply.as_bytes())?;
                Ok(Some((reply, false)))
            }
            Err(message) => {
                self.tally.failure(message)?;
                Ok(None)
            }
        }
    }
}

/// Options of rewording.
#[derive(Clone)]
pub struct RewordOptions {
    /// Rewordings that are asked for per question.
    pub wanted: usize,
    /// Questions that are reworded at a time.
    pub concurrency: usize,
    /// Whether the model has to pick a rewording's program among others.
    pub check: bool,
    /// How originals and rewordings are verified.
    pub verify: VerifyOptions,
}

/// What became of the rewordings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RewordCounts {
    /// What wrote them.
    pub by: String,
    /// Questions that were reworded.
    pub questions: usize,
    /// Of these, questions whose rewordings were known from an earlier run.
    pub cached: usize,
    /// Questions at which the model failed.
    pub failed: usize,
    /// Rewordings that were written.
    pub written: usize,
    /// Rewordings that are kept.
    pub kept: usize,
    /// Dropped: worded like another question.
    pub duplicates: usize,
    /// Dropped: linking does not find the same entities.
    pub entities: usize,
    /// Dropped: a value of the program is not found, or the program is refused.
    pub values: usize,
    /// Dropped: empty or too long.
    pub unusable: usize,
    /// Rewordings for which the model had to pick the program.
    #[serde(default)]
    pub checked: usize,
    /// Kept without this check: no other program has an answer.
    #[serde(default)]
    pub unchecked: usize,
    /// Dropped: the model did not pick the program of the question.
    #[serde(default)]
    pub meaning: usize,
}

impl RewordCounts {
    /// The counts as a sentence of the data card.
    #[must_use]
    pub fn sentence(&self) -> String {
        let mut text = format!(
            "Reworded by {}: {} questions, {} wordings written, {} kept; dropped: {} duplicates, {} with other entities, {} with \
             other values or a refused program, {} empty or too long. At {} questions the model failed.",
            self.by,
            self.questions,
            self.written,
            self.kept,
            self.duplicates,
            self.entities,
            self.values,
            self.unusable,
            self.failed
        );
        if self.checked + self.unchecked > 0 {
            text.push_str(&format!(
                " The model had to pick the program of {} wordings among others: {} dropped; {} had no other program.",
                self.checked, self.meaning, self.unchecked
            ));
        }
        text
    }
}

/// The id of the question that a rewording comes from; any other id is its own.
#[must_use]
pub fn original(id: &str) -> &str {
    let number = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    match id.rsplit_once(MARK) {
        Some((id, rest)) if number(rest) => id,
        _ => id,
    }
}

/// How often the model was asked and failed.
#[derive(Default)]
struct Tally {
    answered: AtomicUsize,
    failed: AtomicUsize,
}

impl Tally {
    fn success(&self) {
        self.answered.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a failure; an error if there are only failures.
    fn failure(&self, message: String) -> Result<(), Error> {
        let failures = self.failed.fetch_add(1, Ordering::Relaxed) + 1;
        if failures >= HOPELESS && self.answered.load(Ordering::Relaxed) == 0 {
            return Err(Error::Reworder(message));
        }
        Ok(())
    }

    fn asked(&self) -> usize {
        self.answered.load(Ordering::Relaxed) + self.failed.load(Ordering::Relaxed)
    }
}

/// A question that can be reworded, with what a rewording has to hold.
struct Original {
    needed: BTreeSet<NodeId>,
    found: BTreeSet<NodeId>,
    keep: Vec<String>,
    values_added: usize,
}

/// The questions with their rewordings, each behind its original. Wordings that `cache` knows are
/// not asked for again; new ones are added to it at once, so that an interrupted run continues.
/// `progress` is called with the number of questions done and the total.
///
/// # Errors
/// [`Error::Stopped`], [`Error::Threads`], [`Error::Reworder`] if the model fails at the first
/// questions, and the errors of the cache.
pub fn reworded(
    kg: &dyn Kg,
    questions: &[GoldQuestion],
    reworder: &dyn Reworder,
    options: &RewordOptions,
    cache: &Path,
    progress: &(dyn Fn(usize, usize) + Sync),
    stop: &AtomicBool,
) -> Result<(Vec<GoldQuestion>, RewordCounts), Error> {
    let replies = Replies::open(cache, reworder)?;
    let done = AtomicUsize::new(0);
    let one = |question: &GoldQuestion| {
        if stop.load(Ordering::Relaxed) {
            return Err(Error::Stopped {
                done: done.load(Ordering::Relaxed),
                total: questions.len(),
            });
        }
        let result = match original_of(kg, question, &options.verify) {
            None => Written::Nothing,
            Some(original) => {
                let asked = (&question.question, &original.keep, options.wanted);
                let request = hash::number(0, "reword", &format!("{asked:?}"));
                let ask = || reworder.reword(asked.0, asked.1, asked.2);
                match replies.get(request, ask)? {
                    Some((reply, known)) => {
                        let texts = reworder.wordings(&reply, options.wanted);
                        Written::Texts(original, texts, known)
                    }
                    None => Written::Failed,
                }
            }
        };
        progress(done.fetch_add(1, Ordering::Relaxed) + 1, questions.len());
        Ok(result)
    };
    let pool = thread_pool(options.concurrency)?;
    let written: Vec<Written> =
        pool.install(|| questions.par_iter().map(one).collect::<Result<_, _>>())?;
    let mut counts = RewordCounts {
        by: reworder.fingerprint(),
        ..RewordCounts::default()
    };
    let mut wordings: HashSet<String> = questions.iter().map(|one| plain(&one.question)).collect();
    let mut all = Vec::with_capacity(questions.len());
    for (question, written) in questions.iter().zip(written) {
        all.push(question.clone());
        match written {
            Written::Nothing => {}
            Written::Failed => counts.failed += 1,
            Written::Texts(original, texts, cached) => {
                counts.questions += 1;
                counts.cached += usize::from(cached);
                let checked = Checked {
                    kg,
                    question,
                    original: &original,
                    verify: &options.verify,
                };
                all.extend(checked.kept(&texts, &mut wordings, &mut counts));
            }
        }
    }
    if options.check {
        let inputs: HashSet<&str> = questions.iter().map(|one| one.id.as_str()).collect();
        all = meaning::checked(
            kg,
            (all, &inputs),
            reworder,
            options,
            &replies,
            stop,
            &mut counts,
        )?;
    }
    Ok((all, counts))
}

/// What a model wrote for a question.
enum Written {
    /// It was not asked: the question is refused, or linking does not find its entities.
    Nothing,
    Failed,
    /// Wordings, and whether they were known.
    Texts(Original, Vec<String>, bool),
}

/// What a rewording of a question has to hold; `None` if the original does not hold it itself.
fn original_of(kg: &dyn Kg, question: &GoldQuestion, options: &VerifyOptions) -> Option<Original> {
    let verified = verify::verify(kg, question, options).ok()?;
    let found = linked(kg, &question.question, options)?;
    let needed: BTreeSet<NodeId> = verified.linked.entities.iter().copied().collect();
    if !needed.is_subset(&found) {
        return None;
    }
    let text = &question.question;
    let mentions = needed
        .iter()
        .filter_map(|&node| link::mention(kg, text, node))
        .map(|(start, end)| text[start..end].to_owned());
    let values = verified
        .linked
        .values
        .iter()
        .map(|value| value.lexical.clone());
    let mut keep: Vec<String> = mentions
        .chain(values.filter(|value| text.contains(value)))
        .collect();
    keep.sort();
    keep.dedup();
    Some(Original {
        needed,
        found,
        keep,
        values_added: verified.values_added,
    })
}

/// The entities that linking finds in a text.
fn linked(kg: &dyn Kg, text: &str, options: &VerifyOptions) -> Option<BTreeSet<NodeId>> {
    let nodes = link::entities_of(kg, text, options.ranker.as_ref()).ok()?;
    Some(nodes.into_iter().collect())
}

/// A wording without case and punctuation.
fn plain(text: &str) -> String {
    let words = text
        .to_lowercase()
        .replace(|c: char| !c.is_alphanumeric(), " ");
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The check of the wordings of one question.
struct Checked<'a> {
    kg: &'a dyn Kg,
    question: &'a GoldQuestion,
    original: &'a Original,
    verify: &'a VerifyOptions,
}

impl Checked<'_> {
    /// The wordings that are kept, as questions.
    fn kept(
        &self,
        texts: &[String],
        wordings: &mut HashSet<String>,
        counts: &mut RewordCounts,
    ) -> Vec<GoldQuestion> {
        let mut kept = Vec::new();
        for text in texts {
            counts.written += 1;
            let text = text.trim();
            if plain(text).is_empty() || text.chars().count() > LONGEST {
                counts.unusable += 1;
                continue;
            }
            if wordings.contains(&plain(text)) {
                counts.duplicates += 1;
                continue;
            }
            let found = linked(self.kg, text, self.verify).unwrap_or_default();
            // Another entity than those of the question asks for something else.
            if !self.original.needed.is_subset(&found) || !found.is_subset(&self.original.found) {
                counts.entities += 1;
                continue;
            }
            let question = GoldQuestion {
                id: format!("{}{MARK}{}", self.question.id, kept.len() + 1),
                question: text.to_owned(),
                ..self.question.clone()
            };
            let verified = verify::verify(self.kg, &question, self.verify);
            if !verified.is_ok_and(|one| one.values_added <= self.original.values_added) {
                counts.values += 1;
                continue;
            }
            wordings.insert(plain(text));
            counts.kept += 1;
            kept.push(question);
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rewording_names_its_original() {
        assert_eq!(original("a~reworded12"), "a");
        assert_eq!(original("a~reworded"), "a~reworded");
        assert_eq!(original("a~rewordedx1"), "a~rewordedx1");
        assert_eq!(original("a"), "a");
    }

    #[test]
    fn wordings_are_compared_without_case_and_marks() {
        assert_eq!(plain("Who wrote “1Q84”?"), plain("who wrote 1q84"));
    }
}
