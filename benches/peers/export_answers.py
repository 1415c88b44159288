"""A trained model and its exports: does transformers (merged weights) or llama.cpp (GGUF, F16) write the same turns on the same questions?

    pip install llama-cpp-python torch transformers numpy
    cargo build --release --workspace --example gguf_logits
    kgagent eval --kg GRAPH --model MODEL --source jsonl=data/questions.new-entities.jsonl --traces --out EVAL
    python benches/peers/export_answers.py KGAGENT MODEL EVAL/traces [--limit N] [--logits PATH/TO/gguf_logits] [--work DIR]

A trace has the whole conversation. Everyone reads it and says, at every token of the model's turns, which token would come next: the
greedy continuation is the same where all of them are. kgagent reads the folder without any constraint; transformers the merged export, text through
its own chat template; llama.cpp the GGUF, text through the tokenizer that the file describes to it. A question counts as the same only if the
tokens of the text are the same, too.

To see where a difference comes from, kgagent reads the F16 file too (the weights are rounded, nothing else is), and llama.cpp one in F32.
"""
import argparse
import ctypes
import json
import pathlib

import llama_cpp
import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from ours import engine, export

QUIET = llama_cpp.llama_log_callback(lambda *_: None)


def conversation(path):
    """The turns of a trace, the model's among them."""
    turns = []
    for line in path.read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        if event["event"] == "prompt":
            turns += [{"role": turn["role"], "content": "".join(part["text"] for part in turn["parts"])} for turn in event["turns"]]
        elif event["event"] == "call":
            turns.append({"role": "assistant", "content": event["text"]})
    return turns


def read(tokenizer, path):
    """A trace's turns, their tokens, and the places behind which the model chooses one of its own, the end of each turn included."""
    def tokens(turns, **options):
        return tokenizer.apply_chat_template(turns, tokenize=True, return_dict=False, **options)

    turns, chosen = conversation(path), []
    for i, turn in enumerate(turns):
        if turn["role"] == "assistant":
            begin = len(tokens(turns[:i], add_generation_prompt=True))
            chosen += range(begin - 1, len(tokens(turns[: i + 1])) - 1)
    return turns, tokens(turns), chosen


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kgagent")
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("traces", type=pathlib.Path)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--logits", default="target/release/examples/gguf_logits")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("export-answers"))
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    llama_cpp.llama_log_set(QUIET, ctypes.c_void_p(0))
    merged = export(args.kgagent, args.model, args.work / "merged", "--format", "merged")
    files = {}
    for kind in ["f16", "f32"]:
        [files[kind]] = export(args.kgagent, args.model, args.work / kind, "--format", "gguf", "--quantize", kind).glob("*.gguf")
    tokenizer = AutoTokenizer.from_pretrained(merged)
    torch_model = AutoModelForCausalLM.from_pretrained(merged, dtype=torch.float32).eval()
    # Keys and values in single precision, as everywhere else here.
    options = dict(n_ctx=2048, n_threads=1, logits_all=True, verbose=False, type_k=0, type_v=0, flash_attn=False)
    llama = {kind: llama_cpp.Llama(str(file), **options) for kind, file in files.items()}
    names = ["transformers, merged", "llama.cpp, F16", "llama.cpp, F32", "kgagent, F16"]
    same, worst, tokens, texts = dict.fromkeys(names, 0), dict.fromkeys(names, 0.0), 0, 0
    on_one_file = 0.0
    reach = 0.0
    paths = sorted(args.traces.glob("*.jsonl"))[: args.limit]
    for path in paths:
        turns, ids, chosen = read(tokenizer, path)
        ours = engine(args.logits, args.model, ids)
        with torch.no_grad():
            theirs = {names[0]: torch_model(torch.tensor([ids])).logits[0].numpy()}
        for name, kind in zip(names[1:3], ["f16", "f32"]):
            llama[kind].reset()
            llama[kind].eval(ids)
            theirs[name] = np.array(llama[kind].scores[: len(ids)])
        theirs[names[3]] = engine(args.logits, files["f16"], ids)
        on_one_file = max(on_one_file, np.abs(theirs[names[1]][:, : ours.shape[1]] - theirs[names[3]]).max())
        text = tokenizer.apply_chat_template(turns, tokenize=False)
        split = llama["f16"].tokenize(text.encode(), add_bos=False, special=True) == ids
        texts += split
        tokens += len(chosen)
        reach = max(reach, np.abs(ours).max())
        for name, logits in theirs.items():
            logits = logits[:, : ours.shape[1]]
            worst[name] = max(worst[name], np.abs(logits - ours).max())
            equal = (logits[chosen].argmax(1) == ours[chosen].argmax(1)).all()
            same[name] += bool(equal and (split or not name.startswith("llama.cpp")))
    n = len(paths)
    assert n > 0 and tokens > 0, "nothing was compared"
    print(f"{n} questions, {tokens} tokens of the model's; logits reach {reach:.1f}; llama.cpp splits {texts} of {n} conversations into the same tokens")
    for name in names:
        print(f"{name}: same greedy answer on {same[name]} of {n} ({100 * same[name] / n:.2f} %), largest difference of a logit {worst[name]:.1e}")
    print(f"llama.cpp and kgagent on the same F16 file: largest difference of a logit {on_one_file:.1e}")
    return any(same[name] < 0.99 * n or worst[name] > 2e-2 for name in names)


if __name__ == "__main__":
    raise SystemExit(main())
