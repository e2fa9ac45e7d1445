class Dual:
    def __init__(self, x, d):
        self.x, self.d = x, d
    def mix(self, x, other, p, q):
        d = {k: p * v for k, v in self.d.items()}
        for k, v in other.d.items():
            d[k] = d.get(k, 0) + q * v
        return Dual(x, d)
    def __add__(self, o):
        return self.mix(self.x + o.x, o, 1, 1)
    def __sub__(self, o):
        return self.mix(self.x - o.x, o, 1, -1)
    def __mul__(self, o):
        return self.mix(self.x * o.x, o, o.x, self.x)
    def __truediv__(self, o):
        return self.mix(self.x / o.x, o, 1 / o.x, -self.x / o.x ** 2)
scope = {k: Dual(v, {k: 1.0}) for k, v in value.items()}
report = {}
for name, text in lines:
    f = scope[name] = eval(text, {}, scope)
    variance = sum(p * q * u[a] * u[b] * (1 if a == b else rho.get((a, b), 0)) for a, p in f.d.items() for b, q in f.d.items())
    report[name] = {"value": f.x, "uncertainty": sqrt(variance)}
