"""Finish a SQLite schema migration that stopped half way, with a program that can be run again and loses nothing."""

from __future__ import annotations

import hashlib
import json

from generators.families.data_querying._half_done_migration import Cell, State, World, draw_state, finish
from generators.family import Draft, Draw, Family, Miss, Voice, load_settings, load_words, resource
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS

SETTINGS = load_settings(__file__, World)
SENTENCES: dict[str, tuple[str, str, str]] = load_words(__file__, "wordings.yaml")
NOTE, PARTS = resource(__file__, "MIGRATION.md"), load_words(__file__, "plan_parts.yaml")
SCHEMA, SCHEMA_EXTREME = resource(__file__, "schema.sql"), resource(__file__, "schema_extreme.sql")
ADDED = """CREATE TRIGGER @moves@_added AFTER INSERT ON @moves@ BEGIN
  UPDATE @people@ SET @balance@ = @balance@ + new.@cents@ WHERE id = new.@person@_id; END;
"""
TESTS, INITIAL = resource(__file__, "tests.py"), resource(__file__, "initial.py")
PYTHON, SQL = resource(__file__, "solution.py"), resource(__file__, "alternative.sh")


def literal(value: Cell) -> str:
    """A value in SQL."""
    return "NULL" if value is None else str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"


def inserts(table: str, rows: list[list[Cell]]) -> str:
    """An insert statement, or nothing."""
    if not rows:
        return ""
    return f"INSERT INTO {table} VALUES\n" + ",\n".join(f"({','.join(map(literal, row))})" for row in rows) + ";\n"


def load_sql(draw: Draw, state: State, place: World, extreme: bool) -> str:
    """The statements that make the state; some stored balances are stale."""
    kinds = sorted({row[3] for row in state.moves.values() if row[3]})
    balance = {
        key: sum(row[2] for row in state.moves.values() if row[0] == key and (row[2] % 3 or not state.trigger))
        for key in state.people
    }
    balance[100_001] = (balance[100_001] + 1717) or 3  # certainly stale
    steps = (
        ["people", "merge", "moves", "quarantine", "balances"]
        if extreme
        else ["people", "moves", "quarantine", "balances"]
    )
    last = [max(state.old_people), None, max(state.old_moves), None, None]
    text = inserts(f"legacy_{place.people}", [[key, *row] for key, row in state.old_people.items()])
    text += inserts(f"legacy_{place.moves}", [[key, *row] for key, row in state.old_moves.items()])
    text += inserts(place.people, [[key, *row, balance[key]] for key, row in sorted(state.people.items())])
    text += inserts(f"{place.kind}_names", [[number + 3, name] for number, name in enumerate(kinds)])
    text += inserts(
        place.moves,
        [[key, *row[:3], kinds.index(row[3]) + 3 if row[3] else None] for key, row in sorted(state.moves.items())],
    )
    text += inserts("quarantine", [[source, key, reason] for (source, key), reason in sorted(state.quarantine.items())])
    text += inserts("aliases", [[old, new] for old, new in state.aliases.items()])
    text += inserts("deleted", [[source, key] for source, key in state.deleted])
    text += inserts(
        "migration",
        [
            [step, draw.pick(("running", "open")), last[number] if number else max(state.people)]
            for number, step in enumerate(steps)
        ],
    )
    return text + (ADDED if state.trigger else "")


def laid_out(voice: Voice, lines: list[str]) -> str:
    """Sentences in the manner of a voice."""
    if voice in ("email", "chat"):
        return " ".join(lines) if voice == "email" else "\n".join(f"> {line}" for line in lines)
    return "\n".join(
        f"{f'{number}.' if voice in ('specification', 'runbook') else '-'} {line}"
        for number, line in enumerate(lines, 1)
    )


