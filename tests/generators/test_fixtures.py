"""Fixtures: every kind is built in a real sandbox, is what its specification says, is the same again, and leaves nothing behind."""

from __future__ import annotations

import io
import json
import math
import struct
import wave
import zlib
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Picture
from PIL import ImageSequence

from containers import dockerfile as dockerfiles
from containers.proof import leak
from containers.sandbox import BuildFailure, BuiltImage, Engine, Sandbox, StartOptions
from generators.bases import Base, preamble
from generators.digest import sha256_hex
from generators.errors import TaskError
from generators.fixtures.fields import checked_path
from generators.fixtures.makers import audio, font, image, video
from generators.fixtures.makers.canvas import Canvas
from generators.fixtures.makers.deflate import deflate
from generators.fixtures.ship import Shipped, ship
from generators.fixtures.spec import fixture_schema, read_fixture
from generators.task import ContextFile, Image, Limits
from tests.toys import toy

LIMITS = Limits(memory_mb=256, disk_mb=64)
TEXT = ["Invoice 20-4471 {paid}", "Total: 1,908.35 EUR @ 7%"]
SCENE: dict[str, Any] = {
    "items": [
        {"draw": "text", "text": TEXT},
        {"draw": "bars", "values": {"north": 31, "south": 48, "west": 7}, "colour": "blue", "tick": 10},
        {"draw": "table", "rows": [["part", "count"], ["flange", 118]], "size": 1},
        {"draw": "grid", "rows": ["1011", "0100", "1110"], "cell": 5},
        {"draw": "circle", "diameter": 20, "filled": False, "colour": "purple"},
        {"draw": "line", "x": 4, "y": 4, "to_x": 150, "to_y": 4, "colour": "#123456"},
        {"draw": "marker", "x": 300, "y": 200, "size": 9, "shape": "square", "colour": "red"},
    ],
    "background": "#fafafa",
}
PICTURE: dict[str, Any] = {"kind": "image", "path": "/srv/scans/invoice.png", **SCENE}
SOUND: dict[str, Any] = {
    "kind": "audio",
    "path": "/srv/calls/line 1.wav".replace(" ", "-"),
    "parts": [
        {"sound": "dtmf", "keys": "1907#4A"},
        {"sound": "silence", "milliseconds": 200},
        {"sound": "morse", "text": "RELAY 7 DOWN", "words_per_minute": 40, "hz": 900},
        {"sound": "steps", "hz": [500, 1500, 2500], "milliseconds": 60},
    ],
    "noise": 60,
    "seed": 11,
}
FILM: dict[str, Any] = {
    "kind": "video",
    "path": "/srv/camera/gate.gif",
    "width": 120,
    "height": 64,
    "frames": 12,
    "background": "grey",
    "items": [{"draw": "rectangle", "x": 20, "y": 40, "width": 80, "height": 4}],
    "captions": [{"text": "LOT 58", "first": 3, "last": 5, "size": 1}],
    "markers": [{"points": [[10, 50], [90, 50]], "blink": "1101", "size": 5}],
}
CHECK: dict[str, Any] = {
    "kind": "stripped_binary",
    "path": "/opt/lock/check",
    "program": {"form": "check", "accepts": "correct-horse-27", "yes": "open", "no": "shut", "seed": 5},
}
FORMAT: dict[str, Any] = {
    "kind": "stripped_binary",
    "path": "/opt/meter/dump",
    "program": {
        "form": "format",
        "magic": "MTR2",
        "fields": [{"name": "id", "type": "u16"}, {"name": "site", "type": "text"}, {"name": "watts", "type": "u32"}],
        "records": [[7, "quay", 70_000], [65535, "north yard", 4_294_967_295]],
        "data_path": "/srv/meter/day.mtr",
        "byte_order": "big",
        "mask": 90,
        "checksum": "sum",
    },
}
PROTOCOL: dict[str, Any] = {
    "kind": "stripped_binary",
    "path": "/opt/door/talk",
    "program": {
        "form": "protocol",
        "rules": [
            {"state": "idle", "line": "HELLO gatehouse", "answer": "WELCOME stranger", "then": "open"},
            {"state": "open", "line": "PASS", "answer": "OK", "then": "idle"},
        ],
    },
}
SOURCE: dict[str, Any] = {
    "kind": "stripped_binary",
    "path": "/opt/own/stamp",
    "program": {
        "form": "source",
        "source": "#include <stdio.h>\nint shoe_size(int a) { return a * 3; }\nint main(int n, char **v) { puts(__DATE__); "
        'printf("%s %d\\n", __FILE__, shoe_size(n)); }\n',
    },
}
PACKAGE: dict[str, Any] = {
    "kind": "vendored_package",
    "folder": "/srv/app/vendor/tally",
    "files": {"tally/__init__.py": "from tally.core import total\n", "README.md": "Tally adds.\n"},
    "fault": {
        "path": "tally/core.py",
        "good": "def total(values):\n    return sum(values)\n",
        "bad": "def total(values):\n    return sum(values[1:])\n",
        "says": "The first value is left out.",
    },
    "history": [
        {"message": "Begin", "author": "Ada Berg"},
        {"message": "Add notes", "files": {"NOTES.md": "Nothing yet.\n"}},
        {"message": "Tidy up"},
        {"message": "More notes", "files": {"NOTES.md": "Still nothing.\n"}},
    ],
    "fault_enters": 2,
}
SERVICES: dict[str, Any] = {
    "kind": "multi_service",
    "folder": "/srv/stack",
    "services": [
        {"name": "shop", "address": "http:8081", "answers": {"/health": "fine"}, "asks": {"/price": {"peer": "prices", "line": "GET tea"}},
         "needs": ["prices", "clock"]},
        {"name": "prices", "address": "tcp:7001", "store": {"tea": "340"}},
        {"name": "clock", "address": "unix:clock.sock", "answers": {"now": "12:00"}, "asks": {"tea": {"peer": "prices", "line": "GET tea"}},
         "wrong_peers": {"prices": "tcp:7002"}},
        {"name": "echo", "address": "tcp:7003", "program":
         "import json, socketserver, sys\n"
         "class H(socketserver.StreamRequestHandler):\n    def handle(self):\n        self.wfile.write(self.rfile.readline().strip()[::-1])\n"
         "port = int(json.load(open(sys.argv[1]))['address'].split(':')[1])\n"
         "socketserver.TCPServer(('127.0.0.1', port), H).serve_forever()\n"},
    ],
}  # fmt: skip
ALL = [PICTURE, SOUND, FILM, CHECK, FORMAT, PROTOCOL, SOURCE, PACKAGE, SERVICES]
FOLDERS = "/srv /opt"


