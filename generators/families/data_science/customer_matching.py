"""Match persons of two registers: other scripts, short names, swapped fields, typos; households and namesakes as traps."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from generators.family import Draft, Draw, Family, Miss, Setting
from generators.task import Difficulty, Verifier
from generators.vocabulary import CITIES, FIRMS


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    folder: str
    left: str
    right: str
    person: str
    ids: tuple[str, str]  # prefixes
    columns: tuple[str, str]  # names of the id columns
    wording: int
    text: str


TEXTS = (
    """Dear colleague,

{firm} has two registers of its {person}s, and nobody knows who of one is who of the other. {data}

{hazards}

{output} {quality}

{keep}

Regards, {persona}
""",
    """[MDM-{ticket}] Link {left} and {right} ({firm})

{data}

Known problems. {hazards}

{output}

Acceptance. {quality} {keep}
""",
    """{person}s twice in our systems, please link them.
{data}
{output}
{quality}
{hazards}
{keep}
""",
    """Record linkage {ticket}, {firm}

1 Sources
{data}
2 Quality of the sources
{hazards}
3 Product
{output}
4 Acceptance
{quality}
5 {keep}
""",
)
SETTINGS = (
    World("hospital", "registrar", "patient registers", "email", "/srv/patients", "ward.csv", "laboratory.csv", "patient",
          ("W", "L"), ("ward_id", "lab_id"), 0, TEXTS[0]),
    World("bank", "data steward", "bank customers", "ticket", "/data/kyc", "core.csv", "cards.csv", "customer",
          ("C", "K"), ("core_no", "card_no"), 1, TEXTS[1]),
    World("library", "systems librarian", "library readers", "note", "/home/library/merge", "readers.csv", "loans.csv", "reader",
          ("R", "N"), ("reader", "borrower"), 2, TEXTS[2]),
    World("airline", "loyalty analyst", "frequent flyers", "specification", "/opt/loyalty", "members.csv", "bookings.csv",
          "traveller", ("M", "B"), ("member", "booking_profile"), 2, TEXTS[3]),
    World("charity", "donor services lead", "donors", "chat", "/work/donors", "donors.csv", "event_guests.csv", "donor",
          ("D", "G"), ("donor_id", "guest_id"), 1, TEXTS[2]),
    World("utility", "billing manager", "utility accounts", "runbook", "/var/lib/accounts", "power.csv", "water.csv", "client",
          ("P", "H"), ("power_id", "water_id"), 0, TEXTS[1]),
    World("housing", "tenancy officer", "tenant lists", "specification", "/srv/housing/lists", "tenants.csv", "waiting.csv", "tenant",
          ("T", "Q"), ("tenant_no", "queue_no"), 1, TEXTS[3]),
    World("alumni", "alumni officer", "alumni records", "email", "/opt/alumni", "faculty.csv", "club.csv", "graduate",
          ("F", "U"), ("faculty_id", "club_id"), 2, TEXTS[0]),
)  # fmt: skip
DATA = (
    "{folder}/{left} has {a}, first, last, born (YYYY-MM-DD), street, zip, city, phone and email, one line per "
    "{person}; "
    "{folder}/{right} has {b}, name, birth (DD.MM.YYYY), address and contact (a phone number or an e-mail "
    "address). A {person} "
    "can have no, one or several lines in {right}.{more}",
    "{folder}/{left}: columns {a}, first, last, born as YYYY-MM-DD, street, zip, city, phone, email; every "
    "{person} once. "
    "{folder}/{right}: columns {b}, name, birth as DD.MM.YYYY, address, contact, where contact is either phone "
    "or e-mail; the "
    "same {person} may be missing or occur more than once.{more}",
    "The first register, {folder}/{left}, holds each {person} once ({a}, first, last, born in the form "
    "YYYY-MM-DD, street, zip, "
    "city, phone, email). The second, {folder}/{right}, was kept by others: {b}, name, birth in the form "
    "DD.MM.YYYY, address, "
    "contact (phone or e-mail); a {person} is there any number of times, also not at all.{more}",
)
NICKNAMES_NOTE = (
    " nicknames.csv lists common short names.",
    " The short names people use are in nicknames.csv there.",
    " For short names see nicknames.csv beside them.",
)
HAZARDS = (
    "In {right} names come in either order, with typing errors, short names or the letters of the {person}'s own "
    "script; day and "
    "month of birth may be swapped or a digit wrong, or the date is missing; people move, change numbers and "
    "marry. Families "
    "share an address, a number and sometimes a name, twins the day of birth, and there are namesakes: these are "
    "different "
    "people.",
    "Expect in {right}: first and last name in any order, misspelt, shortened or in Cyrillic or Greek; birth "
    "dates left out, "
    "with day and month exchanged or with one false digit; old addresses and numbers; new surnames after a "
    "wedding. Do not link "
    "different people: relatives under one roof and one number, fathers and sons of one name, twins, mere namesakes.",
    "{right} was typed from paper. The order of names varies, letters got lost, some names are short forms, some "
    "are written in "
    "another alphabet, a date of birth can be absent, off by a digit or have day and month the wrong way round, "
    "surnames change "
    "by marriage and addresses and numbers go out of date. Relatives with the same home, number or even name, "
    "twins and "
    "namesakes must be kept apart.",
)
OUTPUTS = (
    "Write the links to {folder}/links.csv with the header {a},{b} and one line for every pair that is the same "
    "person.",
    "Result: {folder}/links.csv, header {a},{b}, then a line for each pair of lines that belong to one person.",
    "All pairs that mean one and the same person are to be listed in {folder}/links.csv under the header {a},{b}.",
)
QUALITY = (
    "At least {precision} % of your pairs must be right, and at least {recall} % of the right pairs must be "
    "among them; a list "
    "below 60 % in either respect passes neither check.",
    "Precision {precision} % or better, recall {recall} % or better. Where one of the two is under 60 %, the "
    "other does not "
    "count either.",
    "The list is checked against the known truth: precision has to reach {precision} %, recall {recall} %, and "
    "neither is "
    "credited if either stays under 60 %.",
)
KEEP = (
    "Do not touch the registers themselves.",
    "The given files remain unchanged.",
    "What lies in the folder now must stay byte for byte the same.",
)

# Latin form, own script or "", short form; grouped by origin.
FIRST: tuple[tuple[tuple[str, str, str], ...], ...] = (
    (("William", "", "Bill"), ("Robert", "", "Bob"), ("Elizabeth", "", "Liz"), ("Margaret", "", "Peggy"),
     ("Katherine", "", "Kitty"), ("Richard", "", "Dick"), ("Johannes", "", "Hans"), ("Francisco", "", "Paco"),
     ("Giuseppe", "", "Beppe"), ("Charles", "", "Chuck"), ("Dorothy", "", "Dolly"), ("Edmund", "", "Ned")),
    (("Aleksandr", "Александр", "Sasha"), ("Dmitri", "Дмитрий", "Mitya"), ("Yekaterina", "Екатерина", "Katya"),
     ("Nikolai", "Николай", "Kolya"), ("Tatyana", "Татьяна", "Tanya"), ("Vladimir", "Владимир", "Vova"),
     ("Mikhail", "Михаил", "Misha"), ("Svetlana", "Светлана", "Lana"), ("Lyudmila", "Людмила", "Mila")),
    (("Konstantinos", "Κωνσταντίνος", "Kostas"), ("Eleni", "Ελένη", "Lena"), ("Dimitra", "Δήμητρα", "Mimi"),
     ("Athanasios", "Αθανάσιος", "Thanos"), ("Vasiliki", "Βασιλική", "Vaso"), ("Panagiotis", "Παναγιώτης", "Takis")),
)  # fmt: skip
LATIN = (
    "Müller,Schröder,Lindström,Bjørnsen,Kowalczyk,Fernández,Castelló,Whitfield,Harrington,Vandermeer,Benedetti,"
    "Marchetti,Ashworth,Grünwald,Sørensen,Novotný,Pellegrini,Thackeray"
)
LAST: tuple[tuple[tuple[str, str], ...], ...] = (
    tuple((name, "") for name in LATIN.split(",")),
    (("Kuznetsov", "Кузнецов"), ("Sokolov", "Соколов"), ("Morozov", "Морозов"), ("Vinogradov", "Виноградов"),
     ("Zakharov", "Захаров"), ("Shcherbakov", "Щербаков"), ("Tikhonov", "Тихонов"), ("Lebedev", "Лебедев")),
    (("Papadopoulos", "Παπαδόπουλος"), ("Dimitriou", "Δημητρίου"), ("Karagiannis", "Καραγιάννης"),
     ("Nikolaidis", "Νικολαΐδης"), ("Angelopoulos", "Αγγελόπουλος"), ("Makris", "Μακρής")),
)  # fmt: skip
STREETS = [
    "Mill Lane",
    "Canal Street",
    "Orchard Road",
    "Station Square",
    "Harbour Walk",
    "Foundry Row",
    "Abbey Close",
    "Juniper Avenue",
]

TESTS = """
import csv
import hashlib
from pathlib import Path

