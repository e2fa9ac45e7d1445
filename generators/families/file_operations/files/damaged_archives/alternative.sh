
work=$(mktemp -d); n=0
unpack() {
  n=$((n + 1)); mkdir -p "$work/$n"
  case $1 in
    *.tar) tar -C "$work/$n" -xf "$1" 2>/dev/null ;;
    *.tar.gz|*.tgz) gzip -dc "$1" 2>/dev/null > "$work/plain.tar"
      tar -C "$work/$n" -xf "$work/plain.tar" 2>/dev/null ;;
    *.zip) unzip -qo "$1" -d "$work/$n" </dev/null >/dev/null 2>&1
      rm -f "$work/fixed.zip"; yes | zip -FF "$1" --out "$work/fixed.zip" >/dev/null 2>&1
      unzip -qo "$work/fixed.zip" -d "$work/$n" </dev/null >/dev/null 2>&1 ;;
    *.gz) rel=${1#@FOLDER@/loose/}; mkdir -p "$work/$n/$(dirname "$rel")"
      gzip -dc "$1" 2>/dev/null > "$work/$n/${rel%.gz}" ;;
  esac
}
find '@FOLDER@' -type f | sort > "$work/list"
while read -r archive; do unpack "$archive"; done < "$work/list"
find "$work" -mindepth 2 \( -name '*.zip' -o -name '*.tar' \) > "$work/nested"
while read -r archive; do unpack "$archive"; done < "$work/nested"
cat > "$work.py" <<'PY'
import collections, hashlib, json, pathlib, sys, zlib
C = json.loads(sys.argv[1])
work, out = pathlib.Path(sys.argv[2]), pathlib.Path(C["out"])
copies = collections.defaultdict(list)
for path in work.glob("[0-9]*/**/*"):
    if path.is_file():
        copies[str(pathlib.Path(*path.relative_to(work).parts[1:]))].append(path.read_bytes())
count = size = 0
lost = {}
lines = open(C["catalogue"]).read().splitlines()
for line in lines if C["kind"] == "jsonl" else lines[1:]:
    row = list(json.loads(line).values()) if C["kind"] == "jsonl" else line.split("," if C["kind"] == "csv" else "\t")
    length, want = int(row[1]), (row[3].split() if C["hard"] else [])
    body = bytearray(length)
    bad = set(range(len(want)))
    for data in copies[row[0]]:
        if hashlib.sha256(data).hexdigest() == row[2]:
            body, bad = data, set()
            break
        for number in sorted(bad):
            piece = data[number * C["block"]:(number + 1) * C["block"]]
            if zlib.crc32(piece) == int(want[number], 16):
                body[number * C["block"]:number * C["block"] + len(piece)] = piece
                bad.discard(number)
    if hashlib.sha256(body).hexdigest() == row[2]:
        (out / row[0]).parent.mkdir(parents=True, exist_ok=True)
        (out / row[0]).write_bytes(body)
        count, size = count + 1, size + length
    else:
        lost[row[0]] = sorted(bad)
lost = lost if C["hard"] else sorted(lost)
json.dump({C["keys"][0]: count, C["keys"][1]: size, C["keys"][2]: lost}, open(C["report"], "w"))
PY
python3 "$work.py" '@CONFIG@' "$work"
