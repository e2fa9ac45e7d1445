JOBS += [("keys", 1), ("keys", 2)]


def test_keys():
    for turn in (1, 2):
        got = drive("keys", turn)
        running, order = {}, {}
        for item, what in got["log"]:
            lane = item // 100
            if what == "start":
                assert lane not in running, "two items of a key at the same time"
                running[lane] = item
                order.setdefault(lane, []).append(item)
            else:
                assert running.pop(lane) == item
        assert sorted(sum(order.values(), [])) == TRUTH["keyed"], "not every item once"
        assert all(items == sorted(items) for items in order.values()), "order within a key"
        assert got["failures"] == [104, 204, 304, 404]
