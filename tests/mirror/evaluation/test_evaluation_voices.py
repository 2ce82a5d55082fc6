"""The paraphrases: their golds can be met, their worlds are fair to them, and what is counted of them."""

import argparse
import itertools
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from mirror.ask.answer import Answer
from mirror.data.process.sandbox import Sandbox
from mirror.evaluation import runner
from mirror.evaluation.command import add_parser, evaluate
from mirror.evaluation.databases import Golds, build
from mirror.evaluation.questions import Gold, Question, QuestionError
from mirror.evaluation.runner import Scored
from mirror.evaluation.scoring import Outcome, Rights, Verdict, score
from mirror.evaluation.voices import VOICES, load_voices
from mirror.evaluation.voices_report import voices_as_json, voices_as_text
from mirror.evaluation.voices_trials import voices_records
from mirror.evaluation.voices_worlds import COMMON, GOLF, HOTEL, VOICES_WORLDS, Varied, VoicesWorld
from mirror.query.spec import Filter, Metric, QuerySpec
from mirror.schema.result_columns import result_table
from mirror.table.table import Table

QUESTIONS = load_voices()
ANSWERED = [q for q in QUESTIONS if q.expect == "answered"]
# Of these axes no words speak, outside the worlds made for them.
SILENT_AXES = (
    "split", "device", "num_rows", "block_size", "num_chunks", "prune_interval", "decay", "prune_scope",
    "utility_score", "layout", "pooling_mode", "bag_size", "bag_sizes", "structure", "model", "zipf_s", "output",
)  # fmt: skip


@pytest.fixture(scope="module")
def golds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Golds]]:
    folder: Path = tmp_path_factory.mktemp("worlds")
    opened = {world.name: Golds(build(world, folder)) for world in VOICES_WORLDS}
    yield opened
    for gold in opened.values():
        gold.close()


# -- the questions -----------------------------------------------------------------------------------------------------


def test_how_many_there_are() -> None:
    assert len(QUESTIONS) == 200
    assert set(Counter(q.category for q in QUESTIONS)) == set(VOICES)
    assert min(Counter(q.category for q in QUESTIONS).values()) >= 60
    assert {"answered", "refused", "ambiguous"} == {q.expect for q in QUESTIONS}


def test_about_half_of_each_voice_is_held_out() -> None:
    for voice in VOICES:
        of = [q.held_out for q in QUESTIONS if q.category == voice]
        assert 0.4 < sum(of) / len(of) < 0.6


@pytest.mark.parametrize("question", ANSWERED, ids=lambda q: q.id)
def test_golds_can_be_met_and_listed(question: Question, golds: dict[str, Golds]) -> None:
    """In every world where it is asked there is an answer, short enough to be shown, and that answer is right."""
    for world in question.worlds:
        shown = [golds[world].table(g.sql) for g in question.golds]
        assert any(t.rows for t in shown)
        for table in shown:
            assert len(table.rows) <= 1000
            if table.rows:
                assert score(Rights(question, golds[world]), Answer("answered", "?", table=table), world).why == ""


def test_a_gold_of_one_world_is_wrong_in_the_other(golds: dict[str, Golds]) -> None:
    """Where something is measured; names and counts may be the same."""
    echo, foxtrot = (w.name for w in COMMON)
    for question in ANSWERED:
        if question.worlds != (echo, foxtrot) or "avg(" not in question.golds[0].sql:
            continue
        answer = Answer("answered", "?", table=golds[echo].table(question.golds[0].sql))
        assert score(Rights(question, golds[foxtrot]), answer, foxtrot).verdict == "wrong", question.id


