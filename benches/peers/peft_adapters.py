"""LoRA adapters in both directions: those that peft writes, read by kgagent, and one that kgagent trained, read by peft; and what merging changes.

    pip install torch transformers safetensors peft
    cargo build --release --workspace --example gguf_logits
    kgagent train --data DATA --base BASE --method lora --adapter --out ADAPTER
    python benches/peers/peft_adapters.py kgagent BASE ADAPTER [--logits PATH/TO/gguf_logits] [--work DIR]

BASE is a model folder with a tokenizer. peft's adapters have random factors, large enough to change what the base says. Printed is the largest difference of a
logit over the same random tokens, beside what the adapter changes at all; the script fails where one is over 1e-4.
"""
import argparse
import pathlib
import shutil
import subprocess

import numpy as np
import peft
import torch
from transformers import AutoModelForCausalLM

from ours import engine, export

ALL = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
# Name, what peft is told, and rows that the embedding gets for tokens which the base lacks.
CASES = [
    ("plain, q and v", dict(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"]), 0),
    ("rank-stabilised, every matrix", dict(r=8, lora_alpha=16, use_rslora=True, target_modules=ALL), 0),
    ("five tokens more", dict(r=4, lora_alpha=8, target_modules=["o_proj", "up_proj"]), 5),
]
TOKENS, MOST = 64, 1e-4


def base_model(folder, more=0):
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    if more:
        model.resize_token_embeddings(model.config.vocab_size + more)
    return model


def logits(model, ids):
    with torch.no_grad():
        return model(torch.tensor([ids])).logits[0].numpy()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kgagent")
    parser.add_argument("base", type=pathlib.Path)
    parser.add_argument("adapter", type=pathlib.Path)
    parser.add_argument("--logits", default="target/release/examples/gguf_logits")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("peft-adapters"))
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    base = args.base.resolve()
    plain = base_model(base)
    ids = torch.randint(0, plain.config.vocab_size, (TOKENS,)).tolist()
    without = logits(plain, ids)
    wrong = 0

    def compare(what, a, b):
        nonlocal wrong
        both = min(a.shape[1], b.shape[1])
        worst, changed = np.abs(a[:, :both] - b[:, :both]).max(), np.abs(a[:, : without.shape[1]] - without).max()
        # An adapter that changes nothing would agree with anything.
        wrong += worst > MOST or changed < 100 * MOST
        print(f"{what}: largest difference {worst:.1e}, the adapter changes logits by up to {changed:.2f}")

    for i, (name, options, more) in enumerate(CASES):
        folder = args.work / f"written-by-peft-{i}"
        shutil.rmtree(folder, ignore_errors=True)
        model = peft.get_peft_model(base_model(base, more), peft.LoraConfig(task_type="CAUSAL_LM", init_lora_weights=False, **options))
        for key, parameter in model.named_parameters():
            if "lora_" in key:
                torch.nn.init.normal_(parameter, std=0.1)
        model.eval().save_pretrained(folder)
        asked = ids + list(range(plain.config.vocab_size, plain.config.vocab_size + more))
        theirs = logits(model, asked)
        compare(f"written by peft {peft.__version__} ({name}), read by kgagent", engine(args.logits, folder, asked)[: len(ids)], theirs[: len(ids)])
        if more:
            worst = np.abs(engine(args.logits, folder, asked) - theirs).max()
            wrong += worst > MOST
            print(f"    the tokens added among them: {worst:.1e}")
        merged = export(args.kgagent, folder, args.work / f"merged-{i}", "--format", "merged")
        compare("    merged by kgagent, read by transformers", logits(base_model(merged), ids), theirs[: len(ids)])

    ours = engine(args.logits, args.adapter, ids)
    compare("trained by kgagent, read by peft", ours, logits(peft.PeftModel.from_pretrained(base_model(base), args.adapter).eval(), ids))
    merged = export(args.kgagent, args.adapter, args.work / "merged", "--format", "merged")
    compare("    merged by kgagent, read by transformers", ours, logits(base_model(merged), ids))
    compare("    merged by kgagent, read by kgagent", ours, engine(args.logits, merged, ids))
    return bool(wrong)


if __name__ == "__main__":
    raise SystemExit(main())
