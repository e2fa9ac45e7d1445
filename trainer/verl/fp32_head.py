# pyright: reportMissingImports=false, reportUnknownMemberType=false
"""The trainer's last layer in single precision: logits of half precision differ too much from those of the rollout engine.

Imported through `model.external_lib` in every worker; it wraps the place where verl's FSDP engine (0.9.1) makes its module. vLLM does
the same with `head_dtype: float32`: both multiply the weights as they travel, in half precision, widened.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.functional import linear
from verl.workers.engine.fsdp.transformer_impl import FSDPEngine


def widen(head: torch.nn.Linear) -> None:
    """Make a layer multiply and add in single precision, whatever its weights and the surrounding autocast are."""

    def forward(hidden: torch.Tensor) -> torch.Tensor:
        with torch.autocast(hidden.device.type, enabled=False):
            bias = None if head.bias is None else head.bias.float()
            return linear(hidden.float(), head.weight.float(), bias)

    head.forward = forward


def _install() -> None:
    build: Any = FSDPEngine._build_module
    if getattr(build, "widens", False):
        return

    def built(engine: FSDPEngine) -> Any:
        module = build(engine)
        head = module.get_output_embeddings() if hasattr(module, "get_output_embeddings") else None
        if isinstance(head, torch.nn.Linear):
            widen(head)
        return module

    built.widens = True  # pyright: ignore[reportFunctionMemberAccess]
    FSDPEngine._build_module = built


_install()
