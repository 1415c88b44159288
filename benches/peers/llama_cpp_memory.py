"""Peak memory of kgagent's engine on a Q4_K_M file in the shape of Llama 3.2 1B (1.24 billion parameters), filled with random blocks.

    pip install gguf numpy
    cargo build --release -p engine --example gguf_speed
    python benches/peers/llama_cpp_memory.py DIR [PATH/TO/gguf_speed]
"""
import json
import pathlib
import subprocess
import sys

import gguf
import numpy as np

LAYERS, HIDDEN, INNER, HEADS, KV_HEADS, DIM, VOCAB = 16, 2048, 8192, 32, 8, 64, 128256
folder, speed = pathlib.Path(sys.argv[1]), (sys.argv[2:] or ["target/release/examples/gguf_speed"])[0]
folder.mkdir(parents=True, exist_ok=True)
random = np.random.default_rng(1)
Q4, Q6 = gguf.GGMLQuantizationType.Q4_K, gguf.GGMLQuantizationType.Q6_K


def blocks(rows, columns, kind):
    size = {Q4: 144, Q6: 210}[kind]
    data = random.integers(0, 256, (rows, columns // 256, size), dtype=np.uint8)
    small = np.frombuffer(np.float16(1e-4).tobytes(), np.uint8)
    for at in [0, 2] if kind == Q4 else [208]:
        data[:, :, at : at + 2] = small
    return data.reshape(rows, -1)


path = folder / "one-billion.gguf"
if not path.exists():
    out = gguf.GGUFWriter(path, "llama", use_temp_file=True)
    for add, value in [
        (out.add_context_length, 4096), (out.add_embedding_length, HIDDEN), (out.add_block_count, LAYERS), (out.add_feed_forward_length, INNER),
        (out.add_head_count, HEADS), (out.add_head_count_kv, KV_HEADS), (out.add_key_length, DIM), (out.add_value_length, DIM),
        (out.add_rope_freq_base, 500000.0), (out.add_layer_norm_rms_eps, 1e-5), (out.add_vocab_size, VOCAB), (out.add_file_type, 15),
    ]:
        add(value)
    out.add_tokenizer_model("none")
    out.add_tensor("token_embd.weight", blocks(VOCAB, HIDDEN, Q6), raw_dtype=Q6)
    for i in range(LAYERS):
        better = Q6 if i < LAYERS // 8 or i >= 7 * LAYERS // 8 or (i - LAYERS // 8) % 3 == 2 else Q4
        for name, rows, columns, kind in [
            ("attn_q", HIDDEN, HIDDEN, Q4), ("attn_k", KV_HEADS * DIM, HIDDEN, Q4), ("attn_v", KV_HEADS * DIM, HIDDEN, better),
            ("attn_output", HIDDEN, HIDDEN, Q4), ("ffn_gate", INNER, HIDDEN, Q4), ("ffn_up", INNER, HIDDEN, Q4), ("ffn_down", HIDDEN, INNER, better),
        ]:
            out.add_tensor(f"blk.{i}.{name}.weight", blocks(rows, columns, kind), raw_dtype=kind)
        out.add_tensor(f"blk.{i}.attn_norm.weight", np.ones(HIDDEN, np.float32))
        out.add_tensor(f"blk.{i}.ffn_norm.weight", np.ones(HIDDEN, np.float32))
    out.add_tensor("output_norm.weight", np.ones(HIDDEN, np.float32))
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()
text = {chr(b) if 33 <= b <= 126 else f"<{b}>": b for b in range(256)}
(folder / "tokenizer.json").write_text(json.dumps({"version": "1.0", "added_tokens": [], "model": {"type": "BPE", "vocab": text, "merges": []}}))
line = subprocess.run([speed, path, "2", "256", "8"], check=True, capture_output=True, text=True).stdout
found = json.loads(line)
print(f"file {found['file'] / 1e6:.0f} MB, weights in memory {found['weights'] / 1e6:.0f} MB, peak {found['peak'] / 1e6:.0f} MB: {found['peak'] / found['file']:.3f} × the file")
