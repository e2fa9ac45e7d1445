"""Evidence on disk, a file per task digest, written whole or not at all: what makes a stopped run go on where it was."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from containers.state import State, storage
from generators.digest import sha256_hex
from generators.evidence import SUITE, Evidence


@dataclass(frozen=True)
class ProofStore:
    """The proofs of one engine under the current suite of gates."""

    folder: Path

    @classmethod
    def of(cls, state: State, engine: str) -> ProofStore:
        """The store below a state folder."""
        folder = state.folder("proofs") / f"suite-{SUITE}" / engine
        with storage("opening the store of proofs"):
            folder.mkdir(parents=True, exist_ok=True)
        return cls(folder)

    def _path(self, digest: str, plan: str) -> Path:
        return self.folder / f"{digest[:32]}-{sha256_hex(plan)[:8]}.json"

    def load(self, digest: str, plan: str) -> Evidence | None:
        """Evidence for a task under a plan of gates, if it is there, whole and valid."""
        try:
            evidence = Evidence.model_validate_json(self._path(digest, plan).read_bytes())
        except (OSError, ValidationError):
            return None
        return evidence if evidence.valid and evidence.task_digest == digest else None

    def save(self, evidence: Evidence, plan: str) -> None:
        """Keep valid evidence. Invalid evidence is not kept: the task is tried again next time."""
        if not evidence.valid:
            return
        path = self._path(evidence.task_digest, plan)
        part = path.with_suffix(f".{os.getpid()}.part")
        with storage("keeping evidence"):
            part.write_text(evidence.canonical())
            part.replace(path)
