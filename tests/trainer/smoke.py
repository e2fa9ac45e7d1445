"""`make train-smoke`: a real run of GRPO on a processor. Two steps, a checkpoint, then on to the third; what must hold is checked.

    python -m tests.trainer.smoke [PRESET [steps]]     # smoke-cpu; in short form smoke-ppo-cpu 1, smoke-dppo-cpu 1

Real verl, vLLM and Ray, real sandboxes and tests. The model has the first four layers of a real one and was taught the replies of these
tasks until it gives them now and then, so that rewards differ. Exit code 1 and a line where something does not hold.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from agent.styles import open_style
from pipeline.release import load_release
from trainer.launch import training_python
from trainer.presets import load_preset
from trainer.processes import descendants
from trainer.run import RunFolder, Status, read_lines
from trainer.serve import checkpoint_folder, served_name
from trainer.verl.rows import messages

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "build" / "models" / "smollm2-135m"
RECIPE = """name: smoke
seed: 23
count: 8
families: [ladder]
per_family: 8
difficulty: {easy: 100}
splits: {train: 75, validation: 25}
"""


class NotSoError(Exception):
    """Something that must hold does not."""


def must(holds: bool, text: str) -> None:
    """Say so where it does not."""
    if not holds:
        raise NotSoError(text)


def termforge(*words: str) -> None:
    """Run a command, its output shown."""
    done = subprocess.run([sys.executable, "-m", "pipeline.cli", *words], cwd=ROOT, check=False)
    must(done.returncode == 0, f"termforge {words[0]} ended with code {done.returncode}")


def teach(data: Path, preset: str, model: Path) -> None:
    """Make the model: what it is taught are the replies that solve these tasks."""
    style, replies = open_style(load_preset(preset).loop.style), model.with_suffix(".jsonl")
    with replies.open("w") as lines:
        for row in load_release(data):
            reply = f"```bash\n{row['solution'].strip().splitlines()[-1]}\n```"
            lines.write(json.dumps({"messages": messages(style, row["instruction"]), "reply": reply}) + "\n")
    command = [training_python(), str(ROOT / "tests" / "small_model_taught.py"), str(MODEL), str(replies), str(model)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    must(done.returncode == 0, f"no model was made: {done.stdout[-2000:]}")
    print("model:", [line for line in done.stdout.splitlines() if line.startswith("pass")][-1], flush=True)


def smoke(preset: str, steps: int, folder: Path, *more: str) -> RunFolder:
    """Train, with `more` words of the command; where there is more than a step, go on from the last checkpoint but one."""
    (folder / "smoke.yaml").write_text(RECIPE)
    shutil.copy(ROOT / "dagster.yaml", folder)
    os.environ["DAGSTER_HOME"] = str(folder)
    termforge("build", "--recipe", str(folder / "smoke.yaml"), "--to", str(folder))
    model = folder / "model"
    teach(folder / "smoke", preset, model)
    run = RunFolder(folder / "run")
    words = ("train", preset, "--data", str(folder / "smoke"), "--model", str(model), "--to", str(run.path), *more)
    termforge(*words, "--set", f"steps={max(1, steps - 1)}")
    first = served_name(checkpoint_folder(run))
    must(first != served_name(model), "the weights are those that it began with")
    if steps > 1:
        termforge(*words, "--set", f"steps={steps}", "--resume")
        must(served_name(checkpoint_folder(run)) != first, "the weights did not change after the resume")
    return run


def check(run: RunFolder, preset: str, steps: int) -> list[dict[str, Any]]:
    """What must hold of the steps."""
    lines = [line for line in read_lines(run.metrics) if "time/step" in line]
    must(run.state().status is Status.FINISHED, f"the run is {run.state().status}: {run.state().reason}")
    must(
        [line["step"] for line in lines] == [*range(1, steps + 1)], f"its steps are {[line['step'] for line in lines]}"
    )
    norms = [line["actor/grad_norm"] for line in lines]
    must(all(math.isfinite(norm) for norm in norms) and max(norms) > 0, f"norms of the gradient are {norms}")
    if load_preset(preset).old_logprobs == "trainer":
        correlations = [line.get("actor/correlation", 0.0) for line in lines]
        must(min(correlations) > 0.99, f"correlations of probabilities are {correlations}")
    else:  # the trainer's own probabilities are only made in the update
        kls = [line.get("actor/kl", math.inf) for line in lines]
        must(max(map(abs, kls)) < 0.01, f"rollout engine and trainer are apart by {kls} nats a token")
    must(any(line["reward/std"] > 0 for line in lines), "all rewards are the same")
    must(all(line["invalid_share"] == 0 for line in lines), "infrastructure spoilt rollouts")
    must(run.report.exists() and run.rollouts_table.exists(), "there is no report")
    return lines


def nothing_left(before: set[int]) -> None:
    """No process and no folder of Ray."""
    left = [process for process in descendants(os.getpid()) if process.pid not in before]
    must(not left, f"processes are left: {left}")
    ray = [process for process in descendants(1) if re.search("raylet|gcs_server|VLLM::|ray::", process.name)]
    must(not ray, f"processes of Ray are left: {ray}")
    must(not list(Path("/tmp").glob("tf-[0-9]*-*")), "a folder of Ray is left")


def main() -> int:
    """Run it in a temporary folder."""
    preset, steps = [*sys.argv[1:], *("smoke-cpu", "3")[len(sys.argv) - 1 :]]
    began = time.monotonic()
    before = {process.pid for process in descendants(os.getpid())}
    with tempfile.TemporaryDirectory() as folder:
        try:
            lines = check(smoke(preset, int(steps), Path(folder)), preset, int(steps))
            nothing_left(before)
        except NotSoError as error:
            print(f"train-smoke: {error}", file=sys.stderr)
            log = Path(folder, "run", "log.txt")
            if log.exists():
                print("".join(log.read_text(errors="replace").splitlines(keepends=True)[-30:]), file=sys.stderr)
            return 1
    shares = [line.get("time/outside_share", 0.0) for line in lines]
    print(
        f"train-smoke ({preset}): {time.monotonic() - began:.0f} s; rewards {[round(line['reward/mean'], 3) for line in lines]},"
        f" gradients {[round(line['actor/grad_norm'], 3) for line in lines]},"
        f" correlations {[round(line['actor/correlation'], 4) for line in lines if 'actor/correlation' in line]},"
        f" outside model and sync {sum(shares) / len(shares):.1%} of a step"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
