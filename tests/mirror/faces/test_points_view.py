"""Points of a chart lead to what is behind them, and from there to the pages of trials and back."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from page_driver import LIMIT_S, ROOT, ask, ask_page, texts
from streamlit.testing.v1 import AppTest

from mirror.answer.answering import ask as ask_about
from mirror.answer.answering import subject_of
from mirror.chart.chart_spec import ChartSpec
from mirror.chart.draw.figure import draw
from mirror.data.process.sandbox import Sandbox
from mirror.data.rows_behind import UntracedError
from mirror.faces.pages.points_view import _Selected
from mirror.schema.result_columns import result_table

QUESTION = "memory vs AUC at compression 0.1"
GROUPED = "average auc by method and dataset"


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch, results_file: Path) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("MIRROR_DB", str(results_file))


def carried(figure: Any) -> list[list[int]]:
    return [rows for trace in figure.data for rows in trace.customdata or ()]


def test_points_carry_the_places_of_their_rows_in_every_kind_of_chart() -> None:
    rows = [
        (("dense", "hashed")[i % 2], ("a", "b", "c")[i % 3], i // 6, float(i + 1) if i % 5 else None, i * 2.0)
        for i in range(24)
    ]
    table = result_table(("method", "dataset", "seed", "auc", "memory_mb"), rows)
    drawn = [i for i in range(24) if i % 5]
    kinds = (
        ChartSpec("scatter", x="seed", y="auc", color="method", facet="dataset"),
        ChartSpec("line", x="seed", y="auc", color="method", facet="dataset", log_y=True),
        ChartSpec("box", x="method", y="auc", facet="dataset"),
        ChartSpec("histogram", x="auc", color="method"),
        ChartSpec("parallel", color="method", metrics=("auc", "seed", "memory_mb")),
    )
    for chart in kinds:
        assert sorted({i for at in carried(draw(table, chart)) for i in at}) == drawn, chart.type
    single = result_table(("method", "dataset", "auc"), [(m, d, 0.5) for m in "ab" for d in "xyz"])
    for chart in (
        ChartSpec("heatmap", x="dataset", y="method", color="auc"),
        ChartSpec("bar", x="method", y="auc", facet="dataset"),
    ):
        assert sorted(carried(draw(single, chart))) == [[i] for i in range(6)], chart.type


def numbers(names: tuple[str, ...], row: Iterable[Any]) -> dict[str, Any]:
    return dict(zip(names, row, strict=True))


@pytest.mark.parametrize("question", [QUESTION, GROUPED, "memory vs auc pareto front", "how many trials failed?"])
def test_a_row_leads_to_as_many_trials_as_it_counts(box: Sandbox, question: str) -> None:
    answer = ask_about(question, sandbox=box)
    assert answer.table
    for place in (0, len(answer.table.rows) - 1):
        row = numbers(answer.table.names, answer.table.rows[place])
        found = subject_of(box).behind(answer, [place])
        assert found.total == row.get("n", row.get("trials", 1))
        assert found.trials
        for name in set(found.table.names) & set(row) - {"auc", "memory_mb"}:
            assert set(found.table.values(name)) == {row[name]}
    whole = subject_of(box).behind(answer, range(len(answer.table.rows)))
    tally = next((n for n in ("n", "trials") if n in answer.table.names), None)
    assert whole.total == (sum(answer.table.values(tally)) if tally else len(answer.table.rows))  # type: ignore[arg-type]


def test_a_result_that_comes_from_no_trial_says_so(box: Sandbox) -> None:
    answer = subject_of(box).run_sql("SELECT count(*) AS machines FROM machines")
    with pytest.raises((UntracedError, ValueError)):
        subject_of(box).behind(answer, [0])


def with_points(question: str, places: tuple[int, ...]) -> AppTest:
    app = ask(ask_page(), question)
    table = app.session_state["trail"].step.shown.table
    app.session_state["chart_selected"] = _Selected(table, places, len(places), 1)
    app.run()
    assert not app.exception
    return app


def ways(app: AppTest) -> dict[str, str]:
    return {e.proto.label.replace("\\", ""): e.proto.query_string for e in app.get("page_link") if e.proto.query_string}


def test_trials_behind_points_are_linked_with_the_way_back() -> None:
    app = with_points(GROUPED, (0,))
    assert "**3 trials** behind 1 point" in texts(app)
    found = ways(app)
    assert "Compare these 3" in found
    assert len(found) == 4
    assert found["Compare these 3"].count("trial=") == 3
    assert all("&q=average+auc+by+method+and+dataset" in query for query in found.values())
    ask(app, QUESTION)  # another answer: nothing of it is selected
    assert "behind 1 point" not in texts(app)


def test_many_trials_wait_to_be_selected() -> None:
    app = with_points(QUESTION, tuple(range(9)))
    assert "**9 trials** behind 9 points" in texts(app)
    assert "two to 6 to compare" in texts(app)
    assert not ways(app)
    app.button(key="chart_close").click().run()
    assert "behind 9 points" not in texts(app)


def test_points_of_sql_that_cannot_be_followed_say_so() -> None:
    app = with_points("SELECT 1 AS x, 2 AS y FROM range(3)", (0,))
    assert "made from no table" in texts(app) or "cannot be told from this SQL" in texts(app)


def runs_page() -> None:
    from mirror.faces.pages.runs import runs_page as shown

    shown.page()


def linked(*trials: str, **more: str) -> AppTest:
    app = AppTest.from_function(runs_page, default_timeout=LIMIT_S)
    app.query_params.update({"trial": list(trials), **more})  # type: ignore[dict-item]
    app.run()
    assert not app.exception
    return app


def test_a_link_opens_a_trial_or_compares_some_and_leads_back(box: Sandbox) -> None:
    ids = [str(row[0]) for row in box.run("SELECT trial_id FROM results ORDER BY trial_id LIMIT 2").rows]
    one = linked(ids[0], q=QUESTION)
    assert ids[0] in texts(one)
    assert "q=memory+vs+AUC+at+compression+0.1" in ways(one)["Back to the answer"]
    two = linked(*ids)
    assert "2 trials side by side" in texts(two)
    assert "Back to the answer" not in ways(two)
    assert "no trial “gone”" in texts(linked("gone"))
