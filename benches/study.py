"""The studies of the KG-Agent paper on any graph and question sets, one command each:

    python benches/study.py amount   --kg G --train S... --test S... --out OUT --sizes 2000,4000,8000,16000,32000,64000
    python benches/study.py mixture  --kg G --train S... --test S... --out OUT --count 4000 \\
                                     --mix metaqa=1,pathquestion=1 --mix metaqa=1,pathquestion=2
    python benches/study.py one-shot --kg G --train S    --test S... --out OUT --base MODEL
    python benches/study.py transfer --kg G --train S... --test S... --out OUT

amount    the same training with more and more data: calls, as in the paper; --unit question counts questions
mixture   the same amount of data (--count) from the sources in other shares
one-shot  a base without and with one question of every wording that the training questions have (the first one; names
          and numbers do not count as wording)
transfer  trained on all sources, and on all but one: the row "without" a source tells how well the set that is not trained on
          is answered. With one source: trained on it alone

S is a source as in `kgagent datagen gold --source`, such as metaqa=FOLDER#train. All questions are about one graph: load the files
of all sets into it. What follows `--` goes to `kgagent train`, such as `-- --base MODEL --recipe finetune --method lora`. The
agent runs as in the paper (`eval --mode paper`); change that with --eval. OUT/table.md has a row for each training and a
column for each test set: exact answers, their 95 % interval, Hits@1. The same command again continues where it stopped."""

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path


def arguments():
    given, extra = sys.argv[1:], []
    if "--" in given:
        at = given.index("--")
        given, extra = given[:at], given[at + 1 :]
    parser = argparse.ArgumentParser(usage=__doc__.replace("%", "%%"))
    parser.add_argument("study", choices=["amount", "mixture", "one-shot", "transfer"])
    parser.add_argument("--kg", required=True)
    parser.add_argument("--train", required=True, nargs="+")
    parser.add_argument("--test", required=True, nargs="+")
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--sizes", default="2000,4000,8000,16000,32000,64000")
    parser.add_argument("--unit", default="step", choices=["step", "question"])
    parser.add_argument("--mix", action="append", default=[])
    parser.add_argument("--count", help="units of every training set of `mixture` and `transfer`")
    parser.add_argument("--base", help="`one-shot`: the model to begin with")
    parser.add_argument("--datagen", default="", help="more options of datagen gold, in one word")
    parser.add_argument("--eval", default="--mode paper", help="options of eval, in one word")
    parser.add_argument("--kgagent", default=shutil.which("kgagent") or "target/release/kgagent")
    args = parser.parse_args(given)
    if args.study == "mixture" and not (args.mix and args.count):
        parser.error("mixture needs --mix for every mixture, and --count")
    if args.study == "amount" and len(args.mix) > 1:
        parser.error("amount takes one --mix")
    if args.study == "one-shot" and not args.base:
        parser.error("one-shot needs --base, a model that was trained on other questions")
    return args, extra


def settings(args):
    """The trainings: name, sources, options of datagen. Sources of None stand for the base as it is."""
    mix = ["--mix", args.mix[0]] if args.mix else []
    count = ["--unit", args.unit, "--count", args.count] if args.count else []
    match args.study:
        case "amount":
            for size in args.sizes.split(","):
                yield size, args.train, [*mix, "--unit", args.unit, "--count", size]
        case "mixture":
            for mix in args.mix:
                yield mix, args.train, ["--mix", mix, *count]
        case "one-shot":
            yield "the base alone", None, []
            yield "one-shot", args.train, ["--dedup", "masked"]
        case "transfer":
            yield "all", args.train, count
            for left in args.train if len(args.train) > 1 else []:
                yield f"without {left}", [source for source in args.train if source != left], count


def run(*command):
    print("$", shlex.join(map(str, command)), flush=True)
    code = subprocess.run(list(map(str, command))).returncode
    # 1 is a check that failed: `eval` ends with it where questions were skipped.
    if code not in (0, 1):
        sys.exit(f"stopped: the command above ended with {code}; the same study again continues")


def measured(args, number, sources, options, extra):
    """Trains and evaluates what is not there yet; the examples and the metrics of every test set."""
    place = args.out / f"{number:02}"
    place.mkdir(parents=True, exist_ok=True)
    model, data = args.base, place / "data"
    if sources is not None:
        if not (data / "report.json").exists():
            each = [word for source in sources for word in ("--source", source)]
            options = [*options, *shlex.split(args.datagen)]
            run(args.kgagent, "datagen", "gold", "--kg", args.kg, *each, *options, "--out", data)
        model = place / "model"
        base = ["--base", args.base] if args.base else [] if "--base" in extra else ["--base", "scratch:tiny"]
        if not (model / "run.json").exists():
            run(args.kgagent, "train", "--data", data, *base, *extra, "--resume", "auto", "--out", model)
    examples = json.load(open(data / "report.json"))["examples"] if sources is not None else 0
    for at, test in enumerate(args.test):
        out = place / f"test-{at}"
        if not (out / "metrics.json").exists():
            options = shlex.split(args.eval)
            run(args.kgagent, "eval", "--kg", args.kg, "--model", model, "--source", test, *options, "--out", out)
        yield examples, json.load(open(out / "metrics.json"))


def main():
    args, extra = arguments()
    args.out.mkdir(parents=True, exist_ok=True)
    # A study that was begun with other options would mix two studies in one table.
    asked = json.dumps({**vars(args), "out": None, "kgagent": None, "extra": extra}, default=str)
    begun = args.out / "study.json"
    if begun.exists() and begun.read_text() != asked:
        sys.exit(f"{args.out} has a study with other options; choose another --out")
    begun.write_text(asked)
    rows = [
        f"| {args.study} | examples | " + " | ".join(args.test) + " |",
        "|---" * (len(args.test) + 2) + "|",
    ]
    for number, (name, sources, options) in enumerate(settings(args)):
        results = list(measured(args, number, sources, options, extra))
        cells = [figure(metrics) for _, metrics in results]
        rows.append(f"| {name} | {results[0][0]} | " + " | ".join(cells) + " |")
        (args.out / "table.md").write_text("\n".join(rows) + "\n")
    print("\n".join(rows))


def figure(metrics):
    low, high = metrics["interval"]["exact"]
    return f"{metrics['exact']:.3f} ({low:.3f} to {high:.3f}), {metrics['hits_at_1']:.3f}"


if __name__ == "__main__":
    main()
