"""Numbers and codes of a truth are found however people write them down, and data that look like them are not reported."""

from __future__ import annotations

import base64
import io
import json
import tarfile
import zipfile
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from containers.engines.bubblewrap.engine import BubblewrapEngine
from containers.proof import leak
from containers.proof.values import significant
from generators.task import ContextFile, Image, Requirement, Task
from tests.toys import KEEP, SUM, dockerfile, toy

PAY: dict[str, Any] = {"pay": {"Brigid": 184260, "Aoife": 99120}}
CODE: dict[str, Any] = {"code": "K7-QX2"}
MEAN: dict[str, Any] = {"mean": 9.738551}
SMALL: dict[str, Any] = {"report": {"kept": 317, "mean": 12.5, "rows": 4210, "days": 7}}
APART: dict[str, Any] = {"kept": 317, "mean": 12.5, "rows": 4210}

LEAKS: dict[str, tuple[dict[str, Any], str]] = {
    "prose": (PAY, "# Payroll\n\nBrigid 184260; Aoife 99120\n"),
    "one of two": (PAY, "If in doubt: Aoife gets 99120.\n"),
    "a script's comment": (PAY, "#!/bin/sh\n# should print 184260\nawk -f sum.awk pay.csv\n"),
    "a string with a line's end": (PAY, 'print("total\\n184260")\n'),
    "commas": (PAY, "Brigid: 184,260\n"),
    "underscores": (PAY, "EXPECTED = 184_260\n"),
    "spaces": (PAY, "Brigid 184 260 EUR\n"),
    "points": (PAY, "Brigid 184.260 EUR\n"),
    "cents": (PAY, "Brigid is owed $1,842.60.\n"),
    "a unit": (PAY, "took 184260ms\n"),
    "decimals": (PAY, "184260.00\n"),
    "powers of ten": (PAY, "1.8426e5\n"),
    "a name": (PAY, "see /srv/out_184260.txt\n"),
    "yaml": (PAY, "pay:\n  Brigid: 184260\n"),
    "base64": (PAY, base64.b64encode(b"184260\n").decode()),
    "hex": (CODE, b"K7-QX2".hex()),
    "text that is a number": ({"total": "184260"}, "184,260"),
    "number in a short text": ({"line": "total=184260"}, "the total is 184260"),
    "negative number": ({"gap": -209942}, "gap: 209942 below"),
    "float": (MEAN, "mean=9.738551"),
    "rounded float": (MEAN, "it comes to about 9.7386"),
    "decimal comma": (MEAN, "Mittel: 9,738551"),
    "code": (CODE, "NOTES\nlocker: K7-QX2, ask Sean\n"),
    "code in an assignment": (CODE, "KEY=K7-QX2\n"),
    "mixed case": ({"word": "tirNaNog"}, "try tirNaNog first"),
    "small ones together": (SMALL, "We kept 317 of 4210 rows, so the mean is 12.5."),
    "small ones in another order": (SMALL, "rows 4,210\nmean 12.50\nkept 317\n"),
    "most of the small ones": (SMALL, "mean 12.5, rows 4210"),
    "small ones of several keys": (APART, "kept: 317, mean: 12.5, rows: 4210"),
    "table of the answer": (
        {"rows": [[str(n), n * 37 % 1000 + 100] for n in range(60)]},
        "".join(f"{n},{n * 37 % 1000 + 100}\n" for n in range(60)),
    ),
}

HARMLESS: dict[str, tuple[dict[str, Any], str]] = {
    "longer numbers": (PAY, "1842601 2184260 991205\n"),
    "part of a digest": (PAY, "e3b0184260c442 184260c44298fc1c 99120abcdef"),
    "address": ({"line": "105.177"}, "198.51.105.177 10.9.105.177"),
    "round number": ({"limit": 100000}, "at most 100000 or 100,000 rows"),
    "short number": ({"count": 317}, "317"),
    "same name": (PAY, "Brigid and Aoife work here."),
    "part of a code": (CODE, "K7-QX21 xK7-QX2 K7 QX2"),
    "plain word": ({"culprit": "amber"}, "amber"),
    "years": ({"span": {"from": 2019, "to": 2021}}, "from 2019 to 2021"),
    "small ones far apart": (
        SMALL,
        "317 houses" + " and so on" * 40 + " 4210 doors" + " and so on" * 40 + " 12.5 roofs",
    ),
    "small ones among others": (SMALL, "317 840 266 951 12.5 447 385 4210 602 118"),
    "rows like the answer's": (
        {"rows": [[n, n * 37 % 1000 + 100] for n in range(60)]},
        "".join(f"{n},{n * 91 % 1000 + 100}\n" for n in range(60)),
    ),
    "switches and nothing": ({"flags": [True, None, "", [], {}]}, "true null 1 0"),
}


