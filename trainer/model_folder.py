"""A model's folder as Hugging Face lays it out: its shape, its tokenizer's words, its chat template. Read without transformers."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, NoReturn, cast

from jinja2 import TemplateError, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from generators.errors import UsageError
from trainer.memory import Shape

Messages = list[dict[str, str]]
_LARGEST_HEADER = 100 * 2**20


@dataclass(frozen=True)
class ModelFolder:
    """What was read. `eos` ends a turn; `words` are the special ones that a template may name."""

    path: Path
    shape: Shape
    template: str
    eos: str
    words: dict[str, str]

    def render(self, messages: Messages, reply: bool = False) -> str:
        """A conversation as the template writes it; with `reply`, up to where a reply begins.

        Raises:
            UsageError: the template refuses it.
        """
        try:
            made = _environment().from_string(self.template)
            return made.render(messages=messages, add_generation_prompt=reply, **self.words)
        except (TemplateError, TypeError, ValueError) as error:
            raise UsageError(f"{self.path}: its chat template refuses a conversation: {error}") from None


def read_model(path: Path) -> ModelFolder:
    """Read a folder.

    Raises:
        UsageError: it is not whole: no configuration, no weights, no tokenizer, no chat template, or one of them damaged.
    """
    if not path.is_dir():
        raise UsageError(f"{path}: there is no such folder; say the folder of a model in Hugging Face format")
    config = _json(path / "config.json", "is it the folder of a model?")
    config = {**config, **_mapping(config.get("text_config"))}
    if not (path / "tokenizer.json").exists() and not any(path.glob("tokenizer.model")):
        raise UsageError(f"{path}: it has no tokenizer (tokenizer.json); copy the one that belongs to the model")
    tokenizer = _json(path / "tokenizer_config.json", "copy the one that belongs to the model")
    words = {
        key: word for key in ("bos_token", "eos_token", "pad_token", "unk_token") if (word := _word(tokenizer.get(key)))
    }
    if "eos_token" not in words:
        raise UsageError(f"{path}: tokenizer_config.json names no eos_token: no reply would ever end")
    return ModelFolder(path, _shape(path, config), _template(path, tokenizer), words["eos_token"], words)


def tensor_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the tensors in a safetensors file, from its header alone.

    Raises:
        UsageError: it is cut off, or not such a file.
    """
    try:
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            if length > _LARGEST_HEADER:
                raise ValueError("its header is too long")
            header = cast(dict[str, dict[str, Any]], json.loads(file.read(length)))
        tensors = {name: value for name, value in header.items() if name != "__metadata__"}
        ends = 8 + length + max((int(value["data_offsets"][1]) for value in tensors.values()), default=0)
        if path.stat().st_size < ends:
            raise ValueError(f"it is cut off: {path.stat().st_size} of {ends} bytes")
        return {name: tuple(value["shape"]) for name, value in tensors.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, struct.error) as error:
        raise UsageError(f"{path}: not a whole safetensors file: {error}") from None


def _shape(path: Path, config: dict[str, Any]) -> Shape:
    files = sorted(path.glob("*.safetensors"))
    if not files and any(path.glob("pytorch_model*.bin")):
        raise UsageError(f"{path}: its weights are .bin files; convert them to safetensors")
    if not files:
        raise UsageError(f"{path}: it has no weights (*.safetensors); download the whole model")
    _all_there(path)
    try:
        heads, hidden = int(config["num_attention_heads"]), int(config["hidden_size"])
        return Shape(
            parameters=sum(prod(shape) for file in files for shape in tensor_shapes(file).values()),
            layers=int(config["num_hidden_layers"]),
            hidden=hidden,
            heads=heads,
            kv_heads=int(config.get("num_key_value_heads") or heads),
            head_size=int(config.get("head_dim") or hidden // heads),
            vocabulary=int(config["vocab_size"]),
            positions=int(config["max_position_embeddings"]),
        )
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise UsageError(f"{path / 'config.json'}: not the configuration of a language model: {error}") from None


def _all_there(path: Path) -> None:
    """Weights in several files come with a list of them."""
    index = path / "model.safetensors.index.json"
    named = (
        {str(name) for name in _mapping(_json(index, "").get("weight_map")).values()} if index.exists() else set[str]()
    )
    if missing := sorted(name for name in named if not (path / name).is_file()):
        what = f"{len(missing)} of {len(named)} files of weights are missing, {missing[0]} among them"
        raise UsageError(f"{path}: {what}; download the whole model")


def _template(path: Path, tokenizer: dict[str, Any]) -> str:
    """A file of its own, or a key of the tokenizer's configuration; of several, the one called default."""
    file = path / "chat_template.jinja"
    try:
        found = file.read_text() if file.exists() else tokenizer.get("chat_template")
    except (OSError, ValueError) as error:
        raise UsageError(f"{file}: cannot be read: {error}") from None
    if isinstance(found, list):
        named = {entry.get("name"): entry.get("template") for entry in cast(list[dict[str, Any]], found)}
        found = named.get("default")
    if not isinstance(found, str) or not found.strip():
        raise UsageError(
            f"{path}: the model has no chat template (chat_template.jinja, or chat_template in tokenizer_config.json);"
            " use one that was made for conversations, or add the template that it was trained with"
        )
    return found


def _json(path: Path, hint: str) -> dict[str, Any]:
    try:
        return _mapping(json.loads(path.read_text()))
    except FileNotFoundError:
        raise UsageError(f"{path.parent}: it has no {path.name}; {hint}") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from None


def _mapping(value: object) -> dict[str, Any]:
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def _word(value: object) -> str:
    """A special word is text, or a mapping with its text as content."""
    text = _mapping(value).get("content") if isinstance(value, dict) else value
    return text if isinstance(text, str) else ""


class _Generation(Extension):
    """`{% generation %}` marks what an assistant wrote; it changes nothing in the text."""

    tags = {"generation"}  # noqa: RUF012  # jinja2's own way

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _environment() -> ImmutableSandboxedEnvironment:
    """Jinja as chat templates expect it."""

    def refuse(message: str) -> NoReturn:
        raise TemplateError(message)

    def to_json(value: Any, indent: int | None = None, **options: Any) -> str:
        return json.dumps(value, ensure_ascii=False, indent=indent, **options)

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols]
    )
    environment.filters["tojson"] = to_json
    environment.globals["raise_exception"] = refuse
    environment.globals["strftime_now"] = lambda form: form
    return environment
