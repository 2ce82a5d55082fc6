"""Questions on results of two machines of one name, measured at several times, with verdicts: never mixed up."""

from datetime import datetime

import pytest

from mirror.answer.answer import Answer
from mirror.answer.answering import ask, run_sql
from mirror.chart.draw.figure import draw
from mirror.data.process.sandbox import Sandbox
from mirror.runs.listing import choices, trials

pytestmark = pytest.mark.usefixtures("as_meant")  # what becomes of a reading is tested

NOW = datetime(2026, 11, 20, 15, 24)
M1, M2 = "laptop (m1)", "laptop (m2)"
Row = dict[str, object]


@pytest.fixture(autouse=True)
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MIRROR_LLM_BASE_URL", "MIRROR_LLM_MODEL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def answered(question: str, box: Sandbox) -> tuple[Answer, list[Row]]:
    answer = ask(question, sandbox=box, now=NOW)
    assert answer.status == "answered", answer.summary
    assert answer.table
    assert answer.chart
    draw(answer.table, answer.chart)
    return answer, [dict(zip(answer.table.names, row, strict=True)) for row in answer.table.rows]


# -- machines ------------------------------------------------------------------------------------------------------

SPANNING = [
    "memory vs AUC at compression 0.1",
    "which method has the best AUC under 5 MB?",
    "AUC by compression for hashed as a line chart",
    "top 5 fastest lookups",
    "average latency by method and batch size",
    "compare hashed and dense at batch size 512",
    "slowest method at batch size 2048",
    "latency by machine in lookup",
    "compare the machines",
    "latency of hashed over time",
    "did latency get worse since 2026-11-10",
    "which methods are faster than dense?",
    "is hashed faster than dense at batch size 512?",
    "box plot of AUC by method",
    "histogram of latency for lookups",
    "median latency by batch size",
    "latency by direction in lookup",
]


@pytest.mark.parametrize("question", SPANNING)
def test_an_answer_that_spans_machines_has_a_column_of_them(question: str, again: Sandbox) -> None:
    _, rows = answered(question, again)
    assert {row["machine"] for row in rows} <= {M1, M2}
    assert all("machine" in row for row in rows)


DRAWN = [
    ("memory vs AUC at compression 0.1", "symbol"),
    ("latency of hashed over time in lookup", "color"),
    ("box plot of AUC by method", "x"),
    ("histogram of latency for lookups", "facet"),
    ("average latency by method and batch size", "facet"),
    ("latency by method at batch size 512 and dim 16", "x"),
]


@pytest.mark.parametrize(("question", "place"), DRAWN)
def test_a_chart_tells_machines_apart(question: str, place: str, again: Sandbox) -> None:
    answer, _ = answered(question, again)
    assert getattr(answer.chart, place) == "machine", answer.chart


@pytest.mark.parametrize(
    ("question", "machines"),
    [
        (f"latency on machine {M1} at batch size 512", {M1}),
        ("latency on machine m2 at batch size 512", {M2}),
        ("latency on machine laptop at batch size 512", {M1, M2}),
    ],
)
def test_machines_are_asked_for_by_name_or_id(question: str, machines: set[str], again: Sandbox) -> None:
    answer, rows = answered(question, again)
    (named,) = (f for f in answer.spec.filters if f.column == "machine")  # type: ignore[union-attr]
    assert set(named.values) == machines
    assert all(machine in answer.read_as for machine in machines)
    assert ("machine" in rows[0]) == (len(machines) > 1)


def test_the_fastest_machine_is_found_at_the_same_work(again: Sandbox) -> None:
    answer, rows = answered("which machine is fastest for hashed at batch 512", again)
    assert {(row["embedding_dim"], row["machine"], row["latency_us"]) for row in rows} == {
        (16, M2, 50.0), (64, M2, 200.0),
    }  # fmt: skip
    assert answer.summary.startswith(f"Lowest latency: {M2} at dim 16 (50 µs)")
    answer, _ = answered("which machine is slowest in lookup", again)
    assert f"{M1} 24 times" in answer.summary


def test_one_machine_among_several_that_has_measured_it(again: Sandbox) -> None:
    answer, _ = answered("latency by machine with cold caches for hashed at batch 512", again)
    assert answer.summary.startswith(f"One machine has measured this: {M1}; there is no other to compare it with. ")
    answer, rows = answered("which machine is fastest with cold caches for hashed at batch 512 and dim 16", again)
    assert len(rows) == 1
    assert answer.summary.startswith(f"Lowest latency 600 µs for {M1} at compression 0.1.")


