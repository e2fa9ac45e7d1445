"""Several log formats into one hourly report: time zones, joins by request, broken lines counted by reason."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime

from generators.families.data_processing._log_pipeline import World, Writer, draw_logs, evaluate
from generators.family import Draft, Draw, Family, Miss, Voice, load_settings, load_words, resource
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS, HOST_WORDS

SETTINGS = load_settings(__file__, World)
SENTENCES: dict[str, tuple[str, str, str]] = load_words(__file__, "wordings.yaml")
FORMATS = resource(__file__, "FORMATS.md").split("\n## ")  # the reasons, then a section for each kind of log
TESTS, INITIAL = resource(__file__, "tests.py"), resource(__file__, "initial.py")
PYTHON, PERL = resource(__file__, "solution.sh"), resource(__file__, "alternative.sh")


def laid_out(voice: Voice, lines: list[str]) -> str:
    """Sentences in the manner of a voice."""
    if voice in ("email", "chat"):
        return lines[0] + " " + lines[1] + "\n\n" + "\n".join(lines[2:])
    return "\n".join(
        f"{f'{n}.' if voice in ('specification', 'runbook') else '-'} {line}" for n, line in enumerate(lines, 1)
    )


def draft(draw: Draw) -> Draft:
    """One pipeline."""
    place = draw.setting(SETTINGS)
    count = draw.by_difficulty(easy=2, medium=3, hard=4, extremely_hard=5)
    extreme = count == 5
    sizes = draw.by_difficulty(easy=(30, 8), medium=(50, 12), hard=(60, 20), extremely_hard=(80, 30))
    wording, window = (draw.serial + draw.serial // 3) % 3, draw.pick((90, 120, 240, 300))
    epoch = datetime(draw.pick((2022, 2023)), draw.between(3, 11), draw.between(1, 27))
    offsets = draw.shuffled((-480, -300, 60, 120, 330))
    fast = [draw.between(20, 400) * (-1 if draw.chance(40) else 1) for _ in offsets]
    names = [f"{word}-{draw.between(1, 9)}" for word in draw.sample(HOST_WORDS, 5)]
    hosts = {
        name: minutes * 60 + (late if extreme else 0) for name, minutes, late in zip(names, offsets, fast, strict=True)
    }
    logs = draw_logs(draw, place, count, Writer(draw, place, epoch, hosts), sizes, window)
    header = ["hour", "requests", "users", "slowest_ms", "errors", place.unit, "attempts"][
        : {2: 5, 3: 6, 4: 6, 5: 7}[count]
    ]
    rows, losses = evaluate(logs, epoch, window, header)
    kinds = list(place.kinds[:count])

    folder = f"{place.folder}/raw"
    files: dict[str, str] = {}
    for kind, log in zip(kinds, logs, strict=True):
        lines = [text for _, text in log.lines]
        cut = len(lines) // 3 if count > 2 else 0
        if cut:
            files[f"raw/{kind}.log.1"] = "\n".join(lines[:cut]) + "\n\n"
        files[f"raw/{kind}.log"] = "\n".join(lines[cut:]) + "\n"
    if count > 3:
        listed = (
            f"{name},{minutes}{f',{late}' if extreme else ''}\n"
            for name, minutes, late in zip(names, offsets, fast, strict=True)
        )
        files["raw/hosts.csv"] = f"host,offset{',fast_by' if extreme else ''}\n" + "".join(listed)
    fill = {
        **{f"K{number}": kind for number, kind in enumerate(place.kinds)},
        "PREFIX": place.prefix,
        "KEY": place.key,
        "UNIT": place.unit,
        "YEAR": str(epoch.year),
        "WINDOW": str(window),
        "UNKNOWN": " (or, in one of the logs, its host is unknown)" if count > 3 else "",
        "FAST": ", and fast_by, the seconds by which its clock is ahead (negative: behind)" if extreme else "",
        "LOGS": folder,
        "KINDS_JSON": json.dumps(kinds),
        "KINDS": repr(kinds),
        "COUNT": str(count),
        "REPORT": f"{place.folder}/{place.report}",
        "SUMMARY": f"{place.folder}/{place.summary}",
    }

    def script(source: str, *changes: tuple[str, str]) -> str:
        for old, new in [*changes, *((f"@{name}@", word) for name, word in fill.items())]:
            source = source.replace(old, new)
        return source

    formats = script("\n## ".join(FORMATS[: count + 1]))
    said = sentences(place, count, wording, window, ",".join(header))
    instruction = place.text.format(
        firm=draw.pick(FIRMS),
        persona=place.persona,
        ticket=draw.between(100, 9999),
        logs=folder,
        formats=f"{place.folder}/FORMATS.md",
        rules=laid_out(place.voice, list(said.values())),
    )
    goals = ["test_hours", "test_summary"]
    misses = [
        Miss(
            "local_hours",
            "takes the local hour of the first log",
            script(PYTHON, ("    t -= (int(m[8])", "    t -= 0 * (int(m[8])")),
            ["test_hours"],
        ),
        Miss(
            "numbers_unchecked",
            "does not check numbers",
            script(
                PYTHON,
                ('need(all(re.fullmatch(r"\\d+", n) for n in numbers), "number")', "pass"),
                ("int(m[10])", "int('0' + re.sub(r'\\D', '', m[10]))"),
            ),
            ["test_summary"],
        ),
        Miss(
            "broken_as_one",
            "counts every broken line as format",
            script(PYTHON, ("counts[str(reason)]", "counts['format']")),
            ["test_summary"],
        ),
        Miss(
            "first_app_line",
            "keeps the first line of an id that it meets",
            script(
                PYTHON,
                ("else t > found[key][0]", "else False"),
                ('r["time"], r["@KEY@"], r["user"], r["ms"]', 'r["time"], r["@KEY@"], r["user"], 1'),
            ),
            ["test_hours"],
        ),
    ]
    if count > 3:
        misses.append(
            Miss(
                "worker_clock",
                "takes the times of the hosts for UTC",
                script(PYTHON, ("- hosts[m[6]]", "")),
                ["test_hours"],
            )
        )
    return Draft(
        title=f"Hourly report from raw logs: {place.scenario}",
        setting=place,
        instruction=instruction,
        files={**files, "FORMATS.md": formats},
        dockerfile=f"COPY raw {folder}/\nCOPY FORMATS.md {place.folder}/\nWORKDIR {place.folder}",
        truth={
            "report": fill["REPORT"],
            "summary": fill["SUMMARY"],
            "hours": json.dumps(rows),
            "losses": json.dumps(
                {"broken": {kind: log.broken for kind, log in zip(kinds, logs, strict=True)}, **losses}
            ),
            "logs": {
                f"{place.folder}/{name}": hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()
            },
        },
        discoverable=("report", "summary", "logs"),
        tests=TESTS,
        weights={"test_hours": 0.65, "test_summary": 0.35},
        guards=["test_logs_unchanged"],
        initial=INITIAL,
        solution=script(PYTHON),
        alternatives=[script(PERL)],
        misses=misses,
        requirements=[
            (
                text,
                {"keep": ["test_logs_unchanged"], "summary": goals[1:], "broken": goals, "merge": goals}.get(
                    name, goals[:1]
                ),
            )
            for name, text in said.items()
        ],
        knobs={
            "formats": count,
            "requests": sizes[0],
            "hours": len(rows) - 1,
            "lines": sum(len(log.lines) for log in logs),
        },
    )


def sentences(place: World, count: int, wording: int, window: int, columns: str) -> dict[str, str]:
    """The rules for this many logs in one wording."""
    first, second, third, fourth, fifth = place.kinds
    skipped = {"failed", *(name for name, least in (("money", 3), ("retries", 5)) if count < least)}
    failed = SENTENCES["failed"][wording].format(fourth=fourth, window=window) if count > 3 else ""
    words = {"first": first, "second": second, "third": third, "fifth": fifth, "failed": failed, "unit": place.unit}
    words |= {"columns": columns, "kinds": ", ".join(place.kinds[:count]), "formats": "FORMATS.md"}
    words |= {"report": f"{place.folder}/{place.report}", "summary": f"{place.folder}/{place.summary}"}
    return {name: texts[wording].format(**words) for name, texts in SENTENCES.items() if name not in skipped}


FAMILY = Family(
    name="log_pipeline",
    domain="data_processing",
    verifier=Verifier.EXACT_TEXT,
    skills=("log parsing", "time zones", "joins", "aggregation"),
    difficulties=(Difficulty.EASY, Difficulty.MEDIUM, Difficulty.HARD, Difficulty.EXTREMELY_HARD),
    capacity=60,
    draft=draft,
)
