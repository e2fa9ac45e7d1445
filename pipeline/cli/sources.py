"""Finding what a command was pointed at: recipes by name or path, tasks by id in releases, files or folders."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from generators.errors import RecipeError, TaskError, UsageError
from generators.evidence import Evidence
from generators.problems import first_problem
from generators.recipe import Recipe, load_recipe
from generators.task import Task
from pipeline.exchange.rows import from_row, read_parquet
from pipeline.places import project_root
from pipeline.release import load_release

Known = tuple[Task, Evidence | None]


def find_recipe(name: str) -> Recipe:
    """A recipe by file, or by the name of a file in datasets/recipes.

    Raises:
        RecipeError: there is none, or it is not valid.
    """
    path = Path(name)
    if path.suffix in {".yaml", ".yml"} or "/" in name:
        return load_recipe(path)
    folder = project_root() / "datasets" / "recipes"
    if not (folder / f"{name}.yaml").is_file():
        known = ", ".join(sorted(file.stem for file in folder.glob("*.yaml"))) or "none"
        raise RecipeError(
            f"there is no recipe {name!r} in {folder} (there are: {known}); name one of them or a .yaml file"
        )
    return load_recipe(folder / f"{name}.yaml")


def load_tasks(path: Path) -> list[Known]:
    """Tasks of a release folder, a parquet file, a task's JSON file, or a folder of such files.

    Raises:
        TaskError: nothing there, or something that is not a valid task.
    """
    if (path / "manifest.json").is_file():
        return [from_row(row) for row in load_release(path)]
    if path.is_dir():
        found = [
            known
            for file in sorted(path.rglob("*"))
            if file.suffix in {".parquet", ".json"}
            for known in load_tasks(file)
        ]
        if not found:
            raise TaskError(f"{path} holds no .parquet or .json file with tasks")
        return found
    if not path.exists():
        raise TaskError(f"{path} does not exist; name a release folder, a .parquet file or a task's .json file")
    if path.suffix == ".parquet":
        return [from_row(row) for row in read_parquet(path)]
    return [(_task_file(path), None)]


def _task_file(path: Path) -> Task:
    try:
        data = json.loads(path.read_bytes())
        if isinstance(data, dict):
            data.pop("evidence", None)  # as `show --privileged --json` prints it
        return Task.model_validate_json(json.dumps(data))
    except ValueError as error:
        if not isinstance(error, ValidationError):
            raise TaskError(f"{path} is not JSON: {error}") from error
        raise TaskError(f"{path} is not a valid task: {first_problem(error)}") from error


def _everywhere() -> Iterator[Path]:
    yield from sorted(path.parent for path in (project_root() / "datasets").glob("*/manifest.json"))


def find_task(name: str, source: Path | None) -> Known:
    """A task by id, or by the beginning of one, in a source or in all releases under datasets/.

    Raises:
        UsageError: none, or more than one.
    """
    places = [source] if source else list(_everywhere())
    if not places:
        raise UsageError(
            f"there is no release under {project_root() / 'datasets'} yet; run `termforge build` or name one with --from"
        )
    found = {known[0].id: known for place in places for known in load_tasks(place) if known[0].id.startswith(name)}
    if name in found:
        return found[name]
    if len(found) != 1:
        what = f"{len(found)} tasks begin with" if found else "no task begins with"
        some = f": {', '.join(sorted(found)[:8])}{', ...' if len(found) > 8 else ''}" if found else ""
        raise UsageError(f"{what} {name!r} in {', '.join(str(place) for place in places)}{some}")
    return next(iter(found.values()))
