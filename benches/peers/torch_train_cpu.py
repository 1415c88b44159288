"""Training steps of the same model in torch (SDPA) and here, in turn and with the same number of threads.

    pip install torch
    cargo bench -p train --bench step --no-run          # prints the binary's path
    python benches/peers/torch_train_cpu.py BINARY [THREADS] [ROUNDS] [STEPS]

A LLaMA of 8.5 million parameters (width 256, 6 layers, 8 heads with 4 for keys and values, 8,192 tokens) on 8 sequences of 512 tokens in f32: forward pass,
loss on every token, backward pass, AdamW. The fastest step of a round counts; printed are both sides' tokens a second, tokens a second of processor time (on one
thread that is fair on a busy machine too), peak memory, and the ratios.
"""
import json
import os
import statistics
import subprocess
import sys
import time

VOCAB, WIDTH, LAYERS, HEADS, KV, INNER, LENGTH, BATCH = 8192, 256, 6, 8, 4, 688, 512, 8


def torch_round(threads, steps):
    import torch
    from torch import nn
    from torch.nn import functional as F

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    head = WIDTH // HEADS
    angles = torch.arange(LENGTH).float()[:, None] / 10000 ** (torch.arange(0, head, 2).float() / head)
    cos, sin = torch.cat([angles.cos()] * 2, -1), torch.cat([angles.sin()] * 2, -1)

    def rotate(x):
        low, high = x.chunk(2, -1)
        return x * cos + torch.cat([-high, low], -1) * sin

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.norms = nn.ParameterList([torch.ones(WIDTH), torch.ones(WIDTH)])
            sizes = dict(q=(WIDTH, HEADS * head), k=(WIDTH, KV * head), v=(WIDTH, KV * head), o=(HEADS * head, WIDTH),
                         gate=(WIDTH, INNER), up=(WIDTH, INNER), down=(INNER, WIDTH))
            for name, (a, b) in sizes.items():
                setattr(self, name, nn.Linear(a, b, bias=False))

        def forward(self, x):
            y = F.rms_norm(x, (WIDTH,), self.norms[0], 1e-5)
            q, k, v = (p(y).view(BATCH, LENGTH, -1, head).transpose(1, 2) for p in (self.q, self.k, self.v))
            k, v = (t.repeat_interleave(HEADS // KV, 1) for t in (rotate(k), v))
            y = F.scaled_dot_product_attention(rotate(q), k, v, is_causal=True)
            x = x + self.o(y.transpose(1, 2).reshape(BATCH, LENGTH, WIDTH))
            y = F.rms_norm(x, (WIDTH,), self.norms[1], 1e-5)
            return x + self.down(F.silu(self.gate(y)) * self.up(y))

    embed, layers, last = nn.Embedding(VOCAB, WIDTH), nn.ModuleList([Layer() for _ in range(LAYERS)]), nn.Parameter(torch.ones(WIDTH))
    out = nn.Linear(WIDTH, VOCAB, bias=False)
    parameters = [*embed.parameters(), *layers.parameters(), last, *out.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=1e-3, weight_decay=0.1, betas=(0.9, 0.95))
    times, busy = [], []
    for _ in range(steps):
        ids = torch.randint(0, VOCAB, (BATCH, LENGTH + 1))
        begin, begin_busy = time.perf_counter(), time.process_time()
        x = embed(ids[:, :-1])
        for layer in layers:
            x = layer(x)
        loss = F.cross_entropy(out(F.rms_norm(x, (WIDTH,), last, 1e-5)).view(-1, VOCAB), ids[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        loss.item()
        times.append(time.perf_counter() - begin)
        busy.append(time.process_time() - begin_busy)
    peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print(json.dumps(dict(parameters=sum(p.numel() for p in parameters), seconds=times[1:], peak_kb=peak,
                          tokens_per_second=BATCH * LENGTH / min(times[1:]),
                          tokens_per_processor_second=BATCH * LENGTH / min(busy[1:]), torch=torch.__version__)))


def main():
    binary = sys.argv[1]
    threads, rounds, steps = (int(sys.argv[i]) if len(sys.argv) > i else default for i, default in ((2, 2), (3, 3), (4, 6)))
    environment = os.environ | {"RAYON_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
    run = lambda command: json.loads(subprocess.run(command, check=True, capture_output=True, env=environment).stdout.splitlines()[-1])
    names = ("tokens_per_second", "tokens_per_processor_second", "peak_kb")
    ratios = []
    for i in range(rounds):
        ours = run([binary, str(steps)])
        theirs = run([sys.executable, __file__, "--torch", str(threads), str(steps)])
        assert ours["threads"] == threads and abs(ours["parameters"] / theirs["parameters"] - 1) < 0.001
        ratios.append([ours[name] / theirs[name] for name in names])
        print(f"round {i + 1}, load {os.getloadavg()[0]:.1f}, here and in torch {theirs['torch']}: "
              + ", ".join(f"{name} {ours[name]:.0f} and {theirs[name]:.0f}" for name in names), flush=True)
    print(f"median of {rounds} rounds, {threads} threads, here over torch: "
          + ", ".join(f"{name} {statistics.median(column):.2f}" for name, column in zip(names, zip(*ratios))))


if sys.argv[1] == "--torch":
    torch_round(int(sys.argv[2]), int(sys.argv[3]))
else:
    main()
