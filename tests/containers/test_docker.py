"""What is Docker's and Podman's own: bases from a registry or from here, and grading where a container cannot be entered."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from containers.engines.docker.engine import DockerEngine
from containers.sandbox import BuildFailure, Feature, GradeRequest
from generators.errors import EngineError
from generators.task import ContextFile, Image, Limits
from tests.engines import find_socket, needs, open_engine
from tests.registry import Registry, serving
from tests.toys import toy


@pytest.fixture(scope="module", params=["docker", "podman"])
def daemon(request: pytest.FixtureRequest) -> Iterator[DockerEngine]:
    with open_engine(request.param) as engine:
        assert isinstance(engine, DockerEngine)
        yield engine


def test_a_base_is_pulled_from_a_registry(daemon: DockerEngine) -> None:
    if daemon.flavour == "podman":
        pytest.skip("Podman takes a registry without TLS only where its machine's registries.conf says so")
    registry = Registry("some/tiny", {"srv/pulled": b"from afar"})
    with serving(registry) as address:
        name = f"{address}/some/tiny:1"
        image = Image(dockerfile=f"FROM {name}\nCOPY a /srv/a\n", files=(ContextFile.of("a", "here"),))
        built = daemon.build(image, Limits())
        with pytest.raises(BuildFailure, match="base_missing"):
            daemon.build(Image(dockerfile=f"FROM {address}/some/other:1\n"), Limits())
    assert any("/blobs/" in path for path in registry.asked)
    assert built.env["FROM_REGISTRY"] == "yes"
    assert {name.removeprefix("./") for name, _ in daemon.contents(built)} >= {"srv/a"}
    daemon.client.images.remove(built.layers[0], force=True)
    daemon.client.images.remove(name, force=True)


def test_a_base_that_nobody_has_is_named(daemon: DockerEngine) -> None:
    with pytest.raises(EngineError, match="localhost:1/x:1 is not here and no registry answers"):
        daemon.build(Image(dockerfile="FROM localhost:1/x:1\n"), Limits())


@pytest.fixture(scope="module")
def elsewhere(daemon: DockerEngine) -> Iterator[DockerEngine]:
    """The same daemon, as if its containers could not be entered from here."""
    address = find_socket(daemon.flavour)
    with DockerEngine(daemon.state, print, address, daemon.flavour, enter=False) as engine:
        yield engine


def test_a_verifier_container_grades_what_cannot_be_entered(elsewhere: DockerEngine) -> None:
    task = toy()
    built = elsewhere.build(task.image, task.limits)
    request = GradeRequest(task.completion_tests.source, ("test_sum", "test_kept"))
    with elsewhere.start(built, task.limits) as sandbox:
        sandbox.exec(f"{task.solution}; nohup sleep 1000 > /dev/null 2>&1 &", timeout=20)
        graded = sandbox.grade(request)
    assert graded.valid and [test.passed for test in graded.tests] == [True, True]
    with elsewhere.start(built, task.limits) as sandbox:
        assert [test.passed for test in sandbox.grade(request).tests] == [False, True]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("    import time; time.sleep(60)", "grader_deadline"),
        ("    import os; os._exit(0)", "grader_crashed"),
        ("    import os, signal; os.write(1, b'x'); x = [b'x' * (1 << 20) for _ in range(4096)]", "grader_killed_9"),
    ],
)
def test_a_verifier_that_ends_without_results_is_invalid(elsewhere: DockerEngine, body: str, reason: str) -> None:
    if reason == "grader_killed_9":
        needs(elsewhere, Feature.MEMORY_LIMIT)
    task = toy()
    with elsewhere.start(elsewhere.build(task.image, task.limits), Limits(memory_mb=256)) as sandbox:
        graded = sandbox.grade(GradeRequest(f"def test_a():\n{body}\n", timeout=3))
    assert (graded.valid, graded.reason) == (False, reason), graded
