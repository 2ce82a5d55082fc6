"""The paraphrases: their golds can be met, their fixtures are fair to them, and how they are chosen."""

import argparse
import itertools
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from mirror.answer.answer import Answer
from mirror.data.process.sandbox import Sandbox
from mirror.evaluation import runner
from mirror.evaluation.eval_command import add_parser, evaluate
from mirror.evaluation.fixture_trials import build
from mirror.evaluation.fixtures import Fixture, Varied, fixtures
from mirror.evaluation.golds import Golds
from mirror.evaluation.questions import PERSONAS, Gold, Question, QuestionError, load
from mirror.evaluation.runner import Scored
from mirror.evaluation.scoring import GoldAnswers, Outcome, score
from mirror.query.spec import Filter, Metric, QuerySpec
from mirror.schema.result_columns import result_table
from mirror.table.table import Table

FIXTURES = fixtures("paraphrases")
ECHO, FOXTROT, GOLF, HOTEL = FIXTURES
QUESTIONS = load("paraphrases")
ANSWERED = [q for q in QUESTIONS if q.expect == "answered"]
# Of these axes no words speak, outside the fixtures made for them.
SILENT_AXES = (
    "split", "device", "num_rows", "block_size", "num_chunks", "prune_interval", "decay", "prune_scope",
    "utility_score", "layout", "pooling_mode", "bag_size", "bag_sizes", "structure", "model", "zipf_s", "output",
)  # fmt: skip


@pytest.fixture(scope="module")
def golds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Golds]]:
    folder: Path = tmp_path_factory.mktemp("fixtures")
    opened = {fixture.name: Golds(build(fixture, folder)) for fixture in FIXTURES}
    yield opened
    for gold in opened.values():
        gold.close()


# -- the questions -----------------------------------------------------------------------------------------------------


def test_how_many_there_are() -> None:
    assert len(QUESTIONS) == 200
    assert set(Counter(q.persona for q in QUESTIONS)) == set(PERSONAS)
    assert min(Counter(q.persona for q in QUESTIONS).values()) >= 60
    assert {"answered", "refused", "ambiguous"} == {q.expect for q in QUESTIONS}


def test_about_half_of_each_persona_is_held_out() -> None:
    for persona in PERSONAS:
        of = [q.held_out for q in QUESTIONS if q.persona == persona]
        assert 0.4 < sum(of) / len(of) < 0.6


@pytest.mark.parametrize("question", ANSWERED, ids=lambda q: q.id)
def test_golds_can_be_met_and_listed(question: Question, golds: dict[str, Golds]) -> None:
    """Of every fixture of which it is asked there is an answer, short enough to be shown, and that answer is right."""
    for fixture in question.fixtures:
        shown = [golds[fixture].table(g.sql) for g in question.golds]
        assert any(t.rows for t in shown)
        for table in shown:
            assert len(table.rows) <= 1000
            if table.rows:
                answer = Answer("answered", "?", table=table)
                assert score(GoldAnswers(question, golds[fixture]), answer, fixture).why == ""


def test_a_gold_of_one_fixture_is_wrong_of_the_other(golds: dict[str, Golds]) -> None:
    """Where something is measured; names and counts may be the same."""
    for question in ANSWERED:
        if question.fixtures != ("echo", "foxtrot") or "avg(" not in question.golds[0].sql:
            continue
        answer = Answer("answered", "?", table=golds["echo"].table(question.golds[0].sql))
        assert score(GoldAnswers(question, golds["foxtrot"]), answer, "foxtrot").verdict == "wrong", question.id


