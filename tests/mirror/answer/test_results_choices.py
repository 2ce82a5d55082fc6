"""Questions over the results in unseen words: what is answered at once, and choices, each taken as it was meant."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from db.journal import open_results
from mirror.answer.answering import ask, explain
from mirror.answer.results_policy import unlike
from mirror.data.process.sandbox import Sandbox
from mirror.evaluation.fixtures import NOW
from mirror.language.neural.results_reader import ResultsReading
from mirror.language.ranking import results_decision
from mirror.language.ranking.results_decision import answered_at_once, hang_on_rows, nothing_of_it, shown, told_beside
from mirror.language.ranking.results_evidence import ResultsCandidate
from mirror.language.ranking.results_readings import readings_to_decide, results_readings
from mirror.query.errors import Refusal
from mirror.query.spec import Filter, Metric, QuerySpec

SPEC = QuerySpec("groups", (Metric("auc", "avg"),), ("method",))
READ = ResultsReading(SPEC, 0.0, ())
# Written before any of them was tried.
UNKNOWN_WORDS = (
    "who predicts best on frappe if we keep a tenth of the weights?",
    "whose tail is the worst when lookups run on a single thread",
    "how hungry for memory is each method on anime",
    "snappiest method at batch size 512 in lookup",
)


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    path = str(tmp_path_factory.mktemp("choices") / "results.duckdb")
    open_results(path)
    with Sandbox(path) as sandbox:
        yield sandbox


def candidate(chance: float, **told: object) -> ResultsCandidate:
    return ResultsCandidate(SPEC, SPEC, READ, chance=chance, **told)  # type: ignore[arg-type]


@pytest.mark.parametrize("question", UNKNOWN_WORDS)
def test_other_words_are_read_and_choices_lead_to_rows(box: Sandbox, question: str) -> None:
    answer = ask(question, box, now=NOW)
    assert answer.status in ("answered", "ambiguous")
    for proposal in answer.proposals:
        chosen = ask(proposal.text, box, now=NOW, after=answer)
        assert chosen.status == "answered"
        assert chosen.asked == proposal.asked
        assert chosen.table
        assert chosen.table.rows


@pytest.mark.parametrize(
    "question", ["哪种方法最快", "\x00\x1b[31m", "what is the weather", "salary per hour of hashed", "banana " * 100]
)
def test_what_names_nothing_is_refused(box: Sandbox, question: str) -> None:
    answer = ask(question, box, now=NOW)
    assert answer.status == "refused"
    assert not answer.proposals


def test_what_was_not_offered_is_not_taken(box: Sandbox) -> None:
    before = ask(UNKNOWN_WORDS[0], box, now=NOW)
    assert ask("Show the moon", box, now=NOW, after=before).status == "refused"


def test_every_choice_is_answered(box: Sandbox) -> None:
    answer = ask("average slowness by method", box, now=NOW)
    assert answer.status == "ambiguous"
    assert [p.text for p in answer.proposals] == list(answer.suggestions)
    for suggestion in answer.suggestions:
        assert ask(suggestion, box, now=NOW, after=answer).status == "answered"


def test_what_is_answered_is_not_offered_beside_in_another_benchmark() -> None:
    metric, where = QuerySpec("groups", (Metric("noise", "avg"),), ("method",)), Filter("benchmark", "=", ("lookup",))
    reading = ResultsCandidate(replace(metric, filters=(where,)), metric, READ)
    assert unlike([candidate(0.5), reading], [metric]) == [candidate(0.5)]
    assert unlike([reading, candidate(0.5)], [metric]) == []


def test_the_likeliest_reading_is_answered_and_another_told_beside() -> None:
    likely, other = candidate(results_decision.AT_ONCE), candidate(results_decision.BESIDE_ANSWER)
    assert answered_at_once([likely, other]) is likely
    assert answered_at_once([candidate(results_decision.AT_ONCE - 0.01)]) is None
    assert told_beside([likely, other]) == [other]
    assert told_beside([likely, replace(other, empty=True)]) == []
    assert told_beside([likely, candidate(results_decision.BESIDE_ANSWER - 0.01)]) == []
    assert answered_at_once([candidate(0.99, empty=True)]) is None
    assert answered_at_once([candidate(0.99, sure_benchmark=False)]) is None
    assert answered_at_once([candidate(0.99, features={"strange": 1.0})]) is None
    assert answered_at_once([]) is None


def test_readings_are_shown_from_a_chance_on() -> None:
    likely = candidate(results_decision.SHOWN)
    assert shown([likely, candidate(0.0)]) == [likely]
    assert shown([candidate(results_decision.SHOWN - 0.01)]) == []
    assert shown([candidate(results_decision.SHOWN, features={"strange": 1.0})]) == []
    assert len(shown([likely] * 9)) == results_decision.MOST_CHOICES


def test_where_no_reading_has_rows_what_is_surely_said_is_answered(box: Sandbox) -> None:
    answer = ask("fastest lookup at batch size 512 on 2 threads", box, now=NOW)
    assert answer.status == "answered"
    assert answer.summary.startswith("No rows match")
    said = candidate(0.01, empty=True)
    unlikely, unread = (
        replace(said, read=ResultsReading(SPEC, score, left)) for score, left in ((-3.0, ()), (0.0, ("7",)))
    )
    assert nothing_of_it([said]) is said
    for found in ([], [unlikely], [unread], [said, candidate(0.01)], [replace(said, features={"strange": 1.0})]):
        assert nothing_of_it(found) is None


def test_readings_are_explained(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = str(tmp_path_factory.mktemp("explained") / "results.duckdb")
    open_results(path)
    _, told = explain(UNKNOWN_WORDS[0], path, NOW)
    assert "Readings:" in told
    assert ", probability " in told


def _both(chance: float, empty: float = 0.0, **told: object) -> tuple[ResultsCandidate, ResultsCandidate]:
    """A reading as it is with rows, and without."""
    return candidate(chance, **told), candidate(empty, empty=True, **told)


def test_what_decides_nothing_is_not_run() -> None:
    likely = _both(0.5)
    assert hang_on_rows([likely, _both(results_decision.BESIDE), _both(0.01)]) == [True, True, False]
    assert hang_on_rows([_both(results_decision.SHOWN - 0.01)]) == [False]
    assert hang_on_rows([_both(0.0, empty=results_decision.SHOWN)]) == [True]
    assert hang_on_rows([_both(0.2, features={"strange": 1.0})]) == [False]


@pytest.mark.parametrize(
    "question",
    [
        *UNKNOWN_WORDS,
        "AUC by method on frappe",
        "memory against AUC on a dataset of 1999",
        "zippiest lookups",
        "what is the weather",
        "AUC of everything on mars",
    ],
)
def test_it_is_decided_as_if_every_reading_had_been_run(box: Sandbox, question: str) -> None:
    try:
        whole = results_readings(question, box, NOW)
    except Refusal as refused:
        with pytest.raises(Refusal, match=re.escape(str(refused))):
            readings_to_decide(question, box, NOW)
        return
    quick = readings_to_decide(question, box, NOW)
    one, other = answered_at_once(quick), answered_at_once(whole)
    assert (one and one.spec) == (other and other.spec)
    assert [c.spec for c in told_beside(quick)] == [c.spec for c in told_beside(whole)]
    if not one:
        assert [c.spec for c in shown(quick)] == [c.spec for c in shown(whole)]
