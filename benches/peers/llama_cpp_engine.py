"""kgagent's engine beside llama.cpp on the same GGUF files: random weights in the shape of `scratch:base` with 32,000 tokens (113 million).

    pip install llama-cpp-python gguf numpy
    cargo build --release -p engine --example gguf_speed
    python benches/peers/llama_cpp_engine.py DIR [--threads 2] [--speed PATH/TO/gguf_speed] [--formats f32,f16,q8_0,q4_k_m] [--rounds 3]

Files are made once (F32 here, the others by llama.cpp's own quantiser, so that the formats are its). Rounds alternate between the two; the best
of each counts, and the ratio of those is printed. With --threads 1 processor time is what counts on both sides, so that a busy machine does not.
"""
import argparse
import ctypes
import json
import pathlib
import subprocess
import time

import gguf
import llama_cpp
import numpy as np

SHAPE = dict(layers=14, hidden=768, inner=2048, heads=12, kv_heads=4, dim=64, vocab=32000, context=4096)
QUIET = llama_cpp.llama_log_callback(lambda *_: None)
KINDS = {"f16": llama_cpp.LLAMA_FTYPE_MOSTLY_F16, "q8_0": llama_cpp.LLAMA_FTYPE_MOSTLY_Q8_0, "q4_k_m": llama_cpp.LLAMA_FTYPE_MOSTLY_Q4_K_M}


def base(path, shape):
    random = np.random.default_rng(1)
    out = gguf.GGUFWriter(path, "llama")
    out.add_context_length(shape["context"])
    out.add_embedding_length(shape["hidden"])
    out.add_block_count(shape["layers"])
    out.add_feed_forward_length(shape["inner"])
    out.add_head_count(shape["heads"])
    out.add_head_count_kv(shape["kv_heads"])
    out.add_key_length(shape["dim"])
    out.add_value_length(shape["dim"])
    out.add_rope_dimension_count(shape["dim"])
    out.add_rope_freq_base(10000.0)
    out.add_layer_norm_rms_eps(1e-5)
    out.add_vocab_size(shape["vocab"])
    out.add_tokenizer_model("none")
    out.add_file_type(0)
    def matrix(name, rows, columns):
        out.add_tensor(name, random.standard_normal((rows, columns), dtype=np.float32) * np.float32(columns**-0.5))
    def ones(name):
        out.add_tensor(name, np.ones(shape["hidden"], np.float32))
    hidden, q, kv = shape["hidden"], shape["heads"] * shape["dim"], shape["kv_heads"] * shape["dim"]
    matrix("token_embd.weight", shape["vocab"], hidden)
    for i in range(shape["layers"]):
        ones(f"blk.{i}.attn_norm.weight")
        ones(f"blk.{i}.ffn_norm.weight")
        for name, rows, columns in [
            ("attn_q", q, hidden), ("attn_k", kv, hidden), ("attn_v", kv, hidden), ("attn_output", hidden, q),
            ("ffn_gate", shape["inner"], hidden), ("ffn_up", shape["inner"], hidden), ("ffn_down", hidden, shape["inner"]),
        ]:
            matrix(f"blk.{i}.{name}.weight", rows, columns)
    ones("output_norm.weight")
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


def tokenizer(path):
    """kgagent wants a tokenizer beside the file; 256 bytes are one."""
    text = {chr(b) if 33 <= b <= 126 else f"<{b}>": b for b in range(256)}
    path.write_text(json.dumps({"version": "1.0", "added_tokens": [], "model": {"type": "BPE", "vocab": text, "merges": []}}))


def make(folder, kinds):
    tokenizer(folder / "tokenizer.json")
    plain = folder / "f32.gguf"
    if not plain.exists():
        base(plain, SHAPE)
    for kind in kinds:
        path = folder / f"{kind}.gguf"
        if not path.exists():
            params = llama_cpp.llama_model_quantize_default_params()
            params.ftype = KINDS[kind]
            params.nthread = 2
            if llama_cpp.llama_model_quantize(str(plain).encode(), str(path).encode(), ctypes.byref(params)):
                raise SystemExit(f"llama.cpp could not write {path}")


def theirs(path, threads, prompt, decode):
    model = llama_cpp.Llama(str(path), n_ctx=1024, n_threads=threads, n_threads_batch=threads, n_batch=512, verbose=False)
    vocab = model.n_vocab()
    ids = [i * 7919 % vocab for i in range(prompt)]
    clock = time.thread_time if threads == 1 else time.perf_counter
    best = [float("inf")] * 2
    for _ in range(3):
        model.reset()
        begun = clock()
        model.eval(ids)
        best[0] = min(best[0], clock() - begun)
        begun = clock()
        for _ in range(decode):
            model.eval([int(np.argmax(np.ctypeslib.as_array(llama_cpp.llama_get_logits(model.ctx), shape=(vocab,))))])
        best[1] = min(best[1], clock() - begun)
    return prompt / best[0], decode / best[1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--decode", type=int, default=64)
    parser.add_argument("--formats", default="f32,f16,q8_0,q4_k_m")
    parser.add_argument("--speed", default="target/release/examples/gguf_speed")
    args = parser.parse_args()
    llama_cpp.llama_log_set(QUIET, ctypes.c_void_p(0))
    args.folder.mkdir(parents=True, exist_ok=True)
    kinds = args.formats.split(",")
    make(args.folder, [kind for kind in kinds if kind != "f32"])
    print(f"llama.cpp {llama_cpp.__version__}, {args.threads} threads, prompt {args.prompt}, decode {args.decode}: tokens a second")
    print("format    prefill: kgagent  llama.cpp  ratio    decode: kgagent  llama.cpp  ratio    peak memory / file")
    for kind in kinds:
        path = args.folder / f"{kind}.gguf"
        ours, other, memory = [0.0, 0.0], [0.0, 0.0], 0.0
        for _ in range(args.rounds):
            line = subprocess.run([args.speed, path, str(args.threads), str(args.prompt), str(args.decode)], check=True, capture_output=True, text=True)
            found = json.loads(line.stdout)
            ours = [max(ours[0], found["prefill"]), max(ours[1], found["decode"])]
            memory = found["peak"] / found["file"]
            got = theirs(path, args.threads, args.prompt, args.decode)
            other = [max(other[0], got[0]), max(other[1], got[1])]
        print(
            f"{kind:8}  {ours[0]:16.1f}  {other[0]:9.1f}  {ours[0] / other[0]:5.2f}  {ours[1]:16.1f}  {other[1]:9.1f}  {ours[1] / other[1]:5.2f}"
            f"  {memory:8.2f}", flush=True
        )


main()
