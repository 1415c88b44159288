"""Tests of the Python package, as somebody who installed it: `python tests/wheel.py` in an environment that has it.

    pip install maturin mypy
    maturin build --release --manifest-path python/Cargo.toml --out wheels && pip install wheels/*.whl
    python tests/wheel.py
"""

import concurrent.futures
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import kgagent

DATA = Path(__file__).resolve().parent.parent / "data"


def fails(kind: type[kgagent.Error], part: str, call: object, *args: object) -> None:
    try:
        call(*args)  # type: ignore[operator]
    except kind as error:
        assert part in str(error), error
        assert isinstance(error, kgagent.Error)
    else:
        raise AssertionError(f"{call} {args} raised nothing")


def main() -> None:
    place = Path(tempfile.mkdtemp())
    graph = kgagent.load(place / "graph", [DATA / "graph.ttl", DATA / "ontology.ttl"])
    assert len(graph) > 10_000 and len(kgagent.Graph(place / "graph")) == len(graph)

    answer = graph.ask("capital of peru?")
    assert answer and answer.labels == ["Lima"] and str(answer) == "Lima", answer
    assert any("get_tail_entity" in call for call in answer.program)
    assert ("Peru", "capital", "Lima") in answer.evidence, answer.evidence
    assert answer.json()["question"] == "capital of peru?"
    assert "<b>Lima</b>" in answer._repr_html_()
    assert not graph.ask("what is the boiling point of mercury?")
    assert graph.ask("capital of it?", entities=["Peru"]).labels == ["Lima"]

    found = graph.search("Lisbon")
    assert found[0].label == "Lisbon" and 0 < found[0].score <= 1
    rows = graph.query("PREFIX : <http://kgagent.example/> SELECT ?x ?y { :lisbon :location.city.country ?x }")
    assert isinstance(rows, kgagent.Rows)
    assert rows.columns == ["x", "y"] and list(rows) == [("http://kgagent.example/portugal", None)]
    assert rows.dicts() == [{"x": "http://kgagent.example/portugal", "y": None}] and len(rows) == 1
    assert graph.query("ASK { ?s ?p ?o }") is True

    program = graph.to_program("PREFIX : <http://kgagent.example/> SELECT ?x { :lisbon :location.city.country ?x }")
    assert graph.run(program).labels == ["Portugal"]
    again = graph.query(graph.to_sparql(program))
    assert isinstance(again, kgagent.Rows) and again.rows == [("http://kgagent.example/portugal",)]

    (place / "bad.ttl").write_text("<http://x/a> <http://x/b> .\n")
    fails(kgagent.GraphError, "bad.ttl", kgagent.load, place / "new", [place / "bad.ttl"])
    assert not (place / "new").exists()
    fails(kgagent.GraphError, "nowhere", kgagent.Graph, place / "nowhere")
    fails(kgagent.QueryError, "line 1, column 18", graph.query, "SELECT ?x WHERE {")
    fails(kgagent.ProgramError, "", graph.run, "v0 = get_tail_entity(nobody, no.relation)")
    fails(kgagent.ProgramError, "", graph.run, "v0 = (")
    fails(kgagent.ModelError, "nowhere", kgagent.Model, place / "nowhere")
    fails(kgagent.QuestionError, "characters", graph.ask, "why " * 10_000)
    try:
        graph.ask("capital of it?", entities=["nobody at all"])
    except kgagent.QuestionError as error:
        assert "nobody at all" in str(error)
    else:
        raise AssertionError("an unknown entity")

    # Threads: the interpreter's lock is released.
    questions = ["capital of peru?", "who directed The Third Man?", "cities in Portugal?"] * 40
    right = [graph.ask(question).labels for question in questions[:3]]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda question: graph.ask(question).labels, questions))
    assert answers == right * 40

    # Memory stays.
    def peak() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = peak()
    for _ in range(2_000):
        graph.ask("capital of peru?")
        graph.query("SELECT * { ?s ?p ?o } LIMIT 100")
    assert peak() < before + 20_000, (before, peak())

    # Ctrl-C ends a question.
    script = f"import kgagent; g = kgagent.Graph({str(place / 'graph')!r})\nwhile True: g.ask('capital of peru?')"
    child = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True)
    threading.Timer(2.0, lambda: os.kill(child.pid, signal.SIGINT)).start()
    began = time.monotonic()
    _, said = child.communicate(timeout=30)
    assert "KeyboardInterrupt" in said and time.monotonic() - began < 5, said

    # The command line.
    run = subprocess.run(["kgagent", "ask", "--kg", place / "graph", "capital of peru?"], capture_output=True, text=True)
    assert run.returncode == 0 and "Lima" in run.stdout, run
    run = subprocess.run([sys.executable, "-m", "kgagent", "ask", "--kg", place / "none", "x"], capture_output=True, text=True)
    assert run.returncode == 2 and "none" in run.stderr, run
    print("the Python package: all right")


main()
