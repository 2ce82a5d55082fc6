"""An answer as a file of each kind."""

import io
import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from mirror.answer.answer import Answer
from mirror.answer.answering import ask, run_sql
from mirror.faces import exports
from mirror.table.table import plain_table

QUESTION = "memory vs AUC at compression 0.1"
ORIGIN = "Mirror · 2 machines · results up to 2026-11-20 10:00 UTC"
HOSTILE = "SELECT '<img src=x onerror=alert(1)> | `a` $x$' AS \"na|me\", 1.5 AS auc"


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch, results_file: Path) -> Answer:
    monkeypatch.setenv("MIRROR_DB", str(results_file))
    return ask(QUESTION)


def test_parquet_holds_all_rows_with_their_types(answer: Answer) -> None:
    assert answer.table
    read = pd.read_parquet(io.BytesIO(exports.to_parquet(answer.table)))
    assert list(read.columns) == list(answer.table.names)
    assert read["auc"].tolist() == list(answer.table.values("auc"))
    mixed = plain_table(("a",), ((1,), ("x",), (None,)))
    assert pd.read_parquet(io.BytesIO(exports.to_parquet(mixed)))["a"].tolist()[:2] == ["1", "x"]


def test_a_page_of_html_stands_alone_and_runs_nothing_of_the_data(answer: Answer) -> None:
    page = exports.to_html(answer, ORIGIN)
    assert page.startswith("<!DOCTYPE html>")
    assert "Plotly.newPlot" in page
    assert len(page) > 1_000_000, "plotly.js is in it"
    assert ORIGIN in page
    hostile = exports.to_html(run_sql(HOSTILE), ORIGIN)
    assert "<img" not in hostile


def test_a_notebook_asks_again_and_its_cells_run(answer: Answer) -> None:
    book = json.loads(exports.to_notebook(answer, None, ORIGIN))
    assert book["nbformat"] == 4
    names: dict[str, object] = {}
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    again = names["answer"]
    assert isinstance(again, Answer)
    assert again.table
    assert answer.table
    assert again.table.rows == answer.table.rows
    assert again.sql == answer.sql


def test_markdown_shows_text_of_the_data_as_it_stands(answer: Answer) -> None:
    text = exports.to_markdown(answer, ORIGIN)
    assert text.startswith(f"### {QUESTION}\n\n**")
    assert "```sql\nSELECT" in text
    assert "6 rows more." in text
    cell = exports.to_markdown(run_sql(HOSTILE), ORIGIN).splitlines()
    assert any(line.startswith("| &lt;img") and "\\|" in line for line in cell)
    assert any(line.startswith("| na\\|me |") for line in cell)


def test_parquet_keeps_whole_numbers_and_truth_values_beside_nothing() -> None:
    table = plain_table(("a", "b", "c"), ((True, 2**60 + 1, 1), (None, None, 2**70)))
    read = pd.read_parquet(io.BytesIO(exports.to_parquet(table)))
    assert (read["a"].dtype, read["b"].dtype) == ("boolean", "Int64")
    assert read["b"][0] == 2**60 + 1
    assert read["a"].isna().tolist() == read["b"].isna().tolist() == [False, True]


def test_the_notebook_of_a_follow_up_has_its_sql_alone(answer: Answer) -> None:
    book = exports.to_notebook(answer, None, ORIGIN, follows=True)
    assert "answer = ask(" not in book
    assert "run_sql(sql" in book


def test_markdown_says_what_it_rests_on_and_what_was_cut(answer: Answer) -> None:
    assert answer.table
    assert answer.headline().limits in exports.to_markdown(answer, ORIGIN)
    many = replace(answer.table, rows=answer.table.rows * 40, truncated=True)
    assert "rows more were read, and there are others." in exports.to_markdown(replace(answer, table=many), ORIGIN)
