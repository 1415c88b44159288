#!/usr/bin/env python3
"""Two versions of kgagent against each other: loading a graph, gold data, and questions to a model.

    python3 benches/before_after.py OLD NEW --triples FILE.nt --questions cwq=QUESTIONS --graph FILE.nt.gz \\
        --demo DEMO_OUT --rounds 16

OLD and NEW are two binaries. They take turns, and each round swaps who begins. Prints medians of wall and processor
time and their ratio. --graph and --questions are for `datagen gold`; DEMO_OUT is what `kgagent demo` left. Nothing
else should run meanwhile.
"""
import argparse, os, resource, shutil, statistics, subprocess, sys, tempfile, time


def run(command):
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr[-400:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.time() - begun, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    for name in ("triples", "graph", "questions", "demo"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--rounds", type=int, default=16)
    options = parser.parse_args()
    data = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data")
    with tempfile.TemporaryDirectory() as work:
        tasks = {"load": {}, "gold": {}, "ask": {}}
        for side, binary in (("old", options.old), ("new", options.new)):
            at = lambda name: f"{work}/{side}-{name}"
            run([binary, "kg", "load", "--kg", at("gold-graph"), options.graph])
            run([binary, "kg", "load", "--kg", at("demo-graph"), f"{data}/graph.ttl", f"{data}/ontology.ttl"])
            tasks["load"][side] = (at("graph"), [binary, "kg", "load", "--kg", at("graph"), options.triples])
            tasks["gold"][side] = (at("gold"), [
                binary, "datagen", "gold", "--kg", at("gold-graph"), "--source", options.questions,
                "--out", at("gold"), "--threads", "1"])
            tasks["ask"][side] = (at("answers"), [
                binary, "eval", "--kg", at("demo-graph"), "--model", f"{options.demo}/model", "--mode", "paper",
                "--source", f"jsonl={data}/questions.new-entities.jsonl", "--entities", "gold", "--out", at("answers")])
        for name, sides in tasks.items():
            times = {"old": [], "new": []}
            for at in range(options.rounds):
                for side in ("old", "new") if at % 2 == 0 else ("new", "old"):
                    folder, command = sides[side]
                    shutil.rmtree(folder, ignore_errors=True)
                    times[side].append(run(command))
            middle = {side: [statistics.median(kind) for kind in zip(*all)] for side, all in times.items()}
            for at, kind in enumerate(("wall", "processor")):
                old, new = middle["old"][at], middle["new"][at]
                print(f"{name} {kind}: old {old:.3f} s, new {new:.3f} s, new/old {new / old:.3f}", flush=True)


main()
