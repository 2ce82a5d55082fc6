"""The command line about the journal: what ingest, pack, plan and run say of one that is missing, broken or ahead."""

from pathlib import Path

import pytest

from bench_engine.command.cli import main
from db.store import Store


def run_once(engine) -> Path:
    """A sweep of one trial; its journal entry."""
    sweep = engine.file("ok")
    assert main(["run", str(sweep)]) == 0
    (path,) = engine.journal.glob("*.json")
    return path


def test_a_pack_never_overwrites_the_database(engine, capsys: pytest.CaptureFixture[str]) -> None:
    run_once(engine)
    capsys.readouterr()
    before = Path(engine.url).read_bytes()
    assert main(["pack", engine.url]) == 1
    assert capsys.readouterr().err == "x.duckdb does not end in .jsonl or .jsonl.gz: name the file so.\n"
    assert Path(engine.url).read_bytes() == before


def test_a_pack_of_nothing_keeps_the_archive(engine, capsys: pytest.CaptureFixture[str]) -> None:
    archive = engine.folder / "all.jsonl"
    archive.write_text("good")
    assert main(["pack", str(archive)]) == 1
    assert capsys.readouterr().err == "There are no trials in x.journal/: nothing was written.\n"
    assert archive.read_text() == "good"


def test_ingest_ends_with_1_where_something_was_set_aside(engine, capsys: pytest.CaptureFixture[str]) -> None:
    run_once(engine)
    (engine.journal / "aa-1.ok.json").write_text("half")
    capsys.readouterr()
    assert main(["ingest"]) == 1
    assert "Set aside: aa-1.ok.json.broken: it is not whole JSON" in capsys.readouterr().out
    assert main(["ingest"]) == 0


@pytest.mark.parametrize("command", [["ingest"], ["pack", "all.jsonl"], ["plan", "quick"]])
def test_a_journal_that_is_a_file(
    engine, command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = engine.folder / "a.journal"
    place.write_text("")
    monkeypatch.setenv("MIRROR_JOURNAL", str(place))
    assert main(command) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == (
        f"The journal {place} is a file, not a folder: move it away, or name a folder with MIRROR_JOURNAL.\n"
    )


def test_a_journal_that_is_named_and_not_there(
    engine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ingest"]) == 0, "no setting names one: there is none yet"
    place = engine.folder / "nowhere.journal"
    monkeypatch.setenv("MIRROR_JOURNAL", str(place))
    capsys.readouterr()
    assert main(["ingest"]) == 1
    assert capsys.readouterr().err == f"There is no journal at {place}: mend MIRROR_JOURNAL, or run a sweep first.\n"
    assert main(["ingest", "--examples"]) == 0


@pytest.mark.parametrize("command", ["run", "ingest"])
def test_a_slip_in_the_place_of_the_results_makes_no_folders(
    engine, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    place = engine.folder / "slip" / "dir" / "x.duckdb"
    assert main([command, *([str(engine.file("ok"))] if command == "run" else []), "--db", str(place)]) == 1
    assert capsys.readouterr().err.startswith(f"There is no folder {place.parent}: make it, or name another place")
    assert not (engine.folder / "slip").exists()


def test_a_result_from_the_future_is_told_until_it_is_measured_again(
    engine, capsys: pytest.CaptureFixture[str]
) -> None:
    path = run_once(engine)
    (row,) = engine.stored()
    path.write_text(path.read_text().replace(f"{row['started_at'].year}-", "2099-"))
    Path(engine.url).unlink()
    capsys.readouterr()
    words = "1 result says that it started in the future ("
    sweep = str(engine.file("ok"))
    for command in (["ingest"], ["plan", sweep], ["plan", sweep, "--json"], ["run", sweep]):
        assert main(command) == 0
        assert capsys.readouterr().err.startswith(words), command
    assert main(["run", sweep, "--force"]) == 0
    capsys.readouterr()
    assert main(["ingest"]) == 0
    assert capsys.readouterr().err == ""


def test_what_was_copied_before_an_empty_journal_is_in_the_results(
    engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_once(engine)
    packed, empty = tmp_path / "good.jsonl", tmp_path / "empty"
    empty.mkdir()
    assert main(["pack", str(packed)]) == 0
    other = tmp_path / "other.duckdb"
    assert main(["ingest", str(packed), str(empty), "--db", str(other)]) == 1
    assert "empty holds no trials" in capsys.readouterr().err
    assert len(Store(str(other)).trial_ids()) == 1
