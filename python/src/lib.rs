//! The Python package `kgagent`: the library's graphs, models and answers, and the command line.
#![allow(
    clippy::needless_pass_by_value,
    clippy::redundant_closure_for_method_calls,
    reason = "Python's arguments arrive as values; the method named by clippy is not general enough"
)]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use common::cancel::Cancel;
use kgagent::{Asker, QueryAnswer, Term};
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

create_exception!(_kgagent, Error, PyException, "Something failed.");
create_exception!(_kgagent, GraphError, Error, "A graph is missing or wrong.");
create_exception!(_kgagent, QueryError, Error, "A SPARQL query is wrong.");
create_exception!(_kgagent, ProgramError, Error, "A program is wrong.");
create_exception!(
    _kgagent,
    ModelError,
    Error,
    "A model is missing, wrong or failed."
);
create_exception!(
    _kgagent,
    QuestionError,
    Error,
    "A question cannot be answered."
);

/// How often a question looks whether Ctrl-C was pressed.
const SIGNALS: Duration = Duration::from_millis(20);

fn raised(error: kgagent::Error) -> PyErr {
    let message = error.to_string();
    match error {
        kgagent::Error::Graph(_) => GraphError::new_err(message),
        kgagent::Error::Query(_) => QueryError::new_err(message),
        kgagent::Error::Program(_) => ProgramError::new_err(message),
        kgagent::Error::Model(_) => ModelError::new_err(message),
        kgagent::Error::Question(_) => QuestionError::new_err(message),
        _ => Error::new_err(message),
    }
}

/// Runs `work` on another thread without the interpreter's lock. Ctrl-C sets its flag.
fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Cancel) -> Result<T, kgagent::Error> + Send,
) -> PyResult<T> {
    let flag = Arc::new(AtomicBool::new(false));
    let cancel = Cancel::on(Arc::clone(&flag));
    let (result, stopped) = py.detach(|| {
        let (done, result) = channel();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                // The other end is gone only if that thread panicked.
                let _ = done.send(work(&cancel));
            });
            let mut stopped = None;
            loop {
                match result.recv_timeout(SIGNALS) {
                    Ok(result) => return (Some(result), stopped),
                    Err(RecvTimeoutError::Disconnected) => return (None, stopped),
                    Err(RecvTimeoutError::Timeout) if stopped.is_none() => {
                        if let Err(error) = Python::attach(|py| py.check_signals()) {
                            flag.store(true, Ordering::Relaxed);
                            stopped = Some(error);
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                }
            }
        })
    });
    match (result, stopped) {
        (_, Some(error)) => Err(error),
        (Some(result), None) => result.map_err(raised),
        (None, None) => Err(Error::new_err(
            "the question ended with a fault of the program",
        )),
    }
}

/// An entity whose name matches a text.
#[pyclass(frozen, module = "kgagent")]
struct Match(kgagent::Match);

#[pymethods]
impl Match {
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn label(&self) -> &str {
        &self.0.label
    }

    #[getter]
    fn score(&self) -> f32 {
        self.0.score
    }

    fn __repr__(&self) -> String {
        format!(
            "Match({:?}, {:?}, {:.2})",
            self.0.name, self.0.label, self.0.score
        )
    }
}

/// The rows of a SELECT query.
#[pyclass(frozen, module = "kgagent")]
struct Rows {
    columns: Vec<String>,
    rows: Vec<Vec<Option<Term>>>,
}

/// The text of a term.
fn text(term: &Option<Term>) -> Option<String> {
    term.as_ref().map(|term| match term {
        Term::Iri(iri) => iri.clone(),
        Term::Literal(literal) => literal.lexical.clone(),
        blank @ Term::Blank(_) => blank.to_string(),
    })
}

#[pymethods]
impl Rows {
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.columns.clone()
    }

    #[getter]
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let row = |row: &Vec<Option<Term>>| PyTuple::new(py, row.iter().map(text));
        self.rows.iter().map(row).collect()
    }

    fn dicts<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let row = |row: &Vec<Option<Term>>| {
            let dict = PyDict::new(py);
            for (column, term) in self.columns.iter().zip(row) {
                dict.set_item(column, text(term))?;
            }
            Ok(dict)
        };
        self.rows.iter().map(row).collect()
    }

    fn __len__(&self) -> usize {
        self.rows.len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let rows = self.rows(py)?.into_pyobject(py)?;
        Ok(rows.try_iter()?.into_any())
    }

    fn __repr__(&self) -> String {
        format!("<{} rows of {}>", self.rows.len(), self.columns.join(", "))
    }
}

/// An answer.
#[pyclass(frozen, module = "kgagent")]
struct Answer(kgagent::Answer);

#[pymethods]
impl Answer {
    #[getter]
    fn labels(&self) -> Vec<String> {
        self.0.labels()
    }

    #[getter]
    fn program(&self) -> Vec<String> {
        self.0.program().to_vec()
    }

