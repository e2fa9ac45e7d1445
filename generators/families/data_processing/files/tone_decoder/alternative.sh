python3 - <<'PY'
import json, pathlib, re
import numpy as np
TONES = np.array([697, 770, 852, 941, 1209, 1336, 1477, 1633])
LETTERS = np.array(list("123A456B789C*0#D"))
def samples(path):
    raw = path.read_bytes()
    at, rate = 12, 0
    while True:
        name, size = raw[at:at + 4], int.from_bytes(raw[at + 4:at + 8], "little")
        if name == b"fmt ":
            rate = int.from_bytes(raw[at + 12:at + 16], "little")
        if name == b"data":
            return rate, np.frombuffer(raw[at + 8:at + 8 + size], dtype=np.uint8).astype(float) - 128
        at += 8 + size + size % 2
def keys_of(path):
    rate, sound = samples(path)
    size, hop = int(rate * 0.03), int(rate * 0.002)
    windows = np.lib.stride_tricks.sliding_window_view(sound, size)[::hop] * np.hanning(size)
    level = np.abs(windows @ np.exp(-2j * np.pi * np.outer(np.arange(size), TONES) / rate))
    row, column = level[:, :4].argmax(1), level[:, 4:].argmax(1)
    both = np.minimum(level[:, :4].max(1), level[:, 4:].max(1))
    track = "".join(np.where(both > 0.5 * np.quantile(both, 0.9), LETTERS[row * 4 + column], "."))
    track = re.sub(r"([^.])\1*", lambda m: m[0] if len(m[0]) > 7 else "." * len(m[0]), track)
    track = re.sub(r"([^.])[.]{1,11}(?=\1)", lambda m: m[1] * len(m[0]), track)
    return "".join(run[1] for run in re.finditer(r"([^.])\1{15,}", track))
def total(text):
    return sum((int(d) * (3 if n % 2 else 1)) if not @LUHN@ else sum(map(int, str(int(d) * (1 + n % 2)))) for n, d in enumerate(text[::-1]))
out = {}
for path in sorted(pathlib.Path("@FOLDER@").glob("*.wav")):
    keys = keys_of(path)
    lists = [[], []]
    for text in keys.split("@END@")[:-1]:
        text = re.sub("[A-D]", "", text.rsplit("@WIPE@", 1)[-1])
        stack = []
        for key in text:
            if key != "@ERASE@":
                stack.append(key)
            elif stack:
                stack.pop()
        if stack:
            lists[total("".join(stack)) % 10 != 0].append("".join(stack))
    out[path.name] = dict(zip("@NAMES@".split(), [keys, *lists]))
pathlib.Path("@REPORT@").write_text(json.dumps(out))
PY
