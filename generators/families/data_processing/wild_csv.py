"""Many CSV files of the wild into one clean file: encodings, quoting, ragged rows, number and date styles, duplicates."""

from __future__ import annotations

import hashlib

from generators.families.data_processing._wild_csv import World, draw_sources, merge, rendered
from generators.family import Content, Draft, Draw, Family, Miss, Voice, load_settings, load_words, resource
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS

SETTINGS = load_settings(__file__, World)
WORDINGS: dict[str, tuple[str, str, str]] = load_words(__file__, "wordings.yaml")
TESTS, REJECTS_TEST = resource(__file__, "tests.py"), resource(__file__, "test_rejects.py")
INITIAL = resource(__file__, "initial.py")
PYTHON, PERL = resource(__file__, "solution.sh"), resource(__file__, "alternative.sh")


def sentences(place: World, difficulty: Difficulty, wording: int) -> dict[str, str]:
    """The rules of this difficulty in one wording."""
    easy, hard = difficulty is Difficulty.EASY, difficulty is Difficulty.HARD
    skipped = (
        {"encoding", "ragged", "reject", "rejects", "repeat"} if easy else {"utf8"} if hard else {"utf8", "repeat"}
    )
    key, _, day, amount, _ = place.columns
    signs = (
        "a minus in front or behind, or parentheses around it, make it negative"
        if hard
        else (
            "a minus sign in front is possible",
            "negative numbers start with a minus",
            "there are negative ones, with a minus before them",
        )[wording]
    )
    dates = {
        Difficulty.EASY: "YYYY-MM-DD",
        Difficulty.MEDIUM: "YYYY-MM-DD or DD.MM.YYYY",
        Difficulty.HARD: "YYYY-MM-DD, DD.MM.YYYY or MM/DD/YYYY",
    }[difficulty]
    words = {
        "columns": ", ".join(place.columns),
        "key": key,
        "date": day,
        "amount": amount,
        "signs": signs,
        "dates": dates,
        "accepted": "" if easy else "accepted ",
        "rejected": "" if easy else ("rejected, ", "rejected, ", "rows rejected (rejected), ")[wording],
        "counted": "" if easy else "rejected, ",
        "clean": f"{place.folder}/{place.clean}",
        "rejects": f"{place.folder}/{place.rejects}",
        "summary": f"{place.folder}/{place.summary}",
    }
    return {name: texts[wording].format(**words) for name, texts in WORDINGS.items() if name not in skipped}


def laid_out(voice: Voice, lines: list[str]) -> str:
    """Sentences in the manner of a voice."""
    match voice:
        case "specification":
            return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))
        case "runbook":
            return "\n".join(f"[{number}] {line}" for number, line in enumerate(lines, 1))
        case "ticket":
            return "\n".join(f"* {line}" for line in lines)
        case "note":
            return "\n".join(f"- {line}" for line in lines)
        case "chat":
            return "\n".join(lines)
        case _:
            half = len(lines) // 2
            return " ".join(lines[:half]) + "\n\n" + " ".join(lines[half:])


def draft(draw: Draw) -> Draft:
    """One merge."""
    place = draw.setting(SETTINGS)
    wording = (draw.serial + draw.serial // 3) % 3
    rows = draw.by_difficulty(easy=10, medium=16, hard=24)
    sources = draw_sources(draw, place, rows)
    clean, rejects, summary = merge(sources, place)
    rejecting = draw.difficulty is not Difficulty.EASY
    if not rejecting:
        del summary["rejected"]
    inbox = f"{place.folder}/{place.inbox}"
    files: dict[str, Content] = {f"in/{source.name}": rendered(source, draw) for source in sources}
    digests = {
        f"{inbox}/{name[3:]}": hashlib.sha256(data).hexdigest()
        for name, data in files.items()
        if isinstance(data, bytes)
    }
    said = sentences(place, draw.difficulty, wording)
    lead = place.lead.format(firm=draw.pick(FIRMS), inbox=inbox, ticket=draw.between(1000, 9999), persona=place.persona)
    tail = place.tail.format(persona=place.persona, firm=draw.pick(FIRMS))
    fill = {
        "@COLUMNS@": repr(list(place.columns)),
        "@SPACED@": " ".join(place.columns),
        "@INBOX@": inbox,
        "@CLEAN@": f"{place.folder}/{place.clean}",
        "@REJECTS@": f"{place.folder}/{place.rejects}",
        "@SUMMARY@": f"{place.folder}/{place.summary}",
    }

    def script(source: str, *changes: tuple[str, str]) -> str:
        for old, new in [*changes, *fill.items()]:
            source = source.replace(old, new)
        return source.replace("@REJECTING@", ("1" if rejecting else "0"))

    goals = (
        {"test_clean": 0.6, "test_summary": 0.2, "test_rejects": 0.2}
        if rejecting
        else {"test_clean": 0.7, "test_summary": 0.3}
    )
    misses = [
        Miss(
            "first_seen_wins",
            "keeps the first row of a key",
            script(PYTHON, ("old is None or d >= old[DAY]", "old is None")),
            ["test_clean"],
        ),
        Miss(
            "keys_as_written",
            "compares keys without regard to their case rule",
            script(PYTHON, ("rec[KEY].upper()", "rec[KEY]")),
            ["test_clean", "test_summary"],
        ),
        Miss(
            "one_decimal_style",
            "takes the comma for a thousands separator everywhere",
            script(PYTHON, ('if sep == ";":', "if False:")),
            ["test_clean", "test_summary"],
        ),
    ]
    if rejecting:
        misses += [
            Miss(
                "latin_1", "decodes the old files as Latin-1", script(PYTHON, ('"cp1252"', '"latin-1"')), ["test_clean"]
            ),
            Miss(
                "surplus_cut",
                "cuts surplus fields whatever they hold",
                script(PYTHON, ("if any(row[len(head):]):", "if False:")),
                ["test_rejects", "test_summary"],
            ),
        ]
    return Draft(
        title=f"Merge wild CSV files: {place.scenario}",
        setting=place,
        instruction=f"{lead}\n\n{laid_out(place.voice, list(said.values()))}\n\n{tail}",
        files=files,
        dockerfile=f"COPY in {inbox}/\nWORKDIR {place.folder}",
        truth={
            "clean_file": fill["@CLEAN@"],
            "rejects_file": fill["@REJECTS@"],
            "summary_file": fill["@SUMMARY@"],
            "clean": [list(place.columns), *clean],
            "rejects": [["file", "row", "reason"], *rejects] if rejecting else [],
            "summary": summary,
            "sources": digests,
        },
        discoverable=("clean", "rejects", "sources", "clean_file", "rejects_file", "summary_file", "summary"),
        tests=f"{TESTS}\n\n{REJECTS_TEST}" if rejecting else TESTS,
        weights=goals,
        guards=["test_sources_untouched"],
        initial=INITIAL,
        solution=script(PYTHON),
        alternatives=[script(PERL)],
        misses=misses,
        requirements=[
            (
                text,
                ["test_sources_untouched"]
                if name == "keep"
                else [f"test_{name}"]
                if f"test_{name}" in goals
                else list(goals),
            )
            for name, text in said.items()
        ],
        knobs={"files": len(sources), "rows": summary["rows"], "wording": wording, "superseded": summary["superseded"]},
    )


FAMILY = Family(
    name="wild_csv",
    domain="data_processing",
    verifier=Verifier.EXACT_TEXT,
    skills=("csv parsing", "text encodings", "number and date formats", "deduplication"),
    difficulties=(Difficulty.EASY, Difficulty.MEDIUM, Difficulty.HARD),
    capacity=48,
    draft=draft,
)