def shaped(value: dict[str, Any]) -> Any:
    return read_fixture(value)


def shipped(value: dict[str, Any], base: Base = Base.BUILD) -> Shipped:
    return ship(shaped(value), base)


@pytest.fixture(scope="module")
def whole() -> Image:
    """One image with a fixture of every kind and form."""
    parts = [shipped(value) for value in ALL]
    lines = "".join(part.dockerfile_lines for part in parts)
    return Image(dockerfile=preamble(Base.BUILD) + lines, files=tuple(file for part in parts for file in part.files))


@pytest.fixture(scope="module")
def built(engine: Engine, whole: Image) -> BuiltImage:
    return engine.build(whole, LIMITS)


@pytest.fixture(scope="module")
def box(engine: Engine, built: BuiltImage) -> Iterator[Sandbox]:
    with engine.start(built, LIMITS) as opened:
        yield opened


def said(box: Sandbox, command: str, stdin: str = "") -> str:
    ended = box.exec(command, timeout=30, stdin=stdin.encode())
    return ended.tail()


# --- in the image -----------------------------------------------------------------------------------------------------


def test_the_same_is_made_again_at_another_time(engine: Engine, whole: Image, built: BuiltImage) -> None:
    listing = f"find {FOLDERS} -type f -not -path '*/lib/*' -printf '%m %T@ ' -exec sha256sum '{{}}' ';' | sort -k 4"
    made = [step for step in dockerfiles.parse(whole.dockerfile) if step.text.startswith(": fixture")]
    assert len(made) == len(ALL)
    with engine.start(built, LIMITS, StartOptions(clock_offset=40 * 86400, env={"PYTHONHASHSEED": "7"})) as box:
        before = box.exec(listing, timeout=30).stdout.decode().splitlines()
        said(box, f"rm -rf {FOLDERS}")
        for step in made:
            again = box.exec(["/bin/sh", "-c", step.text], timeout=60)
            assert again.exit_code == 0, again.tail()
        assert box.exec(listing, timeout=30).stdout.decode().splitlines() == before
    assert len(before) > 30 and all(line.split()[1] == "1704067200.0000000000" for line in before)


