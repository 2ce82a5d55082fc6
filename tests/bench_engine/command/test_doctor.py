"""What `doctor` finds, what it makes of it, and how it says it."""

import json
import os
from dataclasses import replace
from datetime import UTC, timedelta
from pathlib import Path

import pytest

from bench_engine.command import doctor
from bench_engine.command.cli import main
from bench_engine.kernels.native import cache, extension
from bench_engine.machine import bandwidth, hardware, machine, probe
from bench_engine.machine.lock import MachineBusyError, machine_lock
from bench_engine.run.executors.bandwidth_ahead import BandwidthAhead
from bench_engine.selfcheck import overhead

SECTIONS = ["machine", "state", "software", "engine", "overhead", "bandwidth", "data", "results"]
GIVEN = bandwidth.Bandwidth(1, 12.8, 3.29, 5.6, 166.0, 1073.7, "2026-11-27 18:34 UTC", 0.5)


@pytest.fixture(autouse=True)
def quiet(examples: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which nobody else is busy, without the example results, which take a while to read."""
    monkeypatch.setattr(probe, "busiest", lambda: None)
    monkeypatch.setattr(probe, "clock", lambda: probe.Clock(20, 30))
    monkeypatch.setattr(probe, "steal_since_boot", lambda: 0.001)
    monkeypatch.setattr(probe, "steal_now", lambda: 0.0)
    monkeypatch.setattr(overhead, "measure", lambda: overhead.Overhead(1.5, 110.0, 0.0022, 250.0, 0.005))
    monkeypatch.setattr(bandwidth, "kept", lambda threads: GIVEN)


def with_word(word: str) -> list[str]:
    return [warning for warning in doctor.examine().warnings if word in warning]


def test_json_is_one_object_of_facts_and_warnings(engine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(engine.file("ok"))]) == 0
    capsys.readouterr()
    assert main(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found["facts"]) == SECTIONS
    assert found["facts"]["machine"]["machine_id"] == machine.machine()["machine_id"]
    assert found["facts"]["state"]["clock_step_ns"] == 20
    assert found["facts"]["state"]["steal_boot_pct"] == 0.1
    assert found["facts"]["results"]["results"] == "x.duckdb: 1 trials"
    assert all(isinstance(warning, str) for warning in found["warnings"])


def test_text_has_80_columns_and_no_path(engine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert [line for line in out.splitlines() if line in SECTIONS] == SECTIONS
    assert str(engine.folder) not in out


def test_the_engine_s_own_overhead_is_said(engine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "per trial         1.50 s beyond the calls that are timed" in out
    assert "in a sample       110 ns, 0.22% of one of 50 µs" in out
    assert "between samples   250 ns, 0.50% of one of 50 µs" in out


def test_overhead_is_not_measured_beside_a_run(engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy() -> None:
        raise MachineBusyError("Sweep x is running.")

    monkeypatch.setattr(overhead, "measure", busy)
    assert with_word("overhead") == ["The engine's own overhead was not measured: sweep x is running."]


def test_what_memory_gives_is_said_for_one_thread_and_for_all_cores(engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "cores", lambda: 6)
    found = doctor.examine()
    assert list(found.facts["bandwidth"]) == ["1 thread", "6 threads"]
    assert found.facts["bandwidth"]["1 thread"] == (
        "copy 12.8 GB/s, random rows of 64 bytes 3.29 GB/s, of 128 bytes 5.6 GB/s, 166 GFLOP/s (2026-11-27 18:34 UTC)"
    )


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> dict[int, bandwidth.Bandwidth]:
    """What is kept of one core, in the place of files; the process that measures gives 99 GB/s."""
    kept = {1: GIVEN}
    monkeypatch.setattr(hardware, "cores", lambda: 1)
    monkeypatch.setattr(bandwidth, "kept", kept.get)
    monkeypatch.setattr(bandwidth, "forget", kept.pop)
    monkeypatch.setattr(bandwidth, "keep", lambda found: kept.update({found.threads: found}))
    monkeypatch.setattr(BandwidthAhead, "_measure", lambda *_: bandwidth.keep(replace(GIVEN, copy_gb_s=99.0)))
    return kept


def test_what_memory_gives_is_measured_anew_where_asked(engine, measured: dict[int, bandwidth.Bandwidth]) -> None:
    assert doctor.examine().facts["bandwidth"]["1 thread"].startswith("copy 12.8 GB/s")
    assert doctor.examine(again=True).facts["bandwidth"]["1 thread"].startswith("copy 99 GB/s")


def test_what_cannot_be_measured_anew_stays(
    engine, measured: dict[int, bandwidth.Bandwidth], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BandwidthAhead, "_measure", lambda *_: None)
    found = doctor.examine(again=True)
    assert measured == {1: GIVEN}
    assert found.facts["bandwidth"]["1 thread"].startswith("copy 12.8 GB/s")
    assert "What memory gives with 1 thread could not be measured." in found.warnings


def test_nothing_is_measured_or_forgotten_beside_a_run(engine, measured: dict[int, bandwidth.Bandwidth]) -> None:
    with machine_lock("x"):
        assert with_word("What memory gives") == []
        (sentence,) = [w for w in doctor.examine(again=True).warnings if "What memory gives" in w]
        assert sentence.startswith("What memory gives was not measured anew: sweep x (process ")
        assert measured == {1: GIVEN}
        measured.clear()
        (sentence,) = with_word("What memory gives")
    assert sentence.startswith("What memory gives was not measured: sweep x (process ")


def test_what_the_cost_model_of_gir_measured_is_forgotten_and_no_kernel(
    engine, measured: dict[int, bandwidth.Bandwidth], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "folders", lambda: [tmp_path])
    for name, said in (("a", '{"measured": {}}'), ("b", '{"speeds": [1, 2]}'), ("c", '{"library": "x"}'), ("d", "{")):
        (tmp_path / "gir" / name).mkdir(parents=True)
        (tmp_path / "gir" / name / "entry.json").write_text(said)
    doctor.examine()
    assert len(list((tmp_path / "gir").iterdir())) == 4
    doctor.examine(again=True)
    assert sorted(path.name for path in (tmp_path / "gir").iterdir()) == ["c", "d"]


def test_text_of_findings() -> None:
    facts = {"machine": {"smt": False, "load": 3.0, "note": "one two " * 12}, "data": {}}
    command = "`python -m bench_engine run --with --many --words --that --stay --together`"
    warning = f"Something that takes a while to say is wrong here: {command} mends it."
    assert doctor.lines(doctor.Findings(facts, (warning,))) == [
        "machine",
        "  smt               no",
        "  load              3",
        "  note              one two one two one two one two one two one two one two one",
        "                    two one two one two one two one two",
        "",
        "data",
        "",
        "warnings",
        "  ! Something that takes a while to say is wrong here:",
        f"    {command}",
        "    mends it.",
    ]
    assert doctor.lines(doctor.Findings({}, ())) == ["no warnings"]


# -- state -------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(("cores", "warned"), [(0.95, True), (0.2, False)])
def test_who_is_busy_is_named(monkeypatch: pytest.MonkeyPatch, cores: float, warned: bool) -> None:
    monkeypatch.setattr(probe, "busiest", lambda: probe.Busy("indexer", 7, cores))
    found = doctor.examine()
    sentence = "indexer (process 7) uses 95 % of a core: end it or wait for it, or expect noise."
    assert (sentence in found.warnings) is warned
    assert any("indexer" in warning for warning in found.warnings) is warned
    assert found.facts["state"]["busiest"] == f"indexer (process 7), {100 * cores:.0f} % of a core"


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("boot", "now", "said"),
    [
        (0.001, 0.031, "took 3.1 % of the time that this one wanted just now"),
        (0.05, 0.0, "took 5 % of the time that this one wanted since it started"),
        (0.05, 0.04, "took 4 % of the time that this one wanted just now"),
        (0.02, 0.02, ""),
        (None, None, ""),
    ],
)
def test_stolen_time(monkeypatch: pytest.MonkeyPatch, boot: float | None, now: float | None, said: str) -> None:
    monkeypatch.setattr(probe, "steal_since_boot", lambda: boot)
    monkeypatch.setattr(probe, "steal_now", lambda: now)
    found = with_word("Other virtual machines")
    assert len(found) == bool(said)
    assert not said or said in found[0]


# -- software ----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("here", "venv", "inside", "said"),
    [
        ((3, 11), "3.11.7", True, ""),
        ((3, 11), None, False, ""),
        ((3, 11), "3.11.2", False, ""),
        ((3, 13), "3.11.7", False, "This is Python 3.13, and .venv holds 3.11: `source .venv/bin/activate` first."),
        ((3, 13), "3.13.0", True, "This is Python 3.13, and requirements.txt was tested with 3.11"),
        ((3, 13), None, False, "This is Python 3.13, and requirements.txt was tested with 3.11"),
    ],
)
def test_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: tuple[int, int], venv: str | None, inside: bool, said: str
) -> None:
    monkeypatch.setattr(doctor, "ROOT", tmp_path)
    info = type("", (), {"major": here[0], "minor": here[1]})
    prefix = str(tmp_path / ".venv") if inside else "/usr"
    monkeypatch.setattr(doctor, "sys", type("", (), {"version_info": info, "prefix": prefix}))
    if venv:
        (tmp_path / ".venv").mkdir()
        (tmp_path / ".venv" / "pyvenv.cfg").write_text(f"home = /usr/bin\nversion = {venv}\n")
    found = with_word("This is Python")
    assert len(found) == bool(said)
    assert not said or found[0].startswith(said)


@pytest.mark.usefixtures("engine")
def test_a_package_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(name: str) -> str:
        raise doctor.PackageNotFoundError(name)

    monkeypatch.setattr(doctor, "version", none)
    found = doctor.examine()
    assert "torch is not installed: run `pip install -r requirements.txt`." in found.warnings
    assert found.facts["software"]["torch"] == "not installed"


# -- engine and data ---------------------------------------------------------------------------------------------------


def test_what_the_kernels_lack(engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extension, "built", lambda: False)
    monkeypatch.setenv("CXX", "true -x")
    found = doctor.examine()
    assert (found.facts["engine"]["kernels"], found.facts["engine"]["compiler"]) == ("not built", "true -x: ")
    assert "-fopenmp" in found.facts["engine"]["compiler_flags"]
    assert any("run `python -m bench_engine build`" in warning for warning in found.warnings)
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", str(engine.folder))
    found = doctor.examine()
    assert found.facts["engine"]["compiler"] == "none"
    assert any(warning.startswith("No C++ compiler was found") for warning in found.warnings)


def test_data_that_are_not_there(engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIRROR_DATA_DIR", str(engine.folder))
    found = doctor.examine()
    assert found.facts["data"]["frappe"] == "missing"
    assert any(w.startswith("frappe cannot be used: the file ") and "MIRROR_DATA_DIR" in w for w in found.warnings)


# -- results -----------------------------------------------------------------------------------------------------------


def test_the_journal_is_told_from_the_examples(engine, examples: Path) -> None:
    assert main(["run", str(engine.file("ok"))]) == 0
    (path,) = engine.journal.glob("*.json")
    (examples / "aa-1.ok.json").write_text(path.read_text())
    (engine.journal / "bb-1.ok.json").write_text(path.read_text())
    found = doctor.examine()
    assert found.facts["results"]["journal"] == "x.journal/: 2 trials"
    assert found.facts["results"]["examples"].startswith("1 trials; `python -m bench_engine ingest --examples`")
    assert "x.duckdb lacks 1 trials of the journal: run `python -m bench_engine ingest`." in found.warnings


def test_no_results_yet(engine) -> None:
    assert len(with_word("There are no results at x.duckdb yet")) == 1
    assert not Path(engine.url).exists()
    assert not engine.journal.exists()


def test_broken_entries_are_named(engine) -> None:
    engine.journal.mkdir()
    (engine.journal / "aa-1.ok.json.broken").write_text("")
    assert len(with_word("1 journal entries are broken and set aside in x.journal/, aa-1.ok.json.broken first")) == 1


def test_an_entry_that_has_broken_since_it_was_read_is_found(engine) -> None:
    assert main(["run", str(engine.file("ok"))]) == 0
    assert with_word("cannot be used (") == []
    (path,) = engine.journal.glob("*.json")
    path.write_text(path.read_text()[:-20])
    (found,) = with_word("cannot be used (")
    assert found.startswith(f"1 journal entries cannot be used ({path.name}: it is not whole JSON")
    assert path.exists()


def test_a_clock_that_was_set_back(engine, monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["run", str(engine.file("ok"))]) == 0
    assert with_word("system clock") == []
    (row,) = engine.stored()
    early = (row["started_at"] - timedelta(hours=3, minutes=30)).replace(tzinfo=UTC)
    monkeypatch.setattr(doctor, "datetime", type("", (), {"now": lambda _zone: early}))
    (found,) = with_word("system clock")
    assert found.startswith("The system clock is 3 h 30 min behind the newest result of this machine, so new results")
    monkeypatch.setattr(machine.socket, "gethostname", lambda: "another")  # the results are those of another machine
    assert with_word("system clock") == []


def test_places_that_cannot_be_written(engine, monkeypatch: pytest.MonkeyPatch) -> None:
    assert with_word("cannot be written") == []
    # As on a file system that is mounted read-only: rights of files alone do not stop root.
    real = os.access
    monkeypatch.setattr(doctor.os, "access", lambda path, mode: mode != os.W_OK and real(path, mode))
    journal, results = with_word("cannot be written")
    assert journal.startswith("The journal x.journal/ cannot be written, and no trial can be kept: mend")
    assert results.startswith("The results x.duckdb cannot be written: mend")
    assert str(engine.folder) not in journal + results


def test_a_file_in_the_place_of_the_journal(engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIRROR_JOURNAL", str(engine.file("ok")))
    assert len(with_word("The journal fakes.yaml/ cannot be written")) == 1
    monkeypatch.setenv("MIRROR_JOURNAL", str(engine.file("ok") / "below" / "it"))
    assert len(with_word("The journal it/ cannot be written")) == 1


def test_a_journal_that_may_not_be_read(engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(_folder: Path) -> set[str]:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(doctor, "_trial_ids", lambda folder: closed(folder) if folder == engine.journal else set())
    found = doctor.examine()
    assert found.facts["results"]["journal"] == "x.journal/: cannot be read"
    sentence = "The journal x.journal/ cannot be read (Permission denied): mend the rights of its folder."
    assert sentence in found.warnings


@pytest.mark.usefixtures("engine")
def test_a_full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _path: type("", (), {"free": 0.3e9}))
    assert with_word("GB of disk") == [
        "Only 0.3 GB of disk are free for x.journal/: make room, or name another folder with MIRROR_JOURNAL."
    ]


def test_results_that_cannot_be_read_do_not_end_the_examination(engine) -> None:
    Path(engine.url).write_text("no database")
    found = doctor.examine()
    assert found.facts["results"]["results"] == "x.duckdb: cannot be read"
    assert any("x.duckdb is not a whole DuckDB file" in warning for warning in found.warnings)


def test_settings_that_cannot_be_used_are_one_sentence(engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIRROR_DB", "nonsense://x")
    found = doctor.examine()
    assert any("cannot be used" in warning for warning in found.warnings)
