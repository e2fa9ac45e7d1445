"""`make train-smoke`: a real run of GRPO on a processor. Two steps, a checkpoint, then on to the third; what must hold is checked.

    python -m tests.trainer.smoke [PRESET]     # smoke-cpu; or smoke-ppo-cpu, smoke-dppo-cpu: the same in short form

Real verl, vLLM and Ray, a real model of 135M parameters, real sandboxes and tests. Exit code 1 and a line where something does not hold.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from trainer.processes import descendants
from trainer.run import RunFolder, Status, read_lines
from trainer.serve import checkpoint_folder, served_name

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "build" / "models" / "smollm2-135m"
RECIPE = """name: smoke
seed: 23
count: 16
families: [ladder]
per_family: 16
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


def smoke(preset: str, folder: Path) -> RunFolder:
    """Train, and go on from a checkpoint."""
    (folder / "smoke.yaml").write_text(RECIPE)
    os.environ["DAGSTER_HOME"] = str(folder)
    termforge("build", "--recipe", str(folder / "smoke.yaml"), "--to", str(folder))
    run = RunFolder(folder / "run")
    words = ("train", preset, "--data", str(folder / "smoke"), "--model", str(MODEL), "--to", str(run.path))
    termforge(*words, "--set", "steps=2")
    first = served_name(checkpoint_folder(run))
    must(first != served_name(MODEL), "the weights are those that it began with")
    termforge(*words, "--set", "steps=3", "--resume")
    must(served_name(checkpoint_folder(run)) != first, "the weights did not change after the resume")
    return run


def check(run: RunFolder, preset: str) -> list[dict[str, Any]]:
    """What must hold of the steps."""
    lines = [line for line in read_lines(run.metrics) if "time/step" in line]
    must(run.state().status is Status.FINISHED, f"the run is {run.state().status}: {run.state().reason}")
    must([line["step"] for line in lines] == [1, 2, 3], f"its steps are {[line['step'] for line in lines]}")
    norms = [line["actor/grad_norm"] for line in lines]
    must(all(math.isfinite(norm) for norm in norms) and max(norms) > 0, f"norms of the gradient are {norms}")
    correlations = [line["actor/correlation"] for line in lines if "actor/correlation" in line]
    must(len(correlations) == 3 and min(correlations) > 0.99, f"correlations of probabilities are {correlations}")
    must(any(line["reward/std"] > 0 for line in lines), "all rewards are the same")
    must(all(line["invalid_share"] == 0 for line in lines), "infrastructure spoilt rollouts")
    must(run.report.exists() and run.rollouts_table.exists(), "there is no report")
    return lines


def nothing_left(before: set[int]) -> None:
    """No process and no folder of Ray."""
    left = [process for process in descendants(os.getpid()) if process.pid not in before]
    must(not left, f"processes are left: {left}")
    ray = subprocess.run(["pgrep", "-f", "raylet|gcs_server|VLLM::|ray::"], capture_output=True, text=True, check=False)
    must(not ray.stdout.strip(), f"processes of Ray are left: {ray.stdout}")
    must(not list(Path("/tmp").glob("tf-*-*")), "a folder of Ray is left")


def main() -> int:
    """Run it in a temporary folder."""
    preset, began = (sys.argv[1:] or ["smoke-cpu"])[0], time.monotonic()
    before = {process.pid for process in descendants(os.getpid())}
    with tempfile.TemporaryDirectory() as folder:
        try:
            lines = check(smoke(preset, Path(folder)), preset)
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
        f" correlation at least {min(line['actor/correlation'] for line in lines):.4f},"
        f" outside model and sync {sum(shares) / len(shares):.1%} of a step"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
