cd @FOLDER@ && python3 - <<'PY'
TRANSLATE = True
@COMMON@
def distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]
cache = {}
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
