"""Fixtures shared by all tests: real engines, each opened once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings

from containers.engines.bubblewrap.engine import BubblewrapEngine
from containers.pool import Pool
from containers.sandbox import Engine
from tests.engines import NAMES, open_engine
from tests.small_model import Served, small_model

settings.register_profile("same", derandomize=True)  # every run is the same; --hypothesis-profile=default searches anew
settings.load_profile("same")


@pytest.fixture(scope="session")
def engine() -> Iterator[BubblewrapEngine]:
    with BubblewrapEngine(say=print) as opened:
        yield opened


@pytest.fixture(scope="session")
def pool(engine: BubblewrapEngine) -> Pool:
    return Pool(engine, 2)


@pytest.fixture(scope="session", params=NAMES)
def any_engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Each engine in turn, for what must hold in all of them; skipped where the machine lacks one."""
    engine = request.getfixturevalue("engine") if request.param == "bubblewrap" else open_engine(request.param)
    yield engine
    if request.param != "bubblewrap":
        engine.close()


@pytest.fixture(scope="module", params=[name for name in NAMES if name != "bubblewrap"])
def other_engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Each engine but the embedded one, opened for a module: for slow tests."""
    engine = open_engine(request.param)
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def small() -> Iterator[Served]:
    """A real small model, served once for all slow tests: starting it takes longer than what they ask of it."""
    with small_model(answer_tokens=160) as served:
        yield served
