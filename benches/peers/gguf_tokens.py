"""Does llama.cpp split conversations into the tokens that a model was trained on, from what a GGUF export tells it about the tokenizer?

    pip install llama-cpp-python tokenizers
    kgagent export --model MODEL --format gguf --out EXPORT
    python benches/peers/gguf_tokens.py EXPORT/FILE.gguf MODEL DATA [LINES]

DATA is a dataset folder; its conversations are the texts.
"""
import ctypes
import json
import pathlib
import sys

import llama_cpp
from tokenizers import Tokenizer

QUIET = llama_cpp.llama_log_callback(lambda *_: None)


def main(file, model, data, lines=1000):
    llama_cpp.llama_log_set(QUIET, ctypes.c_void_p(0))
    theirs = llama_cpp.Llama(file, vocab_only=True, verbose=False)
    ours = Tokenizer.from_file(str(pathlib.Path(model) / "tokenizer.json"))
    end = ours.token_to_id("<|end|>")
    compared = tokens = same = shown = 0
    with open(pathlib.Path(data) / "train.jsonl", encoding="utf-8") as conversations:
        for line, _ in zip(conversations, range(int(lines))):
            ids, text = [], ""
            for turn in json.loads(line)["messages"]:
                ids += [ours.token_to_id(f"<|{turn['role']}|>"), *ours.encode(turn["content"], add_special_tokens=False).ids, end]
                text += f"<|{turn['role']}|>{turn['content']}<|end|>"
            found = theirs.tokenize(text.encode(), add_bos=False, special=True)
            compared += 1
            tokens += len(ids)
            same += found == ids
            if found != ids and shown < 3:
                shown += 1
                at = next((i for i, (a, b) in enumerate(zip(found, ids)) if a != b), min(len(found), len(ids)))
                print(f"llama.cpp {[ours.id_to_token(i) for i in found[at:at + 4]]}, ours {[ours.id_to_token(i) for i in ids[at:at + 4]]}")
    assert compared > 0, "nothing was compared"
    print(f"{compared} conversations, {tokens} tokens: {same} the same")
    return same < 0.99 * compared


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
