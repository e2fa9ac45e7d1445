python3 - <<'PY'
import base64, csv, glob, hashlib, json, os, re, shutil, subprocess
K = json.loads('''@SPEC@''')
files, ring, held = (K["base"] + "/" + K[x] for x in ("files", "ring", "held"))
keys = [(r["id"], ring + "/" + r["file"], r["status"]) for r in csv.DictReader(open(ring + "/keyring.csv"))]
def verified(key, manifest):
    return subprocess.run(["openssl", "dgst", "-sha256", "-verify", key, "-signature", manifest + ".sig", manifest],
                          capture_output=True).returncode == 0
def entries(manifest):
    if manifest.endswith(".json"):
        for row in json.load(open(manifest))["files"]:
            for part in row["integrity"].split():
                algorithm, text = part.split("-", 1)
                yield algorithm, row["name"], base64.b64decode(text).hex()
        return
    for line in open(manifest).read().splitlines():
        if m := re.fullmatch(r"([A-Za-z0-9]+) \((.*)\) = ([0-9A-Fa-f]+)", line.strip()):
            yield m[1].lower(), re.sub(r"^\./", "", m[2]), m[3].lower()
        elif m := re.fullmatch(r"([0-9A-Fa-f]+) [ *](.*)", line.strip()):
            yield manifest.rsplit(".", 1)[1], re.sub(r"^\./", "", m[2]), m[1].lower()
verdicts, counting = {}, []
for manifest in sorted(glob.glob(K["base"] + "/" + K["sums"] + "/*")):
    if manifest.endswith(".sig"):
        continue
    verdict = "none"
    for name, key, status in sorted(keys, key=lambda k: k[2] == "current"):
        if verified(key, manifest):
            verdict = name if status == "current" else "revoked"
    verdicts[os.path.basename(manifest)] = verdict
    if verdict not in ("none", "revoked"):
        counting += [e for e in entries(manifest) if e[0] in ("sha256", "sha512", "blake2b")]
def agrees(name, entry):
    return hashlib.new(entry[0], open(files + "/" + name, "rb").read()).hexdigest() == entry[2]
present = sorted(os.listdir(files))
good, altered, unverified, renamed = [], [], [], {}
for name in present:
    mine = [e for e in counting if e[1] == name]
    proper = sorted(e[1] for e in counting if e[1] not in present and agrees(name, e))
    if mine:
        (good if all(agrees(name, e) for e in mine) else altered).append(name)
    elif proper:
        renamed[name] = proper[0]
    else:
        unverified.append(name)
missing = sorted({e[1] for e in counting} - set(present) - set(renamed.values()))
for name in altered + unverified:
    shutil.move(files + "/" + name, held + "/" + name)
for name, proper in renamed.items():
    os.rename(files + "/" + name, files + "/" + proper)
json.dump({K["manifests"]: verdicts, K["good"]: good, K["altered"]: altered, K["renamed"]: renamed,
           K["unverified"]: unverified, K["missing"]: missing}, open(K["report"], "w"), indent=1)
PY
