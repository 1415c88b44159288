//! What programs build on: graphs, models and answers.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::cancel::Cancel;
use datagen::convert::{Context, convert};
use datagen::to_sparql::program_to_query;
use infer::agent::AgentKind;
use infer::answerer::{Answerer, Asking};
use infer::planner::{LocalModel, LocalPlanner, Planner, Scripted};
use kg::{FrozenKg, GraphFolder, Kg, LoadOptions, QueryAnswer, QueryLimits};
use serde_json::Value;
use toolbox::agent::Agent;
use toolbox::answer::{Answer as FoundAnswer, AnswerValue};
use toolbox::call::{ToolTable, parse_program};
use toolbox::exec::{ExecOptions, Session, run_program};
use toolbox::link::{self, Linked};
use toolbox::prompt::Template;
use toolbox::rank::{self, Ranker};

/// Why something failed. The message says what was wrong and what would be right.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder of a graph.
    #[error("{0}")]
    Graph(String),
    /// A SPARQL query.
    #[error("{0}")]
    Query(String),
    /// A program of calls.
    #[error("{0}")]
    Program(String),
    /// A model's folder or file.
    #[error("{0}")]
    Model(String),
    /// A question that cannot be asked.
    #[error("{0}")]
    Question(String),
}

impl Error {
    fn of(kind: fn(String) -> Self, error: impl Into<anyhow::Error>) -> Self {
        kind(crate::exit::error_line(&error.into()))
    }
}

/// A graph, open for reading. Clones share it, and all threads may use it at once.
///
/// ```
/// # fn main() -> Result<(), kgagent::Error> {
/// # let place = tempfile::tempdir().map_err(|e| kgagent::Error::Graph(e.to_string()))?;
/// # let file = place.path().join("towns.ttl");
/// # std::fs::write(&file, "@prefix : <http://x/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
/// #   :lima a :Town ; rdfs:label \"Lima\" . :peru rdfs:label \"Peru\" ; :capital :lima .").map_err(|e| kgagent::Error::Graph(e.to_string()))?;
/// let graph = kgagent::Graph::load(&place.path().join("graph"), &[file])?;
/// let towns = graph.query("ASK { ?c a <http://x/Town> }")?;
/// assert!(matches!(towns, kgagent::QueryAnswer::Bool(true)));
/// assert_eq!(graph.search("lima")?[0].label, "Lima");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Graph {
    kg: Arc<FrozenKg>,
}

/// An entity whose name matches a text.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Match {
    /// Its short name in this graph, as programs write it.
    pub name: String,
    /// The label that matched.
    pub label: String,
    /// From 0 to 1.
    pub score: f32,
}

impl Graph {
    /// Reads files and folders (Turtle, N-Triples, RDF/XML, JSON-LD, OBO and others, compressed or not), writes the graph
    /// folder `dir`, and opens it.
    ///
    /// # Errors
    /// [`Error::Graph`] names the file and line; `dir` is then unchanged.
    pub fn load(dir: &Path, files: &[PathBuf]) -> Result<Self, Error> {
        let loaded = GraphFolder::load(dir, files, &LoadOptions::default(), &|_| {});
        let (kg, _) = loaded.map_err(|error| Error::of(Error::Graph, error))?;
        Ok(Self { kg: Arc::new(kg) })
    }

    /// Opens a graph folder.
    ///
    /// # Errors
    /// [`Error::Graph`] if it is no graph folder of this version.
    pub fn open(dir: &Path) -> Result<Self, Error> {
        let opened = GraphFolder::open(dir).map_err(|error| Error::of(Error::Graph, error))?;
        Ok(Self {
            kg: Arc::new(opened),
        })
    }

    /// The number of triples.
    #[must_use]
    pub fn triples(&self) -> usize {
        self.kg.len()
    }

    /// The rows of a SELECT query, or the truth of an ASK query.
    ///
    /// # Errors
    /// [`Error::Query`] if it does not parse, is not allowed or exceeds a limit.
    pub fn query(&self, sparql: &str) -> Result<QueryAnswer, Error> {
        let query = kg::parse_query(sparql).map_err(|error| Error::of(Error::Query, error))?;
        let answer = self.kg.query(&query, QueryLimits::default());
        answer.map_err(|error| Error::of(Error::Query, error))
    }

