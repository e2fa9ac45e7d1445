def test_transactions():
    run("transactions")
