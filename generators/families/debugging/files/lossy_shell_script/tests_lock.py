def test_lock():
    lock = TRUTH["lock"]
    os.makedirs(os.path.dirname(lock), exist_ok=True)
    room = tempfile.mkdtemp().encode()
    sleeper = subprocess.Popen(["/bin/sleep", "60"])
    try:
        src, dest = room + b"/a", room + b"/b"
        put(src, [["one.txt", "1", 0o644, 99]])
        before = tree(room)
        with open(lock, "w") as out:
            out.write(f"{sleeper.pid}\n")
        code, _ = run([src, dest], room)
        assert code == TRUTH["busy"] and tree(room) == before, "a living lock is not respected"
        with open(lock) as source:
            assert source.read() == f"{sleeper.pid}\n", "the living lock was changed"
        sleeper.kill()
        sleeper.wait()
        for text in (f"{sleeper.pid}\n", "", "starting"):
            put(src, [["one.txt", "1", 0o644, 99]])
            with open(lock, "w") as out:
                out.write(text)
            code, _ = run([src, dest], room)
            assert code == 0 and tree(src) == {}, "a stale lock stops the program"
            assert not os.path.exists(lock), "the lock is still there after the run"
    finally:
        sleeper.kill()
        sleeper.wait()
        if os.path.exists(lock):
            os.remove(lock)
        shutil.rmtree(room, ignore_errors=True)