def _written(folder: Path, n: int = 1, **more: object) -> Path:
    entry = {"id": "q1", "persona": "engineer", "ask": "?", "golds": ["SELECT 1"], **more}
    file = {"category": "paraphrase", "silent": {"direction": "forward", "cache": "warm"}, "must": []}
    file["questions"] = [{k: v for k, v in entry.items() if v is not None}] * n
    (folder / "paraphrases.yaml").write_text(yaml.safe_dump(file))
    return folder


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"gold": []}, "gold: Unexpected keyword argument"),
        ({"persona": "poet"}, "persona: Input should be '', 'researcher'.* not 'poet'"),
        ({"expect": "sing"}, "expect: Input should be 'answered'.* not 'sing'"),
        ({"also": ["sung"]}, "also.0"),
        ({"golds": None}, "has no gold"),
        ({"expect": "ambiguous"}, "has golds and expects no answer"),
        ({"fixtures": ["omega"]}, "a fixture that there is not: omega"),
        ({"ask": None}, "lacks a key"),
        ({"id": None}, "id: Field required"),
    ],
)
def test_a_question_that_cannot_be_used(more: dict[str, object], why: str, tmp_path: Path) -> None:
    with pytest.raises(QuestionError, match=why):
        load("paraphrases", _written(tmp_path, **more))


def test_two_of_one_id(tmp_path: Path) -> None:
    with pytest.raises(QuestionError, match="two questions are called q1"):
        load("paraphrases", _written(tmp_path, 2))


def test_columns_that_must_be_shown(tmp_path: Path) -> None:
    (question,) = load("paraphrases", _written(tmp_path, must=["dataset", "n"]))
    (gold,) = question.golds
    assert "machine" in gold.keys
    assert not {"dataset", "method"} & gold.keys
    assert not gold.replicates
    assert Gold("", must=frozenset()).replicates
    assert not Gold("").keys


def test_what_a_silent_question_means(tmp_path: Path) -> None:
    def silent(words: str) -> dict[str, object]:
        return dict(load("paraphrases", _written(tmp_path, ask=words))[0].silent)

    assert silent("lookup latency of dense") == {"direction": "forward", "cache": "warm"}
    assert silent("fwd+bwd over fwd") == {"cache": "warm"}
    assert silent("cold vs warm cache") == {"direction": "forward"}


# -- the fixtures ------------------------------------------------------------------------------------------------------


def test_silent_axes_have_one_value(golds: dict[str, Golds]) -> None:
    counts = ", ".join(f"count(DISTINCT {axis}) AS {axis}" for axis in SILENT_AXES)
    for fixture in (ECHO, FOXTROT):
        table = golds[fixture.name].table(
            f"SELECT {counts} FROM results WHERE split IS DISTINCT FROM 'validation' GROUP BY benchmark"
        )
        assert len(table.rows) == 4
        assert max(itertools.chain(*table.rows)) == 1  # type: ignore[type-var]
        curves = "SELECT count(DISTINCT batch_size), count(DISTINCT threads) FROM results WHERE benchmark = 'training'"
        assert golds[fixture.name].table(curves).rows == ((1, 1),)
        assert not golds[fixture.name].table("SELECT 1 FROM curves WHERE split = 'validation'").rows


@pytest.mark.parametrize(
    ("fixture", "varied"),
    [pytest.param(f, v, id=v.axis) for f in (GOLF, HOTEL) for v in f.varied],
)
def test_no_two_axes_are_varied_of_the_same_lookups(fixture: Fixture, varied: Varied, golds: dict[str, Golds]) -> None:
    where = " AND ".join(f"{column} = {value!r}" for column, value in varied.where.items())
    others = [v.axis for v in fixture.varied if v != varied]
    counts = ", ".join(f"count(DISTINCT {axis})" for axis in (varied.axis, *others))
    ((own, *rest),) = golds[fixture.name].table(f"SELECT {counts} FROM results WHERE {where}").rows
    assert own == len(varied.values) + 1
    assert set(rest) <= {0, 1}


def test_winners_differ(golds: dict[str, Golds]) -> None:
    winner = (
        "SELECT method FROM cfg WHERE dataset = '{}' AND compression = 0.1 AND embedding_dim = 16 "
        "AND machine = 'server' QUALIFY rank() OVER (ORDER BY auc DESC) = 1"
    )
    for dataset in ECHO.data:
        echo, foxtrot = (golds[name].table(winner.format(dataset)).rows for name in ("echo", "foxtrot"))
        assert echo != foxtrot, dataset


