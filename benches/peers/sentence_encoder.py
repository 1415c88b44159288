"""Compares `cargo run --release -p engine --example encode FOLDER LINES OUT` with sentence-transformers on the same lines.

    python benches/peers/sentence_encoder.py FOLDER LINES OUT
"""

import sys
import time

import numpy as np
from sentence_transformers import SentenceTransformer

folder, lines, ours = sys.argv[1:4]
texts = open(lines, encoding="utf-8").read().split("\n")[:-1]
model = SentenceTransformer(folder, device="cpu")
model.encode(["warm"])
begun = time.time()
theirs = model.encode(texts, batch_size=32, normalize_embeddings=True)
seconds = time.time() - begun
vectors = np.fromfile(ours, dtype="<f4").reshape(len(texts), -1)
print(f"sentence-transformers: {len(texts) / seconds:.0f} texts a second")
print(f"smallest cosine {(theirs * vectors).sum(1).min():.8f}, largest difference {np.abs(theirs - vectors).max():.2e}")
