"""A release: parquet splits, a manifest with digests, and a card made from the evidence."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from containers.state import storage
from generators.digest import digest_of
from generators.errors import TaskError, UsageError
from generators.evidence import SUITE, Evidence
from generators.recipe import SPLITS, Recipe
from generators.task import Task
from pipeline.card import card
from pipeline.exchange.rows import read_parquet, to_row, write_parquet
from pipeline.splits import Item, split

FORMAT = "1"


@dataclass(frozen=True)
class Release:
    """What was published: where, its content hash, rows per file, and the card."""

    folder: Path
    digest: str
    files: dict[str, int]
    card: Path


def content_digest(rows: list[dict[str, Any]]) -> str:
    """The data set's identity: which task is in which split, nothing that differs between two runs."""
    return digest_of(sorted([row["split"], row["id"], row["digest"]] for row in rows))


def publish(recipe: Recipe, candidate: pl.DataFrame, folder: Path) -> Release:
    """Write the proven tasks of a candidate as a release under `folder/<recipe>`.

    Raises:
        UsageError: nothing in it is proven.
        StorageError: the folder cannot be written.
    """
    kept = [row for row in candidate.iter_rows(named=True) if row["proven"]]
    if not kept:
        raise UsageError(f"recipe {recipe.name}: no task is proven, so there is nothing to publish")
    items = [Item(row["task_id"], row["family"], row["difficulty"]) for row in kept]
    where = split(items, recipe.splits, recipe.seed, recipe.separate_families)
    rows = [
        to_row(
            Task.model_validate_json(row["task"]), Evidence.model_validate_json(row["evidence"]), where[row["task_id"]]
        )
        for row in kept
    ]
    return write_release(recipe, rows, candidate, folder / recipe.name)


def write_release(recipe: Recipe, rows: list[dict[str, Any]], candidate: pl.DataFrame, folder: Path) -> Release:
    """Write splits, manifest and card into a folder; splits that are empty leave no file."""
    with storage(f"preparing {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError(13, "not writable", str(folder))
    files: dict[str, int] = {}
    for name in SPLITS:
        part = [row for row in rows if row["split"] == name]
        if part:
            write_parquet(part, folder / f"{name}.parquet")
            files[f"{name}.parquet"] = len(part)
        else:
            (folder / f"{name}.parquet").unlink(missing_ok=True)
    digest = content_digest(rows)
    text = card(recipe, rows, candidate, digest)
    manifest = {
        "format": FORMAT,
        "name": recipe.name,
        "digest": digest,
        "suite": SUITE,
        "tasks": len(rows),
        "recipe": recipe.model_dump(mode="json"),
        "engines": dict(sorted(Counter(row["evidence"]["engine"] for row in rows).items())),
        "files": {name: {"rows": count, "sha256": file_digest(folder / name)} for name, count in files.items()},
        "task_digests": {row["id"]: row["digest"] for row in sorted(rows, key=lambda row: row["id"])},
    }
    with storage(f"writing the manifest and card of {recipe.name}"):
        _write(folder / "README.md", text)
        _write(folder / "manifest.json", json.dumps(manifest, indent=1, sort_keys=True) + "\n")
    return Release(folder, digest, files, folder / "README.md")


def _write(path: Path, text: str) -> None:
    part = path.with_name(f".{path.name}.part")
    part.write_text(text)
    part.replace(path)


def file_digest(path: Path) -> str:
    """Hex sha256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def load_release(folder: Path) -> list[dict[str, Any]]:
    """All rows of a release, after checking its files against the manifest.

    Raises:
        TaskError: no manifest, or a file that is not what it says.
    """
    try:
        manifest = json.loads((folder / "manifest.json").read_text())
        files = dict(manifest["files"])
    except FileNotFoundError:
        raise TaskError(f"{folder} is not a release: it has no manifest.json; `termforge build` makes one") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        what = f"its manifest.json cannot be read ({type(error).__name__})"
        raise TaskError(f"{folder} is not a release: {what}; publish it again (termforge build)") from error
    rows: list[dict[str, Any]] = []
    for name, stated in files.items():
        if not (folder / name).is_file():
            raise TaskError(f"{folder / name} is missing although the manifest lists it")
        if file_digest(folder / name) != stated["sha256"]:
            raise TaskError(
                f"{folder / name} is not the file that was published: its digest differs from the manifest's"
            )
        rows += read_parquet(folder / name)
    return rows
