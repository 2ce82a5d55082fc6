"""A sweep over commits on the page Runs, driven by Streamlit's AppTest."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from page_driver import LIMIT_S, ROOT, texts
from runs_over_commits import COMMITS, run
from streamlit.testing.v1 import AppTest

from db.store import Store
from mirror.faces.pages import points_view
from mirror.table.table import Table

STEADY, SLOWER = [5.0, 5.01, 4.99] * 4, [7.0, 7.01, 6.99] * 2 + [8.0, 8.01, 7.99] * 2


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch, results_file: Path, tmp_path: Path) -> None:
    """The seeded results, which have one commit for each configuration, and a sweep of two methods at twelve."""
    monkeypatch.chdir(ROOT)
    url = str(shutil.copy(results_file, tmp_path / "x.duckdb"))
    Store(url).add(
        run(method, us, COMMITS[number], number, sweep="followed")
        for method, of_method in (("dense", STEADY), ("hashed", SLOWER))
        for number, us in enumerate(of_method)
    )
    monkeypatch.setenv("MIRROR_DB", url)
    st.cache_data.clear()


def runs_page() -> None:
    from mirror.faces.pages.runs import runs_page as shown

    shown.page()


def opened(**address: str | list[str]) -> AppTest:
    app = AppTest.from_function(runs_page, default_timeout=LIMIT_S)
    app.query_params.update(address)
    app.run()
    assert not app.exception
    return app


def test_the_sweep_with_the_most_commits_is_drawn_and_its_changes_are_told() -> None:
    app = opened(view="Over commits")
    assert app.selectbox(key="of").placeholder == "followed, the most commits"
    said = texts(app)
    assert "1 change of latency (1 slower) in 1 of 1 configuration over 12 commits." in said
    assert "1. hashed is slower, between c000005 (2026-11-01) and c000006 (2026-11-01)" in said
    assert "drawn: 1 of 2 configurations with several commits · with a change that is at least 95 % likely: 1" in said
    (chart,) = app.get("plotly_chart")
    assert "Line chart of latency" in chart.proto.alt
    assert "virtually certain" in chart.proto.alt
    app.multiselect(key="line").select("dense").run()
    assert not app.exception
    assert "No change of latency in 1 configuration over 12 commits." in texts(app)


def test_the_address_says_which_configurations_are_drawn() -> None:
    assert "in 1 of 2 configurations" in texts(opened(view="Over commits", of="followed", line=["dense", "hashed"]))
    assert "No change" in texts(opened(view="Over commits", of="followed", at=f"dense{COMMITS[3]}-3"))
    assert "hashed is slower" in texts(opened(view="Over commits", of="gone"))


def test_a_sweep_with_nothing_to_follow_says_what_to_run() -> None:
    app = opened(view="Over commits")
    app.selectbox(key="of").select("lookup").run()
    assert not app.exception
    assert "python -m bench_engine run lookup --force" in texts(app)
    assert not app.get("plotly_chart")


def test_a_trial_leads_to_the_chart_of_its_configuration_and_back() -> None:
    trial = f"hashed{COMMITS[3]}-3"
    app = opened(trial=trial)
    (to,) = [p.proto for p in app.get("page_link") if "over commits" in p.proto.label]
    assert f"at={trial}" in to.query_string
    assert "of=followed" in to.query_string
    back = opened(trial=trial, view="Over commits", of="followed", line="hashed")
    (to,) = [p.proto for p in back.get("page_link") if p.proto.label == "Back to the chart"]
    assert "line=hashed" in to.query_string
    assert "trial=" not in to.query_string


def test_points_lead_to_their_trials_with_the_way_back(monkeypatch: pytest.MonkeyPatch) -> None:
    tables, show_of = [], points_view.show_of

    def seen(table: Table, *more: Any) -> None:
        tables.append(table)
        show_of(table, *more)

    monkeypatch.setattr(points_view, "show_of", seen)
    app = opened(view="Over commits", of="followed", line="hashed")
    app.session_state["over_commits_selected"] = points_view._Selected(tables[0], (2, 7), 2, 1)
    app.run()
    assert not app.exception
    assert "**2 trials** behind 2 points" in texts(app)
    ways = {p.proto.label.replace("\\", ""): p.proto.query_string for p in app.get("page_link")}
    one = ways[f"hashed hashed{COMMITS[7]}-7"]
    assert one.startswith(f"trial=hashed{COMMITS[7]}-7&view=Over+commits&of=followed")
    assert ways["Compare these 2"].count("trial=") == 2
    app.multiselect(key="line").select("dense").run()  # another chart: nothing of it is selected
    assert "behind 2 points" not in texts(app)


def test_a_trial_without_a_line_is_told(tmp_path: Path) -> None:
    Store(str(tmp_path / "x.duckdb")).add([run("small_dim", 3.0, COMMITS[0], 0, sweep="followed")])
    app = opened(view="Over commits", of="followed", at=f"small_dim{COMMITS[0]}-0")
    assert "The trial that led here is on no line" in texts(app)
    assert "is on no line" not in texts(opened(view="Over commits", of="followed", at=f"dense{COMMITS[3]}-3"))
