def test_events():
    for (output, _), case in zip(runs(), TRUTH["cases"]):
        times = json.loads(output)[TRUTH["keys"][1]]
        assert len(times) == len(case["events"]), "number of events"
        assert all(abs(g - w) <= 2e-5 for g, w in zip(times, case["events"])), "time"
