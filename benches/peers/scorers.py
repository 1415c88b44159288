"""Published scorers written anew from their definitions, to hold kgagent's scores to them. Python standard library only.

    python benches/peers/scorers.py check                    # the hand-worked cases of scorers.json
    python benches/peers/scorers.py random 300 > benches/peers/scorers.random.jsonl   # random cases with what these functions give

Sources: ToG (eval/utils.py, exact_match), RoG (evaluate_results.py), Triad (evaluator.py), KQA Pro baselines (whether_equal), the WebQSP and
GrailQA evaluation scripts, KG-Agent's appendix A.2 (Hits@1 as the mean over draws, here as its expectation).
"""

import json
import math
import random
import re
import string
import sys
from datetime import date
from pathlib import Path


def f1_of(p, r):
    return 2 * p * r / (p + r) if p + r else 0.0


def sets(predicted, gold):
    """hits_at_1, hits_any, precision, recall, f1, exact; an empty gold set is met by an empty prediction only (GrailQA's rule)."""
    p, g = set(predicted), set(gold)
    if not p or not g:
        one = float(not p and not g)
        return dict.fromkeys(["hits_at_1", "hits_any", "precision", "recall", "f1", "exact"], one)
    common = len(p & g)
    precision, recall = common / len(p), common / len(g)
    return {"hits_at_1": precision, "hits_any": float(common > 0), "precision": precision, "recall": recall,
            "f1": f1_of(precision, recall), "exact": float(p == g)}


def webqsp_f1(predicted, gold):
    return 1.0 if not gold else sets(predicted, gold)["f1"]


def triad(predicted, gold):
    hits = len(set(predicted) & set(gold))
    recall = round(hits / (len(set(gold)) + 1e-5), 4)
    precision = round(hits / (len(set(predicted)) + 1e-5), 4)
    return {"triad_precision": precision, "triad_recall": recall, "triad_f1": round(precision * recall * 2 / (precision + recall + 1e-5), 3)}


def squad(text):
    text = "".join(c for c in text.lower() if c not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def rog(predicted, gold):
    if not gold:  # the script divides by zero
        return {"rog_hit": 0.0, "rog_accuracy": 0.0, "rog_f1": 0.0}
    said = squad(" ".join(predicted))
    matched = sum(squad(a) in said for a in gold)
    accuracy = matched / len(gold)
    f1 = f1_of(matched / len(predicted), accuracy) if predicted else 0.0
    return {"rog_hit": float(matched > 0), "rog_accuracy": accuracy, "rog_f1": f1}


def fold(text):
    return text.strip().replace(" ", "").lower()


def tog(predicted, gold):
    """exact_match of a response, for some predicted answer; without the hole that an empty text matches everything."""
    return float(any(p and g and (p in g or g in p) for p in map(fold, predicted) for g in map(fold, gold)))


def kqa_equal(a, b):
    def number(x):
        try:
            v, *unit = x.split()
            v = float(v)
            if v - int(v) < 1e-5:
                v = int(v)
            return " ".join([str(v), *unit])
        except (ValueError, OverflowError):
            return x

    def as_date(x):
        parts = x.split("-")
        return date(*map(int, parts)) if len(parts) == 3 else int(x)

    a, b = number(a), number(b)
    try:
        x, y = as_date(a), as_date(b)
        if isinstance(x, date) and isinstance(y, date):
            same = x == y
        else:
            same = (x.year if isinstance(x, date) else x) == (y.year if isinstance(y, date) else y)
    except ValueError:
        same = False
    return same or a == b


def labels(predicted, gold, aliases):
    """em_strict, em_alias, em_tog, odqa_em, kqa_accuracy, f1_alias, exact_alias; empty gold as in `sets`."""
    names = ["em_strict", "em_alias", "em_tog", "odqa_em", "kqa_accuracy", "f1_alias", "exact_alias"]
    if not predicted or not gold:
        return dict.fromkeys(names, float(not predicted and not gold))
    share = lambda hit: sum(map(hit, predicted)) / len(predicted)
    plain = set(map(fold, gold))
    other = {fold(alias): fold(label) for alias, label in aliases.items() if fold(label) in plain}
    open_domain = {squad(x) for x in [*gold, *(alias for alias, label in aliases.items() if fold(label) in plain)]}
    canonical = sets([other.get(fold(p), fold(p)) for p in predicted], plain)
    equal = all(any(kqa_equal(g, p) for p in predicted) for g in gold) and all(any(kqa_equal(g, p) for g in gold) for p in predicted)
    return {"em_strict": share(lambda p: fold(p) in plain), "em_alias": share(lambda p: fold(p) in plain | set(other)),
            "em_tog": tog(predicted, gold), "odqa_em": share(lambda p: squad(p) in open_domain), "kqa_accuracy": float(equal),
            "f1_alias": canonical["f1"], "exact_alias": canonical["exact"]}


def scores(case):
    predicted, gold = case["predicted"], case["gold"]
    return {**sets(predicted, gold), "webqsp_f1": webqsp_f1(predicted, gold), **triad(predicted, gold), **rog(predicted, gold),
            **labels(predicted, gold, case.get("aliases", {}))}


def check():
    cases = json.loads(Path(__file__).with_suffix(".json").read_text())
    wrong = 0
    for case in cases:
        got = scores(case)
        for name, want in case["want"].items():
            if not math.isclose(got[name], want, abs_tol=1e-9):
                wrong += 1
                print(f"{case['name']}: {name} is {got[name]}, by hand {want}")
    print(f"{len(cases)} cases, {sum(len(case['want']) for case in cases)} scores, {wrong} wrong")
    return wrong or not cases


def make(count):
    rng = random.Random(7)
    words = ["Paris", "paris", "the Hague", "Hague", "New York", "New York City", "1990", "1990.0", "1990-05-04", "3.5 metres", "3 metres", "-2.5",
             "O'Hara", "a", "", "Á b", "100.0 km", "100 km", "1990-13-01", "-44", "-0044-03-15", "York"]
    for number in range(count):
        pick = lambda: list(dict.fromkeys(rng.choices(words, k=rng.randrange(0, 5))))
        gold = pick()
        aliases = {rng.choice(words): rng.choice(gold) for _ in range(rng.randrange(0, 2)) if gold}
        aliases = {alias: label for alias, label in aliases.items() if fold(alias) not in map(fold, gold)}
        case = {"name": f"random {number}", "predicted": pick(), "gold": gold, "aliases": aliases}
        print(json.dumps({**case, "want": scores(case)}, ensure_ascii=False))


if __name__ == "__main__":
    if sys.argv[1:2] == ["random"]:
        make(int(sys.argv[2]))
    else:
        sys.exit(1 if check() else 0)
