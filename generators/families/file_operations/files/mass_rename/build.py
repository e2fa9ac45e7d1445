import json, os
spec = json.load(open("/setup/files.json"))
for path, text in spec["files"]:
    full = os.path.join(spec["root"], path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "w") as out:
        out.write(text)
