"""The tables of docs/hashed.md come from the trials that are shipped."""

from db.journal import ingest, merge
from db.settings import examples_dir
from db.store import Store
from tests.shows import hashed_results


def test_shipped_trials_give_the_tables_of_auc(tmp_path, monkeypatch, capsys):
    path = tmp_path / "hashed.duckdb"
    monkeypatch.setenv("MIRROR_DB", str(path))
    merge(tmp_path / "journal", [examples_dir() / "hashed" / "intel-xeon-2-cores.jsonl.gz"])
    ingest(Store(str(path)), [tmp_path / "journal"])
    hashed_results.main()
    shown = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    docs = (examples_dir().parents[1] / "docs" / "hashed.md").read_text()
    assert len(shown) > 20
    for line in shown:
        assert line in docs
