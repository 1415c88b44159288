"""What Axolotl would train on, beside what this program trains on.

    pip install transformers jinja2 pydantic pyyaml colorama addict && pip install --no-deps axolotl        # no torch: only the reading of data is run
    kgagent datagen export --data DATA --format sharegpt --trainer axolotl --base m --out OUT
    kgagent train inspect --data DATA --base MODEL --limit N --json > INSPECTED              # token ids and which are trained
    python benches/peers/axolotl_mask.py OUT MODEL INSPECTED

Axolotl's own strategy for conversations reads the exported records as axolotl.yaml says, with the tokenizer of MODEL. Its token ids and its labels must be those of
INSPECTED; every key of both configurations must be one that Axolotl's schema names.
"""
import json
import pathlib
import re
import sys
import types

import yaml
from transformers import PreTrainedTokenizerFast


class Everything(types.ModuleType):
    """Stands for what the reading of data imports and does not use."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


for name in ("datasets", "torch", "axolotl.utils.distributed"):
    sys.modules[name] = Everything(name)
sys.modules["axolotl.utils.distributed"].is_main_process = lambda: True

import axolotl
from axolotl.prompt_strategies.chat_template import ChatTemplatePrompter, ChatTemplateStrategy

out, model, inspected = map(pathlib.Path, sys.argv[1:])
schema = "\n".join(path.read_text() for path in pathlib.Path(axolotl.__path__[0], "utils/schemas").glob("*.py"))
known = set(re.findall(r"^    (\w+): ", schema, re.M))
for name in ("axolotl.yaml", "axolotl-lora.yaml"):
    config = yaml.safe_load((out / name).read_text())
    sets = [key for entry in config["datasets"] + config.get("test_datasets", []) for key in entry]
    strange = [key for key in [*config, *sets] if key not in known]
    assert not strange, f"{name}: Axolotl does not know {strange}"
    assert (out / config["deepspeed"]).is_file()

config = yaml.safe_load((out / "axolotl.yaml").read_text())
entry = config["datasets"][0]
tokenizer = PreTrainedTokenizerFast.from_pretrained(model)
tokenizer.add_special_tokens(config["special_tokens"])
assert all(token in tokenizer.get_vocab() for token in [*config["tokens"], *config["special_tokens"].values()])
prompter = ChatTemplatePrompter(tokenizer, chat_template=config["chat_template_jinja"], max_length=config["sequence_len"], roles=entry["roles"],
                                message_property_mappings=entry["message_property_mappings"], field_messages=entry["field_messages"],
                                field_system=entry["field_system"])
strategy = ChatTemplateStrategy(prompter, tokenizer, config["train_on_inputs"], config["sequence_len"], roles_to_train=entry["roles_to_train"],
                                train_on_eos=entry["train_on_eos"])
records = [json.loads(line) for line in (out / entry["path"]).read_text().splitlines()]
examples = json.loads(inspected.read_text())["examples"]
assert examples and len(examples) <= len(records)
tokens = trained = 0
for example, record in zip(examples, records):
    theirs = strategy.tokenize_prompt(record)
    ids = [token["id"] for token in example["tokens"]]
    labels = [token["id"] if token["trained"] else -100 for token in example["tokens"]]
    assert theirs["input_ids"] == ids, f"{example['id']}: other tokens"
    assert theirs["labels"] == labels, f"{example['id']}: trained elsewhere"
    assert len(ids) <= config["sequence_len"]
    tokens, trained = tokens + len(ids), trained + sum(label != -100 for label in labels)
print(f"{len(examples)} conversations, {tokens} tokens, {trained} of them trained: the same in Axolotl")
