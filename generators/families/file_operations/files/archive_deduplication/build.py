import json, os
spec = json.load(open("/setup/archive.json"))
root = spec["root"]
for path, content, when in spec["files"]:
    full = os.path.join(root, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "w") as out:
        out.write(spec["contents"][content])
    os.utime(full, (when, when))
for path, target in spec["links"]:
    os.symlink(target, os.path.join(root, path))
os.makedirs(spec["out"])
