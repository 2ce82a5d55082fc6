"""Axes that only some methods have, and axes that came when there were results."""

import dataclasses

import pytest

from bench_engine import registry
from bench_engine.registry import BENCHMARKS, Axis
from bench_engine.sweep.search import grid_size
from bench_engine.sweep.sweep import SweepError, expand, expand_parts, parse
from bench_engine.trial import Trial
from db.columns import IMPLIED

HEAD = "benchmark: training\nmethods: [dense, small_dim, quotient_remainder]\nbaseline: dense\n"
GRID = HEAD + "parameters:\n  num_chunks: {values: [2, 4]}\n  compression: {values: [0.5, 0.1]}\n"


@pytest.fixture(autouse=True)
def chunks_of_small_dim(monkeypatch):
    """The axis num_chunks, which small_dim alone has."""
    training = BENCHMARKS["training"]
    others = tuple(a for a in training.axes if a.name != "num_chunks")
    chunks = Axis("num_chunks", int, 4, "", low=1, high=64, methods=("small_dim",))
    monkeypatch.setitem(BENCHMARKS, "training", dataclasses.replace(training, axes=(chunks, *others)))


def told(trials: list[Trial]) -> list[tuple]:
    return [(t.method, t.config.get("num_chunks"), t.config["compression"]) for t in trials]


def test_a_method_without_the_axis_runs_once_for_all_its_values():
    trials = expand(parse(GRID, "s"))
    assert sorted(told(trials), key=str) == sorted(
        [
            ("dense", None, 1.0),
            *(("small_dim", k, c) for k in (2, 4) for c in (0.5, 0.1)),
            *(("quotient_remainder", None, c) for c in (0.5, 0.1)),
        ],
        key=str,
    )
    assert all(("num_chunks" in t.config) == (t.method == "small_dim") for t in trials)
    (part,) = expand_parts(parse(GRID, "s"))
    assert grid_size(part.part) == 2 + 4 + 2  # dense counts at both sizes


def test_labels_name_the_axis_where_there_is_one():
    labels = [t.label() for t in expand(parse(GRID, "s")) if t.config["compression"] != 0.5]
    assert "training dense compression=1.0" in labels
    assert "training small_dim num_chunks=2 compression=0.1" in labels


def test_the_axis_leaves_the_trials_of_the_others_as_they_are():
    with_axis = {t.configuration() for t in expand(parse(GRID, "s")) if t.method != "small_dim"}
    plain = HEAD + "parameters:\n  compression: {values: [0.5, 0.1]}\n"
    assert with_axis == {t.configuration() for t in expand(parse(plain, "s")) if t.method != "small_dim"}


def test_excluding_a_value_leaves_out_those_that_have_it():
    trials = expand(parse(GRID + "exclude: [{num_chunks: 2}]\n", "s"))
    assert {t[1] for t in told(trials)} == {None, 4}


def test_random_draws_know_the_axis_too():
    drawn = "parameters:\n  num_chunks: {min: 1, max: 64}\n  compression: {value: 0.5}\n"
    text = f"{HEAD}method: random\nrun_cap: 12\n{drawn}"
    trials = expand(parse(text, "s"))
    assert sum(t.method == "small_dim" for t in trials) == 10
    assert [t.method for t in trials].count("quotient_remainder") == 1


def test_an_axis_that_none_of_the_methods_has_is_told():
    text = "benchmark: training\nmethods: [dense]\nparameters: {num_chunks: {value: 2}}\n"
    with pytest.raises(SweepError, match="none of the methods has the axis num_chunks: small_dim have it"):
        parse(text, "s")


def test_axes_name_methods_that_their_benchmark_runs():
    for bench in registry.BENCHMARKS.values():
        for axis in bench.axes:
            assert set(axis.methods) <= set(bench.methods)


def test_what_was_implied_before_there_was_an_axis_tells_no_trials_apart():
    assert IMPLIED["split"] == ("training", "test")
    config = {"dataset": "synthetic", "seed": 0}
    before, now, other = (
        Trial("training", "dense", {**config, **more}) for more in ({}, {"split": "test"}, {"split": "validation"})
    )
    for told_of in (Trial.configuration, Trial.comparison, lambda t: t.identity("source", "machine", 3)):
        assert told_of(before) == told_of(now) != told_of(other)
    assert (
        Trial("lookup", "dense", {**config, "split": "test"}).configuration()
        != Trial("lookup", "dense", config).configuration()
    )


def test_axes_that_came_later_leave_lookups_from_before_as_they_were():
    """block_size and padding_idx: a trial planned now is the one that was planned before them."""
    sweep = "benchmark: lookup\nmethods: [dense, small_dim, hashed, hashed_reference]\nbaseline: dense\n"
    for now in expand(parse(sweep, "s")):
        assert "block_size" not in now.config
        before = Trial("lookup", now.method, {k: v for k, v in now.config.items() if k != "padding_idx"})
        for told_of in (Trial.configuration, Trial.comparison, lambda t: t.identity("source", "machine", 3)):
            assert told_of(now) == told_of(before)


def test_padding_is_other_work():
    sweep = "benchmark: lookup\nmethods: [dense, small_dim]\nparameters: {padding_idx: {values: [-1, 0]}}\n"
    plain, other, padded = sorted(expand(parse(sweep, "s")), key=lambda t: (t.config.get("padding_idx") == 0, t.method))
    assert [t.method for t in (plain, other, padded)] == ["dense", "small_dim", "dense"]
    assert plain.comparison() == other.comparison() != padded.comparison()
