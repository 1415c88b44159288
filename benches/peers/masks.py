"""Token masks of kgagent's acceptors against llguidance's, byte by byte, on random phrases and calls.

    pip install llguidance
    KGAGENT_MASKS=masks.jsonl cargo test --workspace --test toolbox gbnf:: -- --ignored
    python benches/peers/masks.py masks.jsonl

Where a grammar says exactly what the language is (no lists, no intersect or union), the masks must be equal; elsewhere the grammar may take more, so
ours must be within llguidance's.
"""

import json
import sys

import llguidance
from llguidance.gbnf_to_lark import any_to_lark

tokenizer = llguidance.LLTokenizer("byte")


def mask(matcher):
    """Bytes that may follow, and whether the text may end."""
    bits = matcher.compute_bitmask()
    allowed = {i for i in range(256) if bits[i // 8] >> (i % 8) & 1}
    return allowed, matcher.is_accepting()


def main(path):
    grammars = compared = equal = wrong = 0
    for line in open(path, encoding="utf-8"):
        case = json.loads(line)
        grammars += 1
        # The converter writes `((x)?)?` as `(x)??`, which its own grammar does not allow. Both mean `(x)?`.
        text = any_to_lark(case["grammar"]).replace(")??", ")?")
        lark = llguidance.LLMatcher.grammar_from_lark(text)
        for walk in case["walks"]:
            matcher = llguidance.LLMatcher(tokenizer, lark)
            if matcher.is_error():
                sys.exit(f"llguidance does not take\n{case['grammar']}\n{matcher.get_error()}")
            for i, ours in enumerate(walk["masks"]):
                theirs, end = mask(matcher)
                mine = set(ours["next"])
                compared += 1
                equal += mine == theirs
                fine = mine == theirs and ours["end"] == end if case["exact"] else mine <= theirs and (end or not ours["end"])
                if not fine:
                    wrong += 1
                    if wrong <= 5:
                        print(f"after {bytes(walk['bytes'][:i])!r} in {case['grammar']!r}: ours {sorted(mine)}, theirs {sorted(theirs)}")
                if i < len(walk["bytes"]) and not matcher.consume_token(walk["bytes"][i]):
                    wrong += 1
                    print(f"refused {bytes(walk['bytes'][:i + 1])!r} in {case['grammar']!r}")
                    break
    print(f"{grammars} grammars, {compared} masks compared, {equal} equal, {wrong} wrong")
    return wrong > 0 or compared == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