def test_machines_are_compared_by_ratios_per_benchmark(again: Sandbox) -> None:
    answer, _ = answered("compare the machines", again)
    assert f"Latency against {M2} (geometric means): {M1} " in answer.summary
    assert "2x over 9 configurations in training" in answer.summary


def test_ids_of_machines_alone_are_no_repetition(again: Sandbox) -> None:
    sql = "SELECT machine_id, avg(latency_us) AS latency_us FROM results WHERE benchmark = 'training' GROUP BY 1"
    answer = run_sql(sql, again)
    assert answer.chart
    assert (answer.chart.type, answer.chart.x) == ("bar", "machine_id")
    assert "mean" not in answer.summary


def test_the_list_of_runs_shows_machines_and_verdicts(again: Sandbox) -> None:
    assert choices(again)["machine"] == [M1, M2]
    table = trials(again, {"benchmark": ["lookup"]})
    assert {"machine", "cache", "speedup", "verdict"} <= set(table.names)
    assert set(table.values("machine")) == {M1, M2}
    assert not {"group_id", "machine_id"} & set(table.names)


# -- axes ----------------------------------------------------------------------------------------------------------


def test_warm_caches_are_meant_where_the_question_is_silent(again: Sandbox) -> None:
    answer, rows = answered("latency by batch size for hashed in lookup", again)
    assert "cache mode = warm" in answer.read_as
    assert {row["latency_us"] for row in rows if row["batch_size"] == 64 and row["machine"] == M1} == {37.5, 150.0}


@pytest.mark.parametrize("words", ["with cold cache", "with cold caches", "with flushed caches", "when cold"])
def test_cold_caches(words: str, again: Sandbox) -> None:
    answer, rows = answered(f"latency by method {words}", again)
    assert "cache mode = cold" in answer.read_as
    smallest = [row for row in rows if (row["batch_size"], row["embedding_dim"]) == (64, 16)]
    assert {(row["method"], row["latency_us"]) for row in smallest} == {("dense", 30.0), ("hashed", 75.0)}


def test_warm_and_cold_stand_side_by_side(again: Sandbox) -> None:
    _, rows = answered("warm vs cold latency for dense", again)
    assert {row["cache"] for row in rows} == {"warm", "cold"}


# -- verdicts ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        (
            "is hashed faster than dense at batch size 512?",
            f"No: hashed on {M1} is slower than dense (verdict in all 2 configurations).",
        ),
        (
            "is dense faster than hashed at batch size 512?",
            f"Yes: hashed on {M1} is slower than dense (verdict in all 2 configurations).",
        ),
        (
            "is small_dim faster than dense",
            f"Yes where it is clear: small_dim on {M1} is faster than dense (verdict in 3 of 6 configurations; 3 "
            "unclear).",
        ),
        (
            "which methods are faster than dense?",
            "Faster than dense: small_dim in 6 configurations.",
        ),
    ],
)  # fmt: skip
def test_who_is_faster_than_the_baseline(question: str, sentence: str, again: Sandbox) -> None:
    answer, rows = answered(question, again)
    assert answer.summary.startswith(sentence), answer.summary
    assert {"speedup", "speedup_ci_low", "speedup_ci_high", "verdict"} <= set(rows[0])
    assert "dense" not in {row["method"] for row in rows} or "which" in question


@pytest.mark.parametrize(
    "question", ["are dense and hashed faster than small_dim at dim 16", "verdicts: is hashed faster than small_dim"]
)
def test_verdicts_say_nothing_of_two_methods_that_are_not_the_baseline(question: str, again: Sandbox) -> None:
    answer, _ = answered(f"{question} in lookup", again)
    assert answer.spec
    assert answer.spec.claim is None


def test_a_speedup_over_the_baseline_may_change(again: Sandbox) -> None:
    answer, rows = answered("did the speedup of hashed over dense get worse since 2026-11-10", again)
    assert answer.summary.startswith("Yes: speedup got worse since 2026-11-10 UTC for hashed (0.68x over 12 ")
    assert {row["method"] for row in rows} == {"hashed"}


def test_verdicts_by_method(again: Sandbox) -> None:
    answer, rows = answered("verdict by method at batch size 512", again)
    assert f"small_dim on {M1} 1 faster and 1 unclear" in answer.summary
    assert {row["verdict"] for row in rows if row["method"] == "hashed"} == {"slower", None}


