"""Verify a release folder: signed checksum manifests in several formats, a revoked key, altered and renamed files."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass

from generators.family import Draft, Draw, Family, Miss, Setting
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS

STRONG = {"sha256": 32, "sha512": 64, "blake2b": 64}


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


SETTINGS = (
    World("mirror", "mirror operator", "package mirror", "ticket", "/srv/mirror", ("pool", "sums", "trust", "held"),
          "report.json",
          ("ferris", "lumen", "okapi", "tarn", "vole", "quill"), ".pkg", ("rel-2022", "rel-2024", "rel-2025"),
          ("manifests", "good", "altered", "renamed", "unverified", "missing")),
    World("devices", "device fleet engineer", "router firmware release", "email", "/data/fw", ("images", "checks",
          "pubkeys", "jail"),
          "verdict.json", ("ax30", "bx55", "cx71", "dx12", "ex90", "fx44"), ".img", ("alpha", "bravo", "charlie"),
          ("signatures", "pass", "corrupt", "misnamed", "unknown", "absent")),
    World("games", "build master", "patch distribution", "chat", "/home/build/patches", ("out", "lists", "ring",
          "reject"), "check.json",
          ("isle", "rally", "siege", "orbit", "delve", "tempo"), ".pak", ("night", "noon", "dawn"),
          ("lists", "fine", "broken", "wrong_name", "unproven", "lost")),
    World("maps", "data steward", "map data publication", "specification", "/var/geo/publish", ("tiles", "indices",
          "signers", "aside"),
          "audit.json", ("north", "coast", "alps", "delta", "steppe", "fjord"), ".dat", ("k-101", "k-102", "k-103"),
          ("indices", "verified", "modified", "relabelled", "unverified", "not_delivered")),
    World("clinic", "medical device integrator", "device update bundle", "runbook", "/opt/updates/bundle",
          ("payload", "records", "certs", "blocked"), "result.json", ("pump", "monitor", "scanner", "ecg", "infuser",
          "vent"), ".bin",
          ("vendor-a", "vendor-b", "vendor-c"), ("records", "accepted", "tampered", "renamed", "unproven",
          "outstanding")),
    World("fonts", "type foundry admin", "font releases", "note", "/work/fonts", ("ship", "digests", "who", "bin"),
          "state.json",
          ("serif", "gothic", "mono", "brush", "didone", "slab"), ".fnt", ("press", "proof", "matrix"),
          ("digests", "ok", "changed", "moved", "open", "missing")),
    World("ledger", "exchange operator", "settlement software drop", "ticket", "/srv/settle/drop", ("in", "attest",
          "keys", "quarantine"),
          "drop.json", ("clear", "match", "route", "margin", "quote", "books"), ".jar", ("hsm1", "hsm2", "hsm3"),
          ("attestations", "clean", "tampered", "aliases", "unattested", "gaps")),
    World("sensors", "field engineer", "sensor firmware", "email", "/mnt/usb/release", ("fw", "hash", "pub",
          "suspicious"), "findings.json",
          ("buoy", "gauge", "anemo", "pyrano", "radar", "sonde"), ".hex", ("lab", "field", "plant"),
          ("lists", "sound", "damaged", "misfiled", "untrusted", "vanished")),
)  # fmt: skip
VOICES = (
    "{firm}: check the {scenario} in {base} before it goes out.\n\n{rules}\n\n{actions}\n{output}\n{guard}\n",
    "Hello,\n\nthe {scenario} of {firm} came back from the outside mirror and I do not trust {base} any more. Could "
    "you sort out what can be proven?\n\n"
    "{output}\n\n{rules}\n\n{actions}\n\n{guard}\n{persona}\n",
    "release check, {base} ({scenario})\n{guard}\n{rules}\n{output}\n{actions}\n",
    "Procedure: release check at {firm}\n1. Place: {base}, {scenario}.\n2. Rules: {rules}\n3. Record: {output}\n4. "
    "Clean-up: {actions}\n5. {guard}\n",
)
RULES = {
    "layout": (
        "{base}/{files} has the release, {base}/{sums} the checksum manifests and for most of them a detached "
        "signature NAME.sig, {base}/{ring} the public keys with "
        "keyring.csv saying which are current and which revoked.",
        "Release files are in {base}/{files}. Manifests are in {base}/{sums}, each with its detached signature in a "
        "file of the same name plus .sig, if it has one. Public "
        "keys are in {base}/{ring}, their status (current, revoked) in keyring.csv there.",
        "You find the files in {base}/{files}, the lists of checksums in {base}/{sums} (signature of NAME: NAME.sig, "
        "may be lacking) and in {base}/{ring} the keyring: "
        "keyring.csv gives id, PEM file and status, current or revoked.",
    ),
    "signature": (
        "A signature is ECDSA over the SHA-256 of the whole manifest and does not say whose it is. A manifest is "
        "valid if it verifies with a current key; one that only "
        "verifies with a revoked key is not, whenever it was made.",
        "Signatures are ECDSA with SHA-256 over the manifest's bytes, by a key that has to be found out. Only "
        "manifests that verify with a current key are valid; "
        "a revoked key proves nothing.",
        "To be valid, a manifest needs a signature (ECDSA, SHA-256, all bytes of the file) that some current key of "
        "the ring verifies; revoked keys are worthless, and the "
        "signer's name is not recorded.",
    ),
    "formats": (
        "Manifests are in GNU style (hex digest, blank, blank or asterisk, name), BSD style (ALGORITHM (name) = hex "
        "digest){json}; hex digits may be of either case, a "
        "leading ./ of a name does not count, lines may end in CR LF, and # starts a comment line.",
        "There is the GNU form 'digest  name' or 'digest *name' and the BSD form 'ALGORITHM (name) = digest'{json}. "
        "Case of hex digits, a ./ before the name and "
        "carriage returns at line ends are of no meaning; lines beginning with # are comments.",
        "Expect 'digest  name', 'digest *name' (GNU){json} and 'ALGORITHM (name) = digest' (BSD). Comments begin "
        "with #; ignore CR at line ends, upper or lower case "
        "in hex digits and ./ in front of names.",
    ),
    "entries": (
        "Only entries of valid manifests count, and of these only SHA-256{algorithms}; in GNU style the manifest's "
        "ending names the algorithm.",
        "Count entries of valid manifests alone, provided the algorithm is SHA-256{algorithms} (GNU style: see the "
        "file name's ending). Others might as well be absent.",
        "An entry counts when its manifest is valid and its algorithm is SHA-256{algorithms}, which for GNU style is "
        "told by the ending of the manifest's name.",
    ),
    "good": (
        "A release file is {good} if at least one entry counts for its name and its content agrees with all of them, "
        "and {altered} if it disagrees with any of them.",
        "{good} are files for whose name some entry counts and which match every one of these entries; {altered} are "
        "those which fail at least one.",
        "Where entries count for a file's name, the file is {good} if all of them match its content, else {altered}.",
    ),
    "renamed": (
        "A file for whose name no entry counts is {renamed} if its content agrees with a counting entry whose own "
        "name is not in the folder, otherwise {unverified}.",
        "Files without a counting entry of their name: {renamed} when a counting entry under another name, one that "
        "the folder lacks, has their content, "
        "{unverified} when not.",
        "If nothing counts for the name, look at the content: equal to that of a counting entry whose name is not "
        "present it is {renamed}, in any other case {unverified}.",
    ),
    "missing": (
        "{missing} are the names of counting entries that are not in the folder, except those found as {renamed}.",
        "A name in a counting entry that is neither in the folder nor found as {renamed} is {missing}.",
        "Names that counting entries ask for and that are absent are {missing}, unless their content turned up as "
        "{renamed}.",
    ),
}  # fmt: skip
OUTPUT = (
    "Write {report}, a JSON object: {manifests} maps each manifest's file name to the id of the current key that "
    "verifies it, to \"revoked\" if only a revoked key does, or to "
    "\"none\"; {good}, {altered}, {unverified} and {missing} are ascending lists of file names; {renamed} maps the "
    "name found to the name it should have.",
    "The findings go to {report} as a JSON object with six keys: {good}, {altered}, {unverified}, {missing} (sorted "
    "lists of names), {renamed} (object, present name to right name) "
    "and {manifests} (object, manifest name to the id of the verifying current key, \"revoked\" where it is a "
    "revoked key that verifies, \"none\" where no key does).",
    "{report} holds one JSON object. In {manifests} each manifest name has as its value the id of the current key "
    "which verifies the signature, or \"revoked\", or \"none\" if "
    "no key of the ring verifies it or there is no signature. {renamed} is an object from present to proper name. "
    "{good}, {altered}, {unverified}, {missing}: lists, ascending.",
)  # fmt: skip
ACTIONS = (
    "Afterwards {base}/{files} contains the {good} files and the {renamed} ones under their proper names; {altered} "
    "and {unverified} files are moved to {base}/{held}, names kept.",
    "Finally give {renamed} files their right names in place, and move what is {altered} or {unverified} into "
    "{base}/{held} under its present name, so that it is no longer in {base}/{files}.",
    "What is {altered} or {unverified} leaves {base}/{files} for {base}/{held} (same name). What is {renamed} gets "
    "its proper name and stays.",
)
GUARDS = (
    "Manifests and keyring must not change.",
    "Leave the manifests and keyring.csv as they are.",
    "Neither a manifest nor keyring.csv is edited.",
)

TESTS = """
import hashlib
from pathlib import Path

