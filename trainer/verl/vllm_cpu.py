# pyright: reportMissingImports=false, reportUnknownMemberType=false
"""vLLM on a processor keeps its weights as they are (entry point `vllm.general_plugins`).

It would pack them for its kernels and drop the originals; then the weights of the next training step have nowhere to go.
"""

from __future__ import annotations

from typing import Any

from trainer.verl.cpu import active


def register() -> None:
    """Patch vLLM 0.30 in this process, where training runs on a processor."""
    if not active():
        return
    import vllm.model_executor.layers.utils as layers

    pack = layers.dispatch_cpu_unquantized_gemm

    def keep(layer: Any, remove_weight: bool) -> Any:
        return pack(layer, remove_weight=False)

    if getattr(pack, "__name__", "") != keep.__name__:
        layers.dispatch_cpu_unquantized_gemm = keep
