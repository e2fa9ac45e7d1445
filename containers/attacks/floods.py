# ruff: noqa: E501  (scripts)
"""Floods: of processes, memory, disk, inodes, descriptors, output. Limits hold, and what was flooded can be destroyed.

Each ends by itself at a size that a machine can bear, for engines that have no limit of their own.
"""

from __future__ import annotations

from containers.attacks.attack import Attack, behind, python


def flood(name: str, breaks: str, script: str) -> Attack:
    """An attack that is the same for every task."""
    return Attack(name, breaks, script, scope="engine")


ATTACKS: tuple[Attack, ...] = (
    flood("fork_bomb", "processes are limited and end before grading", behind("f() { f | f & }; f") + " sleep 0.3"),
    flood(
        "threads",
        "threads are limited and end before grading",
        behind(
            'python3 -c "import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(300,)).start()"'
        )
        + " sleep 0.2",
    ),
    flood(
        "memory",
        "memory is limited",
        "timeout 3 " + python("hog = []\nwhile len(hog) < 128: hog.append(bytearray(1 << 24))"),
    ),
    flood(
        "shared_memory",
        "files in memory are limited",
        "for d in /dev/shm /run /tmp /dev; do timeout 1 head -c 600M /dev/zero > $d/full; done 2>/dev/null; true",
    ),
    flood(
        "pipes",
        "what lies in pipes and sockets is limited",
        python(
            "import os, socket, fcntl\nkept = []\ntry:\n    while len(kept) < 4000:\n        r, w = os.pipe()\n        kept += [r, w]\n"
            "        fcntl.fcntl(w, 1031, 1 << 20)\n        os.set_blocking(w, False)\n        os.write(w, bytes(1 << 20))\nexcept OSError: pass"
        ),
    ),
    flood("full_disk", "a full disk passes nothing", "head -c 600M /dev/zero > /var/tmp/full 2>/dev/null; true"),
    flood(
        "sparse_disk",
        "files that are larger than the disk pass nothing",
        "truncate -s 4T /srv/sum.txt; fallocate -l 1G /var/tmp/f 2>/dev/null; true",
    ),
    flood(
        "many_inodes",
        "a flood of files passes nothing",
        "mkdir -p /var/tmp/n; cd /var/tmp/n && seq 1 6000 | xargs touch",
    ),
    flood(
        "many_links",
        "a flood of links passes nothing",
        "mkdir -p /var/tmp/l; cd /var/tmp/l && : > a && "
        + python("import os\nfor n in range(6000):\n    os.link('a', str(n)) if n % 2 else os.symlink('/etc', str(n))"),
    ),
    flood(
        "descriptors",
        "descriptors are limited",
        behind(
            "python3 -c \"import os, time\nwhile os.fork() >= 0:\n    try:\n        while True: os.open('/etc/passwd', 0)\n"
            '    except OSError: time.sleep(300)"'
        )
        + " sleep 0.2",
    ),
    flood(
        "output",
        "output is kept up to a limit",
        "timeout 0.2 yes 'a line of output' | head -c 200M; timeout 0.1 yes 'a line of errors' | head -c 100M >&2; true",
    ),
    flood(
        "output_of_orphans",
        "output of what was left behind holds nobody up",
        "(setsid bash -c 'trap \"\" TERM HUP; while :; do echo more; done' &); (setsid sleep 300 &); exit 0",
    ),
)
