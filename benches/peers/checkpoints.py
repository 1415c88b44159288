"""Random checkpoints of every family and option that kgagent runs, with what transformers and PyTorch make of them.

    pip install torch transformers safetensors
    python benches/peers/checkpoints.py DIR
    KGAGENT_PARITY=DIR cargo test --release -p train parity -- --ignored --nocapture
    KGAGENT_PARITY=DIR cargo test --release -p engine --test engine parity -- --ignored --nocapture

Each folder of DIR is a model in Hugging Face layout with two more files: `reference.json` (token ids and constants) and
`reference.safetensors` (logits, the gradient of every parameter, and the losses of ten AdamW steps).
"""
import json
import pathlib
import sys

import torch
import transformers
from safetensors.torch import save_file

torch.set_num_threads(1)
OUT = pathlib.Path(sys.argv[1])
SHAPE = dict(
    vocab_size=384, hidden_size=96, intermediate_size=160, num_hidden_layers=3, num_attention_heads=6, num_key_value_heads=2,
    max_position_embeddings=256, rms_norm_eps=1e-5, bos_token_id=1, eos_token_id=2,
)
PLAIN = {"rope_type": "default", "rope_theta": 10000.0}
LLAMA3 = {
    "rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
YARN = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 64}
T = transformers
CASES = {
    "llama-tied": (T.LlamaConfig, T.LlamaForCausalLM, dict(tie_word_embeddings=True, rope_parameters=PLAIN)),
    "llama-untied-theta": (T.LlamaConfig, T.LlamaForCausalLM, dict(tie_word_embeddings=False, rope_parameters=PLAIN | {"rope_theta": 5e5})),
    "llama-llama3": (T.LlamaConfig, T.LlamaForCausalLM, dict(tie_word_embeddings=True, rope_parameters=LLAMA3)),
    "llama-linear": (T.LlamaConfig, T.LlamaForCausalLM, dict(rope_parameters=PLAIN | {"rope_type": "linear", "factor": 2.0})),
    "llama-yarn": (T.LlamaConfig, T.LlamaForCausalLM, dict(rope_parameters=YARN)),
    "llama-yarn-amplitude": (T.LlamaConfig, T.LlamaForCausalLM, dict(rope_parameters=YARN | {"attention_factor": 1.3})),
    "llama-biases": (T.LlamaConfig, T.LlamaForCausalLM, dict(attention_bias=True, mlp_bias=True, rope_parameters=PLAIN)),
    "llama-head-dim": (T.LlamaConfig, T.LlamaForCausalLM, dict(head_dim=32, rope_parameters=PLAIN)),
    "mistral": (T.MistralConfig, T.MistralForCausalLM, dict(sliding_window=None, rope_parameters=PLAIN)),
    "mistral-window": (T.MistralConfig, T.MistralForCausalLM, dict(sliding_window=128, rope_parameters=PLAIN)),
    "qwen2": (T.Qwen2Config, T.Qwen2ForCausalLM, dict(tie_word_embeddings=True, rope_parameters=PLAIN)),
    "qwen3": (T.Qwen3Config, T.Qwen3ForCausalLM, dict(head_dim=24, tie_word_embeddings=True, rope_parameters=PLAIN)),
    "qwen3-biases": (T.Qwen3Config, T.Qwen3ForCausalLM, dict(head_dim=16, attention_bias=True, rope_parameters=PLAIN)),
    "llama-bf16": (T.LlamaConfig, T.LlamaForCausalLM, dict(rope_parameters=PLAIN)),
    "llama-f16-shards": (T.LlamaConfig, T.LlamaForCausalLM, dict(rope_parameters=PLAIN)),
}
STEPS, RATE, DECAY, BETAS, EPSILON = 10, 1e-3, 0.1, (0.9, 0.95), 1e-8

for name, (config_class, model_class, options) in CASES.items():
    torch.manual_seed(1)
    model = model_class(config_class(**(SHAPE | options))).float().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(3.0)
            else:
                parameter.add_(torch.randn_like(parameter) * 0.1)
    folder = OUT / name
    half = {"llama-bf16": torch.bfloat16, "llama-f16-shards": torch.float16}.get(name)
    if half:
        # What is on disk is what is computed with: rounded once, then exact in f32. Read back, because `.to` rounds the rotary constants too.
        model.to(half).save_pretrained(folder, max_shard_size="100KB" if "shards" in name else "5GB")
        model = model_class.from_pretrained(folder, dtype=torch.float32).eval()
    else:
        model.save_pretrained(folder)
    ids = torch.randint(0, SHAPE["vocab_size"], (100,))
    out = {"logits": model(ids[None]).logits[0].detach().contiguous()}
    targets = ids[1:]
    loss_of = lambda: torch.nn.functional.cross_entropy(model(ids[None, :-1]).logits[0], targets)
    loss_of().backward()
    for key, parameter in model.named_parameters():
        out[f"grad.{key}"] = parameter.grad.clone()
    matrices = [p for k, p in model.named_parameters() if p.dim() > 1 and "embed_tokens" not in k and not k.startswith("lm_head")]
    rest = [p for p in model.parameters() if not any(p is m for m in matrices)]
    optimizer = torch.optim.AdamW(
        [dict(params=matrices, weight_decay=DECAY), dict(params=rest, weight_decay=0.0)], lr=RATE, betas=BETAS, eps=EPSILON
    )
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    out["losses"] = torch.tensor(losses)
    save_file(out, folder / "reference.safetensors")
    (folder / "reference.json").write_text(json.dumps({"ids": ids.tolist(), "rate": RATE, "transformers": transformers.__version__}))
    print(f"{name}: {sum(p.numel() for p in model.parameters())} parameters, loss {losses[0]:.4f} to {losses[-1]:.4f}")
