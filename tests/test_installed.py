"""The wheel, and what it gives in an environment that holds nothing else: kernels, commands and the app.

The environment is made once for all tests here: first with what a kernel needs, then with the app. Its kernels are
those that the clone has compiled, whose key says that the wheel holds the same sources; that the first use compiles is
shown with a tiny tree.
"""

import ast
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench_engine.kernels.native import cache, extension

pytestmark = pytest.mark.timeout(900)  # torch is installed
ROOT = Path(__file__).resolve().parent.parent
_NO_REGISTRY = re.compile(
    r"NewConnectionError|NameResolutionError|Name or service not known|ProxyError|from versions: none"
)
_COPIED = ("bench_engine", "csrc", "db", "mirror", "sweeps", ".streamlit")
_FILES = ("LICENSE", "MANIFEST.in", "README.md", "app.py", "pyproject.toml", "requirements.txt", "setup.py")
_NOT_COPIED = shutil.ignore_patterns("__pycache__", "*.duckdb*", "*.journal", "secrets.toml")


def pip(python: str | Path, *words: str | Path) -> None:
    """Runs pip; skips where it cannot reach a registry."""
    command = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", *words]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(list(map(str, command)), env=environment, capture_output=True, text=True, check=False)
    if done.returncode and _NO_REGISTRY.search(done.stderr):
        pytest.skip(f"pip cannot reach a registry: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr[-4000:]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, so that nothing is left in the clone."""
    folder = tmp_path_factory.mktemp("wheel")
    copy = folder / "clone"
    copy.mkdir()
    for name in _COPIED:
        shutil.copytree(ROOT / name, copy / name, ignore=_NOT_COPIED)
    for name in _FILES:
        shutil.copy(ROOT / name, copy / name)
    pip(sys.executable, "wheel", "--no-deps", "--wheel-dir", folder, copy)
    (built,) = folder.glob("*.whl")
    return built


class Installed:
    """An environment, and a user with a home folder of his own who works in another folder."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "venv" / "bin"
        self.home = folder / "home"
        self.elsewhere = folder / "elsewhere"
        for made in (self.home, self.elsewhere):
            made.mkdir()

    def environment(self, **variables: str) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("MIRROR_", "XDG_", "PYTHON", "OPENAI_"))}
        return {**kept, "HOME": str(self.home), "MIRROR_CACHE_DIR": str(cache.folder()), **variables}

    def run(self, *words: str, status: int = 0, **variables: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [str(self.bin / words[0]), *words[1:]],
            cwd=self.elsewhere,
            env=self.environment(**variables),
            capture_output=True,
            text=True,
            check=False,
            timeout=280,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done


@pytest.fixture(scope="module")
def base(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """The wheel with what a kernel needs, in the versions of requirements.txt."""
    extension.build()
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    installed = Installed(folder)
    _install(installed, str(wheel))
    yield installed
    shutil.rmtree(folder / "venv")  # most of two gigabytes


@pytest.fixture(scope="module")
def installed(base: Installed, wheel: Path) -> Installed:
    """The same with the app."""
    _install(base, f"{wheel}[app]")
    return base


def _install(installed: Installed, what: str) -> None:
    pip(installed.bin / "python", "install", "--no-compile", "--constraint", ROOT / "requirements.txt", what)


# -- the wheel -----------------------------------------------------------------------------------------------------


def test_a_wheel_puts_only_our_three_packages_into_an_environment(wheel: Path) -> None:
    tops = {name.partition("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"bench_engine", "mirror", "mirror_db"}
    (names,) = (n for n in zipfile.ZipFile(wheel).namelist() if n.endswith("top_level.txt"))
    assert zipfile.ZipFile(wheel).read(names).decode().split() == ["bench_engine", "mirror", "mirror_db"]


def test_nothing_in_a_wheel_imports_db_and_the_rest_of_each_module_is_as_it_was(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    for name in archive.namelist():
        if not name.endswith(".py"):
            continue
        text = archive.read(name).decode()
        for node in ast.walk(ast.parse(text)):
            modules = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(module.partition(".")[0] == "db" for module in modules), name
        source = ROOT / ("app.py" if name == "mirror/app/app.py" else re.sub("^mirror_db/", "db/", name))
        assert re.sub(r"from mirror_db\b", "from db", text) == source.read_text(), name


def test_all_files_of_the_packages_and_all_sources_and_sweeps_travel(wheel: Path) -> None:
    there = set(zipfile.ZipFile(wheel).namelist())
    listed = subprocess.run(["git", "ls-files", *_COPIED], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this is no git clone")
    moved = {"csrc/": "bench_engine/csrc/", "db/": "mirror_db/", "sweeps/": "mirror_db/sweeps/"}
    moved[".streamlit/"] = "mirror/app/.streamlit/"
    travel = [n for n in listed.stdout.split() if (ROOT / n).exists() and not n.startswith("mirror/language/train/")]
    assert not any("language/train" in name for name in there)  # only clones train
    for name in travel:
        top = name.partition("/")[0] + "/"
        assert moved.get(top, top) + name.removeprefix(top) in there
    assert {"mirror/app/app.py", "bench_engine/requirements.txt"} <= there


# -- with what a kernel needs --------------------------------------------------------------------------------------


def test_a_kernel_needs_torch_and_numpy_alone(base: Installed) -> None:
    script = (
        "import torch\n"
        "from bench_engine.kernels import HashedEmbeddingBag\n"
        "bag = HashedEmbeddingBag(1_000, 16, compression=0.1)\n"
        "bag(torch.randint(0, 1_000, (4, 10))).sum().backward()\n"
        "print(bag.hashed_weight.grad.shape[0])\n"
    )
    done = base.run("python", "-c", script)
    assert done.stdout == "1600\n"
    assert "Compiling" not in done.stderr, "the wheel holds other sources than the clone"


def test_the_first_use_compiles_into_the_users_cache(base: Installed, tmp_path: Path) -> None:
    (tmp_path / "tiny.cpp").write_text('extern "C" int tiny() { return 1; }\n')
    script = (
        "from pathlib import Path\nfrom bench_engine.kernels.native import extension\n"
        f"extension._SOURCES = Path({str(tmp_path)!r})\n"
        "extension.load()\nprint(extension.provenance()['kernels_build'])"
    )
    first = base.run("python", "-c", script, MIRROR_CACHE_DIR="")
    assert first.stderr.count("\n") == 1
    assert first.stderr.startswith("Compiling Mirror's kernels for this machine")
    assert (base.home / ".cache/mirror" / first.stdout.strip() / "mirror_kernels.so").exists()
    again = base.run("python", "-c", script, MIRROR_CACHE_DIR="")
    assert (again.stdout, again.stderr) == (first.stdout, "")


def test_kernels_are_built_ahead_with_torch_and_numpy_alone(base: Installed) -> None:
    assert base.run("mirror", "bench", "build").stdout.startswith("The kernels are built: ")


@pytest.mark.parametrize(
    ("words", "extra"),
    [(("mirror", "ask", "x"), "app"), (("mirror", "app"), "app"), (("mirror", "bench", "list"), "bench")],
)
def test_a_command_that_lacks_an_extra_names_the_line_that_installs_it(
    base: Installed, words: tuple[str, ...], extra: str
) -> None:
    said = base.run(*words, status=1).stderr
    assert f"is not installed: `pip install 'mirror-bench[{extra}]'` brings all that it needs." in said
    assert said.count("\n") == 1


# -- with the app --------------------------------------------------------------------------------------------------


def test_questions_are_answered_from_another_folder(installed: Installed) -> None:
    done = installed.run("mirror", "ask", "memory vs AUC at compression 0.1")
    assert "Read as: " in done.stdout
    assert (installed.home / ".local/share/mirror/mirror.duckdb").exists()
    done = installed.run("mirror", "explain", "memory vs AUC at compression 0.1")
    assert all(part in done.stdout for part in ("Read as: ", '"shape": ', "SELECT "))


def test_the_engine_is_there(installed: Installed) -> None:
    said = installed.run("mirror", "bench", "list").stdout
    assert re.search(r"^sweep +quick ", said, re.MULTILINE)
    assert "not built" not in said
    assert "requirements.txt" not in installed.run("mirror", "doctor").stdout


def test_a_trial_runs(installed: Installed) -> None:
    sweep = "benchmark: lookup\nmethods: [dense, hashed]\nparameters:\n  num_rows: {value: 1000}\n"
    (installed.elsewhere / "one.yaml").write_text(f"# One?\n{sweep}  compression: {{value: 0.1}}\n")
    lock = str(installed.elsewhere / "lock")
    said = installed.run("mirror", "bench", "run", "one.yaml", "--quick", MIRROR_LOCK=lock).stdout
    assert "2 trials have results" in said


def test_the_app_opens(installed: Installed) -> None:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    app = subprocess.Popen(
        [str(installed.bin / "mirror"), "app", "--port", str(port)],
        cwd=installed.elsewhere,
        env=installed.environment(STREAMLIT_SERVER_HEADLESS="true"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert _healthy(f"http://localhost:{port}/_stcore/health", app)
    finally:
        app.terminate()
        app.communicate(timeout=60)
    script = (
        "from streamlit.testing.v1 import AppTest\nfrom mirror_db import installation\n"
        "app = AppTest.from_file(installation.path('app.py'), default_timeout=120).run()\n"
        "print(len(app.exception), len(app.main))"
    )
    exceptions, shown = installed.run("python", "-c", script).stdout.split()
    assert exceptions == "0"
    assert int(shown) > 0


def _healthy(url: str, app: subprocess.Popen[str]) -> bool:
    for _ in range(240):
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return bool(answer.read() == b"ok")
        except OSError:
            assert app.poll() is None, app.stderr and app.stderr.read()
            time.sleep(0.5)
    return False