FOLDER = Path(TRUTH["folder"])


def rates():
    with open(FOLDER / "links.csv", newline="") as file:
        rows = [tuple(cell.strip() for cell in row) for row in csv.reader(file) if row]
    assert list(rows[0]) == TRUTH["columns"], "header"
    got, true = set(rows[1:]), {tuple(pair) for pair in TRUTH["links"]}
    assert got, "no links"
    right = len(got & true)
    precision, recall = right / len(got), right / len(true)
    assert precision >= 0.6 and recall >= 0.6, "precision or recall is below 60 %"
    return precision, recall


def test_precision():
    assert rates()[0] >= TRUTH["precision"] / 100


def test_recall():
    assert rates()[1] >= TRUTH["recall"] / 100


def test_registers_unchanged():
    for name, digest in TRUTH["inputs"].items():
        assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == digest, name
"""
INITIAL = """
from pathlib import Path


def test_no_links_yet():
    folder = Path(TRUTH["folder"])
    assert all((folder / name).is_file() for name in TRUTH["inputs"])
    assert not (folder / "links.csv").exists()
"""

COMMON = """import csv, re, unicodedata
CYRILLIC = dict(zip("абвгдеёжзийклмнопрстуфхцчшщъыьэюя",
    "a b v g d e yo zh z i i k l m n o p r s t u f kh ts ch sh shch _ y _ e yu ya".split()))