# Of the 36 verdicts small_dim is faster 6 times and unclear 6 times, the others are slower.
@pytest.mark.parametrize(
    ("question", "summary"),
    [
        ("how many verdicts are unclear", "6 trials with the verdict unclear."),
        ("how many configurations are slower than dense", "24 trials with the verdict slower."),
        ("how many configurations of hashed are slower than dense", "12 trials with the verdict slower."),
        (
            "count verdicts by method",
            "36 verdicts: hashed 12 slower; quotient_remainder 12 slower; and small_dim 6 faster and 6 unclear; 2 "
            "failed trials are not shown.",
        ),
        (
            "how many verdicts are there",
            "36 verdicts: 24 slower, 6 faster and 6 unclear; 2 failed trials are not shown.",
        ),
        ("how many verdicts are unclear by method", "6 trials with the verdict unclear for small_dim."),
    ],
)
def test_verdicts_are_counted(question: str, summary: str, again: Sandbox) -> None:
    answer, rows = answered(question, again)
    assert answer.summary == summary
    assert None not in {row.get("verdict", "") for row in rows}


def test_significantly_faster_is_told_by_verdicts(again: Sandbox) -> None:
    answer, _ = answered("which method is significantly faster than dense", again)
    assert answer.summary.startswith("Faster than dense: small_dim in 6 configurations.")


def test_latency_with_cold_caches(again: Sandbox) -> None:
    _, rows = answered("latency with cold cache", again)
    assert {row["method"] for row in rows} == {"dense", "hashed"}


def test_a_bar_of_a_speedup_has_its_interval(again: Sandbox) -> None:
    answer, _ = answered(f"speedup by method at batch size 512 and dim 16 on machine {M1}", again)
    assert answer.table
    assert answer.chart
    drawn = draw(answer.table, answer.chart)
    assert drawn
    assert any(trace.error_x.array and max(trace.error_x.array) > 0 for trace in drawn.data)
    assert len(drawn.layout.shapes) == 1  # where nothing differs from the baseline


def test_another_method_than_the_baseline_is_compared_by_its_times(again: Sandbox) -> None:
    answer, rows = answered("is hashed faster than small_dim at batch size 512", again)
    assert {row["method"] for row in rows} == {"hashed", "small_dim"}
    assert "latency" in answer.summary


# -- time ----------------------------------------------------------------------------------------------------------


def test_whether_it_got_worse(again: Sandbox) -> None:
    answer, rows = answered("did p99 get worse since last week?", again)
    of = " over 6 configurations"
    assert "since 2026-11-09 UTC" in answer.read_as
    assert answer.summary == (
        f"Yes: p99 latency got worse since 2026-11-09 UTC for hashed (1.5x{of}); better for small_dim (0.5x{of}); "
        f"within noise for dense (1.02x{of}) and quotient_remainder (1.02x{of}). Compared are 24 configurations on "
        f"{M1} measured on both sides by geometric means of medians, 24 trials before and 24 since; 24 only before."
    )
    both = [row for row in rows if row["ratio_latency_p99_us"] is not None]
    assert {row["machine"] for row in both} == {M1}
    assert rows[: len(both)] == both, "what cannot be compared stands last"


def test_a_moment_without_results_on_one_side(again: Sandbox) -> None:
    assert "there are no results since then" in answered("did latency get worse since monday", again)[0].summary
    assert "there are no results before then" in answered("did latency get worse since 2026-01-01", again)[0].summary


def test_a_course_holds_superseded_trials(again: Sandbox) -> None:
    answer, rows = answered("latency of hashed over time in lookup", again)
    assert (answer.chart.type, answer.chart.x) == ("line", "started_at")  # type: ignore[union-attr]
    assert len(rows) == 18
    assert answer.summary.startswith("18 trials of 12 configurations, 2026-11-01 13:42 to 2026-11-12 13:52 UTC.")
    assert f"hashed on {M1} 1.5x" in answer.summary


def test_a_span_that_is_over_shows_what_was_measured_then(again: Sandbox) -> None:
    _, rows = answered("latency of hashed on 2026-11-12", again)
    assert {str(row["started_at"])[:10] for row in rows} == {"2026-11-12"}
    answer, rows = answered("latency of hashed yesterday", again)
    assert rows == []
    assert "No rows match" in answer.summary


def test_a_span_up_to_now_keeps_the_newest(again: Sandbox) -> None:
    _, rows = answered("latency of hashed since 2026-11-10 in lookup", again)
    assert {row["latency_us"] for row in rows if row["batch_size"] == 64} == {37.5, 150.0}


def test_the_clock_is_the_callers(again: Sandbox) -> None:
    early = ask("how many trials yesterday", sandbox=again, now=datetime(2026, 11, 13, 9))
    late = ask("how many trials yesterday", sandbox=again, now=datetime(2026, 11, 14, 9))
    assert early.table
    assert late.table
    assert (early.table.rows[0][0], late.table.rows[0][0]) == (48, 0)
