"""The choice within a budget, its reason, the Pareto front, and lines of code that make what was chosen."""

import json
from dataclasses import replace

import pytest
import torch

from bench_engine.report import reported
from bench_engine.suggest import budgets, construction, suggest_text
from bench_engine.suggest.budgets import Sizes
from bench_engine.suggest.suggestion import LeftOut, SuggestError, Suggestion, Table, chosen, reason

SIZES = Sizes("tiny", (100, 900), 8)  # 32 kB dense


def table(method: str, memory_mb: float, *aucs: float, compression: float = 0.1) -> Table:
    return Table(method, compression, memory_mb, 0.001, tuple(enumerate(aucs)), 50.0)


SMALL, GOOD, WORSE, LARGE = table("a", 0.1, 0.6), table("b", 0.2, 0.8), table("c", 0.25, 0.7), table("d", 0.4, 0.9)
FOUND = Suggestion(
    "tiny", 0.3, 1.0, 8, (100, 900), (SMALL, GOOD, WORSE, LARGE), GOOD, why="b is best.", code="table = B()",
    left_out=(LeftOut("d", 1.0, "it is too large."), *(LeftOut("e", n / 10, "it failed.") for n in range(1, 9))),
)  # fmt: skip


def test_the_highest_auc_within_the_budget_is_chosen_and_of_equals_the_smallest() -> None:
    assert chosen(FOUND.tables, 0.3) == GOOD
    assert chosen(FOUND.tables, 0.15) == SMALL
    assert chosen(FOUND.tables, 0.05) is None
    assert chosen([GOOD, twin := replace(GOOD, method="twin", memory_mb=0.15)], 0.3) == twin


def test_the_front_is_what_no_smaller_table_beats() -> None:
    assert FOUND.front == (SMALL, GOOD, LARGE)
    assert replace(FOUND, tables=(GOOD, replace(GOOD, method="twin"))).front == (GOOD,)


def test_the_reason_names_the_next_and_what_one_seed_tells() -> None:
    assert reason(GOOD, FOUND.tables, 0.3) == (
        "b has the highest validation AUC of what was measured within 0.3 MB: 0.8000, 0.1000 ahead (one seed, by which "
        "no difference is told from chance) of the next, c (0.25 MB)."
    )
    assert reason(SMALL, FOUND.tables, 0.15).endswith("0.6000; no other method was measured there.")
    assert reason(None, FOUND.tables, 0.05) == "No table was measured that holds 0.05 MB or less."


def test_over_seeds_the_difference_has_students_interval() -> None:
    best, second = table("x", 0.1, 0.80, 0.82, 0.81), table("y", 0.1, 0.70, 0.71, 0.72)
    # Differences 0.10, 0.11, 0.09: a deviation of 0.01, and 4.303 of it over the root of three.
    assert "0.1000 ± 0.0248 ahead over 3 seeds of the next, y" in reason(best, [best, second], 0.2)
    close = table("z", 0.1, 0.82, 0.81, 0.79)
    assert "0.0033 ± 0.0517 ahead, not told from chance, over 3 seeds of" in reason(best, [best, close], 0.2)


@pytest.mark.parametrize("form", reported.FORMATS)
def test_every_format_holds_the_tables_and_the_choice(form: str) -> None:
    text = suggest_text.rendered(FOUND, form)
    assert text.endswith("\n")
    assert "0.8" in text
    if form == "json":
        found = json.loads(text)
        assert [t["method"] for t in found["tables"] if t["front"]] == ["a", "b", "d"]
        assert found["chosen"]["method"] == "b"
        assert len(found["left_out"]) == 9
    elif form == "csv":
        assert len(text.splitlines()) == 5
    elif form == "html":
        assert "Validation AUC over memory" in text
        assert "<li>d: it is too large.</li>" in text
        assert "<pre>table = B()</pre>" in text
    else:
        assert "b is best." in text
        assert "d: it is too large." in text
        assert "e at 0.1, e at 0.2, e at 0.3, e at 0.4, e at 0.5, e at 0.6 and 2 more: it failed." in text
        assert "table = B()" in text


