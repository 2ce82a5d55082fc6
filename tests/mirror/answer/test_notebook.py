"""An answer in a notebook and in a terminal: what it shows, that it is safe, and that plotly.js comes once."""

import json
import re
import sys
from dataclasses import replace
from types import ModuleType, SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from result_tables import TRADE_OFF, by_batch, trade_off

from mirror.answer import notebook
from mirror.answer.answer import Answer
from mirror.answer.as_text import as_text
from mirror.chart.choose import choose
from mirror.schema.result_columns import result_table
from mirror.table.table import Table, plain_table

MARKUP = "<img src=x onerror=alert(1)>"
LIBRARY = 1_000_000  # characters that only plotly.js has


def answered(table: Table, **more: Any) -> Answer:
    return Answer(
        "answered",
        "memory vs AUC?",
        read_as="metrics memory, AUC",
        sql="SELECT method,\n  memory_mb\nFROM results",
        table=table,
        chart=choose(table, more.get("spec")),
        summary="Hashed is smallest.",
        **more,
    )


ANSWER = answered(trade_off("frappe", "ml"), spec=TRADE_OFF)


def text_of(html: str) -> str:
    return re.sub(r"<[^>]+>", " ", html)


def test_the_outputs_are_the_text_around_the_chart() -> None:
    head, chart, tail = notebook.bundles(ANSWER, library=False)
    for part in ("memory vs AUC?", "Read as: metrics memory, AUC", "Hashed is smallest."):
        assert part in text_of(head["text/html"])
    assert head["text/plain"] == as_text(ANSWER)
    assert set(chart) == {"application/vnd.plotly.v1+json", "text/html", "text/plain"}
    drawn = chart["application/vnd.plotly.v1+json"]
    assert {"data", "layout", "config"} <= set(drawn)
    assert len(drawn["data"]) == len(ANSWER.figure().data)
    assert "memory (MB)" in text_of(tail["text/html"])
    assert "<details><summary>SQL</summary>" in tail["text/html"]
    assert "SELECT method,\n  memory_mb\nFROM results" in tail["text/html"]
    assert ANSWER.chart.reason in tail["text/html"]


def test_numbers_stand_to_the_right_without_their_units() -> None:
    tail = notebook.bundles(ANSWER, library=False)[-1]["text/html"]
    assert re.search(r'text-align:right">10</td>', tail)
    assert re.search(r'text-align:left">dense</td>', tail)
    assert "10 MB" not in tail


def test_only_the_first_rows_are_shown_and_the_others_are_named() -> None:
    rows = tuple((f"m{i}", float(i + 1), 0.5) for i in range(50))
    html = notebook.html(answered(result_table(("method", "memory_mb", "auc"), rows, truncated=True)))
    assert html.count("<tr>") == notebook.MOST_ROWS + 1
    assert "The first 20 of 50 rows of more. All of them: <code>answer.frame()</code>" in html


def test_the_chart_asks_nothing_of_a_network() -> None:
    _, chart, _ = notebook.bundles(ANSWER, library=False)
    assert len(chart["text/html"]) < LIBRARY
    assert not re.search(r"<script[^>]+src|<link|cdn|mathjax\.", chart["text/html"], re.IGNORECASE)
    assert "run all cells again" in chart["text/html"]
    _, whole, _ = notebook.bundles(ANSWER, library=True)
    assert len(whole["text/html"]) > LIBRARY
    assert not re.search(r"<script[^>]+src", whole["text/html"])


def test_html_alone_has_no_scripts_and_names_the_chart() -> None:
    html = notebook.html(ANSWER)
    assert "<script" not in html
    assert "The chart: <code>answer.figure()</code>" in html
    assert html == ANSWER._repr_html_()


def test_everything_from_outside_is_escaped() -> None:
    columns = ("method", f"<b>{MARKUP}</b>", "auc")
    table = result_table(columns, ((MARKUP, "</script>", 0.5), ("</pre>", "\u202e", 0.6)))
    answer = replace(
        answered(table),
        question=MARKUP,
        read_as=MARKUP,
        summary=f"{MARKUP}\x00",
        note=MARKUP,
        sql=f"SELECT '{MARKUP}</pre></details>'",
        suggestions=(MARKUP,),
    )
    html = "".join(b["text/html"] for b in notebook.bundles(answer, library=False)) + notebook.html(answer)
    assert "<img" not in html
    assert "&lt;img src=x" in html
    for raw in ("</pre></details>'", "\u202e", "\x00"):
        assert raw not in html
    scripts = re.findall(r"<script[^>]*>(.*?)</script>", html, re.DOTALL)
    assert scripts
    assert not any("<img" in script for script in scripts)
    assert html.count("<script") == html.count("</script>")


