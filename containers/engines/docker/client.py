"""Finding a daemon and speaking to it: sockets, contexts, and what its errors mean."""

from __future__ import annotations

import contextlib
import os
import tarfile
from collections.abc import Generator
from pathlib import Path
from typing import Any, Literal

import docker
import requests
from docker.errors import APIError, DockerException
from docker.tls import TLSConfig

from generators.errors import EngineError, SandboxFault

LABEL = "termforge"  # on all that is made
Flavour = Literal["docker", "podman"]
TIMEOUT = 120  # seconds of silence after which a daemon counts as hung


def candidates(flavour: Flavour) -> list[str]:
    """Addresses to try, the most explicit first."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", f"/run/user/{os.getuid()}")
    if flavour == "podman":
        named = [os.environ.get("CONTAINER_HOST", "")]
        files = [f"{runtime}/podman/podman.sock", "/run/podman/podman.sock"]
    else:
        named = [os.environ.get("DOCKER_HOST", "")]
        if not named[0] and (context := _context()) is not None:
            named.append(str(context.Host))
        files = ["/var/run/docker.sock", f"{runtime}/docker.sock"]
    there = [
        f"unix://{file}" for file in files if os.path.exists(file)
    ]  # root's may be in a folder that is closed to us
    found = [address for address in named if address] or there
    return list(dict.fromkeys(found))


def _context() -> Any:
    """The context of DOCKER_CONTEXT, or the current one as `docker context use` set it; None for the usual sockets."""
    name, folder = os.environ.get("DOCKER_CONTEXT", ""), os.environ.get("DOCKER_CONFIG", "")
    if not name and not os.path.exists((Path(folder) if folder else Path.home() / ".docker") / "config.json"):
        return None
    try:
        from docker.context import ContextAPI

        context: Any = ContextAPI.get_context(name or None)
        return None if context is None or context.name == "default" else context
    except Exception:  # a damaged configuration: the usual sockets are tried
        return None


def connect(flavour: Flavour, address: str | None = None, timeout: float = TIMEOUT) -> tuple[Any, str]:
    """A client (the SDK is untyped) of a daemon that answers, and its address.

    Raises:
        EngineError: none does; the line says what was tried.
    """
    tried: list[str] = []
    for url in [address] if address else candidates(flavour):
        try:
            client: Any = docker.DockerClient(base_url=url, timeout=timeout, max_pool_size=64, tls=_tls(url))
            client.ping()
        except (DockerException, requests.RequestException, ValueError) as error:
            tried.append(f"{url} ({_short(error)})")
            continue
        return client, url
    where = "; ".join(tried) or "no socket of it was found"
    remedy = {
        "docker": "start it (sudo systemctl start docker), or name it by DOCKER_HOST",
        "podman": "start its service (systemctl --user start podman.socket), or name it by CONTAINER_HOST",
    }[flavour]
    raise EngineError(f"no {flavour} answers: {where}; {remedy}")


def _tls(url: str) -> TLSConfig | Literal[False]:
    """Certificates for a remote daemon: those of DOCKER_CERT_PATH, or of the context that names it."""
    folder = os.environ.get("DOCKER_CERT_PATH", "")
    if not url.startswith("tcp://"):
        return False
    if not os.environ.get("DOCKER_TLS_VERIFY") or not folder:
        context = None if os.environ.get("DOCKER_HOST") else _context()
        return (context.TLSConfig if context is not None and context.Host == url else None) or False
    return TLSConfig(client_cert=(f"{folder}/cert.pem", f"{folder}/key.pem"), ca_cert=f"{folder}/ca.pem", verify=True)


def _short(error: Exception) -> str:
    return str(error).splitlines()[0][:160] if str(error) else type(error).__name__


@contextlib.contextmanager
def faults(doing: str) -> Generator[None]:
    """A daemon that refuses, hangs or is gone is an infrastructure fault, which is retried."""
    try:
        yield
    except APIError as error:
        raise SandboxFault(f"{doing}: {_explained(error)}") from error
    except tarfile.TarError as error:
        raise SandboxFault(f"{doing}: what the daemon sent breaks off ({_short(error)})") from error
    except (DockerException, requests.RequestException, OSError) as error:
        raise SandboxFault(f"{doing}: the daemon did not answer ({_short(error)})") from error


def _explained(error: APIError) -> str:
    text = str(error.explanation or error)
    return text.strip().splitlines()[-1][:300] if text.strip() else "refused"