def _written(folder: Path, **more: object) -> Path:
    entry = {"id": "q1", "voice": "engineer", "question": "?", "expect": "answer", "means": ["SELECT 1"], **more}
    file = folder / "a.yaml"
    file.write_text(yaml.safe_dump([{k: v for k, v in entry.items() if v is not None}]))
    return file


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"gold": []}, "the key 'gold'"),
        ({"voice": "poet"}, "a voice that there is not: poet"),
        ({"expect": "sing"}, "expects what there is not"),
        ({"also": ["refused"]}, "expects what there is not"),
        ({"means": None}, "expects an answer without saying which"),
        ({"expect": "ask"}, "or the other way round"),
        ({"worlds": ["omega"]}, "a world that there is not: omega"),
        ({"voice": None}, "lacks a key"),
    ],
)
def test_a_question_that_cannot_be_used(more: dict[str, object], why: str, tmp_path: Path) -> None:
    with pytest.raises(QuestionError, match=why):
        load_voices(_written(tmp_path, **more))


def test_two_of_one_id(tmp_path: Path) -> None:
    file = _written(tmp_path)
    file.write_text(file.read_text() * 2)
    with pytest.raises(QuestionError, match="two questions are called q1"):
        load_voices(file)


def test_what_a_silent_question_means(tmp_path: Path) -> None:
    def silent(words: str) -> dict[str, object]:
        return dict(load_voices(_written(tmp_path, question=words))[0].silent)

    assert silent("lookup latency of dense") == {"direction": "forward", "cache": "warm"}
    assert silent("fwd+bwd over fwd") == {"cache": "warm"}
    assert silent("cold vs warm cache") == {"direction": "forward"}


# -- the worlds --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("world", VOICES_WORLDS, ids=lambda w: w.name)
def test_records_are_whole_and_always_the_same(world: VoicesWorld) -> None:
    first, again = voices_records(world), voices_records(world)
    assert [r.to_json() for r in first] == [r.to_json() for r in again]
    assert len({r.trial_id for r in first}) == len(first)
    for record in first:
        record.check()


def test_silent_axes_have_one_value(golds: dict[str, Golds]) -> None:
    counts = ", ".join(f"count(DISTINCT {axis}) AS {axis}" for axis in SILENT_AXES)
    for world in COMMON:
        table = golds[world.name].table(
            f"SELECT {counts} FROM results WHERE split IS DISTINCT FROM 'validation' GROUP BY benchmark"
        )
        assert len(table.rows) == 4
        assert max(itertools.chain(*table.rows)) == 1  # type: ignore[type-var]
        curves = "SELECT count(DISTINCT batch_size), count(DISTINCT threads) FROM results WHERE benchmark = 'training'"
        assert golds[world.name].table(curves).rows == ((1, 1),)
        assert not golds[world.name].table("SELECT 1 FROM curves WHERE split = 'validation'").rows


@pytest.mark.parametrize(
    ("world", "varied"),
    [pytest.param(w, v, id=v.axis) for w in (GOLF, HOTEL) for v in w.varied],
)
def test_no_two_axes_are_varied_of_the_same_lookups(
    world: VoicesWorld, varied: Varied, golds: dict[str, Golds]
) -> None:
    where = " AND ".join(f"{column} = {value!r}" for column, value in varied.where.items())
    others = [v.axis for v in world.varied if v != varied]
    counts = ", ".join(f"count(DISTINCT {axis})" for axis in (varied.axis, *others))
    ((own, *rest),) = golds[world.name].table(f"SELECT {counts} FROM results WHERE {where}").rows
    assert own == len(varied.values) + 1
    assert set(rest) <= {0, 1}


def test_winners_differ(golds: dict[str, Golds]) -> None:
    winner = (
        "SELECT method FROM cfg WHERE dataset = '{}' AND compression = 0.1 AND embedding_dim = 16 "
        "AND machine = 'server' QUALIFY rank() OVER (ORDER BY auc DESC) = 1"
    )
    for dataset in COMMON[0].data:
        echo, foxtrot = (golds[w.name].table(winner.format(dataset)).rows for w in COMMON)
        assert echo != foxtrot, dataset


# -- what is right -----------------------------------------------------------------------------------------------------