def test_the_budget_asked_for_comes_first_and_shares_fit_it() -> None:
    sizes = replace(SIZES, data="synthetic")
    swept = budgets.sweep(0.0096, sizes, ("int8_qr", "static_frequency", "small_dim", "int8", "dense"), 2)
    first, index, small, around, *_ = swept.parts
    assert first.methods == ("int8_qr", "int8", "dense")
    assert first.values["compression"] == (0.3,)
    assert first.values["split"] == ("validation",)
    assert list(first.seeds) == [0, 1]
    assert index.methods == ("static_frequency",)
    assert index.values["compression"] == (0.175,), "4 bytes of each of 1,000 rows are its index"
    assert small.values["compression"] == (2 / 8,), "whole dimensions"
    assert around.methods == ("int8_qr",), "those of one size are trained once"
    assert around.values["compression"] == (0.15, 0.6)


def test_lookups_are_timed_at_the_budget_alone() -> None:
    timed = budgets.lookups(0.0096, SIZES, ("field_budget", "int8_qr", "small_dim", "dense"))
    assert timed
    assert [(part.methods, part.baseline) for part in timed.parts] == [
        (("int8_qr", "dense"), "dense"),
        (("small_dim",), ""),
    ]
    assert timed.parts[0].values["num_rows"] == (1000,)
    assert timed.parts[0].values["compression"] == (0.3,)
    assert budgets.lookups(0.0096, SIZES, ("field_budget",)) is None


def test_a_share_is_rounded_down_and_never_above_what_is_left() -> None:
    for budget_mb in (0.0012345, 0.0098765, 0.03199):
        share = budgets.share_of("hashed", budget_mb, SIZES)
        assert 0.998 * budget_mb <= share * SIZES.dense_bytes / 1e6 <= budget_mb
    assert budgets.share_of("static_frequency", 0.003, SIZES) == 0.0
    assert budgets.share_of("int8", 0.003, SIZES) == 1.0


@pytest.mark.parametrize(("rows", "batch"), [(1_000_000, 1024), (20_480, 1024), (20_479, 512), (700, 32), (10, 32)])
def test_few_rows_are_trained_on_in_smaller_batches(rows: int, batch: int) -> None:
    assert replace(SIZES, train_rows=rows).batch_size == batch


@pytest.mark.parametrize("budget_mb", [float("nan"), float("inf"), 0.0, -1.0])
def test_a_budget_is_a_number_above_nothing(budget_mb: float) -> None:
    with pytest.raises(SuggestError, match="The budget must be a number of MB above 0"):
        budgets.checked(budget_mb, SIZES)


def test_a_budget_holds_a_row_for_each_field() -> None:
    budgets.checked(20e-6, SIZES)
    with pytest.raises(SuggestError, match=r"one row for each of the 2 fields .* ask for at least 2e-05 MB"):
        budgets.checked(19e-6, SIZES)


@pytest.mark.parametrize("method", [*budgets.METHODS, "mixed_precision", "mde", "cafe", "cce", "fiited"])
def test_the_code_makes_a_table_of_what_was_measured(method: str, built_kernels: None) -> None:
    budget_mb = 0.02
    share = budgets.share_of(method, budget_mb, SIZES)
    ids = torch.stack([torch.randint(0, 100, (50_000,)), torch.randint(100, 1000, (50_000,))], 1)
    names: dict = {"ids": ids}
    exec(construction.code(Table(method, share, 0.01, 0.0, (), 1.0), budget_mb, SIZES), names)
    made = names["table"]
    assert (made.num_embeddings, made.embedding_dim) == (1000, 8)
    if trains := names.get("optimizer"):
        made(ids[:64]).sum().backward()
        trains.step()
    if share < 1 and method != "fiited":  # which holds all before it has pruned
        bytes_of = getattr(made, "memory_bytes", None)
        held = bytes_of() if bytes_of else sum(t.nbytes for t in (*made.parameters(), *made.buffers()))
        assert held <= budget_mb * 1e6


def test_tables_with_fewer_seeds_are_not_ahead_by_the_seeds_they_lack() -> None:
    a, b = table("a", 0.1, 0.900, 0.902), table("b", 0.1, 0.910, 0.912, 0.850)
    assert chosen([a, b], 0.2) == b
    assert "0.0100 ± 0.0000 ahead over 2 seeds of the next, a" in reason(b, [a, b], 0.2)


def test_many_rows_are_given_the_time_that_they_take() -> None:
    sizes = replace(SIZES, data="synthetic")
    limits = [
        budgets.sweep(0.0096, replace(sizes, train_rows=n), ("int8_qr",), 1).parts[0].time_limit_s
        for n in (100_000, 40_000_000)
    ]
    assert limits == [600.0, 40_000.0]


def test_without_tables_csv_has_its_head() -> None:
    head = "method,compression,memory_mb"
    assert suggest_text.rendered(replace(FOUND, tables=(), chosen=None), "csv").startswith(head)
