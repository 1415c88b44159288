"""Types of the compiled part."""

from collections.abc import Iterator, Sequence
from os import PathLike
from typing import Any, final

__version__: str

class Error(Exception):
    """Something failed; the message says what was wrong and what would be right."""

class GraphError(Error):
    """A file or folder of a graph is missing or wrong."""

class QueryError(Error):
    """A SPARQL query does not parse, is not allowed, exceeds a limit or has no program."""

class ProgramError(Error):
    """A call of a program cannot be executed or expressed."""

class ModelError(Error):
    """A model's folder or file is missing or wrong, or the model failed."""

class QuestionError(Error):
    """A question is too long, took too long, or names an entity that the graph does not have."""

@final
class Match:
    """An entity whose name matches a text."""

    @property
    def name(self) -> str:
        """Its short name in this graph, as programs write it."""

    @property
    def label(self) -> str:
        """The label that matched."""

    @property
    def score(self) -> float:
        """From 0 to 1."""

@final
class Rows:
    """The rows of a SELECT query. A cell is the text of an IRI or literal, or None where it is unbound."""

    @property
    def columns(self) -> list[str]:
        """The variables."""

    @property
    def rows(self) -> list[tuple[str | None, ...]]:
        """A tuple for each row."""

    def dicts(self) -> list[dict[str, str | None]]:
        """A dictionary for each row, as data frames take it."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[tuple[str | None, ...]]: ...

@final
class Answer:
    """An answer, with the program that found it and the triples that prove it. It is false if there is none."""

    @property
    def labels(self) -> list[str]:
        """The members of a set, a number, `yes` or `no`, or the rows of a table."""

    @property
    def program(self) -> list[str]:
        """The calls that found it."""

    @property
    def evidence(self) -> list[tuple[str, str, str]]:
        """The triples that prove it, by labels."""

    def json(self) -> dict[str, Any]:
        """Everything, as `kgagent ask --json` prints it."""

    def __bool__(self) -> bool: ...
    def _repr_html_(self) -> str: ...

@final
class Model:
    """A model that `kgagent train` made: a folder, an adapter or a GGUF file."""

    def __new__(cls, path: str | PathLike[str]) -> Model:
        """Opens it. Raises ModelError."""

@final
class Graph:
    """A graph, open for reading, on any number of threads."""

    def __new__(cls, folder: str | PathLike[str]) -> Graph:
        """Opens a graph folder. Raises GraphError."""

    def ask(
        self,
        question: str,
        *,
        model: Model | None = None,
        entities: Sequence[str] = (),
    ) -> Answer:
        """Answers a question. Raises QuestionError, ModelError, KeyboardInterrupt."""

    def query(self, sparql: str) -> Rows | bool:
        """The rows of a SELECT query or the truth of an ASK query. Raises QueryError."""

    def search(self, text: str) -> list[Match]:
        """The entities whose names match a text, best first. Raises GraphError."""

    def run(self, program: str) -> Answer:
        """Runs a program of calls. Raises ProgramError."""

    def to_program(self, sparql: str) -> str:
        """The program that is equivalent to a query. Raises QueryError."""

    def to_sparql(self, program: str) -> str:
        """The query that is equivalent to a program. Raises ProgramError."""

    def __len__(self) -> int:
        """The number of triples."""

def load(folder: str | PathLike[str], files: Sequence[str | PathLike[str]]) -> Graph:
    """Reads files and folders, writes the graph folder `folder` and opens it. Raises GraphError."""

def command_line(args: Sequence[str]) -> int:
    """Runs the command line and returns its exit code. Wrong options end the process."""
