"""The generator of the bindings; its source is also part of the solution's program."""

from __future__ import annotations

import inspect
import re
from functools import cache


def snake(name: str) -> str:
    """CamelCase to snake_case."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def in_order(structs: dict[str, list[dict[str, str]]]) -> list[str]:
    """Structure names, used ones before their users, otherwise as in the file."""
    done: list[str] = []
    while len(done) < len(structs):
        done.append(
            next(
                n
                for n, items in structs.items()
                if n not in done and all(i["type"] in done or i["type"] not in structs for i in items)
            )
        )
    return done


def c_header(
    enums: dict[str, dict[str, int]], structs: dict[str, list[dict[str, str]]], guard: str, reserved: list[str]
) -> list[str]:
    """The lines of the C header."""
    plain = {
        "u8": "uint8_t",
        "u16": "uint16_t",
        "u32": "uint32_t",
        "i32": "int32_t",
        "i64": "int64_t",
        "f64": "double",
        "bool": "bool",
    }
    out = [f"#ifndef {guard}", f"#define {guard}", "#include <stdbool.h>", "#include <stdint.h>"]
    for name, members in enums.items():
        rows = [f"    {snake(name).upper()}_{member.upper()} = {value}" for member, value in members.items()]
        out += [f"enum {snake(name)} {{", *(row + "," for row in rows[:-1]), rows[-1], "};"]
    for name in in_order(structs):
        out.append(f"struct {snake(name)} {{")
        for item in structs[name]:
            kind, field = item["type"], item["name"] + "_" * (item["name"] in reserved)
            out += [f"    bool has_{item['name']};"] if item["optional"] else []
            if kind == "text":
                out.append(f"    char {field}[{int(item['size']) + 1}];")
            else:
                shown = plain.get(kind) or ("enum " if kind in enums else "struct ") + snake(kind)
                out.append(f"    {shown} {field};")
        out.append("};")
        for item in structs[name]:
            if item["default"]:
                value = (
                    f"{snake(item['type']).upper()}_{item['default'].upper()}"
                    if item["type"] in enums
                    else item["default"]
                )
                out.append(f"#define {snake(name).upper()}_{item['name'].upper()}_DEFAULT {value}")
    return [*out, "#endif"]


def python_module(
    enums: dict[str, dict[str, int]], structs: dict[str, list[dict[str, str]]], reserved: list[str]
) -> list[str]:
    """The lines of the Python module."""
    plain = {"f64": "float", "bool": "bool", "text": "str"}
    out = ["from dataclasses import dataclass", "from enum import IntEnum"]
    for name, members in enums.items():
        out += [f"class {name}(IntEnum):", *(f"    {member.upper()} = {value}" for member, value in members.items())]
    for name in in_order(structs):
        out += ["@dataclass", f"class {name}:"]
        first: list[str] = []
        last: list[str] = []
        for item in structs[name]:
            kind = item["type"]
            shown = kind if kind in enums or kind in structs else plain.get(kind, "int")
            text = f"    {item['name']}{'_' * (item['name'] in reserved)}: {shown}" + " | None" * bool(item["optional"])
            value = item["default"]
            if value and kind in enums:
                value = f"{kind}.{value.upper()}"
            elif kind == "bool":
                value = value.title()
            if value or item["optional"]:
                last.append(f"{text} = {value or 'None'}")
            else:
                first.append(text)
        out += first + last
    return out


def sql_schema(
    enums: dict[str, dict[str, int]],
    structs: dict[str, list[dict[str, str]]],
    types: dict[str, str],
    reserved: list[str],
) -> list[str]:
    """The lines of the SQL schema."""

    def quoted(name: str) -> str:
        return f'"{name}"' if name in reserved else name

    def columns(name: str, prefix: str) -> list[str]:
        rows: list[str] = []
        for item in structs[name]:
            kind, column, value = item["type"], quoted(prefix + item["name"]), item["default"]
            if kind in structs:
                rows += columns(kind, prefix + item["name"] + "_")
                continue
            text = f"    {column} " + (f"VARCHAR({item['size']})" if kind == "text" else types.get(kind, "INTEGER"))
            text += "" if item["optional"] else " NOT NULL"
            if kind == "text" and value:
                value = "'" + re.sub(r"\\(.)", r"\1", value[1:-1]).replace("'", "''") + "'"
            elif kind == "bool":
                value = value.upper()
            elif kind in enums and value:
                value = str(enums[kind][value])
            text += f" DEFAULT {value}" if value else ""
            if kind in enums:
                text += f" CHECK ({column} IN ({', '.join(str(v) for v in enums[kind].values())}))"
            rows.append(text)
        return rows

    out: list[str] = []
    for name in in_order(structs):
        keys = [quoted(item["name"]) for item in structs[name] if item["key"]]
        rows = columns(name, "") + ([f"    PRIMARY KEY ({', '.join(keys)})"] if keys else [])
        out += [f"CREATE TABLE {quoted(snake(name))} (", *(row + "," for row in rows[:-1]), rows[-1], ");"]
    return out


@cache
def reference_source() -> str:
    """The source of the reference implementation."""
    return "\n\n".join(inspect.getsource(part) for part in (snake, in_order, c_header, python_module, sql_schema))
