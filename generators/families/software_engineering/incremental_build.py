"""Repair a Makefile: header dependencies, generated headers and parallel builds; a trace tells what is made again."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from generators.family import Draft, Draw, Family, Miss, Setting
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS

Files = dict[str, str]
HEADER_NAMES: str = "base types limits units style names marks ports"


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling. `ends` are the endings of sources, headers and tables."""

    folder: str
    program: str
    ends: tuple[str, str, str]
    modules: str
    text: str


TICKET = """BUILD-{number} ({firm}): wrong incremental builds of {program}

1. {state}
2. {exact}
3. {fresh}
4. {follow}
5. {keep}
"""
EMAIL = """Hi,

every second bug report about {program} at {firm} turns out to be a stale object file. {state} Can you put the Makefile
right?

{exact} {fresh} {follow}

{keep} Thanks, {persona}
"""
NOTE = """{program}: Makefile is a mess
{state}
{exact}
{fresh}
{follow}
{keep}
"""
SPECIFICATION = """Build requirements for {program}, {firm}, revision {number}

Present state. {state}
Requirement A. {fresh}
Requirement B. {exact}
Requirement C. {follow}
Restriction. {keep}
"""
CHAT = """{persona}: I lost a day to make at {firm}
you: {program}?
{persona}: yes. {state}
you: what should it do?
{persona}: {exact} {follow}
you: and a build from nothing?
{persona}: {fresh}
{persona}: {keep}
"""
RUNBOOK = """RUNBOOK {number}: make the build of {program} trustworthy ({firm})

Situation: {state}
Outcome 1: {fresh}
Outcome 2: {exact}
Outcome 3: {follow}
Not allowed: {keep}
"""
REVIEW = """The build review at {firm} found that {program} is only right after a clean build, if at all.

{state} {fresh} {exact} {follow} {keep}
"""
LETTER = """Dear colleague,

before I retire from {firm} I would like to see {program} built properly once. {state}

{exact} {follow} {fresh}

{keep} Yours, {persona}
"""
SETTINGS = (
    World("tide_tables", "hydrographer", "tide tables", "ticket", "/srv/tides", "tidebook", (".src", ".inc", ".tab"),
        "moon sun harbour wind chart index cover", TICKET),
    World("phrase_book", "publisher", "phrase book", "email", "/opt/phrases", "phrasebook", (".part", ".hdr", ".lst"),
        "greet travel food money doctor hotel train", EMAIL),
    World("synth", "sound designer", "synthesizer bank", "note", "/home/sound/bank", "bankfile", (".snd", ".def",
        ".csv"), "bass lead pad drum organ bell choir", NOTE),
    World("avionics", "avionics engineer", "flight display", "specification", "/data/display", "displayimg", (".c",
        ".h", ".tbl"), "attitude speed altitude radio fuel engine map", SPECIFICATION),
    World("board_game", "game designer", "rule book", "chat", "/games/rules", "rulebook", (".txt", ".inc", ".dat"),
        "setup turn trade battle score finale lore", CHAT),
    World("heat_pump", "firmware developer", "heat pump image", "runbook", "/work/pump", "pumpimage", (".unit",
        ".head", ".cfg"), "sensor valve fan compressor defrost panel clock", RUNBOOK),
    World("tax_guide", "tax editor", "tax guide", "specification", "/lab/taxguide", "guide", (".sec", ".frag",
        ".rate"), "income land trade gift travel pension import", REVIEW),
    World("planetarium", "show producer", "star show", "email", "/srv/dome", "showfile", (".act", ".cue", ".cat"),
        "dawn planets comets galaxy nebula legend dusk", LETTER),
)  # fmt: skip

