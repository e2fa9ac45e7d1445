"""Repair the decoder of a binary telemetry protocol: framing, reassembly and value bugs against a protocol document."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from generators.families.debugging._protocol_decoder import Line, fields_case, framing_case, messages_case, sample
from generators.family import Draft, Draw, Family, Miss, Setting, load_settings, load_words, resource
from generators.task import Difficulty, Verifier
from generators.vocabulary import CITIES, FIRMS, FIRST_NAMES


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling: the two directions of the line and what the fields are called."""

    folder: str
    program: str
    sides: tuple[str, str]
    names: tuple[str, ...]  # unsigned, unsigned, signed, signed, hundredths, hundredths, text, text, list
    text: str


SETTINGS = load_settings(__file__, World)
WORDS: dict[str, tuple[str, ...]] = load_words(__file__, "wordings.yaml")
PROTOCOL = resource(__file__, "PROTOCOL.md")
DECODER = resource(__file__, "solution.py")
OTHER = resource(__file__, "alternative.py")
TESTS = resource(__file__, "tests.py")
INITIAL = resource(__file__, "initial.py")

KINDS = ("unsigned", "unsigned", "signed", "signed", "hundredths", "hundredths", "text", "text", "list")
# group -> (name, right, wrong): what gets planted
BUGS = {
    "framing": (
        ("split_magic", "MAGIC[:1] and not final", "MAGIC and not final"),
        (
            "skips_whole_bad_frame",
            "else:\n                    self.skip(len(MAGIC))",
            "else:\n                    self.skip(end)",
        ),
        (
            "drops_the_rest",
            "final:\n                self.skip(len(MAGIC))",
            "final:\n                self.skip(len(self.buffer))",
        ),
        (
            "needs_one_byte_more",
            "(self.buffer) >= end:\n                body",
            "(self.buffer) > end:\n                body",
        ),
        ("one_buffer", "framers = {side: Framer() for side in SIDES}", "framers = dict.fromkeys(SIDES, Framer())"),
    ),
    "messages": (
        ("no_wrap", "sequence != (last + 1) % 256", "sequence != last + 1"),
        ("repeat_is_loss", "            if sequence == last:\n                return None\n", ""),
        (
            "starts_in_the_middle",
            "key not in self.open:\n            return None\n",
            "key not in self.open:\n            self.open[key] = (sequence, bytearray())\n",
        ),
        ("forgets_open", "    assembler.finish()\n", ""),
        ("channel_only", "key = (side, channel)", "key = channel"),
    ),
    "fields": (
        (
            "unsigned_only",
            '"signed":\n        return int.from_bytes(raw, ORDER, signed=True)',
            '"signed":\n        return int.from_bytes(raw, ORDER)',
        ),
        ("last_empty_field", "at + 2 <= len(data)", "at + 2 < len(data)"),
        ("floor_of_negative", "abs(number) // 100, abs(number) % 100", "number // 100, number % 100"),
        (
            "no_long_size",
            "size = int.from_bytes(data[at : at + 2], ORDER)\n            at += 2",
            "size = len(data) - at",
        ),
        ("short_list", "range(0, len(raw), 2)", "range(0, len(raw) - 2, 2)"),
    ),
}