    /// The entities whose names match a text, best first.
    ///
    /// # Errors
    /// [`Error::Graph`] if the label index is damaged.
    pub fn search(&self, text: &str) -> Result<Vec<Match>, Error> {
        let found = link::candidates(&*self.kg, text);
        let found = found.map_err(|error| Error::of(Error::Graph, error))?;
        let matched = found.into_iter().map(|one| Match {
            name: self.kg.name(one.node),
            label: one.label,
            score: one.score,
        });
        Ok(matched.collect())
    }

    /// Runs a program of calls, one a line or separated by semicolons.
    ///
    /// # Errors
    /// [`Error::Program`] names the call that cannot be executed.
    pub fn run(&self, program: &str) -> Result<Answer, Error> {
        let wrong = |error: anyhow::Error| Error::of(Error::Program, error);
        let calls = parse_program(program).map_err(|error| wrong(error.into()))?;
        let options = ExecOptions {
            tools: ToolTable::Extended,
            max_steps: calls.len(),
            ..ExecOptions::default()
        };
        let session = Session::new(&*self.kg, "", Linked::default(), &[], options);
        let mut session = session.map_err(|error| wrong(error.into()))?;
        run_program(&mut session, &calls).map_err(|(step, error)| {
            wrong(anyhow::Error::new(error).context(format!("call {} failed", step + 1)))
        })?;
        let answer = FoundAnswer::of(&session);
        let object = serde_json::json!({ "answer": answer });
        Ok(Answer { answer, object })
    }

    /// The program of calls that is equivalent to a SPARQL query.
    ///
    /// # Errors
    /// [`Error::Query`] says why no program is.
    pub fn to_program(&self, sparql: &str) -> Result<String, Error> {
        let query = kg::parse_query(sparql).map_err(|error| Error::of(Error::Query, error))?;
        let context = Context {
            kg: Some(&*self.kg),
            tools: ToolTable::Extended,
            ..Context::default()
        };
        let program = convert(&query, &context);
        let program = program.map_err(|reason| Error::Query(reason.to_string()))?;
        let calls: Vec<String> = program.calls.iter().map(ToString::to_string).collect();
        Ok(calls.join("\n"))
    }

    /// The SPARQL query that is equivalent to a program of calls.
    ///
    /// # Errors
    /// [`Error::Program`] names the call that no query expresses.
    pub fn to_sparql(&self, program: &str) -> Result<String, Error> {
        let calls = parse_program(program).map_err(|error| Error::of(Error::Program, error))?;
        let query = program_to_query(&*self.kg, &calls, &[]);
        let query = query.map_err(|error| Error::of(Error::Program, error))?;
        Ok(query.to_string())
    }

    /// The graph as the crates below know it.
    #[must_use]
    pub fn kg(&self) -> &FrozenKg {
        &self.kg
    }
}

/// A model that was trained by this program, ready to answer. Clones share it.
#[derive(Clone)]
pub struct Model {
    model: Arc<LocalModel>,
    name: String,
}

impl Model {
    /// Opens a model folder, an adapter, a GGUF file or `ORG/NAME` of the hub's cache.
    ///
    /// # Errors
    /// [`Error::Model`] names the file that is missing or wrong.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let opened = LocalModel::open(path).map_err(|error| Error::of(Error::Model, error))?;
        Ok(Self {
            model: Arc::new(opened),
            name: path.display().to_string(),
        })
    }
}

/// Asks questions about a graph, with a model or by their words alone. All threads may ask at once.
///
/// ```no_run
/// use kgagent::{Asker, Graph, Model};
///
/// let graph = Graph::open("graph".as_ref())?;
/// let by_words = Asker::new(&graph);
/// let with_model = Asker::new(&graph).with_model(&Model::open("model".as_ref())?)?;
/// let answer = with_model.ask("Who directed The Third Man?")?;
/// println!("{} because {:?}", answer, answer.evidence());
/// # Ok::<(), kgagent::Error>(())
/// ```
#[derive(Clone)]
pub struct Asker {
    graph: Graph,
    model: Option<Model>,
    agent: AgentKind,
    template: Template,
    ranker: Arc<dyn Ranker>,
}

impl Asker {
    /// Answers by the words of a question alone.
    #[must_use]
    pub fn new(graph: &Graph) -> Self {
        let agent = AgentKind::Words(infer::agent::Deciding::default());
        Self {
            graph: graph.clone(),
            model: None,
            template: Template {
                tools: ToolTable::Extended,
                ..Template::of(agent.trained_as())
            },
            agent,
            ranker: rank::lexical(),
        }
    }

