"""Replies on disk, by content: what was paid for once is never paid for again, by this process or another.

    <folder>/3f/3fa9….json     a reply, with the digest of its canonical JSON
    <folder>/3f/3fa9….lock     held (flock) by the one who is asking; a killed process lets go of it

Who wants the same reply waits for it. A file that is damaged, or of another key, counts as absent.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from pydantic import ValidationError

from generators.chat.model import UNTAGGED, Ask, ChatModel, Reply, Tag
from generators.digest import canonical_json, digest_of, sha256_hex
from generators.errors import AnswerFault, AnswerReason, RefusedError, StorageError
from generators.task import Record

VERSION = 1
_SHORTEST, _LONGEST = 0.01, 0.25  # seconds between two looks at a lock that another holds

Booking = Callable[[Tag, Reply], None]


class Useless(Record):
    """An answer that came, was paid for, and is of no use: asking the same again would not be another answer's worth."""

    reason: AnswerReason
    message: str
    text: str = ""

    def fault(self) -> AnswerFault:
        """The fault that it was."""
        if self.reason == "refused":
            return RefusedError(self.message)
        return AnswerFault(self.message, self.reason, text=self.text)


class Kept(Record):
    """The content of a file."""

    key: str
    digest: str
    reply: Reply | Useless

    def whole(self, key: str) -> bool:
        """Whether this is that key's reply, undamaged."""
        return self.key == key and self.digest == sha256_hex(self.reply.canonical())


def key_of(name: str, url: str, ask: Ask) -> str:
    """The key of a request: everything that may change the reply."""
    return digest_of({"version": VERSION, "model": name, "url": url, "ask": ask.model_dump(mode="json")})


class Replies:
    """The folder of replies.

    Raises:
        StorageError: it cannot be written or read.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._make(folder)

    def path(self, key: str) -> Path:
        """Where a key's reply is, or would be."""
        return self.folder / key[:2] / f"{key}.json"

    def load(self, key: str) -> Reply | None:
        """A reply that is there and whole, marked as cached.

        Raises:
            AnswerFault: what is there is of no use, as it was when it came.
        """
        try:
            kept = Kept.model_validate_json(self.path(key).read_bytes())
        except (FileNotFoundError, ValidationError):
            return None
        except OSError as error:
            raise StorageError(f"reading the cache of replies in {self.folder}: {error.strerror}") from error
        if not kept.whole(key):
            return None
        if isinstance(kept.reply, Useless):
            raise kept.reply.fault()
        return kept.reply.model_copy(update={"cached": True})

    def save(self, key: str, reply: Reply | Useless) -> None:
        """Keep a reply, whole or not at all."""
        path = self.path(key)
        kept = {"key": key, "digest": sha256_hex(reply.canonical()), "reply": reply.model_dump(mode="json")}
        part = path.with_suffix(f".{os.getpid()}.part")
        try:
            part.write_text(canonical_json(kept), encoding="utf-8")
            part.replace(path)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise StorageError(f"keeping a reply in {self.folder}: {error.strerror}") from error

    @asynccontextmanager
    async def locked(self, key: str) -> AsyncGenerator[None]:
        """Be the only one, of all processes, who asks for this key. Waiting does not block the event loop."""
        path = self.path(key).with_suffix(".lock")
        self._make(path.parent)
        wait = _SHORTEST
        while (handle := self._try_lock(path)) is None:
            await asyncio.sleep(wait)
            wait = min(_LONGEST, wait * 1.5)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)  # while it is held: who opened it meanwhile sees that it is gone
            os.close(handle)

    def _try_lock(self, path: Path) -> int | None:
        """A descriptor that holds the lock, or None where another does."""
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise StorageError(f"locking the cache of replies in {self.folder}: {error.strerror}") from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(handle).st_ino == os.stat(path).st_ino:
                return handle
        except (BlockingIOError, FileNotFoundError):
            pass
        os.close(handle)
        return None

    def _make(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"making the cache of replies {folder}: {error.strerror}") from error


class CachedModel:
    """Answers from the folder where it can, else asks and keeps the answer. `book` is told of each reply found."""

    def __init__(self, inner: ChatModel, replies: Replies, url: str, book: Booking) -> None:
        self._inner = inner
        self._replies = replies
        self._url = url
        self._book = book

    @property
    def name(self) -> str:
        """The model's name."""
        return self._inner.name

    async def ask(self, ask: Ask, tag: Tag = UNTAGGED) -> Reply:
        """The kept reply, or a new one."""
        key = key_of(self.name, self._url, ask)
        if reply := self._replies.load(key):
            self._book(tag, reply)
            return reply
        async with self._replies.locked(key):
            if reply := self._replies.load(key):  # another had it while this one waited
                self._book(tag, reply)
                return reply
            try:
                reply = await self._inner.ask(ask, tag)
            except AnswerFault as fault:
                if (
                    fault.usage or fault.reason != "context_overflow"
                ):  # a server may be given more room, and took no money
                    self._replies.save(key, Useless(reason=fault.reason, message=str(fault), text=fault.text))
                raise
            self._replies.save(key, reply)
            return reply

    async def close(self) -> None:
        """Let go of connections."""
        await self._inner.close()
