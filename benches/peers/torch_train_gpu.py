"""Training steps of a LLaMA of 1.1 billion parameters on an NVIDIA GPU in torch (SDPA) and here, in turn, in bf16 with f32 master weights.

    pip install torch
    cargo bench -p train --features gpu/cuda --bench step --no-run          # prints the binary's path
    python benches/peers/torch_train_gpu.py BINARY [ROUNDS] [STEPS] [checkpointing]

Width 2,048, 22 layers, 32 heads with 4 for keys and values, 32,000 tokens; a step is 4 sequences of 2,048 tokens, one a forward pass: forward pass, loss on every
token, backward pass, clipping, AdamW. First all weights are trained, then LoRA of rank 16 on the seven projections of a frozen bf16 base. The fastest step of a
round counts. Printed are both sides' tokens a second and their ratio, the share of the card's bf16 peak that they reach, the seconds of the first step (which
compiles and tunes kernels here), and the losses, which only show that both train: weights and texts differ. `checkpointing` computes layers again on both sides.
"""
import json
import statistics
import subprocess
import sys
import time

VOCAB, WIDTH, LAYERS, HEADS, KV, INNER, LENGTH, BATCH, RANK, ALPHA = 32000, 2048, 22, 32, 4, 5632, 2048, 4, 16, 32

# Dense bf16 peaks with f32 accumulation from NVIDIA's data sheets, in TFLOP/s.
PEAKS = {"H200": 989, "H100 PCIe": 756, "H100": 989, "A100": 312, "L40S": 362, "L4": 121, "RTX 6000 Ada": 364, "RTX 4090": 165, "RTX 3090": 71}


def torch_round(steps, lora, again):
    import torch
    from torch import nn
    from torch.nn import functional as F
    from torch.utils.checkpoint import checkpoint

    torch.manual_seed(0)
    torch.set_default_device("cuda")
    head = WIDTH // HEADS
    angles = torch.arange(LENGTH).float()[:, None] / 10000 ** (torch.arange(0, head, 2).float() / head)
    cos, sin = torch.cat([angles.cos()] * 2, -1), torch.cat([angles.sin()] * 2, -1)

    def rotate(x):
        low, high = x.float().chunk(2, -1)
        return (x * cos + torch.cat([-high, low], -1) * sin).to(x.dtype)

    class Projection(nn.Module):
        def __init__(self, a, b):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(b, a, dtype=torch.bfloat16 if lora else torch.float32) * 0.02, requires_grad=not lora)
            if lora:
                self.a = nn.Parameter((torch.rand(RANK, a) * 2 - 1) / a ** 0.5)
                self.b = nn.Parameter(torch.zeros(b, RANK))

        def forward(self, x):
            y = F.linear(x, self.weight)
            return y + F.linear(F.linear(x, self.a), self.b) * (ALPHA / RANK) if lora else y

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.norms = nn.ParameterList([nn.Parameter(torch.ones(WIDTH), requires_grad=not lora) for _ in range(2)])
            sizes = dict(q=(WIDTH, WIDTH), k=(WIDTH, KV * head), v=(WIDTH, KV * head), o=(WIDTH, WIDTH),
                         gate=(WIDTH, INNER), up=(WIDTH, INNER), down=(INNER, WIDTH))
            for name, (a, b) in sizes.items():
                setattr(self, name, Projection(a, b))

        def forward(self, x):
            y = F.rms_norm(x, (WIDTH,), self.norms[0], 1e-5)
            q, k, v = (p(y).view(1, LENGTH, -1, head).transpose(1, 2) for p in (self.q, self.k, self.v))
            y = F.scaled_dot_product_attention(rotate(q), rotate(k), v, is_causal=True, enable_gqa=True)
            x = x + self.o(y.transpose(1, 2).reshape(1, LENGTH, WIDTH))
            y = F.rms_norm(x, (WIDTH,), self.norms[1], 1e-5)
            return x + self.down(F.silu(self.gate(y)) * self.up(y))

    embed, layers = nn.Embedding(VOCAB, WIDTH), nn.ModuleList([Layer() for _ in range(LAYERS)])
    last, out = nn.Parameter(torch.ones(WIDTH)), nn.Linear(WIDTH, VOCAB, bias=False)
    nn.init.normal_(embed.weight, std=0.02), nn.init.normal_(out.weight, std=0.02)
    everything = [*embed.parameters(), *layers.parameters(), last, *out.parameters()]
    if lora:
        for parameter in (embed.weight, last, out.weight):
            parameter.requires_grad_(False)
    trained = [p for p in everything if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-3, weight_decay=0.1, betas=(0.9, 0.95), fused=True)
    times, losses = [], []
    for _ in range(steps):
        # As many different tokens as the other side's texts have.
        ids = torch.randint(0, 27, (BATCH, LENGTH + 1))
        torch.cuda.synchronize()
        begin, total = time.perf_counter(), 0.0
        optimizer.zero_grad()
        for row in ids:
            with torch.autocast("cuda", torch.bfloat16):
                x = embed(row[None, :-1])
                if lora:
                    x.requires_grad_()
                for layer in layers:
                    x = checkpoint(layer, x, use_reentrant=False) if again else layer(x)
                logits = out(F.rms_norm(x, (WIDTH,), last, 1e-5))
                loss = F.cross_entropy(logits.view(-1, VOCAB).float(), row[1:]) / BATCH
            loss.backward()
            total += loss.detach()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        losses.append(float(total))
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    print(json.dumps(dict(parameters=sum(p.numel() for p in everything), seconds=times[1:], first_step_seconds=times[0], losses=losses,
                          tokens_per_second=BATCH * LENGTH / min(times[1:]), torch=torch.__version__, device=torch.cuda.get_device_name(),
                          peak_bytes=torch.cuda.max_memory_allocated())))


