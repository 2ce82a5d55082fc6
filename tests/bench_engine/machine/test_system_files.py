"""Files of the system, and what stands for those that are missing."""

from pathlib import Path

from bench_engine.machine import system_files


def test_what_is_missing_is_empty(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path):
        assert system_files.text(path) == ""
        assert system_files.number(path) is None
        assert system_files.fields(path) == {}


def test_text_number_and_fields(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b" 12\n")
    assert system_files.text(path) == "12"
    assert system_files.number(path) == 12
    path.write_bytes(b"VmRSS:\t 5 kB\nno separator\n\xff: x\nempty:\n")
    assert system_files.number(path) is None
    assert system_files.fields(path) == {"VmRSS": "5 kB", "\ufffd": "x", "empty": ""}
