"""The journals of journal_replay: how they are drawn, and what replaying them by the stated rules gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from generators.family import Draw
from generators.vocabulary import CITIES, HOST_WORDS, LAST_NAMES


@dataclass
class Tree:
    """Files by path; folders exist only as prefixes."""

    files: dict[str, str]

    def is_folder(self, path: str) -> bool:
        """Whether a file lies beneath."""
        return any(name.startswith(path + "/") for name in self.files)

    def has_room(self, path: str) -> bool:
        """Whether a file can be at this path: no folder there, and no file where a parent must be."""
        parts = path.split("/")
        return not self.is_folder(path) and not any("/".join(parts[:n]) in self.files for n in range(1, len(parts)))

    def apply(self, verb: str, path: str, arg: str) -> bool:
        """Carry out one record if that is possible."""
        files, is_file = self.files, path in self.files
        inner = [] if is_file else [name for name in files if name.startswith(path + "/")]
        if verb == "write" and self.has_room(path):
            files[path] = arg
        elif verb == "append" and is_file:
            files[path] += arg
        elif verb == "move" and is_file and self.has_room(arg) and arg != path:
            files[arg] = files.pop(path)
        elif (
            verb == "move"
            and inner
            and self.has_room(arg)
            and arg not in files
            and not f"{arg}/".startswith(f"{path}/")
        ):
            for name in inner:
                files[arg + name[len(path) :]] = files.pop(name)
        elif verb == "delete" and (is_file or inner):
            for name in inner or [path]:
                del files[name]
        elif verb == "copy" and is_file and self.has_room(arg):
            files[arg] = files[path]
        elif verb == "swap" and is_file and arg in files:
            files[path], files[arg] = files[arg], files[path]
        else:
            return False
        return True


@dataclass(frozen=True)
class Record:
    """One record; `generation` tells versions of one number apart."""

    number: int
    tx: str
    verb: str
    path: str = ""
    arg: str = ""
    generation: int = 1


@dataclass
class Script:
    """The journal while it is being drawn."""

    draw: Draw
    records: list[Record]
    next_number: int
    texts: int = 0
    names: list[str] = field(default_factory=list[str])

    def add(self, verb: str, path: str = "", arg: str = "", tx: str = "") -> None:
        """Append a record with the next number."""
        self.records.append(Record(self.next_number, tx, verb, path, arg))
        self.next_number += 1

    def text(self) -> str:
        """A short text, unlike any other."""
        self.texts += 1
        words = (self.draw.pick(LAST_NAMES), self.draw.pick(CITIES), self.draw.pick(HOST_WORDS))
        return f"{self.texts} {' '.join(words)}{self.draw.pick(('', ' 50%', ' | ok', ' ü'))}\n"


TOPS = ("alpha", "beta", "gamma one", "delta/inner", "delta/outer", "näht")


def random_change(script: Script, mirror: Tree, hard: bool, tx: str) -> None:
    """A change that is mostly possible, judged on a mirror that ignores transactions."""
    draw, present = script.draw, list(mirror.files)
    fresh = f"{draw.pick(TOPS)}/{draw.pick(HOST_WORDS)}{draw.between(1, 9)}{draw.pick(('.txt', '', ' b.cfg'))}"
    old = draw.pick(present) if present and not draw.chance(12) else fresh
    verb = draw.pick(("write", "write", "append", "move", "move", "delete", *(("copy", "swap") if hard else ())))
    if verb in ("move", "delete") and "/" in old and draw.chance(20):
        old = old.rpartition("/")[0]
        fresh = draw.pick((f"{draw.pick(TOPS)}{draw.between(1, 4)}", f"{old}/deep", draw.pick(TOPS)))
    path, arg = old, ""
    if verb == "write":
        path, arg = draw.pick((old, fresh, fresh, f"{old}/x")), script.text()
    elif verb == "append":
        arg = script.text()
    elif verb in ("move", "copy", "swap"):
        arg = draw.pick((fresh, draw.pick(present))) if present else fresh
    if arg == path:
        arg += "2"
    mirror.apply(verb, path, arg)
    script.add(verb, path, arg, tx)


def traps(script: Script, hard: bool) -> None:
    """Places that only the right reading leaves right; nothing else touches the folder `fixed`."""
    tx = [f"t{number}" for number in script.draw.sample(range(100, 999), 5)]
    script.add("begin", tx=tx[0])
    script.add("write", "fixed/late.txt", script.text(), tx[0])  # takes effect at the commit, over the next record
    script.add("write", "fixed/late.txt", script.text())
    script.add("commit", tx=tx[0])
    script.add("begin", tx=tx[1])
    script.add("write", "fixed/aborted.txt", script.text(), tx[1])
    script.add("append", "fixed/base.txt", script.text())
    script.add("abort", tx=tx[1])
    script.add("begin", tx=tx[2])
    script.add("write", "fixed/open.txt", script.text(), tx[2])  # never ended
    script.add("append", "fixed/base.txt", script.text())
    script.add("begin", tx=tx[3])
    script.add("move", "fixed/base.txt", "fixed/moved.txt", tx[3])
    script.add("append", "fixed/base.txt", script.text())
    script.add("move", "fixed/nowhere.txt", "fixed/void.txt", tx[3])
    script.add("commit", tx=tx[3])
    script.add("move", "fixed/second.txt", "fixed/third.txt")  # over an existing file
    script.add("write", "fixed/third.txt/x", script.text())  # a file where a folder is needed
    if hard:
        script.add("swap", "fixed/third.txt", "fixed/late.txt")


def draw_journal(draw: Draw, size: int, hard: bool) -> tuple[dict[str, str], int, list[Record]]:
    """The snapshot, the last number in it, and all records in order."""
    script = Script(draw, [], draw.between(200, 900))
    base = {
        f"{top}/{draw.pick(HOST_WORDS)}{number}.txt": script.text()
        for number, top in enumerate((TOPS[0], TOPS[1], *TOPS[:5], TOPS[3]))
    }
    base |= {f"fixed/{name}.txt": script.text() for name in ("base", "second", "third")}
    mirror = Tree({path: text for path, text in base.items() if not path.startswith("fixed/")})
    for _ in range(6):  # already in the snapshot: applying these again does harm
        script.add("append", draw.pick(list(base)), script.text())
    script.add("append", "fixed/base.txt", script.text())
    script.add("delete", "fixed/second.txt")
    last = script.next_number - 1
    at, running = draw.between(size // 4, size // 2), dict[str, int]()
    for step in range(size):
        if step == at:
            traps(script, hard)
        if draw.chance(9):
            tx = f"t{draw.between(1000, 9999)}"
            if tx not in script.names:
                script.names.append(tx)
                running[tx] = draw.between(2, 5)
                script.add("begin", tx=tx)
        tx = draw.pick(list(running)) if running and draw.chance(60) else ""
        random_change(script, mirror, hard, tx)
        if tx:
            running[tx] -= 1
            if running[tx] <= 0:
                del running[tx]
                end = draw.pick(("commit", "commit", "commit", "abort", ""))
                if end:
                    script.add(end, tx=tx)
    return base, last, script.records


def replay(base: dict[str, str], records: Sequence[Record], atomic: bool) -> tuple[Tree, list[int], list[str]]:
    """The stated rules: the tree, the reported numbers, the transactions without end."""
    tree, skipped, waiting = Tree(dict(base)), list[int](), dict[str, list[Record]]()
    for record in records:
        if record.verb == "begin":
            waiting[record.tx] = []
        elif record.verb == "abort":
            del waiting[record.tx]
        elif record.verb == "commit":
            before = dict(tree.files)
            for inner in waiting.pop(record.tx):
                if tree.apply(inner.verb, inner.path, inner.arg):
                    continue
                skipped.append(inner.number)
                if atomic:
                    tree.files = before
                    break
        elif record.tx:
            waiting[record.tx].append(record)
        elif not tree.apply(record.verb, record.path, record.arg):
            skipped.append(record.number)
    return tree, sorted(skipped), sorted(waiting)
