"""The lines on who started what: one each, whatever the disk does."""

import json
import logging
import os
from pathlib import Path

import pytest

from mirror.runs import audit
from mirror.runs.person import LOCAL, Person


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    audit._failing.clear()
    return tmp_path / "x.journal"


def lines(journal: Path) -> list[str]:
    return audit.path_of(journal).read_text().splitlines()


def test_a_name_with_line_breaks_makes_no_second_line(journal: Path) -> None:
    forged = 'eve\n{"who": "anna"}\u2028\ud800'
    audit.note(journal, Person(forged), "started", "r1")
    audit.note(journal, LOCAL, "cancelled", "r1", sweep="quick")
    first, second = map(json.loads, lines(journal))
    assert (first["who"], first["did"]) == (forged, "started")
    assert (second["who"], second["sweep"]) == ("local", "quick")


def test_nobody_else_reads_it(journal: Path) -> None:
    audit.note(journal, LOCAL, "started", "r1")
    assert audit.path_of(journal).stat().st_mode & 0o077 == 0


def test_a_file_that_cannot_be_written_is_said_once_and_again_when_it_fails_anew(
    journal: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        audit.path_of(journal).mkdir()  # root writes into read-only folders too
        audit.note(journal, LOCAL, "started", "r1")
        audit.note(journal, LOCAL, "started", "r2")
        assert [r.getMessage() for r in caplog.records] == [
            "x.audit.jsonl cannot be written (Is a directory): who starts and cancels runs is not noted until that is "
            "mended."
        ]
        audit.path_of(journal).rmdir()
        audit.note(journal, LOCAL, "started", "r3")
        assert len(lines(journal)) == 1
        audit.path_of(journal).unlink()
        audit.path_of(journal).mkdir()
        audit.note(journal, LOCAL, "started", "r4")
    assert len(caplog.records) == 2


def test_a_line_that_a_full_disk_cut_off_spoils_no_other(
    journal: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    write = os.write
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda file, text: write(file, text[:20]))
        audit.note(journal, LOCAL, "started", "r1")
    assert "No space left" in caplog.text
    audit.note(journal, LOCAL, "started", "r2")
    cut, whole = lines(journal)
    assert len(cut) == 20
    assert json.loads(whole)["run_id"] == "r2"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a device that is always full")
def test_a_full_disk_stops_nobody(journal: Path, caplog: pytest.LogCaptureFixture) -> None:
    audit.path_of(journal).symlink_to("/dev/full")
    audit.note(journal, LOCAL, "started", "r1")
    assert "No space left" in caplog.text
