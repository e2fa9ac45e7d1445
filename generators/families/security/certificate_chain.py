"""Repair a TLS service: issue a leaf from the right issuing CA and present the right chain, with names, dates and a new key."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from generators.family import Draft, Draw, Family, Miss, Setting
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    folder: str
    trust: str  # owned by root: the trust anchor and the leaked key
    domain: str
    hosts: tuple[str, str, str]
    port: int
    register: str


SETTINGS = (
    World("booking", "site reliability engineer", "booking service", "ticket", "/srv/booking",
          "/usr/local/share/booking-trust",
          "booking.example", ("book", "seats", "desk"), 8443, "issued.csv"),
    World("meters", "metering engineer", "meter gateway", "email", "/opt/meter-gw", "/etc/meter-trust",
          "meters.example", ("gw", "push", "ops"), 9443, "register.csv"),
    World("lab", "lab IT", "sample tracker", "note", "/data/tracker", "/usr/share/tracker-ca", "lab.example",
          ("samples", "tubes", "staff"), 7443, "certs.csv"),
    World("port", "terminal operations", "berth planner", "specification", "/var/berth", "/etc/berth/anchor",
          "port.example", ("berth", "tide", "pilot"), 8844, "issued.list"),
    World("radio", "broadcast engineer", "playout control", "chat", "/home/radio/playout",
          "/usr/local/share/playout", "radio.example", ("playout", "live", "studio"), 9119, "ledger.csv"),
    World("bank", "payments platform", "rate service", "runbook", "/srv/rates", "/etc/rates-pki", "bank.example",
          ("rates", "quotes", "risk"), 8553, "issue-log.csv"),
    World("school", "school network admin", "timetable service", "email", "/work/timetable",
          "/usr/share/timetable-root", "school.example", ("plan", "rooms", "office"), 7543, "given.csv"),
    World("farm", "agritech engineer", "barn sensors", "ticket", "/opt/barn", "/etc/barn-trust", "farm.example",
          ("barn", "milk", "vet"), 8663, "handed-out.csv"),
)  # fmt: skip
VOICES = (
    "{firm}: clients of the {scenario} in {folder} refuse its certificate. Put it "
    "right.\n\n{facts}\n\n{rules}\n\n{guard}\n",
    "Hi,\n\nsince the audit at {firm} nobody can connect to the {scenario} ({folder}) any more: TLS errors "
    "everywhere. Please repair this for good.\n\n{rules}\n\n{facts}\n\n{guard}\n{persona}\n",
    "{scenario}, {folder}: broken TLS.\n{facts}\n{guard}\n{rules}\n",
    "Procedure: TLS repair, {scenario}\nSystem: {folder} ({firm})\nFacts:\n{facts}\nWanted:\n{rules}\n{guard}\n",
)
FACTS = {
    "service": (
        "The service is started by {folder}/start.sh and reads service.ini: for each site its name, certificate file "
        "(what it presents, leaf first) and key. It speaks HTTPS on port {port} and a line "
        "protocol, also over TLS, on port {next}.",
        "{folder}/start.sh runs it; service.ini names the ports ({port} for HTTPS, {next} for a line protocol over "
        "TLS) and for every site the file of certificates it sends (leaf first) and the "
        "private key.",
        "Start script: {folder}/start.sh. Configuration: service.ini, with a section per site (certificate: PEM file "
        "sent to clients, leaf first; key). Ports: HTTPS {port}, TLS line protocol {next}.",
    ),
    "ca": (
        "Issuing CAs lie in {folder}/ca as N.crt, and in {folder}/ca/keys those private keys that we have, under "
        "other numbers; all were issued by the root {trust}/root.crt, the only certificate that clients trust. "
        "They differ in dates{constraints} and keys, two even have the same name.",
        "{folder}/ca has the certificates of our issuing CAs and ca/keys some of their keys; the numbers of the two "
        "do not correspond. Clients trust {trust}/root.crt alone. Watch the issuers' dates{constraints} and keys: one "
        "name occurs twice.",
        "Clients know just {trust}/root.crt. Below it are several issuing CAs, {folder}/ca/*.crt, of which some keys "
        "are kept in ca/keys (numbered independently). Not each is fit: look at dates{constraints} and at which "
        "key belongs to which, for a name is used twice.",
    ),
    "now": (
        "Take {now} as today's date.",
        "Today, for this job, is {now}.",
        "Reckon with {now} as the current date.",
    ),
}  # fmt: skip
RULES = {
    "chain": (
        "With only the root trusted, clients must be able to connect to both ports under every name of a site; the "
        "service sends the leaf and the issuing CA, in this order, and nothing else.",
        "Both ports must pass verification against the root alone, whichever of a site's names the client uses, and "
        "what is sent is exactly two certificates: leaf, then its issuer.",
        "A client that trusts the root only has to succeed on both ports with all names of a site. Sent are the leaf "
        "followed by its issuing CA, not the root, nothing superfluous.",
    ),
    "names": (
        "Subject alternative names, exactly these: {names}. The common name is the site's name.",
        "The leaf has the site's name as its common name and these subject alternative names, no others: {names}.",
        "Common name: the site's name. Subject alternative names, neither more nor fewer: {names}.",
    ),
    "dates": (
        "Leaf and issuing CA are both valid from {start} at the latest until {end} at least, and the leaf's period "
        "lies within its issuer's.",
        "The whole time from {start} to {end} must be covered by the leaf as well as by its issuer, and a leaf "
        "neither begins before its issuer nor ends after it.",
        "Validity of leaf and issuer has to include {start} and {end} and all between; the leaf may not reach beyond "
        "its issuer at either end.",
    ),
    "usage": (
        "The extended key usage is server authentication and nothing else.",
        "As extended key usage put server authentication only.",
        "Extended key usage: TLS server, no client.",
    ),
    "key": (
        "The key in use has leaked ({trust}/leaked.key is a copy), so every leaf gets a new private key{own}, "
        "readable and writable for its owner only.",
        "Because the old key is public ({trust}/leaked.key) each leaf needs a fresh one{own}; no one but the owner "
        "may read the key files (mode 600).",
        "New private keys{own} with mode 600, please: the present one is known to others, see {trust}/leaked.key.",
    ),
    "register": (
        "Append a line for each issued certificate to {folder}/{register}: serial number in upper-case hex, common "
        "name, last day of validity as YYYY-MM-DD, separated by commas. Serial numbers already listed there must not "
        "be used again.",
        "{folder}/{register} gets one more line per issued certificate, namely serial (upper-case hex), common name "
        "and end date (YYYY-MM-DD) with commas between; a serial listed earlier must not recur.",
        "Register what you issue at the end of {folder}/{register} as SERIAL,NAME,DATE (upper-case hex, common name, "
        "YYYY-MM-DD of the end); no serial may occur twice.",
    ),
}  # fmt: skip
GUARDS = (
    "The program, the start script, the ports and the site names stay, and so do existing lines of the register.",
    "Do not change the program or the start script, nor ports, site names or earlier lines of the register.",
    "Existing register lines, start script, program, ports and site names remain as they are.",
)

SERVICE = """import configparser
import os
import socketserver
import ssl
import threading

