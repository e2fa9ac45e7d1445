"""Files that go in, come out, and change."""

from __future__ import annotations

import pytest

from containers.sandbox import PutFile, Sandbox
from generators.errors import SandboxFault
from tests.containers.conformance.common import said, soon


def test_put_sets_bytes_mode_and_owner_and_makes_folders(sandbox: Sandbox) -> None:
    data = bytes(range(256)) * 999
    sandbox.put(
        [
            PutFile("/srv/new/deep/a", data, 0o600, 1000, 1500),
            PutFile("/srv/new/b", b"", 0o755),
            PutFile("/tmp/with space é", b"x", 0o444, 1000, 1000),
            PutFile("/tmp/plain", b"x", None),
        ]
    )
    assert said(sandbox, "stat -c '%a %u %g %s' /srv/new/deep/a /srv/new/b '/tmp/with space é' /tmp/plain") == (
        "600 1000 1500 255744\n755 0 0 0\n444 1000 1000 1\n644 0 0 1"
    )
    assert said(sandbox, "stat -c '%a %u' /srv/new /srv/new/deep /srv") == "755 0\n755 0\n1777 0"
    assert sandbox.get("/srv/new/deep/a") == data


def test_put_replaces_files_and_links_and_never_writes_through_a_link(sandbox: Sandbox) -> None:
    sandbox.exec("echo old > /srv/target; ln -s /srv/target /srv/link; echo longer than that > /srv/file", timeout=10)
    sandbox.put([PutFile("/srv/link", b"new"), PutFile("/srv/file", b"new")])
    assert (
        said(sandbox, "cat /srv/target; stat -c %F /srv/link; cat /srv/link /srv/file") == "old\nregular file\nnewnew"
    )


def test_put_many_files_at_once(sandbox: Sandbox) -> None:
    sandbox.put([PutFile(f"/srv/many/{number % 7}/{number}", str(number).encode()) for number in range(300)])
    assert said(sandbox, "cat /srv/many/*/* | tr -cd 0-9 | wc -c; find /srv/many -type f | wc -l") == "790\n300"


def test_get_follows_links_inside_the_sandbox(sandbox: Sandbox) -> None:
    sandbox.exec(
        "cd /home/ada; echo inside > /srv/app/logs/../../here; ln -s /srv/here there; ln -s ../../etc etc", timeout=10
    )
    assert sandbox.get("/home/ada/there") == b"inside\n"
    assert b"ada:x:1000" in sandbox.get("/home/ada/etc/passwd")


def test_get_reads_what_the_image_user_may_not(sandbox: Sandbox) -> None:
    sandbox.exec(
        "mkdir -m 700 /root/deep; echo hidden > /root/deep/file; chmod 0 /root/deep/file", timeout=10, user="root"
    )
    assert sandbox.get("/root/deep/file") == b"hidden\n"


def test_get_is_bounded(sandbox: Sandbox) -> None:
    sandbox.exec("printf start > /tmp/sparse; truncate -s 20G /tmp/sparse", timeout=10)
    assert soon(lambda: sandbox.get("/tmp/sparse", limit=1000)) == b"start" + bytes(995)


@pytest.mark.parametrize(
    "path",
    ["/srv/missing", "/srv/fifo", "/srv/zero", "/dev/zero", "/srv/socket", "/srv/folder", "/srv/loop", "/srv/dangling"],
)
def test_get_of_what_is_no_file_fails_at_once(calm: Sandbox, path: str) -> None:
    calm.exec(
        "cd /srv; [ -p fifo ] || { mkfifo fifo; mkdir folder; ln -s loop loop; ln -s /dev/zero zero; ln -s /nowhere dangling; "
        "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"socket\")'; }",
        timeout=10,
    )
    with pytest.raises(SandboxFault):
        soon(lambda: calm.get(path))


def test_a_fresh_sandbox_has_changed_nothing(sandbox: Sandbox) -> None:
    sandbox.exec("cat /etc/passwd > /dev/null; echo x > /dev/shm/x", timeout=10)
    assert sandbox.changed_paths() == []


def test_changed_paths_are_what_was_added_changed_and_deleted(sandbox: Sandbox) -> None:
    sandbox.put([PutFile("/srv/new/deep.txt", b"x")])
    sandbox.exec(
        "cd /srv; rm app/tool; rm -r old; ln -s /etc/passwd link; chmod 600 app/x.bin; echo more >> /usr/local/bin/tool; "
        "mkdir -p 'a folder/of its own'; mkdir old; touch old/three",
        timeout=10,
        user="root",
    )
    changed = set(sandbox.changed_paths())
    assert {
        "/srv/new/deep.txt",
        "/srv/app/tool",
        "/srv/link",
        "/srv/app/x.bin",
        "/usr/local/bin/tool",
        "/srv/a folder/of its own",
        "/srv/old/three",
    } <= changed
    assert not changed & {"/srv/app/link", "/etc/passwd", "/usr/bin/env"}
    assert sorted(changed) == sandbox.changed_paths()


def test_a_deleted_folder_is_a_change(sandbox: Sandbox) -> None:
    sandbox.exec("rm -r /srv/old", timeout=10, user="root")
    assert "/srv/old" in sandbox.changed_paths()