BASE = Path(TRUTH["base"])
FILES, SUMS, RING, HELD = TRUTH["folders"]
MANIFESTS, GOOD, ALTERED, RENAMED, UNVERIFIED, MISSING = TRUTH["keys"]


def report():
    return json.loads(Path(TRUTH["report"]).read_text())


def content(folder):
    found = [path for path in (BASE / folder).iterdir() if path.is_file()]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


def test_manifests_are_judged():
    assert report()[MANIFESTS] == TRUTH["manifests"]


def test_files_are_judged():
    got = report()
    assert got[GOOD] == TRUTH["good"]
    assert got[ALTERED] == TRUTH["altered"]
    assert got[UNVERIFIED] == TRUTH["unverified"]


def test_renamed_and_missing():
    got = report()
    assert got[RENAMED] == TRUTH["renamed"]
    assert got[MISSING] == TRUTH["missing"]


def test_release_is_clean():
    assert content(FILES) == TRUTH["kept"]
    assert content(HELD) == TRUTH["held"]


def test_manifests_unchanged():
    for name, digest in TRUTH["inputs"].items():
        assert hashlib.sha256((BASE / name).read_bytes()).hexdigest() == digest, name
"""
INITIAL = """
from pathlib import Path


def test_release_is_there_and_unchecked():
    base = Path(TRUTH["base"])
    assert all((base / name).is_file() for name in TRUTH["inputs"])
    assert not Path(TRUTH["report"]).exists()
    assert any((base / TRUTH["folders"][1]).glob("*.sig"))
