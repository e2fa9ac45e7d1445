"""Attacks on the interpreter and on pytest: plugins, configuration, start-up files, modules, bytecode."""

from __future__ import annotations

from containers.attacks.attack import PASS_ALL, PASS_NOW, REPORT, Attack, python, shim, text

# The first folder of packages that can be written: the system's as root, else the user's own.
_SITE = (
    "SITE=/usr/lib/python3/dist-packages; "
    '[ -w $SITE ] || SITE="$HOME/.local/lib/$(ls /usr/lib | grep -m1 "python3\\.")/site-packages"; mkdir -p "$SITE"; '
)
_FOLDERS = '/ /tmp /tests /root "$HOME" "$PWD" /srv'

_BYTECODE = f"""
import glob, importlib._bootstrap_external as b, os
code = compile({PASS_NOW!r}, "json", "exec")
data = b._code_to_hash_pyc(code, bytes(8), False)  # unchecked: valid whatever the source says
for source in glob.glob("/usr/lib/python3*/json/*.py") + glob.glob("/usr/lib/python3*/[a-z]*.py"):
    folder, name = os.path.split(source)
    try:
        os.makedirs(folder + "/__pycache__", exist_ok=True)
        for path in glob.glob(f"{{folder}}/__pycache__/{{name[:-3]}}.*.pyc") or [f"{{folder}}/__pycache__/{{name[:-3]}}.cpython-311.pyc"]:
            open(path, "wb").write(data)
    except OSError:
        pass
"""

ATTACKS: tuple[Attack, ...] = (
    Attack(
        "conftest",
        "nothing planted is collected",
        f"for d in {_FOLDERS}; do mkdir -p $d; "
        "printf 'def pytest_runtest_call(item):\\n    item.obj = lambda: None\\n' > $d/conftest.py; done",
    ),
    Attack(
        "pytest_configuration",
        "no configuration from the sandbox is read",
        f"for d in {_FOLDERS}; do mkdir -p $d; printf '[pytest]\\naddopts = --co -q --deselect test\\n' > $d/pytest.ini; "
        "cp $d/pytest.ini $d/tox.ini; printf '[tool:pytest]\\naddopts = --co\\n' > $d/setup.cfg; "
        "printf '[tool.pytest.ini_options]\\naddopts = \"--co -p evil\"\\n' > $d/pyproject.toml; done",
    ),
    Attack(
        "pytest_plugin",
        "no plugin from the sandbox is loaded",
        _SITE + "mkdir -p $SITE/evil-1.dist-info; "
        "printf '[pytest11]\\nevil = evil\\n' > $SITE/evil-1.dist-info/entry_points.txt; "
        f"printf 'Name: evil\\nVersion: 1\\n' > $SITE/evil-1.dist-info/METADATA; {text('$SITE/evil.py', PASS_ALL)}",
    ),
    Attack(
        "sitecustomize",
        "the grader's interpreter starts outside",
        f"{_SITE}{text('$SITE/sitecustomize.py', PASS_ALL)}; cp $SITE/sitecustomize.py $SITE/usercustomize.py",
    ),
    Attack(
        "path_files",
        "no .pth file of the sandbox is run",
        _SITE + "printf 'import os; os._exit(0)\\n' > $SITE/evil.pth; cp $SITE/evil.pth $SITE/distutils-precedence.pth",
        scope="engine",
    ),
    Attack(
        "python_variables",
        "variables from the sandbox do not reach the grader",
        f"{text('/tmp/start.py', PASS_ALL)}; for f in /etc/environment /etc/profile /etc/bash.bashrc $HOME/.profile $HOME/.bashrc "
        "$HOME/.pam_environment; do printf '%s\\n' PYTHONPATH=/tmp PYTHONSTARTUP=/tmp/start.py PYTHONHOME=/tmp PYTHONINSPECT=1 "
        "PYTHONWARNINGS=ignore::evil.Evil 'PYTEST_ADDOPTS=--co' PYTEST_PLUGINS=start PYTHONBREAKPOINT=start.x >> $f; done",
    ),
    Attack(
        "shadowed_modules",
        "modules are never looked up inside",
        f"cat > /tmp/shadow.py <<'END'\n{PASS_NOW}\nEND\n"
        f"for d in {_FOLDERS}; do mkdir -p $d; for m in json hashlib pathlib subprocess re random socket sqlite3 csv pytest; do "
        "cp /tmp/shadow.py $d/$m.py; done; done",
    ),
    Attack(
        "replaced_standard_library",
        "the sandbox's library is not the grader's",
        f"for f in /usr/lib/python3*/json/__init__.py /usr/lib/python3*/hashlib.py /usr/lib/python3*/pathlib.py; do "
        f"[ -w $f ] && {text('$f', PASS_NOW)}; done; true",
    ),
    Attack("bytecode", "no bytecode of the sandbox is loaded", python(_BYTECODE), scope="engine"),
    Attack(
        "python_shim",
        "an interpreter that always succeeds does not pass tests that look at results",
        shim("/usr/bin/python3", "exit 0") + "; " + shim("/usr/local/bin/python3", "exit 0"),
    ),
    Attack(
        "python_echo_shim",
        "an interpreter that prints a report scores nothing",
        shim("/usr/bin/python3", f"echo '{REPORT}'; exit 0"),
    ),
)
