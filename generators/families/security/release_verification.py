"""Verify a release folder: signed checksum manifests in several formats, a revoked key, altered and renamed files."""

from __future__ import annotations

import json
from dataclasses import dataclass

from generators.families.security._release_verification import Entry, Manifest, Release, hexdigest, judge, manifest_text
from generators.family import Draft, Draw, Family, Miss, Setting, load_settings, load_words, resource
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling. `keys`: report keys for manifests, good, altered, renamed, unverified, missing."""

    base: str
    folders: tuple[str, str, str, str]  # files, manifests, keys, quarantine
    report: str
    products: tuple[str, ...]
    ending: str
    signers: tuple[str, str, str]
    keys: tuple[str, str, str, str, str, str]


SETTINGS = load_settings(__file__, World)
WORDS = load_words(__file__, "wordings.yaml")
VOICES = WORDS["voices"]
RULES: dict[str, list[str]] = WORDS["rules"]
OUTPUT = WORDS["output"]
ACTIONS = WORDS["actions"]
GUARDS = WORDS["guards"]
TESTS = resource(__file__, "tests.py")
INITIAL = resource(__file__, "initial.py")
# Makes key pairs and signatures; the private keys never outlive the build step. The plan is hex so that it answers nothing.
SETUP = resource(__file__, "setup.py")
PYTHON = resource(__file__, "solution.sh")
SHELL = resource(__file__, "alternative.sh")


def draw_release(draw: Draw, world: World) -> Release:
    """Manifests of every kind, and files with every fate."""
    medium = draw.difficulty is Difficulty.MEDIUM
    revoked, first, second = world.signers
    files: dict[str, str] = {}
    manifests: list[Manifest] = []

    def artifact(product: str) -> tuple[str, str]:
        while True:
            name = f"{product}-{draw.between(1, 9)}.{draw.between(0, 30)}{draw.pick(('', '', '-rc1', '-hotfix'))}{world.ending}"
            if name not in files:
                break
        files[name] = "".join(draw.rng.choices("0123456789abcdefghijklmnop\n", k=draw.between(90, 260)))
        return name, files[name]

    kinds = [
        ("sha256", "gnu", first, False),
        ("mixed", "bsd", second, False),
        ("sha256", "gnu", revoked, False),
        ("sha256", "bsd", first, True),
    ]
    if medium:
        kinds += [
            ("sha512", "json", first, False),
            ("md5", "gnu", second, False),
            ("sha512", "gnu", "outsider", False),
            ("sha512", "gnu", second, False),
            ("blake2b", "bsd", "", False),
        ]
    for number, (algorithm, style, signer, edited) in enumerate(kinds):
        product = world.products[number % len(world.products)]
        entries: list[Entry] = []
        for turn in range(draw.between(4, 5)):
            used = (
                ("sha256", "sha512", "md5")[turn % 3]
                if algorithm == "mixed" and medium
                else "sha256"
                if algorithm == "mixed"
                else algorithm
            )
            entries.append(Entry(used, *artifact(product)))
        suffix = "json" if style == "json" else algorithm if style == "gnu" else draw.pick(("txt", "sums"))
        manifests.append(Manifest(f"{product}-{number + 1}.{suffix}", style, signer, edited, entries))
    one, two, old, forged = manifests[:4]
    names = [entry.name for entry in one.entries]
    files[names[0]] = files[names[0]][:-1] + "!"  # altered, and a forged list says it is right
    forged.entries.append(Entry("sha256", names[0], files[names[0]]))
    old.entries.append(Entry("sha256", names[1], files[names[1]] + "?"))  # a revoked list contradicts a good file
    del files[names[2]]
    files[names[3].replace(world.ending, "-final" + world.ending)] = files.pop(names[3])
    two.entries.append(Entry("sha256", two.entries[0].name, files[two.entries[0].name]))
    two.entries.append(Entry("sha256", two.entries[3].name, files[two.entries[3].name] + "."))  # two lists disagree
    files["copy-of-" + two.entries[0].name] = files[two.entries[0].name]
    files["README" + world.ending] = f"see {names[1]}\n"
    if medium:
        sri, weak, foreign = manifests[4:7]
        del files[sri.entries[1].name]
        files["old_" + sri.entries[2].name] = files.pop(sri.entries[2].name)
        files[foreign.entries[0].name] += "x"
        weak.entries.append(Entry("md5", sri.entries[0].name, "something else"))  # MD5 cannot make a good file bad
    for manifest in manifests:
        manifest.entries = draw.shuffled(manifest.entries)
    return Release(files, manifests)


def draft(draw: Draw) -> Draft:
    """One release."""
    world = draw.setting(SETTINGS)
    medium = draw.difficulty is Difficulty.MEDIUM
    release = draw_release(draw, world)
    files, sums, ring, held = world.folders
    report = f"{world.base}/{world.report}"
    texts = {manifest.name: manifest_text(draw, manifest) for manifest in release.manifests}
    statuses = ("revoked", "current", "current")
    rows = draw.shuffled([f"{key},{key}.pem,{status}\n" for key, status in zip(world.signers, statuses, strict=True)])
    keyring = "id,file,status\n" + "".join(rows)
    place = f"{world.base}/{sums}"
    plan = {
        "ring": f"{world.base}/{ring}",
        "makers": [*world.signers, "outsider"],
        "public": list(world.signers),
        "sign": [
            (
                manifest.signer,
                "/setup/draft" if manifest.edited else f"{place}/{manifest.name}",
                f"{place}/{manifest.name}",
            )
            for manifest in release.manifests
            if manifest.signer
        ],
    }
    words = dict(zip(("manifests", "good", "altered", "renamed", "unverified", "missing"), world.keys, strict=True))
    words |= {"base": world.base, "files": files, "sums": sums, "ring": ring, "held": held, "report": report}
    blanks = dict(words)
    words["json"] = ', and JSON with integrity strings "algorithm-base64"' if medium else ""
    words["algorithms"] = ", SHA-512 and BLAKE2b with 512 bits" if medium else ""
    turns = (draw.serial, draw.serial // 3)
    rules = {name: options[turns[n % 2] % 3].format(**words) for n, (name, options) in enumerate(RULES.items())}
    output, actions = OUTPUT[draw.serial // 2 % 3].format(**words), ACTIONS[draw.serial % 3].format(**words)
    guard = GUARDS[draw.serial // 3 % 3]
    instruction = VOICES[draw.serial % 4].format(
        firm=draw.pick(FIRMS),
        scenario=world.scenario,
        base=world.base,
        persona=world.persona,
        output=output,
        actions=actions,
        guard=guard,
        rules=" ".join(rules.values()) if draw.serial % 3 else "\n".join(f"* {text}" for text in rules.values()),
    )
    context = {f"files/{name}": content for name, content in release.files.items()}
    context |= {f"sums/{name}": text for name, text in texts.items()}
    context |= {
        "ring/keyring.csv": keyring,
        "setup/plan": json.dumps(plan).encode().hex(),
        "setup/make.py": SETUP,
    }
    judged, named, renamed, clean = goals = [
        "test_manifests_are_judged",
        "test_files_are_judged",
        "test_renamed_and_missing",
        "test_release_is_clean",
    ]
    verdict = judge(release, world.signers[0])
    solution = PYTHON.replace("@SPEC@", json.dumps(blanks))
    return Draft(
        title=f"Verify the {world.scenario}",
        setting=world,
        instruction=instruction,
        files=context,
        dockerfile=f"COPY files {world.base}/{files}/\nCOPY sums {world.base}/{sums}/\nCOPY ring {world.base}/{ring}/\nCOPY setup /setup/\n"
        f"RUN mkdir {world.base}/{held} && python3 /setup/make.py && rm -r /setup\nWORKDIR {world.base}",
        truth={
            "base": world.base,
            "folders": list(world.folders),
            "keys": list(world.keys),
            "report": report,
            **verdict,
            "inputs": {f"{sums}/{name}": hexdigest("sha256", text) for name, text in texts.items()}
            | {f"{ring}/keyring.csv": hexdigest("sha256", keyring)},
        },
        discoverable=("base", "folders", "keys", "report", *verdict),
        tests=TESTS,
        weights={judged: 0.2, named: 0.35, renamed: 0.2, clean: 0.25},
        guards=["test_manifests_unchanged"],
        initial=INITIAL,
        solution=solution,
        alternatives=[SHELL.format(**words)],
        misses=[
            Miss(
                "signatures_unchecked",
                "believes every manifest that has a signature",
                solution.replace("verified(key, manifest)", "os.path.exists(manifest + '.sig')"),
                goals,
            ),
            Miss(
                "revoked_key_accepted",
                "does not look at the key's status",
                solution.replace('status == "current"', "True"),
                [judged, named, clean],
            ),
            Miss(
                "any_entry_is_enough",
                "calls a file good if one list agrees",
                solution.replace("all(agrees(name, e) for e in mine)", "any(agrees(name, e) for e in mine)"),
                [named, clean],
            ),
            Miss("nothing_moved", "reports only", solution.replace("shutil.move(", "print("), [clean]),
            Miss(
                "renamed_as_missing",
                "does not look at contents",
                solution.replace("elif proper:", "elif None:"),
                [renamed, named, clean],
            ),
        ],
        requirements=[
            (rules["layout"], goals),
            (rules["signature"], [judged, named]),
            (rules["formats"], [named, renamed]),
            (rules["entries"], [named, renamed]),
            (rules["good"], [named, clean]),
            (rules["renamed"], [named, renamed]),
            (rules["missing"], [renamed]),
            (output, [judged, named, renamed]),
            (actions, [clean]),
            (guard, ["test_manifests_unchanged"]),
        ],
        knobs={
            "files": len(release.files),
            "manifests": len(texts),
            "formats": 3 if medium else 2,
            "weak_hash": medium,
        },
    )


FAMILY = Family(
    name="release_verification",
    domain="security",
    verifier=Verifier.EXACT_TEXT,
    skills=("signature verification", "checksum formats", "hashing", "json output"),
    difficulties=(Difficulty.EASY, Difficulty.MEDIUM),
    capacity=48,
    draft=draft,
    command_complexity="code",
)
