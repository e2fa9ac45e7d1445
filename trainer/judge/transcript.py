"""What a judge that is a language model sees of an episode: instruction, Dockerfile and transcript, quoted so that they cannot give orders.

Every block is named by a word that nobody who wrote its content could know (a digest of all of it), every line of content stands
behind "| ", control characters and characters that are not seen are gone. Tests, truth, scores and status are not even looked at.

Length: a message keeps its first three quarters and its last quarter; of the turns, as many as fit are kept from both ends, two from
the beginning for each one from the end, and what is left out is said.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from agent.trajectory import Call, End, Item, Step
from generators.chat.model import clean
from generators.digest import canonical_json, digest_of
from trainer.judge.verdict import Judged

TOTAL = 60_000  # characters of all turns together
MESSAGE = 4_000  # of one message
HEAD = 8_000  # of the instruction, and of the Dockerfile
MARK = "| "
_ENDS = {
    End.FINISHED: "the agent said that it was done",
    End.TURNS: "all turns were used up",
    End.TIME: "the time was used up",
    End.TOKENS: "all tokens were used up",
    End.CONTEXT: "the conversation filled the model's context",
    End.FORMAT: "too many replies in a row held no action that could be read",
    End.ANSWERS: "the model said nothing of use too often",
    End.BROKEN: "it was interrupted",
}


def seen_by_judge(judged: Judged, total: int = TOTAL) -> tuple[str, str]:
    """The text, and the word that names its blocks. The same episode gives the same text."""
    parts = _parts(judged)
    word = _word(judged)
    blocks = [_block(name, word, [quoted(text, HEAD)]) for name, text in parts]
    blocks.append(_block("transcript", word, _turns(judged, word, total)))
    return "\n\n".join(blocks) + "\n", word


def quoted(text: str, limit: int = MESSAGE) -> str:
    """Text that cannot be taken for anything but text: cut, cleaned, and each of its lines marked."""
    return "\n".join(
        MARK + "".join(filter(_is_seen, line)).rstrip() for line in _cut(clean(text), limit).splitlines() or [""]
    )


def _parts(judged: Judged) -> list[tuple[str, str]]:
    given = judged.dockerfile or "(not given)"
    return [("instruction", judged.trajectory.instruction), ("environment", given)]


def _word(judged: Judged) -> str:
    """A name that occurs nowhere in what it names."""
    said = [[step.reply, step.reasoning, *map(_outcome, step.items)] for step in judged.trajectory.steps]
    content = canonical_json(
        [clean(text) for _, text in _parts(judged)] + [clean(text) for turn in said for text in turn]
    )
    number = 0
    while (word := digest_of([number, content])[:16]) in content:
        number += 1
    return word


def _block(name: str, word: str, lines: Sequence[str]) -> str:
    return "\n".join([f"[{word} {name} begins]", *lines, f"[{word} {name} ends]"])


def _turns(judged: Judged, word: str, total: int) -> list[str]:
    steps = judged.trajectory.steps
    turns = [_turn(number, step, word) for number, step in enumerate(steps, 1)]
    kept, lines, last = _both_ends([len(turn) for turn in turns], total), [], 0
    for at in kept:
        if at > last:
            lines.append(f"[{word} {at - last} turns are left out here]")
        lines.append(turns[at])
        last = at + 1
    return [*lines, f"[{word} the end: {_ENDS[judged.trajectory.end]}]"]


def _both_ends(lengths: Sequence[int], total: int) -> list[int]:
    """Which turns to keep, in order: two from the beginning, one from the end, and so on while they fit; the last one always."""
    first, last, chosen, left = 0, len(lengths) - 1, [], total
    for number in range(len(lengths)):
        at = last if number % 3 == 0 else first
        left -= lengths[at]
        if left < 0 and chosen:
            break
        chosen.append(at)
        first, last = (first, last - 1) if number % 3 == 0 else (first + 1, last)
    return sorted(chosen)


def _turn(number: int, step: Step, word: str) -> str:
    lines = []
    if step.reasoning:
        lines += [f"[{word} turn {number}, thought by the agent]", quoted(step.reasoning)]
    lines += [f"[{word} turn {number}, said by the agent]", quoted(step.reply)]
    for item in step.items:
        if item.call and not _said(item.call, step.reply):
            lines += [
                f"[{word} turn {number}, called by the agent]",
                quoted(f"{item.call.tag} {canonical_json(item.call.arguments)}"),
            ]
        lines += [f"[{word} turn {number}, result]", quoted(_outcome(item))]
    return "\n".join(lines)


def _said(call: Call, reply: str) -> bool:
    """Whether a reply spells this call itself; with tool calls it does not."""
    texts = [text.strip().split("\n")[0] for text in call.arguments.values() if isinstance(text, str) and text.strip()]
    return f"<{call.tag}" in reply or (bool(texts) and all(text in reply for text in texts))


def _outcome(item: Item) -> str:
    """What an item led to."""
    name = item.call.tag if item.call else "reply"
    if item.mistake:
        return f"{name} could not be read: {item.mistake}"
    if item.skipped:
        return f"{name} was skipped, since an action before it had failed or could not be read"
    if item.observation is None:
        return f"{name}: no output"
    seen = item.observation
    how = "ran out of time" if seen.timed_out else "failed" if seen.failed else "done"
    code = "" if seen.exit_code is None else f", exit code {seen.exit_code}"
    return f"{name} {how}{code}\n{seen.text}"


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    tail = limit // 4
    head = limit - tail
    return f"{text[:head]}\n... {len(text) - limit} characters are left out here ...\n{text[-tail:]}"


def _is_seen(character: str) -> bool:
    return character == "\t" or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
