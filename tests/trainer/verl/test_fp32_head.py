"""The last layer in single precision: in the environment where torch and verl are."""

from __future__ import annotations

import pytest

pytest.importorskip("verl", reason="verl is not installed here: see .venv-train")
torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")  # verl's, about engines that are not installed


def test_logits_are_not_rounded_to_half_precision() -> None:
    from trainer.verl.fp32_head import widen

    torch.manual_seed(0)
    head = torch.nn.Linear(64, 16, bias=False).to(torch.bfloat16)
    hidden = torch.randn(3, 64, dtype=torch.bfloat16)
    exact = hidden.double() @ head.weight.double().T
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rounded = head(hidden)
        widen(head)
        wide = head(hidden)
    assert rounded.dtype == torch.bfloat16 and wide.dtype == torch.float32
    assert (wide.double() - exact).abs().max() < 1e-5 < (rounded.double() - exact).abs().max()
    wide.sum().backward()
    assert head.weight.grad is not None and head.weight.grad.abs().sum() > 0


def test_the_engine_of_verl_makes_such_a_module() -> None:
    from verl.workers.engine.fsdp.transformer_impl import FSDPEngine

    import trainer.verl.fp32_head  # noqa: F401

    assert getattr(FSDPEngine._build_module, "widens", False)
