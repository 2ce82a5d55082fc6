"""Columns of a CSV that are called as those of Mirror's results are: nothing of the results is said of them."""

from pathlib import Path

import pytest

from mirror import ask
from mirror.answer.answer import Answer
from mirror.chart.draw.figure import draw
from mirror.data.process.other_data_process import shared
from mirror.data.sources.location import find

COLUMNS = "seed,amount,payment,method,trial_id,auc,latency_us,n,count,baseline,machine,sweep,stddev_x,x,dataset,step"
ROWS = """1,10.5,card,post,1,0.1,5,3,4,yes,a,s1,0.5,1,d1,7
2,20.5,cash,post,2,0.2,6,3,5,no,b,s1,0.6,2,d2,8
3,90.0,card,van,3,0.3,7,2,6,yes,a,s2,0.7,3,d1,7
1,5.0,card,van,4,0.4,8,1,7,no,b,s2,0.8,4,d2,9
"""
OURS = {"trial", "trials", "configuration", "configurations", "baseline.", "AUC", "latency", "verdict", "deviation"}


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    path: Path = tmp_path_factory.mktemp("named") / "shop.csv"
    path.write_text(f"{COLUMNS}\n{ROWS}", encoding="utf-8")
    yield str(path)
    shared(find(str(path))).close()


def meant(question: str, shop: str) -> Answer:
    """The answer at once, or of the choice that says the question as it is asked."""
    first = ask(question, db=shop)
    if first.status != "ambiguous":
        return first
    said = question.replace("_", " ").lower()
    (choice,) = [c for c in first.suggestions if c.lower().removeprefix("show the ") == said]
    return ask(choice, db=shop, after=first)


@pytest.mark.parametrize(
    ("question", "chart", "x", "y"),
    [
        ("total amount by seed", "line", "seed", "total_amount"),
        ("total amount by method", "bar", "method", "total_amount"),
        ("average auc by method", "bar", "method", "average_auc"),
        ("total latency_us by machine", "bar", "machine", "total_latency_us"),
        ("total n by payment", "bar", "payment", "total_n"),
        ("total count by sweep", "bar", "sweep", "total_count"),
        ("average stddev_x by dataset", "bar", "dataset", "average_stddev_x"),
        ("SELECT method, n FROM shop WHERE seed = 1", "bar", "method", "n"),
        ("SELECT payment, sum(count) AS count FROM shop GROUP BY payment", "bar", "payment", "count"),
        ("SELECT auc, latency_us FROM shop", "scatter", "auc", "latency_us"),
        ("SELECT x, stddev_x FROM shop", "line", "x", "stddev_x"),
        ("SELECT seed, auc, trial_id FROM shop", "scatter", "seed", "auc"),
    ],
)
def test_a_question_about_such_columns_has_a_chart_and_speaks_of_rows(shop, question, chart, x, y):
    answer = meant(question, shop)
    assert answer.status == "answered"
    assert (answer.chart.type, answer.chart.x, answer.chart.y) == (chart, x, y)
    assert draw(answer.table, answer.chart) is not None
    assert not answer.chart.pareto
    assert "row" in answer.summary
    assert not OURS & set(answer.summary.replace("latency us", "").replace("stddev x", "").split())


def test_the_ends_of_rows_without_a_key_are_those_of_the_rows(shop):
    answer = ask("SELECT seed, amount FROM shop", db=shop)
    assert answer.summary == "Seed from 1 to 3 and amount from 5 to 90. 4 rows."