def draft(draw: Draw) -> Draft:
    """One interrupted migration."""
    place = draw.setting(SETTINGS)
    extreme = draw.difficulty is Difficulty.EXTREMELY_HARD
    wording, version = (draw.serial + draw.serial // 3) % 3, draw.between(4, 60)
    words = {name: getattr(place, name) for name in ("people", "person", "moves", "balance", "cents", "day", "kind")}
    step = 3 if extreme else 2
    note_words = {
        "MERGE": PARTS["merge"] if extreme else "",
        "RELEASE": PARTS["release_extreme" if extreme else "release_hard"],
        "ALIAS": ", by itself or through `aliases`" if extreme else "",
        "EXTRA_TABLES": ", `aliases`, `deleted`" if extreme else "",
        **{f"S{number + 2}": str(step + number) for number in range(3)},
        "VERSION": str(version),
        "EXTREME": str(extreme),
    }

    def spelled(text: str) -> str:
        for name, word in [*note_words.items(), *words.items()]:
            text = text.replace(f"@{name}@", word)
        return text.replace("--x ", "" if extreme else "--x ")

    sizes = draw.by_difficulty(hard=(34, 60), extremely_hard=(40, 80))
    main = draw_state(draw, place, *sizes, extreme)
    legacy = {
        "people": [[key, *row] for key, row in sorted(main.old_people.items())],
        "moves": [[key, *row] for key, row in sorted(main.old_moves.items())],
    }
    ddl = spelled(SCHEMA + (SCHEMA_EXTREME if extreme else ""))
    seed_sql = ddl + spelled(load_sql(draw, main, place, extreme))
    cases: list[dict[str, object]] = []
    for _ in range(2):
        state = draw_state(draw, place, 17, 20, extreme)
        sql = spelled(load_sql(draw, state, place, extreme))
        cases.append({"sql": sql, "expected": finish(state, place, extreme)})
    database, program = f"{place.folder}/{place.database}", f"{place.folder}/finish"
    note = f"{place.folder}/MIGRATION.md"
    said = {
        name: texts[wording].format(
            database=database, program=program, balance=place.balance, person=place.person, moves=place.moves
        )
        for name, texts in SENTENCES.items()
    }
    instruction = place.text.format(
        database=database,
        note=note,
        persona=place.persona,
        firm=draw.pick(FIRMS),
        ticket=draw.between(100, 9999),
        rules=laid_out(place.voice, list(said.values())),
    )

    def script(source: str, *changes: tuple[str, str]) -> str:
        for old, new in [*changes, ("@CHECKPOINT@", ""), ("@WHICH@", "true")]:
            source = source.replace(old, new)
        start = f"cd {place.folder}\ncat > finish <<'PROGRAM'\n{spelled(source)}PROGRAM\n"
        return f"{start}chmod +x finish\n./finish {place.database}\n"

    every = ["test_database_finished", "test_program"]
    overwrite = (
        ("if key in have or key in alias or", "if key in alias or"),
        ("insert into @people@ values", "insert or replace into @people@ values"),
    )
    checkpoint = (
        "@CHECKPOINT@",
        "or key <= db.execute('select max(id) from @people@ where id < 100000').fetchone()[0]",
    )
    return Draft(
        title=f"Finish a half-done migration: {place.scenario}",
        setting=place,
        instruction=instruction,
        files={"seed.sql": seed_sql, "MIGRATION.md": spelled(NOTE)},
        dockerfile=f"COPY MIGRATION.md seed.sql {place.folder}/\n"
        f"RUN cd {place.folder} && sqlite3 {place.database} < seed.sql && rm seed.sql\nWORKDIR {place.folder}",
        truth={
            "database": database,
            "program": program,
            "words": words,
            "extreme": extreme,
            "version": version,
            "ddl": ddl,
            "legacy": {table: hashlib.sha256(json.dumps(rows).encode()).hexdigest() for table, rows in legacy.items()},
            "expected": json.dumps(finish(main, place, extreme)),
            "cases": json.dumps(cases),
        },
        discoverable=("database", "program", "words", "ddl"),
        tests=TESTS,
        weights={"test_database_finished": 0.4, "test_triggers": 0.15, "test_program": 0.45},
        guards=["test_legacy_kept"],
        initial=INITIAL,
        solution=script(PYTHON),
        alternatives=[script(SQL)],
        misses=[
            Miss(
                "trusts_the_checkpoint", "copies only rows after the last one copied", script(PYTHON, checkpoint), every
            ),
            Miss("overwrites_live_rows", "replaces rows the application has edited", script(PYTHON, *overwrite), every),
            Miss(
                "no_recount",
                "leaves the stored balances and only adds what it copies",
                script(PYTHON, ("@WHICH@", "@balance@ = 0")),
                every,
            ),
            Miss(
                "insert_trigger_only",
                "forgets updates and deletes",
                script(PYTHON, (', ("changed", "update", take + add), ("removed", "delete", take)', ",")),
                ["test_triggers"],
            ),
        ],
        requirements=[
            (said["database"], ["test_database_finished"]),
            (said["program"], ["test_program"]),
            (said["again"], ["test_program"]),
            (said["live"], every),
            (said["triggers"], ["test_triggers"]),
            (said["legacy"], ["test_legacy_kept"]),
        ],
        knobs={"people": sizes[0], "moves": sizes[1], "merge": extreme, "wording": wording, "hidden_cases": len(cases)},
    )


FAMILY = Family(
    name="half_done_migration",
    domain="data_querying",
    verifier=Verifier.EXACT_TEXT,
    skills=("sqlite", "schema migration", "triggers", "idempotent scripts"),
    difficulties=(Difficulty.HARD, Difficulty.EXTREMELY_HARD),
    capacity=40,
    draft=draft,
)
