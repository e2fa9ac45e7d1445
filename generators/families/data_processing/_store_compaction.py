"""Log-structured stores: their bytes, how one is drawn with every trap, and what its compaction is."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from generators.family import Draw, Setting


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling; `keys` are the prefixes of the keys in the store."""

    folder: str
    store: str
    magic: str
    out: str
    report: str
    program: str
    keys: tuple[str, ...]
    text: str


PUT, DELETE, DELETE_PREFIX, COMMIT = 1, 2, 3, 4


@dataclass(frozen=True)
class Record:
    """A record; `damaged` flips a bit after the checksum was made."""

    sequence: int
    kind: int
    key: bytes
    value: bytes = b""
    transaction: int = 0
    expiry: int = 0
    damaged: bool = False


@dataclass(frozen=True)
class Segment:
    """A segment: its number, records, torn bytes at the end, and whether the header is valid."""

    number: int
    records: tuple[Record, ...]
    tail: int = 0
    valid: bool = True


@dataclass(frozen=True)
class Codec:
    """The byte layout of one drawing."""

    order: str
    magic: bytes
    version: int
    crc_first: bool
    rich: bool

    @property
    def head(self) -> str:
        """The struct format of a record's fields."""
        return "QBIIHI" if self.rich else "QBHI"

    def record(self, record: Record) -> bytes:
        """The bytes of a record."""
        extra = (record.transaction, record.expiry) if self.rich else ()
        fields = (record.sequence, record.kind, *extra, len(record.key), len(record.value))
        body = struct.pack(self.order + self.head, *fields) + record.key + record.value
        crc = struct.pack(self.order + "I", zlib.crc32(body))
        if record.damaged:
            spot = -1 if record.key else 3  # never in the lengths
            body = body[:spot] + bytes([body[spot] ^ 0x10]) + (body[spot + 1 :] if spot > 0 else b"")
        return crc + body if self.crc_first else body + crc

    def segment(self, segment: Segment) -> bytes:
        """The bytes of a segment."""
        head = self.magic + struct.pack(self.order + "HI", self.version, segment.number)
        crc = zlib.crc32(head) ^ (0 if segment.valid else 1)
        body = b"".join(self.record(record) for record in segment.records)
        torn = self.record(Record(2**40, PUT, b"lost", b"never finished"))[: segment.tail]
        return head + struct.pack(self.order + "I", crc) + body + torn


def draw_store(draw: Draw, place: World, rich: bool, segments: int, size: int, now: int) -> list[Segment]:
    """A store with every trap: see the comments. Later segments do not always have the higher sequences."""
    numbers = sorted(draw.sample(range(2, 90), segments))
    keys = [
        f"{prefix}{number}".encode() for prefix in place.keys for number in draw.sample(range(100), max(6, size // 3))
    ]
    content: list[list[Record]] = [[] for _ in numbers]
    sequence = draw.between(1000, 9000)

    def add(where: int, kind: int, key: bytes, step: int = 1, **more: int) -> Record:
        nonlocal sequence
        sequence += step
        value = draw.pick(("on", "", "café ", "x\x00y ")).encode() + str(sequence).encode() if kind == PUT else b""
        record = Record(
            sequence, kind, key, value, more.get("transaction", 0), more.get("expiry", 0), bool(more.get("damaged", 0))
        )
        content[where].append(record)
        return record

    for where in range(segments):
        for _ in range(size):
            options = {"expiry": now + draw.between(-50, 50)} if rich and draw.chance(15) else {}
            kind = DELETE if draw.chance(18) else PUT
            add(where, kind, draw.pick(keys), draw.between(1, 4), **(options if kind == PUT else {}))
    last = segments - 1
    special = [f"{place.keys[0]}special{number}".encode() for number in range(12)]
    add(0, PUT, special[0], 5)  # the newest one is damaged: the older one holds
    add(last, PUT, special[0], damaged=1)
    add(last, PUT, special[1])  # deleted by a record in an older segment
    add(0, DELETE, special[1])
    add(0, PUT, special[2])  # the deletion is damaged
    add(last, DELETE, special[2], damaged=1)
    twin = add(0, PUT, special[3])  # equal sequences: the later segment, then the later place
    content[last].append(replace(twin, value=b"second"))
    content[last].append(replace(twin, value=b"third"))
    add(1, PUT, special[4])  # newer, in an older segment
    content[last].append(Record(1, PUT, special[4], b"ancient"))
    if rich:
        add(0, PUT, special[5])
        add(last, PUT, special[5], transaction=71)  # never committed
        add(0, PUT, special[6], transaction=72)
        add(1, COMMIT, b"", transaction=72)
        add(0, PUT, special[7])
        add(1, PUT, special[7], transaction=73)
        add(last, COMMIT, b"", transaction=73, damaged=1)
        add(0, PUT, special[8])
        add(1, PUT, special[8], expiry=now)  # expired to the second, and the older value stays dead
        add(0, PUT, special[9], expiry=now + 1)
        add(0, PUT, place.keys[1].encode() + b"old")
        add(last, DELETE_PREFIX, place.keys[1].encode())
        add(0, PUT, place.keys[1].encode() + b"new")
    store = [
        Segment(
            number,
            tuple(draw.shuffled(records) if where < last else records),
            draw.pick((0, 3, 9, 21, 30)) if where != 1 else 17,
        )
        for where, (number, records) in enumerate(zip(numbers, content, strict=True))
    ]
    stray = tuple(Record(sequence + 50 + number, PUT, special[number], b"from a bad segment") for number in range(5))
    store.append(Segment(95, stray, 0, False))
    return store


def compacted(store: Sequence[Segment], codec: Codec, now: int) -> tuple[bytes, dict[str, int]]:
    """The compacted segment and the report, from the records as they were drawn."""
    valid = sorted((segment for segment in store if segment.valid), key=lambda segment: segment.number)
    intact = [record for segment in valid for record in segment.records if not record.damaged]
    committed = {0} | {record.transaction for record in intact if record.kind == COMMIT}
    state: dict[bytes, Record] = {}
    # a stable sort keeps segment and place as the second and third criterion
    for record in sorted(intact, key=lambda record: record.sequence):
        if record.transaction not in committed or record.kind == COMMIT:
            continue
        if record.kind == DELETE_PREFIX:
            state = {key: old for key, old in state.items() if not key.startswith(record.key)}
        elif record.kind == DELETE or 0 < record.expiry <= now:
            state.pop(record.key, None)
        else:
            state[record.key] = replace(record, transaction=0)
    total = sum(len(segment.records) for segment in valid)
    report = {
        "segments": len(valid),
        "bad_segments": len(store) - len(valid),
        "records": len(intact),
        "corrupt": total - len(intact),
        "torn": sum(1 for segment in valid if segment.tail),
        "live": len(state),
    }
    number = valid[-1].number + 1 if valid else 1
    return codec.segment(Segment(number, tuple(state[key] for key in sorted(state)))), report


def stored(draw: Draw, store: Sequence[Segment], codec: Codec) -> dict[str, bytes]:
    """The files of a store; names say nothing about the order."""
    names = draw.sample(range(1, 60), len(store))
    files = {f"{name:04d}.seg": codec.segment(segment) for name, segment in zip(names, store, strict=True)}
    return files | {"LOCK": b"4711\n", f"{names[0]:04d}.seg.tmp": codec.segment(store[0])[:40]}
