"""Frames between assets: one parquet file per partition, written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import get_origin

import polars as pl
from dagster import InputContext, OutputContext, UPathIOManager
from upath import UPath

from containers.state import storage
from pipeline.places import project_root


def frames_folder() -> Path:
    """Where frames are kept: with the rest of the instance, so $DAGSTER_HOME moves them too."""
    home = os.environ.get("DAGSTER_HOME")
    return (Path(home) if home else project_root()) / ".dagster" / "storage" / "frames"


class ParquetIOManager(UPathIOManager):
    """A polars frame per asset and partition. An input typed `dict[str, pl.DataFrame]` gets those of its partitions."""

    extension = ".parquet"

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or frames_folder()
        super().__init__(UPath(self.folder))

    def dump_to_path(self, context: OutputContext, obj: pl.DataFrame, path: UPath) -> None:
        """Write beside the target, then rename: a reader sees the old file or the new one."""
        target = Path(str(path))
        part = target.with_name(f".{path.name}.{os.getpid()}.part")
        with storage(f"keeping {path.name}"):
            try:
                obj.write_parquet(part)
                part.replace(target)
            finally:
                part.unlink(missing_ok=True)

    def load_from_path(self, context: InputContext, path: UPath) -> pl.DataFrame:
        """Read a frame."""
        return pl.read_parquet(str(path))

    def load_partitions(self, context: InputContext) -> pl.DataFrame | Mapping[str, pl.DataFrame]:
        """For an input that is typed as a dict: the frames that are there, be it one or none. Else what the base does."""
        if get_origin(context.dagster_type.typing_type) is not dict:
            return super().load_partitions(context)
        paths = self._get_paths_for_partitions(context)
        return {key: self.load_from_path(context, path) for key, path in paths.items() if self.path_exists(path)}
