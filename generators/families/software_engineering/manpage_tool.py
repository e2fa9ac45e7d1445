"""Write a line filter to its manual page: combined flags, attached values, --, standard input, exit codes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from generators.families.software_engineering._manpage_tool import parse, reference_source, transform
from generators.family import Draft, Draw, Family, Miss, Setting, load_settings, load_words, resource
from generators.task import Difficulty, Verifier
from generators.vocabulary import CITIES, FIRMS

# role of an option to its letter, "long:role" to its long name; "missing" and "usage" are exit codes
Page = dict[str, str]


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    folder: str
    tool: str
    text: str


SETTINGS = load_settings(__file__, World)
WORDS = load_words(__file__, "wordings.yaml")
DESCRIPTIONS: dict[str, str] = WORDS["descriptions"]
ARGUMENT: dict[str, str] = WORDS["arguments"]
FLAGS = ("blank", "upper", "number", "reverse")
MANUAL = resource(__file__, "manual.txt")
TESTS = resource(__file__, "tests.py")
INITIAL = resource(__file__, "initial.py")
SOLUTION = resource(__file__, "solution.pl")
ALTERNATIVE = resource(__file__, "alternative.py")


def manual(world: World, page: Page, roles: list[str]) -> str:
    """The manual page."""
    name = world.tool.rsplit("/", 1)[1]
    flags = "".join(page[role] for role in roles if role in FLAGS)
    values = " ".join(f"[-{page[role]} {ARGUMENT[role]}]" for role in roles if role in ARGUMENT)
    long = "long:blank" in page
    options = ""
    for role in (role for role in DESCRIPTIONS if role in roles):
        argument = ARGUMENT.get(role, "")
        names = f"-{page[role]}{' ' + argument if argument else ''}"
        names += f", --{page['long:' + role]}{'=' + argument if argument else ''}" if long else ""
        options += f"       {names}\n              {DESCRIPTIONS[role]}\n"
    return MANUAL.format(
        name=name,
        flags=flags,
        values=values,
        options=options,
        long=" " + WORDS["long"] if long else "",
        missing=page["missing"],
        usage=page["usage"],
    )


def make_page(draw: Draw, roles: list[str], long: bool) -> Page:
    """Letters and names for the options."""
    letters = draw.sample("abcdefgiklmopqrstuvwxyzABDEFLNRSTW", len(roles))
    missing, usage = draw.pick((("1", "2"), ("3", "4"), ("1", "64"), ("66", "64")))
    # the blanks behind the exit codes keep them apart from letters
    page: Page = {**dict(zip(roles, letters, strict=True)), "missing": missing + " ", "usage": usage + " "}
    if long:
        page |= {f"long:{role}": draw.pick(WORDS["long_names"][role].split()) for role in roles}
    return page


def draw_arguments(draw: Draw, page: Page, roles: list[str]) -> list[str]:
    """A correct choice of options in a drawn spelling."""
    words: list[str] = []
    flags = [page[role] for role in draw.sample([role for role in roles if role in FLAGS], draw.between(0, 2))]
    for role in draw.shuffled([role for role in roles if role in ARGUMENT])[: draw.between(1, 2)]:
        value = {"join": draw.pick((", ", "-", "", "--")), "delimiter": draw.pick((":", " ", "-"))}.get(
            role, str(draw.between(1, 9))
        )
        shape = draw.between(0, 4 if "long:blank" in page else 2)
        if shape == 0 and value:
            words += [f"-{page[role]}{value}"]
        elif shape == 3:
            words += [f"--{page['long:' + role]}={value}"]
        elif shape == 4:
            words += [f"--{page['long:' + role]}", value]
        else:
            words += [f"-{''.join(flags)}{page[role]}", value]
            flags = []
    return [*words, "-" + "".join(flags)] if flags else words


def make_cases(draw: Draw, page: Page, roles: list[str], files: dict[str, str]) -> dict[str, list[dict[str, object]]]:
    """Calls of the tool with what they have to give."""
    stdin = "\n".join(draw.sample(CITIES, 4)) + "\n \n" + draw.pick(("last", "last\n"))

    def case(arguments: list[str]) -> dict[str, object]:
        parsed = parse(page, arguments)
        code, out = int(page["usage"]), ""
        if parsed:
            names = parsed[1] or ["-"]
            out = transform(
                parsed[0], [stdin if name == "-" else files[name] for name in names if name == "-" or name in files]
            )
            code = 0 if all(name == "-" or name in files for name in names) else int(page["missing"])
        return {"arguments": arguments, "stdin": stdin, "code": code, "out": out}

    blank, upper, number, head = (page[role] for role in ("blank", "upper", "number", "head"))
    options = [
        draw_arguments(draw, page, roles) + draw.sample(["a.txt", "b.txt", "empty.txt"], draw.between(0, 2))
        for _ in range(7)
    ]
    options += [
        [f"-{blank}{upper}{number}", "a.txt"],
        [f"-{number}{head}2", "a.txt", "b.txt"],
        [f"-{head}", "1", f"-{head}", "3", "a.txt"],
    ]
    operands = [
        [],
        ["-"],
        ["b.txt", "-", "a.txt"],
        ["--", "-x.txt"],
        ["a.txt", f"-{upper}"],
        ["none.txt", "b.txt"],
        [f"-{upper}", "--", "a.txt"],
        ["empty.txt"],
        [f"-{number}", "-", "-x.txt"],
    ]
    usage = [
        ["-Z"],
        [f"-{upper}Z", "a.txt"],
        [f"-{head}"],
        [f"-{head}", "0", "a.txt"],
        [f"-{head}x", "a.txt"],
        [f"-{head}", "-1"],
        [f"-{head}", "--", "a.txt"],
    ]
    if "join" in roles:
        options.append([f"-{page['join']}", "--", "b.txt"])
        options.append([f"-{page['join']}", "", f"-{page['reverse']}", "b.txt"])
    if "field" in roles:
        options.append([f"-{page['field']}2", f"-{page['delimiter']}:", "a.txt"])
        name = page["long:upper"]
        usage += [[f"--{name}=1"], [f"--{name}x"], [f"-{page['delimiter']}", "ab"], [f"--{page['long:head']}"]]
    return {
        "options": [case(words) for words in options],
        "operands": [case(words) for words in operands],
        "usage": [case(words) for words in usage],
    }


def draft(draw: Draw) -> Draft:
    """One tool."""
    world = draw.setting(SETTINGS)
    count = draw.by_difficulty(easy=4, medium=7, hard=9)
    roles = ["blank", "upper", "number", "head", "reverse", "width", "join", "field", "delimiter"][:count]
    page = make_page(draw, roles, draw.difficulty is Difficulty.HARD)
    names = draw.sample(CITIES, 10)
    files = {
        "a.txt": f"{names[0]}:{names[1]}\n\n{names[2]}\t{names[3]}: x\n \t \n{names[4]}\n{names[5]}:\n",
        "b.txt": f"\n{names[6]}\n{names[7]} - {names[8]}\n{names[9]}",
        "-x.txt": "dash\nfile\n",
        "empty.txt": "",
    }
    cases = make_cases(draw, page, roles, files)
    text = manual(world, page, roles)
    truth = {
        "tool": world.tool,
        "manual": f"{world.folder}/MANPAGE",
        "digest": hashlib.sha256(text.encode()).hexdigest(),
        "files": files,
        "cases": cases,
    }
    places = {"tool": world.tool, "folder": world.folder}
    places |= {"missing": page["missing"].strip(), "usage": page["usage"].strip()}
    said = {name: words.format(**places) for name, words in WORDS["sentences"][draw.serial % 3].items()}
    instruction = world.text.format(
        number=draw.between(100, 999),
        firm=draw.pick(FIRMS),
        persona=world.persona,
        tool=world.tool,
        scenario=world.scenario,
        **said,
    )
    program = SOLUTION.replace("@PAGE@", ", ".join(f"'{role}', '{word.strip()}'" for role, word in page.items()))
    other = ALTERNATIVE.replace("@PAGE@", repr(page)).replace("@REFERENCE@", reference_source())

    def install(source: str) -> str:
        return (
            f"mkdir -p {world.tool.rsplit('/', 1)[0]}\n"
            f"cat > {world.tool} <<'EOF'\n{source}EOF\n"
            f"chmod 755 {world.tool}\n"
        )

    def change(old: str, new: str) -> str:
        assert old in program, old
        return install(program.replace(old, new))

    goals = ["test_options", "test_operands", "test_usage_errors"]
    return Draft(
        title=f"Rebuild the line filter of the {world.scenario} jobs from its manual page",
        setting=world,
        instruction=instruction,
        files={"MANPAGE": text},
        dockerfile=f"COPY MANPAGE {world.folder}/\nWORKDIR {world.folder}",
        truth=truth,
        discoverable=("tool", "manual", "files", "cases"),
        tests=TESTS,
        weights={"test_options": 0.4, "test_operands": 0.3, "test_usage_errors": 0.3},
        guards=["test_manual_kept"],
        initial=INITIAL,
        solution=install(program),
        alternatives=[install(other)],
        misses=[
            Miss(
                "one_flag_a_word",
                "does not take combined flags or attached values",
                change("substr $word, 1;", "substr $word, 1, 1;"),
                ["test_options"],
            ),
            Miss(
                "dash_is_a_file",
                "treats - as a file name",
                change("if ($name eq '-') {", "if ($name eq '-' && !@words) {"),
                ["test_operands"],
            ),
            Miss(
                "gives_up",
                "stops at the first file it cannot read",
                change("$code = $page{missing};", "exit $page{missing};"),
                ["test_operands"],
            ),
            Miss(
                "trusting",
                "accepts zero and words as numbers",
                change("usage() if $chosen{$role} !~ /^[0-9]+\\z/ || $chosen{$role} == 0;", "no warnings;"),
                ["test_usage_errors"],
            ),
        ],
        requirements=[
            *((said[name], goals) for name in ("make", "page", "codes")),
            (said["keep"], ["test_manual_kept"]),
        ],
        knobs={"options": page, "count": count},
    )


FAMILY = Family(
    name="manpage_tool",
    domain="software_engineering",
    verifier=Verifier.FUZZ_EQUIVALENCE,
    skills=("command-line interfaces", "argument parsing", "text processing", "reading a specification"),
    difficulties=(Difficulty.EASY, Difficulty.MEDIUM, Difficulty.HARD),
    capacity=64,
    draft=draft,
)