"""
# Makes key pairs and signatures; the private keys never outlive the build step. The plan is hex so that it answers nothing.
SETUP = """
import json, os, subprocess
plan = json.loads(bytes.fromhex(open("/setup/plan").read()))
for key in plan["makers"]:
    subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "/setup/" + key], check=True)
for key in plan["public"]:
    subprocess.run(["openssl", "ec", "-in", "/setup/" + key, "-pubout", "-out", plan["ring"] + "/" + key + ".pem"],
                   check=True, capture_output=True)
for key, source, place in plan["sign"]:
    if source != place:
        text = open(place, "rb").read()
        with open(source, "wb") as out:
            out.write(text[1:] + b"#\\n")
    subprocess.run(["openssl", "dgst", "-sha256", "-sign", "/setup/" + key, "-out", place + ".sig", source], check=True)
"""


@dataclass(frozen=True)
class Entry:
    """A line of a manifest."""

    algorithm: str
    name: str
    content: str


@dataclass
class Manifest:
    """A manifest: who signs it (empty: nobody), whether it was edited after signing."""

    name: str
    style: str
    signer: str
    edited: bool
    entries: list[Entry]


@dataclass
class Release:
    """Everything that was drawn."""

    files: dict[str, str]
    manifests: list[Manifest]


def hexdigest(algorithm: str, content: str) -> str:
    """Digest of a text."""
    return hashlib.new(algorithm, content.encode()).hexdigest()


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
        ]
        kinds.append(("blake2b", "bsd", "", False))
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


def manifest_text(draw: Draw, manifest: Manifest) -> str:
    """A manifest in its style."""
    if manifest.style == "json":
        rows = [
            {
                "name": entry.name,
                "integrity": f"{entry.algorithm}-"
                + base64.b64encode(bytes.fromhex(hexdigest(entry.algorithm, entry.content))).decode(),
            }
            for entry in manifest.entries
        ]
        return json.dumps({"files": rows}, indent=1) + "\n"
    lines = [f"# {manifest.name}"]
    for entry in manifest.entries:
        digest, name = hexdigest(entry.algorithm, entry.content), draw.pick(("", "", "./")) + entry.name
        title = {"sha256": "SHA256", "sha512": "SHA512", "md5": "MD5", "blake2b": "BLAKE2b"}[entry.algorithm]
        lines.append(
            f"{digest} {draw.pick(' *')}{name}" if manifest.style == "gnu" else f"{title} ({name}) = {digest.upper()}"
        )
    end = draw.pick(("\n", "\r\n"))
    return end.join(lines) + end


def judge(release: Release, revoked: str) -> dict[str, object]:
    """The stated rules."""
    verdicts: dict[str, str] = {}
    counting: list[Entry] = []
    for manifest in release.manifests:
        known = manifest.signer not in ("", "outsider") and not manifest.edited
        verdicts[manifest.name] = "none" if not known else "revoked" if manifest.signer == revoked else manifest.signer
        if known and manifest.signer != revoked:
            counting += [entry for entry in manifest.entries if entry.algorithm in STRONG]
    good: list[str] = []
    altered: list[str] = []
    unverified: list[str] = []
    renamed: dict[str, str] = {}
    for name, content in sorted(release.files.items()):
        mine = [entry for entry in counting if entry.name == name]
        proper = sorted(
            entry.name for entry in counting if entry.content == content and entry.name not in release.files
        )
        if mine:
            (good if all(entry.content == content for entry in mine) else altered).append(name)
        elif proper:
            renamed[name] = proper[0]
        else:
            unverified.append(name)
    found = set(release.files) | set(renamed.values())
    missing = sorted({entry.name for entry in counting} - found)
    sha = {name: hexdigest("sha256", content) for name, content in release.files.items()}
    return {
        "manifests": verdicts,
        "good": good,
        "altered": altered,
        "unverified": unverified,
        "renamed": renamed,
        "missing": missing,
        "kept": {name: sha[name] for name in good} | {proper: sha[name] for name, proper in renamed.items()},
        "held": {name: sha[name] for name in [*altered, *unverified]},
    }


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
        "setup/make.py": SETUP.lstrip(),
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
            Miss(
                "nothing_moved",
                "reports only",
                solution.replace("shutil.move(", "print("),
                [clean],
            ),
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


PYTHON = r"""python3 - <<'PY'
import base64, csv, glob, hashlib, json, os, re, shutil, subprocess
K = json.loads('''@SPEC@''')
files, ring, held = (K["base"] + "/" + K[x] for x in ("files", "ring", "held"))
keys = [(r["id"], ring + "/" + r["file"], r["status"]) for r in csv.DictReader(open(ring + "/keyring.csv"))]
def verified(key, manifest):
    return subprocess.run(["openssl", "dgst", "-sha256", "-verify", key, "-signature", manifest + ".sig", manifest],
                          capture_output=True).returncode == 0