GREEK = dict(zip("αβγδεζηθικλμνξοπρστυφχψως", "a v g d e z i th i k l m n x o p r s t y f ch ps o s".split()))
def plain(text):
    text = unicodedata.normalize("NFKD", text.replace("й", "i").replace("Й", "i").lower()) if TRANSLATE else text.lower()
    text = "".join(c for c in text if not unicodedata.combining(c))
    text = text.replace("ου", "ou").replace("ø", "o").replace("γγ", "ng")
    text = "".join(CYRILLIC.get(c, GREEK.get(c, c)) for c in text) if TRANSLATE else text
    return re.sub("[^a-z ]", "", text.replace("0", "o").replace("1", "l").replace("-", " "))
SHORT = dict(x.split("/") for x in "bill/william bob/robert liz/elizabeth peggy/margaret kitty/katherine dick/richard "
    "hans/johannes paco/francisco beppe/giuseppe chuck/charles dolly/dorothy ned/edmund sasha/aleksandr mitya/dmitri "
    "katya/yekaterina kolya/nikolai tanya/tatyana vova/vladimir misha/mikhail lana/svetlana mila/lyudmila "
    "kostas/konstantinos lena/eleni mimi/dimitra thanos/athanasios vaso/vasiliki takis/panagiotis".split())
left = list(csv.DictReader(open("@LEFT@", encoding="utf-8")))
right = list(csv.DictReader(open("@RIGHT@", encoding="utf-8")))
def digits(text):
    return re.sub("[^0-9]", "", text)[-8:]
"""
SOLUTION = f"""cd @FOLDER@ && python3 - <<'PY'
TRANSLATE = True
{COMMON}
def distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]
cache = {{}}
def alike(a, b):
    if (a, b) not in cache:
        x, y = SHORT.get(a, a), SHORT.get(b, b)
        cache[a, b] = 1 - distance(x, y) / max(len(x), len(y), 1) >= 0.68
    return cache[a, b]
def birth(a, b):
    if not a or not b:
        return None
    if a == b or a == b[:4] + b[6:] + b[4:6]:
        return 2
    return 1 if sum(x != y for x, y in zip(a, b)) == 1 else 0
def prepared_left(r):
    return (plain(r["first"]), plain(r["last"]), r["born"].replace("-", ""), digits(r["phone"]), r["email"].lower(),
            (plain(r["street"]).split()[0], digits(r["street"])))
def prepared_right(r):
    b, c = r["birth"], r["contact"].strip()
    street = r["address"].split(",")[0]
    return ((plain(r["name"].replace(",", " ")).split() + ["", ""])[:2], b[6:] + b[3:5] + b[:2], digits(c) if "@" not in c else "",
            c.lower() if "@" in c else "", (plain(street).split()[0], digits(street)))
