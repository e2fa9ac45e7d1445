"""Rewrite a slow SQLite report: the same rows whatever the NULLs, within a budget of virtual-machine steps."""

from __future__ import annotations

from dataclasses import dataclass

from generators.families.data_querying._slow_report import digest, recipe, result
from generators.family import Draft, Draw, Family, Miss, Setting, Voice, load_settings, load_words, resource
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS

NAMES = ("owner", "group", "fact", "key", "value", "day", "state", "void", "part", "black")


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling; `words` are the names of tables and columns, in the order of NAMES."""

    folder: str
    database: str
    report: str
    words: tuple[str, ...]
    text: str


SETTINGS = load_settings(__file__, World)
SENTENCES = load_words(__file__, "wordings.yaml")
TESTS = resource(__file__, "tests.py")
INITIAL = resource(__file__, "initial.py")
DDL = resource(__file__, "schema.sql")
SLOW = resource(__file__, "slow.sql")
MORE = resource(__file__, "slow_more.sql").rstrip()
FAST = resource(__file__, "fast.sql")
PICK = ", coalesce(part, 0) AS @part@, coalesce(above, 0) AS above_average, place"
JOINS = resource(__file__, "joins.sql")  # another way: every subquery is grouped once and joined
JOINS_PICK = (
    ", ifnull(x.part, 0) AS @part@, ifnull(w.above, 0) AS above_average, ifnull(q.line - z.line + 1, 1) AS place"
)


def laid_out(voice: Voice, lines: list[str]) -> str:
    """Sentences in the manner of a voice."""
    if voice in ("email", "chat"):
        return "\n".join(lines)
    return "\n".join(
        f"{f'{n})' if voice in ('specification', 'runbook') else '*'} {line}" for n, line in enumerate(lines, 1)
    )


def draft(draw: Draw) -> Draft:
    """One slow report."""
    place = draw.setting(SETTINGS)
    hard = draw.difficulty is Difficulty.HARD
    wording, limit = (draw.serial + draw.serial // 3) % 3, draw.pick((230, 240, 250, 260))
    words = dict(zip(NAMES, place.words, strict=True))
    void = words["void"]

    def spelled(text: str) -> str:
        for name, word in words.items():
            text = text.replace(f"@{name}@", word)
        return text

    main = recipe(draw, *draw.by_difficulty(medium=(130, 800), hard=(120, 700)), False)
    tables = main.tables(void)
    cases: list[dict[str, object]] = []
    for number in range(2):
        other = recipe(draw, 130 + 10 * number, 270, hard and number == 1)
        content = other.tables(void)
        rows = result(content, void, hard)
        expected = {"count": len(rows), "digest": digest(rows)}
        cases.append({"sql": spelled(DDL + other.sql(void)), "expected": expected, "rows": sum(map(len, content))})
    rows = result(tables, void, hard)
    names = [words[name] for name in ("owner", "fact", "part", "black")]
    database, report = f"{place.folder}/{place.database}", f"{place.folder}/{place.report}"
    fill = {
        "limit": str(limit),
        "tables": ", ".join(names[:3]) + " and " + names[3],
        "report": report,
        "database": database,
    }
    said = {name: texts[wording].format(**fill) for name, texts in SENTENCES.items()}
    instruction = place.text.format(
        report=report,
        database=database,
        rules=laid_out(place.voice, list(said.values())),
        firm=draw.pick(FIRMS),
        persona=place.persona,
        ticket=draw.between(100, 9999),
    )

    def script(query: str, *changes: tuple[str, str]) -> str:
        for old, new in changes:
            query = query.replace(old, new)
        return f"cat > {report} <<'SQL'\n{spelled(query)}SQL\n"

    fast = FAST.replace("@PICK@", PICK if hard else "")
    both = ["test_this_database", "test_other_databases"]
    one_left = "(SELECT count(DISTINCT o.@day@) FROM @fact@ o WHERE o.@key@ + 0 = everyone.id) AS days"
    misses = [
        Miss(
            "one_subquery_left",
            "a correlated subquery remains",
            script(fast, ("coalesce(days, 0) AS days", one_left)),
            both,
        ),
        Miss("inner_join", "loses those that own nothing", script(fast, ("LEFT JOIN sums", "JOIN sums")), both),
        Miss(
            "zero_for_null",
            "turns an empty sum into 0",
            script(fast, ("@fact@, total, latest", "@fact@, coalesce(total, 0) AS total, latest")),
            both,
        ),
        Miss("untouched", "relies on what is there", "true", both),
    ]
    if hard:
        misses.append(
            Miss("null_group_ranked", "ranks those without a group", script(fast, ("c.@group@ IS NULL OR ", "")), both)
        )
    return Draft(
        title=f"Speed up a report: {place.scenario}",
        setting=place,
        instruction=instruction,
        files={
            place.report: spelled(SLOW.replace("@MORE@", MORE if hard else "")),
            "fill.sql": spelled(DDL + main.sql(void)),
        },
        dockerfile=f"COPY {place.report} fill.sql {place.folder}/\n"
        f"RUN cd {place.folder} && sqlite3 {place.database} < fill.sql && rm fill.sql\nWORKDIR {place.folder}",
        truth={
            "report": report,
            "database": database,
            "limit": limit,
            "columns": ["id", "name", words["group"], words["fact"], "total", "latest", "days"]
            + ([words["part"], "above_average", "place"] if hard else []),
            "rows": sum(map(len, tables)),
            "expected": {"count": len(rows), "digest": digest(rows)},
            "tables": {name: digest(table) for name, table in zip(names, tables, strict=True)},
            "cases": cases,
        },
        discoverable=("report", "database", "columns", "tables"),
        tests=TESTS,
        weights={"test_this_database": 0.5, "test_other_databases": 0.5},
        guards=["test_database_unchanged"],
        initial=INITIAL,
        solution=script(fast),
        alternatives=[script(JOINS.replace("@PICK@", JOINS_PICK if hard else ""))],
        misses=misses,
        requirements=[
            (said["speed"], both),
            (said["same"], both),
            (said["single"], both),
            (said["keep"], ["test_database_unchanged"]),
        ],
        knobs={"owners": main.owners, "facts": main.facts, "limit": limit, "hidden": len(cases), "wording": wording},
    )


FAMILY = Family(
    name="slow_report",
    domain="data_querying",
    verifier=Verifier.METRIC_THRESHOLD,
    skills=("sql", "query planning", "NULL semantics", "window functions"),
    difficulties=(Difficulty.MEDIUM, Difficulty.HARD),
    capacity=40,
    draft=draft,
    language="sql",
)
