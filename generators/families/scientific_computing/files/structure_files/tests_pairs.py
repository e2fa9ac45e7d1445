def test_contacts():
    rows = table(TRUTH["pairs"], ["file", "chain1", "residue1", "chain2", "residue2", "distance"])
    got = {tuple(row[:5]): float(row[5]) for row in rows}
    wanted = {tuple(row[:5]): row[5] for row in TRUTH["contacts"]}
    assert len(rows) == len(got) and set(got) == set(wanted), "pairs"
    assert all(abs(got[key] - wanted[key]) < 0.0021 for key in wanted), "distance"
