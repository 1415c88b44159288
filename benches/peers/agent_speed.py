"""The agent's questions a second beside a plain loop on llama.cpp's server: the same weights (a GGUF export), a GBNF grammar of what is live at
every call, full prompts.

    pip install 'llama-cpp-python[server]'
    python benches/peers/agent_speed.py KGAGENT MODEL GRAPH SOURCE [--limit 100] [--threads 2] [--quantize f16] [--work DIR]

Both sides answer the same questions (--limit of each hop where the source has hops) with the same file, one after the other: kgagent with its own engine on
one thread and without doubt, for which a server gives no probabilities; and kgagent's loop with every call asked of the server, which has --threads.
The server is llama-cpp-python's. Printed are questions a second of answering by the clock
(scoring left out), the ratio, tokens that the model wrote a question, how many answers are right, and how many programs are the same.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import time
import urllib.request


def written(folder):
    """Tokens chosen, and tokens that followed without a choice."""
    decided = forced = 0
    for trace in sorted((folder / "traces").glob("*.jsonl")):
        for line in trace.read_text(encoding="utf-8").splitlines():
            event = json.loads(line)
            if event["event"] == "tokens":
                decided += event["decided"]
                forced += event["forced"]
    return decided, forced


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kgagent")
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("graph")
    parser.add_argument("source")
    parser.add_argument("--limit", type=int, default=100)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--quantize", default="f16")
    parser.add_argument("--port", type=int, default=8791)
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("agent-speed"))
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    export = args.work / "export"
    subprocess.run([args.kgagent, "export", "--model", args.model, "--format", "gguf", "--quantize", args.quantize, "--out", export], check=True)
    [file] = export.glob("*.gguf")
    threads = str(args.threads)
    server = subprocess.Popen(
        [sys.executable, "-m", "llama_cpp.server", "--model", file, "--n_ctx", "2048", "--n_threads", threads, "--n_threads_batch", threads,
         "--host", "127.0.0.1", "--port", str(args.port), "--verbose", "false"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    try:
        url = f"http://127.0.0.1:{args.port}/v1"
        for _ in range(120):
            try:
                urllib.request.urlopen(url + "/models", timeout=1).read()
                break
            except OSError:
                if server.poll() is not None:
                    sys.exit("the server ended")
                time.sleep(0.5)
        sides = {
            "kgagent": ["--model", file, "--doubt", "1"],
            "llama.cpp": ["--model", url, "--constraint", "grammar", "--served", "own"],
        }
        rates, programs = {}, {}
        for name, options in sides.items():
            out = args.work / name
            done = subprocess.run(
                [args.kgagent, "eval", "--kg", args.graph, "--source", args.source, "--limit", str(args.limit), "--threads", "1", "--batch", "1",
                 "--traces", "--json", "--out", out, *options], check=True, capture_output=True,
            )
            metrics = json.loads(done.stdout)
            seconds = metrics["seconds"]
            decided, forced = written(out)
            n = metrics["n"]
            rates[name] = n / seconds
            lines = (out / "predictions.jsonl").read_text(encoding="utf-8").splitlines()
            programs[name] = {line["id"]: line["program"] for line in map(json.loads, lines)}
            print(f"{name:9}  {n} questions in {seconds:.2f} s, {n / seconds:.2f} a second; {decided / n:.1f} tokens chosen and {forced / n:.1f} forced "
                  f"a question; exact {metrics['exact']:.4f}, {metrics['invalid_calls']} invalid calls", flush=True)
        ours, theirs = programs["kgagent"], programs["llama.cpp"]
        same = sum(theirs.get(id) == program for id, program in ours.items())
        print(f"ratio {rates['kgagent'] / rates['llama.cpp']:.1f}; the same program on {same} of {len(ours)}")
    finally:
        server.terminate()
        server.wait()


main()
