"""Tables from PDB-like coordinate files: models, alternate locations, insertion codes, occupancies, contacts."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from generators.families.scientific_computing._structure_files import Atom, line, measure
from generators.family import Draft, Draw, Family, Miss, Setting, load_settings, load_words, resource
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS, HOST_WORDS


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    folder: str
    what: str
    table: str
    pairs: str
    ending: str
    text: str


SETTINGS = load_settings(__file__, World)
WORDINGS: Mapping[str, tuple[str, str, str]] = load_words(__file__, "wordings.yaml")
SENTENCES = ("files", "format", "models", "records", "alternates", "residues", "table", "pairs", "keep")
TESTS = resource(__file__, "tests.py")
PAIR_TESTS = resource(__file__, "tests_pairs.py")
INITIAL = resource(__file__, "initial.py")
SOLUTION = resource(__file__, "solution.sh")
ALTERNATIVE = resource(__file__, "alternative.sh")

STEPS = ((3800, 0, 0), (2700, 2650, 300), (2200, 2200, 2190), (3300, 1200, 1450), (1000, 3600, 700))
RESIDUE_NAMES = "ALA GLY SER LEU VAL LYS GLU ASP PHE TRP"


def filled(script: str, words: Mapping[str, str]) -> str:
    """A script with its @NAMES@ replaced."""
    for name, value in words.items():
        script = script.replace(f"@{name}@", value)
    return script


def wrong(script: str, old: str, new: str) -> str:
    """A solution with one mistake."""
    if old not in script:
        raise ValueError(f"the solution does not contain {old!r}")
    return script.replace(old, new)


def draw_chain(draw: Draw, chain: str, origin: tuple[int, int, int], length: int, limit: int, deep: bool) -> list[Atom]:
    """A chain with a break, inserted residues, alternate locations, and an MSE residue."""
    atoms: list[Atom] = []
    x, y, z = origin
    number, insertion = draw.pick((17, 95, 996)), ""
    for place in range(length):
        if place:
            step = draw.pick(STEPS)
            scale = 1000 * (limit + draw.between(300, 2500)) // 3700 if place == 4 else 1000
            x, y, z = x + step[0] * scale // 1000, y + step[1] * scale // 1000, z + step[2] * scale // 1000
        if place in (2, 3):  # 18, 18A, 18B
            insertion = "AB"[place - 2]
        elif place:
            number, insertion = number + (draw.between(2, 5) if place == 6 else 1), ""
        residue, record = draw.pick(RESIDUE_NAMES.split()), "ATOM"
        if place == 5 and deep:
            residue, record = "MSE", "HETATM"
        for name in ("N", "CA", "C", "O") if residue == "GLY" else ("N", "CA", "C", "O", "CB"):
            mixed = draw.rng.randrange(2201 * 2201 * 1801 * 5201)  # one draw instead of four
            mixed, b = divmod(mixed, 5201)
            mixed, dz = divmod(mixed, 1801)
            dx, dy = divmod(mixed, 2201)
            b += 800
            spot = (x, y, z) if name == "CA" else (x + dx - 1100, y + dy - 1100, z + dz - 900)
            if place == 1 or (place == 7 and name in ("CA", "O")):
                occupancies = (50, 50) if place == 7 and name == "O" else draw.pick(((35, 65), (30, 70), (40, 60)))
                # file order is not the order of the letters
                for letter, occupancy in zip("BA" if place == 7 else "AB", occupancies, strict=True):
                    moved = (spot[0] + draw.between(200, 600), spot[1], spot[2] - draw.between(100, 500))
                    shifted = moved if letter == "B" else spot
                    atoms.append(
                        Atom(
                            record,
                            name,
                            letter,
                            residue,
                            chain,
                            number,
                            insertion,
                            shifted,
                            occupancy,
                            b + ord(letter) * 7,
                        )
                    )
            else:
                atoms.append(Atom(record, name, " ", residue, chain, number, insertion, spot, 100, b))
    for _ in range(2):
        atoms.append(
            Atom("HETATM", "O", " ", "HOH", chain, number + draw.between(30, 90), "", (x + 900, y, z + 900), 100, 3000)
        )
    return atoms


def swollen(atom: Atom, percent: int) -> Atom:
    """The atom in another model: the whole structure is larger by this, and warmer."""
    x, y, z = atom.place
    place = (x + x * percent // 100, y + y * percent // 100, z + z * percent // 100)
    return replace(atom, place=place, b=atom.b + 150 * percent)


def structure(draw: Draw, number: int, limit: int, deep: bool) -> tuple[str, list[Atom]]:
    """A file and the atoms of the model that counts in it."""
    length = draw.by_difficulty(easy=8, medium=9)
    letters = draw.sample("ABCDEHLXY", draw.between(2, 3))
    origin = (-draw.between(100_000, 140_000), -draw.between(100_000, 130_000), draw.between(-90_000, 90_000))
    atoms: list[Atom] = []
    for place, letter in enumerate(letters):
        start = (origin[0] + place * 2500, origin[1] - place * 3900, origin[2] + place * 700)
        atoms += draw_chain(draw, letter, start, length, limit, deep)
    models = [atoms]
    for number_of_model in range(1, 1 if number % 3 == 0 else draw.between(2, 3)):
        models.append([swollen(atom, number_of_model) for atom in atoms])
    text = f"HEADER    STRUCTURE {number + 1}\n"
    chosen = 0
    if deep and len(models) > 1 and number == 1:
        chosen = len(models) - 1
        text += f"REMARK BEST MODEL {chosen + 1}\n"
    for place, atoms in enumerate(models):
        body = "".join(line(serial, atom) for serial, atom in enumerate(atoms, 1))
        text += body if len(models) == 1 else f"MODEL     {place + 1:4d}\n{body}ENDMDL\n"
    return text + "END\n", models[chosen]


def draft(draw: Draw) -> Draft:
    """One set of structures."""
    world = draw.setting(SETTINGS)
    deep = draw.difficulty is not Difficulty.EASY
    limit, reach = draw.between(4100, 4400), draw.between(3600, 4600)
    count = 3
    names = [f"{word}{draw.between(1, 99)}.{world.ending}" for word in sorted(draw.sample(HOST_WORDS, count))]
    files: dict[str, str] = {}
    chains: list[list[object]] = []
    contacts: list[list[object]] = []
    for number, name in enumerate(names):
        files[name], atoms = structure(draw, number, limit, deep)
        rows, pairs = measure(name, atoms, limit, reach, deep)
        chains += rows
        contacts += pairs
    place = SETTINGS.index(world)

    def kind(number: int) -> int:  # the wording of a sentence: no two settings have the same mixture
        return (place + number * (place // 3)) % 3

    words = {
        "folder": world.folder, "ending": world.ending, "table": world.table, "pairs": world.pairs,
        "limit": f"{limit / 1000:.3f}", "reach": f"{reach / 1000:.3f}",
        "best": WORDINGS["best"][kind(0)] if deep else "", "mse": WORDINGS["mse"][kind(1)] if deep else "",
    }  # fmt: skip
    parts = {name: WORDINGS[name][kind(number)].format(**words) for number, name in enumerate(SENTENCES)}
    parts["pairs"] = f" {parts['pairs']}" if deep else ""
    instruction = world.text.format(
        firm=draw.pick(FIRMS), persona=world.persona, ticket=draw.between(100, 9999), what=world.what, **parts
    )
    script_words = {
        "FOLDER": world.folder, "ENDING": world.ending, "TABLE": world.table, "PAIRS": world.pairs,
        "LIMIT": f"{limit / 1000:.3f}", "REACH": f"{reach / 1000:.3f}", "DEEP": "1" if deep else "0",
    }  # fmt: skip
    solution = filled(SOLUTION, script_words)
    goals = ["test_counts", "test_measures"]
    misses = [
        Miss("all_models", "reads every model", wrong(solution, "if numbers and model != wanted:", "if False:"), goals[1:]),
        Miss("first_alternate", "keeps whichever alternate comes first",
             wrong(solution, "if key not in atoms or value < atoms[key]:", "if key not in atoms:"), goals[1:]),
        Miss("all_alternates", "counts alternates as atoms",
             wrong(solution, "l[12:16].strip())", 'l[12:16].strip() + l[16].replace("A", "").strip())'), goals),
        Miss("no_insertions", "ignores insertion codes", wrong(solution, "l[22:27]", "l[22:26]"), goals),
    ]  # fmt: skip
    if deep:
        misses += [
            Miss("alpha_contacts", "measures between CA atoms only",
                 wrong(solution, "for p in a.values() for q in b.values()", 'for p in [a["CA"]] for q in [b["CA"]]'), ["test_contacts"]),
            Miss("no_mse", "drops MSE residues", wrong(solution, '== "MSE"', '== "?"'), goals),
            Miss("first_model", "overlooks the best model", wrong(solution, "best[0] if best else ", ""), goals[1:]),
        ]  # fmt: skip
    tests = [*goals, "test_contacts"] if deep else goals
    return Draft(
        title=f"Tables of {world.scenario}",
        setting=world,
        instruction=instruction,
        files=files,
        dockerfile=f"COPY {' '.join(sorted(files))} {world.folder}/\nWORKDIR {world.folder}",
        truth={
            "folder": world.folder,
            "table": world.table,
            "pairs": world.pairs,
            "chains": chains,
            "contacts": contacts,
            "inputs": {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()},
        },
        discoverable=("folder", "table", "pairs", "chains", "contacts"),
        tests=f"{TESTS}\n\n{PAIR_TESTS}" if deep else TESTS,
        weights={"test_counts": 0.35, "test_measures": 0.3, "test_contacts": 0.35}
        if deep
        else {"test_counts": 0.6, "test_measures": 0.4},
        guards=["test_structures_unchanged"],
        initial=INITIAL,
        solution=solution,
        alternatives=[filled(ALTERNATIVE, script_words)],
        misses=misses,
        requirements=[
            *((parts[name], tests) for name in ("files", "format", "models", "records", "alternates", "residues")),
            (parts["table"], goals),
            *([(parts["pairs"].strip(), ["test_contacts"])] if deep else []),
            (parts["keep"], ["test_structures_unchanged"]),
        ],
        knobs={"files": count, "contacts": len(contacts), "deep": deep},
    )


FAMILY = Family(
    name="structure_files",
    domain="scientific_computing",
    verifier=Verifier.EXACT_TEXT,
    skills=("fixed-column parsing", "structural biology files", "geometry", "csv output"),
    difficulties=(Difficulty.EASY, Difficulty.MEDIUM),
    capacity=24,
    draft=draft,
)
