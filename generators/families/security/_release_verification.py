"""Manifests in their styles, and the verdicts of the stated rules."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass

from generators.family import Draw

STRONG = {"sha256": 32, "sha512": 64, "blake2b": 64}


@dataclass(frozen=True)
class Entry:
    """A line of a manifest."""

    algorithm: str
    name: str
    content: str


@dataclass
class Manifest:
    """A manifest: who signs it (empty: nobody), whether it was edited after signing."""

    name: str
    style: str
    signer: str
    edited: bool
    entries: list[Entry]


@dataclass
class Release:
    """Everything that was drawn."""

    files: dict[str, str]
    manifests: list[Manifest]


def hexdigest(algorithm: str, content: str) -> str:
    """Digest of a text."""
    return hashlib.new(algorithm, content.encode()).hexdigest()


def manifest_text(draw: Draw, manifest: Manifest) -> str:
    """A manifest in its style."""
    if manifest.style == "json":
        rows = [
            {
                "name": entry.name,
                "integrity": f"{entry.algorithm}-"
                + base64.b64encode(bytes.fromhex(hexdigest(entry.algorithm, entry.content))).decode(),
            }
            for entry in manifest.entries
        ]
        return json.dumps({"files": rows}, indent=1) + "\n"
    lines = [f"# {manifest.name}"]
    for entry in manifest.entries:
        digest, name = hexdigest(entry.algorithm, entry.content), draw.pick(("", "", "./")) + entry.name
        title = {"sha256": "SHA256", "sha512": "SHA512", "md5": "MD5", "blake2b": "BLAKE2b"}[entry.algorithm]
        lines.append(
            f"{digest} {draw.pick(' *')}{name}" if manifest.style == "gnu" else f"{title} ({name}) = {digest.upper()}"
        )
    end = draw.pick(("\n", "\r\n"))
    return end.join(lines) + end


def judge(release: Release, revoked: str) -> dict[str, object]:
    """The stated rules."""
    verdicts: dict[str, str] = {}
    counting: list[Entry] = []
    for manifest in release.manifests:
        known = manifest.signer not in ("", "outsider") and not manifest.edited
        verdicts[manifest.name] = "none" if not known else "revoked" if manifest.signer == revoked else manifest.signer
        if known and manifest.signer != revoked:
            counting += [entry for entry in manifest.entries if entry.algorithm in STRONG]
    good: list[str] = []
    altered: list[str] = []
    unverified: list[str] = []
    renamed: dict[str, str] = {}
    for name, content in sorted(release.files.items()):
        mine = [entry for entry in counting if entry.name == name]
        proper = sorted(
            entry.name for entry in counting if entry.content == content and entry.name not in release.files
        )
        if mine:
            (good if all(entry.content == content for entry in mine) else altered).append(name)
        elif proper:
            renamed[name] = proper[0]
        else:
            unverified.append(name)
    found = set(release.files) | set(renamed.values())
    missing = sorted({entry.name for entry in counting} - found)
    sha = {name: hexdigest("sha256", content) for name, content in release.files.items()}
    return {
        "manifests": verdicts,
        "good": good,
        "altered": altered,
        "unverified": unverified,
        "renamed": renamed,
        "missing": missing,
        "kept": {name: sha[name] for name in good} | {proper: sha[name] for name, proper in renamed.items()},
        "held": {name: sha[name] for name in [*altered, *unverified]},
    }