TELLING = frozenset(("dataset", "embedding_dim", "machine", "direction", "compression"))
BY_SIZE = (
    "SELECT method, compression, embedding_dim, machine, avg(auc) AS auc, count(*) AS n FROM results WHERE benchmark = "
    "'training' AND split = 'test' AND dataset = 'frappe' AND method IN ('fiited', 'hashed') GROUP BY ALL"
)
GOLD = Gold(BY_SIZE, keys=TELLING, replicates=True, of="results")
QUESTION = Question("q", "engineer", "?", golds=(GOLD,))


def verdict(question: Question, table: Table, golds: dict[str, Golds], **more: object) -> Outcome:
    answer = Answer("answered", "?", table=table, **more)  # type: ignore[arg-type]
    return score(Rights(question, golds["echo"]), answer, "echo")


def test_replicates_and_what_decides_nothing_may_be_missing(golds: dict[str, Golds]) -> None:
    bare = golds["echo"].table(BY_SIZE.replace("machine, avg", "avg").replace(", count(*) AS n", ""))
    assert verdict(QUESTION, bare, golds).verdict == "right"
    told = golds["echo"].table(BY_SIZE.replace("SELECT method, ", "SELECT "))
    assert verdict(QUESTION, told, golds).verdict == "wrong"
    unnamed = golds["echo"].table(BY_SIZE.replace("compression, embedding_dim", "min(started_at), embedding_dim"))
    assert verdict(QUESTION, unnamed, golds).verdict == "wrong"


def test_a_count_that_was_asked_for_is_needed(golds: dict[str, Golds]) -> None:
    counted = Question("q", "engineer", "?", golds=(replace(GOLD, sql="SELECT count(*) AS n FROM results"),))
    assert verdict(counted, golds["echo"].table("SELECT count(*) FROM history"), golds).verdict == "wrong"
    assert verdict(counted, golds["echo"].table("SELECT count(*) AS trials FROM results"), golds).verdict == "right"


def test_one_row_of_keys_is_what_was_asked_for(golds: dict[str, Golds]) -> None:
    sql = "SELECT machine FROM results GROUP BY ALL ORDER BY count(*) DESC LIMIT 1"
    asked = Question("q", "engineer", "?", golds=(replace(GOLD, sql=sql),))
    assert verdict(asked, result_table(("machine",), (("server",),)), golds).verdict == "right"
    assert verdict(asked, result_table(("machine",), (("laptop",),)), golds).verdict == "wrong"


def test_columns_that_may_be_left_out(golds: dict[str, Golds]) -> None:
    sql = BY_SIZE.replace("avg(auc) AS auc", "avg(auc) AS auc, avg(memory_mb) AS memory_mb")
    strict = Question("q", "engineer", "?", golds=(replace(GOLD, sql=sql),))
    loose = Question("q", "engineer", "?", golds=(replace(GOLD, sql=sql, aside=frozenset({"memory_mb"})),))
    shown = golds["echo"].table(BY_SIZE)
    assert verdict(strict, shown, golds).verdict == "wrong"
    assert verdict(loose, shown, golds).verdict == "right"


def test_a_difference_the_other_way_round(golds: dict[str, Golds]) -> None:
    sql = "SELECT method, avg(auc) - 0.9 AS gap FROM results WHERE dataset = 'frappe' GROUP BY ALL"
    turned = golds["echo"].table(sql.replace("avg(auc) - 0.9", "0.9 - avg(auc)"))
    one_way = Question("q", "engineer", "?", golds=(replace(GOLD, sql=sql),))
    either = Question("q", "engineer", "?", golds=(replace(GOLD, sql=sql, either_sign=frozenset({"gap"})),))
    assert verdict(one_way, turned, golds).verdict == "wrong"
    assert verdict(either, turned, golds).verdict == "right"


LOOKUPS = (
    "SELECT method, compression, {}batch_size, threads, embedding_dim, machine, avg(latency_us) AS latency_us FROM "
    "results WHERE benchmark = 'lookup' AND method = 'dense'{} GROUP BY ALL"
)