TESTS = """
import contextlib
import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path


def make(folder, *arguments):
    log = Path(folder, "trace.log")
    log.unlink(missing_ok=True)
    done = subprocess.run(["/usr/bin/make", *arguments], cwd=folder, capture_output=True, text=True, timeout=20,
stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr[-400:]
    return sorted(log.read_text().split()) if log.exists() else []


@contextlib.contextmanager
def project():
    with tempfile.TemporaryDirectory() as place:
        folder = place + "/project"
        shutil.copytree(TRUTH["folder"], folder)
        make(folder, "clean")
        yield folder


def touch(folder, name):
    time.sleep(0.03)
    os.utime(Path(folder, name))


def test_fresh_parallel_build():
    with project() as folder:
        assert make(folder, "-j8") == TRUTH["all"]
        result = Path(folder, TRUTH["result"]).read_bytes()
        assert hashlib.sha256(result).hexdigest() == TRUTH["digest"]


def test_nothing_to_do():
    with project() as folder:
        make(folder, "-j4")
        time.sleep(0.03)
        assert make(folder) == [] and make(folder, "-j4") == []


def test_exact_rebuilds():
    with project() as folder:
        make(folder, "-j4")
        for name, expected in TRUTH["touched"]:
            touch(folder, name)
            assert make(folder, "-j4") == expected, name


def test_new_include():
    with project() as folder:
        make(folder, "-j4")
        time.sleep(0.03)
        for name, line, expected, header, later in TRUTH["added"]:
            path = Path(folder, name)
            path.write_text(line + path.read_text())
            assert make(folder, "-j4") == expected, name
            touch(folder, header)
            assert make(folder, "-j4") == later, header


def test_sources_kept():
    for name, digest in TRUTH["given"].items():
        assert hashlib.sha256(Path(TRUTH["folder"], name).read_bytes()).hexdigest() == digest, name
"""

INITIAL = """
from pathlib import Path


def test_project_is_there():
    assert all(Path(TRUTH["folder"], name).is_file() for name in [*TRUTH["given"], "Makefile"])
"""

EXPAND = r"""
function expand(file,    line, name, found) {
  if (file in seen) return
  seen[file] = 1; names = names " " file
  while ((found = (getline line < file)) > 0)
    if (line ~ /^include "/) { name = line; gsub(/^include "|"$/, "", name); expand(name) }
    else body = body line "\n"
  if (found < 0) { missing = missing " " file }
}
"""
COMPILE = (
    """#!/usr/bin/gawk -f
# compile OBJECT SOURCE: puts SOURCE with its includes (paths from the project's folder) into OBJECT, and into the file beside
# it that ends in .d a make rule naming everything that was read. Notes OBJECT in trace.log."""
    + EXPAND
    + r"""
BEGIN {
  out = ARGV[1]; expand(ARGV[2])
  if (missing) { print "cannot read" missing > "/dev/stderr"; exit 1 }
  print out >> "trace.log"
  printf "%s", body > out
  sub(/\.o$/, ".d", out); print ARGV[1] ":" names > out
}
"""
)
SCAN = (
    "#!/usr/bin/gawk -f\n# scan SOURCE: prints what SOURCE includes, directly or not."
    + EXPAND
    + ('BEGIN { expand(ARGV[1]); sub(/^ [^ ]+/, "", names); print names }\n')
)
GENERATE = r"""#!/bin/sh
# generate HEADER FILE...: makes HEADER from tables and frames, which takes its time. Notes HEADER in trace.log.
out=$1
shift
sleep 0.15
echo "$out" >> trace.log
cat "$@" > "$out"
"""
LINK = r"""#!/bin/sh
# link RESULT OBJECT...: Notes RESULT in trace.log.
out=$1
shift
echo "$out" >> trace.log
cat "$@" > "$out"
"""


def includes(text: str) -> list[str]:
    """The include lines of a file."""
    return re.findall(r'^include "(.*)"$', text, re.M)


def closure(files: Files, name: str, seen: list[str]) -> str:
    """What compiling a file gives; `seen` collects what is read."""
    if name in seen:
        return ""
    seen.append(name)
    out = ""
    for line in files[name].splitlines():
        out += closure(files, line[9:-1], seen) if line.startswith('include "') else line + "\n"
    return out


