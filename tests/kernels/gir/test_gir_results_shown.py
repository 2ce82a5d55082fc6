"""The tables of docs/memory_compiler.md come from the trials that are shipped."""

import json

from db.journal import ingest, merge
from db.settings import examples_dir
from db.store import Store
from tests.shows import memory_results


def test_shipped_trials_give_the_tables(tmp_path, monkeypatch, capsys):
    path = tmp_path / "operators.duckdb"
    monkeypatch.setenv("MIRROR_DB", str(path))
    merge(tmp_path / "journal", [examples_dir() / "memory_ops" / "amd-epyc-2-cores.jsonl.gz"])
    ingest(Store(str(path)), [tmp_path / "journal"])
    memory_results.main([])
    shown = [line for line in capsys.readouterr().out.splitlines() if line]
    docs = (examples_dir().parents[1] / "docs" / "memory_compiler.md").read_text()
    assert len(shown) > 40
    for line in shown:
        assert line in docs


def test_thousands_of_random_graphs_were_right():
    told = json.loads((examples_dir().parents[1] / "db" / "studies" / "gir" / "random_graphs.json").read_text())
    assert told["graphs"] >= 4000
    assert told["wrong"] == []
