import json, sys
sys.path.insert(0, sys.argv[1])
import @MODULE@ as model
EVENTS = @EVENTS@
STEP = @STEP@

@METHOD@
def main():
    t, y = 0.0, list(model.START)
    states, events = [], []
    for end in model.TIMES:
        while end - t > 1e-12:
            h = min(STEP, end - t)
            new = step(t, y, h)
            if EVENTS and model.signal(new) <= 0:
                low, high = 0.0, h
                f_low, f_high = model.signal(y), model.signal(new)
                for _ in range(40):
                    guess = low + (high - low) * f_low / (f_low - f_high)
                    new = step(t, y, guess)
                    f = model.signal(new)
                    if abs(f) < 1e-10:
                        break
                    if f > 0:
                        low, f_low, f_high = guess, f, f_high / 2
                    else:
                        high, f_high, f_low = guess, f, f_low / 2
                h = guess
                events.append(t + h)
                new = model.jump(new)
            t, y = t + h, list(new)
        states.append([float(v) for v in y])
    print(json.dumps({"@K1@": states, "@K2@": events} if EVENTS else {"@K1@": states}))
main()
