"""From a Dockerfile to what Apptainer builds: steps as shell scripts, and a definition file that holds them.

Each RUN is a shell invocation of its own, with the SHELL, WORKDIR, ENV, ARG and USER of its place. Each COPY takes numbered files
from a staged context. The same scripts run whether Apptainer builds a definition or the engine builds over a shared image.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from containers import dockerfile
from containers.dockerfile import Instruction
from containers.layers import PACKAGES_ONLY
from generators.errors import TaskError
from generators.task import ContextFile, Image

CONTEXT = "/.termforge-context"  # where a definition's staged files are during its build
CONTEXT_NAME = "TERMFORGE_CONTEXT"  # says in the environment where they are otherwise
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TEXT = 200  # characters of an instruction in a message

PROLOGUE = rf"""set -eu
umask 022
context=${{{CONTEXT_NAME}:-{CONTEXT}}}
unset {CONTEXT_NAME}
nl=$(printf '\nx') nl=${{nl%x}}
account() {{ # NAME: sets uid, gid and home
  while IFS=: read -r name _ uid gid _ home _; do
    [ "$name" != "$1" ] && [ "$uid" != "$1" ] || return 0
  done </etc/passwd
  echo "USER $1: the image has no such user" >&2
  exit 125
}}
run() {{ # USER FOLDER [NAME=VALUE ...] PROGRAM [ARGUMENT ...]
  user=$1
  cd -- "$2"
  shift 2
  if [ "$user" = root ]; then
    env HOME=/root USER=root "$@"
  else
    account "$user"
    setpriv --reuid="$uid" --regid="$gid" --init-groups env HOME="$home" USER="$name" "$@"
  fi
}}
place() {{ # NUMBER MODE OWNER TARGET [NAME, for a target that is a folder]
  [ -z "${{5-}}" ] || [ ! -d "$4" ] || set -- "$1" "$2" "$3" "$4/$5"
  mkdir -p -- "${{4%/*}}/"
  [ -d "$4" ] && [ ! -L "$4" ] || rm -f -- "$4"
  cp -- "$context/$1" "$4"
  chown -- "$3" "$4"
  chmod -- "$2" "$4"
}}
"""


@dataclass(frozen=True)
class Step:
    """One instruction that changes files: its script (to be run after PROLOGUE) and what to call it in a message.

    `shared` marks the packages that many tasks' images begin with.
    """

    title: str
    script: str
    shared: bool = False


@dataclass(frozen=True)
class Plan:
    """A resolved Dockerfile: the base, the steps in order, the files they copy, and the settings of what results."""

    base: str
    steps: tuple[Step, ...] = ()
    files: tuple[ContextFile, ...] = ()
    env: dict[str, str] = field(default_factory=dict[str, str])
    args: dict[str, str] = field(default_factory=dict[str, str])
    workdir: str = "/"
    user: str = "root"
    shell: tuple[str, ...] = ("/bin/sh", "-c")
    notes: tuple[str, ...] = ()
    offline: bool = False  # steps after the shared ones run without a network

    @property
    def shared(self) -> tuple[Step, ...]:
        """The leading steps that are nothing but packages."""
        count = next((at for at, step in enumerate(self.steps) if not step.shared), len(self.steps))
        return self.steps[:count]

    @property
    def own(self) -> tuple[Step, ...]:
        """The steps after those."""
        return self.steps[len(self.shared) :]


def quote(text: str) -> str:
    """A word for a shell that a definition file can hold.

    A definition is read by line (one that begins with % opens a section) and has {{ variables }} of its own, so neither line
    ends nor double braces appear; the line end is in the variable `nl` of the prologue.
    """
    body = text.replace("'", "'\\''").replace("\n", "'\"$nl\"'")
    while "{{" in body:
        body = body.replace("{{", "{''{")
    return f"'{body}'"


def words(values: Iterable[str]) -> str:
    """Several quoted words."""
    return " ".join(quote(value) for value in values)


def plan(image: Image) -> Plan:
    """Resolve a Dockerfile.

    Raises:
        TaskError: it is not valid, or not supported.
    """
    steps = dockerfile.parse(image.dockerfile)
    at = Plan("", offline=dockerfile.offline(image.dockerfile))
    for step in steps:
        at = _add(at, step, image)
    return at


def _add(at: Plan, item: Instruction, image: Image) -> Plan:
    variables = {**at.args, **at.env}
    match item.name:
        case "FROM":
            return replace(at, base=dockerfile.expand(item.text, variables).split()[0])
        case "ENV":
            return replace(at, env={**at.env, **_named(item, dockerfile.assignments(item, variables))})
        case "ARG":
            name, _, default = item.text.partition("=")
            value = dockerfile.expand(default.strip("\"'"), variables)
            return replace(at, args={**at.args, **_named(item, {name.strip(): value})})
        case "SHELL":
            return replace(at, shell=item.exec_form)
        case "USER":
            return replace(at, user=dockerfile.expand(item.text, variables).split(":")[0])
        case "WORKDIR":
            folder = str(PurePosixPath(at.workdir) / dockerfile.expand(item.text, variables))
            return replace(_with(at, item, f"mkdir -p -- {quote(folder)}"), workdir=folder)
        case "COPY":
            return _copy(at, item, image, variables)
        case "RUN":
            argv = item.exec_form or (*at.shell, item.text)
            settings = [f"{name}={value}" for name, value in variables.items()]
            script = f"run {words([at.user, at.workdir, *settings, *argv])}"
            return _with(at, item, script, shared=bool(PACKAGES_ONLY.fullmatch(item.text)) and at.user == "root")
        case _:
            return replace(at, notes=(*at.notes, f"{item.name} is noted, not run"))


def _named(item: Instruction, values: dict[str, str]) -> dict[str, str]:
    for name in values:
        if not _NAME.fullmatch(name):
            raise TaskError(f"Dockerfile line {item.line}: {item.name} {name!r} is not a name of a variable")
    return values


def _with(at: Plan, item: Instruction, script: str, shared: bool = False) -> Plan:
    title = f"line {item.line}: {item.name} {item.text[:_TEXT]}"
    return replace(at, steps=(*at.steps, Step(title, script, shared)))


def _copy(at: Plan, item: Instruction, image: Image, variables: dict[str, str]) -> Plan:
    copy = dockerfile.resolve_copy(item, image, at.workdir, variables)
    known = {file: number for number, file in enumerate(at.files)}
    lines: list[str] = []
    for path, file in copy.files:
        number = known.setdefault(file, len(known))
        mode = copy.mode or file.mode
        name = f" {quote(PurePosixPath(file.path).name)}" if path in copy.named else ""
        lines.append(f"place {number} {mode:04o} {quote(copy.owner or '0:0')} {quote(path)}{name}")
    return replace(_with(at, item, "\n".join(lines)), files=tuple(known))


def render(bootstrap: str, source: str, steps: Iterable[Step], plan: Plan, labels: dict[str, str]) -> str:
    """The text of a definition: `bootstrap` is localimage or docker, `source` a path or a name in a registry.

    Files that steps copy are expected in a folder `context`, beside where the build is started, named by their number.
    """
    copied = f"%files\n    context {CONTEXT}\n" if plan.files else ""
    tidy = f"rm -rf {CONTEXT}\n" if plan.files else ""
    scripts = "".join(f"{step.script}\n" for step in steps)
    exports = "".join(f"export {name}={quote(value)}\n" for name, value in plan.env.items())
    marks = "".join(f"    {name} {value}\n" for name, value in labels.items())
    return (
        f"Bootstrap: {bootstrap}\nFrom: {source}\n\n{copied}"
        f"%post\nset +x\n{PROLOGUE}{scripts}cd /\n{tidy}\n"
        f"%environment\nnl=$(printf '\\nx') nl=${{nl%x}}\n{exports}unset nl\n\n"
        f"%labels\n{marks}"
    )
