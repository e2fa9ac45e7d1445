"""Secrets never reach a written trajectory: values of this process's environment, and well-known forms of keys and tokens.

    scrub(trajectory)      # the same record, each secret replaced by `[secret removed]`

A variable counts by its name (words that end in KEY, TOKEN, SECRET, PASSWORD and the like, not KEY_FILE or KEY_PATH), and so does
the password of an address in any variable (postgres://user:password@host); its value
if it has at least 8 characters, or 16 where it is one lower-case word: `postgres` is no secret, and would be missed in the text.
Values are found as they are, escaped for JSON and quoted for a URL, not in other encodings. Hex digests are left alone.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from agent.trajectory import Trajectory
from generators.chat.faults import REMOVED
from generators.chat.model import clean

SHORTEST, SHORTEST_WORD = 8, 16  # characters of a value
_NAME = re.compile(
    r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|(?<![A-Z])PASS|PASSPHRASE|CREDENTIAL)S?(?![A-Z])(?!_(?:FILE|PATH|DIR)$)", re.I
)
_LOGIN = re.compile(r"://[^\s/:@]*:([^\s/@]+)@")  # the password of an address
_BLOCK = r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
_FORMS = {  # by what is in each of them: most texts hold none of these, and need no search
    "PRIVATE KEY": rf"{_BLOCK}(?:(?:(?!-----).)*-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|[A-Za-z0-9+/=\s]*)",  # or cut off
    "sk-": r"(?<![\w-])sk-(?=[A-Za-z_-]*[0-9])[\w-]{20,}",  # OpenAI, Anthropic and others
    "AKIA": r"\bAKIA[A-Z0-9]{16}\b",
    "ASIA": r"\bASIA[A-Z0-9]{16}\b",
    **dict.fromkeys(("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"\bgh[pousr]_[A-Za-z0-9]{20,}\b"),
    "github_pat_": r"\bgithub_pat_\w{20,}\b",
    "glpat-": r"\bglpat-[\w-]{20,}",
    "hf_": r"\bhf_[A-Za-z0-9]{30,}\b",
    "xox": r"\bxox[abeprs]-[A-Za-z0-9-]{10,}",
    "AIza": r"\bAIza[\w-]{35}",
    **dict.fromkeys(("earer", "EARER"), r"(?i:\b(?P<keep>bearer[ \t]+))(?=[^\s\"']*[0-9])[A-Za-z0-9._~+/-]{16,}=*"),
}
_KNOWN = {clue: re.compile(form, re.S | re.A) for clue, form in _FORMS.items()}


def secrets_of(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The values to remove, in the forms they may stand in a text; the longest first."""
    values = {value.strip() for name, value in environment.items() if _NAME.search(name)}
    values |= {password for value in environment.values() for password in _LOGIN.findall(value)}
    telling = [
        value for value in values if len(value) >= (SHORTEST_WORD if re.fullmatch("[a-z]*", value) else SHORTEST)
    ]
    forms = {form for value in telling for form in (value, json.dumps(value)[1:-1], quote(value, safe=""))}
    return tuple(sorted(forms, key=lambda form: (-len(form), form)))


def scrub_text(text: str, secrets: tuple[str, ...] = ()) -> str:
    """A text without secrets, and without what cannot be written as UTF-8."""
    text = clean(text)
    for secret in secrets:
        text = text.replace(secret, REMOVED)
    for clue, form in _KNOWN.items():
        if clue in text:
            text = form.sub(lambda match: (match.groupdict().get("keep") or "") + REMOVED, text)
    return text


def scrub(trajectory: Trajectory, environment: Mapping[str, str] | None = None) -> Trajectory:
    """A trajectory without secrets, by default those of this process's environment. Doing it twice changes nothing more."""
    secrets = secrets_of(os.environ if environment is None else environment)
    return Trajectory.model_validate(_scrubbed(trajectory.model_dump(), secrets))


def _scrubbed(value: Any, secrets: tuple[str, ...]) -> Any:
    """Every string in a value, keys too; words of enumerations stay."""
    if type(value) is str:
        return scrub_text(value, secrets)
    if isinstance(value, Mapping):
        return {scrub_text(key, secrets): _scrubbed(item, secrets) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_scrubbed(item, secrets) for item in value]
    return value