def entries(manifest):
    if manifest.endswith(".json"):
        for row in json.load(open(manifest))["files"]:
            for part in row["integrity"].split():
                algorithm, text = part.split("-", 1)
                yield algorithm, row["name"], base64.b64decode(text).hex()
        return
    for line in open(manifest).read().splitlines():
        if m := re.fullmatch(r"([A-Za-z0-9]+) \((.*)\) = ([0-9A-Fa-f]+)", line.strip()):
            yield m[1].lower(), re.sub(r"^\./", "", m[2]), m[3].lower()
        elif m := re.fullmatch(r"([0-9A-Fa-f]+) [ *](.*)", line.strip()):
            yield manifest.rsplit(".", 1)[1], re.sub(r"^\./", "", m[2]), m[1].lower()
verdicts, counting = {}, []
for manifest in sorted(glob.glob(K["base"] + "/" + K["sums"] + "/*")):
    if manifest.endswith(".sig"):
        continue
    verdict = "none"
    for name, key, status in sorted(keys, key=lambda k: k[2] == "current"):
        if verified(key, manifest):
            verdict = name if status == "current" else "revoked"
    verdicts[os.path.basename(manifest)] = verdict
    if verdict not in ("none", "revoked"):
        counting += [e for e in entries(manifest) if e[0] in ("sha256", "sha512", "blake2b")]
def agrees(name, entry):
    return hashlib.new(entry[0], open(files + "/" + name, "rb").read()).hexdigest() == entry[2]
present = sorted(os.listdir(files))
good, altered, unverified, renamed = [], [], [], {}
for name in present:
    mine = [e for e in counting if e[1] == name]
    proper = sorted(e[1] for e in counting if e[1] not in present and agrees(name, e))
    if mine:
        (good if all(agrees(name, e) for e in mine) else altered).append(name)
    elif proper:
        renamed[name] = proper[0]
    else:
        unverified.append(name)