def test_an_answer_that_shows_more_than_a_silent_question_means(golds: dict[str, Golds]) -> None:
    keys = TELLING | {"batch_size", "threads", "cache"}
    gold = replace(GOLD, sql=LOOKUPS.format("", " AND direction = 'forward' AND cache = 'warm'"), keys=keys)
    asked = Question("q", "engineer", "?", golds=(gold,), silent={"direction": "forward", "cache": "warm"})
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


def test_the_worlds_can_be_asked_of_the_product(tmp_path: Path) -> None:
    with Sandbox(str(build(GOLF, tmp_path))) as sandbox:
        assert sandbox.run("SELECT count(DISTINCT zipf_s) FROM results").rows == ((4,),)


# -- the report and the command ----------------------------------------------------------------------------------------


def scored(id: str, voice: str, *verdicts: Verdict, held_out: bool = False) -> Scored:
    outcomes = tuple(Outcome(id, f"w{i}", v, "" if v == "right" else "because") for i, v in enumerate(verdicts))
    question = Question(id, voice, f"words of {id}", held_out=held_out)
    return Scored(question, outcomes, tuple(0.01 for _ in verdicts))


FOUND = (
    scored("a", "researcher", "right", "right"),
    scored("b", "researcher", "right", "wrong", held_out=True),
    scored("c", "newcomer", "refused"),
    scored("d", "newcomer", "asked back", held_out=True),
    scored("e", "newcomer", "error"),
)


def test_counts() -> None:
    tallies = {(t["half"], t["voice"]): t for t in voices_as_json(FOUND, "grammar")["tallies"]}
    kinds = ("right", "refused", "wrong")
    assert [tallies["all", ""][k]["count"] for k in kinds] == [1, 2, 1]
    assert [tallies["all", "newcomer"][k]["count"] for k in kinds] == [0, 2, 0]
    assert [tallies["held-out half", ""][k]["count"] for k in kinds] == [0, 1, 1]
    assert tallies["open half", "newcomer"]["errors"] == 1
    assert ("all", "engineer") not in tallies
    assert tallies["all", ""]["right"]["low"] == pytest.approx(0.0362, abs=1e-4)
    assert sum(t["n"] for (_, voice), t in tallies.items() if not voice) == 2 * len(FOUND)


def test_the_text_names_no_question_that_is_held_out() -> None:
    text = voices_as_text(FOUND, "grammar")
    assert [line.split()[0] for line in text.splitlines() if line.startswith("  re")] == ["researcher"] * 3
    assert "held-out half" in text
    assert [f["id"] for f in voices_as_json(FOUND, "grammar")["failures"]] == ["c", "e"]


def test_nothing_asked() -> None:
    assert "  0    0      - [0%, 100%]" in voices_as_text((), "grammar")


def command(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_parser(parser.add_subparsers())
    return parser.parse_args(["eval", *words])


def test_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    heard: list[tuple[Sequence[Question], Sequence[object]]] = []

    def run(questions: Sequence[Question], engine: str, worlds: Sequence[object], progress: object) -> list[Scored]:
        heard.append((questions, worlds))
        return [scored(q.id, q.category, "refused", held_out=q.held_out) for q in questions]

    monkeypatch.setattr(runner, "run", run)
    given = ("--set", "paraphrases", "--voice", "newcomer", "--questions", "open")
    assert evaluate(command(*given, "--json")) == 0
    ((questions, worlds),) = heard
    assert worlds == VOICES_WORLDS
    assert questions == [q for q in QUESTIONS if q.category == "newcomer" and not q.held_out]
    assert json.loads(capsys.readouterr().out)["tallies"][0]["refused"]["count"] == len(questions)
    assert evaluate(command(*given, "--failures")) == 0
    assert f"words of {questions[0].id}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (("--set", "paraphrases", "--voice", "poet"), "There is no voice 'poet': name one of researcher"),
        (("--set", "paraphrases", "--category", "pareto"), "choose one with --voice"),
        (("--voice", "newcomer"), "add --set paraphrases"),
    ],
)
def test_what_cannot_be_chosen_is_a_sentence(
    given: tuple[str, ...], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evaluate(command(*given)) == 1
    assert why in capsys.readouterr().err
