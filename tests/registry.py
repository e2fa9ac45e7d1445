"""A registry of one image, speaking enough of the OCI distribution protocol for a pull (version 2, no accounts)."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
_CONFIG = "application/vnd.docker.container.image.v1+json"
_LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"


def _digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


class Registry:
    """An image made of one layer with these files. `asked` lists the paths that were requested."""

    def __init__(self, name: str, files: dict[str, bytes]) -> None:
        self.name = name
        self.asked: list[str] = []
        layer = io.BytesIO()
        with tarfile.open(fileobj=layer, mode="w") as tar:
            for path, data in files.items():
                member = tarfile.TarInfo(path)
                member.size, member.mode = len(data), 0o755
                tar.addfile(member, io.BytesIO(data))
        packed = gzip.compress(layer.getvalue(), mtime=0)
        config = {
            "architecture": "amd64",
            "os": "linux",
            "config": {"Env": ["FROM_REGISTRY=yes"]},
            "rootfs": {"type": "layers", "diff_ids": [_digest(layer.getvalue())]},
        }
        text = json.dumps(config).encode()
        manifest = {
            "schemaVersion": 2,
            "mediaType": _MANIFEST,
            "config": {"mediaType": _CONFIG, "size": len(text), "digest": _digest(text)},
            "layers": [{"mediaType": _LAYER, "size": len(packed), "digest": _digest(packed)}],
        }
        self.manifest = json.dumps(manifest).encode()
        self.blobs = {_digest(text): text, _digest(packed): packed}

    def answer(self, path: str) -> tuple[int, str, bytes]:
        """Status, content type and body of a request."""
        self.asked.append(path)
        if path == "/v2/":
            return 200, "application/json", b"{}"
        head, _, last = path.rpartition("/")
        if head == f"/v2/{self.name}/manifests" and last in ("1", _digest(self.manifest)):
            return 200, _MANIFEST, self.manifest
        if head == f"/v2/{self.name}/blobs" and last in self.blobs:
            return 200, "application/octet-stream", self.blobs[last]
        return 404, "application/json", b'{"errors": [{"code": "MANIFEST_UNKNOWN", "message": "no such image"}]}'


@contextlib.contextmanager
def serving(registry: Registry) -> Iterator[str]:
    """Serve on this machine; yields HOST:PORT."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._say(body=True)

        def do_HEAD(self) -> None:
            self._say(body=False)

        def _say(self, body: bool) -> None:
            status, kind, data = registry.answer(self.path)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Docker-Content-Digest", _digest(data))
            self.send_header("Docker-Distribution-Api-Version", "registry/2.0")
            self.end_headers()
            if body:
                self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"localhost:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
