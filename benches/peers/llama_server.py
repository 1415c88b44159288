"""llama.cpp's own server in C++, from the prebuilt wheel `xllamacpp`.

    pip install xllamacpp
    python benches/peers/llama_server.py FILE.gguf PORT [--parallel 8] [--threads 2] [--context 4096]

Every one of the --parallel slots has a context of --context tokens. Ends with the terminal, or when it is killed.
"""
import argparse
import time

import xllamacpp

parser = argparse.ArgumentParser()
parser.add_argument("file")
parser.add_argument("port", type=int)
parser.add_argument("--parallel", type=int, default=8)
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--context", type=int, default=4096)
args = parser.parse_args()

params = xllamacpp.CommonParams()
params.model.path = args.file
params.port = args.port
params.n_parallel = args.parallel
params.n_ctx = args.context * args.parallel
params.cpuparams.n_threads = args.threads
params.cpuparams_batch.n_threads = args.threads
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
while True:
    time.sleep(60)
