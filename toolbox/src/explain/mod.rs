//! Propose, run, explain, decide: candidate programs around the linked entities of a question, each
//! with the reasons for and against it. Nothing here needs a trained model of the graph: the words
//! of relations are explained by translation tables that were learned from people's questions, and
//! an agent adds what its model says.
//!
//! ```text
//! question, cues, adjective        what the question asks; focus: the word that names the answer; yes_no: whether it judges
//! question_text, asked_word, name_parts  its words; first and last names
//! marks, mentions                  question words; what stands around the mentions of entities
//! vocabulary, phrases, table       the words of relations; translation probabilities (learn makes them)
//! naming, relations, flags         what names of relations and classes mean; the words of a relation, and of one with truths
//! others                           relations that a topic lacks and other things of its class have
//! words, classes, kinds, kinship   which words a relation or a thing explains, and which a chain of parents and children
//! typos                            misspelt words
//! possessive                       relations that the question says one after another
//! plan, state, tally, nodes        candidate programs
//! unlinked                         things that the question names and that are not linked
//! passed_over                      relations that only tell something about a value
//! values, starts, ways, hollow     the search for them, with search, search_limits, judging and
//!                                  alternatives, both and ends; compared, ops: what values are compared with, and how
//! around_numbers, numbers          which relation a number belongs to
//! alike                            nouns that only names of things contain
//! text_part, contains, denied      parts of texts; values that the things asked for do not have
//! roles, links                     rows that say what somebody is; rows that only link others
//! tabular                          candidates that end in the extended tools
//! read                             what a program of a model explains
//! terms, term_weights              the decision
//! said, speaker                    candidates in plain words, for a trained scorer
//! lexicon                          words proposed for a graph's relations and classes
//! why                              which part of the chosen program accounts for which word
//! ```

mod adjective;
mod alike;
mod alternatives;
mod around_numbers;
mod asked_word;
mod both;
mod classes;
mod compared;
mod contains;
mod cues;
mod denied;
mod embedded;
mod ends;
mod flags;
mod focus;
mod hollow;
mod judging;
mod kinds;
mod kinship;
mod learn;
mod lexicon;
mod links;
mod marks;
mod mentions;
mod name_parts;
mod naming;
mod nodes;
mod numbers;
mod ops;
mod order;
mod others;
mod passed_over;
mod phrases;
mod plan;
mod possessive;
mod question;
mod question_text;
mod read;
mod relations;
mod roles;
mod said;
mod search;
mod search_limits;
mod speaker;
mod starts;
mod state;
mod table;
mod tabular;
mod tally;
mod term_weights;
mod terms;
mod text_part;
mod totals;
mod typos;
mod unlinked;
mod values;
mod vocabulary;
mod ways;
mod why;
mod words;
mod yes_no;

use std::sync::Arc;

use common::cancel::{Cancel, Cancelled};

pub use learn::{WordPair, learn};
pub use lexicon::{LexiconEntry, lexicon, question_words};
pub use said::Said;
pub use search_limits::SearchLimits;
pub use table::{TableError, WordTables};
pub use term_weights::TermWeights;
pub use terms::{DecisionTerm, TERM_NAMES, TERMS, Terms};
pub(crate) use vocabulary::split as segments;
pub use why::WordReason;

use crate::call::Call;
use crate::exec::{ExcludeWhen, ExecOptions, Session, Value, run_program};
use crate::link::is_relation_name;
use crate::rank::RankError;
use question::Asked;
use state::Found;
use words::Explainer;

/// What it costs a table that it is empty, and a plan of the search, as cues for tables.
const EMPTY: f32 = 1.0;
const HOLLOW: f32 = 0.5;

/// Why no candidates were proposed.
#[derive(Debug, thiserror::Error)]
pub enum ProposeError {
    /// The ranker failed.
    #[error(transparent)]
    Rank(RankError),
    /// The question was cancelled, or ran past its deadline.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl From<RankError> for ProposeError {
    fn from(error: RankError) -> Self {
        match error {
            RankError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            failed @ RankError::Failed { .. } => Self::Rank(failed),
        }
    }
}

/// A candidate program with its result.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The calls, with full names.
    pub calls: Vec<Call>,
    /// The result; `None` if the candidate gives up.
    pub answer: Option<Value>,
    /// The reasons for and against it.
    pub terms: Terms,
}