    /// Answers with a model: its own program is weighed against those that the words propose.
    ///
    /// # Errors
    /// [`Error::Model`] if the model was trained for prompts that this version does not write.
    pub fn with_model(self, model: &Model) -> Result<Self, Error> {
        let template = model.model.template(Agent::KgAgent);
        Ok(Self {
            template: template.map_err(|error| Error::of(Error::Model, error))?,
            agent: AgentKind::best(Agent::KgAgent),
            model: Some(model.clone()),
            ..self
        })
    }

    /// Answers a question. A question without an answer in the graph is an answer, too ([`Answer::is_none`]).
    ///
    /// # Errors
    /// [`Error::Question`] if it is too long or takes too long, [`Error::Model`] if the model fails.
    pub fn ask(&self, question: &str) -> Result<Answer, Error> {
        self.ask_about(question, &[])
    }

    /// [`Asker::ask`] about entities that are given by name, id or label.
    ///
    /// # Errors
    /// As [`Asker::ask`], and [`Error::Question`] for an entity that the graph does not have.
    pub fn ask_about(&self, question: &str, entities: &[String]) -> Result<Answer, Error> {
        self.ask_until(question, entities, &Cancel::default())
    }

    /// [`Asker::ask_about`], which ends when `cancel` says so.
    ///
    /// # Errors
    /// As [`Asker::ask_about`], and [`Error::Question`] if it was cancelled.
    pub fn ask_until(
        &self,
        question: &str,
        entities: &[String],
        cancel: &Cancel,
    ) -> Result<Answer, Error> {
        let kg = self.graph.kg();
        let answerer = Answerer {
            kg,
            agent: &self.agent,
            template: &self.template,
            ranker: &self.ranker,
            model_name: self.model.as_ref().map_or("none", |model| &model.name),
        };
        let asking = Asking {
            entities,
            cancel: cancel.clone(),
            ..Asking::of(question)
        };
        let mut planner: Box<dyn Planner> = match &self.model {
            Some(Model { model, .. }) => Box::new(
                LocalPlanner::new(model).with_abstention_threshold(model.abstention_threshold()),
            ),
            None => Box::new(Scripted::new(Vec::new())),
        };
        let answered = answerer.answer(asking, planner.as_mut());
        let answered = answered.map_err(|error| match error {
            infer::InferError::Model(_) | infer::InferError::Engine(_) => {
                Error::of(Error::Model, error)
            }
            other => Error::of(Error::Question, other),
        })?;
        let object = answered.outcome.object(question, &answered.names(kg));
        Ok(Answer {
            answer: answered.outcome.answer,
            object,
        })
    }
}

/// An answer with the program that found it and the triples that prove it.
#[derive(Clone, Debug)]
pub struct Answer {
    answer: FoundAnswer,
    object: Value,
}

impl Answer {
    /// Whether the graph has no answer.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.answer.is_none()
    }

    /// The labels of the members of a set; a number, a truth value (`yes`, `no`) or the cells of a table's rows as texts.
    #[must_use]
    pub fn labels(&self) -> Vec<String> {
        match &self.answer.value {
            AnswerValue::Set(members) => members.iter().map(|one| one.label.clone()).collect(),
            AnswerValue::Number(number) => vec![number.to_string()],
            AnswerValue::Truth(truth) => vec![if *truth { "yes" } else { "no" }.to_owned()],
            AnswerValue::Table(table) => (table.rows.iter())
                .map(|row| {
                    let cells: Vec<&str> = row.iter().map(|cell| cell.label.as_str()).collect();
                    cells.join(" | ")
                })
                .collect(),
        }
    }

    /// The program, a call a line.
    #[must_use]
    pub fn program(&self) -> &[String] {
        &self.answer.program
    }

    /// The triples that prove the answer, by labels.
    #[must_use]
    pub fn evidence(&self) -> Vec<[String; 3]> {
        (self.answer.evidence.iter())
            .map(|triple| triple.text.clone())
            .collect()
    }

    /// Everything, as `kgagent ask --json` prints it.
    #[must_use]
    pub fn json(&self) -> &Value {
        &self.object
    }
}

impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.labels().as_slice() {
            [] => f.write_str("none"),
            labels => f.write_str(&labels.join(", ")),
        }
    }
}
