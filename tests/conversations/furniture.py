"""A small fixture of each kind: what a conversation that is about text brings along where its order asks for a fixture.

Nothing of them belongs to the tasks, so they lie in a folder of their own.
"""

from __future__ import annotations

import json
from typing import Any

_PICTURE = {"width": 96, "height": 32, "items": [{"draw": "text", "text": "ANNEX", "x": 4, "y": 4}]}
_FILM = {"width": 96, "height": 32, "frames": 4, "captions": [{"text": "ANNEX", "first": 1, "last": 2, "size": 1}]}
_PACKAGE: dict[str, Any] = {
    "files": {"annex/__init__.py": "from annex.core import last\n"},
    "fault": {
        "path": "annex/core.py",
        "good": "def last(values):\n    return values[-1]\n",
        "bad": "def last(values):\n    return values[0]\n",
        "says": "The first value is taken for the last.",
    },
    "history": [{"message": "Begin", "author": "Ida Holm"}, {"message": "Go on"}],
    "fault_enters": 1,
}
_SERVICES: list[dict[str, Any]] = [
    {"name": "annex-front", "address": "tcp:18431", "asks": {"now": {"peer": "annex-back", "line": "now"}}},
    {"name": "annex-back", "address": "tcp:18432", "answers": {"now": "noon"}},
]
FURNITURE: dict[str, dict[str, Any]] = {
    "image": {"kind": "image", "path": "/opt/annex/door.png", **_PICTURE},
    "audio": {"kind": "audio", "path": "/opt/annex/door.wav", "parts": [{"sound": "dtmf", "keys": "19"}]},
    "video": {"kind": "video", "path": "/opt/annex/door.gif", **_FILM},
    "stripped_binary": {
        "kind": "stripped_binary",
        "path": "/opt/annex/door",
        "program": {"form": "check", "accepts": "annex-word-19", "yes": "open", "no": "shut", "seed": 5},
    },
    "vendored_package": {"kind": "vendored_package", "folder": "/opt/annex/vendor", **_PACKAGE},
    "multi_service": {"kind": "multi_service", "folder": "/opt/annex/stack", "services": _SERVICES},
}


def furnished(answer: str, kind: str) -> str:
    """An answer about an environment with a fixture of this kind, in the answer's own form; other answers as they are."""
    fixtures = json.dumps([FURNITURE[kind]])
    if "fixtures" in answer:
        return answer
    if "<initial_tests>" in answer:
        return f"{answer.rstrip()}\n<fixtures>{fixtures}</fixtures>"
    if '"initial_tests"' in answer:
        return answer.replace("{", f'{{"fixtures": {fixtures}, ', 1)
    return answer
