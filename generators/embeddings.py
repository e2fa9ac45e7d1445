"""Texts as vectors, so that a twin in other words is found too: a static embedding model from a local folder.

The extra `embed` brings the library (model2vec); TERMFORGE_EMBEDDINGS names the folder of a model, such as a copy of
potion-base-8M. Nothing is fetched. Without either, word shingles alone decide what a twin is.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from generators.errors import UsageError

VARIABLE = "TERMFORGE_EMBEDDINGS"
FILES = ("config.json", "model.safetensors", "tokenizer.json")
Vectors = NDArray[np.float32]


class Embed(Protocol):
    """Gives each text a vector; the angle between two is small where they mean the same."""

    def __call__(self, texts: Sequence[str], /) -> Vectors:
        """One row per text, in their order."""
        ...


def open_embed(say: Callable[[str], None], folder: str | None = None) -> Embed | None:
    """The model in a folder (default: the one that TERMFORGE_EMBEDDINGS names), or None after saying what is lacking.

    Raises:
        UsageError: a folder is named that holds no model.
    """
    named = folder or os.environ.get(VARIABLE, "")
    if not named:
        say(f"near duplicates: MinHash alone ({VARIABLE} names no folder of an embedding model)")
        return None
    if importlib.util.find_spec("model2vec") is None:
        say("near duplicates: MinHash alone (model2vec is not installed; `pip install 'termforge[embed]'` brings it)")
        return None
    return _embed(_load(Path(named)))


def unit(vectors: Vectors) -> Vectors:
    """Rows of length 1, so that a product of two is their cosine; a row of zeros stays one."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), dtype=np.float32)


def _load(folder: Path) -> Any:
    """Checked before the library is asked: a name that is no folder would be looked up on the network."""
    if missing := [name for name in FILES if not (folder / name).is_file()]:
        raise UsageError(f"{VARIABLE}: {folder} holds no static embedding model, there is no {missing[0]}")
    try:
        return importlib.import_module("model2vec").StaticModel.from_pretrained(folder)
    except Exception as error:  # the readers of safetensors and tokenizers raise bare exceptions of their own
        raise UsageError(f"{VARIABLE}: the model in {folder} cannot be read: {error}") from error


def _embed(model: Any) -> Embed:
    def embed(texts: Sequence[str], /) -> Vectors:
        vectors = model.encode(list(texts), max_length=None, use_multiprocessing=False)
        return np.asarray(vectors, dtype=np.float32)

    return embed
