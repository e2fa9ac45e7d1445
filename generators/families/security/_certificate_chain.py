"""The words of a TLS service, its sites, and the scripts that repair it."""

from __future__ import annotations

from dataclasses import dataclass

from generators.family import Setting


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    folder: str
    trust: str  # owned by root: the trust anchor and the leaked key
    domain: str
    hosts: tuple[str, str, str]
    port: int
    register: str


@dataclass(frozen=True)
class Site:
    """A site and the issuer that fits it (numbers of its certificate and key files)."""

    name: str
    aliases: tuple[str, ...]
    file: str
    cert: int
    key: int


@dataclass(frozen=True)
class Maker:
    """Writes solutions and their wrong sisters; `cnf` is the configuration of `openssl ca`."""

    world: World
    sites: list[Site]
    start: str
    end: str
    serial: int
    cnf: str

    def script(
        self, sent: str = "", extra: str = "", aliases: bool = True, key_from: str = "", record: bool = True
    ) -> str:
        """Bash around `openssl ca`, which takes explicit dates."""
        low, high = self.start.replace("-", "") + "000000Z", self.end.replace("-", "") + "120000Z"
        text = f"set -e\ncd {self.world.folder}\nw=$(mktemp -d)\nmkdir $w/new; : > $w/index; echo {self.serial:04X} > $w/serial\n"
        settings = self.cnf
        for word in ("index", "new", "serial"):
            settings = settings.replace(f"= {word}", f"= $w/{word}")
        text += f"cat > $w/ca.cnf <<EOF\n{settings}EOF\n"
        for serial, site in enumerate(self.sites, self.serial):
            names = ",".join(
                ["DNS:" + name for name in [site.name, *(site.aliases if aliases else ())]]
                + (["IP:127.0.0.1"] if aliases else [])
            )
            fresh = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout"
            if key_from:
                text += f"(umask 077; cp {key_from} tls/{site.file}.key; chmod 600 tls/{site.file}.key)\n"
                fresh = "-key"
            text += f"""(umask 077; openssl req -new {fresh} tls/{site.file}.key -subj "/CN={site.name}" \\
  -config $w/ca.cnf -out $w/csr 2> $w/log)
printf 'basicConstraints=critical,CA:FALSE\\nkeyUsage=critical,digitalSignature\\nextendedKeyUsage=serverAuth\\n' > $w/ext
printf 'subjectKeyIdentifier=hash\\nauthorityKeyIdentifier=keyid\\nsubjectAltName={names}\\n' >> $w/ext
openssl ca -batch -notext -config $w/ca.cnf -cert ca/{site.cert}.crt -keyfile ca/keys/{site.key}.key -in $w/csr \\
  -startdate {low} -enddate {high} -extfile $w/ext -out $w/leaf 2> $w/log
cat $w/leaf {sent or f"ca/{site.cert}.crt"} {extra} > tls/{site.file}.pem
sed -i '/^certificate = tls\\/{site.file}.pem/,$ s/^key = .*/key = tls\\/{site.file}.key/' service.ini
"""
            if record:
                text += f"echo {serial:04X},{site.name},{self.end} >> {self.world.register}\n"
        return text + "rm -r $w\n"

    def by_python(self, source: str) -> str:
        """Another way: other keys, issuers found by trying, chains in new files, random serials."""
        return (
            source.replace("@FOLDER@", self.world.folder)
            .replace("@TRUST@", self.world.trust)
            .replace("@REGISTER@", self.world.register)
            .replace("@START@", self.start)
            .replace("@END@", self.end)
            .replace("@CNF@", self.cnf)
        )
