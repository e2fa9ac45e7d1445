"""A model's folder as small as can be: real files in Hugging Face's layout, weights of a few hundred numbers."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
CONFIG: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 4,
    "vocab_size": 64,
    "max_position_embeddings": 131072,
    "tie_word_embeddings": True,
}
_WORDS = ("<|im_start|>", "<|im_end|>", "<unk>")


def write_model(folder: Path, template: str | None = TEMPLATE, **config: Any) -> Path:
    """Write one; keywords replace keys of its configuration, None leaves a key out."""
    folder.mkdir(parents=True, exist_ok=True)
    values = {key: value for key, value in (CONFIG | config).items() if value is not None}
    (folder / "config.json").write_text(json.dumps(values))
    write_weights(folder / "model.safetensors", {"model.embed_tokens.weight": [64, 64]})
    special = {"eos_token": "<|im_end|>", "pad_token": "<|im_end|>", "unk_token": "<unk>"}
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", **special}))
    (folder / "tokenizer.json").write_text(json.dumps(_tokenizer()))
    if template is not None:
        (folder / "chat_template.jinja").write_text(template)
    return folder


def write_weights(path: Path, shapes: dict[str, list[int]], cut: int = 0) -> None:
    """A safetensors file of zeros; `cut` bytes are missing at its end."""
    header: dict[str, Any] = {}
    at = 0
    for name, shape in shapes.items():
        size = 2
        for side in shape:
            size *= side
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(at - cut))


def _tokenizer() -> dict[str, Any]:
    """A token a word; all words but the special ones are unknown."""
    added = [
        {
            "id": i,
            "content": word,
            "special": True,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
        }
        for i, word in enumerate(_WORDS)
    ]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": {word: i for i, word in enumerate(_WORDS)}, "unk_token": "<unk>"},
    }