    #[getter]
    fn evidence(&self) -> Vec<(String, String, String)> {
        let triples = self.0.evidence().into_iter();
        triples.map(|[s, p, o]| (s, p, o)).collect()
    }

    fn json<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let loads = py.import("json")?.getattr("loads")?;
        loads.call1((self.0.json().to_string(),))
    }

    fn __bool__(&self) -> bool {
        !self.0.is_none()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("Answer({:?})", self.0.labels())
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let escape = py.import("html")?.getattr("escape")?;
        let safe = |text: &str| escape.call1((text,))?.extract::<String>();
        let mut html = format!("<b>{}</b>", safe(&self.0.to_string())?);
        html += &format!("<pre>{}</pre><table>", safe(&self.0.program().join("\n"))?);
        for [s, p, o] in self.0.evidence() {
            html += &format!("<tr><td>{}<td>{}<td>{}", safe(&s)?, safe(&p)?, safe(&o)?);
        }
        Ok(html + "</table>")
    }
}

/// A model.
#[pyclass(frozen, module = "kgagent")]
struct Model(kgagent::Model);

#[pymethods]
impl Model {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let opened = py.detach(|| kgagent::Model::open(&path));
        opened.map(Self).map_err(raised)
    }
}

/// A graph.
#[pyclass(frozen, module = "kgagent")]
struct Graph(kgagent::Graph);

#[pymethods]
impl Graph {
    #[new]
    fn new(py: Python<'_>, folder: PathBuf) -> PyResult<Self> {
        let opened = py.detach(|| kgagent::Graph::open(&folder));
        opened.map(Self).map_err(raised)
    }

    #[pyo3(signature = (question, *, model=None, entities=Vec::new()))]
    fn ask(
        &self,
        py: Python<'_>,
        question: &str,
        model: Option<&Bound<'_, Model>>,
        entities: Vec<String>,
    ) -> PyResult<Answer> {
        let asker = Asker::new(&self.0);
        let asker = match model {
            Some(model) => asker.with_model(&model.get().0).map_err(raised)?,
            None => asker,
        };
        interruptible(py, |cancel| asker.ask_until(question, &entities, cancel)).map(Answer)
    }

    fn query<'py>(&self, py: Python<'py>, sparql: &str) -> PyResult<Bound<'py, PyAny>> {
        let answer = py.detach(|| self.0.query(sparql)).map_err(raised)?;
        match answer {
            QueryAnswer::Rows { variables, rows } => {
                let rows = Rows {
                    columns: variables,
                    rows,
                };
                Ok(Bound::new(py, rows)?.into_any())
            }
            QueryAnswer::Bool(truth) => Ok(truth.into_pyobject(py)?.to_owned().into_any()),
        }
    }

    fn search(&self, py: Python<'_>, text: &str) -> PyResult<Vec<Match>> {
        let found = py.detach(|| self.0.search(text)).map_err(raised)?;
        Ok(found.into_iter().map(Match).collect())
    }

    fn run(&self, py: Python<'_>, program: &str) -> PyResult<Answer> {
        py.detach(|| self.0.run(program))
            .map(Answer)
            .map_err(raised)
    }

    fn to_program(&self, py: Python<'_>, sparql: &str) -> PyResult<String> {
        py.detach(|| self.0.to_program(sparql)).map_err(raised)
    }

    fn to_sparql(&self, py: Python<'_>, program: &str) -> PyResult<String> {
        py.detach(|| self.0.to_sparql(program)).map_err(raised)
    }

    fn __len__(&self) -> usize {
        self.0.triples()
    }
}

/// Loads files into a graph folder and opens it.
#[pyfunction]
fn load(py: Python<'_>, folder: PathBuf, files: Vec<PathBuf>) -> PyResult<Graph> {
    let loaded = py.detach(|| kgagent::Graph::load(&folder, &files));
    loaded.map(Graph).map_err(raised)
}

/// Runs the command line.
#[pyfunction]
fn command_line(py: Python<'_>, args: Vec<std::ffi::OsString>) -> u8 {
    py.detach(|| kgagent::command_line(&args))
}

#[pymodule]
fn _kgagent(py: Python<'_>, module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<Answer>()?;
    module.add_class::<Graph>()?;
    module.add_class::<Match>()?;
    module.add_class::<Model>()?;
    module.add_class::<Rows>()?;
    module.add("Error", py.get_type::<Error>())?;
    module.add("GraphError", py.get_type::<GraphError>())?;
    module.add("QueryError", py.get_type::<QueryError>())?;
    module.add("ProgramError", py.get_type::<ProgramError>())?;
    module.add("ModelError", py.get_type::<ModelError>())?;
    module.add("QuestionError", py.get_type::<QuestionError>())?;
    module.add_function(wrap_pyfunction!(load, module)?)?;
    module.add_function(wrap_pyfunction!(command_line, module)?)
}
