#!/usr/bin/env bash
# Everything that has to be run once an NVIDIA GPU is at hand, in about 40 minutes after the builds: build
# kgagent for GPUs, train the demo on the GPU (all weights, LoRA on them), answer with it on the GPU
# and on the CPU and compare the answers, then the comparisons with torch and transformers at 1.1
# billion parameters. One table of the steps with their seconds and figures: OUT/table.md.
#
#   benches/gpu.sh OUT                     on a machine with a GPU; needs the CUDA toolkit and pip's torch and transformers
#   benches/gpu.sh OUT --small BINARY      the same steps with small shapes on the CPU: only the device is not tried.
#                                          BINARY is a kgagent that is built already
#
# A step that fails is a row of the table, with its log in OUT/logs; the others go on. A step that
# was done stays done: run it again with the same OUT to repeat only what failed.
set -uo pipefail
cd "$(dirname "$0")/.."

out=${1:?usage: benches/gpu.sh OUT [--small BINARY]}
mkdir -p "$out/logs" "$out/rows"
out=$(cd "$out" && pwd)
small=${2:-}
if [ "$small" = --small ]; then
    kgagent=${3:?--small needs the path of a kgagent that is built already}
    device=cpu
    count=120 base=scratch:tiny epochs=1 limit=20
elif [ -z "$small" ]; then
    kgagent=$out/bin/kgagent
    device=cuda
    count=8000 base=scratch:base epochs=3 limit=400
else
    echo "the second argument can only be --small" >&2
    exit 2
fi

# step NAME MINUTES FIGURE COMMAND…: runs a command with a limit and writes a row. FIGURE is a command that
# prints what the table says of the step; it reads the log on its standard input.
number=0
step() {
    local name=$1 minutes=$2 figure=$3
    shift 3
    number=$((number + 1))
    local row log begun ended code said
    row=$out/rows/$(printf '%02d' "$number")
    log=$out/logs/$(printf '%02d' "$number").log
    if [ -e "$row.done" ]; then
        return 0
    fi
    echo "$(date -u +%H:%M:%S) $name"
    begun=$(date +%s)
    timeout -k 10 "${minutes}m" "$@" >"$log" 2>&1
    code=$?
    ended=$(date +%s)
    case $code in
        0) said=$(bash -c "$figure" <"$log" 2>/dev/null | tail -1) && touch "$row.done" ;;
        124 | 137) said="stopped after $minutes minutes, see logs/$(basename "$log")" ;;
        *) said="failed with $code, see logs/$(basename "$log")" ;;
    esac
    printf '| %s | %s | %s |\n' "$name" "$((ended - begun))" "${said:-done}" >"$row"
    return "$code"
}

# The figure of an evaluation.
metrics() {
    python3 - "$1/metrics.json" <<'P'
import json, sys
m = json.load(open(sys.argv[1]))
print(f"exact {m['exact']:.4f} of {m['n']}, {m['seconds'] / m['n']:.3f} s a question")
P
}

# At how many questions two evaluations gave the same answer.
same() {
    python3 - "$1" "$2" <<'P'
import json, sys
read = lambda folder: {one["id"]: one["predicted"] for one in map(json.loads, open(folder + "/predictions.jsonl"))}
a, b = map(read, sys.argv[1:])
print(f"{sum(a[i] == b[i] for i in a)} of {len(a)} answers are equal")
P
}
export -f metrics same

if [ "$device" = cuda ]; then
    step "the machine" 1 "cat" nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader
    mkdir -p "$out/bin"
    step "build" 40 "tail -1" bash -c "cargo build --release --features cuda --bin kgagent && cp \${CARGO_TARGET_DIR:-target}/release/kgagent '$kgagent'"
else
    step "the machine" 1 "echo CPU, small shapes: the figures say nothing" true
fi

step "graph" 5 "tail -1" "$kgagent" kg load --kg "$out/graph" data/graph.ttl data/ontology.ttl
step "data" 10 "python3 -c 'import json; print(json.load(open(\"$out/data/report.json\"))[\"examples\"], \"examples\")'" \
    "$kgagent" datagen synth --kg "$out/graph" --count "$count" --hold-back 0.1 --out "$out/data"

source="jsonl=$out/data/heldout.jsonl"
answers() { # NAME MODEL DEVICE
    step "answer with $1 on $3" 10 "metrics '$out/eval-$1-$3'" \
        "$kgagent" eval --kg "$out/graph" --model "$2" --device "$3" --source "$source" --limit "$limit" --out "$out/eval-$1-$3"
}
compared() { # NAME
    if [ "$device" = cuda ]; then
        answers "$1" "$2" cpu
        step "$1: answers of GPU and CPU" 1 "same '$out/eval-$1-cuda' '$out/eval-$1-cpu'" true
    fi
}

if step "train all weights" 15 "grep -a tokens/s | tail -1 | tr -s ' '" \
    "$kgagent" train --data "$out/data" --base "$base" --epochs "$epochs" --device "$device" --out "$out/full"; then
    answers full "$out/full" "$device"
    compared full "$out/full"
    if step "train LoRA on them" 10 "grep -a tokens/s | tail -1 | tr -s ' '" \
        "$kgagent" train --data "$out/data" --base "$out/full" --recipe finetune --method lora --adapter --epochs 1 --device "$device" --out "$out/lora"; then
        answers lora "$out/lora" "$device"
        compared lora "$out/lora"
    fi
    step "LoRA with checkpointing" 10 "grep -a tokens/s | tail -1 | tr -s ' '" \
        "$kgagent" train --data "$out/data" --base "$out/full" --recipe finetune --method lora --adapter --gradient-checkpointing --epochs 1 --device "$device" --out "$out/checkpointed"
fi

peer() { # NAME MINUTES FIGURE COMMAND…, if torch and transformers are installed
    if python3 -c 'import torch, transformers' 2>/dev/null; then
        step "$@"
    else
        step "$1" 1 "echo not run: torch and transformers are not installed" true
        rm -f "$out/rows/$(printf '%02d' "$number").done"
    fi
}
if [ "$device" = cuda ]; then
    bench() { cargo bench -p train --features gpu/cuda --bench step --no-run 2>&1 | grep -o '[^(]*/step-[0-9a-f]*'; }
    export -f bench
    peer "1.1 billion parameters beside torch" 30 "grep median | paste -sd' '" \
        bash -c 'python3 benches/peers/torch_train_gpu.py "$(bench)" 2 6'
    step "build the speed test" 20 "tail -1" cargo build --release -p engine --features gpu/cuda --example gguf_speed
    peer "decoding beside transformers" 15 "grep -a tokens | paste -sd' '" \
        python3 benches/peers/transformers_engine_gpu.py "$out/speed" --rounds 2
elif [ -x target/release/examples/gguf_speed ]; then
    peer "decoding beside transformers" 5 "grep -a tokens | paste -sd' '" \
        python3 benches/peers/transformers_engine_gpu.py "$out/speed" --rounds 1 --tiny --where tensors --prompt 16 --decode 8
fi

{
    echo "| step | seconds | figure |"
    echo "|---|---|---|"
    find "$out/rows" -type f ! -name '*.done' | sort | xargs cat
} | tee "$out/table.md"
! grep -q '| failed with\|| stopped after' "$out/table.md"
