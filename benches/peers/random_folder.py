"""A model folder in the shape of a published model, with random weights in bf16, for measurements of memory and speed.

    python benches/peers/random_folder.py SHAPE TOKENIZER.json OUT [--config-only]

--config-only leaves the weights out, which is enough for `kgagent train --dry-run`. The tokenizer is that of any model of ours; its ids use a
part of the embedding.
"""
import argparse
import json
import math
import pathlib
import random
import shutil
import struct

# Hidden width, inner width, layers, heads, heads of keys and values, width of a head, vocabulary, whether the output layer is the embedding.
SHAPES = {
    "smollm2-135m": ("llama", 576, 1536, 30, 9, 3, 64, 49152, True),
    "smollm2-360m": ("llama", 960, 2560, 32, 15, 5, 64, 49152, True),
    "smollm2-1.7b": ("llama", 2048, 8192, 24, 32, 32, 64, 49152, True),
    "llama-2-7b": ("llama", 4096, 11008, 32, 32, 32, 128, 32000, False),
    "llama-3.2-1b": ("llama", 2048, 8192, 16, 32, 8, 64, 128256, True),
    "llama-3.2-3b": ("llama", 3072, 8192, 28, 24, 8, 128, 128256, True),
    "qwen3-0.6b": ("qwen3", 1024, 3072, 28, 16, 8, 128, 151936, True),
    "qwen3-1.7b": ("qwen3", 2048, 6144, 28, 16, 8, 128, 151936, True),
    "qwen3-4b": ("qwen3", 2560, 9728, 36, 32, 8, 128, 151936, True),
    "qwen3-8b": ("qwen3", 4096, 12288, 36, 32, 8, 128, 151936, False),
}


def tensors(shape):
    family, hidden, inner, layers, heads, kv, dim, vocab, tied = shape
    yield "model.embed_tokens.weight", [vocab, hidden]
    for i in range(layers):
        layer = f"model.layers.{i}."
        yield layer + "input_layernorm.weight", [hidden]
        yield layer + "post_attention_layernorm.weight", [hidden]
        for name, rows, columns in [
            ("self_attn.q_proj", heads * dim, hidden), ("self_attn.k_proj", kv * dim, hidden), ("self_attn.v_proj", kv * dim, hidden),
            ("self_attn.o_proj", hidden, heads * dim), ("mlp.gate_proj", inner, hidden), ("mlp.up_proj", inner, hidden), ("mlp.down_proj", hidden, inner),
        ]:
            yield layer + name + ".weight", [rows, columns]
        if family == "qwen3":
            yield layer + "self_attn.q_norm.weight", [dim]
            yield layer + "self_attn.k_norm.weight", [dim]
    yield "model.norm.weight", [hidden]
    if not tied:
        yield "lm_head.weight", [vocab, hidden]


def bf16(number):
    return struct.pack("<f", number)[2:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("tokenizer", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--config-only", action="store_true")
    args = parser.parse_args()
    shape = SHAPES[args.shape]
    family, hidden, inner, layers, heads, kv, dim, vocab, tied = shape
    args.out.mkdir(parents=True)
    shutil.copy(args.tokenizer, args.out / "tokenizer.json")
    config = {
        "architectures": ["Qwen3ForCausalLM" if family == "qwen3" else "LlamaForCausalLM"], "model_type": family, "hidden_size": hidden,
        "intermediate_size": inner, "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": kv, "head_dim": dim,
        "vocab_size": vocab, "tie_word_embeddings": tied, "rms_norm_eps": 1e-6, "rope_theta": 1e6, "max_position_embeddings": 40960,
        "hidden_act": "silu", "attention_bias": False, "torch_dtype": "bfloat16",
    }
    (args.out / "config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
    if args.config_only:
        return
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, dims in tensors(shape):
        end = at + 2 * math.prod(dims)
        header[name] = {"dtype": "BF16", "shape": dims, "data_offsets": [at, end]}
        at = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    random.seed(1)
    # Matrices repeat these numbers; an odd count, so that rows differ.
    pool = b"".join(bf16(random.gauss(0, 0.02)) for _ in range(1_000_003))
    with open(args.out / "model.safetensors", "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for name, dims in tensors(shape):
            left = 2 * math.prod(dims)
            part = bf16(1.0) * 4096 if len(dims) == 1 else pool
            while left:
                out.write(part[:left])
                left -= min(left, len(part))


main()
