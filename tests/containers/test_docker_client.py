"""Which daemon is spoken to: DOCKER_HOST, a context with or without certificates, the usual sockets."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from containers.engines.docker.client import Flavour, candidates, connect
from containers.engines.docker.files import read
from generators.errors import EngineError, SandboxFault
from tests.engines import find_socket

FLAVOURS: tuple[Flavour, ...] = ("docker", "podman")


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Docker configuration of its own, without contexts."""
    for name in (
        *("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH"),
        *("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),  # requests puts these before the certificates that it is given
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    (tmp_path / "config.json").write_text("{}")
    return tmp_path


def context(config: Path, name: str, host: str) -> Path:
    """As `docker context create` writes it; gives the folder for its certificates."""
    key = hashlib.sha256(name.encode()).hexdigest()
    meta = config / "contexts" / "meta" / key / "meta.json"
    meta.parent.mkdir(parents=True)
    endpoints = {"docker": {"Host": host, "SkipTLSVerify": False}}
    meta.write_text(json.dumps({"Name": name, "Metadata": {}, "Endpoints": endpoints}))
    (config / "config.json").write_text(json.dumps({"currentContext": name}))
    return config / "contexts" / "tls" / key / "docker"


def test_the_current_context_names_the_daemon(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context(config, "far", "tcp://192.0.2.9:2376")
    context(config, "near", "unix:///run/near.sock")
    assert candidates("docker") == ["unix:///run/near.sock"]
    monkeypatch.setenv("DOCKER_CONTEXT", "far")
    assert candidates("docker") == ["tcp://192.0.2.9:2376"]
    monkeypatch.setenv("DOCKER_HOST", "unix:///run/named.sock")
    assert candidates("docker") == ["unix:///run/named.sock"]


def test_a_socket_behind_a_closed_door_is_none(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As root's Podman has it, for everybody else."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(config / "closed"))
    (config / "closed/podman").mkdir(parents=True)
    (config / "closed/podman/podman.sock").touch()
    (config / "closed").chmod(0)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        assert not any("closed" in address for flavour in FLAVOURS for address in candidates(flavour))
    finally:
        os.seteuid(user)
        (config / "closed").chmod(0o700)


def test_a_damaged_configuration_leaves_the_usual_sockets(config: Path) -> None:
    (config / "config.json").write_text("{")
    assert all(address.startswith("unix://") for address in candidates("docker"))


def test_a_daemon_is_reached_by_its_context(config: Path) -> None:
    address = find_socket("docker")
    context(config, "here", address)
    client, found = connect("docker")
    assert found == address and client.version()["ApiVersion"]
    client.close()


class Daemon(BaseHTTPRequestHandler):
    """As much of a daemon as a client asks before it is one."""

    def do_GET(self) -> None:
        body = json.dumps({"ApiVersion": "1.44"}).encode() if self.path.endswith("/version") else b"OK"
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


def test_a_daemon_behind_certificates_is_reached_by_its_context(config: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Daemon) as server:
        address = f"tcp://127.0.0.1:{server.server_port}"
        pems = context(config, "far", address)
        pems.mkdir(parents=True)
        key, cert, ca = (str(pems / f"{name}.pem") for name in ("key", "cert", "ca"))
        words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=x", "-keyout", key]
        words += ["-addext", "subjectAltName=IP:127.0.0.1", "-out", cert]
        subprocess.run(words, check=True, capture_output=True)
        shutil.copy(cert, ca)
        secure = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        secure.load_cert_chain(cert, key)
        secure.load_verify_locations(ca)
        secure.verify_mode = ssl.CERT_REQUIRED
        server.socket = secure.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        client, found = connect("docker")
        assert found == address
        client.close()
        shutil.rmtree(pems)
        with pytest.raises(EngineError, match=address):
            connect("docker")
        server.shutdown()


class _BreaksOff:
    """A container whose daemon ends an archive early, as Podman was seen to under load."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def get_archive(self, path: str) -> tuple[Iterator[bytes], dict[str, str]]:
        return (piece for piece in [self.data]), {"name": path}


@pytest.mark.parametrize("data", [b"", b"x" * 100, b"\0" * 512])
def test_an_archive_that_breaks_off_is_a_fault_of_the_daemon(data: bytes) -> None:
    with pytest.raises(SandboxFault, match="/etc/passwd"):
        read(_BreaksOff(data), "/etc/passwd")