def make_project(draw: Draw, world: World) -> tuple[Files, dict[str, list[str]]]:
    """Sources, headers, tables and frames; and what each generated header is made of."""
    hard = draw.difficulty is Difficulty.HARD
    source, header, table = world.ends
    modules = draw.sample(world.modules.split(), 7 if hard else 5)
    heads = [f"inc/{name}{header}" for name in draw.sample(HEADER_NAMES.split(), 6 if hard else 4)]
    tables = draw.sample(("codes", "prices", "colours", "tones"), 2 if hard else 1)
    made = {
        f"gen/{name}{header}": [f"data/{name}{table}", *([f"data/{name}.frame"] if hard else [])] for name in tables
    }
    files: Files = {}
    for number, name in enumerate(heads):  # a chain: the second includes the first, and so on for every other one
        below = f'include "{heads[number - 1]}"\n' if number % 2 else ""
        files[name] = f"{below}{name} {draw.between(100, 999)}\n"
    for name in tables:
        files[f"data/{name}{table}"] = "".join(f"{name}-{draw.between(10, 99)}\n" for _ in range(3))
        if hard:
            files[f"data/{name}.frame"] = f'include "{heads[0]}"\nend of {name}\n'
    for number, module in enumerate(modules):
        wanted = [heads[number % len(heads)]] if number else []
        wanted += [list(made)[number % len(made)]] if number in (1, 2, 4) else []
        wanted += [draw.pick(heads)] if number > 3 else []
        lines = "".join(f'include "{name}"\n' for name in dict.fromkeys(wanted))
        files[f"src/{module}{source}"] = f"{lines}{module} {draw.between(1000, 9999)}\n"
    return files, made


def everything(files: Files, made: dict[str, list[str]]) -> Files:
    """The files together with the generated ones."""
    return files | {name: "".join(files[part] for part in parts) for name, parts in made.items()}


def objects_of(files: Files) -> dict[str, str]:
    """Source to object."""
    return {name: f"obj/{name[4:].rsplit('.', 1)[0]}.o" for name in sorted(files) if name.startswith("src/")}


def rebuilt(files: Files, made: dict[str, list[str]], result: str, changed: str) -> list[str]:
    """What is made again after one file changed."""
    whole = everything(files, made)
    fresh = [name for name, parts in made.items() if changed in parts]
    objects: list[str] = []
    for source, target in objects_of(files).items():
        seen: list[str] = []
        closure(whole, source, seen)
        objects += [target] if {changed, *fresh} & set(seen) else []
    return sorted([*fresh, *objects, *([result] if objects else [])])


