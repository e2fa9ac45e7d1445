"""Which judge is in use: a small file that may lie on a file system shared by all nodes, changed at once for all of them.

    set_backend("openai:gpt-5-mini", who="ada")       # validated, written in one step, put on record
    current_backend()                                  # read again at most every two seconds

The file is $TERMFORGE_JUDGE, or judge.json in the state folder; beside it stand its lock and `<name>.log`, a JSON line for every change.
Keys are never in it: they stay in each node's environment.
"""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Annotated
from urllib.parse import unquote, urlsplit

from pydantic import AfterValidator, Field, ValidationError

from agent.scrub import REMOVED, scrub_text, secrets_of
from containers.state import default_home, storage
from generators.errors import UsageError
from generators.task import Record

RULES = "rules"
EVERY = 2.0  # seconds between two looks at the file
_LARGEST = 65_536  # bytes; a larger file is none of ours


def _no_secret(url: str | None) -> str | None:
    if url is not None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("the address is none: write http://HOST:PORT/v1")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError("the address holds more than a host and a path; keys belong in the environment")
    return url


def _holds_key(*texts: str) -> bool:
    """Whether a text holds a key by its form, or one of this environment's, also written as in an address."""
    keys = secrets_of({name: value for name, value in os.environ.items() if name.endswith("_API_KEY")})
    return any(REMOVED in scrub_text(form, keys) for text in texts for form in (text, unquote(text)))


class Backend(Record):
    """The judge in use. `version` counts the changes; 0 is the default, which nobody chose."""

    version: Annotated[int, Field(ge=0)] = 0
    backend: Annotated[str, Field(pattern=r"^(rules|(openai|anthropic):\S+)$", max_length=500)] = RULES
    base_url: Annotated[str | None, AfterValidator(_no_secret)] = None
    at: str = ""  # UTC, ISO 8601
    who: str = ""


def backend_path() -> Path:
    """Where the choice is kept."""
    named = os.environ.get("TERMFORGE_JUDGE")
    return Path(named).absolute() if named else default_home() / "judge.json"


def read_backend(path: Path) -> Backend:
    """The choice in a file.

    Raises:
        OSError: it cannot be read.
        ValueError: it is not whole, or not valid.
    """
    with path.open("rb") as file:
        return _parsed(file.read(_LARGEST + 1))


def named_backend(backend: str, base_url: str | None = None) -> Backend:
    """A backend by its name, if name and address are well-formed.

    Raises:
        UsageError: they are not, or hold a key, which would stay on record for good; or `rules` has an address.
    """
    if _holds_key(backend, base_url or ""):  # said without the name, which may be the key
        raise UsageError("judge: name or address holds a key; keys belong in the environment, never in the judge file")
    if backend == RULES and base_url is not None:
        raise UsageError("judge rules needs no address: it asks no model")
    try:
        return Backend(backend=backend, base_url=base_url)
    except ValidationError as error:
        problem = error.errors()[0]
        said = problem["msg"].removeprefix("Value error, ")
        if problem["loc"] == ("backend",):
            said = "write rules, openai:NAME or anthropic:NAME"
        raise UsageError(f"judge {backend!r}: {said}") from None


def set_backend(backend: str, base_url: str | None = None, *, path: Path | None = None, who: str = "") -> Backend:
    """Make this the judge. It is on record before it is in use. Several may do so at once: each gets a version of its own.

    Raises:
        UsageError: name or address are not valid.
        StorageError: a file cannot be written.
    """
    path = path or backend_path()
    wanted = named_backend(backend, base_url).model_copy(
        update={"at": datetime.now(UTC).isoformat(timespec="seconds"), "who": who or _user()}
    )
    with storage("choosing a judge"), _locked(path):
        before = _last_version(path)
        chosen = wanted.model_copy(update={"version": before + 1})
        _append(_log(path), chosen.canonical() + "\n")
        _replace(path, chosen.canonical() + "\n")
    return chosen


def history(path: Path | None = None) -> list[Backend]:
    """Every change that is on record, oldest first; lines that cannot be read are left out."""
    found: list[Backend] = []
    with contextlib.suppress(OSError):
        for line in _log(path or backend_path()).read_bytes().splitlines():
            with contextlib.suppress(ValueError):
                found.append(_parsed(line))
    return found


class BackendReader:
    """Knows the choice, and sees within `every` seconds that it changed. A file that cannot be read changes nothing; that is said once."""

    def __init__(
        self,
        path: Path,
        say: Callable[[str], None] | None = None,
        every: float = EVERY,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path = path
        self._say = say or _to_stderr
        self._every = every
        self._clock = clock
        self._looked: float | None = None
        self._seen: object = None
        self._good = Backend()

    def current(self) -> Backend:
        """The choice, or the last good one."""
        now = self._clock()
        if self._looked is None or now - self._looked >= self._every:
            self._looked = now
            self._look()
        return self._good

    def _look(self) -> None:
        """Opened, not only looked up: on a shared file system that shows what other nodes wrote."""
        try:
            with self._path.open("rb") as file:
                status = os.fstat(file.fileno())
                seen = (status.st_ino, status.st_mtime_ns, status.st_size)
                if seen == self._seen:
                    return
                self._seen = seen
                self._good = _parsed(file.read(_LARGEST + 1))
        except (OSError, ValueError) as error:
            self._complain(error)

    def _complain(self, error: Exception) -> None:
        """Say it once for each state of the file; that there is none is said only if there was one."""
        if isinstance(error, OSError):
            state = (type(error).__name__, error.errno)
            known, self._seen = self._seen == state, state
            if known or (isinstance(error, FileNotFoundError) and not self._good.version):
                return
        words = error.strerror if isinstance(error, OSError) else "not whole or not valid"
        self._say(f"judge file {self._path}: {words}; {self._good.backend} stays in use")


@cache
def _reader(path: Path) -> BackendReader:
    return BackendReader(path)


def current_backend() -> Backend:
    """The choice as this process knows it."""
    return _reader(backend_path()).current()


def _parsed(data: bytes) -> Backend:
    if len(data) > _LARGEST:
        raise ValueError("too large")
    try:
        return Backend.model_validate(json.loads(data))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _last_version(path: Path) -> int:
    last = max((change.version for change in history(path)), default=0)
    with contextlib.suppress(OSError, ValueError):
        last = max(last, read_backend(path).version)
    return last


@contextlib.contextmanager
def _locked(path: Path) -> Generator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _replace(path: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), 0o644)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _append(path: Path, line: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(line)
        file.flush()
        os.fsync(file.fileno())


def _log(path: Path) -> Path:
    return path.with_name(path.name + ".log")


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def _to_stderr(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