missing = sorted({e[1] for e in counting} - set(present) - set(renamed.values()))
for name in altered + unverified:
    shutil.move(files + "/" + name, held + "/" + name)
for name, proper in renamed.items():
    os.rename(files + "/" + name, files + "/" + proper)
json.dump({K["manifests"]: verdicts, K["good"]: good, K["altered"]: altered, K["renamed"]: renamed,
           K["unverified"]: unverified, K["missing"]: missing}, open(K["report"], "w"), indent=1)
PY
"""
SHELL = r"""export LC_ALL=C
cd {base}
t=$(mktemp -d)
for m in {sums}/*; do
  case $m in *.sig) continue;; esac
  v=none
  while IFS=, read -r id file status; do
    [ "$id" = id ] && continue
    [ -f "$m.sig" ] && openssl dgst -sha256 -verify {ring}/$file -signature "$m.sig" "$m" > $t/out 2>&1 || continue
    if [ "$status" = current ]; then v=$id; elif [ $v = none ]; then v=revoked; fi
  done < {ring}/keyring.csv
  printf 'verdict\t%s\t%s\n' "${{m##*/}}" $v >> $t/rows
  case $v in none|revoked) continue;; esac
  case $m in
  *.json) jq -r '.files[] | .name as $n | .integrity | split("-") | "\(.[0])\t\($n)\t\(.[1])"' "$m" |
    while IFS="$(printf '\t')" read -r a n b; do
      printf '%s\t%s\t%s\n' $a "$n" $(echo "$b" | base64 -d | od -An -v -tx1 | tr -d ' \n')
    done;;
  *) tr -d '\r' < "$m" | gawk -v ext="${{m##*.}}" '/^#/ {{ next }}
    match($0, /^([A-Za-z0-9]+) \((.*)\) = (.*)$/, p) {{
      sub(/^\.\//, "", p[2]); print tolower(p[1]) "\t" p[2] "\t" tolower(p[3]); next }}
    match($0, /^([0-9A-Fa-f]+) [ *](.*)$/, p) {{ sub(/^\.\//, "", p[2]); print ext "\t" p[2] "\t" tolower(p[1]) }}';;
  esac | grep -E '^(sha256|sha512|blake2b)' | sed 's/^/entry\t/' >> $t/rows
done
for pair in sha256:sha256sum sha512:sha512sum blake2b:b2sum; do
  (cd {files} && ${{pair#*:}} -- *) | sed "s/^\([0-9a-f]*\)  \(.*\)$/have\t${{pair%%:*}}\t\2\t\1/" >> $t/rows
done
gawk -F'\t' -v OFS='\t' '
$1 == "verdict" {{ print "manifests", $2, $3 }}
$1 == "entry" {{ n++; A[n] = $2; N[n] = $3; D[n] = $4 }}
$1 == "have" {{ have[$3, $2] = $4; file[$3] = 1 }}
END {{ for (f in file) {{ mine = 0; bad = 0; proper = ""
    for (i = 1; i <= n; i++) {{ same = have[f, A[i]] == D[i]
      if (N[i] == f) {{ mine++; if (!same) bad++ }}
      else if (same && !(N[i] in file) && (proper == "" || N[i] < proper)) proper = N[i] }}
    if (mine) print (bad ? "altered" : "good"), f
    else if (proper != "") {{ print "renamed", f, proper; taken[proper] = 1 }}
    else print "unverified", f }}
  for (i = 1; i <= n; i++) if (!(N[i] in file) && !(N[i] in taken)) print "missing", N[i] }}' $t/rows | sort -u > $t/result
jq -nR '[inputs | split("\t")] as $r | def names($k): $r | map(select(.[0] == $k)[1]) | sort;
  def map2($k): $r | map(select(.[0] == $k) | {{(.[1]): .[2]}}) | add // {{}};
  {{"{manifests}": map2("manifests"), "{good}": names("good"), "{altered}": names("altered"),
    "{renamed}": map2("renamed"),
    "{unverified}": names("unverified"), "{missing}": names("missing")}}' $t/result > {report}
gawk -F'\t' '$1 == "altered" || $1 == "unverified" {{ print $2 }}' $t/result |
  while read -r f; do mv "{files}/$f" {held}/; done
gawk -F'\t' '$1 == "renamed" {{ print $2 "\t" $3 }}' $t/result |
  while IFS="$(printf '\t')" read -r a b; do mv "{files}/$a" "{files}/$b"; done
rm -r $t
"""

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
