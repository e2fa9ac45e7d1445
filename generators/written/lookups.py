"""Which absolute paths a module of tests looks at, read from its source: a test that looks where the task says nothing has a back door.

    unnamed_paths(source, named)      # {"/tmp/ok": "test_report"}: looked at, but neither named, nor the system's, nor written by the tests

Strings are followed through constants, loops over literals, `/`, joins, f-strings and arguments of the module's own functions, without
regard to order or scope; a part that is not known reads `*`. What is computed otherwise is not seen.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import product
from pathlib import PurePosixPath

_SYSTEM = ("bin", "dev", "etc", "lib", "lib64", "proc", "sbin", "sys", "usr")
_ANYONE = frozenset({"/", "/home", "/root", "/run", "/tmp", "/var", "/var/tmp"})  # folders that every container has
_MODULES = frozenset({"glob", "io", "os", "path", "shutil", "sqlite3", "subprocess", "tarfile", "zipfile"})
_PATHS = frozenset({"Path", "PosixPath"})
_WRITING = frozenset(
    {"mkdir", "makedirs", "mknod", "symlink", "symlink_to", "touch", "write_bytes", "write_text"}
    | {"copy", "copy2", "copyfile", "copytree", "move", "rename", "replace", "rmtree", "chdir"}
)
_READING = "[ cat cmp diff file find grep head ls md5sum readlink sha256sum stat tail test wc"
_READERS = frozenset(_READING.split())
_IN_COMMAND = re.compile(r"(?<![\w/.*:-])/[\w.+*@-]+(?:/[\w.+*@-]+)*")
_MOST_VALUES = 64  # of one expression
_ROUNDS = 3  # of following names


def unnamed_paths(source: str, named: str) -> dict[str, str]:
    """Paths that are looked at without being named in a text, each with the function that mentions it."""
    try:
        tree = ast.parse(source)
        looks = _Looks(tree)
    except RecursionError:  # an expression of a thousand parts
        return {}
    suspicious = [path for path in sorted(looks.read) if not looks.wrote(path) and not is_named(path, named)]
    return {path: _where(tree, path) for path in suspicious}


def is_named(path: str, named: str) -> bool:
    """Whether a text names a path: as a whole, as part of a longer one, or as a folder and, somewhere, each name below it."""
    path = str(PurePosixPath(path))
    if path in _ANYONE or path.split("/")[1] in _SYSTEM or _occurs(path, named):
        return True
    pure = PurePosixPath(path)
    folder = next((str(parent) for parent in pure.parents if _occurs(str(parent), named)), "")
    if not folder or folder in _ANYONE:
        return False
    below = path.removeprefix(f"{folder}/").split("/")
    if ".git" in below:
        below = below[: below.index(".git")]
    return all("*" in name or _occurs(name, named) or _occurs(PurePosixPath(name).stem, named) for name in below)


def _occurs(word: str, text: str) -> bool:
    return word != "/" and re.search(rf"(?<![\w.-]){re.escape(word)}(?![\w-])", text) is not None


def _where(tree: ast.Module, path: str) -> str:
    """The function that mentions a path, or the longest piece of it."""
    pieces = sorted((piece for piece in re.split(r"[*/]", path) if piece), key=len)
    for wanted in (path, *reversed(pieces)):
        for function in (node for node in tree.body if isinstance(node, ast.FunctionDef)):
            if any(wanted in text for text in _texts(function)):
                return function.name
    return "the module"


def _texts(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value


class _Looks:
    """What the calls of a module read and write."""

    def __init__(self, tree: ast.Module) -> None:
        self.read, self.written = set[str](), set[str]()
        self._names: dict[str, set[str]] = {}
        self._modules = _imported(tree)
        self._functions = {node.name: node.args for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        for _ in range(_ROUNDS):
            for node in ast.walk(tree):
                self._bind(node)
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            self._look(call)
        for node in ast.walk(tree):
            if isinstance(node, ast.BinOp):
                self._add(self.read, self._joined(node))

    def wrote(self, path: str) -> bool:
        """Whether the tests themselves make a path, something in it, or a folder that it lies in."""
        return any(f"{path}/".startswith(f"{made}/") or made.startswith(f"{path}/") for made in self.written)

    def _bind(self, node: ast.AST) -> None:
        """Note what names may stand for."""
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.NamedExpr(target=ast.Name(id=name), value=value)
            ):
                self._name(name, value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                self._name(name, value)
            case (
                ast.For(target=ast.Name(id=name), iter=value) | ast.comprehension(target=ast.Name(id=name), iter=value)
            ):
                self._name(name, value)
            case ast.Call(func=ast.Name(id=function)) if function in self._functions:
                given = self._functions[function]
                for parameter, value in zip([*given.posonlyargs, *given.args], node.args, strict=False):
                    self._name(parameter.arg, value)
                for keyword in node.keywords:
                    self._name(keyword.arg or "", keyword.value)
            case _:
                pass

    def _name(self, name: str, value: ast.expr) -> None:
        self._names.setdefault(name, set()).update(self._values(value))

    def _look(self, call: ast.Call) -> None:
        """Note what a call reads or writes."""
        match call.func:
            case ast.Name(id="open"):
                self._add(self.written if _writes(call, 1) else self.read, self._first(call))
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in _PATHS or name == "joinpath":
                self._add(self.read, self._values(call))
            case ast.Attribute(value=value, attr=name):
                module = value.attr if isinstance(value, ast.Attribute) else getattr(value, "id", "")
                self._call_of(call, self._modules.get(module, module), name, value)
            case ast.Name(id=name) if name in self._modules:
                self._call_of(call, self._modules[name], name, call.func)
            case _:
                pass

    def _call_of(self, call: ast.Call, module: str, name: str, value: ast.expr) -> None:
        given = [text for argument in call.args for text in self._values(argument)]
        if module == "subprocess":
            self._command(given)
        elif name in _WRITING or (name == "open" and _writes(call, int(module in _MODULES))):
            self._add(self.written, {*given, *self._values(value)})
        elif module in _MODULES:
            self._add(self.read, given)

    def _command(self, words: list[str]) -> None:
        """A program may have written what it was given, unless it is known to read only."""
        found = {path for word in words for path in _IN_COMMAND.findall(word)}
        first = {PurePosixPath(word).name for text in words for word in re.split(r"[\s;&|]+", text)}
        self._add(self.read, found)
        if not first & _READERS:
            self._add(self.written, {path for path in found if path.startswith("/tmp/")})

    def _add(self, where: set[str], texts: set[str] | list[str]) -> None:
        where.update(str(PurePosixPath(text)) for text in texts if re.match(r"/[\w.]", text) and "\n" not in text)

    def _first(self, call: ast.Call) -> set[str]:
        return self._values(call.args[0]) if call.args else set()

    def _joined(self, node: ast.BinOp) -> set[str]:
        return self._values(node) if isinstance(node.op, ast.Div) else set()

    def _values(self, node: ast.expr) -> set[str]:
        """Texts that an expression may stand for; the items of a literal list or tuple."""
        match node:
            case ast.Constant(value=str() as text):
                return {text}
            case ast.Name(id=name):
                return self._names.get(name, set())
            case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
                return set[str]().union(*map(self._values, items))
            case ast.JoinedStr(values=parts):
                return self._product(parts, "")
            case ast.FormattedValue(value=value) | ast.Starred(value=value):
                return self._values(value)
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return self._product([left, right], "/")
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._product([left, right], "")
            case ast.Call(func=ast.Name(id="str") | ast.Attribute(attr="as_posix" | "resolve")):
                return self._values(node.args[0] if node.args else getattr(node.func, "value", node.func))
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args) if (
                name in _PATHS or name == "join"
            ):
                return (
                    self._product(args, "/")
                    if args and not isinstance(args[0], ast.Starred | ast.GeneratorExp)
                    else set()
                )
            case ast.Call(func=ast.Attribute(value=value, attr="joinpath"), args=args):
                return self._product([value, *args], "/")
            case _:
                return set()

    def _product(self, parts: list[ast.expr], between: str) -> set[str]:
        """All ways to put parts together; what is not known reads `*`."""
        options = [sorted(self._values(part)) or ["*"] for part in parts]
        ways = {between.join(way) for way, _ in zip(product(*options), range(_MOST_VALUES), strict=False)}
        return {way for way in ways if not way.startswith("*")}


def _imported(tree: ast.Module) -> dict[str, str]:
    """Names that the module gives to what it imports, and the modules that it is from."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.asname: alias.name.split(".")[-1] for alias in node.names if alias.asname}
        elif isinstance(node, ast.ImportFrom):
            module = (node.module or "").split(".")[-1]
            found |= {alias.asname or alias.name: module for alias in node.names if module in _MODULES}
    return found


def _writes(call: ast.Call, position: int) -> bool:
    """Whether a call of `open` is for writing."""
    mode = [key.value for key in call.keywords if key.arg == "mode"] or call.args[position : position + 1]
    return bool(mode) and isinstance(mode[0], ast.Constant) and bool(set(str(mode[0].value)) & set("wax+"))