def found(truth: dict[str, Any], text: str | bytes, **changes: Any) -> leak.Leak | None:
    """What the gate says of a task with this truth and a file with this text."""
    content = text if isinstance(text, bytes) else text.encode()
    task = toy(truth=truth, **changes)
    return leak.search(leak.needles(task), [*leak.texts(task), *leak.opened("README", content)])


@pytest.mark.parametrize("kind", LEAKS)
def test_a_value_is_found_as_people_write_it(kind: str) -> None:
    truth, text = LEAKS[kind]
    leaked = found(truth, text)
    assert leaked is not None
    assert leaked.place == "README"
    assert leaked.needle.startswith("truth")


@pytest.mark.parametrize("kind", HARMLESS)
def test_what_only_looks_like_a_value_is_not_reported(kind: str) -> None:
    assert found(*HARMLESS[kind]) is None


@pytest.mark.parametrize("truth", [PAY, CODE, SMALL], ids=["number", "code", "group"])
def test_what_is_declared_discoverable_is_not_looked_for(truth: dict[str, Any]) -> None:
    text = "Brigid 184260; K7-QX2; kept 317 mean 12.5 rows 4210"
    assert found(truth, text) is not None
    assert found(truth, text, discoverable=tuple(truth)) is None


def test_what_a_requirement_states_is_no_secret() -> None:
    listen = "Listen on port 26465."
    stated: dict[str, Any] = {
        "instruction": f"{SUM} {KEEP} {listen}\n",
        "requirements": (
            Requirement(sentence=SUM, tests=("test_sum",)),
            Requirement(sentence=KEEP, tests=("test_kept",)),
            Requirement(sentence=listen, tests=("test_kept",)),
        ),
        "alternatives": ("serve --port 26465",),
    }
    assert found({"port": 26465}, "port = 26465\n", **stated) is None
    assert found({"port": 26465}, "port = 26465\n") is not None
    assert found({"port": 26465}, "", **(stated | {"alternatives": ("serve",)})) is not None  # nothing works with it


def test_a_leak_in_the_instruction_is_found() -> None:
    leaked = found(PAY, "", instruction=f"{SUM} {KEEP}\nHint: Brigid gets 184,260.\n")
    assert leaked == leak.Leak("truth.pay", "instruction")


def test_a_leak_in_the_dockerfile_is_found() -> None:
    leaked = found(CODE, "", image=Image(dockerfile=dockerfile("# the code is K7-QX2\nCOPY numbers.txt /srv/\n")))
    assert leaked == leak.Leak("truth.code", "Dockerfile")


def test_a_leak_in_an_archive_is_found() -> None:
    packed, zipped = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("notes.txt", "Brigid 184260\n")
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        member = tarfile.TarInfo("old.zip")
        member.size = len(zipped.getvalue())
        tar.addfile(member, io.BytesIO(zipped.getvalue()))
    leaked = found(PAY, packed.getvalue())
    assert leaked is not None
    assert leaked.place.endswith("old.zip!notes.txt")


GIT = "git -c user.name=a -c user.email=a@b"
LAYERS = {
    "git object": f"WORKDIR /srv/repo\nRUN git init -q . && echo $((184000 + 260)) > a && git add a && {GIT} commit -qm a"
    f" && git rm -q a && {GIT} commit -qm b && git gc -q\n",
    "lower layer": "RUN printf 'Aoife 99%s' 120 > /srv/n\nRUN rm /srv/n\n",
    "name of a file": "RUN touch /srv/out-$((184000 + 260)).txt\n",
}


