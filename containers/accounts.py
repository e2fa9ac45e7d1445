"""Users of an image, from its own /etc/passwd and /etc/group."""

from __future__ import annotations

from generators.errors import TaskError

Account = tuple[int, int, tuple[int, ...], str]  # uid, gid, other groups, home
ROOT: Account = (0, 0, (), "/root")


def look_up(name: str, passwd: str, group: str) -> tuple[str, Account]:
    """A user by name or number.

    Raises:
        TaskError: the image has no such user.
    """
    for line in passwd.splitlines():
        fields = line.split(":")
        if len(fields) >= 6 and name in (fields[0], fields[2]):
            rows = [row.split(":") for row in group.splitlines()]
            groups = tuple(int(row[2]) for row in rows if len(row) > 3 and fields[0] in row[3].split(","))
            return fields[0], (int(fields[2]), int(fields[3]), groups, fields[5])
    raise TaskError(f"USER {name}: the image has no such user")
