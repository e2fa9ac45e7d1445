"""Write a filter against log injection: control characters, bad UTF-8, terminal sequences, secrets, length caps; idempotent."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from generators.families.security._log_sanitizer import Spec, draw_runs
from generators.family import Draft, Draw, Family, Miss, Setting, load_settings, load_words, resource
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling: program, sample, printf forms of escaped bytes and characters, secret keys."""

    program: str
    sample: str
    forms: tuple[str, str]
    secrets: tuple[str, str, str]


SETTINGS = load_settings(__file__, World)
WORDS = load_words(__file__, "wordings.yaml")
VOICES = WORDS["voices"]
RULES: dict[str, list[str]] = WORDS["rules"]
GUARDS = WORDS["guards"]
TESTS = resource(__file__, "tests.py")
INITIAL = resource(__file__, "initial.py")
PERL = resource(__file__, "solution.pl")
PYTHON = resource(__file__, "alternative.py")


def draft(draw: Draw) -> Draft:
    """One filter."""
    world = draw.setting(SETTINGS)
    hard = draw.difficulty is Difficulty.HARD
    cap = draw.between(60, 140)
    spec = Spec(*world.forms, world.secrets, cap, cap - 12, hard)
    runs = [(group, data.hex(), spec.filter(data).hex()) for group, data in draw_runs(draw, spec)]
    sample = b"".join(data for group, data in draw_runs(draw, spec) if group in ("bytes", "sequences"))
    one, two, three = world.secrets
    forms = [shown(form, code) for form, code in zip(world.forms, (0x1B, 0x9C), strict=True)]
    words = {
        "byte_form": f"{forms[0]} (that is for 0x1b; two hex digits in this case of letters)",
        "char_form": f"{forms[1]} (that is for U+009C; four digits)",
        "secrets": f"{one}, {two} and {three}",
        "cap": str(cap),
        "keep": str(cap - 12),
        "c1": " or U+009B" if hard else "",
        "bidi": " and likewise U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069 and U+FEFF" if hard else "",
        "empty": "; a record that is empty now is not written at all"
        if hard
        else "; empty records stay as empty lines",
        "quoted": '. A value that begins with " ends after the next ", or at the end if there is none, '
        'and is replaced by "***" with its quotes'
        if hard
        else "",
    }
    turns = (draw.serial, draw.serial // 3)
    rules = {name: options[turns[n % 2] % 3].format(**words) for n, (name, options) in enumerate(RULES.items())}
    guard = GUARDS[draw.serial % 3]
    listed = [f"{number}. {text}" for number, text in enumerate(rules.values(), 1)]
    instruction = VOICES[draw.serial % 4].format(
        firm=draw.pick(FIRMS),
        program=world.program,
        scenario=world.scenario,
        sample=world.sample,
        persona=world.persona,
        guard=guard,
        rules="\n".join(listed if draw.serial % 2 else rules.values()),
    )
    raw, sequences, secrets, lengths, twice = goals = [
        "test_bytes_and_controls",
        "test_terminal_sequences",
        "test_secrets",
        "test_lengths_and_ends",
        "test_idempotence",
    ]
    checks = {
        "records": [lengths],
        "decode": [raw],
        "sequences": [sequences],
        "secrets": [secrets],
        "controls": [raw, sequences],
    }
    checks |= {"blanks": [lengths], "cap": [lengths], "idempotent": [twice], "tab": [raw, secrets]}
    solution = install(world, PERL, spec)
    return Draft(
        title=f"A filter for {world.scenario}",
        setting=world,
        instruction=instruction,
        files={"sample": sample},
        dockerfile=f"COPY sample {world.sample}\nRUN mkdir -p {world.program.rsplit('/', 1)[0]}\nWORKDIR /root",
        truth={
            "program": world.program,
            "sample": world.sample,
            "digest": hashlib.sha256(sample).hexdigest(),
            "runs": json.dumps(runs),
        },
        discoverable=("program", "sample"),
        tests=TESTS,
        weights={raw: 0.25, sequences: 0.2, secrets: 0.2, lengths: 0.2, twice: 0.15},
        guards=["test_sample_unchanged"],
        initial=INITIAL,
        solution=solution,
        alternatives=[install(world, PYTHON, spec)],
        misses=[
            Miss(
                "replacement_characters",
                "lets the decoder replace bad bytes",
                solution.replace(f"sprintf('{spec.byte_form}', ord $1)", r'"\xef\xbf\xbd", 1'),
                [raw, twice],
            ),
            Miss(
                "only_colours",
                "removes colour sequences alone",
                solution.replace(r"[ -\/]*[@-~]", "m"),
                [sequences, twice],
            ),
            Miss(
                "any_word_end",
                "hides values after longer words too",
                solution.replace(r"$before !~ /[A-Za-z0-9_]\z/ && ", ""),
                [secrets],
            ),
            Miss(
                "cuts_anywhere",
                "cuts through written forms",
                solution.replace(
                    "@units = (@kept, [' [+' . ($size - $n) . ']']);",
                    "my $t = join '', map { $_->[0] } @units; utf8::decode($t); $t = substr $t, 0, $keep; "
                    "utf8::encode($t); @units = ([$t], [' [+' . ($size - $keep) . ']']);",
                ),
                [lengths],
            ),
            Miss(
                "bytes_counted",
                "counts bytes instead of characters",
                solution.replace("$size += $_->[1] // length $_->[0]", "$size += length $_->[0]"),
                [lengths],
            ),
        ],
        requirements=[*((text, checks[name]) for name, text in rules.items()), (guard, ["test_sample_unchanged"])],
        knobs={"runs": len(runs), "cap": cap, "quoted": hard, "bidi": hard, "goals": len(goals)},
    )


def shown(form: str, code: int) -> str:
    """A form filled in."""
    return form % code


def install(world: World, source: str, spec: Spec) -> str:
    """Bash that writes the program."""
    blanks = {
        "@BYTE@": spec.byte_form,
        "@CHAR@": spec.char_form,
        "@WORDS@": "|".join(spec.secrets),
        "@CAP@": str(spec.cap),
        "@KEEP@": str(spec.keep),
        "@HARD@": str(int(spec.hard)),
    }
    for blank, value in blanks.items():
        source = source.replace(blank, value)
    return f"cat > {world.program} <<'PROGRAM'\n{source}PROGRAM\nchmod 755 {world.program}\n"


FAMILY = Family(
    name="log_sanitizer",
    domain="security",
    verifier=Verifier.FUZZ_EQUIVALENCE,
    skills=("UTF-8 decoding", "terminal sequences", "text filtering", "idempotence"),
    difficulties=(Difficulty.MEDIUM, Difficulty.HARD),
    capacity=48,
    draft=draft,
    command_complexity="code",
)