# -- what is right -----------------------------------------------------------------------------------------------------

BY_SIZE = (
    "SELECT method, compression, embedding_dim, machine, avg(auc) AS auc, count(*) AS n FROM results WHERE benchmark = "
    "'training' AND split = 'test' AND dataset = 'frappe' AND method IN ('fiited', 'hashed') GROUP BY ALL"
)
GOLD = Gold(BY_SIZE, must=frozenset(), of="results")
QUESTION = Question("q", "paraphrase", "?", golds=(GOLD,))


def verdict(question: Question, table: Table, golds: dict[str, Golds], **more: object) -> Outcome:
    answer = Answer("answered", "?", table=table, **more)  # type: ignore[arg-type]
    return score(GoldAnswers(question, golds["echo"]), answer, "echo")


def test_replicates_and_what_decides_nothing_may_be_missing(golds: dict[str, Golds]) -> None:
    bare = golds["echo"].table(BY_SIZE.replace("machine, avg", "avg").replace(", count(*) AS n", ""))
    assert verdict(QUESTION, bare, golds).verdict == "right"
    told = golds["echo"].table(BY_SIZE.replace("SELECT method, ", "SELECT "))
    assert verdict(QUESTION, told, golds).verdict == "wrong"
    unnamed = golds["echo"].table(BY_SIZE.replace("compression, embedding_dim", "min(started_at), embedding_dim"))
    assert verdict(QUESTION, unnamed, golds).verdict == "wrong"


def test_a_count_that_was_asked_for_is_needed(golds: dict[str, Golds]) -> None:
    counted = Question("q", "paraphrase", "?", golds=(replace(GOLD, sql="SELECT count(*) AS n FROM results"),))
    assert verdict(counted, golds["echo"].table("SELECT count(*) FROM history"), golds).verdict == "wrong"
    assert verdict(counted, golds["echo"].table("SELECT count(*) AS trials FROM results"), golds).verdict == "right"


def test_one_row_of_keys_is_what_was_asked_for(golds: dict[str, Golds]) -> None:
    sql = "SELECT machine FROM results GROUP BY ALL ORDER BY count(*) DESC LIMIT 1"
    asked = Question("q", "paraphrase", "?", golds=(replace(GOLD, sql=sql),))
    assert verdict(asked, result_table(("machine",), (("server",),)), golds).verdict == "right"
    assert verdict(asked, result_table(("machine",), (("laptop",),)), golds).verdict == "wrong"


def test_columns_that_may_be_left_out(golds: dict[str, Golds]) -> None:
    sql = BY_SIZE.replace("avg(auc) AS auc", "avg(auc) AS auc, avg(memory_mb) AS memory_mb")
    strict = Question("q", "paraphrase", "?", golds=(replace(GOLD, sql=sql),))
    loose = Question("q", "paraphrase", "?", golds=(replace(GOLD, sql=sql, aside=frozenset({"memory_mb"})),))
    shown = golds["echo"].table(BY_SIZE)
    assert verdict(strict, shown, golds).verdict == "wrong"
    assert verdict(loose, shown, golds).verdict == "right"


def test_a_difference_the_other_way_round(golds: dict[str, Golds]) -> None:
    sql = "SELECT method, avg(auc) - 0.9 AS gap FROM results WHERE dataset = 'frappe' GROUP BY ALL"
    turned = golds["echo"].table(sql.replace("avg(auc) - 0.9", "0.9 - avg(auc)"))
    one_way = Question("q", "paraphrase", "?", golds=(replace(GOLD, sql=sql),))
    either = Question("q", "paraphrase", "?", golds=(replace(GOLD, sql=sql, either_sign=frozenset({"gap"})),))
    assert verdict(one_way, turned, golds).verdict == "wrong"
    assert verdict(either, turned, golds).verdict == "right"


