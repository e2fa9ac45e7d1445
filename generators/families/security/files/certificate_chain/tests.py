import calendar
import configparser
import contextlib
import hashlib
import os
import signal
import socket
import ssl
import subprocess
import tempfile
import time
from pathlib import Path

FOLDER = Path(TRUTH["folder"])
ROOT = TRUTH["trust"] + "/root.crt"
SAID = {}


def config():
    found = configparser.ConfigParser()
    found.read(FOLDER / "service.ini")
    return found


@contextlib.contextmanager
def running():
    process = subprocess.Popen([str(FOLDER / "start.sh")], cwd="/", start_new_session=True, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 10
        for port in (TRUTH["port"] + 1, TRUTH["port"]):
            while time.monotonic() < end:
                assert process.poll() is None, "the service ended"
                with contextlib.suppress(OSError):
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                time.sleep(0.005)
        yield
    finally:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def talk(context, port, name, data):
    with socket.create_connection(("127.0.0.1", port), 5) as raw, context.wrap_socket(raw, server_hostname=name) as sock:
        chain = [one.public_bytes(2) for one in sock._sslobj.get_unverified_chain()]
        peer = sock.getpeercert()
        sock.sendall(data)
        answer = b""
        while part := sock.recv(4096):
            answer += part
        return peer, chain, answer


def said():
    """What clients got from both ports under every name. One run of the service serves all tests, whichever is first."""
    if not SAID:
        SAID["fault"] = ""
        try:
            context = ssl.create_default_context(cafile=ROOT)
            with running():
                for name in [name for site in TRUTH["sites"] for name in (site["name"], *site["aliases"])]:
                    for port, data in ((TRUTH["port"], b"GET / HTTP/1.0\r\n\r\n"), (TRUTH["port"] + 1, b"PING-7\n")):
                        try:
                            SAID[port, name] = talk(context, port, name, data)
                        except OSError as error:
                            SAID[port, name] = f"{name}: {error}"
        except (OSError, AssertionError) as error:
            SAID["fault"] = f"{error}"
    assert not SAID["fault"], SAID["fault"]
    return SAID


def got(port, name):
    found = said()[port, name]
    assert not isinstance(found, str), found
    return found


def decoded(der):
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        file.write(ssl.DER_cert_to_PEM_cert(der))
        file.flush()
        return ssl._ssl._test_decode_cert(file.name)


def peers():
    return [(site, *got(TRUTH["port"], site["name"])[:2]) for site in TRUTH["sites"]]


def common_name(cert):
    return next(value for part in cert["subject"] for key, value in part if key == "commonName")


def test_clients_can_connect():
    for site in TRUTH["sites"]:
        for name in [site["name"], *site["aliases"]]:
            _, chain, answer = got(TRUTH["port"], name)
            assert answer.startswith(b"HTTP/1.0 200") and answer.endswith(TRUTH["banner"].encode() + b"\n"), name
            assert len(chain) == 2, name
            assert decoded(chain[1])["subject"] == decoded(chain[0])["issuer"], name
            _, other, answer = got(TRUTH["port"] + 1, name)
            assert answer == b"OK PING-7\n" and other == chain, name


def test_certificates_are_as_ordered():
    start, end = (calendar.timegm(time.strptime(TRUTH[key], "%Y-%m-%d")) for key in ("start", "end"))
    for site, peer, chain in peers():
        assert common_name(peer) == site["name"]
        wanted = [["DNS", name] for name in [site["name"], *site["aliases"]]] + [["IP Address", "127.0.0.1"]]
        assert sorted(map(list, peer["subjectAltName"])) == sorted(wanted)
        spans = [[ssl.cert_time_to_seconds(one[key]) for key in ("notBefore", "notAfter")] for one in map(decoded, chain)]
        assert all(low <= start and high >= end for low, high in spans), "dates"
        assert spans[1][0] <= spans[0][0] and spans[0][1] <= spans[1][1], "outlives its issuer"
        usage = bytes.fromhex("2b06010505070301")
        assert usage in chain[0] and bytes.fromhex("2b06010505070302") not in chain[0], "extended key usage"


def test_keys_are_new_and_private():
    seen = set()
    found = config()
    for site in TRUTH["sites"]:
        section = next(found[name] for name in found.sections() if found[name].get("name") == site["name"])
        key, certificate = (FOLDER / section[word] for word in ("key", "certificate"))
        assert key.stat().st_mode & 0o777 == 0o600
        seen.add(key.read_bytes())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        try:
            context.load_cert_chain(certificate, TRUTH["trust"] + "/leaked.key")
        except ssl.SSLError:
            continue
        raise AssertionError("the leaked key is still in use")
    assert len(seen) == len(TRUTH["sites"])


def test_register_is_kept():
    lines = (FOLDER / TRUTH["register"]).read_text().splitlines()
    old = len(TRUTH["listed"])
    assert lines[:old] == TRUTH["listed"], "earlier lines"
    wanted = []
    for site, peer, _ in peers():
        end = time.gmtime(ssl.cert_time_to_seconds(peer["notAfter"]))
        wanted.append(f"{peer['serialNumber']},{site['name']},{time.strftime('%Y-%m-%d', end)}")
        assert peer["serialNumber"] not in {line.split(",")[0] for line in lines[:old]}, "serial used again"
    assert sorted(lines[old:]) == sorted(wanted)


def test_the_rest_is_unchanged():
    for name, digest in TRUTH["inputs"].items():
        assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == digest, name
    found = config()
    assert found["service"]["port"] == str(TRUTH["port"]) and found["service"]["banner"] == TRUTH["banner"]
    sites = [found[name] for name in found.sections() if name.startswith("site ")]
    assert [[site["name"], site["aliases"].split()] for site in sites] == [[x["name"], x["aliases"]] for x in TRUTH["sites"]]
    assert (FOLDER / TRUTH["register"]).read_text().splitlines()[: len(TRUTH["listed"])] == TRUTH["listed"]
    assert os.stat(ROOT).st_uid == 0