def test_no_layer_holds_what_must_be_found_out(engine: Engine, whole: Image, built: BuiltImage) -> None:
    contents = list(engine.contents(built))
    for value in ALL:
        part = shipped(value)
        wanted = leak.needles(
            toy(truth=part.facts, discoverable=tuple(set(part.discoverable) & set(part.facts)), image=whole)
        )
        assert leak.search(wanted, leak.texts(toy(image=whole))) is None
        assert leak.search(wanted, contents) is None
    hidden = [
        TEXT[0],
        "1907#4A",
        "RELAY 7",
        "LOT 58",
        "correct-horse",
        "HELLO gatehouse",
        "shoe_size",
        "fgets(line",
        "first value is left",
    ]
    hidden += ["def deflate", "def place", "_LOADER", "b64decode(sys.argv", '"kind"']
    needles = [leak.Needle(text, (text.encode(),)) for text in hidden]
    assert leak.search(needles, contents) is None


def test_a_specification_that_is_copied_and_removed_would_be_found(engine: Engine) -> None:
    """Why makers travel in the command: the reason, kept true."""
    body = "COPY spec.json /opt/spec.json\nRUN rm /opt/spec.json\n"
    image_ = Image(dockerfile=preamble(Base.PYTHON) + body, files=(ContextFile.of("spec.json", json.dumps(PICTURE)),))
    wanted = [leak.Needle("text", (TEXT[0].encode(),))]
    assert leak.search(wanted, engine.contents(engine.build(image_, LIMITS))) is not None


def test_made_files_have_the_digests_that_truth_states(box: Sandbox) -> None:
    for value in (PICTURE, SOUND, FILM):
        facts = shipped(value).facts
        assert sha256_hex(box.get(str(facts["path"]))) == facts["sha256"]
    package: Any = shipped(PACKAGE).facts
    for path, digest in package["sha256"].items():
        assert sha256_hex(box.get(path)) == digest


def test_a_check_accepts_one_line_and_does_not_show_it(box: Sandbox) -> None:
    assert said(box, "/opt/lock/check", "correct-horse-27\n") == "open"
    assert (
        said(box, "/opt/lock/check", "correct-horse-28\n")
        == said(box, "/opt/lock/check", "correct-horse-277\n")
        == "shut"
    )
    assert said(box, "/opt/lock/check; echo $?", "correct-horse-2\n") == "shut\n1"


def test_a_format_is_read_by_its_program(box: Sandbox) -> None:
    rows = "id,site,watts\n7,quay,70000\n65535,north yard,4294967295"
    assert said(box, "/opt/meter/dump /srv/meter/day.mtr") == rows
    data = box.get("/srv/meter/day.mtr")
    assert data[:4] == b"MTR2" and bytes(byte ^ 90 for byte in data[4:11]) == b"\x00\x07\x04quay"
    spoilt = "head -c -2 /srv/meter/day.mtr > /tmp/bad; printf AB >> /tmp/bad; /opt/meter/dump /tmp/bad"
    assert "wrong checksum" in said(box, spoilt)
    assert "cut off" in said(box, "head -c 9 /srv/meter/day.mtr > /tmp/cut; /opt/meter/dump /tmp/cut")
    assert "not such a file" in said(box, "/opt/meter/dump /opt/meter/dump")


def test_a_protocol_follows_its_rules(box: Sandbox) -> None:
    lines = "PASS\nHELLO gatehouse\nPASS\nPASS\n"
    assert said(box, "/opt/door/talk", lines).split("\n") == ["ERR", "WELCOME stranger", "OK", "ERR"]


def test_programs_have_no_symbols_and_no_time(box: Sandbox) -> None:
    assert said(box, "/opt/own/stamp x") == "Jan  1 2024\n<stdin> 6"
    for path in ("/opt/lock/check", "/opt/meter/dump", "/opt/door/talk", "/opt/own/stamp"):
        assert "no symbols" in said(box, f"nm {path}")
        assert said(box, f"readelf -S {path} | grep -cE 'debug|symtab|comment|build-id'; true") == "0"


