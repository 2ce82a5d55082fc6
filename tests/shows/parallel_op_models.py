"""Public models from their packages, untouched, with and without MIRROR_PARALLEL_OP=1.

python -m tests.shows.parallel_op_models [NAMES ...] [--long] [--dlrm PATH]

Each model is trained and evaluated by the plain script public_models.py in fresh processes on one thread, with random
data of a fixed seed: every number that it prints must be the same, and nothing may be said on stderr that is not said
without. The table has seconds of the processor and of the wall clock of all steps: of a short run (100 steps of
training, 50 of inference) and, with --long, of 2,000 and 1,000. The packages are installed into a temporary folder.
NAMES choose the models whose names contain one of them. --dlrm runs dlrm_s_pytorch.py, which is on no registry, from
there (https://github.com/facebookresearch/dlrm); what it imports has to be installed.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.shows.tables import table

SHORT, LONG = 100, 2_000
SCRIPT = Path(__file__).with_name("public_models.py")
ROOT = Path(__file__).resolve().parents[2]
# Without their dependencies, which would bring another torch.
PACKAGES = (
    "deepctr-torch==0.3.0",
    "torch-rechub==0.9.0",
    "scikit-learn==1.9.1", "joblib==1.6.0", "threadpoolctl==3.8.0", "tqdm==4.70.1",
    "transformers==5.24.0", "huggingface_hub==2.4.0", "tokenizers==0.23.3", "safetensors==0.8.0", "regex==2026.11.19",
    "torchrec==1.8.0", "fbgemm-gpu-cpu==1.8.0", "tensordict==0.15.3", "pyvers", "torchmetrics==1.0.3",
    "lightning-utilities==0.15.3", "pyre-extensions==0.0.32", "typing-inspect==0.9.0", "orjson==3.13.0",
    "cloudpickle==3.1.3", "importlib_metadata==10.2.0",
)  # fmt: skip
# Of DLRM's script: how long its steps took, which no two runs share.
_TIMES = re.compile(r"[0-9.]+ ms/it|^seconds .*$", re.MULTILINE)
# Of torch's logs: day, time and process.
_STAMPS = re.compile(r"^([IWE])\d{4} [0-9:.]+ \d+ ", re.MULTILINE)


@dataclass(frozen=True)
class Ran:
    """One process. seconds: of the processor and of the wall clock."""

    printed: str
    said: str
    seconds: tuple[float, float]
    failed: bool


def install(folder: str) -> None:
    """The packages, into a folder of their own. Raises CalledProcessError."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, *PACKAGES]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def ran(command: Sequence[str], packages: str, **variables: str) -> Ran:
    """The command in a fresh process with these variables of Parallel OP and no others, and no choices kept."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MIRROR_PARALLEL_OP")}
    with tempfile.TemporaryDirectory() as choices:
        paths = os.pathsep.join([str(ROOT), packages])
        environment |= {"PYTHONPATH": paths, "MIRROR_PARALLEL_OP_CACHE": choices, "OMP_NUM_THREADS": "1"}
        before, start = os.times(), time.perf_counter()
        done = subprocess.run(
            command, cwd=choices, env=environment | variables, capture_output=True, text=True, check=False
        )
        wall, after = time.perf_counter() - start, os.times()
    found = re.search(r"^seconds ([0-9.]+) ([0-9.]+)$", done.stdout, re.MULTILINE)
    whole = (after.children_user + after.children_system - before.children_user - before.children_system, wall)
    seconds = (float(found[1]), float(found[2])) if found else whole
    return Ran(_TIMES.sub("", done.stdout), _STAMPS.sub(r"\1 ", done.stderr), seconds, done.returncode != 0)


def command_of(name: str, steps: int, dlrm: str | None) -> list[str]:
    if name != "dlrm":
        return [sys.executable, str(SCRIPT), name, str(steps)]
    rows = "-".join(["1000"] * 26)
    shape = (
        f"--arch-sparse-feature-size=16 --arch-embedding-size={rows} --arch-mlp-bot=13-64-16 --arch-mlp-top=367-64-1"
    )
    run = f"--mini-batch-size=128 --num-indices-per-lookup=10 --num-batches={steps} --print-freq={steps // 20}"
    return [sys.executable, str(dlrm), *shape.split(), *run.split(), "--data-generation=random"]


def told(report: str) -> str:
    """What a report of one model says, in a cell of a table."""
    lines = [line.strip().removeprefix("Parallel OP, ") for line in report.splitlines()]
    return "<br>".join(lines[:8]).replace("|", "/") or "nothing"


def row(name: str, runs: Sequence[int], packages: str, dlrm: str | None) -> tuple[list[str], str]:
    """A line of the table, and what was wrong; empty where nothing was."""
    cells, wrong = [name], ""
    for steps in runs:
        command = command_of(name, steps, dlrm)
        before = ran(command, packages, MIRROR_PARALLEL_OP="0")
        if before.failed:
            last = (before.said.strip().splitlines() or ["it failed"])[-1]
            return [name, f"does not run here: {last[:150]}"], ""
        after = ran(command, packages, MIRROR_PARALLEL_OP="1")
        if after.failed:
            wrong = f"it failed: {(after.said.strip().splitlines() or ['it said nothing'])[-1][:1000]}"
        elif after.printed != before.printed:
            wrong = "it printed other numbers"
        elif after.said != before.said:
            wrong = f"it said on stderr: {after.said[:1000]}"
        for place in range(2):
            ratio = before.seconds[place] / after.seconds[place]
            cells.append(f"{before.seconds[place]:.2f} -> {after.seconds[place]:.2f} ({ratio:.2f}x)")
    report = ran(command_of(name, runs[-1], dlrm), packages, MIRROR_PARALLEL_OP="1", MIRROR_PARALLEL_OP_REPORT="1")
    if report.failed:
        wrong = wrong or "it failed where a report was asked for"
    return [*cells, wrong or "yes", told(report.said[len(before.said) :])], wrong


def main() -> None:
    """Prints the table; exits with 1 where a model printed anything else."""
    parser = argparse.ArgumentParser(prog="python -m tests.shows.parallel_op_models")
    parser.add_argument("names", nargs="*", help="parts of names of models; all if none is given")
    parser.add_argument("--long", action="store_true", help=f"also {LONG} steps")
    parser.add_argument("--dlrm", metavar="PATH", help="dlrm_s_pytorch.py")
    parser.add_argument("--packages", metavar="FOLDER", help="where the packages are or are to be, instead of anew")
    given = parser.parse_args()
    if given.dlrm and not Path(given.dlrm).is_file():
        parser.error(f"there is no file {given.dlrm}")
    listed = subprocess.run([sys.executable, SCRIPT, "--list"], capture_output=True, text=True, check=True)
    names = [*listed.stdout.splitlines(), *(["dlrm"] if given.dlrm else [])]
    wanted = [name for name in names if not given.names or any(part.lower() in name.lower() for part in given.names)]
    if not wanted:
        parser.error(f"no model is named so; there are: {', '.join(names)}")
    runs = [SHORT, LONG] if given.long else [SHORT]
    with tempfile.TemporaryDirectory() as temporary:
        packages = str(Path(given.packages or temporary).resolve())
        if not given.packages or not Path(packages).exists():
            install(packages)
        lines, wrong = [], []
        for name in wanted:
            line, what = row(name, runs, packages, given.dlrm and str(Path(given.dlrm).resolve()))
            lines.append(line)
            wrong += [f"{name}: {what}"] if what else []
            print(" | ".join(line), file=sys.stderr, flush=True)
    head = [f"{what}, {steps} steps, s" for steps in runs for what in ("processor", "wall")]
    table(["model", *head, "the same numbers", "what it became"], lines)
    for problem in wrong:
        print(problem)
    sys.exit(int(bool(wrong)))


if __name__ == "__main__":
    main()
