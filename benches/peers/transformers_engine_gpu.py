"""kgagent's engine on an NVIDIA GPU beside transformers (static cache, SDPA): random weights in the shape of a LLaMA of 1.1 billion parameters, bf16.

    pip install torch transformers safetensors
    cargo build --release -p engine --features gpu/cuda --example gguf_speed
    python benches/peers/transformers_engine_gpu.py DIR [--rounds 3] [--prompt 512] [--decode 128] [--compile] [--speed PATH/TO/gguf_speed]

Width 2,048, 22 layers, 32 heads with 4 for keys and values, 32,000 tokens, output layer of its own. One conversation: a prompt at once, then token after token,
each the most likely one. The weights are made once, in DIR/model. Rounds alternate between the two; the best of each counts. Printed are both sides' tokens a second, their
ratio, and the share of the card's memory bandwidth that decoding reaches, counting the bytes of all matrices once a token. `--compile` has torch compile the
step of one token with CUDA graphs.

Without a GPU, `--tiny --where tensors` runs a small shape with the same code on both sides' CPU: it shows that the script works, its figures say nothing.
"""
import argparse
import json
import pathlib
import subprocess
import time

SHAPE = dict(hidden_size=2048, num_hidden_layers=22, num_attention_heads=32, num_key_value_heads=4, intermediate_size=5632, vocab_size=32000)
TINY = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=128, vocab_size=512)

# Memory bandwidths from NVIDIA's data sheets, in GB/s; longer names first.
BANDWIDTHS = {"H200": 4800, "H100 PCIe": 2000, "H100": 3350, "A100-SXM4-80GB": 2039, "A100": 1555, "L40S": 864, "L4": 300, "RTX 6000 Ada": 960,
              "RTX 4090": 1008, "RTX 3090": 936}


def make(folder, shape, context):
    """A checkpoint in Hugging Face layout; kgagent wants a tokenizer beside it, and 256 bytes are one."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(**shape, max_position_embeddings=context, tie_word_embeddings=False, bos_token_id=1, eos_token_id=2)
    known = folder / "config.json"
    if known.exists():
        held = json.loads(known.read_text())
        if all(held.get(key) == value for key, value in (shape | {"max_position_embeddings": context}).items()):
            return
        raise SystemExit(f"{folder} holds a model of another shape: name another DIR")
    torch.manual_seed(1)
    LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(folder)
    text = {chr(b) if 33 <= b <= 126 else f"<{b}>": b for b in range(256)}
    (folder / "tokenizer.json").write_text(json.dumps({"version": "1.0", "added_tokens": [], "model": {"type": "BPE", "vocab": text, "merges": []}}))


def theirs(folder, ids, decode, device, compiled):
    import torch
    from transformers import LlamaForCausalLM, StaticCache

    model = LlamaForCausalLM.from_pretrained(folder, dtype=torch.bfloat16, attn_implementation="sdpa").to(device).eval()
    ids = torch.tensor([ids], device=device)
    one = torch.compile(model.forward, mode="reduce-overhead", fullgraph=True) if compiled else model.forward
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    best, first = [float("inf")] * 2, []
    # The first times compile and warm up.
    for _ in range(4):
        cache = StaticCache(config=model.config, max_cache_len=ids.shape[1] + decode)
        with torch.inference_mode():
            wait()
            begun = time.perf_counter()
            out = model(ids, past_key_values=cache, logits_to_keep=1)
            token = out.logits[:, -1].argmax(-1, keepdim=True)
            wait()
            best[0] = min(best[0], time.perf_counter() - begun)
            tokens = []
            begun = time.perf_counter()
            for step in range(decode):
                tokens.append(token)
                position = torch.tensor([[ids.shape[1] + step]], device=device)
                token = one(token, past_key_values=cache, position_ids=position, logits_to_keep=1).logits[:, -1].argmax(-1, keepdim=True).clone()
            wait()
            best[1] = min(best[1], time.perf_counter() - begun)
        first = [int(token) for token in tokens[:8]]
    return dict(prefill=ids.shape[1] / best[0], decode=decode / best[1], first=first)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--decode", type=int, default=128)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--speed", default="target/release/examples/gguf_speed")
    parser.add_argument("--where", default="cuda", choices=["cuda", "tensors"])
    parser.add_argument("--tiny", action="store_true")
    args = parser.parse_args()
    import torch
    import transformers

    shape, device = TINY if args.tiny else SHAPE, "cuda" if args.where == "cuda" else "cpu"
    folder = args.folder / "model"
    make(folder, shape, 4096)
    ids = [i * 7919 % shape["vocab_size"] for i in range(args.prompt)]
    card = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    print(f"{card}, transformers {transformers.__version__}, torch {torch.__version__}{', compiled' if args.compile else ''}: prompt {args.prompt}, decode {args.decode}")
    ours, other = dict(prefill=0.0, decode=0.0), dict(prefill=0.0, decode=0.0)
    for _ in range(args.rounds):
        command = [args.speed, str(folder), args.where, str(args.prompt), str(args.decode)]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        again = theirs(folder, ids, args.decode, device, args.compile)
        for kind in ("prefill", "decode"):
            ours[kind], other[kind] = max(ours[kind], found[kind]), max(other[kind], again[kind])
    for kind in ("prefill", "decode"):
        print(f"{kind}: {ours[kind]:.1f} tokens a second here, {other[kind]:.1f} in transformers, ratio {ours[kind] / other[kind]:.2f}")
    # A token reads a row of the embeddings and every other matrix.
    read = found["weights"] - shape["vocab_size"] * shape["hidden_size"] * 2
    peak = next((bandwidth for name, bandwidth in BANDWIDTHS.items() if name in card), None)
    share = lambda side: f"{side['decode'] * read / peak / 1e7:.1f} %" if peak else "unknown"
    print(f"decoding reads {read / 1e9:.3f} GB a token: {share(ours)} of the memory bandwidth here, {share(other)} in transformers")
    equal = sum(a == b for a, b in zip(found["first"], again["first"]))
    print(f"first tokens: {found['first']} here, {again['first']} in transformers, {equal} of {len(found['first'])} equal")


main()
