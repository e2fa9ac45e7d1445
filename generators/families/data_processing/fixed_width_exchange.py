"""A converter from fixed-width exchange files to JSON: overpunched signs, filler, control totals, rejections."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from generators.families.data_processing._fixed_width_exchange import (
    NAMES,
    Format,
    World,
    broken_files,
    draw_exchange,
    draw_format,
)
from generators.family import Content, Draft, Draw, Family, Miss, Voice, load_settings, load_words, resource
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS

SETTINGS = load_settings(__file__, World)
SENTENCES: dict[str, tuple[str, str, str]] = load_words(__file__, "wordings.yaml")
LAYOUT, PARTS = resource(__file__, "LAYOUT.md"), load_words(__file__, "layout_parts.yaml")
TESTS, INITIAL = resource(__file__, "tests.py"), resource(__file__, "initial.py")
PYTHON, PERL = resource(__file__, "solution.py"), resource(__file__, "alternative.pl")


def laid_out(voice: Voice, lines: list[str]) -> str:
    """Sentences in the manner of a voice."""
    if voice in ("email", "chat"):
        return "\n".join(lines)
    return "\n".join(
        f"{f'{n}.' if voice in ('specification', 'runbook') else '-'} {line}" for n, line in enumerate(lines, 1)
    )


def description(form: Format) -> str:
    """LAYOUT.md."""
    words = dict(zip(NAMES, form.place.words, strict=True)) | dict(zip("HGDXET", form.place.codes, strict=True))
    rows = [
        f"{code}  {first:>2}-{last:<2}  {kind:<6}  {words.get(name, name)}"
        for code, fields in form.spec.items()
        for name, first, last, kind in fields
    ]
    text = LAYOUT.replace("@TABLE@", "\n" + "\n".join(f"    {row}" for row in rows) + "\n")
    parts: dict[str, str] = PARTS["hard" if form.hard else "medium"]
    for name, word in {**parts, **words, "PARTNER": form.place.partner, "WIDTH": str(form.width)}.items():
        text = text.replace(f"@{name}@", word)
    return text


def draft(draw: Draw) -> Draft:
    """One converter."""
    place = draw.setting(SETTINGS)
    hard = draw.difficulty is Difficulty.HARD
    wording = (draw.serial + draw.serial // 3) % 3
    form = draw_format(draw, place, hard)
    numbers = sorted(draw.sample(range(3, 60), 4))
    status: dict[str, int] = dict(zip(("form", "sequence", "field", "total"), numbers, strict=True))
    cases: list[Mapping[str, object]] = []
    for number in range(8):
        exchange = draw_exchange(draw, hard, number)
        text = ("\r\n" if number == 2 else "\n").join(form.lines(exchange)) + ("" if number in (1, 4) else "\n")
        cases.append({"status": 0, "file": text, "json": form.result(exchange)})
    cases += [{"status": status[name], "file": text} for name, text in broken_files(draw, form)]
    samples = {
        f"samples/{name}.txt": "\n".join(form.lines(draw_exchange(draw, hard, number))) + "\n"
        for name, number in (("first", 6), ("second", 7))
    }
    files: dict[str, Content] = {"LAYOUT.md": description(form), **samples}

    program = f"{place.folder}/{place.program}"
    said = {name: texts[wording].format(program=program, **status) for name, texts in SENTENCES.items()}
    instruction = place.text.format(
        firm=draw.pick(FIRMS),
        persona=place.persona,
        ticket=draw.between(100, 9999),
        layout=f"{place.folder}/LAYOUT.md",
        samples=f"{place.folder}/samples",
        rules=laid_out(place.voice, list(said.values())),
    )
    spec = {
        "codes": place.codes,
        "words": dict(zip(NAMES, place.words, strict=True)),
        "hard": hard,
        "width": form.width,
        "records": form.spec,
        "status": status,
    }

    def script(source: str, *changes: tuple[str, str]) -> str:
        for old, new in [*changes, ("@SPEC@", json.dumps(spec))]:
            source = source.replace(old, new)
        return f"cd {place.folder}\ncat > {place.program} <<'PROGRAM'\n{source}PROGRAM\nchmod +x {place.program}\n"

    both = ["test_accepted", "test_rejected"]
    misses = [
        Miss(
            "negative_zero",
            "does not know overpunched negatives",
            script(PYTHON, ('enumerate("}JKLMNOPQR")', 'enumerate("}")')),
            both[:1],
        ),
        Miss(
            "no_filler_check",
            "does not look at the filler",
            script(PYTHON, ('if "".join(rest).strip(" "):', "if False:")),
            both[1:],
        ),
        Miss(
            "check_not_cut", "keeps all digits of the check sum", script(PYTHON, ("check % 10000", "check")), both[:1]
        ),
        Miss(
            "line_by_line",
            "does not check the form of the whole file first",
            script(PYTHON, ('reject("form")', 'reject("form" if not lines else "sequence")')),
            both[1:],
        ),
        Miss("totals_ignored", "trusts the control totals", script(PYTHON, ("if bad or", "if False and")), both[1:]),
    ]
    if hard:
        misses.append(
            Miss(
                "pieces_stripped",
                "cuts the blanks of every piece of text",
                script(PYTHON, ("value = raw\n", 'value = raw.rstrip(" ")\n')),
                both[:1],
            )
        )
    return Draft(
        title=f"Convert exchange files: {place.scenario}",
        setting=place,
        instruction=instruction,
        files=files,
        dockerfile=f"COPY LAYOUT.md {place.folder}/\nCOPY samples {place.folder}/samples/\nWORKDIR {place.folder}",
        truth={
            "program": program,
            "cases": json.dumps(cases),
            "given": {f"{place.folder}/{name}": digest(text) for name, text in files.items()},
        },
        discoverable=("program", "given"),
        tests=TESTS,
        weights={"test_accepted": 0.5, "test_rejected": 0.5},
        guards=["test_samples_unchanged"],
        initial=INITIAL,
        solution=script(PYTHON),
        alternatives=[script(PERL)],
        misses=misses,
        requirements=[
            (said["program"], both[:1]),
            (said["reject"], both[1:]),
            (said["exit"], both),
            (said["keep"], ["test_samples_unchanged"]),
        ],
        knobs={"width": form.width, "groups": hard, "accepted": 8, "rejected": len(cases) - 8, "wording": wording},
    )


def digest(text: Content) -> str:
    """Hex sha256."""
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()


FAMILY = Family(
    name="fixed_width_exchange",
    domain="data_processing",
    verifier=Verifier.ADVERSARIAL_CORPUS,
    skills=("fixed-width records", "data validation", "control totals", "exit codes"),
    difficulties=(Difficulty.MEDIUM, Difficulty.HARD),
    capacity=40,
    draft=draft,
)
