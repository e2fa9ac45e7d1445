import base64
import hashlib
from pathlib import Path

FOLDER = Path(TRUTH["folder"])
PLAN = json.loads(TRUTH["plan"])


def lines():
    return (FOLDER / TRUTH["accounts"]).read_bytes().split(b"\n")


def test_hashes_are_upgraded():
    got, salts = lines(), set()
    for number, position, password, scrypt, head, tail in PLAN:
        left, right = b":".join(got[number].split(b":")[:position]), bytes.fromhex(tail)
        assert hashlib.sha256(left).hexdigest() == head, number
        rest = got[number][len(left) + 1 :]
        assert rest.endswith(right), number
        text = rest[: len(rest) - len(right)].decode()
        prefix = TRUTH["prefixes"][1 if scrypt else 0]
        assert text.startswith(prefix), number
        *cost, salt, key = text[len(prefix) :].split("$")
        raw = base64.b64decode(salt, validate=True)
        assert len(raw) >= 16 and raw not in salts, "salt"
        salts.add(raw)
        if scrypt:
            assert cost == ["1024", "8", "1"]
            wanted = hashlib.scrypt(password.encode(), salt=raw, n=1024, r=8, p=1, dklen=32)
        else:
            assert cost == [str(TRUTH["iterations"])]
            wanted = hashlib.pbkdf2_hmac("sha256", password.encode(), raw, TRUTH["iterations"], 32)
        assert base64.b64decode(key, validate=True) == wanted, number


def test_report():
    assert json.loads((FOLDER / TRUTH["report"]).read_text()) == TRUTH["result"]


def test_list_is_gone():
    assert not (FOLDER / TRUTH["known"]).exists()
    assert (FOLDER / TRUTH["report"]).is_file()


def test_everything_else_is_kept():
    path = FOLDER / TRUTH["accounts"]
    got = lines()
    assert len(got) == TRUTH["count"]
    for number, digest in TRUTH["kept"]:
        assert hashlib.sha256(got[number]).hexdigest() == digest, number
    assert path.stat().st_mode & 0o7777 == 0o640
    assert hashlib.sha256((FOLDER / "schemes.txt").read_bytes()).hexdigest() == TRUTH["schemes"]
