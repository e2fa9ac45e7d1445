def step(t, y, h):
    def at(k, f):
        return [a + f * b for a, b in zip(y, k)]
    k1 = model.rhs(t, y)
    k2 = model.rhs(t + h / 2, at(k1, h / 2))
    k3 = model.rhs(t + h / 2, at(k2, h / 2))
    k4 = model.rhs(t + h, at(k3, h))
    return [v + h / 6 * (a + 2 * b + 2 * c + d) for v, a, b, c, d in zip(y, k1, k2, k3, k4)]
