"""Compact a log-structured binary store: sequences, tombstones, checksums, torn tails, transactions, expiry."""

from __future__ import annotations

import base64
import hashlib
import json

from generators.families.data_processing._store_compaction import Codec, Segment, World, compacted, draw_store, stored
from generators.family import Content, Draft, Draw, Family, Miss, Voice, load_settings, load_words, resource
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS

SETTINGS = load_settings(__file__, World)
SENTENCES: dict[str, tuple[str, str, str]] = load_words(__file__, "wordings.yaml")
FORMAT, PARTS = resource(__file__, "FORMAT.md"), load_words(__file__, "format_parts.yaml")
TESTS, INITIAL = resource(__file__, "tests.py"), resource(__file__, "initial.py")
PYTHON, PERL = resource(__file__, "solution.py"), resource(__file__, "alternative.pl")


def layout(codec: Codec) -> str:
    """The description of a record."""
    extra = ", transaction (4), expiry (4, seconds since 1970)" if codec.rich else ""
    fields = f"sequence (8 bytes), type (1){extra}, key length (2), value length (4), key, value"
    if codec.crc_first:
        return f"CRC of the rest of the record (4 bytes), then {fields}. The fields follow each other without padding."
    return f"In this order and without padding: {fields}, and at the end the CRC of all of that (4 bytes)."


def laid_out(voice: Voice, lines: list[str]) -> str:
    """Sentences in the manner of a voice."""
    if voice in ("email", "chat"):
        return "\n".join(lines)
    return "\n".join(
        f"{f'{n}.' if voice in ('specification', 'runbook') else '-'} {line}" for n, line in enumerate(lines, 1)
    )


