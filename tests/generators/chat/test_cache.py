"""Replies on disk: keys, round trips, damage, and locks that a killed process lets go of."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators.chat.cache import Replies, key_of
from generators.chat.model import Ask, Message, Reply, Usage
from generators.errors import StorageError

TEXT = st.text(st.characters(codec="utf-8"), max_size=200)
ASKS = st.builds(
    Ask,
    messages=st.lists(
        st.builds(Message, role=st.sampled_from(["system", "user", "assistant"]), content=TEXT), min_size=1, max_size=3
    ).map(tuple),
    max_tokens=st.integers(1, 10**6),
    temperature=st.none() | st.floats(0, 2),
    reasoning=st.sampled_from([None, "low", "high"]),
    answer_schema=st.none() | st.dictionaries(TEXT, st.integers(), max_size=2),
    sample=st.integers(0, 5),
)
COUNT = st.integers(0, 10**9)
REPLIES = st.builds(
    Reply,
    text=TEXT,
    usage=st.builds(Usage, input_tokens=COUNT, output_tokens=COUNT, cached_tokens=COUNT, reasoning_tokens=COUNT),
    model=TEXT,
    seconds=st.floats(0, 10**6),
)
KEY = "ab" + 62 * "0"
REPLY = Reply(text="so it is", usage=Usage(input_tokens=1, output_tokens=2), model="openai:m", seconds=0.5)


@given(ASKS, ASKS)
def test_same_requests_have_the_same_key_and_others_another(one: Ask, other: Ask) -> None:
    assert key_of("m", "u", one) == key_of("m", "u", Ask.model_validate_json(one.canonical()))
    assert (key_of("m", "u", one) == key_of("m", "u", other)) == (one.canonical() == other.canonical())
    assert len({key_of("m", "u", one), key_of("n", "u", one), key_of("m", "v", one)}) == 3


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Replies:
    return Replies(tmp_path_factory.mktemp("replies"))


def keep(replies: Replies, key: str, reply: Reply) -> None:
    async def main() -> None:
        async with replies.locked(key):
            replies.save(key, reply)

    asyncio.run(main())


@given(REPLIES)
def test_what_is_kept_is_found_again_as_it_was(shared: Replies, reply: Reply) -> None:
    keep(shared, KEY, reply)
    assert shared.load(KEY) == reply.model_copy(update={"cached": True})


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:-9],
        lambda data: data.replace(b"so it is", b"so it was"),
        lambda data: b"\xff" + data,
    ],
)
def test_a_damaged_file_counts_as_absent_and_is_replaced(tmp_path: Path, damage: object) -> None:
    replies = Replies(tmp_path)
    keep(replies, KEY, REPLY)
    path = replies.path(KEY)
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    assert replies.load(KEY) is None
    keep(replies, KEY, REPLY)
    assert replies.load(KEY) is not None


def test_another_keys_reply_is_not_taken_for_this_ones(tmp_path: Path) -> None:
    replies = Replies(tmp_path)
    keep(replies, KEY, REPLY)
    other = KEY[:-1] + "1"
    replies.path(KEY).rename(replies.path(other))
    assert replies.load(other) is None


def test_nothing_but_replies_is_left_in_the_folder(tmp_path: Path) -> None:
    replies = Replies(tmp_path)
    keep(replies, KEY, REPLY)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [replies.path(KEY)]


def test_only_one_at_a_time_holds_a_key_and_waiting_does_not_block_the_loop(tmp_path: Path) -> None:
    replies, inside, most = Replies(tmp_path), 0, 0

    async def one() -> None:
        nonlocal inside, most
        async with replies.locked(KEY):
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)  # a blocked loop would never come back here
            inside -= 1

    async def main() -> None:
        async with asyncio.timeout(60):
            await asyncio.gather(*(one() for _ in range(20)))

    asyncio.run(main())
    assert most == 1


HOLDER = """
import asyncio, sys
from pathlib import Path
from generators.chat.cache import Replies
async def main():
    async with Replies(Path(sys.argv[1])).locked(sys.argv[2]):
        print("held", flush=True)
        await asyncio.sleep(600)
asyncio.run(main())
"""


def test_a_killed_process_lets_go_of_its_lock(tmp_path: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path), KEY], stdout=subprocess.PIPE, text=True)
    assert holder.stdout and holder.stdout.readline() == "held\n"

    async def main() -> bool:
        waiting = asyncio.create_task(take())
        await asyncio.sleep(0.1)
        waited = not waiting.done()
        holder.send_signal(signal.SIGKILL)
        await asyncio.wait_for(waiting, 30)
        return waited

    async def take() -> None:
        async with Replies(tmp_path).locked(KEY):
            pass

    assert asyncio.run(main())
    holder.wait()
    holder.stdout.close()


def test_a_folder_that_cannot_be_made_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="file/replies"):
        Replies(tmp_path / "file" / "replies")
