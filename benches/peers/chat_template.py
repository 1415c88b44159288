"""transformers' apply_chat_template against our renderer: the same token ids for lines of a dataset?

    pip install transformers jinja2
    python benches/peers/chat_template.py KGAGENT MODEL DATA [LINES]

KGAGENT is the binary, MODEL a folder that it wrote, DATA a dataset folder. Ours are the ids of `kgagent train inspect`.
"""
import json
import pathlib
import subprocess
import sys

from transformers import AutoTokenizer

kgagent, model, data = sys.argv[1:4]
lines = int(sys.argv[4]) if len(sys.argv) > 4 else 1000
tokenizer = AutoTokenizer.from_pretrained(model)
ours = json.loads(subprocess.run(
    [kgagent, "train", "inspect", "--data", data, "--base", model, "--limit", str(lines), "--json"], check=True, capture_output=True
).stdout)["examples"]
compared = tokens = 0
with open(pathlib.Path(data) / "train.jsonl") as file:
    for line, example in zip(file, ours):
        messages = [{"role": m["role"], "content": m["content"]} for m in json.loads(line)["messages"]]
        theirs = tokenizer.apply_chat_template(messages, tokenize=True, return_dict=False)
        ids = [token["id"] for token in example["tokens"]]
        if theirs != ids:
            at = next((i for i, (a, b) in enumerate(zip(theirs, ids)) if a != b), min(len(theirs), len(ids)))
            sys.exit(f"line {compared + 1} ({example['id']}): token {at}: {tokenizer.convert_ids_to_tokens(theirs[at:at + 5])} and "
                     f"{tokenizer.convert_ids_to_tokens(ids[at:at + 5])}")
        # What a model is asked with is the same prefix with the next turn opened.
        opened = tokenizer.apply_chat_template(messages[:-1], tokenize=True, add_generation_prompt=True, return_dict=False)
        assert ids[:len(opened)] == opened, f"line {compared + 1}: the generation prompt is no prefix"
        compared += 1
        tokens += len(ids)
assert compared == len(ours) > 0, "nothing was compared"
print(f"{compared} lines, {tokens} tokens: all ids equal")
