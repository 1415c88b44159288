"""Questions a second through training: dialogues packed, here, and samples of the `paper` layout padded, in transformers' Trainer. Same questions, same model.

    pip install torch transformers accelerate jinja2
    kgagent datagen gold --kg G --source S --count 200 --layout dialogue --out DIALOGUE          # the same with --layout paper --out PAPER
    python benches/peers/transformers_train.py KGAGENT DIALOGUE PAPER MODEL [THREADS] [STEPS]

MODEL is a folder that `kgagent train` wrote; both sides go on from it. Trainer does STEPS steps of 8 samples, with right padding to the longest of a batch, labels on
the model's own turns only. What counts is optimizer steps alone: not reading, tokenising or saving.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

BATCH = 8


def theirs(paper, folder, threads, steps):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForSeq2Seq, Trainer, TrainerCallback, TrainingArguments

    torch.set_num_threads(threads)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    rows, questions = [], []
    for line in open(pathlib.Path(paper) / "train.jsonl"):
        line = json.loads(line)
        ids, labels = [], []
        for message in line["messages"]:
            text = tokenizer.apply_chat_template([message], tokenize=True, return_dict=False)
            own = message["role"] == "assistant" and message.get("train", True)
            ids += text
            labels += [-100] + text[1:] if own else [-100] * len(text)
        rows.append(dict(input_ids=ids, attention_mask=[1] * len(ids), labels=labels))
        questions.append(line["id"])

    class Clock(TrainerCallback):
        def on_train_begin(self, *_, **__):
            self.begin, self.busy = time.perf_counter(), time.process_time()

        def on_train_end(self, *_, **__):
            self.begin, self.busy = time.perf_counter() - self.begin, time.process_time() - self.busy

    clock = Clock()
    with tempfile.TemporaryDirectory() as out:
        arguments = TrainingArguments(
            output_dir=out, per_device_train_batch_size=BATCH, max_steps=steps, learning_rate=1e-4, use_cpu=True, report_to=[], save_strategy="no",
            logging_strategy="no", disable_tqdm=True, seed=1,
        )
        Trainer(model=model, args=arguments, train_dataset=rows, data_collator=DataCollatorForSeq2Seq(tokenizer, padding=True), callbacks=[clock]).train()
    samples = steps * BATCH
    per_question = len(rows) / len(set(questions))
    print(json.dumps(dict(
        questions_per_second=samples / per_question / clock.begin, questions_per_processor_second=samples / per_question / clock.busy,
        samples_per_question=per_question, tokens_per_sample=sum(len(row["input_ids"]) for row in rows) / len(rows),
    )))


def ours(kgagent, dialogue, folder, threads):
    environment = os.environ | {"RAYON_NUM_THREADS": str(threads)}
    with tempfile.TemporaryDirectory() as out:
        begin = os.times()
        command = [kgagent, "train", "--data", dialogue, "--base", folder, "--lr", "1e-4", "--epochs", "1", "--out", f"{out}/model", "--json"]
        summary = json.loads(subprocess.run(command, check=True, capture_output=True, env=environment).stdout)["summary"]
        after = os.times()
    # Processor time of the whole process: reading, scoring held-out examples and saving count against us.
    busy = after.children_user + after.children_system - begin.children_user - begin.children_system
    return dict(questions_per_second=summary["examples"] / summary["seconds"], questions_per_processor_second=summary["examples"] / busy,
                tokens_per_question=summary["tokens"] / summary["examples"])


if sys.argv[1] == "--theirs":
    theirs(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
else:
    kgagent, dialogue, paper, folder = sys.argv[1:5]
    threads, steps = (int(sys.argv[i]) if len(sys.argv) > i else default for i, default in ((5, 1), (6, 6)))
    here = ours(kgagent, dialogue, folder, threads)
    command = [sys.executable, __file__, "--theirs", paper, folder, str(threads), str(steps)]
    there = json.loads(subprocess.run(command, check=True, capture_output=True).stdout.splitlines()[-1])
    print(f"here {json.dumps(here)}\ntransformers {json.dumps(there)}\nload {os.getloadavg()[0]:.1f}, {threads} threads; here over transformers: "
          + ", ".join(f"{name} {here[name] / there[name]:.1f}" for name in ("questions_per_second", "questions_per_processor_second")))