def same(a, b):
    first, last, born, phone, email, home = a
    names, birth_b, phone_b, email_b, home_b = b
    score = birth(born, birth_b)
    if score == 0:
        return False
    contact = bool(phone_b and phone == phone_b or email_b and email == email_b)
    fits = [(alike(first, names[i]), alike(last, names[1 - i])) for i in (0, 1)]
    both = (True, True) in fits
    if score is None:
        return both and (contact or home == home_b)
    return both or score == 2 and contact and any(f for f, _ in fits)
A = [(r["@A@"], prepared_left(r)) for r in left]
B = [(r["@B@"], prepared_right(r)) for r in right]
with open("links.csv", "w") as out:
    print("@A@,@B@", file=out)
    for b, y in B:
        for a, x in A:
            if same(x, y):
                print(a, b, sep=",", file=out)
PY
"""
ALTERNATIVE = f"""cd @FOLDER@ && python3 - <<'PY'
TRANSLATE = True
{COMMON}
from difflib import SequenceMatcher
from functools import lru_cache
@lru_cache(None)
def close(a, b):
    return SequenceMatcher(None, SHORT.get(a, a), SHORT.get(b, b)).ratio()
def points(l, r, names):
    total, born = 0, l["born"]
    d, m, y = (r["birth"].split(".") + ["", "", ""])[:3]
    if d:
        if born in (f"{{y}}-{{m}}-{{d}}", f"{{y}}-{{d}}-{{m}}"):
            total += 7
        elif sum(p != q for p, q in zip(born, f"{{y}}-{{m}}-{{d}}")) == 1:
            total += 5
        else:
            return -99
    f, s = plain(l["first"]), plain(l["last"])
    best = max((close(f, names[0]), close(s, names[1])), (close(f, names[1]), close(s, names[0])), key=sum)
    if best[0] < 0.7:
        return -99
    total += 4 + (5 if best[1] > 0.7 else -3)
    c = r["contact"]
    if "@" in c and c.lower() == l["email"].lower() or "@" not in c and digits(c) and digits(c) == digits(l["phone"]):
        total += 4
    if r["address"].lower().startswith(l["street"].lower()):
        total += 3
    return total
with open("links.csv", "w") as out:
    out.write("@A@,@B@\\n")
    for r in right:
        names = (plain(r["name"].replace(",", " ")).split() + ["", ""])[:2]
        out.writelines(f"{{l['@A@']}},{{r['@B@']}}\\n" for l in left if points(l, r, names) >= 12)
