//! Triad as published (rules C): the generalist extracts mentions, writes triples and a SPARQL
//! query, the decision maker links them to the graph, the advisor adds what it knows. A question
//! is tried again from the beginning while it has no answer.
//!
//! ```text
//! 1 parsing    G triples   <Rashomon, director, ?d> <?d, place of birth, ?x>      G type  <select>
//! 2 linking    D entity    rashomon      D relation  film.film.directed_by
//! 3 querying   G query     SELECT ?x WHERE { <Rashomon> <director> ?d . … }       D selection
//! 4 answering  A           True or False; or a name, if the graph has nothing
//! ```

mod link;
mod read;
mod solve;
mod template;

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::names::shown;
use crate::answer::{Answer, AnswerValue, Emptied, Member, Provenance};
use crate::exec::Session;
use crate::link::detect;
use crate::prompts::{
    TRIAD_EXAMPLES, TRIAD_FACT, TRIAD_QUERY, TRIAD_SELECTION, TRIAD_TRIPLES, TRIAD_TYPE,
    TRIAD_YES_OR_NO,
};
use crate::rank::RankError;
use crate::triad::{AnswerType, Bounds, SubTask};
use common::transcript::{Part, Turn};

use link::Linker;
pub use link::LinkingRecall;
use read::{NamedEnd, NamedTriple};
use solve::Matched;
use template::SlotQuery;

/// What the advisor adds to the answer of the graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Advice {
    /// Yes/no questions, and a name where the graph has nothing.
    #[default]
    Full,
    /// Yes/no questions only.
    YesOrNo,
    /// Nothing.
    None,
}

/// Options, with the paper's values as defaults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublishedTriadOptions {
    /// Worked examples of the generalist, N.
    pub examples: usize,
    /// Entities chosen per mention, K.
    pub entities: usize,
    /// Relations chosen per pair of ends, K.
    pub relations: usize,
    /// Tries, T.
    pub tries: usize,
    /// Queries that are run, the best combinations of candidates first.
    pub products: usize,
    /// Rows of a query at most.
    pub rows: usize,
    /// Whether the generalist is asked; otherwise every linked mention is a triple with the words
    /// of the question.
    pub generalist: bool,
    /// Whether the decision maker chooses entities and relations; otherwise the best by name.
    pub select_uris: bool,
    /// Whether the decision maker chooses between queries; otherwise the first.
    pub select_query: bool,
    /// What the advisor adds.
    pub advice: Advice,
}

impl Default for PublishedTriadOptions {
    fn default() -> Self {
        Self {
            examples: 3,
            entities: 2,
            relations: 2,
            tries: 3,
            products: 32,
            rows: 20_000,
            generalist: true,
            select_uris: true,
            select_query: true,
            advice: Advice::Full,
        }
    }
}

/// Asks the model: the sub-task and its prompt, and the reply.
pub type Ask<'a, E> = dyn FnMut(SubTask, &[Turn]) -> Result<String, E> + 'a;

/// The model's replies, and how many of them said nothing that could be used.
struct Replies<'a, E> {
    ask: &'a mut Ask<'a, E>,
    unusable: usize,
}

impl<E> Replies<'_, E> {
    /// Asks once and reads the reply.
    fn read<T>(
        &mut self,
        task: SubTask,
        turn: Turn,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, E> {
        let reply = (self.ask)(task, &[turn])?;
        let found = read(&reply);
        self.unusable += usize::from(found.is_none());
        Ok(found)
    }
}

/// The result of a question.
#[derive(Clone, Debug, Default)]
pub struct PublishedTriadResult {
    /// The answer.
    pub answer: Answer,
    /// Why each try without an answer failed.
    pub failures: Vec<String>,
    /// Replies that said nothing that could be used.
    pub unusable: usize,
    /// What each stage of linking kept.
    pub recall: LinkingRecall,
}

/// Answers one question.
///
/// # Errors
/// Returns the error of `ask`, or of the ranker.
pub fn answer<E: From<RankError>>(
    session: &Session<'_>,
    options: &PublishedTriadOptions,
    deadline: Duration,
    ask: &mut Ask<'_, E>,
) -> Result<PublishedTriadResult, E> {
    let mut result = PublishedTriadResult::default();
    let mut replies = Replies { ask, unusable: 0 };
    let tries = options.tries.max(1);
    for number in 1..=tries {
        let mut attempt = Attempt {
            session,
            options,
            linker: Linker::new(session, options),
            bounds: Bounds {
                until: Instant::now() + deadline,
                rows: options.rows,
            },
            deadline,
        };
        let last = number == tries;
        let tried = attempt.run(last, &result.failures, &mut replies);
        let recall = attempt.linker.recall;
        for (all, new) in [
            (&mut result.recall.found_entities, recall.found_entities),
            (&mut result.recall.chosen_entities, recall.chosen_entities),
            (&mut result.recall.found_relations, recall.found_relations),
            (&mut result.recall.chosen_relations, recall.chosen_relations),
        ] {
            all.extend(new);
        }
        match tried? {
            Ok(answer) => {
                result.answer = answer;
                break;
            }
            Err(failure) => result.failures.push(failure),
        }
    }
    result.unusable = replies.unusable;
    if result.answer.is_none() {
        let why = result.failures.last().cloned().unwrap_or_default();
        result.answer.emptied = Some(Emptied {
            step: result.failures.len(),
            call: String::new(),
            why: format!("not in the graph: {why}"),
        });
    }
    Ok(result)
}

