"""The compiler's Triton kernels on a GPU: checked against float64, and measured beside eager and Inductor in turns.

    python -m tests.shows.triton_operators [--limit 150] [--out FOLDER] [--workers 8] [--device cuda|cpu]

Worker processes first check every operator in several shapes and compile what will be measured; then this process
measures, alone on the GPU. `GPU` times are of calls recorded in a CUDA graph, `call` times of calls from Python, the
host included; both are medians of rounds in which all take turns. Ratios are rival / gir, with an interval for the
median that holds in 19 of 20 cases. FOLDER/triton.json has everything. It ends within the limit of seconds, with what
it has until then. `--device cpu` runs the kernels in Triton's interpreter, in tiny sizes, to try the script out.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

BEGIN = time.monotonic()
ROOT = Path(__file__).parents[2]
ROWS = {"cuda": (4096, 32768, 512), "cpu": (64,)}  # of a softmax: sizes of all operators; what matters most first
SHAPES = {"cuda": ((37, 45), (129, 1000), (5, 1), (1000, 64)), "cpu": ((5, 7),)}  # of the operators checked
BLOCKS = {"cuda": ((1024, 4, True), (512, 4, False)), "cpu": ((64, 4, True), (16, 4, False))}
TOLERANCE = 2e-5


def environment(folder: Path, device: str) -> None:
    """Caches of this run's own, set before anything is imported that reads them."""
    os.environ.setdefault("TRITON_CACHE_DIR", str(folder / "triton"))
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(folder / "inductor"))
    os.environ.setdefault("MIRROR_CACHE_DIR", str(folder / "mirror"))
    if device == "cpu":
        os.environ["TRITON_INTERPRET"] = "1"
    sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "kernels" / "gir")]


def prepare(device: str) -> None:
    """Shorter tuning, and on the CPU the interpreter in place of C++."""
    from bench_engine.kernels.gir.backend import tuning
    from bench_engine.kernels.gir.gpu.triton_calls import Triton
    from bench_engine.kernels.gir.region import BACKENDS

    tuning.BUDGET_S = 0.1
    if device == "cpu":
        interpreted = Triton()
        interpreted.device = "cpu"
        BACKENDS["cpu"] = interpreted
        tuning.MEASURED, tuning.BUDGET_S = 2, 0.01


def guarded(record: dict[str, Any], what: Callable[[], Any]) -> Any:
    """What a step gives; its error goes into the record."""
    try:
        return what()
    except Exception as error:
        lines = traceback.format_exc().splitlines()
        record.setdefault("errors", []).append(
            f"{type(error).__name__}: {str(error)[:600]} | {' '.join(lines[-3:])[:400]}"
        )
        return None


def left(limit: float) -> float:
    """Seconds until the limit."""
    return limit - (time.monotonic() - BEGIN)


def check(name: str, rows: int, columns: int, way: str, blocks: tuple[int, int, bool], device: str) -> dict[str, Any]:
    """One operator in one shape against float64."""
    from generated import compare, in_blocks
    from gir_operators import operators

    from bench_engine.kernels.gir.gpu.blocks import Blocks
    from bench_engine.kernels.gir.program.rewrites import online, optimize, recompute

    changes: dict[str, Callable] = {
        "stored": optimize,
        "online": lambda kernel: optimize(optimize(optimize(optimize(kernel), (recompute,)), (online,))),
    }
    record: dict[str, Any] = {"operator": name, "shape": [rows, columns], "way": way, "blocks": blocks}

    def one() -> bool:
        fn, inputs = operators(rows, columns)[name]
        inputs = [t.to(device) for t in inputs]
        case = in_blocks(fn, inputs, Blocks(*blocks), changes[way])
        assert case.call is not None
        result = case.call(*inputs)
        synchronize(device)
        compare(result, fn, inputs, TOLERANCE)
        return True

    record["fine"] = bool(guarded(record, one))
    return record


def synchronize(device: str) -> None:
    import torch

    if device == "cuda":
        torch.cuda.synchronize()


