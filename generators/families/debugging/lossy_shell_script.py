"""Repair a file-moving shell script that loses data: awkward names, conflicts, missing sources, interrupted runs."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from generators.families.debugging._lossy_shell_script import draw_cases
from generators.family import Draft, Draw, Family, Miss, Setting, load_settings, load_words, resource
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS, FIRST_NAMES, HOST_WORDS


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    home: str
    script: str
    inbox: str
    manifest: str
    moved: str
    kept: str
    text: str


SETTINGS = load_settings(__file__, World)
RULES: dict[str, tuple[str, ...]] = load_words(__file__, "rules.yaml")
WORDS: dict[str, tuple[str, ...]] = load_words(__file__, "wordings.yaml")
BROKEN = resource(__file__, "program.sh")
REPAIRED = resource(__file__, "solution.sh")  # lines that end in #lock are for hard ones; #source marks the checks
PYTHON = resource(__file__, "alternative.py")
TESTS = resource(__file__, "tests.py")
TESTS_LOCK = resource(__file__, "tests_lock.py")
INITIAL = resource(__file__, "initial.py")

TESTED_BY = {
    "names": ["test_awkward_names", "test_plain_names"],
    "arguments": ["test_awkward_names"],
    "conflict": ["test_conflicts"],
    "manifest": ["test_awkward_names", "test_conflicts"],
    "reserved": ["test_conflicts"],
    "summary": ["test_awkward_names", "test_conflicts"],
    "source": ["test_bad_source"],
    "links": ["test_awkward_names", "test_conflicts"],
    "lock": ["test_lock"],
}


def draft(draw: Draw) -> Draft:
    """One repair."""
    world = draw.setting(SETTINGS)
    hard = draw.difficulty is Difficulty.HARD
    script = f"{world.home}/{world.script}"
    usage, busy = draw.pick((2, 64, 66)), draw.pick((4, 73, 75))
    lock = f"{world.home}/run/{world.manifest.lower()}.lock"
    words: dict[str, object] = {
        "script": script,
        "manifest": world.manifest,
        "moved": world.moved,
        "kept": world.kept,
        "usage": usage,
        "busy": busy,
        "lock": lock,
        "inbox": world.inbox,
        "firm": draw.pick(FIRMS),
        "thing": world.scenario,
        "persona": f"{draw.pick(FIRST_NAMES)} ({world.persona})",
        "ticket": draw.between(1000, 9999),
    }
    keys = [key for key in RULES if hard or key not in ("links", "lock")]
    sentences = {key: draw.pick(RULES[key]).format(**words) for key in keys}
    live = draw.pick(WORDS["live"]).format(**words)
    mark = draw.pick(("- {}\n", "* {}\n", "{}\n", "{}\n\n"))
    rules = "".join(mark.format(sentences[key]) for key in keys).strip()

    cases = draw_cases(draw, world.manifest, hard)
    for case in cases:
        moved, kept = case.pop("counts")  # type: ignore[misc]
        case["last"] = f"{world.moved}={moved} {world.kept}={kept}"
    inbox = {
        f"{word} {number}.bin": f"{word} {draw.between(0, 10**9)}\n"
        for number, word in enumerate(draw.sample(HOST_WORDS, 5))
    }

    def fill(text: str) -> str:
        for key in ("script", "manifest", "moved", "kept", "usage", "busy", "lock"):
            text = text.replace(f"{{{key}}}", str(words[key]))
        return text.replace("{types}", "\\( -type f -o -type l \\)" if hard else "-type f")

    lines = REPAIRED.splitlines(keepends=True)
    repaired = fill(
        "".join(line.replace(" #lock", "").replace(" #source", "") for line in lines if hard or " #lock" not in line)
    )
    careless = fill(
        "".join(
            line.replace(" #lock", "") for line in lines if " #source" not in line and (hard or " #lock" not in line)
        )
    )
    python = fill(PYTHON.replace("{links}", str(hard)).replace("{lock}", lock if hard else ""))
    newline_blind = repaired.replace("read -r -d ''", "read -r").replace("-print0)", "-print)")
    overwrites = repaired.replace('if [ -e "$target" ] || [ -L "$target" ]; then', "if false; then").replace(
        "mv -nT", "mv -f"
    )
    misses = [
        Miss("quotes_only", "still reads names line by line", install(script, newline_blind), ["test_awkward_names"]),
        Miss(
            "overwrites",
            "mv -f replaces what is there, or moves into a directory",
            install(script, overwrites),
            ["test_conflicts"],
        ),
        Miss(
            "unchecked_source",
            "goes on without a usable source",
            install(script, careless.replace(f"|| exit {usage}", "|| :")),
            ["test_bad_source"],
        ),
    ]
    weights = {"test_awkward_names": 0.45, "test_conflicts": 0.4, "test_bad_source": 0.15}
    if hard:
        weights = {"test_awkward_names": 0.35, "test_conflicts": 0.3, "test_bad_source": 0.15, "test_lock": 0.2}
        stubborn = repaired.replace('if [ -n "$pid" ] && [ -d "/proc/$pid" ]; then', "if true; then")
        misses.append(
            Miss("stale_lock", "an interrupted run blocks all later ones", install(script, stubborn), ["test_lock"])
        )
    broken = fill(BROKEN)
    return Draft(
        title=f"Stop {script} from losing files",
        setting=world,
        instruction=world.text.format(rules=rules, live=live, **words),
        files={
            "program": (broken, 0o755),
            "stale.lock": "4999999\n",
            **{f"inbox/{name}": text for name, text in inbox.items()},
        },
        dockerfile=f"COPY program {script}\nCOPY inbox/ {world.inbox}/\n"
        + (f"COPY stale.lock {lock}\n" if hard else "")
        + f"WORKDIR {world.home}",
        truth={
            "script": script,
            "manifest": world.manifest,
            "inbox": world.inbox,
            "lock": lock,
            "usage": usage,
            "busy": busy,
            "live": {name: hashlib.sha256(text.encode()).hexdigest() for name, text in inbox.items()},
            "cases": cases,
        },
        discoverable=("script", "manifest", "inbox", "lock", "cases"),
        tests=TESTS + ("\n\n" + TESTS_LOCK if hard else ""),
        weights=weights,
        guards=["test_plain_names", "test_live_inbox"],
        initial=INITIAL,
        solution=install(script, repaired),
        alternatives=[install(script, python)],
        misses=misses,
        requirements=[*((sentences[key], TESTED_BY[key]) for key in keys), (live, ["test_live_inbox"])],
        knobs={"cases": len(cases), "links": hard, "lock": hard},
    )


def install(script: str, text: str) -> str:
    """Put a program at its path."""
    return f"cat > {script} <<'END_OF_PROGRAM'\n{text}END_OF_PROGRAM\nchmod 755 {script}\n"


FAMILY = Family(
    name="lossy_shell_script",
    domain="debugging",
    verifier=Verifier.ADVERSARIAL_CORPUS,
    skills=("shell quoting", "file name safety", "exit status handling", "locking"),
    difficulties=(Difficulty.MEDIUM, Difficulty.HARD),
    capacity=48,
    draft=draft,
    command_complexity="bash",
)