/// One try.
struct Attempt<'s, 'g> {
    session: &'s Session<'g>,
    options: &'s PublishedTriadOptions,
    linker: Linker<'s, 'g>,
    bounds: Bounds,
    deadline: Duration,
}

impl Attempt<'_, '_> {
    /// The answer. If there is no answer, the reason.
    fn run<E: From<RankError>>(
        &mut self,
        last: bool,
        before: &[String],
        replies: &mut Replies<'_, E>,
    ) -> Result<Result<Answer, String>, E> {
        let (triples, kind) = if self.options.generalist {
            let triples = self.triples(before, replies)?;
            (triples, self.kind(replies)?)
        } else {
            (self.plain_triples()?, plain_kind(self.session.question()))
        };
        let matched = if triples.is_empty() {
            Err("no triple was extracted".to_owned())
        } else {
            self.linker.link_all(&triples, self.bounds, replies)?;
            self.matched(&triples, kind, replies)?
        };
        match matched {
            Ok(matched) => self.advised(kind, Some(matched), replies).map(Ok),
            Err(failure) if !last => Ok(Err(failure)),
            Err(failure) => {
                let answer = self.advised(kind, None, replies)?;
                Ok(if answer.is_none() {
                    Err(failure)
                } else {
                    Ok(answer)
                })
            }
        }
    }

    /// G: the triples of the question.
    fn triples<E>(
        &self,
        before: &[String],
        replies: &mut Replies<'_, E>,
    ) -> Result<Vec<NamedTriple>, E> {
        let tried = match before.last() {
            Some(failure) => format!("\nAn earlier try failed: {failure}. Write other triples."),
            None => String::new(),
        };
        let turn = TRIAD_TRIPLES.turn(&[
            ("examples", self.examples(&["question"], "triples")),
            ("tried", Part::kg(tried)),
            ("question", Part::user(self.session.question())),
        ]);
        let read = |reply: &str| Some(read::triples(reply)).filter(|all| !all.is_empty());
        Ok(replies
            .read(SubTask::Triples, turn, read)?
            .unwrap_or_default())
    }

    /// G: the kind of answer; `<select>` if the reply names none.
    fn kind<E>(&self, replies: &mut Replies<'_, E>) -> Result<AnswerType, E> {
        let turn = TRIAD_TYPE.turn(&[
            ("examples", self.examples(&["question"], "type")),
            ("question", Part::user(self.session.question())),
        ]);
        let kind = replies.read(SubTask::Type, turn, read::answer_type)?;
        Ok(kind.unwrap_or(AnswerType::Select))
    }

    /// The first N worked examples of a sub-task: what is given, then the result.
    fn examples(&self, given: &[&str], result: &str) -> Part {
        let mut text = String::new();
        for example in TRIAD_EXAMPLES.examples(self.options.examples) {
            text.push('\n');
            for (name, value) in example {
                if given.contains(&name) || name == result {
                    let mut letters = name.chars();
                    let first = letters.next().map(|c| c.to_ascii_uppercase());
                    text.extend(first);
                    text.push_str(letters.as_str());
                    text.push_str(&format!(": {value}\n"));
                }
            }
        }
        Part::ours(text.trim_end().to_owned())
    }

