def run(values):
    scope = dict(values)
    for name, text in lines:
        scope[name] = eval(text, {}, scope)
    return scope
centre, names = run(value), sorted(value)
slope = {}
for n in names:
    h = abs(value[n]) * 1e-4
    up, down = run({**value, n: value[n] + h}), run({**value, n: value[n] - h})
    far, near = run({**value, n: value[n] + 2 * h}), run({**value, n: value[n] - 2 * h})
    for r, _ in lines:
        slope[r, n] = (8 * (up[r] - down[r]) - (far[r] - near[r])) / (12 * h)
report = {}
for r, _ in lines:
    total = 0
    for a in names:
        for b in names:
            total += slope[r, a] * u[a] * (1 if a == b else rho.get((a, b), 0)) * slope[r, b] * u[b]
    report[r] = {"value": centre[r], "uncertainty": total ** 0.5}
