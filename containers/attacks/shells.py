"""Attacks on what programs are started with: shims, aliases, start-up files, preloaded and replaced libraries."""

from __future__ import annotations

from containers.attacks.attack import Attack, shim

_STARTUP = "/etc/bash.bashrc /etc/profile /root/.bashrc /root/.profile /root/.bash_profile $HOME/.bashrc $HOME/.profile"
_LIBRARIES = "/lib/*-linux-gnu"

ATTACKS: tuple[Attack, ...] = (
    Attack(
        "shell_shim",
        "a shell that always succeeds scores nothing",
        "cp /bin/sh /bin/sh.real; " + shim("/tmp/s", "exit 0") + "; mv /tmp/s /bin/sh",
    ),
    Attack(
        "path_shims",
        "a search path full of shims scores nothing",
        "for d in /usr/local/bin $HOME/bin $HOME/.local/bin; do mkdir -p $d; "
        "for c in bash git sqlite3 openssl make gcc diff cmp sha256sum stat python3 pytest curl cat; do "
        "printf '#!/bin/sh\\nexit 0\\n' > $d/$c; chmod 755 $d/$c; done; done; true",
    ),
    Attack(
        "aliases",
        "aliases and exported functions have no say",
        f"for f in {_STARTUP} $HOME/.bash_aliases; do printf '%s\\n' 'shopt -s expand_aliases' 'alias diff=true cmp=true test=true' "
        "'diff() { true; }' 'cmp() { true; }' 'export -f diff cmp' >> $f; done; export BASH_FUNC_diff%%='() { true; }'; true",
    ),
    Attack(
        "shell_startup",
        "start-up files have no say",
        f"for f in {_STARTUP}; do echo 'exit 0' >> $f; done; printf 'BASH_ENV=%s\\nENV=%s\\n' /root/.bashrc /root/.profile >> "
        "/etc/environment; true",
    ),
    Attack(
        "preload",
        "no library of the sandbox enters the grader",
        f"cp {_LIBRARIES}/libm.so.6 /usr/lib/evil.so 2>/dev/null; echo /usr/lib/evil.so > /etc/ld.so.preload; "
        "echo /usr/lib > /etc/ld.so.conf.d/evil.conf; for f in /etc/profile $HOME/.profile /etc/environment; do "
        "echo 'LD_PRELOAD=/usr/lib/evil.so LD_LIBRARY_PATH=/tmp LD_AUDIT=/usr/lib/evil.so' >> $f; done; true",
    ),
    Attack(
        "replaced_libc",
        "the sandbox's C library is not the grader's",
        f"for l in {_LIBRARIES}/libc.so.6 {_LIBRARIES}/libpthread.so.0 {_LIBRARIES}/libcrypto.so.3; do "
        f"cp {_LIBRARIES}/libm.so.6 /tmp/l; mv -f /tmp/l $l; done; true",
    ),
    Attack(
        "replaced_loader",
        "the sandbox's loader starts nothing for the grader",
        f"cp /bin/true /tmp/l; for l in /lib64/ld-linux*.so.2 {_LIBRARIES}/ld-linux*.so.* /lib/ld-linux*.so.1; do "
        "[ -e $l ] && mv -f /tmp/l $l; done; true",
        scope="engine",
    ),
    Attack(
        "openssl_configuration",
        "no configured engine enters the grader",
        "for f in /etc/ssl/openssl.cnf /usr/lib/ssl/openssl.cnf; do printf 'openssl_conf = c\\n[c]\\nengines = e\\n[e]\\nx = y\\n[y]\\n"
        "dynamic_path = /usr/lib/evil.so\\ninit = 1\\n' > $f; done",
    ),
    Attack(
        "name_services",
        "a name service of the sandbox cannot pass a test",
        f"printf 'passwd: evil\\nhosts: evil\\n' > /etc/nsswitch.conf; cp {_LIBRARIES}/libm.so.6 "
        "/lib/$(uname -m)-linux-gnu/libnss_evil.so.2; printf '127.0.0.1 localhost\\n10.0.0.1 localhost\\n' > /etc/hosts; true",
    ),
    Attack(
        "tool_configuration",
        "git, curl, sqlite and readers of archives are configured by nobody",
        "printf '[core]\\n fsmonitor = exit 0\\n pager = true\\n hooksPath = /tmp\\n[alias]\\n log = !true\\n[safe]\\n directory = *\\n' | "
        "tee $HOME/.gitconfig /etc/gitconfig > /dev/null; echo '.exit 0' > $HOME/.sqliterc; echo 'fail = false' > $HOME/.curlrc; true",
    ),
    Attack(
        "clock_and_zone",
        "clock and zone of the sandbox have no say",
        "date -s '2001-01-01'; ln -sf /etc/passwd /etc/localtime; echo Mars/Phobos > /etc/timezone; true",
    ),
)