def measured(device: str) -> list[tuple[int, str]]:
    """What is measured: rows and operator, in the order of measuring."""
    from bench_engine.methods.operators.memory_operators import OPERATORS

    return [(rows, name) for rows in ROWS[device] for name in OPERATORS]


def given(rows: int, name: str, device: str) -> tuple[Callable, list[Any]]:
    """An operator and its inputs, made on the device."""
    import torch

    from bench_engine.methods.operators.memory_operators import OPERATORS

    with torch.device(device):
        return OPERATORS[name].call, OPERATORS[name].make(rows // 64)


Step = Callable[[], dict[str, Any]]


def steps(asked: argparse.Namespace) -> list[Step]:
    """What a child process does: the one that measures, or one of those that compile and check a share."""
    from gir_operators import operators

    device, todo = asked.device, measured(asked.device)
    if asked.child == "measure":
        inductor = not asked.without_inductor and device == "cuda"
        return [lambda rows=rows, name=name: measure_one(rows, name, device, inductor) for rows, name in todo]
    own = int(asked.child)
    names = list(dict.fromkeys(name for _, name in todo))[own :: asked.workers]
    warmed: list[Step] = [
        lambda rows=rows, name=name: warm(rows, name, device)
        for rows, name in todo
        if name in names and device == "cuda"
    ]
    ways = list(zip(("stored", "online"), BLOCKS[device], strict=True))
    checks: list[Step] = [
        lambda name=name, shape=shape, way=way, blocks=blocks: check(name, *shape, way, blocks, device)
        for name in list(operators(5, 7))[own :: asked.workers] for shape in SHAPES[device] for way, blocks in ways
    ]  # fmt: skip
    return warmed + checks


def child(asked: argparse.Namespace) -> None:
    """Does its steps after those that were begun before; ends with 3 where an error has broken the GPU's context."""
    prepare(asked.device)
    with (Path(asked.out) / f"child_{asked.child}.jsonl").open("a") as file:
        for number, step in enumerate(steps(asked)):
            if number < asked.skip or left(asked.limit) < 0:
                continue
            print(json.dumps({"begin": number}), file=file, flush=True)
            record: dict[str, Any] = {}
            record = guarded(record, step) or record
            print(json.dumps({**record, "step": number}), file=file, flush=True)
            if asked.child == "measure":
                print(line(record), flush=True)
            if record.get("errors"):
                try:
                    synchronize(asked.device)
                except Exception:
                    os._exit(3)
    os._exit(0)  # nothing waits for threads of compilers


def warm(rows: int, name: str, device: str) -> dict[str, Any]:
    """Compiles what will be measured."""
    import torch

    from bench_engine.kernels import gir

    fn, inputs = given(rows, name, device)
    with torch.no_grad():
        gir.compile(fn, inputs)
        torch._dynamo.reset()
        torch.compile(fn, dynamic=False)(*inputs)
    synchronize(device)
    return {"warmed": name, "rows": rows, "s": round(time.monotonic() - BEGIN, 1)}


def measure_one(rows: int, name: str, device: str, with_inductor: bool) -> dict[str, Any]:
    """One operator in one size."""
    record: dict[str, Any] = {"operator": name, "rows": rows, "decisions": []}
    guarded(record, lambda: _measured_one(record, device, with_inductor))
    return record


def _measured_one(record: dict[str, Any], device: str, with_inductor: bool) -> None:
    import torch

    from bench_engine.kernels import gir
    from bench_engine.methods.operators.memory_operators import OPERATORS
    from tests.shows.on_gpu import graph_of, summary, turns

    fn, inputs = given(record["rows"], record["operator"], device)
    with torch.no_grad():
        begin = time.monotonic()
        compiled = gir.compile(fn, inputs)
        record["gir_compile_s"] = round(time.monotonic() - begin, 2)
        regions = [region for graph in compiled.graphs.values() for region in graph.regions.values()]
        record["left"] = [line for graph in compiled.graphs.values() for line in graph.left]
        record["decisions"] = [
            {"winner": d.winner, "reason": d.reason, "original_us": d.original_us, "tried": d.tried,
             "wrong": d.wrong}
            for region in regions for d in region.decisions.values()
        ]  # fmt: skip
        calls: dict[str, Callable[[], Any]] = {"eager": lambda: fn(*inputs), "gir": lambda: compiled(*inputs)}
        if with_inductor:
            torch._dynamo.reset()
            begin = time.monotonic()
            inductor = torch.compile(fn, dynamic=False)
            if guarded(record, lambda: (inductor(*inputs), True)):
                calls["inductor"] = lambda: inductor(*inputs)
            record["inductor_compile_s"] = round(time.monotonic() - begin, 2)
        exact = fn(*(t.double() if t.is_floating_point() else t for t in inputs)).float()
        for who, call in calls.items():
            scale = max(float(exact.abs().max()), 1.0)
            record[f"{who}_error"] = float((call() - exact).abs().max()) / scale
        record["fine"] = record["gir_error"] <= TOLERANCE
        record["bytes"] = OPERATORS[record["operator"]].bytes_moved(inputs, fn(*inputs))
        synchronize(device)
        budget = 0.35 if device == "cuda" else 0.01
        record["call"] = guarded(record, lambda: summary(turns(calls, device, 1, budget), "gir"))
        if device == "cuda":
            graphs = {who: guarded(record, lambda call=call: graph_of(call, 5)) for who, call in calls.items()}
            graphs = {who: graph for who, graph in graphs.items() if graph}
            if "gir" in graphs:
                record["gpu"] = guarded(record, lambda: summary(turns(graphs, device, 5, budget), "gir"))
                if record["gpu"]:
                    record["gb_per_s"] = round(record["bytes"] / record["gpu"]["gir_us"] / 1e3, 1)


def line(record: dict[str, Any]) -> str:
    """One line for one operator in one size."""
    text = f"{record.get('operator', '?'):18}{record.get('rows', 0):>6}"
    if not record.get("call"):
        return f"{text} failed: {record.get('errors', ['no time left'])[0][:200]}"
    for kind in ("gpu", "call"):
        said = record.get(kind) or {}
        text += f" | {kind}"
        for who in ("eager", "inductor", "gir"):
            text += f"{said[f'{who}_us']:9.1f}" if f"{who}_us" in said else f"{'-':>9}"
        for who in ("eager", "inductor"):
            ratio = said.get(f"{who}_ratio")
            text += f" {ratio[0]:5.2f} [{ratio[1]:.2f} {ratio[2]:.2f}]" if ratio else f" {'-':>5}"
    winners = "; ".join(str(d["winner"] or d["reason"]) for d in record["decisions"])
    return f"{text} | {'fine' if record['fine'] else 'WRONG'} | {winners or 'nothing compiled'}"


def about(device: str) -> dict[str, Any]:
    import torch
    import triton

    said: dict[str, Any] = {"torch": torch.__version__, "triton": triton.__version__, "device": device}
    if device == "cuda":
        from bench_engine.kernels.gir.gpu.gpu_cost import gpu

        said |= {"gpu": torch.cuda.get_device_name(), "cuda": torch.version.cuda, "copy": str(gpu())}
    return said


class Child:
    """A process that does steps, started again where it breaks or hangs."""

    def __init__(self, name: str, asked: argparse.Namespace, seconds: float, patience: float) -> None:
        self.name, self.asked, self.patience = name, asked, patience
        self.until = time.monotonic() + seconds
        self.file = Path(asked.out) / f"child_{name}.jsonl"
        self.folder = Path(os.environ["MIRROR_CACHE_DIR"])
        if name != "measure":  # decisions are made anew by the process that measures alone
            own = self.folder.with_name(f"mirror{name}")
            subprocess.run(["cp", "-r", str(self.folder), str(own)], check=False, stderr=subprocess.DEVNULL)
            self.folder = own
        self.process = self.started()

    def started(self) -> subprocess.Popen:
        """The process, from the step after the last one that was begun."""
        self.seen, self.since = self.begun(), time.monotonic()
        command = [
            sys.executable, __file__, "--device", self.asked.device, "--out", self.asked.out, "--child", self.name,
            "--workers", str(self.asked.workers), "--limit", str(self.until - time.monotonic() - 1),
            "--skip", str(self.seen), *(["--without-inductor"] if self.asked.without_inductor else []),
        ]  # fmt: skip
        own = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
            "MIRROR_CACHE_DIR": str(self.folder),
        }
        log = None if self.name == "measure" else self.file.with_suffix(".log").open("a")
        return subprocess.Popen(command, stdout=log, stderr=log or subprocess.DEVNULL, cwd=ROOT, env=own)

    def begun(self) -> int:
        """Steps that were begun."""
        return self.file.read_text().count('"begin"') if self.file.exists() else 0

    def goes_on(self) -> bool:
        """Looks after it; false when it is done or its time is over."""
        now, begun = time.monotonic(), self.begun()
        if begun != self.seen:
            self.seen, self.since = begun, now
        code = self.process.poll()
        hangs = code is None and now - self.since > self.patience
        if now > self.until or hangs:
            self.process.kill()
            self.process.wait()
            code = -1
        if code is not None and code != 0 and now < self.until - 12 and (begun or now - BEGIN < 30):
            self.process = self.started()
            return True
        return code is None

    def records(self) -> list[dict[str, Any]]:
        """What it has said."""
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        return [json.loads(text) for text in lines if '"step"' in text and text.endswith("}")]