def test_source_that_does_not_compile_fails_the_build_with_the_compilers_words(engine: Engine) -> None:
    part = shipped({**SOURCE, "program": {"form": "source", "source": "int main(void) { return missing; }"}})
    with pytest.raises(BuildFailure) as caught:
        engine.build(Image(dockerfile=preamble(Base.BUILD) + part.dockerfile_lines), LIMITS)
    assert "'missing' undeclared" in caught.value.output and "does not compile" in caught.value.output


def test_a_history_leads_to_the_fault(box: Sandbox) -> None:
    git = "git -C /srv/app/vendor/tally -c safe.directory='*'"
    assert said(box, f"{git} status --porcelain") == ""
    assert said(box, f"{git} log --format='%an %s' --reverse").split("\n")[0] == "Ada Berg Begin"
    assert said(box, f"{git} log --format=%s -- tally/core.py").split("\n") == ["Tidy up", "Begin"]
    run = "cd /srv/app/vendor/tally && python3 -B -c 'from tally import total; print(total([5, 6]))'"
    assert said(box, run) == "6"
    assert said(box, f"{git} checkout -q HEAD~2 && {run}; {git} checkout -q main") == "11"


def test_services_start_talk_and_stop(engine: Engine, built: BuiltImage) -> None:
    with engine.start(built, LIMITS) as box:
        down = said(box, "/srv/stack/bin/status; echo $?").split("\n")
        assert sorted(down) == ["1", "clock down", "echo down", "prices down", "shop down"]
        assert sorted(said(box, "/srv/stack/bin/start").split("\n")) == ["clock up", "echo up", "prices up", "shop up"]
        assert said(box, "/srv/stack/bin/start && /srv/stack/bin/status > /dev/null; echo $?").endswith("0")
        assert said(box, "curl -s localhost:8081/health") == "fine"
        assert said(box, "curl -s localhost:8081/price") == "340"
        assert said(box, "curl -s -o /dev/null -w '%{http_code}' localhost:8081/none") == "404"
        assert said(box, TALK.format(7001, "SET tea 355")) == "OK"
        assert said(box, "/srv/stack/bin/stop prices && /srv/stack/bin/start prices") == "prices stopped\nprices up"
        assert said(box, "curl -s localhost:8081/price") == "355"
        assert said(box, TALK.format(7003, "abc")) == "cba"
        unix = "import socket; s = socket.socket(1); s.connect('/srv/stack/run/clock.sock'); s.send(b'{}\\n'); print(s.recv(99).decode())"
        assert said(box, f'python3 -c "{unix.format("now")}"') == "12:00"
        assert said(box, f'python3 -c "{unix.format("tea")}"').startswith(
            "ERR"
        )  # the wrong peer: the fault to be found
        said(box, "/srv/stack/bin/stop")
        assert (
            said(box, "/srv/stack/bin/status; echo $?").endswith("1")
            and said(box, "pgrep -fc '[s]erver.py'; true") == "0"
        )


TALK = "exec 3<>/dev/tcp/127.0.0.1/{}; echo '{}' >&3; head -1 <&3"


# --- what they are ----------------------------------------------------------------------------------------------------


def read_text(picture: Picture.Image, x: int, y: int, length: int, size: int, ink: tuple[int, int, int]) -> str:
    """Text of a known place, by comparing each character's points with the font."""
    letters = {font.glyph(chr(code)): chr(code) for code in range(32, 127)}
    found = ""
    for place in range(length):
        rows = [
            sum(
                (picture.getpixel((x + (place * 6 + column) * size, y + row * size)) == ink) << (4 - column)
                for column in range(5)
            )
            for row in range(8)
        ]
        found += letters[bytes(rows)]
    return found


@pytest.fixture(params=["png", "ppm", "bmp"])
def picture(request: pytest.FixtureRequest) -> Picture.Image:
    spec = shaped({**PICTURE, "path": f"/srv/scans/invoice.{request.param}"})
    return Picture.open(io.BytesIO(image.make(spec.order())[0][1])).convert("RGB")