def test_a_number_alone_is_shown_as_tiles() -> None:
    html = notebook.html(answered(result_table(("trials",), ((1_284,),))))
    assert "1,284" in text_of(html)
    assert "<table" not in html
    assert "answer.figure()" not in html


def test_a_refusal_shows_what_can_be_asked() -> None:
    refusal = Answer("refused", "weather?", summary="The results say nothing about it.", suggestions=("AUC by method",))
    (only,) = notebook.bundles(refusal, library=True)
    assert "<li>AUC by method</li>" in only["text/html"]
    assert len(only["text/html"]) < LIBRARY
    assert refusal.figure() is None
    assert refusal.frame().empty


def test_text_for_a_terminal() -> None:
    shown = repr(ANSWER)
    assert shown.startswith("Read as: metrics memory, AUC\n\nmethod")
    assert "Hashed is smallest." in shown
    assert shown.endswith("FROM results")


class FakeShell(SimpleNamespace):
    """IPython with a kernel, as far as `display` looks at it."""


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What a fake IPython has shown; `shell.cell` of its kernel can be set."""
    found: list[dict[str, Any]] = []
    ipython, shown = ModuleType("IPython"), ModuleType("IPython.display")
    shell = FakeShell(kernel=object(), cell="c1")
    shell.get_parent = lambda: {"metadata": {"cellId": shell.cell} if shell.cell else {}}
    ipython.get_ipython = lambda: shell  # type: ignore[attr-defined]
    ipython.shell = shell  # type: ignore[attr-defined]
    shown.display = lambda bundle, raw: found.append(bundle)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    monkeypatch.setattr(notebook, "_library", notebook._Library())
    return found


def sizes(published: list[dict[str, Any]]) -> list[bool]:
    """Whether each chart that was shown brought plotly.js."""
    charts = [b for b in published if "application/vnd.plotly.v1+json" in b]
    return [len(b["text/html"]) > LIBRARY for b in charts]


def test_plotly_comes_with_the_first_chart_alone(published: list[dict[str, Any]]) -> None:
    shell = sys.modules["IPython"].shell
    for cell in ("c1", "c2", "c2", "c1", "c3"):
        shell.cell = cell
        ANSWER._ipython_display_()
    assert sizes(published) == [True, False, False, True, False]
    assert len(published) == 15
    json.dumps(published)


def test_a_front_end_without_names_of_cells_gets_plotly_once(published: list[dict[str, Any]]) -> None:
    sys.modules["IPython"].shell.cell = None
    for _ in range(3):
        notebook.display(ANSWER)
    assert sizes(published) == [True, False, False]


def test_a_terminal_gets_text(published: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> None:
    sys.modules["IPython"].shell.kernel = None
    notebook.display(ANSWER)
    assert published == []
    assert capsys.readouterr().out == as_text(ANSWER) + "\n"


def test_a_frame_has_the_rows_with_times_and_missing_numbers() -> None:
    table = result_table(
        ("started_at", "method", "auc"), (("2026-11-01T12:00:00", "a", 0.5), ("2026-11-02T00:00:00.25", None, None))
    )
    found = notebook.frame(table)
    assert list(found.columns) == ["started_at", "method", "auc"]
    assert found["started_at"].iloc[0] == pd.Timestamp("2026-11-01 12:00")
    assert found["auc"].isna().tolist() == [False, True]
    assert found["auc"].dtype == float


def test_a_frame_keeps_columns_of_one_name_and_every_row() -> None:
    found = notebook.frame(result_table(("day", "day", "auc"), (("2026-11-01", "2026-11-02", 1),)))
    assert list(found.columns) == ["day", "day", "auc"]
    assert len(answered(by_batch()).frame()) == 6
    assert notebook.frame(None).empty


@pytest.mark.parametrize(
    ("texts", "kept"),
    [
        (
            ["2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00"],
            [pd.Timestamp("2026-10-25 00:30", tz="UTC"), None],
        ),
        (["2026-10-25T02:30:00", "2026-10-25T02:30:00+01:00"], [pd.Timestamp("2026-10-25 02:30", tz="UTC"), None]),
        (["2026-W01-1", "2026-W02-1"], ["2026-W01-1", "2026-W02-1"]),
    ],
)
def test_a_frame_takes_times_of_several_offsets_and_leaves_what_is_none(texts: list[str], kept: list[object]) -> None:
    found = notebook.frame(plain_table(("at",), [(text,) for text in texts]))["at"]
    assert [value for value, wanted in zip(found, kept, strict=True) if wanted] == [w for w in kept if w]
