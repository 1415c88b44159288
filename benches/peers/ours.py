"""What several of these scripts ask of kgagent: its logits, and its exports."""
import json
import subprocess

import numpy as np


def export(kgagent, model, out, *options):
    subprocess.run([kgagent, "export", "--model", model, "--out", out, *options], check=True, stdout=subprocess.DEVNULL)
    return out


def engine(program, model, ids):
    """kgagent's logits after every token; `program` is the example `gguf_logits`, the model a folder or a GGUF file."""
    out = subprocess.run([program, model, *map(str, ids)], check=True, capture_output=True, text=True)
    return np.array([json.loads(line) for line in out.stdout.splitlines()], dtype=np.float32)