def points(picture: Picture.Image, colour: bytes) -> list[tuple[int, int]]:
    """Where a picture has a colour."""
    raw, width = picture.tobytes(), picture.width
    return [(at // 3 % width, at // 3 // width) for at in range(0, len(raw), 3) if raw[at : at + 3] == colour]


def test_a_picture_shows_its_text_bars_grid_and_markers(picture: Picture.Image) -> None:
    facts = shipped(PICTURE).facts
    assert picture.size == (facts["width"], facts["height"])
    assert [read_text(picture, 8, 8 + 18 * row, len(text), 2, (0, 0, 0)) for row, text in enumerate(TEXT)] == facts[
        "text"
    ]
    blue, red = points(picture, b"\0\0\xff"), points(picture, b"\xff\0\0")
    heights = {x: sum(1 for other, _ in blue if other == x) for x, _ in blue}
    assert [heights[x] for x in sorted(heights) if x - 1 not in heights] == [62, 96, 14]
    assert len(red) == 81 and (sum(x for x, _ in red) / 81, sum(y for _, y in red) / 81) == (300, 200)
    assert picture.getpixel((0, 0)) == (0xFA, 0xFA, 0xFA) and picture.getpixel((77, 4)) == (0x12, 0x34, 0x56)


def test_every_character_of_the_font_is_another() -> None:
    glyphs = [font.glyph(chr(code)) for code in range(32, 127)]
    assert len(set(glyphs)) == 95 and all(len(rows) == 8 and max(rows) < 32 for rows in glyphs)


def goertzel(samples: list[int], hz: float) -> float:
    turn = 2 * math.cos(2 * math.pi * hz / 8000)
    one = two = 0.0
    for value in samples:
        one, two = value + turn * one - two, one
    return math.sqrt(max(one * one + two * two - turn * one * two, 0)) / len(samples)


def test_a_recording_holds_its_keys_and_tones() -> None:
    data = audio.make(shaped(SOUND).order())[0][1]
    with wave.open(io.BytesIO(data)) as sound:
        assert (sound.getnchannels(), sound.getsampwidth(), sound.getframerate()) == (1, 2, 8000)
        frames = sound.getnframes()
        samples = list(struct.unpack(f"<{frames}h", sound.readframes(frames)))
    assert abs(frames - shaped(SOUND).seconds() * 8000) <= 8
    heard = ""
    for place in range(7):
        piece = samples[place * 1120 : place * 1120 + 640]
        low = max((697, 770, 852, 941), key=lambda hz: goertzel(piece, hz))
        high = max((1209, 1336, 1477, 1633), key=lambda hz: goertzel(piece, hz))
        heard += next(key for key in "0123456789ABCD*#" if audio.pair(key) == (low, high))
    assert heard == "1907#4A"
    steps = [samples[-480 * back : len(samples) - 480 * (back - 1)] for back in (3, 2, 1)]
    assert [max((500, 1500, 2500), key=lambda hz: goertzel(piece, hz)) for piece in steps] == [500, 1500, 2500]


def test_morse_can_be_read() -> None:
    spec = shaped({**SOUND, "noise": 0, "parts": [SOUND["parts"][2]]})
    samples, unit = audio.samples(spec.order()), 8000 * 30 // 1000
    marks = "".join("1" if any(samples[at : at + unit]) else "0" for at in range(0, len(samples), unit))
    letters = {code: letter for letter, code in audio.MORSE.items()}
    words = [
        "".join(
            letters["".join("-" if mark == "111" else "." for mark in letter.split("0"))]
            for letter in word.split("000")
        )
        for word in marks.strip("0").split("0000000")
    ]
    assert " ".join(words) == "RELAY 7 DOWN"


def test_a_gif_shows_captions_and_moving_markers() -> None:
    film = Picture.open(io.BytesIO(video.make(shaped(FILM).order())[0][1]))
    frames = [frame.convert("RGB") for frame in ImageSequence.Iterator(film)]
    track: Any = shipped(FILM).facts["tracks"]
    assert len(frames) == 12 and film.info["duration"] == 100
    for number, frame in enumerate(frames):
        place = track[0][number]
        assert (place is not None) == (number % 4 != 2)
        assert frame.getpixel(tuple(place) if place else (0, 63)) == ((255, 0, 0) if place else (0x80, 0x80, 0x80))
        if 3 <= number <= 5:
            assert read_text(frame, 8, 8, 6, 1, (0, 0, 0)) == "LOT 58"


def test_avi_and_y4m_hold_every_frame() -> None:
    spec = shaped({**FILM, "path": "/srv/camera/gate.avi"})
    data = video.make(spec.order())[0][1]
    expected = video.frames(spec.order())
    assert struct.unpack("<4sI4s", data[:12]) == (b"RIFF", len(data) - 8, b"AVI ")
    movie = data.index(b"movi")
    index = data[data.rindex(b"idx1") + 8 :]
    for number, canvas in enumerate(expected):
        name, _, start, size = struct.unpack_from("<4s3I", index, number * 16)
        frame = data[movie + start + 8 : movie + start + 8 + size]
        assert name == b"00db" and frame == image.bottom_up(canvas) and data[movie + start : movie + start + 4] == name
    spec = shaped({**FILM, "path": "/srv/camera/gate.y4m"})
    head, *frames = video.make(spec.order())[0][1].split(b"FRAME\n")
    assert (
        head == b"YUV4MPEG2 W120 H64 F10:1 Ip A1:1 C444\n" and [len(frame) for frame in frames] == [120 * 64 * 3] * 12
    )
    assert frames[0][50 * 120 + 10] == 82  # red is dark, with BT.601's weights


def test_bytes_are_the_same_on_any_machine() -> None:
    digests = [sha256_hex(maker.make(shaped(value).order())[0][1])[:16] for maker, value in MADE]
    assert digests == ["ec508106bfb4a0b0", "a2e73ec8e63c7cb3", "15de6a3bcab77207"]


MADE: list[tuple[Any, dict[str, Any]]] = [(image, {**PICTURE, "specks": 40}), (audio, SOUND), (video, FILM)]


@given(
    st.one_of(
        st.binary(max_size=3000),
        st.lists(st.sampled_from([b"ab", b"abc", b"\0" * 300, b"\xff"]), max_size=60).map(b"".join),
    )
)
def test_what_is_packed_can_be_unpacked(data: bytes) -> None:
    assert zlib.decompress(deflate(data)) == data


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 99), st.integers(1, 120), st.integers(1, 5))
def test_a_gif_of_anything_can_be_read(seed: int, side: int, colours: int) -> None:
    canvas, rng = Canvas(256, side, "#000000"), Random(seed)
    canvas.colours = [f"#{code:02x}0000" for code in range(256)]
    canvas.pixels = bytearray(rng.randrange(1 << 2 * colours - 2) & 255 for _ in canvas.pixels)
    read = Picture.open(io.BytesIO(video.gif([canvas], 10))).convert("RGB")
    assert read.tobytes()[0::3] == bytes(canvas.pixels)


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"kind": "hologram"}, "hologram"),
        ({}, "kind"),
        ({**PICTURE, "path": "/etc/shadow.png"}, "cannot lie in /etc"),
        ({**PICTURE, "path": "/srv/../etc/x.png"}, "'.' or '..'"),
        ({**PICTURE, "path": "scan.png"}, "absolute"),
        ({**PICTURE, "path": "/srv/scan.jpg"}, ".png or .ppm or .bmp"),
        ({**PICTURE, "path": "/srv/png"}, ".png or .ppm or .bmp"),
        ({**PICTURE, "width": 50}, "outside the picture of 50x"),
        ({**PICTURE, "width": 1600, "height": 1600}, "too many"),
        ({**PICTURE, "items": [{"draw": "text", "text": "Grüße"}]}, "items.0.text"),
        ({**PICTURE, "answer": 42}, "answer"),
        ({**SOUND, "parts": [{"sound": "tone", "hz": 4000, "milliseconds": 5}]}, "half of the 8000"),
        ({**SOUND, "parts": [{"sound": "tone", "hz": 400, "milliseconds": 60000}] * 3}, "too long"),
        ({**FILM, "frames": 5}, "below 5"),
        ({**FILM, "markers": [], "captions": []}, "nothing in it would change"),
        ({**FILM, "width": 1000, "height": 1000}, "too many"),
        ({**PACKAGE, "fault_enters": 9}, "below 4"),
        ({**PACKAGE, "files": {"../../etc/passwd": "x"}}, "'..'"),
        ({**PACKAGE, "files": {".git/hooks/pre-commit": "x"}}, "'.git'"),
        ({**PACKAGE, "files": {"tally": "x", "tally/core.py": "y"}}, "below a path that is a file"),
        ({**PACKAGE, "files": {"a": "x" * 59_000, "b": "y" * 59_000}}, "too long"),
        ({**FORMAT, "program": {**FORMAT["program"], "records": [[70000, "x", 1]]}}, "does not fit field id"),
        ({**FORMAT, "path": "/srv/meter/day.mtr"}, "the same path"),
        ({**SERVICES, "services": [{"name": "a", "address": "tcp:80"}] * 2}, "tcp:PORT"),
        (
            {**SERVICES, "services": [{"name": "a", "address": "tcp:8000"}, {"name": "b", "address": "http:8000"}]},
            "same port",
        ),
        (
            {
                **SERVICES,
                "services": [
                    {"name": n, "address": f"tcp:800{k}", "needs": [m]} for k, (n, m) in enumerate(("ab", "ba"))
                ],
            },
            "in a circle",
        ),
    ],
)
def test_a_wrong_specification_gets_one_clear_line(value: dict[str, Any], message: str) -> None:
    with pytest.raises(TaskError) as caught:
        shaped(value)
    assert message in str(caught.value) and "\n" not in str(caught.value)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=8)
    | st.text("/.ab", max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(ALL), st.data())
