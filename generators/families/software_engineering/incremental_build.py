"""Repair a Makefile: header dependencies, generated headers and parallel builds; a trace tells what is made again."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from generators.family import Draft, Draw, Family, Miss, Setting, load_settings, load_words, resource
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


SETTINGS = load_settings(__file__, World)
SENTENCES = load_words(__file__, "wordings.yaml")["sentences"]
TOOLS = {f"tools/{name}": resource(__file__, f"tools/{name}") for name in ("compile", "scan", "generate", "link")}
TESTS = resource(__file__, "tests.py")
INITIAL = resource(__file__, "initial.py")


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
    """The broken Makefile, two right ones and four wrong ones."""
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
        "broken": "# run 'make headers' first, and 'make clean' when in doubt\n"
        f"{start}{link}{pattern}{compiling}{by_hand}{clean}",
        "right": f"{start}{link}{pattern} | $(GEN){compiling}{rules}{clean}{include}",
        "scanned": f"{start}{link}{scanned}{rules}{clean}",
        "coarse": f"{start}{link}{pattern} $(HEADS) $(GEN){compiling}{rules}{clean}",
        "always": f"{start}{link}{pattern} headers{compiling}{by_hand}{clean}.PHONY: headers\n{include}",
        "serial": f"{start}{link.replace('$(OBJS)', '$(GEN) $(OBJS)', 1)}{pattern}{compiling}{rules}{clean}{include}",
        "static": f"{start}{link}{pattern} | $(GEN){compiling}{rules}{clean}"
        + "".join(f"{target}: {' '.join(read_by(files, made, name))}\n" for name, target in objects_of(files).items()),
    }


def read_by(files: Files, made: dict[str, list[str]], source: str) -> list[str]:
    """All that compiling a source reads."""
    seen: list[str] = []
    closure(everything(files, made), source, seen)
    return seen


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
    truth = {
        "folder": world.folder,
        "result": result,
        "digest": hashlib.sha256(products.encode()).hexdigest(),
        "all": sorted([*made, *objects_of(files).values(), result]),
        "touched": [
            [name, rebuilt(files, made, result, name)]
            for name in dict.fromkeys([*chosen, heads[0], heads[1], heads[-1]])
        ],
        "added": [
            [
                lonely,
                f'include "{heads[1]}"\n',
                rebuilt(files, made, result, lonely),
                heads[0],
                rebuilt(new, made, result, heads[0]),
            ]
        ],
        "given": {name: hashlib.sha256(text.encode()).hexdigest() for name, text in {**files, **TOOLS}.items()},
    }
    variants = makefiles(world, files, made, result)
    places = {"folder": world.folder, "result": result}
    said = {name: words.format(**places) for name, words in SENTENCES[draw.serial % 3].items()}
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
        files={**files, **{name: (text, 0o755) for name, text in TOOLS.items()}, "Makefile": variants["broken"]},
        dockerfile="".join(f"COPY {part} {world.folder}/{part}/\n" for part in ("src", "inc", "data", "tools"))
        + f"COPY Makefile {world.folder}/\nWORKDIR {world.folder}",
        truth=truth,
        discoverable=("folder", "result", "all", "touched", "added", "given"),
        tests=TESTS,
        weights={
            "test_fresh_parallel_build": 0.25,
            "test_nothing_to_do": 0.15,
            "test_exact_rebuilds": 0.35,
            "test_new_include": 0.25,
        },
        guards=["test_sources_kept"],
        initial=INITIAL,
        solution=put("right"),
        alternatives=[put("scanned")],
        misses=[
            Miss("all_headers", "lets every object depend on every header", put("coarse"), ["test_exact_rebuilds"]),
            Miss(
                "always_generates",
                "makes the headers anew each time",
                put("always"),
                ["test_nothing_to_do", "test_exact_rebuilds"],
            ),
            Miss(
                "serial_only",
                "does not order generating before compiling",
                put("serial"),
                ["test_fresh_parallel_build"],
            ),
            Miss("fixed_lists", "writes down the dependencies of today", put("static"), ["test_new_include"]),
        ],
        requirements=[
            (said["state"], goals),
            (said["fresh"], goals[:1]),
            (said["exact"], goals[1:3]),
            (said["follow"], goals[3:]),
            (said["keep"], ["test_sources_kept"]),
        ],
        knobs={"sources": len(sources), "headers": len(heads), "generated": len(made)},
    )


FAMILY = Family(
    name="incremental_build",
    domain="software_engineering",
    verifier=Verifier.EXACT_TEXT,
    skills=("make", "dependency tracking", "generated files", "parallel builds"),
    difficulties=(Difficulty.MEDIUM, Difficulty.HARD),
    capacity=32,
    draft=draft,
)
