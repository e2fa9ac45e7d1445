python3 - <<'PY'
import codecs, csv, io, json, re
from datetime import date
from decimal import Decimal
from pathlib import Path
COLUMNS = @COLUMNS@
KEY, _, DAY, AMOUNT, _ = COLUMNS
def text(data):
    marks = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
    for mark, name in marks:
        if data.startswith(mark):
            return data.decode(name)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252")
def squeeze(field):
    return " ".join(field.split())
def day(field):
    forms = ((r"(\d{4})-(\d\d)-(\d\d)", (1, 2, 3)), (r"(\d\d)\.(\d\d)\.(\d{4})", (3, 2, 1)),
             (r"(\d\d)/(\d\d)/(\d{4})", (3, 1, 2)))
    for pattern, order in forms:
        m = re.fullmatch(pattern, field)
        if m:
            try:
                return date(*(int(m[i]) for i in order)).isoformat()
            except ValueError:
                return None
    return None
def amount(field, sep):
    sign = 1
    if field.startswith("(") and field.endswith(")"):
        sign, field = -1, field[1:-1]
    elif field.endswith("-"):
        sign, field = -1, field[:-1]
    if sep == ";":
        field = field.replace(".", "").replace(",", ".")
    else:
        field = field.replace(",", "")
    return sign * Decimal(field) if re.fullmatch(r"-?\d+(\.\d+)?", field) else None
best, rejects, read, good = {}, [], 0, 0
for path in sorted(Path("@INBOX@").glob("*.csv")):
    content = text(path.read_bytes())
    first = content.splitlines()[0]
    sep = next(c for c in ",;\t|" if c in first)
    rows = [r for r in csv.reader(io.StringIO(content, newline=""), delimiter=sep) if r]
    raw = rows[0]
    head = [squeeze(h).lower() for h in raw]
    n = 0
    for row in rows[1:]:
        if row == raw:
            continue
        n += 1
        read += 1
        row = [squeeze(f) for f in row]
        if any(row[len(head):]):
            rejects.append((path.name, n, "too_wide"))
            continue
        row += [""] * (len(head) - len(row))
        rec = dict(zip(head, row))
        rec[KEY] = rec[KEY].upper()
        d, a = day(rec[DAY]), amount(rec[AMOUNT], sep)
        reason = "no_key" if not rec[KEY] else "bad_date" if d is None else "bad_amount" if a is None else None
        if reason:
            rejects.append((path.name, n, reason))
            continue
        rec[DAY], rec[AMOUNT] = d, f"{a:.2f}"
        good += 1
        old = best.get(rec[KEY])
        if old is None or d >= old[DAY]:
            best[rec[KEY]] = rec
def save(path, head, rows):
    with open(path, "w", encoding="utf-8", newline="") as f:
        w = csv.writer(f, lineterminator="\n")
        w.writerow(head)
        w.writerows(rows)
kept = [best[k] for k in sorted(best)]
save("@CLEAN@", COLUMNS, [[r[c] for c in COLUMNS] for r in kept])
out = {"rows": read, "superseded": good - len(kept), "kept": len(kept),
       "total": f"{sum(Decimal(r[AMOUNT]) for r in kept):.2f}"}
if @REJECTING@:
    save("@REJECTS@", ["file", "row", "reason"], rejects)
    out["rejected"] = len(rejects)
json.dump(out, open("@SUMMARY@", "w"))
PY