PY
"""


@dataclass(frozen=True)
class Person:
    """One human being. `first` and `last` point into the tables of `origin`."""

    origin: int
    first: int
    last: int
    born: tuple[int, int, int]
    home: tuple[str, int, str]  # street, zip, city
    phone: str
    email: str


def sha(text: str) -> str:
    """Hex sha256."""
    return hashlib.sha256(text.encode()).hexdigest()


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


def draw_person(draw: Draw, number: int) -> Person:
    """A person of a new household. Every third is of Cyrillic or Greek origin."""
    origin = (0, 1, 0, 0, 2, 1)[number % 6]
    phone = f"{draw.between(20, 79)}{draw.between(100000, 999999)}"
    return Person(
        origin,
        draw.rng.randrange(len(FIRST[origin])),
        draw.rng.randrange(len(LAST[origin])),
        (draw.between(1941, 1979), draw.between(1, 12), draw.between(1, 28)),
        (f"{draw.pick(STREETS)} {draw.between(1, 190)}", draw.between(10000, 99999), draw.pick(CITIES)),
        phone,
        f"{draw.pick('abcdefghjkmnprst')}{draw.pick('aeiou')}{draw.between(100, 9999)}@mail.example",
    )


def relative(draw: Draw, person: Person, kind: str) -> Person:
    """Somebody else who is easily taken for the person."""
    other = (person.first + draw.between(1, len(FIRST[person.origin]) - 1)) % len(FIRST[person.origin])
    year, month, day = person.born
    later = (year + draw.between(22, 28), (month + draw.between(1, 10)) % 12 + 1, (day + draw.between(3, 20)) % 28 + 1)
    if kind == "child":  # same name, same home
        return replace(person, born=later)
    if kind == "twin":
        return replace(person, first=other)
    if kind == "partner":
        return replace(person, first=other, born=(year + 1, later[1], later[2]))
    stranger = draw_person(draw, 0)  # a namesake
    return replace(stranger, origin=person.origin, first=person.first, last=person.last)


def misspelt(draw: Draw, name: str) -> str:
    """One typing error inside a name of at least five letters."""
    place = draw.between(1, len(name) - 3)
    kind = draw.between(0, 2)
    if kind == 0:
        return name[:place] + name[place + 1 :]
    if kind == 1:
        return name[:place] + name[place] + name[place:]
    return name[:place] + draw.pick("aeinrst") + name[place + 1 :]


def right_line(draw: Draw, person: Person, faults: set[str]) -> str:
    """The person as the second register has it, without the id."""
    first, own_first, short = FIRST[person.origin][person.first]
    last, own_last = LAST[person.origin][person.last]
    year, month, day = person.born
    if "script" in faults:
        first, last = own_first, own_last
    elif "short" in faults:
        first = short
    if "typo" in faults:
        last = misspelt(draw, last)
    if "married" in faults:
        last = LAST[0][(person.last + draw.between(3, 9)) % len(LAST[0])][0]
    birth = f"{day:02d}.{month:02d}.{year}"
    if "swap" in faults and day <= 12:
        birth = f"{month:02d}.{day:02d}.{year}"
    elif "digit" in faults:
        birth = birth[:9] + str((int(birth[9]) + draw.between(1, 9)) % 10)
    elif "undated" in faults:
        birth = ""
    street, code, city = person.home
    if "moved" in faults:
        street, code = f"{draw.pick(STREETS)} {draw.between(200, 300)}", draw.between(10000, 99999)
    phone = person.phone
    contact = draw.pick((f"+46 {phone[:2]} {phone[2:5]} {phone[5:]}", f"0{phone[:2]}-{phone[2:]}", f"0046{phone}"))
    if "email" in faults:
        contact = person.email.upper() if draw.chance(30) else person.email
    if "number" in faults:
        contact = f"0{draw.between(20, 79)}-{draw.between(100000, 999999)}"
    order = draw.between(0, 2)
    name = (f"{first} {last}", f"{last} {first}", f"{last.upper()}, {first}")[order]
    return f'"{name}",{birth},"{street}, {code} {city}",{contact}'


def draw_faults(draw: Draw, person: Person, number: int, many: bool) -> set[str]:
    """What went wrong for one line; the number makes sure that everything occurs."""
    choices = [
        {"script"},
        {"short"},
        {"typo", "number"},
        {"swap", "moved"},
        {"digit", "email"},
        {"married"},
        {"undated"},
    ]
    faults = set(choices[number % 7])
    if person.origin and number % 2:
        faults |= {"script"}
    if many:
        faults |= draw.pick((set[str](), {"moved"}, {"email"}, {"typo"}, {"short"}, {"swap"}))
    if person.origin == 0:
        faults.discard("script")
    elif "script" in faults:
        faults -= {"typo", "short"}
    if "married" in faults:  # what is left must identify
        faults -= {"digit", "number", "undated", "script", "short", "typo"}
    if "undated" in faults:
        faults -= {"number", "moved"}
    return faults


def draft(draw: Draw) -> Draft:
    """One linkage."""
    world = draw.setting(SETTINGS)
    extreme = draw.difficulty is Difficulty.EXTREMELY_HARD
    count = draw.by_difficulty(hard=84, extremely_hard=126)
    people = [draw_person(draw, number) for number in range(count)]
    kinds = ("child", "namesake", "partner", "twin")
    doubles = [relative(draw, people[number * 3], kinds[number % 4]) for number in range(count // 3)]
    codes = draw.rng.sample(range(1000, 9999), count * 2)
    left = [(f"{world.ids[0]}{code}", person) for code, person in zip(codes, people, strict=False)]
    numbers = iter(draw.rng.sample(range(10000, 99999), count * 3))

    lines: list[str] = []
    links: list[list[str]] = []
    for number, (key, person) in enumerate(left):
        copies = 0 if number % 9 == 8 else 2 if number % 8 == 1 else 1
        for copy in range(copies):
            faults = draw_faults(draw, person, number + copy * 3, extreme)
            if number % 3 == 0:  # who has a double keeps a birth date
                faults.discard("undated")
            name = f"{world.ids[1]}{next(numbers)}"
            links.append([key, name])
            lines.append(f"{name},{right_line(draw, person, faults)}\n")
    for number, person in enumerate(doubles):
        faults = {"email"} if number % 5 == 1 and kinds[number % 4] != "namesake" else set[str]()
        lines.append(f"{world.ids[1]}{next(numbers)},{right_line(draw, person, faults)}\n")
    for number in range(count // 8):
        lines.append(f"{world.ids[1]}{next(numbers)},{right_line(draw, draw_person(draw, number), set())}\n")
    column_a, column_b = world.columns
    left_text = f"{column_a},first,last,born,street,zip,city,phone,email\n" + "".join(
        f"{key},{FIRST[p.origin][p.first][0]},{LAST[p.origin][p.last][0]},{p.born[0]}-{p.born[1]:02d}-{p.born[2]:02d},"
        f"{p.home[0]},{p.home[1]},{p.home[2]},0{p.phone},{p.email}\n"
        for key, p in draw.shuffled(left)
    )
    files = {
        world.left: left_text,
        world.right: f"{column_b},name,birth,address,contact\n" + "".join(draw.shuffled(lines)),
    }
    if not extreme:
        pairs = [f"{latin},{short}\n" for group in FIRST for latin, _, short in group]
        files["nicknames.csv"] = "name,short\n" + "".join(sorted(pairs))

    kind = world.wording
    precision, recall = draw.by_difficulty(hard=93, extremely_hard=94), draw.by_difficulty(hard=90, extremely_hard=92)
    words = {
        "folder": world.folder, "left": world.left, "right": world.right, "person": world.person, "a": column_a,
        "b": column_b, "precision": precision, "recall": recall, "more": "" if extreme else NICKNAMES_NOTE[kind],
    }  # fmt: skip
    data, hazards = DATA[kind].format(**words), HAZARDS[kind].format(**words)
    output, quality = OUTPUTS[kind].format(**words), QUALITY[kind].format(**words)
    instruction = world.text.format(
        firm=draw.pick(FIRMS), persona=world.persona, ticket=draw.between(100, 9999), person=world.person,
        left=world.left, right=world.right, data=data, hazards=hazards, output=output, quality=quality, keep=KEEP[kind],
    )  # fmt: skip
    names = {"FOLDER": world.folder, "LEFT": world.left, "RIGHT": world.right, "A": column_a, "B": column_b}
    solution = filled(SOLUTION, names)
    goals = ["test_precision", "test_recall"]
    return Draft(
        title=f"Link {world.scenario}",
        setting=world,
        instruction=instruction,
        files=files,
        dockerfile=f"COPY {' '.join(sorted(files))} {world.folder}/\nWORKDIR {world.folder}",
        truth={
            "folder": world.folder,
            "columns": [column_a, column_b],
            "links": links,
            "precision": precision,
            "recall": recall,
            "inputs": {name: sha(text) for name, text in files.items()},
        },
        discoverable=("folder", "columns", "links"),
        tests=TESTS,
        weights={"test_precision": 0.5, "test_recall": 0.5},
        guards=["test_registers_unchanged"],
        initial=INITIAL,
        solution=solution,
        alternatives=[filled(ALTERNATIVE, names)],
        misses=[
            Miss(
                "exact_join",
                "joins on equal names and birth dates",
                wrong(
                    wrong(solution, "1 - distance(x, y) / max(len(x), len(y), 1) >= 0.68", "a == b"),
                    "if a == b or a == b[:4] + b[6:] + b[4:6]:",
                    "if a == b:",
                ),
                goals[1:],
            ),
            Miss(
                "names_only",
                "believes that one name is one person",
                wrong(solution, "if score == 0:", "if False:"),
                goals[:1],
            ),
            Miss(
                "households",
                "links everybody who shares a number",
                wrong(solution, "score == 2 and contact and any(f for f, _ in fits)", "contact"),
                goals[:1],
            ),
            Miss(
                "no_scripts",
                "cannot read other alphabets",
                wrong(solution, "TRANSLATE = True", "TRANSLATE = False"),
                goals[1:],
            ),
        ],
        requirements=[
            (data, goals),
            (hazards, goals),
            (output, goals),
            (quality, goals),
            (KEEP[kind], ["test_registers_unchanged"]),
        ],
        knobs={"people": count, "lines": len(lines), "extreme": extreme},
    )


FAMILY = Family(
    name="customer_matching",
    domain="data_science",
    verifier=Verifier.METRIC_THRESHOLD,
    skills=("record linkage", "fuzzy matching", "transliteration", "data cleaning"),
    difficulties=(Difficulty.HARD, Difficulty.EXTREMELY_HARD),
    capacity=24,
    draft=draft,
)