def test_whatever_a_model_writes_is_taken_or_refused_in_one_line(value: dict[str, Any], data: st.DataObject) -> None:
    key = data.draw(st.sampled_from(sorted(value)))
    try:
        spec = shaped({**value, key: data.draw(JSON)})
    except TaskError as error:
        assert "\n" not in str(error)
        return
    assert shaped(json.loads(spec.model_dump_json())) == spec


@given(
    st.text()
    | st.lists(st.sampled_from(["srv", "etc", "..", ".", "", "usr", "a b", "x\n", "$(id)", "data"]), max_size=5).map(
        "/".join
    )
)
def test_a_path_that_passes_is_plain_and_in_a_place_of_the_tasks(path: str) -> None:
    for text in (path, f"/{path}"):
        try:
            checked_path(text)
        except ValueError:
            continue
        parts = Path(text).parts
        assert (
            text == "/".join(["", *parts[1:]]) and ".." not in parts and parts[1] not in {"etc", "usr", "proc", "dev"}
        )
        assert not set(text) & set(" \n'\"$\\`;&|<>*?")


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(SCENE["items"]), min_size=1, max_size=8))
def test_places_that_are_left_out_never_overlap(items: list[dict[str, Any]]) -> None:
    stacked = [
        {key: item[key] for key in item if key not in ("x", "y")}
        for item in items
        if item["draw"] not in ("line", "marker")
    ]
    if stacked:
        spec: Any = shaped({**PICTURE, "items": stacked})
        tops, bottoms = [area[1] for area in spec.boxes()], [area[3] for area in spec.boxes()]
        assert all(top > bottom for top, bottom in zip(tops[1:], bottoms, strict=False))
        assert bottoms[-1] < spec.extent()[1]


def test_bases_bring_what_a_fixture_needs() -> None:
    assert shipped(CHECK, Base.PYTHON).base == Base.BUILD and shipped(PICTURE, Base.SCIENCE).base == Base.SCIENCE
    with pytest.raises(TaskError, match="no C compiler"):
        shipped(CHECK, Base.SCIENCE)


def test_what_cannot_be_said_in_a_command_is_refused() -> None:
    noise = "".join(chr(0x4E00 + number * 7919 % 20000) for number in range(50_000))
    with pytest.raises(TaskError, match="too long"):
        shipped({**PACKAGE, "files": {"a.txt": noise}})


def test_the_schema_names_every_kind() -> None:
    schema = json.dumps(fixture_schema())
    assert all(f'"{value["kind"]}"' in schema for value in ALL) and len(schema) < 40_000
    assert "Morse" in json.dumps(fixture_schema("audio")) and "Morse" not in json.dumps(fixture_schema("image"))
    with pytest.raises(TaskError, match="one of image, audio"):
        fixture_schema("text_only")


def test_dockerfile_lines_stay_short() -> None:
    for value in ALL:
        assert max(map(len, shipped(value).dockerfile_lines.splitlines())) < 1100