def operations(lora):
    """Floating-point operations of a token's forward and backward pass, causal attention at half of the square, nothing counted twice."""
    matrices = LAYERS * (2 * WIDTH * WIDTH + 2 * WIDTH * WIDTH * KV // HEADS + 3 * WIDTH * INNER) + VOCAB * WIDTH
    attention = LAYERS * 2 * WIDTH * LENGTH / 2
    return 2 * matrices * (2 if lora else 3) + 2 * attention * 3


def main():
    binary = sys.argv[1]
    numbers = [int(word) for word in sys.argv[2:] if word.isdigit()]
    rounds, steps = (numbers + [3, 8][len(numbers):])[:2]
    again = "checkpointing" in sys.argv
    run = lambda command: json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
    for method in ("full", "lora"):
        words = [word for word, said in (("lora", method == "lora"), ("checkpointing", again)) if said]
        ratios = []
        for i in range(rounds):
            ours = run([binary, str(steps), "cuda", *words])
            theirs = run([sys.executable, __file__, "--torch", str(steps), *words])
            peak = next((tera for name, tera in PEAKS.items() if name in theirs["device"]), None)
            share = lambda side: f"{side['tokens_per_second'] * operations(method == 'lora') / peak / 1e10:.1f} %" if peak else "unknown"
            assert abs(ours["parameters"] / theirs["parameters"] - 1) < 0.001, (ours["parameters"], theirs["parameters"])
            ratios.append(ours["tokens_per_second"] / theirs["tokens_per_second"])
            print(f"{method}, round {i + 1}, {theirs['device']}, here and in torch {theirs['torch']}: tokens a second {ours['tokens_per_second']:.0f} and "
                  f"{theirs['tokens_per_second']:.0f}, of the bf16 peak {share(ours)} and {share(theirs)}, first step {ours['first_step_seconds']:.1f} and "
                  f"{theirs['first_step_seconds']:.1f} s, losses {ours['losses'][0]:.2f} to {ours['losses'][-1]:.2f} and {theirs['losses'][0]:.2f} to "
                  f"{theirs['losses'][-1]:.2f}", flush=True)
        print(f"{method}, median of {rounds} rounds: tokens a second here over torch {statistics.median(ratios):.2f}")


if sys.argv[1] == "--torch":
    torch_round(int(sys.argv[2]), "lora" in sys.argv, "checkpointing" in sys.argv)
else:
    main()
