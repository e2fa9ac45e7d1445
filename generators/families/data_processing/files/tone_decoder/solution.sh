python3 - <<'PY'
import glob, json, math, os, wave
from operator import mul
ROWS, COLUMNS = (697, 770, 852, 941), (1209, 1336, 1477, 1633)
SHORTEST, LONGEST_BREAK = 0.032, 0.024
def pressed(path):
    with wave.open(path) as source:
        rate, data = source.getframerate(), source.readframes(source.getnframes())
    sound = [value - 128 for value in data]
    size, hop = rate * 24 // 1000, rate * 6 // 1000
    waves = []
    for tone in ROWS + COLUMNS:
        angles = [2 * math.pi * tone * n / rate for n in range(size)]
        waves.append(([math.cos(a) for a in angles], [math.sin(a) for a in angles]))
    frames = []
    for start in range(0, len(sound) - size, hop):
        part = sound[start:start + size]
        levels = [math.hypot(sum(map(mul, part, c)), sum(map(mul, part, s))) for c, s in waves]
        row, column = max(range(4), key=levels.__getitem__), max(range(4, 8), key=levels.__getitem__)
        frames.append((min(levels[row], levels[column]), "123A456B789C*0#D"[row * 4 + column - 4]))
    enough = sorted(level for level, _ in frames)[len(frames) * 9 // 10] * 0.5
    blips = []  # unbroken stretches of one key
    for at, (level, key) in enumerate(frames):
        if level >= enough and blips and blips[-1][0] == key and blips[-1][2] == at - 1:
            blips[-1][2] = at
        elif level >= enough:
            blips.append([key, at, at])
    runs = []
    for key, first, last in blips:
        if last - first < 2:
            continue
        if runs and runs[-1][0] == key and (first - runs[-1][2] - 1) * hop <= LONGEST_BREAK * rate:
            runs[-1][2] = last
        else:
            runs.append([key, first, last])
    return "".join(key for key, first, last in runs if (last - first + 1) * hop >= SHORTEST * rate)
def right(text):
    total = 0
    for place, digit in enumerate(reversed(text)):
        value = int(digit)
        if @LUHN@:
            value = value * 2 - 9 * (value > 4) if place % 2 else value
        else:
            value *= 3 if place % 2 else 1
        total += value
    return total % 10 == 0
result = {}
for path in glob.glob("@FOLDER@/*.wav"):
    keys = pressed(path)
    current, good, bad = "", [], []
    for key in keys:
        if key.isdigit():
            current += key
        elif key == "@ERASE@":
            current = current[:-1]
        elif key == "@WIPE@":
            current = ""
        elif key == "@END@":
            if current:
                (good if right(current) else bad).append(current)
            current = ""
    result[os.path.basename(path)] = dict(zip("@NAMES@".split(), (keys, good, bad)))
json.dump(result, open("@REPORT@", "w"))
PY