impl Candidate {
    /// Whether it gives up because a plan that explains the question well finds nothing.
    #[must_use]
    pub fn finds_nothing(&self) -> bool {
        self.answer.is_none() && self.terms[DecisionTerm::GiveUp] == 0.0
    }
}

/// The stems of the labels of linked entities that the question does not mention as they are called:
/// their words are no words for relations.
fn unmentioned(session: &Session<'_>) -> Vec<String> {
    let (kg, linked) = (session.kg(), session.linked());
    let entities = linked.entities.iter().enumerate();
    let labels = entities.filter(|(at, _)| linked.span(*at).is_none());
    let labels = labels.filter_map(|(_, &node)| kg.label(node));
    labels.flat_map(|label| vocabulary::stems(&label)).collect()
}

/// A candidate that was not run yet.
enum Proposed<'f> {
    /// A plan of the search.
    Plan(&'f Found),
    /// A program that ends in extended tools.
    Table(Vec<Call>),
}

/// Proposes candidates for one question.
pub struct Proposer<'s, 'g> {
    session: &'s Session<'g>,
    asked: Asked,
    tables: Arc<WordTables>,
}

impl<'s, 'g> Proposer<'s, 'g> {
    /// A proposer for the question of a new session.
    #[must_use]
    pub fn new(session: &'s Session<'g>, tables: Arc<WordTables>) -> Self {
        let (question, linked) = (session.plain_question(), session.linked());
        let typos = typos::found(session, &tables);
        let ontology = session.kg().schema().is_ontology;
        let kinds = |words: &[String]| matches!(words, [one] if ways::names_kinds(one));
        let is_relation =
            |words: &[String]| is_relation_name(session.kg(), words) || ontology && kinds(words);
        let names = unmentioned(session);
        let mut asked = Asked::new(question, linked, &names, &typos, &is_relation, &tables);
        asked.kind = mentions::as_kind(session.kg(), question, linked);
        asked.owned = mentions::owned(session.kg(), question, linked);
        Self {
            asked,
            session,
            tables,
        }
    }