def draft(draw: Draw) -> Draft:
    """One repair."""
    world = draw.setting(SETTINGS)
    first, second = draw.sample(range(0x81, 0xFE), 2)
    names = draw.shuffled(list(zip(KINDS, world.names, strict=True)))
    numbers = draw.sample(range(1, 120), len(names))
    by_name = {name: (number, name, kind) for number, (kind, name) in zip(numbers, names, strict=True)}
    tags = [by_name[name] for name in world.names]
    line = Line(draw, bytes((first, second)), draw.chance(50), world.sides, tags)
    words = {
        "title": world.scenario,
        "magic": line.magic.hex(),
        "order": "little" if line.little else "big",
        "a": world.sides[0],
        "b": world.sides[1],
        "tags": "".join(f'    {number}: ("{name}", "{kind}"),\n' for number, name, kind in sorted(tags)),
        "table": "".join(f"| {number} | {name} | {kind} |\n" for number, name, kind in sorted(tags)),
    }

    def fill(text: str) -> str:
        for key, word in words.items():
            text = text.replace(f"{{{key}}}", word)
        return text

    planted = draw.by_difficulty(medium=2, hard=3, extremely_hard=5)
    chosen = {group: draw.sample(bugs, planted) for group, bugs in BUGS.items()}
    right = fill(DECODER)
    broken = right
    for bugs in chosen.values():
        for _, good, bad in bugs:
            broken = broken.replace(good, bad)
    program = f"{world.folder}/{world.program}"
    misses: list[Miss] = []
    for group, bugs in chosen.items():
        name, good, bad = bugs[0]
        misses.append(
            Miss(
                name, f"one deviation of {group} is left", install(program, right.replace(good, bad)), [f"test_{group}"]
            )
        )

    count = draw.by_difficulty(medium=2, hard=2, extremely_hard=3)
    cases = {
        "framing": [framing_case(line) for _ in range(count)],
        "messages": [messages_case(line) for _ in range(count)],
        "fields": [fields_case(line) for _ in range(count)],
    }
    files = {"PROTOCOL.md": fill(PROTOCOL), f"{world.program}": broken}
    for number in range(2):
        files[f"samples/quiet-{number}.rec"], files[f"samples/quiet-{number}.jsonl"] = sample(line)
    told = {
        "folder": world.folder,
        "program": world.program,
        "thing": world.scenario,
        "firm": draw.pick(FIRMS),
        "city": draw.pick(CITIES),
        "ticket": draw.between(100, 9999),
        "persona": f"{draw.pick(FIRST_NAMES)}, {world.persona}",
    }
    job, call, proof, keep = (draw.pick(WORDS[key]).format(**told) for key in ("jobs", "calls", "proofs", "keeps"))
    goals = ["test_framing", "test_messages", "test_fields"]
    return Draft(
        title=f"Repair the {world.scenario} decoder",
        setting=world,
        instruction=world.text.format(job=job, call=call, proof=proof, keep=keep, **told),
        files=files,
        dockerfile=f"COPY PROTOCOL.md {world.program} {world.folder}/\n"
        f"COPY samples/ {world.folder}/samples/\nWORKDIR {world.folder}",
        truth={
            "program": program,
            "cases": cases,
            "inputs": {
                f"{world.folder}/{name}": hashlib.sha256(text.encode()).hexdigest()
                for name, text in files.items()
                if name != world.program
            },
        },
        discoverable=("program", "cases"),
        tests=TESTS,
        weights={"test_framing": 0.35, "test_messages": 0.35, "test_fields": 0.3},
        guards=["test_samples_unchanged"],
        initial=INITIAL,
        solution=install(program, right),
        alternatives=[install(program, fill(OTHER))],
        misses=misses,
        requirements=[(job, goals), (call, goals), (proof, goals), (keep, ["test_samples_unchanged"])],
        knobs={"bugs": {group: [bug[0] for bug in bugs] for group, bugs in chosen.items()}, "cases": count},
    )


def install(program: str, text: str) -> str:
    """Put a program at its path."""
    return f"cat > {program} <<'END_OF_PROGRAM'\n{text}END_OF_PROGRAM\n"


FAMILY = Family(
    name="protocol_decoder",
    domain="debugging",
    verifier=Verifier.ADVERSARIAL_CORPUS,
    skills=("binary protocols", "stream reassembly", "reading a specification", "python debugging"),
    difficulties=(Difficulty.MEDIUM, Difficulty.HARD, Difficulty.EXTREMELY_HARD),
    capacity=48,
    draft=draft,
    language="python",
)
