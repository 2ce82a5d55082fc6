"""Whole scripts in processes of their own: forks, workers, a second OpenMP runtime, the report."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.kernels.parallel_op.processes import run

pytestmark = pytest.mark.usefixtures("built_kernels")

# 12 tables and 4096 bags: enough for the op to use its threads.
USE = """
import os, sys, torch
from tests.kernels.parallel_op.wide_and_deep import WideAndDeep, ids
torch.set_num_threads(2)
model = WideAndDeep(tables=12, dim=16)
given = ids(4096, tables=12)
def use(times=8):
    with torch.no_grad():
        for _ in range(times):
            torch.testing.assert_close(model(given), model.forward(given))
"""


@pytest.fixture
def script(tmp_path):
    def start(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
        kept = {"MIRROR_PARALLEL_OP_CACHE": str(tmp_path / "cache")}
        return run(USE + code, MIRROR_PARALLEL_OP="1", **kept, **variables)

    return start


def test_fork_and_data_loader_workers_after_use(script):
    done = script("""
class Bags(torch.nn.Module):
    def forward(self, ids):
        return torch.cat([bag(ids[:, t]) for t, bag in enumerate(model.bags)], dim=1)

op = torch.compile(Bags(), backend="parallel_op")
with torch.no_grad():
    expected = [op(given) for _ in range(30)][0]
use()
child = os.fork()
if child == 0:
    with torch.no_grad():
        found = op(given)  # torch's own ops may not run here on two threads: libgomp would hang
        os._exit(7 if torch.equal(found[:9], expected[:9]) else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

class Data(torch.utils.data.Dataset):
    def __len__(self): return 4
    def __getitem__(self, index):  # uses the model in the worker
        with torch.no_grad():
            return model(given[index : index + 1])[0]

loader = torch.utils.data.DataLoader(Data(), batch_size=2, num_workers=2, timeout=60)
torch.testing.assert_close(torch.cat(list(loader)), model.forward(given[:4]).detach())
use()
print("done")
""")
    assert done.stdout.split() == ["7", "done"]


@pytest.mark.parametrize("ours_first", [True, False])
def test_two_openmp_runtimes(script, tmp_path, ours_first):
    """Another library with an OpenMP runtime of its own runs before and after."""
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("no gcc")
    found = subprocess.run([compiler, "-print-file-name=libgomp.so.1"], capture_output=True, text=True, check=True)
    runtime = Path(found.stdout.strip())
    if not runtime.is_absolute():
        pytest.skip("no libgomp beside gcc")
    shutil.copy(runtime.resolve(), tmp_path / "libother.so")
    (tmp_path / "other.c").write_text(
        "int threads(void) { int n = 0;\n#pragma omp parallel num_threads(2) reduction(+:n)\nn += 1; return n; }"
    )
    subprocess.run([compiler, "-shared", "-fPIC", "-fopenmp", "other.c", "-o", "libuser.so"], cwd=tmp_path, check=True)
    load = f"""
import ctypes, os
ctypes.CDLL("{tmp_path}/libother.so", mode=os.RTLD_NOW | os.RTLD_LOCAL)
other = ctypes.CDLL("{tmp_path}/libuser.so", mode=os.RTLD_NOW | os.RTLD_LOCAL | os.RTLD_DEEPBIND)
assert other.threads() == 2
"""
    steps = ("use()\n", load) if ours_first else (load, "use()\n")
    done = script("".join(steps) + 'assert other.threads() == 2\nuse()\nassert other.threads() == 2\nprint("done")')
    assert done.stdout.strip() == "done"


@pytest.mark.parametrize("report", ["1", "2"])
def test_the_report_and_what_a_pickle_holds(script, tmp_path, report):
    done = script(f'use(230)\ntorch.save(model, "{tmp_path}/model.pt")\n', MIRROR_PARALLEL_OP_REPORT=report)
    assert "Parallel OP, WideAndDeep:\n  12 lookups became one op, served to its own forward (bags.0," in done.stderr
    assert ("  no gradients, train, 2 threads, sizes <" in done.stderr) == (report == "2")
    assert "; untouched " in done.stderr
    assert ("Parallel OP, op (T=12 width=192" in done.stderr) == (report == "2")
    assert len(done.stderr.splitlines()) <= (24 if report == "1" else 100)
    assert len(list((tmp_path / "cache").glob("choices-*.txt"))) == 1
    # Loaded without the variable, nothing of ours is needed.
    loaded = run(
        f'import sys, torch; torch.load("{tmp_path}/model.pt", weights_only=False)\n'
        'print("bench_engine.kernels.parallel_op.entry.turns" in sys.modules)'
    )
    assert loaded.stdout.strip() == "False"


def test_nothing_is_said_that_the_script_would_not_say(script):
    """A model that reads numbers out of its tensors, and one that a compiler alone could group."""
    done = script("""
class Reading(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.bags = model.bags
    def forward(self, ids):
        total = 0.0
        for t, bag in enumerate(self.bags):
            total += bag(ids[:, t]).sum().item()
        return torch.tensor(total)

class Shifted(Reading):
    def forward(self, ids):
        return super().forward((ids + 1) % 50)

for kind in (Reading, Shifted):
    reading = kind()
    for length in range(1, 60):
        torch.testing.assert_close(reading(given[:length]), reading.forward(given[:length]))
print("torch._dynamo.convert_frame" in sys.modules)
""")
    assert (done.stdout.strip(), done.stderr) == ("False", "")


def test_a_process_that_forks_while_a_choice_is_open(script):
    """Each goes on with its own; on one thread, since torch's own ops may not run on several after a fork."""
    done = script("""
from bench_engine.kernels.parallel_op.entry import eager
torch.set_num_threads(1)
use(times=9)
assert eager.choices() == []
child = os.fork()
use(times=200)
assert len(eager.choices()) == 1
if child == 0:
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""")
    assert (done.stdout.strip(), done.stderr) == ("7", "")
