"""The page and the table of a run: whole for every state of a run, and no text of a model becomes markup."""

from __future__ import annotations

import json
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from agent.table import from_row
from agent.trajectory import Step, TestOutcome, Trajectory
from generators.chat.model import Usage
from generators.errors import UsageError
from tests.trainer.episodes import episode, ran
from tests.trainer.test_metrics import VERL, rollout
from trainer.metrics import append_line, step_metrics
from trainer.records import RolloutRecord
from trainer.report import TABLE, read_rollouts, rollouts_table, write_report
from trainer.run import RunFolder, RunState, Status

HOSTILE = "</pre><script>alert(1)</script><img src=x onerror='alert(2)'>\u2028\x1b[31m\x00&lt;\"'"
TAGS = {  # that the page itself writes
    *("html", "meta", "title", "style", "h1", "h2", "p", "div", "span", "b", "br", "table", "tr", "th", "td", "pre"),
    *("details", "summary", "svg", "g", "path", "defs", "use", "text", "rect", "clippath", "tspan", "metadata"),
    *("rdf:rdf", "cc:work", "dc:type", "dc:format", "dc:creator", "cc:agent", "dc:title"),
}


class Page(HTMLParser):
    """What tags and attributes a page has, and its words."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: dict[str, str | None] = {}
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= dict(attrs)

    def handle_data(self, data: str) -> None:
        self.words += data

    def check(self) -> None:
        """Nothing but what the page itself writes, nothing that runs, nothing from outside."""
        assert self.tags <= TAGS, self.tags - TAGS
        assert not [name for name in self.attributes if name.startswith("on") or name in ("src", "action")]
        links = [value or "" for name, value in self.attributes.items() if name.endswith("href")]
        assert all(link.startswith("#") for link in links), links


def hostile(text: str) -> Trajectory:
    """A trajectory with a text in every place that a model, a task or a test can fill."""
    said = Step(reply=text, reasoning=text, shown=text, usage=Usage(input_tokens=1, output_tokens=1))
    last = said.model_copy(update={"shown": "", "items": (ran(text, text),)})
    tests = (TestOutcome(name=text, passed=False, message=text),)
    return episode(said, last, task_id=text, instruction=text, reason=text, tests=tests)


def folder(path: Path, steps: int = 3, status: Status = Status.RUNNING, **fields: Any) -> RunFolder:
    """A run of so many steps."""
    run = RunFolder(path)
    path.mkdir(exist_ok=True)
    run.save_state(RunState(status=status, step=steps, steps=9, **fields))
    run.settings.write_text(json.dumps({"model": "<b>m</b>", "preset": {"name": "smoke <i>cpu</i>", "lr": 1e-6}}))
    for step in range(1, steps + 1):
        records = [
            rollout(
                reward, group, step=step, task_id=f"task-{group}", sample=number, trajectory=episode(ran("ls", "x"))
            )
            for number, (reward, group) in enumerate([(1.0, "a"), (0.0, "a"), (0.5, "b")])
        ]
        write(run, *records)
        append_line(run, {"step": step, **step_metrics(VERL, records)})
    return run


def write(run: RunFolder, *records: RolloutRecord, name: str = "worker") -> None:
    run.rollouts.mkdir(exist_ok=True)
    with open(run.rollouts / f"{name}.jsonl", "a") as lines:
        lines.writelines(record.model_dump_json(exclude_none=True) + "\n" for record in records)


def test_a_running_run_has_curves_tasks_rollouts_and_settings(tmp_path: Path) -> None:
    page = Page(write_report(folder(tmp_path)).read_text())
    page.check()
    for words in (
        "smoke <i>cpu</i>",
        "running",
        "step 3 of 9",
        "Reward",
        "Seconds of a step",
        "task-a",
        "Rollouts of step 3",
    ):
        assert words in page.words
    assert "task-a: reward 1.00, finished, 2 turns" in page.words
    assert "<b>m</b>" in page.words and "1e-06" in page.words


def test_a_stopped_run_says_why(tmp_path: Path) -> None:
    run = folder(tmp_path, status=Status.STOPPED, reason=f"reward_collapse: {HOSTILE}")
    page = Page(write_report(run).read_text())
    page.check()
    assert "reward_collapse: </pre><script>" in page.words


@pytest.mark.parametrize("status", list(Status))
def test_a_run_without_a_step_has_a_page_and_an_empty_table(tmp_path: Path, status: Status) -> None:
    run = folder(tmp_path, steps=0, status=status)
    page = Page(write_report(run).read_text())
    page.check()
    assert "No step is finished yet." in page.words
    table = pl.read_parquet(rollouts_table(run))
    assert table.height == 0 and table.columns == TABLE.names


def test_a_run_with_a_validation_only(tmp_path: Path) -> None:
    run = folder(tmp_path, steps=0)
    held_out = rollout(1.0, "v", step=0, split="validation", trajectory=episode(ran("ls")))
    write(run, held_out)
    append_line(run, {"step": 0, **step_metrics({}, [held_out])})
    words = Page(write_report(run).read_text()).words
    assert "Pass rate" in words and "Rollouts of step 0 (validation)" in words


def test_no_run_and_damaged_metrics_are_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no training run here"):
        write_report(RunFolder(tmp_path / "none"))
    run = folder(tmp_path)
    run.metrics.write_text('{"step": 1, "ti{"step": 2}\n')
    with pytest.raises(UsageError, match="damaged"):
        write_report(run)


def test_the_same_run_gives_the_same_page(tmp_path: Path) -> None:
    run = folder(tmp_path)
    assert write_report(run).read_bytes() == write_report(run).read_bytes()


def test_hardest_and_easiest_tasks_are_listed_once(tmp_path: Path) -> None:
    run = folder(tmp_path, steps=0)
    write(run, *[rollout(float(number >= 15), "a", task_id=f"task-{number:02}") for number in range(30)])
    words = Page(write_report(run).read_text()).words
    assert "hardest" in words and "easiest" in words
    assert [words.count(f"task-{number:02}") for number in (0, 7, 8, 21, 22, 29)] == [1, 1, 0, 0, 1, 1]


def test_a_hostile_text_in_every_place_is_only_text(tmp_path: Path) -> None:
    run = folder(tmp_path)
    write(
        run,
        rollout(0.2, HOSTILE, step=8, task_id=HOSTILE, end=HOSTILE, faults=(HOSTILE,), trajectory=hostile(HOSTILE)),
    )
    text = write_report(run).read_text()
    Page(text).check()
    assert "<script" not in text and "onerror='" not in text and "\x1b" not in text and "\x00" not in text
    assert text.count("&lt;script&gt;alert(1)") >= 10


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(alphabet=st.sampled_from("<>&\"'/=! -scriptonagxl\n\r\x85\u2028\x0c;#`"), max_size=60))
def test_no_text_becomes_markup(tmp_path: Path, text: str) -> None:
    run = RunFolder(tmp_path)
    run.save_state(RunState(reason=text))
    run.settings.write_text(json.dumps({text: text, "preset": {"name": text}}))
    shutil.rmtree(run.rollouts, ignore_errors=True)
    write(run, rollout(0.2, "a", task_id=text, end=text, faults=(text,), trajectory=hostile(text)))
    Page(write_report(run).read_text()).check()


@settings(
    max_examples=5,
    deadline=None,
    phases=[Phase.generate],  # drawing takes too long to look for a smaller example
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(st.dictionaries(st.sampled_from(sorted(VERL)), st.floats() | st.none()), min_size=1, max_size=4))
def test_no_figures_break_the_page(tmp_path: Path, measured: list[dict[str, Any]]) -> None:
    run = RunFolder(tmp_path)
    run.save_state(RunState())
    run.metrics.write_text("")
    for step, verl in enumerate(measured):
        append_line(run, {"step": step, **step_metrics(verl, [rollout(0.5)])})
    Page(write_report(run).read_text()).check()


def test_many_steps_are_drawn_too(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.save_state(RunState(step=90, steps=90))
    for step in range(90):
        append_line(run, {"step": step, **step_metrics(VERL | {"actor/entropy": 1 / (1 + step)}, [rollout(0.5)])})
    page = Page(write_report(run).read_text())
    page.check()
    assert "generation" in page.words and run.report.stat().st_size < 1_000_000


def test_the_table_holds_every_rollout_with_its_trajectory(tmp_path: Path) -> None:
    run = folder(tmp_path)
    odd = rollout(0.25, "c", faults=("lost",), logprob=-0.5, trajectory=hostile("line\u2028separator\x85"))
    write(run, odd, rollout(0.0, "c", sample=1, parts={"valid": 0.0}), name="zz")
    rows = pq.read_table(rollouts_table(run)).to_pylist()
    assert len(rows) == 11 and [row["reward"] for row in rows[:3]] == [1.0, 0.0, 0.5]
    assert from_row(rows[-2]["trajectory"]) == odd.trajectory
    assert (rows[-2]["faults"], rows[-2]["logprob"], rows[-2]["seconds_model"]) == (["lost"], -0.5, 6.0)
    assert rows[-1]["trajectory"] is None and rows[-1]["reward_valid"] == 0.0
    assert not list(tmp_path.glob(".*part"))


def test_a_line_that_is_not_whole_is_left_out(tmp_path: Path) -> None:
    run = folder(tmp_path)
    with open(run.rollouts / "worker.jsonl", "a") as lines:
        lines.write('{"step": 4, "spl\n')
    write(run, rollout(1.0, "z", step=4))
    assert [one.step for one in read_rollouts(run)] == [1, 1, 1, 2, 2, 2, 3, 3, 3, 4]


@pytest.mark.slow
def test_a_browser_shows_it_without_running_anything(tmp_path: Path) -> None:
    chromium = shutil.which("chromium")
    if not chromium:
        pytest.skip("no chromium here")
    run = folder(tmp_path)
    write(run, rollout(0.2, step=8, trajectory=hostile("</pre><script>document.title='run'</script>")))
    command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'browser'}"]
    done = subprocess.run(
        [*command, "--dump-dom", write_report(run).as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    assert "<title>smoke &lt;i&gt;cpu&lt;/i&gt;</title>" in done.stdout and done.stdout.count("<svg") >= 8
