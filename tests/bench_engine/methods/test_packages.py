"""Rivals' packages: what is missing is a sentence, and what is installed is exactly what is pinned."""

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from bench_engine.command import cli, cli_parser
from bench_engine.methods import packages as rival_packages
from bench_engine.methods.method import Method
from bench_engine.methods.rivals import LOOKUP_RIVALS, RIVALS
from bench_engine.registry import METHODS
from bench_engine.registry.readiness import SkipReasons
from bench_engine.sweep import sweep
from db.installation import ROOT

PINNED = [m for m in RIVALS if m.packages]
NEEDS = {
    "fbgemm_tbe": "torch 2.13.0 and fbgemm-gpu-cpu 1.8.0",
    "zentorch": "torch 2.13.0 and zentorch 2.13.0.2",
    "onnxruntime": "onnxruntime 1.31.0 and onnx 1.23.2",
    "jax": "jax 0.10.2 and jaxlib 0.10.2",
    "numba": "numba 0.68.1 and llvmlite 0.50.0",
    "fbgemm_int_nbit": "torch 2.13.0 and fbgemm-gpu-cpu 1.8.0",
}
NEEDS |= {f"fbgemm_tbe_{name}": NEEDS["fbgemm_tbe"] for name in ("grouped", "joined")}
NEEDS |= {f"zentorch_{name}": NEEDS["zentorch"] for name in ("compile", "table", "batch", "ccd", "hybrid")}
INSTALL_LINES = {
    name: f"{name} needs {needs}: `python -m bench_engine rivals install {name}` installs it."
    for name, needs in NEEDS.items()
}


@pytest.fixture
def here(monkeypatch, tmp_path):
    """A machine on which only these packages are installed, and no rival in an environment of its own."""
    installed: dict[str, str] = {}
    monkeypatch.setattr(rival_packages, "_version", installed.get)
    monkeypatch.setattr(rival_packages, "_HOME", tmp_path / "rivals")
    return installed


def wheel(folder: Path, name: str, version: str, needs: str = "") -> None:
    """A package of one module, so that pip works without a network."""
    folder.mkdir(exist_ok=True)
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": f"version = {version!r}\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        + (f"Requires-Dist: {needs}\n" if needs else ""),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)


@pytest.fixture
def index(monkeypatch, tmp_path):
    """pip finds packages in this folder only."""
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    monkeypatch.setattr(rival_packages, "_OF_A_WORKER", ())
    (tmp_path / "wheels").mkdir()
    return tmp_path / "wheels"


# -- what is missing -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", INSTALL_LINES)
def test_an_absent_rival_is_skipped_with_the_line_that_installs_it(here, name):
    assert SkipReasons().of(name, {"direction": "forward"}) == INSTALL_LINES[name]


def test_every_rival_with_packages_has_such_a_line():
    assert set(INSTALL_LINES) == {m.name for m in PINNED}


def test_in_a_sweep_the_absent_are_skipped_and_the_others_run(here):
    trials = sweep.expand(sweep.load("rivals"), ["batch_size=64", "embedding_dim=16"])
    reasons = {t.method: t.skip_reason for t in trials}
    assert {name for name, reason in reasons.items() if reason} == {m.name for m in LOOKUP_RIVALS if m.packages}
    assert not any(t.skip_reason for t in trials if t.is_baseline)


def test_the_pinned_version_is_enough_and_its_build_does_not_matter(here):
    here |= {"torch": "2.13.0+cpu", "fbgemm-gpu-cpu": "1.8.0"}
    assert SkipReasons().of("fbgemm_tbe", {}) == ""
    assert METHODS["fbgemm_tbe"].python() == sys.executable


def test_another_version_is_named_and_an_environment_of_its_own_offered(here):
    here |= {"torch": "2.11.0+cu130", "fbgemm-gpu-cpu": "1.8.0"}
    assert SkipReasons().of("fbgemm_tbe", {}) == (
        "fbgemm_tbe needs torch 2.13.0 (2.11.0+cu130 is here): "
        "`python -m bench_engine rivals install --own fbgemm_tbe` gives it an environment of its own."
    )


@pytest.mark.parametrize(
    ("name", "config", "sentence"),
    [
        ("fbgemm_tbe", {"pooling_mode": "max"}, "fbgemm_tbe has no pooling_mode max: it runs sum and mean only."),
        (
            "jax",
            {"pooling_mode": "max", "direction": "forward_backward"},
            "jax has no direction forward_backward: it runs forward only.",
        ),
    ],
)
def test_what_a_rival_cannot_do_is_said_wherever_it_is_installed(here, name, config, sentence):
    assert SkipReasons().of(name, config) == sentence


