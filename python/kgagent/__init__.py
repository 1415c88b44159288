"""Answers questions over a knowledge graph, offline, and proves every answer with triples.

>>> import kgagent
>>> graph = kgagent.load("graph", ["towns.ttl"])
>>> print(graph.ask("capital of Peru?"))
Lima
"""

import sys as _sys

from ._kgagent import (
    Answer,
    Error,
    Graph,
    GraphError,
    Match,
    Model,
    ModelError,
    ProgramError,
    QueryError,
    QuestionError,
    Rows,
    __version__,
    load,
)
from ._kgagent import command_line as _command_line

__all__ = [
    "Answer",
    "Error",
    "Graph",
    "GraphError",
    "Match",
    "Model",
    "ModelError",
    "ProgramError",
    "QueryError",
    "QuestionError",
    "Rows",
    "__version__",
    "load",
]


def _main() -> None:
    """The command line `kgagent`."""
    _sys.exit(_command_line(["kgagent", *_sys.argv[1:]]))
