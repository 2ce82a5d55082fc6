"""The tables of docs/fiited.md come from the trials that are shipped."""

import sys

from db.journal import ingest, merge
from db.settings import examples_dir
from db.store import Store
from tests.shows import fiited_results


def test_shipped_trials_give_all_tables(tmp_path, monkeypatch, capsys):
    path = tmp_path / "fiited.duckdb"
    monkeypatch.setenv("MIRROR_DB", str(path))
    merge(tmp_path / "journal", [examples_dir() / "fiited" / "intel-xeon-2-cores.jsonl.gz"])
    ingest(Store(str(path)), [tmp_path / "journal"])
    monkeypatch.setattr(sys, "argv", ["fiited_results"])
    fiited_results.main()
    shown = capsys.readouterr().out
    docs = (examples_dir().parents[1] / "docs" / "fiited.md").read_text()
    for sweep in ("quality", "study", "drift", "speed"):
        assert f"# fiited_{sweep}\n" in shown
    for method in ("fiited, k=1", "adaembed", "hashed"):  # the verdicts, as the docs have them
        line = next(line for line in shown.split("minus that")[1].splitlines() if line.startswith(f"| {method} |"))
        assert line in docs
