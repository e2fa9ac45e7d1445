# pyright: reportMissingImports=false, reportUnknownMemberType=false
"""verl's resolved configuration of some overrides, checked as verl checks it: what `--dry-run` prints.

    python -m trainer.verl.compose < '{"smoke-cpu": ["trainer.nnodes=1", ...]}'      # {"smoke-cpu": {"yaml": ...} or {"error": ...}}

Runs in the training environment; the second form is for a caller outside of it.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Sequence

from generators.errors import UsageError


def resolved(overrides: Sequence[str]) -> str:
    """The whole configuration as YAML.

    Raises:
        UsageError: hydra does not know a key or cannot read a value, or verl refuses the whole.
    """
    from hydra import compose, initialize_config_module
    from hydra.core.global_hydra import GlobalHydra
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    GlobalHydra.instance().clear()
    try:
        with initialize_config_module("verl.trainer.config", version_base=None):
            config = compose("ppo_trainer", overrides=list(overrides))
        text = OmegaConf.to_yaml(config, resolve=True)
    except (HydraException, OmegaConfBaseException) as error:
        raise UsageError(f"verl's configuration: {_line(error)}") from None
    _validate(config)
    return text


def _validate(config: object) -> None:
    """verl's own checks, and the records that it makes later, in a worker."""
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import omega_conf_to_dataclass, validate_config

    whole = config  # an OmegaConf mapping
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            validate_config(whole, need_reference_policy(whole), need_critic(whole))  # pyright: ignore[reportArgumentType]
            for part in (whole.actor_rollout_ref.rollout, whole.algorithm):  # pyright: ignore[reportAttributeAccessIssue]
                omega_conf_to_dataclass(part)
    except Exception as error:  # verl asserts, hydra wraps: whatever it is, the configuration cannot be used
        raise UsageError(f"verl refuses the configuration: {_line(error)}") from None


def _line(error: BaseException) -> str:
    """The innermost reason as one line."""
    while error.__cause__ is not None:
        error = error.__cause__
    words = " ".join(str(error).split())
    return words or type(error).__name__


def _answer(overrides: Sequence[str]) -> dict[str, str]:
    try:
        return {"yaml": resolved(overrides)}
    except UsageError as error:
        return {"error": str(error)}


if __name__ == "__main__":
    asked: dict[str, list[str]] = json.load(sys.stdin)
    json.dump({name: _answer(overrides) for name, overrides in asked.items()}, sys.stdout)