    /// The `most` best candidates with an answer, best first by `weights`, and at the end the one
    /// that gives up: if a better candidate has no answer, with its terms.
    ///
    /// # Errors
    /// Returns the error of the ranker. [`Cancelled`] if the session is cancelled, or if the search
    /// and the programs together take longer than its deadline.
    pub fn propose(
        &self,
        weights: &TermWeights,
        limits: SearchLimits,
        most: usize,
    ) -> Result<Vec<Candidate>, ProposeError> {
        let options = self.session.options();
        let cancel = options.cancel.within(options.deadline);
        let mut explainer =
            Explainer::new(self.session, &self.asked, Arc::clone(&self.tables)).with_others();
        let results = search::search(&mut explainer, limits, weights, &cancel)?;
        let tables = tabular::tables(&mut explainer, &results, weights, limits, &cancel)?;
        let mut scored: Vec<(f32, Terms, Proposed<'_>)> = (results.found)
            .iter()
            .filter(|found| !results.too_many && !found.state.misses_part(&self.asked))
            .map(|found| {
                let mut terms = terms::of_found(found, &explainer);
                if tables.contradict(&found.state) {
                    terms[DecisionTerm::TableCues] -= 1.0;
                }
                if tables.answers_negation(&found.state) {
                    terms[DecisionTerm::TableCues] += 1.0;
                }
                (terms, Proposed::Plan(found))
            })
            .chain(
                (tables.found.iter().cloned())
                    .map(|(terms, calls)| (terms, Proposed::Table(calls))),
            )
            .map(|(terms, proposed)| {
                cancel.check()?;
                Ok((weights.score(&terms), terms, proposed))
            })
            .collect::<Result<_, Cancelled>>()?;
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut candidates: Vec<Candidate> = Vec::new();
        let mut empty: Option<Terms> = None;
        for (_, terms, proposed) in scored {
            if candidates.len() == most {
                break;
            }
            let calls = match proposed {
                Proposed::Plan(found) => ends::calls(found, self.session),
                Proposed::Table(calls) => calls,
            };
            if candidates.iter().any(|known| known.calls == calls) {
                continue;
            }
            let Some(answer) = self.run(&calls, &cancel)? else {
                continue;
            };
            cancel.check()?;
            if answer.is_empty() {
                // Nothing is what the question asks for, if this is what it means.
                empty.get_or_insert(terms);
                continue;
            }
            candidates.push(Candidate {
                calls,
                answer: Some(answer),
                terms,
            });
        }
        let mut none = self.abstention();
        // A plan that finds something is more likely than one that finds nothing.
        for (terms, cost) in [(empty, EMPTY), (results.hollow, HOLLOW)] {
            if let Some(mut terms) = terms {
                terms[DecisionTerm::TableCues] -= cost;
                if weights.score(&terms) > weights.score(&none.terms) {
                    none.terms = terms;
                }
            }
        }
        candidates.push(none);
        Ok(candidates)
    }

    /// The candidate that gives up.
    #[must_use]
    pub fn abstention(&self) -> Candidate {
        let explainer = Explainer::new(self.session, &self.asked, Arc::clone(&self.tables));
        Candidate {
            calls: plan::abstention(),
            answer: None,
            terms: hollow::of_abstention(&explainer),
        }
    }

    /// A candidate for the program that an ended session has run; the one that gives up if the
    /// program has no answer.
    #[must_use]
    pub fn ended(&self, session: &Session<'_>) -> Candidate {
        let Some(answer) = session.answer().filter(|answer| !answer.is_empty()) else {
            return self.abstention();
        };
        let mut explainer =
            Explainer::new(self.session, &self.asked, Arc::clone(&self.tables)).with_others();
        Candidate {
            calls: session
                .steps()
                .iter()
                .map(|step| step.call.clone())
                .collect(),
            answer: Some(answer.clone()),
            terms: terms::of_found(&read::found(session, answer, &mut explainer), &explainer),
        }
    }

    /// Which part of the program that a session has run accounts for each content word of the
    /// question.
    #[must_use]
    pub fn reasons(&self, session: &Session<'_>) -> Vec<WordReason> {
        let mut explainer = Explainer::new(self.session, &self.asked, Arc::clone(&self.tables));
        why::reasons(session, &mut explainer)
    }

    /// The answer of a program; `None` if it fails.
    fn run(&self, calls: &[Call], cancel: &Cancel) -> Result<Option<Value>, RankError> {
        let options = ExecOptions {
            lists: false,
            cancel: cancel.clone(),
            ..self.session.options().clone()
        };
        let linked = self.session.linked().clone();
        let question = self.session.plain_question();
        let mut session = Session::new(self.session.kg(), question, linked, &[], options)?;
        match run_program(&mut session, calls) {
            Ok(value) => Ok(Some(value)),
            Err((_, error)) => error.recoverable().map(|_| None),
        }
    }
}

/// Where the entities of a question leave its answer: only if it asks for others than those (`who else
/// was in Titanic`), or for what has something in common with them.
#[must_use]
pub fn exclusion(question: &str) -> ExcludeWhen {
    let all = kg::words(question);
    if mentions::asks_for_others(&all) || mentions::asks_for_common(&all) {
        ExcludeWhen::Others
    } else {
        ExcludeWhen::Never
    }
}

/// The candidate with the most probable answer: candidates of equal sets add up, and of those the
/// best is chosen. `None` if there is no candidate.
#[must_use]
pub fn decide(candidates: &[Candidate], weights: &TermWeights) -> Option<usize> {
    let scores: Vec<f32> = candidates
        .iter()
        .map(|candidate| weights.score(&candidate.terms))
        .collect();
    let best = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mass = |(one, score): (&Candidate, &f32)| -> f32 {
        // Equal numbers and truths need not mean the same.
        if !matches!(one.answer, Some(Value::Set(_))) {
            return (score - best).exp();
        }
        (candidates.iter().zip(&scores))
            .filter(|(other, _)| other.answer == one.answer)
            .map(|(_, score)| (score - best).exp())
            .sum()
    };
    let masses: Vec<f32> = candidates.iter().zip(&scores).map(mass).collect();
    (0..candidates.len()).max_by(|&a, &b| {
        (masses[a].total_cmp(&masses[b]))
            .then(scores[a].total_cmp(&scores[b]))
            .then(b.cmp(&a))
    })
}