def makefiles(world: World, files: Files, made: dict[str, list[str]], result: str) -> dict[str, str]:
    """The broken Makefile, two right ones and three wrong ones."""
    source, header, _ = world.ends
    objects = " ".join(objects_of(files).values())
    modules = " ".join(target[4:-2] for target in objects_of(files).values())
    generated = " ".join(made)
    rules = "".join(
        f"{name}: {' '.join(parts)}\n\t@mkdir -p $(@D)\n\ttools/generate $@ {' '.join(parts)}\n"
        for name, parts in made.items()
    )
    link = f"{result}: $(OBJS)\n\t@mkdir -p $(@D)\n\ttools/link $@ $(OBJS)\n"
    compiling = "\n\t@mkdir -p $(@D)\n\ttools/compile $@ $<\n"
    clean = "clean:\n\trm -rf obj bin gen trace.log\n.PHONY: all clean\n"
    start = f"OBJS = {objects}\nGEN = {generated}\nHEADS = $(wildcard inc/*{header})\nall: {result}\n"
    by_hand = "headers:\n\t@mkdir -p gen\n" + "".join(
        f"\ttools/generate {name} {' '.join(parts)}\n" for name, parts in made.items()
    )
    include = "-include $(OBJS:.o=.d)\n"
    pattern = f"obj/%.o: src/%{source}"
    scanned = (
        f"define rule\nobj/$(1).o: src/$(1){source} $(shell tools/scan src/$(1){source})\n\t@mkdir -p "
        f"obj\n\ttools/compile $$@ $$<\nendef\n$(foreach m,{modules},$(eval $(call rule,$(m))))\n"
    )
    return {
        "broken": "# run 'make headers' first, and 'make clean' when in "
                  f"doubt\n{start}{link}{pattern}{compiling}{by_hand}{clean}",
        "right": f"{start}{link}{pattern} | $(GEN){compiling}{rules}{clean}{include}",
        "scanned": f"{start}{link}{scanned}{rules}{clean}",
        "coarse": f"{start}{link}{pattern} $(HEADS) $(GEN){compiling}{rules}{clean}",
        "always": f"{start}{link}{pattern} headers{compiling}{by_hand}{clean}.PHONY: headers\n{include}",
        "serial": f"{start}{link.replace('$(OBJS)', '$(GEN) $(OBJS)', 1)}{pattern}{compiling}{rules}{clean}{include}",
        "static": f"{start}{link}{pattern} | $(GEN){compiling}{rules}{clean}"
        + "".join(f"{target}: {' '.join(read_by(files, made, name))}\n" for name, target in objects_of(files).items()),
    }  # fmt: skip


def read_by(files: Files, made: dict[str, list[str]], source: str) -> list[str]:
    """All that compiling a source reads."""
    seen: list[str] = []
    closure(everything(files, made), source, seen)
    return seen


def sentences(world: World, wording: int, result: str) -> dict[str, str]:
    """The state of things and what is required."""
    folder = world.folder
    return (
        {
            "state": f"In {folder}, make builds {result} with the scripts in tools, which append every file they make "
                     "to trace.log; headers in gen are made from data by hand (make headers).",
            "fresh": "After make clean, which removes everything that was made, a plain make and also make -j8 must "
                     "succeed, make every file once and give the right result.",
            "exact": "After a change of one file, make has to make exactly the files that depend on it again, through "
                     "includes of includes and generated headers too, and nothing if nothing changed.",
            "follow": "It has to stay that way when somebody adds include lines to sources or headers without touching "
                      "the Makefile.",
            "keep": "Only the Makefile may change: src, inc, data and tools stay as they are, and so do the names in "
                    "obj, gen and bin and the order of linking.",
        },
        {
            "state": f"The project {folder} makes {result}; its tools leave a line in trace.log for each file they "
                     "produce, and the headers in gen come from data, so far with a separate make headers.",
            "fresh": "From a clean tree (make clean deletes all products) one call of make, with -j8 as well as "
                     "without, should produce all files, each a single time, correctly.",
            "exact": "Afterwards a changed source, header, table or frame leads to new versions of precisely those "
                     "products that read it, directly or by way of other headers; without a change nothing runs.",
            "follow": "New include lines in any source or header must be noticed by themselves, I do not want to "
                      "maintain lists.",
            "keep": "Please confine yourself to the Makefile; sources, headers, data and tools are shared, and the "
                    "products keep their places (obj, gen, bin), the link its order.",
        },
        {
            "state": f"{folder}: Makefile for {result}, steps via tools/ (each logs its product in trace.log), gen/ is "
                     "filled from data/ by make headers.",
            "fresh": "make clean (all products gone), then make or make -j8: works, every product exactly once, right "
                     "content.",
            "exact": "One file changed: exactly its dependents are remade, transitively, generated headers included. "
                     "No change: no step.",
            "follow": "Added include lines count without edits of the Makefile.",
            "keep": "Edit the Makefile only; product names and link order unchanged.",
        },
    )[wording]  # fmt: skip