LOOKUPS = (
    "SELECT method, compression, {}batch_size, threads, embedding_dim, machine, avg(latency_us) AS latency_us FROM "
    "results WHERE benchmark = 'lookup' AND method = 'dense'{} GROUP BY ALL"
)


def test_an_answer_that_shows_more_than_a_silent_question_means(golds: dict[str, Golds]) -> None:
    gold = replace(GOLD, sql=LOOKUPS.format("", " AND direction = 'forward' AND cache = 'warm'"))
    asked = Question("q", "paraphrase", "?", golds=(gold,), silent={"direction": "forward", "cache": "warm"})
    more = golds["echo"].table(LOOKUPS.format("direction, cache, ", ""))
    assert verdict(asked, more, golds).verdict == "right"
    assert verdict(replace(asked, silent={"cache": "warm"}), more, golds).verdict == "wrong"
    mixed = golds["echo"].table(LOOKUPS.format("cache, ", ""))  # both directions in one mean
    assert verdict(asked, mixed, golds).verdict == "wrong"


def test_an_axis_that_an_answer_fixed_and_named(golds: dict[str, Golds]) -> None:
    fixed = golds["echo"].table(BY_SIZE.replace("GROUP BY", "AND embedding_dim = 16 GROUP BY"))
    spec = QuerySpec("groups", metrics=(Metric("auc", "avg"),), filters=(Filter("embedding_dim", "=", (16,)),))
    told = verdict(QUESTION, fixed, golds, spec=spec, read_as="mean AUC at dim 16")
    assert (told.verdict, told.narrowed) == ("right", True)
    assert verdict(QUESTION, fixed, golds, spec=spec, read_as="mean AUC").verdict == "wrong"


def test_charts_are_not_judged(golds: dict[str, Golds]) -> None:
    assert verdict(QUESTION, golds["echo"].table(BY_SIZE), golds).chart is None


def test_the_fixtures_can_be_asked_of_the_product(tmp_path: Path) -> None:
    with Sandbox(str(build(GOLF, tmp_path))) as sandbox:
        assert sandbox.run("SELECT count(DISTINCT zipf_s) FROM results").rows == ((4,),)


# -- the command -------------------------------------------------------------------------------------------------------


def command(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_parser(parser.add_subparsers())
    return parser.parse_args(["eval", *words])


@pytest.mark.parametrize("option", ["--persona", "--voice"])  # the latter is what it was called before
def test_the_command(option: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    heard: list[tuple[Sequence[Question], Sequence[object]]] = []

    def run(questions: Sequence[Question], engine: str, fixtures: Sequence[object], progress: object) -> list[Scored]:
        heard.append((questions, fixtures))
        return [Scored(q, (Outcome(q.id, "echo", "refused", "because"),), (0.01,)) for q in questions]

    monkeypatch.setattr(runner, "run", run)
    given = ("--set", "paraphrases", option, "newcomer", "--questions", "open")
    assert evaluate(command(*given, "--json")) == 0
    ((questions, asked),) = heard
    assert asked == FIXTURES
    assert questions == [q for q in QUESTIONS if q.persona == "newcomer" and not q.held_out]
    assert json.loads(capsys.readouterr().out)["tallies"][0]["refused"] == len(questions)
    assert evaluate(command(*given, "--failures")) == 0
    assert f"  {questions[0].id}  {questions[0].ask}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (("--set", "paraphrases", "--persona", "poet"), "There is no persona 'poet': name one of researcher"),
        (("--set", "paraphrases", "--category", "pareto"), "choose one with --persona"),
        (("--persona", "newcomer"), "add --set paraphrases"),
    ],
)
def test_what_cannot_be_chosen_is_a_sentence(
    given: tuple[str, ...], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evaluate(command(*given)) == 1
    assert why in capsys.readouterr().err
