"""Fixtures shared by all tests: the real embedded engine, opened once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from containers.engines.bubblewrap.engine import BubblewrapEngine
from containers.pool import Pool


@pytest.fixture(scope="session")
def engine() -> Iterator[BubblewrapEngine]:
    with BubblewrapEngine(say=print) as opened:
        yield opened


@pytest.fixture(scope="session")
def pool(engine: BubblewrapEngine) -> Pool:
    return Pool(engine, 2)
