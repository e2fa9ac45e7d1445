"""Cuts a model to its first four layers and teaches it some replies, so far that it gives them now and then: a model for smoke runs, whose
steps take seconds and whose rewards differ. Runs in the environment for training.

python small_model_taught.py MODEL REPLIES FOLDER       # REPLIES: a JSON line each, {"messages": [...], "reply": "..."}
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

LAYERS = 4
ENOUGH = 0.6  # mean probability of a whole reply
MOST_PASSES = 80
LR = 1e-3


def taught(model_folder: Path, pairs: list[dict[str, Any]], folder: Path) -> None:
    """Write the model. The same replies give the same weights on one machine."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(model_folder)
    model = AutoModelForCausalLM.from_pretrained(model_folder, dtype=torch.float32)
    model.model.layers = model.model.layers[:LAYERS]
    model.config.num_hidden_layers = LAYERS
    ids, answers = [], []
    for pair in pairs:
        text = tokenizer.apply_chat_template(pair["messages"], tokenize=False, add_generation_prompt=True)
        prompt, reply = (tokenizer.encode(part, add_special_tokens=False) for part in (text, pair["reply"]))
        ids.append([*prompt, *reply, tokenizer.eos_token_id])
        answers.append((len(prompt), len(ids[-1])))
    width = max(map(len, ids))
    batch = torch.tensor([one + [tokenizer.eos_token_id] * (width - len(one)) for one in ids])
    optimizer = torch.optim.AdamW(model.parameters(), lr=LR, weight_decay=0.0)
    for turn in range(MOST_PASSES):
        hidden = model.model(input_ids=batch).last_hidden_state
        losses = []
        for row, (begin, end) in enumerate(answers):
            logits = model.lm_head(
                hidden[row, begin - 1 : end - 1]
            )  # of the reply alone: the head is most of this model
            losses.append(torch.nn.functional.cross_entropy(logits, batch[row, begin:end], reduction="sum"))
        loss = torch.stack(losses)
        likely = torch.exp(-loss.detach()).mean().item()
        print(f"pass {turn}: a reply has the probability {likely:.3f}", flush=True)
        if likely >= ENOUGH:
            break
        optimizer.zero_grad()
        loss.mean().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    model.to(torch.bfloat16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    lines = [json.loads(line) for line in Path(sys.argv[2]).read_text().splitlines()]
    taught(Path(sys.argv[1]), lines, Path(sys.argv[3]))
