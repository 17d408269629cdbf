"""Plays one episode with a saved Solver: `python plain_loop.py DIRECTORY < TASK`. Needs transformers and nothing of ours."""

import json
import re
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
task = json.load(sys.stdin)
messages = [{"role": "user", "content": task["prompt"]}]
text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
for _ in range(4):
    ids = tokenizer(text, add_special_tokens=False, return_tensors="pt").input_ids
    with torch.no_grad():
        out = model.generate(ids, do_sample=False, max_new_tokens=64)
    # A turn ends at its first closing tag; greedy, so that what comes behind changes nothing before it.
    turn = re.match(r".*?</(?:search|answer)>|.*", tokenizer.decode(out[0, ids.shape[1] :]), re.DOTALL)[0]
    text += turn
    sys.stdout.write(turn + "\n")
    if re.search(r"<answer>.*</answer>", turn):
        break
    if re.search(r"<search>.*</search>", turn):
        text += task["shown"]
