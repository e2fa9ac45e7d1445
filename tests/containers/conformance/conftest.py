"""One image and fresh sandboxes of it, in each engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from containers.sandbox import BuiltImage, Engine, Sandbox
from tests.containers.conformance.common import IMAGE, LIMITS


@pytest.fixture(scope="session")
def built(any_engine: Engine) -> BuiltImage:
    return any_engine.build(IMAGE, LIMITS)


@pytest.fixture
def sandbox(any_engine: Engine, built: BuiltImage) -> Iterator[Sandbox]:
    with any_engine.start(built, LIMITS) as opened:
        yield opened


@pytest.fixture(scope="module")
def calm(any_engine: Engine, built: BuiltImage) -> Iterator[Sandbox]:
    """A sandbox that a module's tests share: for what leaves nothing behind."""
    with any_engine.start(built, LIMITS) as opened:
        yield opened