    /// Without the generalist: each mention that linking finds, and the words of the question.
    fn plain_triples<E: From<RankError>>(&self) -> Result<Vec<NamedTriple>, E> {
        let (kg, question) = (self.session.kg(), self.session.plain_question());
        let ranker = self.session.ranker().as_ref();
        // A question that cannot be linked has no mentions.
        let mentions =
            detect(kg, question, ranker, &self.session.options().cancel).unwrap_or_default();
        let words = |text: &str| {
            let plain = text.replace(|c: char| !c.is_alphanumeric(), " ");
            plain.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let triple = |(start, end): (usize, usize)| NamedTriple {
            subject: NamedEnd::Name(words(&question[start..end])),
            phrase: words(&format!("{} {}", &question[..start], &question[end..])),
            object: NamedEnd::Var("x".to_owned()),
        };
        Ok(mentions.into_iter().map(|one| triple(one.span)).collect())
    }

    /// G and D: the queries with a result, and the one that is chosen.
    fn matched<E: From<RankError>>(
        &mut self,
        triples: &[NamedTriple],
        kind: AnswerType,
        replies: &mut Replies<'_, E>,
    ) -> Result<Result<Matched, String>, E> {
        let listed: Vec<String> = triples.iter().map(ToString::to_string).collect();
        let text = if self.options.generalist {
            let turn = TRIAD_QUERY.turn(&[
                (
                    "examples",
                    self.examples(&["question", "type", "triples"], "query"),
                ),
                ("question", Part::user(self.session.question())),
                ("type", Part::ours(kind.text())),
                ("triples", Part::user(listed.join(" "))),
            ]);
            let read = |reply: &str| read::query(reply).map(str::to_owned);
            match replies.read(SubTask::Template, turn, read)? {
                Some(text) => text,
                None => return Ok(Err("no query was written".to_owned())),
            }
        } else {
            template::plain_query(kind, triples)
        };
        let query = match SlotQuery::parse(&text) {
            Ok(query) => query,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let mut found = match self.run_all(&query, replies)? {
            Ok(found) => found,
            Err(failure) => return Ok(Err(failure)),
        };
        let at = if found.len() > 1 && self.options.select_query {
            self.selected(&found, replies)?
        } else {
            0
        };
        Ok(Ok(found.swap_remove(at)))
    }

    /// D: the place of the query that asks what the question asks; the first if the reply names
    /// none in the list.
    fn selected<E>(&self, found: &[Matched], replies: &mut Replies<'_, E>) -> Result<usize, E> {
        let lines: Vec<String> = found
            .iter()
            .enumerate()
            .map(|(i, one)| format!("{}. {}", i + 1, one.query))
            .collect();
        let turn = TRIAD_SELECTION.turn(&[
            ("question", Part::user(self.session.question())),
            ("queries", Part::kg(lines.join("\n"))),
        ]);
        let read = |reply: &str| {
            let whole = found
                .iter()
                .position(|one| reply.contains(&one.query.to_string()));
            whole.or_else(|| {
                let digits = reply.trim_start_matches(|c: char| !c.is_ascii_digit());
                let end = digits
                    .find(|c: char| !c.is_ascii_digit())
                    .unwrap_or(digits.len());
                let number: usize = digits[..end].parse().ok()?;
                number.checked_sub(1).filter(|at| *at < found.len())
            })
        };
        Ok(replies
            .read(SubTask::Query, turn, read)?
            .unwrap_or_default())
    }

    /// A: the answer of the graph, or the advisor's. A yes/no question is answered with yes if
    /// either of them says so, as published.
    fn advised<E>(
        &self,
        kind: AnswerType,
        matched: Option<Matched>,
        replies: &mut Replies<'_, E>,
    ) -> Result<Answer, E> {
        let question = || Part::user(self.session.question());
        let graph = matched.map(|matched| self.graph_answer(matched));
        let advice = self.options.advice;
        if kind == AnswerType::Ask && advice != Advice::None {
            let turn = TRIAD_YES_OR_NO.turn(&[("question", question())]);
            let said = replies.read(SubTask::Answer, turn, read::truth)?;
            let stated = graph.as_ref().map(|answer| &answer.value);
            return Ok(match (stated, said) {
                (Some(AnswerValue::Truth(true)), _) | (Some(_), None | Some(false)) => {
                    graph.unwrap_or_default()
                }
                (_, Some(truth)) => known(AnswerValue::Truth(truth)),
                (None, None) => Answer::default(),
            });
        }
        if let Some(answer) = graph {
            return Ok(answer);
        }
        if kind != AnswerType::Select || advice != Advice::Full {
            return Ok(Answer::default());
        }
        let turn = TRIAD_FACT.turn(&[("question", question())]);
        let name = replies.read(SubTask::Answer, turn, |reply| {
            let line = reply.lines().map(str::trim).find(|line| !line.is_empty())?;
            Some(line.trim_end_matches('.').to_owned())
        })?;
        let kg = self.session.kg();
        let node = name
            .as_deref()
            .and_then(|name| Some(crate::link::candidates(kg, name).ok()?.first()?.node));
        // What has no entity in the graph cannot be compared with a gold answer of it.
        Ok(node.map_or_else(Answer::default, |node| {
            let member = Member {
                term: kg.term(node),
                name: kg.name(node),
                label: kg.label(node).unwrap_or_else(|| shown(kg, node)),
            };
            known(AnswerValue::Set(vec![member]))
        }))
    }
}

/// An answer from the model's own knowledge.
fn known(value: AnswerValue) -> Answer {
    Answer {
        value,
        provenance: Provenance::Model,
        ..Answer::default()
    }
}

/// The kind of answer that the first words of a question ask for.
fn plain_kind(question: &str) -> AnswerType {
    let question = question.to_lowercase();
    let yes_or_no = [
        "is ", "are ", "was ", "were ", "did ", "does ", "do ", "has ", "have ", "can ",
    ];
    if question.starts_with("how many") || question.contains("number of") {
        AnswerType::Count
    } else if yes_or_no.iter().any(|word| question.starts_with(word)) {
        AnswerType::Ask
    } else {
        AnswerType::Select
    }
}
