"""Whose rounding is it, where llama.cpp and kgagent differ on one F16 file?

    pip install llama-cpp-python gguf torch transformers numpy
    cargo build --release --workspace --example gguf_logits
    kgagent export --model MODEL --format merged --out MERGED; kgagent export --model MODEL --format gguf --quantize f16 --out F16
    python benches/peers/llama_cpp_rounding.py MERGED F16/FILE.gguf EVAL/traces [--limit N] [--logits PATH/TO/gguf_logits] [--keys f32|f16]

The file's weights are numbers; what they make of a conversation is computed here in double precision (a plain forward pass in numpy), once with the
activations as they are and once with the activations rounded to F16 before every product with a matrix, as llama.cpp does. Both programs,
and the merged folder, whose weights are not rounded, are then held against these. Rounding to F16 jumps, so sums that differ in the last place of
single precision, as they do in another order, may round to neighbours: what that does is seen by rounding activations that are off by 1e-7 of
themselves. For the shape that kgagent trains: plain RoPE, no biases, tied output.
"""
import argparse
import ctypes
import pathlib

import gguf
import llama_cpp
import numpy as np
from transformers import AutoConfig, AutoTokenizer

from export_answers import QUIET, read
from ours import engine


def weights(path):
    tensors = {t.name: np.array(t.data).reshape(t.shape[::-1]).astype(np.float64) for t in gguf.GGUFReader(path).tensors}
    assert "output.weight" not in tensors and not any(name.endswith(".bias") for name in tensors), "another shape than this script knows"
    return tensors


def half(x):
    return x.astype(np.float16).astype(np.float64)


def nearly_half(x):
    return half(x * (1 + 1e-7 * np.random.default_rng(x.shape[0]).standard_normal(x.shape)))


def norm(x, weight, eps):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * weight


def logits(w, c, ids, rounded=None):
    """Logits after every token in double precision; `rounded`: what becomes of activations in front of every matrix."""
    enter = rounded or (lambda x: x)
    heads, kv, n = c.num_attention_heads, c.num_key_value_heads, len(ids)
    dim = getattr(c, "head_dim", None) or c.hidden_size // heads
    # llama.cpp's files have the rows of q and k in pairs of neighbours, and so are the numbers that are turned together.
    angle = np.arange(n)[:, None] * c.rope_parameters["rope_theta"] ** (-np.arange(0, dim, 2) / dim)
    cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]

    def turn(x):
        a, b = x[..., 0::2], x[..., 1::2]
        return np.stack([a * cos - b * sin, b * cos + a * sin], -1).reshape(x.shape)

    x = w["token_embd.weight"][ids]
    for i in range(c.num_hidden_layers):
        at = lambda name: w[f"blk.{i}.{name}.weight"]
        y = enter(norm(x, at("attn_norm"), c.rms_norm_eps))
        q, k, v = ((y @ at(f"attn_{p}").T).reshape(n, -1, dim) for p in "qkv")
        q, k = turn(q), turn(k)
        k, v = (np.repeat(t, heads // kv, axis=1) for t in (k, v))
        scores = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(dim)
        scores = np.where(np.tri(n, dtype=bool), scores, -np.inf)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = np.einsum("hqk,khd->qhd", scores / scores.sum(-1, keepdims=True), v).reshape(n, -1)
        x = x + enter(mixed) @ at("attn_output").T
        y = enter(norm(x, at("ffn_norm"), c.rms_norm_eps))
        gate = y @ at("ffn_gate").T
        x = x + enter(gate / (1 + np.exp(-gate)) * (y @ at("ffn_up").T)) @ at("ffn_down").T
    return enter(norm(x, w["output_norm.weight"], c.rms_norm_eps)) @ w["token_embd.weight"].T


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("merged", type=pathlib.Path)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("traces", type=pathlib.Path)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--logits", default="target/release/examples/gguf_logits")
    parser.add_argument("--keys", choices=["f32", "f16"], default="f32", help="what llama.cpp keeps keys and values in")
    args = parser.parse_args()
    llama_cpp.llama_log_set(QUIET, ctypes.c_void_p(0))
    tokenizer, config, w = AutoTokenizer.from_pretrained(args.merged), AutoConfig.from_pretrained(args.merged), weights(args.file)
    kind = {"f32": 0, "f16": 1}[args.keys]
    llama = llama_cpp.Llama(str(args.file), n_ctx=2048, n_threads=1, logits_all=True, verbose=False, type_k=kind, type_v=kind, flash_attn=False)
    pairs = [
        ("kgagent, F16 file", "exact"), ("llama.cpp, F16 file", "exact"), ("llama.cpp, F16 file", "activations in F16"),
        ("activations in F16", "exact"), ("the same off by 1e-7", "activations in F16"), ("kgagent, F32 folder", "exact"), ("llama.cpp, F16 file", "kgagent, F16 file"), ("llama.cpp, F16 file", "kgagent, F32 folder"),
    ]
    worst, turn, squares, count, reach = dict.fromkeys(pairs, 0.0), dict.fromkeys(pairs, 0.0), dict.fromkeys(pairs, 0.0), 0, 0.0
    paths = sorted(args.traces.glob("*.jsonl"))[: args.limit]
    for path in paths:
        _, ids, chosen = read(tokenizer, path)
        llama.reset()
        llama.eval(ids)
        found = {
            "exact": logits(w, config, ids), "activations in F16": logits(w, config, ids, half), "the same off by 1e-7": logits(w, config, ids, nearly_half),
            "llama.cpp, F16 file": np.array(llama.scores[: len(ids)]),
            "kgagent, F16 file": engine(args.logits, args.file, ids), "kgagent, F32 folder": engine(args.logits, args.merged, ids),
        }
        reach = max(reach, np.abs(found["exact"]).max())
        count += found["exact"].size
        for pair in pairs:
            difference = np.abs(found[pair[0]] - found[pair[1]])
            worst[pair] = max(worst[pair], difference.max())
            turn[pair] = max(turn[pair], difference[chosen].max())
            squares[pair] += (difference**2).sum()
    assert paths and count, "nothing was compared"
    print(f"{len(paths)} conversations, logits reach {reach:.1f}: largest difference at all tokens, at those the model chooses, and the root of the mean square")
    for a, b in pairs:
        print(f"{a:22} beside {b:22} {worst[a, b]:.1e}  {turn[a, b]:.1e}  {np.sqrt(squares[a, b] / count):.1e}")


if __name__ == "__main__":
    main()
