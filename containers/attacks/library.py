"""The library of attacks on the grading and on the host."""

from __future__ import annotations

from containers.attacks import code, escapes, files, floods, interpreter, planted, shells, watchers
from containers.attacks.attack import Attack

_MODULES = (planted, interpreter, shells, files, watchers, code, floods, escapes)

ATTACKS: tuple[Attack, ...] = tuple(attack for module in _MODULES for attack in module.ATTACKS)
TASK_ATTACKS = tuple(attack for attack in ATTACKS if attack.scope == "task")
ENGINE_ATTACKS = tuple(attack for attack in ATTACKS if attack.scope == "engine")


def named(names: str) -> tuple[Attack, ...]:
    """The attacks with these comma-separated names, in the library's order.

    Raises:
        KeyError: a name that no attack has.
    """
    wanted = {name.strip() for name in names.split(",")}
    if unknown := wanted - {attack.name for attack in ATTACKS}:
        raise KeyError(f"no such attack: {', '.join(sorted(unknown))}")
    return tuple(attack for attack in ATTACKS if attack.name in wanted)
