"""The tables of docs/quantized.md come from the trials that are kept beside the examples."""

from db.journal import ingest, merge
from db.settings import examples_dir
from db.store import Store
from tests.shows import best_table


def test_kept_trials_give_the_tables(tmp_path, monkeypatch, capsys):
    path = tmp_path / "best.duckdb"
    monkeypatch.setenv("MIRROR_DB", str(path))
    merge(tmp_path / "journal", [examples_dir().parent / "studies" / "best_table" / "amd-epyc-2-cores.jsonl.gz"])
    ingest(Store(str(path)), [tmp_path / "journal"])
    best_table.main()
    shown = [line for line in capsys.readouterr().out.splitlines() if line]
    docs = (examples_dir().parents[1] / "docs" / "quantized.md").read_text()
    assert len(shown) > 40
    for line in shown:
        assert line in docs