def test_inductor_without_a_compiler_is_skipped(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CXX", raising=False)
    assert SkipReasons().of("inductor", {}).startswith("inductor compiles what it runs: No C++ compiler was found")


def test_methods_load_without_any_rival_and_without_torch():
    names = ["torch", "numpy", "jax", "jaxlib", "onnxruntime", "onnx", "fbgemm_gpu", "zentorch"]
    code = (
        f"import sys\nfor name in {names}: sys.modules[name] = None\n"
        "from bench_engine.registry.readiness import SkipReasons\nfrom bench_engine.registry import METHODS\n"
        "for name, method in METHODS.items(): SkipReasons().of(name, {}), method.source_hash(), method.python()\n"
        "print(len(METHODS))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == str(len(METHODS)), done.stderr


# -- entries -------------------------------------------------------------------------------------------------------


def test_the_extra_installs_what_is_pinned():
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["rivals"]
    assert set(extra) == {pin for m in PINNED for pin in m.packages} - {"torch==2.13.0"}


def test_all_pins_are_exact_and_another_pin_runs_trials_anew():
    assert all(pin.count("==") == 1 for m in PINNED for pin in m.packages)
    one, other = (Method("m", "", "none:none", packages=(f"jax==0.10.{n}",)) for n in (1, 2))
    assert one.source_hash() != other.source_hash()


def test_a_rival_names_its_own_file_and_the_shared_ones_as_sources():
    for rival in RIVALS:
        assert rival.implementation.partition(":")[0].replace(".", "/") + ".py" in rival.files()
        assert all((ROOT / source).is_file() for source in rival.files())
        assert not rival.compressible


def test_variables_know_the_threads():
    assert METHODS["jax"].environ(3)["NPROC"] == "3"
    assert METHODS["dense"].environ(3) == {}
    assert Method("m", "", "none:none", variables={"A": "{x} {threads}"}).environ(2) == {"A": "{x} 2"}


def test_the_page_on_methods_names_all_of_them_and_how_they_are_installed():
    page = (ROOT / "docs" / "methods.md").read_text()
    for name, method in METHODS.items():
        assert f"`{name}`" in page
        assert all(f"`{pin}`" in page for pin in method.packages), name
        same = (m.name for m in METHODS.values() if m.packages == method.packages)
        assert not method.packages or any(f"python -m bench_engine rivals install {name}" in page for name in same)


# -- installing ----------------------------------------------------------------------------------------------------


def test_an_environment_of_its_own_runs_the_rival_after_a_broken_one_too(here, index, tmp_path):
    wheel(index, "mirror_rival", "1.0")
    packages = ("mirror_rival==1.0",)
    left_over = tmp_path / "rivals" / "rival" / "bin"  # a killed installation left this
    left_over.mkdir(parents=True)
    (left_over / "python").write_text("half a file")
    assert rival_packages.python("rival", packages) == sys.executable
    assert rival_packages.missing("rival", packages)

    said: list[str] = []
    rival_packages.install("rival", packages, own=True, say=said.append)
    python = rival_packages.python("rival", packages)
    assert python == str(left_over / "python")
    assert rival_packages.missing("rival", packages) == ""
    assert rival_packages.place("rival", packages) == "build/rivals/rival"
    code = "import mirror_rival; print(mirror_rival.version)"
    assert subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout == "1.0\n"

    rival_packages.install("rival", packages, own=True, say=said.append)
    assert said[-1] == "rival: build/rivals/rival has all that it needs."
    assert rival_packages.missing("rival", ("mirror_rival==2.0",)), "another version is wanted now"

    with pytest.raises(
        rival_packages.RivalError, match=r"^rival was not installed: No matching distribution .*mirror_rival==2\.0"
    ):
        rival_packages.install("rival", ("mirror_rival==2.0",), own=True, say=said.append)
    assert rival_packages.python("rival", packages) == sys.executable, "what is half installed does not count"


def test_here_it_is_installed_beside_what_is_there(here, index, tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_TARGET", str(tmp_path / "site"))  # pip's option: not into the environment of the tests
    wheel(index, "mirror_rival", "1.0")
    said: list[str] = []
    rival_packages.install("rival", ("mirror_rival==1.0",), own=False, say=said.append)
    assert said == ["rival: installing mirror_rival 1.0.", "rival: installed in this environment."]
    assert (tmp_path / "site" / "mirror_rival.py").is_file()
    here["mirror_rival"] = "1.0"
    rival_packages.install("rival", ("mirror_rival==1.0",), own=False, say=said.append)
    assert said[-1] == "rival: all that it needs is here."


def test_nothing_that_is_here_is_changed(here, index, tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_TARGET", str(tmp_path / "site"))
    wheel(index, "mirror_rival", "1.0", needs="numpy==1.0")
    wheel(index, "numpy", "1.0")
    with pytest.raises(
        rival_packages.RivalError, match=r"^rival was not .* clash with what is installed here\. `.* --own rival`"
    ):
        rival_packages.install("rival", ("mirror_rival==1.0",), own=False, say=lambda _: None)
    assert not (tmp_path / "site").exists()


def test_the_command_says_what_is_there_and_what_is_missing(here, capsys):
    here |= {"jax": "0.10.2", "jaxlib": "0.10.2"}
    assert cli.main(["rivals"]) == 0
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert list(lines) == [m.name for m in RIVALS]
    assert lines["jax"] == "ready, in this environment"
    assert lines["zentorch"] == INSTALL_LINES["zentorch"]


def test_the_command_ends_with_the_reason_of_a_failure(here, index, capsys, monkeypatch):
    for module in (cli, cli_parser):
        monkeypatch.setattr(module, "RIVALS", (Method("rival", "", "none:none", packages=("mirror_rival==1.0",)),))
    assert cli.main(["rivals", "install", "rival"]) == 1
    told = capsys.readouterr().err
    assert told.startswith("rival was not installed: No matching distribution found for mirror_rival==1.0.")
    assert told.count("\n") == 1
    with pytest.raises(SystemExit):
        cli.main(["rivals", "install", "torch"])


def test_a_worker_imports_nothing_that_an_environment_of_its_own_lacks():
    code = (
        "import sys\nfrom importlib.metadata import packages_distributions\n"
        "import bench_engine.run.worker, bench_engine.benchmarks.lookup, bench_engine.benchmarks.caches\n"
        "here = packages_distributions()\n"
        "print(*{d.lower() for m in sys.modules for d in here.get(m.split('.')[0], ())})"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    required = {line.partition("==")[0].lower() for line in (ROOT / "requirements.txt").read_text().splitlines()}
    assert set(rival_packages._OF_A_WORKER) <= required
    assert set(done.stdout.split()) & required <= set(rival_packages._OF_A_WORKER)
