#!/usr/bin/python3
import json, re, sys
from datetime import date
L = json.loads('''@SPEC@''')
H, G, D, X, E, T = L["codes"]
W = L["words"]
HARD, SIGNS = L["hard"], {c: (i, 1) for i, c in enumerate("{ABCDEFGHI")} | {c: (i, -1) for i, c in enumerate("}JKLMNOPQR")}
DECIMALS = {"EUR": 2, "USD": 2, "JPY": 0, "KWD": 3}
class Rejected(Exception):
    pass
def reject(name):
    raise Rejected(name)
def convert(path):
    lines = open(path, newline="", encoding="latin-1").read().split("\n")
    if lines[-1] == "":
        lines.pop()
    lines = [line[:-1] if line.endswith("\r") else line for line in lines]
    if not lines or any(len(line) != L["width"] for line in lines):
        reject("form")
    order = "".join({H: "H", G: "G", D: "D", X: "X", E: "E", T: "T"}.get(line[:2], "?") for line in lines)
    if not re.fullmatch("H(G(DX*)*E)*T" if HARD else "HD*T", order):
        reject("sequence")
    def signed(raw):
        digit, sign = SIGNS.get(raw[-1], (raw[-1], 1))
        text = raw[:-1] + str(digit)
        if not re.fullmatch("[0-9]+", text):
            reject("field")
        return sign * int(text)
    def parse(line):
        rest, out = list(line[2:]), {}
        for name, start, end, kind in L["records"][line[:2]]:
            raw = line[start - 1:end]
            rest[start - 3:end - 2] = " " * (end - start + 1)
            if kind == "id":
                value = raw.rstrip(" ")
                if not value or raw[0] == " ":
                    reject("field")
            elif kind == "text":
                value = raw
            elif kind == "signed":
                value = signed(raw)
            else:
                if not re.fullmatch("[0-9]+", raw):
                    reject("field")
                value = int(raw)
                if kind == "date":
                    try:
                        value = date(int(raw[:4]), int(raw[4:6]), int(raw[6:])).isoformat()
                    except ValueError:
                        reject("field")
            out[name] = value
        if "".join(rest).strip(" "):
            reject("field")
        if out.get("currency", "EUR") not in DECIMALS:
            reject("field")
        return out
    records = [(kind, parse(line)) for kind, line in zip(order, lines)]
    def money(value, currency):
        if not HARD:
            return value
        places = DECIMALS[currency]
        text = str(abs(value)).rjust(places + 1, "0")
        return ("-" if value < 0 else "") + (text[:-places] + "." + text[-places:] if places else text)
    head = records[0][1]
    result = {W[name]: head[name] for name in ("sender", "number", "created")}
    groups, group, total, check, bad = [], {"items": [], "currency": "EUR"}, 0, 0, False
    for kind, r in records:
        if kind == "G":
            group = {"account": r["account"], "currency": r["currency"], "items": []}
        elif kind == "D":
            group["items"].append(r)
            check += r["quantity"]
        elif kind == "X":
            group["items"][-1]["text"] += r["text"]
        elif kind == "E" or (kind == "T" and not HARD):
            amount = sum(d["amount"] for d in group["items"])
            bad |= r["count"] != len(group["items"]) or r["total"] != amount
            total += r["total"]
            items = [{W[n]: d["text"].rstrip(" ") if n == "text" else money(d[n], group["currency"]) if n == "amount" else d[n]
                      for n in ("ref", "day", "amount", "quantity", "text")} for d in group["items"]]
            if HARD:
                groups.append({W["account"]: group["account"], "currency": group["currency"],
                               "total": money(amount, group["currency"]), W["items"]: items})
    last = records[-1][1]
    if HARD:
        bad |= last["count"] != len(records) or last["total"] != total
        result[W["groups"]] = groups
    else:
        result[W["items"]] = items
    if bad or last["check"] != check % 10000:
        reject("total")
    return result
exit_status = 0
for path in sys.argv[1:]:
    try:
        document, status = convert(path), 0
    except Rejected as reason:
        document, status = None, L["status"][str(reason)]
    exit_status = exit_status or status
    print(json.dumps({"status": status, "document": document}))
sys.exit(exit_status)