os.chdir(os.path.dirname(os.path.abspath(__file__)))
config = configparser.ConfigParser()
config.read("service.ini")
contexts = {}
for section in config.sections():
    if section.startswith("site "):
        site = config[section]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(site["certificate"], site["key"])
        for name in [site["name"], *site.get("aliases", "").split()]:
            contexts[name] = context
first = next(iter(contexts.values()))


def choose(sock, name, context):
    sock.context = contexts.get(name, first)


first.sni_callback = choose


class Web(socketserver.StreamRequestHandler):
    def handle(self):
        while self.rfile.readline().strip():
            pass
        text = config["service"]["banner"].encode() + b"\\n"
        self.wfile.write(b"HTTP/1.0 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(text) + text)


class Lines(socketserver.StreamRequestHandler):
    def handle(self):
        word = self.rfile.readline().strip().decode("ascii", "replace")
        self.wfile.write(("OK " + word[:40] + "\\n").encode())


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True

    def get_request(self):
        sock, peer = super().get_request()
        sock.settimeout(5)
        return first.wrap_socket(sock, server_side=True), peer


port = int(config["service"]["port"])
threading.Thread(target=Server(("127.0.0.1", port + 1), Lines).serve_forever, daemon=True).start()
Server(("127.0.0.1", port), Web).serve_forever()
"""
START = '#!/bin/sh\ncd "$(dirname "$0")" && exec python3 service.py\n'

TESTS = """
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


def config():
    found = configparser.ConfigParser()
    found.read(FOLDER / "service.ini")
    return found


@contextlib.contextmanager
def running():
    process = subprocess.Popen([str(FOLDER / "start.sh")], cwd="/", start_new_session=True, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for port in (TRUTH["port"] + 1, TRUTH["port"]):
            for _ in range(200):
                assert process.poll() is None, "the service ended"
                with contextlib.suppress(OSError):
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                time.sleep(0.05)
        yield
    finally:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def talk(port, name, data):
    context = ssl.create_default_context(cafile=ROOT)
    with socket.create_connection(("127.0.0.1", port), 5) as raw, context.wrap_socket(raw, server_hostname=name) as sock:
        chain = [one.public_bytes(2) for one in sock._sslobj.get_unverified_chain()]
        peer = sock.getpeercert()
        sock.sendall(data)
        answer = b""
        while part := sock.recv(4096):
            answer += part
        return peer, chain, answer


def decoded(der):
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        file.write(ssl.DER_cert_to_PEM_cert(der))
        file.flush()
        return ssl._ssl._test_decode_cert(file.name)


def peers():
    with running():
        return [(site, *talk(TRUTH["port"], site["name"], b"GET / HTTP/1.0\\r\\n\\r\\n")[:2]) for site in TRUTH["sites"]]


def common_name(cert):
    return next(value for part in cert["subject"] for key, value in part if key == "commonName")


def test_clients_can_connect():
    with running():
        for site in TRUTH["sites"]:
            for name in [site["name"], *site["aliases"]]:
                _, chain, answer = talk(TRUTH["port"], name, b"GET / HTTP/1.0\\r\\n\\r\\n")
                assert answer.startswith(b"HTTP/1.0 200") and answer.endswith(TRUTH["banner"].encode() + b"\\n"), name
                assert len(chain) == 2, name
                assert decoded(chain[1])["subject"] == decoded(chain[0])["issuer"], name
                _, other, answer = talk(TRUTH["port"] + 1, name, b"PING-7\\n")
                assert answer == b"OK PING-7\\n" and other == chain, name


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
"""
INITIAL = """
import os
from pathlib import Path


def test_service_and_issuers_are_there():
    folder = Path(TRUTH["folder"])
    assert all((folder / name).is_file() for name in TRUTH["inputs"])
    assert len(list((folder / "ca").glob("*.crt"))) == TRUTH["issuers"]
    assert os.stat(TRUTH["trust"] + "/root.crt").st_uid == 0
"""
# Builds the PKI; the root's key and the issuers' working names exist during the build step only.
SETUP = r"""set -e
cd /setup
make() { openssl ecparam -name prime256v1 -genkey -noout -out $1.key; }
sign() { # subject key, subject, issuer, start, end, extensions, output
  openssl req -new -key $1.key -subj "$2" -out $1.csr -config ca.cnf
  openssl ca -batch -notext -config ca.cnf -in $1.csr -startdate $4 -enddate $5 -extfile $6 -out $7 $3 2> log || { cat log; exit 1; }
}
mkdir new; : > index; echo 5A01 > serial
printf 'basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\nsubjectKeyIdentifier=hash\n' > root.ext
make root; sign root "/O=@ORG@/CN=Root of @ORG@" "-selfsign -keyfile root.key" 20120101000000Z 20590101000000Z root.ext root.crt
while read -r id name start end permit cert key; do
  make $id
  { printf 'basicConstraints=critical,CA:TRUE,pathlen:0\nkeyUsage=critical,keyCertSign,cRLSign\n'
    printf 'subjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n'
    [ $permit = - ] || echo "nameConstraints=critical,permitted;DNS:$permit"; } > $id.ext
  sign $id "/O=@ORG@/CN=Issuing $name" "-cert root.crt -keyfile root.key" ${start}000000Z ${end}235959Z $id.ext @FOLDER@/ca/$cert.crt
  [ $key = - ] || cp $id.key @FOLDER@/ca/keys/$key.key
  cp @FOLDER@/ca/$cert.crt $id.crt
done < issuers
make leaf
printf 'basicConstraints=CA:FALSE\nsubjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n' > leaf.ext
while read -r name file issuer wrong; do
  sign leaf "/O=@ORG@/CN=$name" "-cert $issuer.crt -keyfile $issuer.key" 20190301000000Z 20210228235959Z leaf.ext leaf.crt
  cat leaf.crt $wrong.crt > @FOLDER@/tls/$file.pem
done < sites
cp leaf.key @FOLDER@/tls/server.key
cp root.crt leaf.key @TRUST@/
mv @TRUST@/leaf.key @TRUST@/leaked.key
chmod 644 @TRUST@/*
useradd -m -u 1000 agent
chown -R agent @FOLDER@
chmod 644 @FOLDER@/tls/server.key
"""
CNF = """[ca]
default_ca = d
[d]
database = index
new_certs_dir = new
serial = serial
default_md = sha256
policy = p
unique_subject = no
[p]
organizationName = optional
commonName = supplied
[req]
distinguished_name = n
string_mask = utf8only
[n]
"""


@dataclass(frozen=True)
class Site:
    """A site and the issuer that fits it (numbers of its certificate and key files)."""

    name: str
    aliases: tuple[str, ...]
    file: str
    cert: int
    key: int


def draft(draw: Draw) -> Draft:
    """One broken service."""
    world = draw.setting(SETTINGS)
    extreme = draw.difficulty is Difficulty.EXTREMELY_HARD
    year = draw.between(2024, 2025)
    start, end = f"{year - 2}-{draw.between(1, 12):02d}-01", f"{draw.between(2033, 2036)}-{draw.between(1, 12):02d}-01"
    now = f"{year}-{draw.between(1, 12):02d}-{draw.between(1, 28):02d}"
    zones = (f"svc.{world.domain}", f"adm.{world.domain}")
    # id, name, start, end, permitted names, has a key
    kinds = [
        ("good", "A", "20200101", "20441231", zones[0] if extreme else "-", True),
        ("former", "A", "20180101", "20401231", "-", False),
        ("ended", "B", "20150101", "20211231", "-", True),
        ("short", "C", "20200101", f"{draw.between(2029, 2031)}0630", "-", True),
        ("late", "D", f"{year}0115", "20471231", "-", True),
    ]
    if extreme:
        kinds += [
            ("second", "E", "20190101", "20461231", zones[1], True),
            ("foreign", "F", "20190101", "20461231", "partner.example", True),
        ]
    certs, keys = draw.sample(range(1, 20), len(kinds)), draw.sample(range(20, 40), len(kinds))
    numbers = {kind[0]: (cert, key) for kind, cert, key in zip(kinds, certs, keys, strict=True)}
    one, two, three = world.hosts
    sites = [Site(f"{one}.{zones[0]}", (f"{two}.{zones[0]}",), "main", *numbers["good"])]
    if extreme:
        sites.append(
            Site(
                f"{three}.{zones[1]}",
                (f"{three}-{draw.between(2, 9)}.{zones[1]}", f"{one}.{zones[1]}"),
                "inner",
                *numbers["second"],
            )
        )
    banner = f"{world.scenario} {draw.between(100, 999)}"
    ini = f"[service]\nport = {world.port}\nbanner = {banner}\n" + "".join(
        f"\n[site {site.file}]\nname = {site.name}\naliases = {' '.join(site.aliases)}\ncertificate = "
        f"tls/{site.file}.pem\nkey = tls/server.key\n"
        for site in sites
    )
    used = draw.between(0x1000, 0xEFFF)
    listed: list[str] = []
    for number in range(draw.between(3, 7)):
        day = f"20{draw.between(19, 23)}-0{draw.between(1, 9)}-2{draw.between(0, 8)}"
        listed.append(f"{used + number:04X},{draw.pick(world.hosts)}.{zones[0]},{day}")
    org = draw.pick(FIRMS)
    # Neither the order nor the letters of the names may tell which issuer is fit.
    letters = dict(zip("ABCDEF", draw.sample("ABCDEFGHKMNPRST", 6), strict=True))
    order = draw.shuffled(kinds)
    ids = {kind[0]: f"i{number}" for number, kind in enumerate(order)}
    table = "".join(
        f"{ids[kind]} {letters[name]} {low} {high} {permit} {numbers[kind][0]} {numbers[kind][1] if has_key else '-'}\n"
        for kind, name, low, high, permit, has_key in order
    )
    setup = SETUP.replace("@ORG@", org).replace("@FOLDER@", world.folder).replace("@TRUST@", world.trust)
    words = {
        "folder": world.folder,
        "trust": world.trust,
        "port": str(world.port),
        "next": str(world.port + 1),
        "register": world.register,
        "now": now,
        "start": start,
        "end": end,
        "constraints": ", permitted names" if extreme else "",
        "own": ", each site its own" if extreme else "",
        "names": "the site's name, its aliases in service.ini and the address 127.0.0.1",
    }
    turns = (draw.serial, draw.serial // 3)
    facts = {name: options[turns[n % 2] % 3].format(**words) for n, (name, options) in enumerate(FACTS.items())}
    rules = {name: options[turns[n % 2] % 3].format(**words) for n, (name, options) in enumerate(RULES.items())}
    guard = GUARDS[draw.serial % 3]
    instruction = VOICES[draw.serial % 4].format(
        firm=org,
        scenario=world.scenario,
        folder=world.folder,
        persona=world.persona,
        guard=guard,
        facts="\n".join(facts.values()) if draw.serial % 2 else " ".join(facts.values()),
        rules="\n".join(f"- {text}" for text in rules.values()) if draw.serial % 3 else " ".join(rules.values()),
    )
    connect, ordered, private, register = goals = [
        "test_clients_can_connect",
        "test_certificates_are_as_ordered",
        "test_keys_are_new_and_private",
        "test_register_is_kept",
    ]
    maker = Maker(world, sites, start, end, int(listed[-1].split(",")[0], 16) + 1)
    wrong = [Site(site.name, site.aliases, site.file, *numbers["short"]) for site in sites]
    former = f"ca/{numbers['former'][0]}.crt"
    return Draft(
        title=f"TLS of the {world.scenario}",
        setting=world,
        instruction=instruction,
        files={
            "app/service.py": SERVICE,
            "app/start.sh": (START, 0o755),
            "app/service.ini": ini,
            f"app/{world.register}": "".join(f"{line}\n" for line in listed),
            "setup/make.sh": setup,
            "setup/ca.cnf": CNF,
            "setup/issuers": table,
            "setup/sites": "".join(f"{site.name} {site.file} {ids['good']} {ids['former']}\n" for site in sites),
        },
        dockerfile=f"COPY app {world.folder}/\nCOPY setup /setup/\n"
        f"RUN mkdir -p {world.folder}/ca/keys {world.folder}/tls {world.trust} && bash /setup/make.sh && rm -r /setup\n"
        f"USER agent\nWORKDIR {world.folder}",
        truth={
            "folder": world.folder,
            "trust": world.trust,
            "port": world.port,
            "banner": banner,
            "register": world.register,
            "listed": listed,
            "start": start,
            "end": end,
            "issuers": len(kinds),
            "sites": [{"name": site.name, "aliases": list(site.aliases)} for site in sites],
            "inputs": {"service.py": digest(SERVICE), "start.sh": digest(START)},
        },
        discoverable=("folder", "trust", "banner", "register", "listed", "sites"),
        tests=TESTS,
        weights=dict(zip(goals, (0.35, 0.35, 0.15, 0.15), strict=True)),
        guards=["test_the_rest_is_unchanged"],
        initial=INITIAL,
        solution=maker.script(),
        alternatives=[maker.by_python()],
        misses=[
            Miss(
                "former_intermediate_sent",
                "keeps the old intermediate of the same name in the chain",
                maker.script(sent=former),
                [connect],
            ),
            Miss("root_sent_too", "sends the root as well", maker.script(extra=f"{world.trust}/root.crt"), [connect]),
            Miss(
                "common_name_only",
                "gives the leaf no alternative names but the first",
                maker.script(aliases=False),
                [connect, ordered],
            ),
            Miss(
                "leaked_key_reused",
                "signs the old key again",
                maker.script(key_from=f"{world.trust}/leaked.key"),
                [private],
            ),
            Miss(
                "short_issuer",
                "takes an issuer that ends too early",
                Maker(world, wrong, start, end, maker.serial).script(),
                [ordered],
            ),
            Miss("not_registered", "does not register", maker.script(record=False), [register]),
        ],
        requirements=[
            (facts["service"], [connect]),
            (facts["ca"], [connect, ordered]),
            (facts["now"], [connect]),
            (rules["chain"], [connect]),
            (rules["names"], [connect, ordered]),
            (rules["dates"], [ordered]),
            (rules["usage"], [ordered]),
            (rules["key"], [private]),
            (rules["register"], [register]),
            (guard, ["test_the_rest_is_unchanged"]),
        ],
        knobs={"issuers": len(kinds), "sites": len(sites), "constraints": extreme},
    )


def digest(text: str) -> str:
    """Hex sha256."""
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Maker:
    """Writes solutions and their wrong sisters."""

    world: World
    sites: list[Site]
    start: str
    end: str
    serial: int

    def script(
        self, sent: str = "", extra: str = "", aliases: bool = True, key_from: str = "", record: bool = True
    ) -> str:
        """Bash around `openssl ca`, which takes explicit dates."""
        low, high = self.start.replace("-", "") + "000000Z", self.end.replace("-", "") + "120000Z"
        text = f"set -e\ncd {self.world.folder}\nw=$(mktemp -d)\nmkdir $w/new; : > $w/index; echo {self.serial:04X} > $w/serial\n"
        settings = CNF
        for word in ("index", "new", "serial"):
            settings = settings.replace(f"= {word}", f"= $w/{word}")
        text += f"cat > $w/ca.cnf <<EOF\n{settings}EOF\n"
        for site in self.sites:
            names = ",".join(
                ["DNS:" + name for name in [site.name, *(site.aliases if aliases else ())]]
                + (["IP:127.0.0.1"] if aliases else [])
            )
            fresh = (
                f"cp {key_from} tls/{site.file}.key"
                if key_from
                else f"openssl ecparam -name prime256v1 -genkey -noout -out tls/{site.file}.key"
            )
            text += f"""(umask 077; {fresh}; chmod 600 tls/{site.file}.key)
openssl req -new -key tls/{site.file}.key -subj "/CN={site.name}" -config $w/ca.cnf -out $w/csr
printf 'basicConstraints=critical,CA:FALSE\\nkeyUsage=critical,digitalSignature\\nextendedKeyUsage=serverAuth\\n' > $w/ext
printf 'subjectKeyIdentifier=hash\\nauthorityKeyIdentifier=keyid\\nsubjectAltName={names}\\n' >> $w/ext
openssl ca -batch -notext -config $w/ca.cnf -cert ca/{site.cert}.crt -keyfile ca/keys/{site.key}.key -in $w/csr \\
  -startdate {low} -enddate {high} -extfile $w/ext -out $w/leaf 2> $w/log
cat $w/leaf {sent or f"ca/{site.cert}.crt"} {extra} > tls/{site.file}.pem
sed -i '/^certificate = tls\\/{site.file}.pem/,$ s/^key = .*/key = tls\\/{site.file}.key/' service.ini
"""
            if record:
                text += f'echo "$(openssl x509 -in $w/leaf -noout -serial | cut -d= -f2),{site.name},{self.end}" >> {self.world.register}\n'
        return text + "rm -r $w\n"

    def by_python(self) -> str:
        """Another way: other keys, issuers found by trying, chains in new files, random serials."""
        return (
            BY_PYTHON.replace("@FOLDER@", self.world.folder)
            .replace("@TRUST@", self.world.trust)
            .replace("@REGISTER@", self.world.register)
            .replace("@START@", self.start)
            .replace("@END@", self.end)
            .replace("@CNF@", CNF)
        )


BY_PYTHON = r"""cd @FOLDER@ && python3 - <<'PY'
import configparser, glob, os, secrets, ssl, subprocess, tempfile, time
def run(*call):
    return subprocess.run(call, check=True, capture_output=True, text=True).stdout
work = tempfile.mkdtemp()
open(work + "/ca.cnf", "w").write('''@CNF@'''.replace("= index", f"= {work}/index")
                                  .replace("= new", f"= {work}").replace("= serial", f"= {work}/serial"))
open(work + "/index", "w")
start, end = "@START@", "@END@"
def seconds(day):
    return int(run("date", "-u", "-d", day, "+%s"))
keys = {run("openssl", "pkey", "-in", k, "-pubout"): k for k in glob.glob("ca/keys/*.key")}
config = configparser.ConfigParser()
config.read("service.ini")
os.umask(0o077)
for section in config.sections():
    if not section.startswith("site "):
        continue
    site = config[section]
    names = [site["name"], *site["aliases"].split()]
    stem = "tls/new-" + section.split()[1]
    run("openssl", "ecparam", "-name", "secp384r1", "-genkey", "-noout", "-out", stem + ".key")
    run("openssl", "req", "-new", "-key", stem + ".key", "-subj", "/CN=" + names[0], "-config", work + "/ca.cnf", "-out", work + "/csr")
    open(work + "/ext", "w").write("basicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\nauthorityKeyIdentifier=keyid\nsubjectAltName="
                                   + ",".join("DNS:" + n for n in names) + ",IP:127.0.0.1\n")
    for issuer in sorted(glob.glob("ca/*.crt")):
        info = ssl._ssl._test_decode_cert(issuer)
        key = keys.get(run("openssl", "x509", "-in", issuer, "-noout", "-pubkey"))
        span = [ssl.cert_time_to_seconds(info[x]) for x in ("notBefore", "notAfter")]
        if not key or span[0] > seconds(start) or span[1] < seconds(end):
            continue
        open(work + "/serial", "w").write("71" + secrets.token_hex(7) + "\n")
        run("openssl", "ca", "-batch", "-notext", "-config", work + "/ca.cnf", "-cert", issuer, "-keyfile", key, "-in", work + "/csr",
            "-startdate", start.replace("-", "") + "000000Z", "-enddate", end.replace("-", "") + "000000Z", "-extfile", work + "/ext",
            "-out", stem + ".pem")
        check = ["openssl", "verify", "-attime", str(seconds(start) + 86400), "-CAfile", "@TRUST@/root.crt"]
        check += ["-untrusted", issuer, "-purpose", "sslserver", stem + ".pem"]
        good = subprocess.run(check, capture_output=True).returncode == 0
        if good:
            break
    serial = run("openssl", "x509", "-in", stem + ".pem", "-noout", "-serial").strip().split("=")[1]
    with open(stem + ".pem", "a") as out:
        out.write(open(issuer).read())
    os.chmod(stem + ".pem", 0o644)
    site["certificate"], site["key"] = stem + ".pem", stem + ".key"
    with open("@REGISTER@", "a") as out:
        out.write(f"{serial},{names[0]},{end}\n")
with open("service.ini", "w") as out:
    config.write(out)
PY
"""

FAMILY = Family(
    name="certificate_chain",
    domain="security",
    verifier=Verifier.MULTI_PROTOCOL,
    skills=("x509 certificates", "certificate authority", "tls", "service configuration"),
    difficulties=(Difficulty.HARD, Difficulty.EXTREMELY_HARD),
    capacity=32,
    draft=draft,
    command_complexity="services",
)
