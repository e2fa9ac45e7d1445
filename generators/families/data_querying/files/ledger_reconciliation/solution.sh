cd @FOLDER@ && python3 - <<'PY'
import csv, json
from datetime import date, datetime
E, W = @EXPONENT@, @WINDOW@
S = []
for r in csv.DictReader(open("statement.csv")):
    whole = r["amount"].replace(",", "").replace(".", "")
    S.append((datetime.strptime(r["booked"], "%d.%m.%Y").date(), r["line"], int(whole), r["batch"]))
B = {r["entry"]: (date.fromisoformat(r["date"]), int(r["minor"]), r["batch"]) for r in csv.DictReader(open("books.csv"))}
used, matched = set(), {}
for day, key, amount, batch in sorted(S):
    if batch:
        parts = sorted(k for k, v in B.items() if v[2] == batch)
        if sum(B[k][1] for k in parts) == amount:
            matched[key] = parts
            used.update(parts)
        continue
    b = [(abs((v[0] - day).days), k) for k, v in B.items()
         if k not in used and not v[2] and v[1] == amount and abs((v[0] - day).days) <= W]
    if b:
        k = (@CHOICE@)[1]
        matched[key] = [k]
        used.add(k)
open_s = sorted(s[1] for s in S if s[1] not in matched)
open_b = sorted(k for k in B if k not in used)
amount = {s[1]: s[2] for s in S}
difference = sum(amount[k] for k in open_s) - sum(B[k][1] for k in open_b)
json.dump({"matched": matched, "unmatched_statement": open_s, "unmatched_books": open_b, "difference": @SIGN@difference},
          open("report.json", "w"))
PY
