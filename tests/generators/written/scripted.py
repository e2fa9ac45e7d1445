"""A model that says what a script has for each stage, and the fixed cells and answers that these tests are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from generators.axes import Cell
from generators.bases import Base
from generators.chat.model import UNTAGGED, Ask, Reply, Tag, Usage
from generators.fixtures.spec import read_fixture
from generators.task import Difficulty, Record, Verifier
from generators.written.answers import render
from generators.written.draft import Order
from generators.written.records import (
    Completion,
    Description,
    Environment,
    File,
    FurnishedEnvironment,
    Judgement,
    Mapped,
    Miss,
    Misses,
    Solution,
    Weight,
)

KINDS: tuple[type[Record], ...] = (
    Description,
    Environment,
    FurnishedEnvironment,
    Completion,
    Solution,
    Misses,
    Judgement,
)
Says = str | Exception
SECRET = "Kestrel-7741"  # a value of the truth that is nowhere else
CELL = Cell(
    domain="data_querying",
    category="reconciliation",
    context="a harbour office",
    skills=("joining files", "rounding money"),
    persona="accountant",
    language="python",
    task_complexity="short",
    command_complexity="bash",
    difficulty=Difficulty.MEDIUM,
    verifier=Verifier.EXACT_TEXT,
    fixture="text_only",
    anchor="sqlite",
    voice="ticket",
    knobs={"commands": 7, "traps": 2},
    scale=1.0,
    base=Base.PYTHON,
    apt=("tcl",),
    notes={"domain": "Data are asked and answer.", "voice": "A ticket.", "traps": "traps in the data"},
)
ORDER = Order(CELL, 5, 3, "scripted:model")
PICTURE_ORDER = Order(CELL.model_copy(update={"fixture": "image"}), 5, 4, "scripted:model")

DESCRIPTION = Description(
    title="The dearest passage of October",
    instruction=(
        "The ledger of the harbour lies in /srv/tolls/ledger.csv, a passage on each line. Write the name of the ship with the "
        "dearest passage to /srv/tolls/dearest.txt. The ledger must stay as it is.\n"
    ),
    truth={"ship": SECRET, "cents": 184250},
    discoverable=(),
)
ENVIRONMENT = Environment(
    base=Base.PYTHON,
    packages=("tcl",),
    dockerfile="COPY ledger.csv /srv/tolls/\nWORKDIR /srv/tolls\n",
    files=(File(path="ledger.csv", content="ship,cents\nWren,7\n", mode="0644"),),
    initial_tests="def test_ledger():\n    assert open('/srv/tolls/ledger.csv').readline() == 'ship,cents\\n'\n",
)
SIGN = read_fixture(
    {
        "kind": "image",
        "path": "/srv/sign.png",
        "width": 96,
        "height": 32,
        "items": [{"draw": "text", "text": "PIER", "x": 4, "y": 4}],
    }
)
FURNISHED = FurnishedEnvironment(**dict(ENVIRONMENT), fixtures=(SIGN,))
COMPLETION = Completion(
    source=(
        "def test_dearest():\n    assert open('/srv/tolls/dearest.txt').read().strip() == TRUTH['ship']\n\n"
        "def test_ledger_stays():\n    assert len(open('/srv/tolls/ledger.csv').readlines()) == 2\n"
    ),
    weights=(Weight(test="test_dearest", weight=1.0),),
    guards=("test_ledger_stays",),
    requirements=(
        Mapped(
            sentence="Write the name of the ship with the dearest passage to /srv/tolls/dearest.txt.",
            tests=("test_dearest",),
        ),
        Mapped(sentence="The ledger must stay as it is.", tests=("test_ledger_stays",)),
    ),
)
SOLUTION = Solution(script="sort -t, -k2n /srv/tolls/ledger.csv | tail -n 1 | cut -d, -f1 > /srv/tolls/dearest.txt\n")
ALTERNATIVE = Solution(script="python3 /srv/dearest.py > /srv/tolls/dearest.txt\n")
MISSES = Misses(
    misses=(
        Miss(name="sorts_text", why="7 after 10\n", script="sort /srv/tolls/ledger.csv\n", caught_by=("test_dearest",)),
        Miss(
            name="header", why="takes line 1\n", script="head -n 1 /srv/tolls/ledger.csv\n", caught_by=("test_dearest",)
        ),
    )
)
JUDGEMENT = Judgement(verdict="accept", stage="describe", reasons="")
GOOD: Mapping[str, Record] = {
    "describe": DESCRIPTION,
    "environment": ENVIRONMENT,
    "tests": COMPLETION,
    "solution": SOLUTION,
    "alternative": ALTERNATIVE,
    "near_misses": MISSES,
    "judge": JUDGEMENT,
}
SCRIPT: Mapping[str, Sequence[Says]] = {stage: (render(record),) for stage, record in GOOD.items()}


class Scripted:
    """A ChatModel. What each stage is answered stands in the script, an error is raised, the last entry is repeated.

    `asked` holds all requests with their tags, `log` (which models may share) their stages with this model's name.
    """

    def __init__(
        self, name: str, script: Mapping[str, Sequence[Says]], log: list[tuple[str, str]] | None = None
    ) -> None:
        self._name, self._script = name, {stage: list(said) for stage, said in script.items()}
        self.asked: list[tuple[Tag, Ask]] = []
        self.log = [] if log is None else log

    @property
    def name(self) -> str:
        return self._name

    async def ask(self, ask: Ask, tag: Tag = UNTAGGED) -> Reply:
        self.asked.append((tag, ask))
        self.log.append((self._name, tag.stage))
        said = self._script[tag.stage]
        text = said.pop(0) if len(said) > 1 else said[0]
        if isinstance(text, Exception):
            raise text
        return Reply(text=text, usage=Usage(input_tokens=1, output_tokens=1), model=self._name, seconds=0.0)

    async def close(self) -> None:
        pass

    def of(self, stage: str) -> list[Ask]:
        """The requests of a stage, in order."""
        return [ask for tag, ask in self.asked if tag.stage == stage]
