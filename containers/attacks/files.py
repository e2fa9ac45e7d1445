"""What lies where a test will read: links, pipes, devices, folders, endless, huge and unreadable files, mounts."""

from __future__ import annotations

from containers.attacks.attack import REPORT, Attack, each, python

_SOCKET = 'python3 -c "import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])" "$t"'

ATTACKS: tuple[Attack, ...] = (
    Attack("folder_targets", "a folder where a file is expected fails", each('mkdir -p "$t"')),
    Attack("fifo_targets", "a pipe that never ends does not hang or pass the grading", each('mkfifo "$t"'), 0.5),
    Attack("zero_device_targets", "an endless file does not exhaust the grader", each('ln -s /dev/zero "$t"')),
    Attack("sparse_targets", "a huge file does not exhaust the grader", each('truncate -s 600M "$t"')),
    Attack("self_targets", "a link to the reader's own state gives nothing", each('ln -s /proc/self/environ "$t"')),
    Attack(
        "descriptor_targets", "no descriptor of the grader holds an answer", each('ln -s /proc/self/fd/4 "$t"'), 1.0
    ),
    Attack("loop_targets", "a loop of links fails", each('ln -s "$t" "$t"')),
    Attack(
        "unreadable_targets",
        "what cannot be read does not pass",
        each(f'echo \'{REPORT}\' > "$t"; chmod 0 "$t"'),
    ),
    Attack(
        "immutable_targets",
        "what cannot be changed does not pass, and can be cleared away",
        each(f'echo \'{REPORT}\' > "$t"; chattr +i "$t" 2>/dev/null; chmod a-w "$(dirname "$t")"'),
    ),
    Attack("socket_targets", "a socket where a file is expected fails", each(f"cd /tmp; {_SOCKET}"), scope="engine"),
    Attack(
        "mounts",
        "tests' paths cannot be mounted over",
        "mkdir -p /tests; mount -t tmpfs none /tests; mount --bind /tmp /usr; mount -t proc proc /proc; "
        'for t in "${TARGETS[@]}"; do mount --bind /etc/passwd "$t"; done; unshare -Urm true; true',
    ),
    Attack(
        "memory_targets",
        "the reader's own memory cannot be read as a file",
        'for t in "${TARGETS[@]}"; do ln -sf /proc/self/mem "$t" || true; done',
        scope="engine",
    ),
    Attack(
        "grader_targets",
        "no path leads to the request or the tests of the grader",
        "rm -f /srv/sum.txt; ln -s /proc/self/fd/0 /srv/sum.txt; ln -s /proc/1/fd /srv/fds",
        grade_seconds=0.5,
        scope="engine",
    ),
    Attack(
        "terminal_targets",
        "a terminal or a stream where a file is expected does not hang for good",
        "ln -s /dev/stdin /srv/sum.txt || ln -s /dev/tty /srv/sum.txt",
        grade_seconds=0.5,
        scope="engine",
    ),
    Attack(
        "deep_tree",
        "what is nested deeper than a path may be long can be destroyed",
        python(
            "import os\nos.chdir('/var/tmp')\nfor _ in range(400):\n    os.mkdir('d' * 80)\n    os.chdir('d' * 80)\nopen('leaf', 'w')"
        ),
        scope="engine",
    ),
    Attack(
        "strange_names",
        "names that are no text hurt nobody",
        "cd /var/tmp; printf x > $'\\xff\\xfe\\n-rf'; mkdir $'a\\tb\\033[31m'; ln -s $'\\x80' $'\\x81'; : > \"$(printf 'n%.0s' {1..255})\"",
        scope="engine",
    ),
)
