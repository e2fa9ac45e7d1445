import json, os
for path, text in json.load(open("/setup/files.json")).items():
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as out:
        out.write(text)
