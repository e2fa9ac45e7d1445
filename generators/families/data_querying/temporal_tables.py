"""State as of given moments: half-open intervals, open ends, overlaps decided by what was recorded last, withdrawals."""

from __future__ import annotations

import hashlib
import itertools
import json
from dataclasses import dataclass
from datetime import datetime, timedelta

from generators.families.data_querying._temporal_tables import (
    FAR,
    Line,
    draw_lines,
    draw_questions,
    holding,
    periods_of,
)
from generators.family import Draft, Draw, Family, Miss, Setting, Voice, load_settings, load_words, resource
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS

COLUMNS = ("entry", "subject", "value", "start", "end", "recorded")


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling; `columns` are the names of the columns of the history."""

    folder: str
    history: str
    questions: str
    answers: str
    timeline: str
    summary: str
    columns: tuple[str, ...]
    prefix: str
    values: tuple[str, ...]
    text: str


SETTINGS = load_settings(__file__, World)
WORDS = load_words(__file__, "wordings.yaml")
TESTS = resource(__file__, "tests.py")
INITIAL = resource(__file__, "initial.py")
PYTHON = resource(__file__, "solution.sh")
SQL = resource(__file__, "alternative.sh")
EPOCH = datetime(2023, 1, 1)


def utc(minute: int, hard: bool) -> str:
    """A time as the results write it."""
    moment = EPOCH + timedelta(minutes=minute)
    return moment.isoformat() + "Z" if hard else moment.isoformat()[:10]


def local(draw: Draw, minute: int | None, hard: bool) -> str:
    """A time as the inputs write it, with any offset at the hard level."""
    if minute is None:
        return ""
    if not hard:
        return utc(minute, False)
    offset = draw.pick((0, 60, 120, -300, 330))
    moment = EPOCH + timedelta(minutes=minute + offset)
    return moment.isoformat() + f"{'-' if offset < 0 else '+'}{abs(offset) // 60:02d}:{abs(offset) % 60:02d}"


def laid_out(voice: Voice, lines: list[str]) -> str:
    """Sentences in the manner of a voice."""
    if voice in ("email", "chat"):
        return " ".join(lines[:2]) + "\n\n" + "\n".join(lines[2:])
    return "\n".join(
        f"{f'{n}.' if voice in ('specification', 'runbook') else '-'} {line}" for n, line in enumerate(lines, 1)
    )


def draft(draw: Draw) -> Draft:
    """One history and its questions."""
    place = draw.setting(SETTINGS)
    hard = draw.difficulty is Difficulty.HARD
    wording, step = (draw.serial + draw.serial // 3) % 3, 90 if hard else 1440
    subjects, per_subject = draw.by_difficulty(medium=(12, 5), hard=(14, 6))
    lines = draw_lines(draw, place.prefix, place.values, subjects, per_subject, step)
    by_subject: dict[str, list[Line]] = {}
    for line in lines:
        by_subject.setdefault(line.subject, []).append(line)
    words = dict(zip(COLUMNS, place.columns, strict=True))
    history = ",".join(place.columns) + "\n"
    for line in lines:
        times = (local(draw, line.start, hard), local(draw, line.end, hard), local(draw, line.recorded, hard))
        history += f"{line.entry},{line.subject},{line.value},{','.join(times)}\n"
    questions = f"question,{words['subject']},moment{',known' if hard else ''}\n"
    answers = [["question", words["value"]]]
    for number, (subject, moment, known) in enumerate(draw_questions(draw, by_subject, step, hard), 1):
        questions += (
            f"Q{number},{subject},{local(draw, moment, hard)}{',' + local(draw, known, hard) if hard else ''}\n"
        )
        answers.append([f"Q{number}", holding(by_subject[subject], moment, known if hard else FAR) or "-"])
    timeline = [[words["subject"], words["start"], words["end"], words["value"]]]
    gaps = opened = 0
    for subject in sorted(by_subject):
        periods = periods_of(by_subject[subject])
        timeline += [[subject, utc(a, hard), "" if b == FAR else utc(b, hard), value] for a, b, value in periods]
        gaps += sum(1 for left, right in itertools.pairwise(periods) if left[1] < right[0])
        opened += sum(1 for period in periods if period[1] == FAR)
    files = {name: f"{place.folder}/{getattr(place, name)}" for name in ("answers", "timeline", "summary")}
    inputs = {f"{place.folder}/{place.history}": history, f"{place.folder}/{place.questions}": questions}
    said = {
        name: texts[wording].format(
            **{**words, **files},
            questions=f"{place.folder}/{place.questions}",
            known=WORDS["known"][wording] if hard else "",
            all=WORDS["all"][wording] if hard else "",
        )
        for name, texts in WORDS["sentences"].items()
        if hard or name not in ("zones", "withdraw")
    }
    instruction = place.text.format(
        firm=draw.pick(FIRMS),
        persona=place.persona,
        ticket=draw.between(100, 9999),
        history=f"{place.folder}/{place.history}",
        questions=f"{place.folder}/{place.questions}",
        rules=laid_out(place.voice, list(said.values())),
    )

    def script(source: str, *changes: tuple[str, str]) -> str:
        clock = "strftime('%Y-%m-%dT%H:%M:%SZ', {})" if hard else "{}"
        stamps = {f"{name}_at": clock.format(f'"{words[name]}"') for name in ("start", "end", "recorded")}
        stamps |= {"moment_at": clock.format("q.moment"), "known_at": clock.format("q.known") if hard else "q.known"}
        local_names = {
            name: getattr(place, name) for name in ("folder", "history", "questions", "answers", "timeline", "summary")
        }
        fill = {**stamps, **words, **local_names, "HARD": str(hard), "MEDIUM": "-- " if hard else ""}
        for old, new in [*changes, *((f"@{name}@", word) for name, word in fill.items())]:
            source = source.replace(old, new)
        return source

    goals = ["test_answers", "test_timeline", "test_summary"]
    misses = [
        Miss(
            "closed_end",
            "counts the end as part of the period",
            script(PYTHON, ("a <= m < b", "a <= m <= b")),
            goals[:1],
        ),
        Miss("file_order", "lets the later row of the file win", script(PYTHON, ("lines.sort()", "pass")), goals[:2]),
        Miss(
            "tail_lost",
            "drops what a beaten line had left after the overlap",
            script(PYTHON, ("if d > b:", "if d > b and c >= b:")),
            goals,
        ),
        Miss(
            "not_joined",
            "leaves touching periods apart",
            script(PYTHON, ("joined[-1][1] == a and", "False and")),
            goals[1:],
        ),
    ]
    if hard:
        misses.append(
            Miss("offsets_cut", "cuts the offsets off", script(PYTHON, ("astimezone(timezone.utc).", "")), goals[:2])
        )
        ever = ("gone.get(n, LAST) <= known", "n in gone")
        misses.append(
            Miss("always_withdrawn", "ignores when a withdrawal was recorded", script(PYTHON, ever), goals[:1])
        )
    return Draft(
        title=f"As-of questions: {place.scenario}",
        setting=place,
        instruction=instruction,
        files={place.history: history, place.questions: questions},
        dockerfile=f"COPY {place.history} {place.questions} {place.folder}/\nWORKDIR {place.folder}",
        truth={
            "files": files,
            "answers": json.dumps(answers),
            "timeline": json.dumps(timeline),
            "summary": {"periods": len(timeline) - 1, "gaps": gaps, "open": opened},
            "inputs": {path: hashlib.sha256(text.encode()).hexdigest() for path, text in inputs.items()},
        },
        discoverable=("files", "inputs"),
        tests=TESTS,
        weights={"test_answers": 0.5, "test_timeline": 0.35, "test_summary": 0.15},
        guards=["test_inputs_unchanged"],
        initial=INITIAL,
        solution=script(PYTHON),
        alternatives=[script(SQL)],
        misses=misses,
        requirements=[
            (text, ["test_inputs_unchanged"] if name == "keep" else [f"test_{name}"] if name in files else goals)
            for name, text in said.items()
        ],
        knobs={"lines": len(lines), "questions": len(answers) - 1, "bitemporal": hard, "wording": wording},
    )


FAMILY = Family(
    name="temporal_tables",
    domain="data_querying",
    verifier=Verifier.EXACT_TEXT,
    skills=("temporal data", "interval arithmetic", "sql", "time zones"),
    difficulties=(Difficulty.MEDIUM, Difficulty.HARD),
    capacity=40,
    draft=draft,
)