def draft(draw: Draw) -> Draft:
    """One store."""
    place = draw.setting(SETTINGS)
    rich = draw.difficulty is Difficulty.EXTREMELY_HARD
    wording, now = (draw.serial + draw.serial // 3) % 3, 1_700_000_000 + draw.between(0, 9_999_999)
    codec = Codec(draw.pick("<>"), place.magic.encode(), draw.between(1, 9), draw.chance(50), rich)
    segments, size = draw.by_difficulty(hard=(5, 30), extremely_hard=(7, 36))
    main = draw_store(draw, place, rich, segments, size, now)
    files = stored(draw, main, codec)
    out, report = compacted(main, codec, now)
    cases: list[dict[str, object]] = []
    stores = [draw_store(draw, place, rich, draw.between(2, 4), 8, now) for _ in range(3)]
    for store in [*stores, [Segment(9, (), 5, False)], [Segment(4, (), 0)]]:
        case_out, case_report = compacted(store, codec, now)
        coded = {name: base64.b64encode(data).decode() for name, data in stored(draw, store, codec).items()}
        arguments = [str(now)] if rich else []
        cases.append(
            {"files": coded, "now": arguments, "report": case_report, "out": base64.b64encode(case_out).decode()}
        )

    paths = {
        "store": f"{place.folder}/{place.store}",
        "out": f"{place.folder}/{place.out}",
        "json": f"{place.folder}/{place.report}",
    }
    program, told = f"{place.folder}/{place.program}", f"{place.folder}/FORMAT.md"
    at = (f" with {now} as NOW", f"; NOW is {now}", f" (NOW: {now})")[wording] if rich else ""
    call = f"{place.program} STORE OUTPUT{' NOW' if rich else ''}"
    said = {
        name: texts[wording].format(program=program, call=call, now=at, **paths) for name, texts in SENTENCES.items()
    }
    instruction = place.text.format(
        firm=draw.pick(FIRMS),
        persona=place.persona,
        ticket=draw.between(100, 9999),
        store=paths["store"],
        format=told,
        rules=laid_out(place.voice, list(said.values())),
    )
    fill = {
        "MAGIC": place.magic,
        "ENDIAN": "little-endian" if codec.order == "<" else "big-endian",
        "VERSION": str(codec.version),
        "LAYOUT": layout(codec),
        "TYPES": PARTS["types"] if rich else "",
        "RULES": PARTS["rules"] if rich else "",
        "KEPT": " and expiry, transaction 0" if rich else "",
        "E": codec.order,
        "P": codec.order,
        "HEAD": codec.head,
        "FIRST": str(codec.crc_first),
        "FIRSTN": str(int(codec.crc_first)),
        "RICH": str(rich),
        "RICHN": str(int(rich)),
    }

    def filled(source: str, *changes: tuple[str, str]) -> str:
        for old, new in [*changes, *((f"@{name}@", word) for name, word in fill.items())]:
            source = source.replace(old, new)
        return source

    def script(source: str, *changes: tuple[str, str]) -> str:
        text = f"cd {place.folder}\ncat > {place.program} <<'PROGRAM'\n{filled(source, *changes)}PROGRAM\nchmod +x {place.program}\n"
        return text + f"./{place.program} {place.store} {place.out}{f' {now}' if rich else ''} > {place.report}\n"

    goals = ["test_store_compacted", "test_report", "test_program"]
    misses = [
        Miss(
            "order_of_writing",
            "lets the position decide",
            script(PYTHON, ("(seq, number, place)", "(number, place, seq)"), ("rank[0], 1", "rank[2], 1")),
            [goals[0], goals[2]],
        ),
        Miss(
            "stops_at_damage",
            "gives up a segment at a wrong checksum",
            script(PYTHON, ('count["corrupt"] += 1\n            continue', 'count["corrupt"] += 1\n            break')),
            goals,
        ),
        Miss(
            "no_checksums",
            "does not verify records",
            script(PYTHON, ("if zlib.crc32(body) != crc:", "if False:")),
            goals,
        ),
        Miss(
            "deletions_skipped",
            "leaves deletions out before looking for the newest",
            script(
                PYTHON, ("        if kind == 4:", "        if kind == 2:\n            continue\n        if kind == 4:")
            ),
            goals,
        ),
    ]
    if rich:
        misses += [
            Miss(
                "all_committed",
                "takes every transaction",
                script(PYTHON, ("if r[2] not in committed:", "if False:")),
                [goals[0], goals[2]],
            ),
            Miss(
                "expired_skipped",
                "lets older values come back when a put has expired",
                script(PYTHON, ("if r[2] not in committed:", "if r[2] not in committed or (r[3] and r[3] <= now):")),
                goals,
            ),
            Miss(
                "prefix_kills_all",
                "deletes by prefix whatever the sequence",
                script(PYTHON, ("r[0] > rank and key", "key")),
                goals,
            ),
        ]
    context: dict[str, Content] = {f"store/{name}": data for name, data in files.items()}
    return Draft(
        title=f"Compact a binary store: {place.scenario}",
        setting=place,
        instruction=instruction,
        files={**context, "FORMAT.md": filled(FORMAT)},
        dockerfile=f"COPY store {paths['store']}/\nCOPY FORMAT.md {place.folder}/\nWORKDIR {place.folder}",
        truth={
            **paths,
            "program": program,
            "expected": {"size": len(out), "digest": hashlib.sha256(out).hexdigest(), "report": json.dumps(report)},
            "cases": json.dumps(cases),
            "files": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
        },
        discoverable=("store", "out", "json", "program", "files"),
        tests=TESTS,
        weights={"test_store_compacted": 0.35, "test_report": 0.15, "test_program": 0.5},
        guards=["test_store_unchanged"],
        initial=INITIAL,
        solution=script(PYTHON),
        alternatives=[script(PERL)],
        misses=misses,
        requirements=[
            (said["program"], ["test_program"]),
            (said["bytes"], ["test_store_compacted", "test_program"]),
            (said["report"], ["test_report", "test_program"]),
            (said["here"], ["test_store_compacted", "test_report"]),
            (said["keep"], ["test_store_unchanged"]),
        ],
        knobs={
            "segments": segments + 1,
            "records": sum(len(s.records) for s in main),
            "transactions": rich,
            "hidden": len(cases),
        },
    )


FAMILY = Family(
    name="store_compaction",
    domain="data_processing",
    verifier=Verifier.ADVERSARIAL_CORPUS,
    skills=("binary formats", "checksums", "log-structured storage", "crash recovery"),
    difficulties=(Difficulty.HARD, Difficulty.EXTREMELY_HARD),
    capacity=40,
    draft=draft,
)
