cd @FOLDER@ && mkdir -p out && python3 - <<'PY'
import re


@REFERENCE@

enums, structs, current = {}, {}, None
for line in open("@SOURCE@"):
    line = re.match(r'(?:[^"#]|"(?:[^"\\]|\\.)*")*', line)[0].strip()
    if not line:
        continue
    if current is None and line.startswith("@CHOICE@ "):
        name, members = re.fullmatch(r"@CHOICE@ (\w+): (.*)", line).groups()
        value, enums[name] = -1, {}
        for member in members.split(","):
            member, _, number = member.replace(" ", "").partition("=")
            value = int(number) if number else value + 1
            enums[name][member] = value
    elif current is None:
        current = structs.setdefault(line.split()[1], [])
    elif line == "end":
        current = None
    else:
        m = re.fullmatch(r'(\w+) (\w+)(?:\((\d+)\))?(\?)?(?: = ("(?:[^"\\]|\\.)*|[^" ]+)("?))?( @KEY@)?', line)
        name, kind, size, optional, default, quote, key = (part or "" for part in m.groups())
        current.append(dict(name=name, type=kind, size=size, optional=optional, default=default + quote, key=key))
for path, lines in (
    ("@H@", c_header(enums, structs, "@GUARD@", "@CW@".split())),
    ("@P@", python_module(enums, structs, "@PW@".split())),
    ("@S@", sql_schema(enums, structs, @TYPES@, "@SW@".split())),
):
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")
PY