def look_after(children: list[Child]) -> list[dict[str, Any]]:
    """Waits until all are done or their time is over; what they have said."""
    while any([each.goes_on() for each in children]):  # noqa: C419 every one is to be looked after
        time.sleep(0.2)
    return [record for each in children for record in each.records()]


def main() -> None:
    """Checks, measures and prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--limit", type=float, default=150)
    parser.add_argument("--out", default=os.environ.get("OUT") or tempfile.mkdtemp())
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--workers", type=int, default=min(8, max(1, (os.cpu_count() or 2) // 2)))
    parser.add_argument("--child", default="", help=argparse.SUPPRESS)
    parser.add_argument("--skip", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--without-inductor", action="store_true")
    asked = parser.parse_args()
    Path(asked.out).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        environment(Path(folder), asked.device)
        if asked.child:
            child(asked)
        run(asked)


def run(asked: argparse.Namespace) -> None:
    """What the first process does."""
    out, result = Path(asked.out), dict[str, Any]()
    for old in out.glob("child_*"):
        old.unlink()
    result["about"] = guarded(result, lambda: about(asked.device))
    print(result["about"] or result["errors"], flush=True)
    seconds = asked.limit * (0.42 if asked.device == "cuda" else 0.6) - (time.monotonic() - BEGIN)
    said = look_after([Child(str(n), asked, seconds, 45) for n in range(asked.workers)])
    result["checks"] = checks = [record for record in said if "fine" in record]
    result["warmed"] = [record for record in said if "fine" not in record]
    for name in dict.fromkeys(record["operator"] for record in checks):
        own = [record for record in checks if record["operator"] == name]
        bad = [f"{r['shape']} {r['way']}: {r.get('errors', ['?'])[0][:160]}" for r in own if not r["fine"]]
        print(f"check {name:20} {len(own) - len(bad)} of {len(own)} fine {' '.join(bad[:1])}", flush=True)
    print(
        f"{time.monotonic() - BEGIN:.0f} s; µs of eager, inductor, gir, then eager / gir and inductor / gir", flush=True
    )
    result["measured"] = measures = look_after([Child("measure", asked, left(asked.limit) - 4, 40)])
    (out / "triton.json").write_text(json.dumps(result, indent=1))
    for old in out.glob("child_*"):
        old.unlink()
    for kind, who in ((kind, who) for kind in ("gpu", "call") for who in ("eager", "inductor")):
        ratios = [(record.get(kind) or {}).get(f"{who}_ratio", [None])[0] for record in measures]
        known = [ratio for ratio in ratios if ratio]
        if known:
            mean = math.exp(statistics.fmean(map(math.log, known)))
            print(f"{kind}: geometric mean of {who} / gir over {len(known)}: {mean:.3f}")
    print(f"{sum(r['fine'] for r in checks)} of {len(checks)} checks fine, {len(measures)} measured, "
          f"{time.monotonic() - BEGIN:.0f} s")  # fmt: skip
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
