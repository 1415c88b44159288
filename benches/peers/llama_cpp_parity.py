"""Logits and greedy choices of llama.cpp on a GGUF file beside kgagent's on the same file, or on the model folder it was made from.

    pip install llama-cpp-python numpy
    cargo build --release -p engine --example gguf_logits
    python benches/peers/llama_cpp_parity.py FILE.gguf [MODEL FOLDER] [--ids N] [--logits PATH/TO/gguf_logits]
"""
import argparse
import ctypes

import llama_cpp
import numpy as np

from ours import engine

QUIET = llama_cpp.llama_log_callback(lambda *_: None)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("ours", nargs="?")
    parser.add_argument("--ids", type=int, default=96)
    parser.add_argument("--logits", default="target/release/examples/gguf_logits")
    args = parser.parse_args()
    llama_cpp.llama_log_set(QUIET, ctypes.c_void_p(0))
    # Keys and values in single precision, as kgagent has them.
    model = llama_cpp.Llama(args.file, n_ctx=512, n_threads=2, logits_all=True, verbose=False, type_k=0, type_v=0, flash_attn=False)
    vocab = model.n_vocab()
    ids = np.random.default_rng(7).integers(0, vocab, args.ids).tolist()
    model.eval(ids)
    theirs = np.array(model.scores[: len(ids)])
    ours = engine(args.logits, args.ours or args.file, ids)
    worst = np.abs(ours - theirs[:, : ours.shape[1]]).max()
    equal = (ours.argmax(1) == theirs.argmax(1)).mean()
    print(f"{args.file}: largest difference {worst:.2e} (logits reach {np.abs(theirs).max():.1f}), same greedy choice at {100 * equal:.1f} % of {len(ids)}")


main()
