"""An engine to try things out on: results, journal and lock in a folder of the test, and a benchmark without torch."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench_engine import registry
from bench_engine.machine import machine
from bench_engine.sweep import sweep
from bench_engine.sweep.sweep import Sweep
from db import installation
from db.installation import ROOT
from db.store import Store

FAKES = Path(__file__).parent / "fake_engine"
sys.path.append(str(FAKES))

import fake_benchmark  # noqa: E402

# A shell gives its background jobs an ignored Ctrl-C, and children inherit that: tests of Ctrl-C need the usual one.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Kernels of Triton run in its interpreter where there is no GPU; it decides when it is imported first, by whoever.
if not Path("/dev/nvidiactl").exists():
    os.environ.setdefault("TRITON_INTERPRET", "1")

# No test may learn from choices for the person who runs it; those that are about learning say where.
os.environ["MIRROR_LEARNT"] = "0"
# Nor follow what that person has set.
os.environ["MIRROR_SETTINGS"] = str(FAKES / "no-settings.json")
for name in ("MIRROR_LLM_BASE_URL", "MIRROR_LLM_MODEL", "OPENAI_API_KEY", "MIRROR_PASSWORD", "MIRROR_READER_PASSWORD"):
    os.environ.pop(name, None)


@pytest.fixture(autouse=True)
def main_module() -> Iterator[None]:
    """Pages that are tried out become the main module, which a process that is spawned later would run."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main


@dataclass(frozen=True)
class Engine:
    """The engine of one test."""

    folder: Path

    @property
    def url(self) -> str:
        return str(self.folder / "x.duckdb")

    @property
    def journal(self) -> Path:
        return self.folder / "x.journal"

    def entries(self) -> list[str]:
        """Names of the journal's entries: `<identity>-<attempt>.<status>.json`."""
        return sorted(path.name for path in self.journal.glob("*.json"))

    def stored(self) -> list[dict]:
        return Store(self.url).rows("SELECT * FROM trials ORDER BY started_at, trial_id")

    def sweep(self, *deeds: str, **more: object) -> Sweep:
        """A sweep of the fake benchmark that does these deeds."""
        return sweep.parse(self.text(*deeds, **more), "fakes")

    @staticmethod
    def text(*deeds: str, **more: object) -> str:
        lines = ["# What do fakes do?", "benchmark: fake", "methods: [fake]", "parameters:"]
        lines.append(f"  pooling_mode: {{values: [{', '.join(deeds or ('ok',))}]}}")
        lines += [f"  {axis}: {{values: {values}}}" for axis, values in more.items() if isinstance(values, list)]
        lines += [f"{key}: {value}" for key, value in more.items() if not isinstance(value, list)]
        return "\n".join(lines) + "\n"

    def file(self, *deeds: str, **more: object) -> Path:
        path = self.folder / "fakes.yaml"
        path.write_text(self.text(*deeds, **more))
        return path

    def start(self, *arguments: object) -> subprocess.Popen[str]:
        """The command line in a process of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "bench_engine", *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
        )

    def command(self, *arguments: object, given: str = "") -> subprocess.CompletedProcess[str]:
        process = subprocess.run(
            [sys.executable, "-m", "bench_engine", *map(str, arguments)],
            input=given,
            capture_output=True,
            text=True,
            cwd=self.folder,
            timeout=60,
            check=False,
        )
        assert "Traceback" not in process.stderr
        return process


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """The engine with the fake benchmark, here and in every process that is started."""
    for method in fake_benchmark.METHODS:
        monkeypatch.setitem(registry.METHODS, method.name, method)
    monkeypatch.setitem(registry.BENCHMARKS, "fake", fake_benchmark.BENCHMARK)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(FAKES), str(ROOT))))
    monkeypatch.setenv("MIRROR_DB", str(tmp_path / "x.duckdb"))
    monkeypatch.setenv("MIRROR_LOCK", str(tmp_path / "lock"))
    monkeypatch.setenv("MIRROR_MACHINE", "test machine")
    monkeypatch.delenv("MIRROR_JOURNAL", raising=False)
    monkeypatch.setattr(machine, "warnings", list)  # what is said must not depend on the load of the moment
    return Engine(tmp_path)


@pytest.fixture
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of example results in place of the one that comes with the code; in this process only."""
    folder = tmp_path / "db" / "examples"
    folder.mkdir(parents=True)
    monkeypatch.setattr(installation, "ROOT", tmp_path)
    return folder
