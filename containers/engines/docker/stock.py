"""Images of ours that a daemon keeps."""

from __future__ import annotations

import contextlib
import re
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from docker.errors import APIError, ImageNotFound

from containers.engines.docker.client import LABEL, faults
from containers.sandbox import BuiltImage
from containers.stock import Kept

_SHARED = re.compile(r"(.*/)?termforge/(packages|base):")  # Podman puts a registry before it


class DaemonStock:
    """Images with our label. The daemon itself refuses to remove what a container stands on."""

    def __init__(self, client: Any, root: str) -> None:
        self._client, self._root = client, root

    def images(self) -> list[Kept]:
        """All that are ours; an image's size is what it adds to the largest other that it stands on."""
        with faults("listing images"):
            listed: list[dict[str, Any]] = self._client.api.images(filters={"label": LABEL})
            found: list[Any] = [image for entry in listed if (image := self._get(str(entry["Id"]))) is not None]
        by_layers = {tuple(image.attrs["RootFS"]["Layers"]): image for image in found}
        return [self._kept(image, by_layers) for image in found]

    def _get(self, name: str) -> Any | None:
        try:
            return self._client.images.get(name)
        except ImageNotFound:  # it was removed in between
            return None

    def _kept(self, image: Any, by_layers: dict[tuple[str, ...], Any]) -> Kept:
        layers = tuple(image.attrs["RootFS"]["Layers"])
        below = next((by_layers[layers[:n]] for n in range(len(layers) - 1, 0, -1) if layers[:n] in by_layers), None)
        size = int(image.attrs["Size"]) - (int(below.attrs["Size"]) if below is not None else 0)
        shared = any(_SHARED.match(tag) for tag in image.tags)
        return Kept(str(image.id), max(0, size), _seconds(str(image.attrs.get("Created", ""))), shared)

    def names(self, built: BuiltImage) -> list[str]:
        """The image that a container is made from."""
        return list(built.layers[:1])

    def forget(self, name: str) -> bool:
        """Remove an image by its id, all its tags with it; not what a container, or another image, stands on."""
        try:
            tags: list[str] = self._client.images.get(name).tags
            for tag in tags or [name]:
                self._client.images.remove(tag)
        except ImageNotFound:
            return True
        except APIError:
            return False
        return True

    def folders(self) -> tuple[Path, ...]:
        """The daemon's own folder, where it is on this machine."""
        root = Path(self._root)
        with contextlib.suppress(OSError):
            return (root,) if self._root and root.is_dir() else ()
        return ()


def _seconds(text: str) -> float:
    """A daemon's time, or now where it says none: what has no age is not the oldest."""
    with contextlib.suppress(ValueError):
        return datetime.fromisoformat(text.partition(".")[0].rstrip("Z") + "+00:00").timestamp()
    return time.time()