@pytest.mark.parametrize("kind", LAYERS)
def test_a_leak_in_a_layer_is_found(kind: str, engine: BubblewrapEngine) -> None:
    image = Image(
        dockerfile=dockerfile("COPY numbers.txt /srv/\n" + LAYERS[kind]),
        files=(ContextFile.of("numbers.txt", "143\n"),),
    )
    task = toy(truth=PAY, image=image)
    wanted = leak.needles(task)
    assert leak.search(wanted, leak.texts(task)) is None
    leaked = leak.search(wanted, engine.contents(engine.build(task.image, task.limits)))
    assert leaked is not None
    assert leaked.needle == "truth.pay"


ROWS = ("oak,48213\n", "elm,99120\n", "ash,70411\n", "yew,31877\n", "fir,52096\n", "bay,66308\n")
SELECTED: dict[str, Any] = {"largest": {"size": 99120}}


def test_a_row_of_a_table_is_data_but_a_note_beside_it_is_not() -> None:
    table = "tree,size\n" + "".join(ROWS)
    assert found(SELECTED, table) is None
    assert found(SELECTED, table + "# the largest has 99120\n") is not None
    assert found(SELECTED, "tree,size\n" + "".join(ROWS[:3])) is not None


def test_records_and_columns_are_tables_too() -> None:
    records = [{"tree": row.split(",")[0], "size": int(row.split(",")[1])} for row in ROWS]
    columns = "".join(f"{record['tree']}  {record['size']:>8} A\n" for record in records)
    assert found(SELECTED, json.dumps(records)) is None
    assert found(SELECTED, json.dumps(records, indent=2)) is None
    assert found(SELECTED, columns) is None
    assert found(SELECTED, json.dumps({"largest": records[1]})) is not None


def test_settings_and_prose_are_no_tables() -> None:
    settings = "".join(f"{name} = {number}\n" for name, number in zip("abcdef", range(20001, 20007), strict=True))
    prose = "In this line there are quite many words, and a comma is in it.\n" * 6
    assert found(SELECTED, settings + "size = 99120\n") is not None
    assert (
        found(SELECTED, prose + "But this line has the size of the largest, which is 99120 as we all know.\n")
        is not None
    )


def test_what_an_answer_lists_names_things() -> None:
    assert found({"damaged": ["frag-13", "frag-22"]}, "see frag-13") is None
    assert found({"damaged": "frag-13"}, "see frag-13") is not None


def test_chance_among_many_numbers_is_not_reported() -> None:
    random = Random(7)
    many = [random.randrange(10_000, 100_000) for _ in range(4000)]
    hit = min(number for number in many if number % 10)
    assert found({"total": hit}, str(many)) is None
    assert found({"total": hit}, str([*many[:50], hit])) is not None
    assert found({"total": 48213377}, str([*many, 48213377])) is not None


def test_an_answer_is_found_in_a_dump_of_it_but_not_in_its_source() -> None:
    random = Random(11)
    source = [(f"m{n}", random.randrange(100, 1000), random.randrange(100, 1000)) for n in range(400)]
    answer = {name: first * second % 9973 for name, first, second in source[:80]}
    table = "".join(f"{name},{first},{second}\n" for name, first, second in source)
    assert found({"answer": answer}, table) is None
    assert found({"answer": answer}, table + json.dumps(answer, indent=1)) is not None
    assert found({"answer": answer}, "".join(f"{value}\n" for value in answer.values())) is not None


@given(
    st.integers(10_000, 10**15).filter(lambda n: len(str(n).rstrip("0")) >= 5),
    st.sampled_from([",", "_", " ", "'", "."]),
)
def test_a_number_is_found_with_every_separator(number: int, separator: str) -> None:
    for text in (f"x {number} y", f"x {number:,} y".replace(",", separator), f"x={number}.00;", f"{number:.15e}"):
        assert found({"n": number}, text) is not None, text


@given(st.binary(max_size=400))
def test_any_bytes_can_be_searched(content: bytes) -> None:
    task: Task = toy(truth=PAY | CODE | SMALL)
    assert leak.search(leak.needles(task), [("file", content)]) is None


@given(st.floats(min_value=1e-9, max_value=1e12))
def test_significant_digits_do_not_depend_on_the_unit(number: float) -> None:
    digits = significant(repr(number).encode())
    assert digits.isdigit()
    assert digits == digits.strip(b"0")
    assert significant(f"{number:.17e}".encode()).startswith(digits[:-1])