def draft(draw: Draw) -> Draft:
    """One build."""
    world = draw.setting(SETTINGS)
    files, made = make_project(draw, world)
    result = f"bin/{world.program}"
    whole = everything(files, made)
    products = "".join(closure(whole, name, []) for name in objects_of(files))
    chosen = [draw.pick([n for n in files if n.startswith(part)]) for part in ("src/", "data/")]
    heads = [name for name in files if name.startswith("inc/")]
    sources = list(objects_of(files))
    lonely = next(name for name in sources if not includes(files[name]))
    new = {**files, lonely: f'include "{heads[1]}"\n' + files[lonely]}
    tools = {"tools/compile": COMPILE, "tools/scan": SCAN, "tools/generate": GENERATE, "tools/link": LINK}
    truth = {
        "folder": world.folder, "result": result, "digest": hashlib.sha256(products.encode()).hexdigest(),
        "all": sorted([*made, *objects_of(files).values(), result]),
        "touched": [[name, rebuilt(files, made, result, name)] for name in dict.fromkeys([*chosen, heads[0], heads[1],
            heads[-1]])],
        "added": [[lonely, f'include "{heads[1]}"\n', rebuilt(files, made, result, lonely), heads[0], rebuilt(new,
            made, result, heads[0])]],
        "given": {name: hashlib.sha256(text.encode()).hexdigest() for name, text in {**files, **tools}.items()},
    }  # fmt: skip
    variants = makefiles(world, files, made, result)
    said = sentences(world, draw.serial % 3, result)
    instruction = world.text.format(
        number=draw.between(100, 999), firm=draw.pick(FIRMS), program=world.program, persona=world.persona, **said
    )

    def put(name: str) -> str:
        return f"cat > {world.folder}/Makefile <<'EOF'\n{variants[name]}EOF\n"

    goals = ["test_fresh_parallel_build", "test_nothing_to_do", "test_exact_rebuilds", "test_new_include"]
    return Draft(
        title=f"Trustworthy incremental build of {world.program}",
        setting=world,
        instruction=instruction,
        files={**files, **{name: (text, 0o755) for name, text in tools.items()}, "Makefile": variants["broken"]},
        dockerfile="".join(f"COPY {part} {world.folder}/{part}/\n" for part in ("src", "inc", "data", "tools"))
        + f"COPY Makefile {world.folder}/\nWORKDIR {world.folder}",
        truth=truth,
        discoverable=("folder", "result", "all", "touched", "added", "given"),
        tests=TESTS,
        weights={"test_fresh_parallel_build": 0.25, "test_nothing_to_do": 0.15, "test_exact_rebuilds": 0.35,
            "test_new_include": 0.25},
        guards=["test_sources_kept"],
        initial=INITIAL,
        solution=put("right"),
        alternatives=[put("scanned")],
        misses=[
            Miss("all_headers", "lets every object depend on every header", put("coarse"), ["test_exact_rebuilds"]),
            Miss("always_generates", "makes the headers anew each time", put("always"), ["test_nothing_to_do",
                "test_exact_rebuilds"]),
            Miss("serial_only", "does not order generating before compiling", put("serial"),
                ["test_fresh_parallel_build"]),
            Miss("fixed_lists", "writes down the dependencies of today", put("static"), ["test_new_include"]),
        ],
        requirements=[
            (said["state"], goals), (said["fresh"], goals[:1]), (said["exact"], goals[1:3]), (said["follow"],
                goals[3:]), (said["keep"], ["test_sources_kept"]),
        ],
        knobs={"sources": len(sources), "headers": len(heads), "generated": len(made)},
    )  # fmt: skip


FAMILY = Family(
    name="incremental_build",
    domain="software_engineering",
    verifier=Verifier.EXACT_TEXT,
    skills=("make", "dependency tracking", "generated files", "parallel builds"),
    difficulties=(Difficulty.MEDIUM, Difficulty.HARD),
    capacity=32,
    draft=draft,
)
