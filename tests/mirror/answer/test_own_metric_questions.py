"""Metrics of plug-ins are asked for like any other, by their names and in words, with no plug-in named."""

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from measured_records import record, stored

from mirror.answer.answering import ask
from mirror.answer.results import Results
from mirror.data.process.sandbox import Sandbox
from mirror.query.spec_json import json_schema, to_short_json
from mirror.schema import catalog, own_metrics
from mirror.schema.views import KNOWN_COLUMNS

SAID = {
    "precision_at_100": {"text": "clicks among the first 100", "unit": "", "better": "higher"},
    "norm_spread": {"text": "largest norm over the smallest", "unit": "", "better": ""},
}
FOUND = {"dense": (0.81, 2.5), "hashed": (0.79, 3.5)}


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    trials = []
    for method, values in FOUND.items():
        axes = {"dataset": "frappe", "compression": 1.0 if method == "dense" else 0.5, "embedding_dim": 16, "seed": 0}
        made = record("training", method, axes, {"auc": 0.75, "memory_mb": 2.0})
        points = tuple((name, 0, value) for name, value in zip(SAID, values, strict=True))
        trials.append(replace(made, curves=(("loss", 1, 0.5), *points), own_metrics=SAID))
    with Sandbox(stored(trials, tmp_path_factory.mktemp("own"))) as sandbox:
        yield sandbox
    own_metrics.know(())


@pytest.mark.parametrize(
    ("question", "column", "first"),
    [
        ("precision_at_100 by method", "precision_at_100", 0.81),
        ("Precision at 100 by method", "precision_at_100", 0.81),
        ("norm_spread by method", "norm_spread", 2.5),
        ("final norm_spread by method", "norm_spread", 2.5),
        ("which method has the best precision_at_100?", "precision_at_100", 0.81),
        ("highest norm spread", "norm_spread", 3.5),
        ("precision_at_100 vs auc", "precision_at_100", 0.81),
        ("memory and precision_at_100 by method", "precision_at_100", 0.81),
        ("methods with precision_at_100 above 0.8", "precision_at_100", 0.81),
        ("methods with precision_at_100 below 0.8", "precision_at_100", 0.79),
        ("SELECT norm_spread FROM results ORDER BY norm_spread", "norm_spread", 2.5),
    ],
)
def test_a_question_names_one(box: Sandbox, question: str, column: str, first: float) -> None:
    answer = ask(question, box)
    assert answer.status == "answered", answer.summary
    assert answer.table
    assert answer.table.values(column)[0] == first
    assert answer.table.column(column).role == "metric"


def test_what_is_best_is_not_guessed(box: Sandbox) -> None:
    answer = ask("best norm_spread by method", box)
    assert answer.status == "refused"
    assert "Whether a higher or a lower norm spread is better is not known" in answer.summary


def test_what_it_means_is_told(box: Sandbox) -> None:
    assert "is the clicks among the first 100; higher is better" in ask("what is precision at 100?", box).summary


def test_other_results_do_not_have_them(box: Sandbox, tmp_path: Path) -> None:
    box.schema()
    assert "norm_spread" in catalog.entries()
    assert "norm_spread" in KNOWN_COLUMNS["results"]
    assert "norm_spread" in str(json_schema())
    assert "norm_spread" not in box.schema().curves
    with Sandbox(stored([record("training", "dense", {"dataset": "frappe"}, {"auc": 0.7})], tmp_path)) as other:
        other.schema()
        assert "norm_spread" not in catalog.entries()
        assert "norm_spread" not in KNOWN_COLUMNS["results"]
        assert ask("norm_spread by method", other).status != "answered"
    assert ask("norm_spread by method", box).status == "answered"


def test_each_thread_knows_the_metrics_of_its_own_results(box: Sandbox) -> None:
    """Two people, of whom the second opens other results in the middle of the first one's work."""
    ask("precision_at_100 by method", box)
    other = threading.Thread(target=lambda: own_metrics.know((("recall", "found", "", "higher"),)))
    other.start()
    other.join()
    assert [c.name for c in own_metrics.known()] == ["norm_spread", "precision_at_100"]


def test_sql_and_kept_forms_know_the_metrics_of_their_results(box: Sandbox) -> None:
    asked = ask("which method has the best precision_at_100?", box)
    own_metrics.know(())
    answer = Results(box, None).run_sql("SELECT method, norm_spread FROM results ORDER BY 2")
    assert answer.table
    assert answer.table.column("norm_spread").role == "metric"
    own_metrics.know(())
    assert asked.asked
    kept = json.loads(json.dumps(to_short_json(asked.asked)))
    assert Results(box, None).of_form(asked.question, kept).status == "answered"
