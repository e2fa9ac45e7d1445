#!/usr/bin/python3
import re, sqlite3, sys
from datetime import date
db = sqlite3.connect(sys.argv[1])
db.isolation_level = None
x = db.execute
x("begin immediate")
extreme = @EXTREME@
x("drop trigger if exists @moves@_added")
gone, alias = set(), {}
if extreme:
    gone = set(x("select source, source_id from deleted"))
    alias = dict(x("select old_id, new_id from aliases"))
def bad(source, key, reason):
    x("insert or replace into quarantine values (?, ?, ?)", (source, key, reason))
have = {r[0] for r in x("select id from @people@")}
for key, name, contact, active in x("select * from legacy_@people@ order by id").fetchall():
    if key in have or key in alias or ("legacy_@people@", key) in gone @CHECKPOINT@:
        continue
    words = (name or "").split()
    if len(words) < 2:
        bad("legacy_@people@", key, "bad_name")
        continue
    email, _, phone = (contact or "").partition(";")
    x("insert into @people@ values (?, ?, ?, ?, ?, ?, 0)", (key, " ".join(words[:-1]), words[-1],
      email.strip().lower() or None, phone.strip() or None, int(active in ("Y", "y"))))
if extreme:
    groups = {}
    query = "select id, email, phone, active from @people@ where email is not null order by id"
    for key, email, phone, active in x(query):
        groups.setdefault(email, []).append((key, phone, active))
    for group in groups.values():
        stays = group[0][0]
        if len(group) > 1:
            phone = next((p for _, p, _ in group if p), None)
            x("update @people@ set phone = ?, active = ? where id = ?", (phone, max(a for _, _, a in group), stays))
        for key, _, _ in group[1:]:
            x("update @moves@ set @person@_id = ? where @person@_id = ?", (stays, key))
            x("update aliases set new_id = ? where new_id = ?", (stays, key))
            x("insert into aliases values (?, ?)", (key, stays))
            x("delete from @people@ where id = ?", (key,))
    alias = dict(x("select old_id, new_id from aliases"))
people = {r[0] for r in x("select id from @people@")}
have = {r[0] for r in x("select id from @moves@")}
for key, person, day, amount, kind in x("select * from legacy_@moves@ order by id").fetchall():
    if key in have or ("legacy_@moves@", key) in gone:
        continue
    m = re.fullmatch(r"(\d\d)\.(\d\d)\.(\d{4})", day or "")
    try:
        day = date(int(m[3]), int(m[2]), int(m[1])).isoformat() if m else None
    except ValueError:
        day = None
    person = alias.get(person, person)
    value = re.fullmatch(r"(-?)(\d+),(\d\d)", (amount or "").replace(".", ""))
    reason = None if day else "bad_day"
    reason = reason or (None if value else "bad_amount") or (None if person in people else "no_@person@")
    if reason:
        bad("legacy_@moves@", key, reason)
        continue
    x("delete from quarantine where source = 'legacy_@moves@' and source_id = ?", (key,))
    kind = (kind or "").strip().lower()
    kid = None
    if kind:
        x("insert or ignore into @kind@_names (name) values (?)", (kind,))
        kid = x("select id from @kind@_names where name = ?", (kind,)).fetchone()[0]
    cents = int(value[2] + value[3]) * (-1 if value[1] else 1)
    x("insert into @moves@ values (?, ?, ?, ?, ?)", (key, person, day, cents, kid))
total = "(select coalesce(sum(@cents@), 0) from @moves@ where @person@_id = @people@.id)"
x(f"update @people@ set @balance@ = {total} where @WHICH@")
x("create index if not exists @moves@_by_@person@ on @moves@(@person@_id)")
add = "update @people@ set @balance@ = @balance@ + new.@cents@ where id = new.@person@_id;"
take = "update @people@ set @balance@ = @balance@ - old.@cents@ where id = old.@person@_id;"
for name, event, body in (("added", "insert", add), ("changed", "update", take + add), ("removed", "delete", take)):
    x(f"create trigger if not exists @moves@_{name} after {event} on @moves@ begin {body} end")
x("update migration set state = 'done'")
x("pragma user_version = @VERSION@")
x("commit")
