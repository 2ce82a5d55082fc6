"""compare: which trials pair up, what is said of them, the limit, the table, the JSON and the command."""

import itertools
import json
import math
import re
import shutil
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from bench_engine.command.cli import main
from bench_engine.compare import comparison_table as compare_table
from bench_engine.compare.compare import METRICS, Comparison, compare, limit, metric
from bench_engine.compare.pairs import filters
from bench_engine.compare.sides import CompareError
from bench_engine.compare.text_table import ratio_text
from bench_engine.measure import ratios
from bench_engine.measure.ratios import Ratio
from bench_engine.trial import Trial
from db.columns import COLUMNS
from db.record import Record
from db.store import Store

DAY = datetime(2026, 11, 1)
_number = itertools.count()


def record(
    sweep: str = "old",
    method: str = "dense",
    us: float = 100.0,
    *,
    noise: float = 0.01,
    turns: int = 8,
    machine: str = "aaaa1111",
    version: str = "abc1234",
    day: float = 0.0,
    group: str | None = None,
    config: dict[str, object] | None = None,
    **columns: object,
) -> Record:
    """A trial of `lookup` with `turns` turns of five samples about `us`; 0 turns for samples without turns."""
    number = next(_number)
    seed = int((config or {}).get("seed", 0))
    axes = {"batch_size": 64, "compression": 1.0, "direction": "forward", **(config or {}), "seed": seed}
    trial = Trial("lookup", method, axes)
    samples = us * np.random.default_rng(number).lognormal(0, noise, 5 * (turns or 8))
    samples *= us / np.median(samples)
    row = {
        "trial_id": f"{number:06d}-1",
        "identity": f"{number:06d}",
        "status": "ok",
        "benchmark": "lookup",
        "op": "embedding_bag",
        "method": method,
        "sweep": sweep,
        "is_baseline": method == "dense",
        "configuration": trial.configuration(),
        "comparison": trial.comparison(),
        "latency_us": float(np.median(samples)),
        "machine_id": machine,
        "code_version": version,
        "started_at": DAY + timedelta(days=day, seconds=number),
        "group_id": group,
        **axes,
        **columns,
    }
    machine_row = {"machine_id": machine, "name": f"box {machine[:2]}"}
    return Record(row, tuple(map(float, samples)), (), machine_row, {}, (5,) * turns)


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results that hold nothing; copied, since making them anew takes a while."""
    path = tmp_path_factory.mktemp("empty") / "x.duckdb"
    Store(str(path)).ensure()
    return path


@pytest.fixture
def store(tmp_path: Path, empty: Path) -> Store:
    shutil.copy(empty, tmp_path)
    return Store(str(tmp_path / empty.name))


@pytest.fixture(autouse=True)
def quick_and_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer rounds, and the same noise and the same width whatever ran before and wherever it runs."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(ratios, "ROUNDS", 200)
    monkeypatch.setitem(globals(), "_number", itertools.count())


def compared(store: Store, records: Iterable[Record], a: str = "old", b: str = "new", **how: object) -> Comparison:
    store.add(records)
    return compare(store, a, b, **how)


def words(comparison: Comparison) -> dict[object, str]:
    return {(c.axes.get("method"), c.axes.get("batch_size")): c.verdict for c in comparison.configurations}


# -- which trials --------------------------------------------------------------------------------------------------


def test_sweeps_are_compared_configuration_by_configuration(store: Store) -> None:
    found = compared(
        store,
        [
            record("old", "dense", 100), record("new", "dense", 100.2),
            record("old", "hashed", 50), record("new", "hashed", 60),
            record("old", "hashed", 70, config={"batch_size": 512}),
            record("new", "hashed", 50, config={"batch_size": 512}),
            record("old", "dense", config={"batch_size": 8}), record("new", "dense", config={"batch_size": 9}),
            record("new", "dense", config={"batch_size": 10}),
        ],
    )  # fmt: skip
    assert words(found) == {("dense", 64): "same", ("hashed", 64): "slower", ("hashed", 512): "faster"}
    assert found.counts() == {"faster": 1, "slower": 1, "same": 1, "unclear": 0}
    assert (found.only_a, found.only_b, found.same_trials, found.left_out) == (1, 2, 0, 0)
    slower = found.configurations[1]
    assert slower.ratio.value == pytest.approx(50 / 60)
    assert slower.a == pytest.approx(50)
    assert slower.ratio.low < 50 / 60 < slower.ratio.high
    means = found.means()
    assert list(means) == ["dense", "hashed", ""]
    assert means["hashed"].value == pytest.approx(math.sqrt(50 / 60 * 70 / 50))


def test_what_starts_differ_by_is_in_the_interval_and_one_start_is_said(store: Store) -> None:
    told = {"environment": json.dumps({"starts": 4, "start_turns": [2, 2, 2, 2]}), "noise": 1e-4}
    level = np.repeat([1.0, 1.02, 0.98, 1.01], 10)
    sides = [record(sweep, us=us, **told) for sweep, us in (("old", 100), ("new", 102))]
    sides[1] = replace(sides[1], samples_us=tuple(np.array(sides[1].samples_us) * level))
    (wide,) = compared(store, sides).configurations
    assert wide.starts == 4
    assert wide.ratio.low < 0.97 < 1.0 < wide.ratio.high
    assert "one start" not in compare_table.text(compare(store, "old", "new"), 100)
    unknown = [record(s, us=us, environment="[", noise=1e-4) for s, us in (("old", 100), ("new", 102))]
    found = compared(store, unknown)
    assert found.configurations[0].starts == 1
    assert found.configurations[0].ratio.high < 1.0
    assert "1 configuration measured in one start" in compare_table.text(found, 200)


def test_the_newest_trial_that_is_ok_counts_on_each_side(store: Store) -> None:
    records = [
        record("old", us=500, day=0), record("old", us=100, day=1), record("old", us=900, day=2, status="failed"),
        record("new", us=200, day=3), record("new", us=100, day=2),
    ]  # fmt: skip
    (only,) = compared(store, records).configurations
    assert (only.a, only.b) == pytest.approx((100, 200))


def test_an_attempt_that_was_made_again_counts_whatever_the_clock_said(store: Store) -> None:
    def attempt(number: int, us: float, day: float) -> Record:
        made = record("old", us=us, day=day)
        return replace(made, trial={**made.trial, "trial_id": f"00000a-{number}", "identity": "00000a"})

    records = [attempt(9, 500, day=400), attempt(10, 100, day=1), record("new", us=100, day=2)]
    (only,) = compared(store, records).configurations
    assert only.a == pytest.approx(100)


def test_before_and_since_take_the_newest_on_their_side_of_the_moment(store: Store) -> None:
    store.add([record(us=us, day=day) for day, us in enumerate((400, 100, 300, 200))])
    (only,) = compare(store, "before:2026-11-03", "since:2026-11-03").configurations
    assert (only.a, only.b) == pytest.approx((100, 200))
    (only,) = compare(store, "before:2026-11-03T02:00+02:00", "since:2026-11-03T00:00").configurations
    assert only.a == pytest.approx(100)


def test_machines_meet_only_where_they_must(store: Store) -> None:
    both = [record(s, machine=m, us=us) for s, m, us in (("old", "aaaa1111", 100), ("old", "bbbb2222", 10))]
    both += [record(s, machine=m, us=us) for s, m, us in (("new", "bbbb2222", 20), ("new", "aaaa1111", 100))]
    found = compared(store, both)
    assert {c.axes["machine"]: c.verdict for c in found.configurations} == {"box aa": "same", "box bb": "slower"}
    assert found.other_machines == 0
    apart = [record("left", machine="aaaa1111", us=100), record("right", machine="bbbb2222", us=50)]
    found = compared(store, apart, "left", "right")
    (only,) = found.configurations
    assert (only.verdict, found.other_machines) == ("faster", 1)
    assert "machine" not in only.axes
    found = compare(store, "machine:aaaa", "machine:box bb", where=["sweep=left,right"])
    assert found.other_machines == 1


def test_a_trial_is_not_compared_with_itself(store: Store) -> None:
    records = [record("old", day=1), record("old", day=1, config={"batch_size": 1})]
    records += [record("later", day=3, config={"batch_size": 1})]
    found = compared(store, records, "before:2026-11-03", "since:2026-11-01")
    assert (len(found.configurations), found.same_trials) == (1, 1)
    with pytest.raises(CompareError, match="the very same trials"):
        compare(store, "old", "old")


def test_where_takes_values_of_both_sides(store: Store) -> None:
    records = [
        record(s, config={"batch_size": n, "compression": c})
        for s in ("old", "new")
        for n in (1, 2, 3)
        for c in (0.1, 1.0)
    ]
    store.add(records)
    found = compare(store, "old", "new", where=["batch_size=1,3", "compression=0.1"])
    assert [c.axes["batch_size"] for c in found.configurations] == [1, 3]
    assert {c.axes["compression"] for c in found.configurations} == {0.1}


# -- methods and turns ---------------------------------------------------------------------------------------------


def test_a_name_with_a_comma_stands_in_quotes(store: Store) -> None:
    records = [record(sweep, machine=m) for sweep, m in (("a,b", "aaaa1111"), ("c", "bbbb2222"), ("a", "aaaa1111"))]
    store.add([*records, record("new", machine="aaaa1111")])
    for text, found in (('sweep="a,b"', 1), ('sweep="a,b",c', 2), ("sweep=a,c", 2), ("sweep=a,b", 1)):
        wanted = filters([text])
        rows = store.rows(f"SELECT 1 AS one FROM trials AS t WHERE true{wanted.sql}", **wanted.parameters)
        assert len(rows) == found


def test_percentiles_of_trials_that_took_turns_are_compared_by_values(store: Store) -> None:
    records = [record(method=m, group="g", latency_p99_us=us) for m, us in (("dense", 10.0), ("hashed", 20.0))]
    found = compared(store, records, "method:dense", "method:hashed", of=METRICS["latency_p99_us"])
    assert [c.in_turns for c in found.configurations] == [True]
    said = compare_table.text(found, 1000)
    assert "latency_p99_us is compared by its value in each trial, over seeds, not by samples" in said
    assert "not measured in turns" not in said


def test_methods_that_took_turns_are_compared_turn_by_turn(store: Store) -> None:
    """The machine drifts to twice its time over the turns: only pairs of turns know that both did."""
    drift = np.repeat(np.exp(np.linspace(0, 0.7, 8)), 5)
    records = []
    for method, us, group in (("dense", 100, "g"), ("hashed", 110, "g"), ("small_dim", 110, None)):
        made = record(method=method, us=us, group=group)
        samples = np.asarray(made.samples_us) * drift
        trial = {**made.trial, "latency_us": float(np.median(samples))}
        records.append(Record(trial, tuple(samples), (), made.machine, {}, made.turn_sizes))
    store.add(records)
    (turns,) = compare(store, "method:dense", "method:hashed").configurations
    (apart,) = compare(store, "method:dense", "method:small_dim").configurations
    assert (turns.verdict, turns.in_turns) == ("slower", True)
    assert (apart.verdict, apart.in_turns) == ("unclear", False)
    assert turns.axes["compared_with"] == "dense at compression 1"


def test_a_turn_that_one_side_missed_is_no_pair(store: Store) -> None:
    one, other = (record(method=m, group="g", us=us) for m, us in (("dense", 100), ("hashed", 50)))
    store.add([one, Record(other.trial, other.samples_us[:20], (), other.machine, {}, (5, 0, 5, 0, 10))])
    (only,) = compare(store, "method:dense", "method:hashed").configurations
    assert (only.verdict, only.in_turns) == ("faster", True)


def test_a_method_of_one_size_is_compared_with_all_sizes_of_another(store: Store) -> None:
    sizes = (0.1, 0.5, 1.0)
    records = [record(method="dense"), record(method="dense", config={"seed": 1})]
    records += [record(method=m, config={"compression": c}) for m in ("hashed", "small_dim") for c in sizes]
    store.add(records)
    found = compare(store, "method:dense", "method:hashed")
    assert [c.axes["compression"] for c in found.configurations] == list(sizes)
    assert (found.only_a, found.only_b) == (1, 0)
    found = compare(store, "method:hashed", "method:small_dim")
    assert [(c.axes["compared_with"], c.axes["compression"]) for c in found.configurations] == [
        ("hashed at compression 0.1", 0.1), ("hashed at compression 0.5", 0.5), ("hashed at compression 1", 1.0),
    ]  # fmt: skip


def test_choices_in_which_the_first_method_differs_are_told(store: Store) -> None:
    """Those of one value wherever they apply are not, but for the size."""
    pruned = {"compression": 0.1, "prune_interval": 2_000_000, "layout": "flat", "block_size": 8}
    store.add([record(method="fiited", config={**pruned, "num_chunks": n, "decay": 0.5}) for n in (1, 4)])
    store.add([record(method="fiited", config={**pruned, "num_chunks": 4, "decay": 0.25})])
    store.add([record(method="dense"), record(method="adaembed", config={**pruned, "layout": "compact"})])
    found = compare(store, "method:fiited", "method:dense")
    assert [c.axes["compared_with"] for c in found.configurations] == [
        "fiited at compression 0.1 and block_size 8 and num_chunks 1 and decay 0.5",
        "fiited at compression 0.1 and block_size 8 and num_chunks 4 and decay 0.25",
        "fiited at compression 0.1 and block_size 8 and num_chunks 4 and decay 0.5",
    ]
    found = compare(store, "method:adaembed", "method:fiited")
    told = {c.axes["compared_with"] for c in found.configurations}
    assert (len(found.configurations), told) == (3, {"adaembed at compression 0.1 and block_size 8 and layout compact"})


def test_samples_without_turns_are_resampled_in_stretches(store: Store) -> None:
    (only,) = compared(store, [record("old", turns=0), record("new", us=150, turns=0)]).configurations
    assert only.verdict == "slower"
    assert only.ratio.low < 100 / 150 < only.ratio.high


def test_without_samples_nothing_is_known_of_the_interval(store: Store) -> None:
    bare = record("new", us=300)
    (only,) = compared(store, [record("old"), Record(bare.trial, (), (), bare.machine)]).configurations
    assert only.ratio.value == pytest.approx(1 / 3)
    assert (only.ratio.low, only.ratio.high, only.verdict) == (0.0, math.inf, "unclear")


def test_samples_of_a_broken_clock_are_a_sentence(store: Store) -> None:
    made = record("new")
    with pytest.raises(CompareError, match=r"cannot be compared\. The median time is 0"):
        compared(store, [record("old"), Record(made.trial, (0.0,) * 5, (), made.machine)])


# -- against the baseline ------------------------------------------------------------------------------------------


def drifted() -> list[Record]:
    """The machine is twice as slow for the new sweep; hashed keeps its speedup of 2, small_dim loses a third of it."""
    made = []
    for sweep, slow in (("old", 1), ("new", 2)):
        made.append(record(sweep, "dense", 100 * slow))
        for method, us in (("hashed", 50), ("small_dim", 50 if sweep == "old" else 75)):
            speedup = 100 / us
            known = {
                "baseline_latency_us": 100.0 * slow,
                "speedup_ci_low": speedup * 0.99,
                "speedup_ci_high": speedup * 1.01,
            }
            made.append(record(sweep, method, us * slow, **known))
    return made


def test_relative_judges_against_the_baseline_of_the_moment(store: Store) -> None:
    found = compared(store, drifted())
    assert set(words(found).values()) == {"slower"}
    assert [c.relative and c.relative.value for c in found.configurations] == [
        None,
        pytest.approx(1),
        pytest.approx(2 / 3),
    ]
    found = compare(store, "old", "new", by_baseline=True)
    assert words(found) == {("hashed", 64): "same", ("small_dim", 64): "slower"}
    assert found.left_out == 1
    relative, expected = found.configurations[0].relative, ratios.quotient(Ratio(2, 1.98, 2.02), Ratio(2, 1.98, 2.02))
    assert relative is not None
    assert (relative.low, relative.high) == pytest.approx((expected.low, expected.high))
    assert found.means()["small_dim"].value == pytest.approx(2 / 3)
    assert len(limit("slower:30%", METRICS["latency_us"]).exceeded(found)) == 1
    assert not limit("slower:60%", METRICS["latency_us"]).exceeded(found)


def test_baselines_of_different_methods_tell_nothing_of_each_other(store: Store) -> None:
    extra = record("third", "hashed_reference", is_baseline=True)
    with pytest.raises(CompareError, match="has a baseline that took turns with it on both sides"):
        compared(store, [*drifted(), extra], by_baseline=True)


# -- values --------------------------------------------------------------------------------------------------------


def seeds(sweep: str, *values: float, column: str = "auc") -> list[Record]:
    return [record(sweep, config={"seed": i}, **{column: value}) for i, value in enumerate(values)]


@pytest.mark.parametrize(
    ("column", "a", "b", "verdict"),
    [
        ("auc", [0.78, 0.79], [0.78, 0.79], "same"),
        ("auc", [0.78], [0.78], "same"),
        ("auc", [0.78], [0.70], "unclear"),
        ("auc", [0.78, 0.79, 0.80], [0.75, 0.76, 0.77], "lower"),
        ("auc", [0.78, 0.79, 0.80], [0.70, 0.79, 0.81], "unclear"),
        ("memory_mb", [6.4], [3.2], "smaller"),
        ("memory_mb", [6.4, 6.4], [6.4, 12.8], "larger"),
        ("optimizer_mb", [0.0], [0.0], "same"),
        ("optimizer_mb", [0.0], [1.0], "larger"),
        ("peak_rss_mb", [100.0], [900.0], "unclear"),
        ("metadata_mb", [0.4], [0.2], "smaller"),
        ("metadata_mb", [0.0], [0.2], "larger"),
        ("kept_share", [0.5, 0.51, 0.49], [0.8, 0.81, 0.79], "higher"),
        ("kept_share", [0.5, 0.51, 0.49], [0.0, 0.0, 0.0], "lower"),
        ("kept_share", [0.5], [0.0], "unclear"),
        ("kept_share", [0.0, 0.0], [0.5, 0.6], "unclear"),
        ("restoration_lag_steps", [40, 50], [40, 50], "same"),
        ("restoration_lag_steps", [100, 102, 98], [50, 51, 49], "lower"),
        ("prune_share", [0.010, 0.0101, 0.0099], [0.0102, 0.0103, 0.0101], "same"),
        ("prune_share", [0.010, 0.0101, 0.0099], [0.020, 0.0201, 0.0199], "higher"),
        ("latency_p99_us", [100.0, 101.0, 99.0], [200.0, 202.0, 198.0], "slower"),
        ("regret", [0.010, 0.012, 0.011], [0.020, 0.022, 0.021], "higher"),
        ("regret", [-0.3, 0.1, -0.2, 0.2], [0.1, 0.5, 0.25, 0.6], "higher"),
        ("regret", [0.1, 0.5, 0.25, 0.6], [-0.3, 0.1, -0.2, 0.2], "lower"),
        ("regret", [-0.3, 0.1, -0.2, 0.2], [0.4, 0.1, 0.3, 0.1], "unclear"),
        ("regret", [-0.3, 0.1], [-0.3, 0.1], "same"),
        ("regret", [-0.3], [0.4], "unclear"),
    ],
)
def test_values_are_compared_over_seeds(
    store: Store, column: str, a: list[float], b: list[float], verdict: str
) -> None:
    records = [*seeds("old", *a, column=column), *seeds("new", *b, column=column)]
    (only,) = compared(store, records, of=METRICS[column]).configurations
    assert (only.verdict, only.seeds) == (verdict, len(a))
    assert (only.a, only.b) == pytest.approx((np.mean(a), np.mean(b)))


def test_values_below_zero_have_differences_and_no_ratio(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = [-0.3, 0.1, -0.2, 0.2], [0.1, 0.5, 0.25, 0.6]
    store.add([*seeds("old", *a, column="regret"), *seeds("new", *b, column="regret")])
    words = ["compare", "--db", store.url, "old", "new", "--metric", "regret"]
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert "regret, some of it below 0, difference = B - A; [95 % interval]" in shown
    assert re.search(r"4 +-0\.05 +0\.3625 +0\.4125 \[0\.3\d+, 0\.4\d+\] +higher", shown), shown
    assert "Geometric mean" not in shown
    assert main([*words, "--json"]) == 0
    (only,) = json.loads(capsys.readouterr().out)["configurations"]
    assert only["ratio"] is None
    assert only["difference"]["low"] > 0
    assert main([*words, "--fail-on", "higher:5%"]) == 2
    assert "regret has values below 0: leave it out." in capsys.readouterr().err


def test_seeds_from_before_an_axis_are_seeds_of_what_it_implied(store: Store) -> None:
    records = []
    for sweep, auc in (("old", 0.7), ("new", 0.6)):
        for seed, split in enumerate([None, "test", None]):
            made = record(sweep, config={"seed": seed}, auc=auc + seed / 1000)
            axes = {"batch_size": 64, "compression": 1.0, "seed": seed, **({"split": split} if split else {})}
            trial = Trial("training", "dense", axes)
            told = {"benchmark": "training", "split": split, "configuration": trial.configuration()}
            records.append(Record({**made.trial, **told}, made.samples_us, (), made.machine))
    (only,) = compared(store, records, of=METRICS["auc"]).configurations
    assert (only.verdict, only.seeds, only.axes["split"]) == ("lower", 3, "test")


def test_every_metric_can_be_compared_or_is_known_not_to_be() -> None:
    of_others = {"samples_per_s", "bandwidth_gb_s", "bandwidth_share", "speedup", "speedup_ci_low", "speedup_ci_high"}
    of_measuring = {"latency_ci_low_us", "latency_ci_high_us", "max_abs_error", "sample_count", "noise"}
    # The same questions are asked each time, so no repeats tell how far shares of right answers scatter.
    of_answers = {"right_share", "right_ci_low", "right_ci_high", "wrong_share", "chart_share", "question_count"}
    of_counting = {"duplicate_rows", "shared_slots"}  # of one table, the same in every repeat
    of_the_compiler = {"bytes_moved", "bytes_predicted", "model_regret"}  # what it counted and expected, not a cost
    of_the_compiler |= {"model_rank_correlation"}
    known_not = of_others | of_measuring | of_answers | of_counting | of_the_compiler
    assert set(METRICS) == {c.name for c in COLUMNS if c.role == "metric"} - known_not


def test_sizes_are_not_taken_for_seeds(store: Store) -> None:
    """Two methods at several sizes: what differs on the side of A alone keeps configurations apart, too."""
    store.add([record(method="dense", memory_mb=8.0)])
    store.add([record(method="hashed", memory_mb=8.0 * c, config={"compression": c}) for c in (0.25, 0.5)])
    found = compare(store, "method:hashed", "method:dense", METRICS["memory_mb"])
    assert [c.ratio.value for c in found.configurations] == [4.0, 2.0]


def test_configurations_without_the_metric_are_counted(store: Store) -> None:
    records = [*seeds("old", 0.7), *seeds("new", 0.7), record("old", "hashed"), record("new", "hashed", auc=0.5)]
    found = compared(store, records, of=METRICS["auc"])
    assert (len(found.configurations), found.left_out) == (1, 1)
    with pytest.raises(CompareError, match=r"None of the 2 configurations in common has logloss on both sides\."):
        compare(store, "old", "new", METRICS["logloss"])


# -- refusals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "A (sweep old) and B (sweep odd) have no configuration in common: batch_size is 64 in A and 3 in B."),
        (["--where", "dataset=x' OR 1=1 --"], "A (sweep old) holds no trial that is ok with dataset=x' OR 1=1 --."),
        (["--benchmark", "training"], "A (sweep old) holds no trial that is ok with benchmark=training."),
    ],
)
def test_what_cannot_be_compared_is_one_sentence(
    store: Store, arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    check_refusal(store, arguments, sentence, 1, capsys)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--metric", "latency"], "'latency' cannot be compared; did you mean latency_us? What can: "),
        (["--metric", "auc", "--relative"], "--relative needs turns taken with a baseline"),
        (["--where", "batchsize=3"], "did you mean batch_size?"),
        (["--where", "batch_size"], "write AXIS=VALUE"),
        (["--where", "batch_size=many"], "batch_size takes a whole number, not 'many'."),
        (["--where", "batch_size=99999999999999999999"], "batch_size takes a whole number"),
        (["--where", "compression=nan"], "compression takes a number, not 'nan'."),
        (["--where", "dataset=\udcff"], "dataset takes text"),
        (["--where", "foo=3"], "with one of the axes. Known: benchmark, "),
        (["--where", 'sweep="a,b'], "write a value that holds a comma as 'AXIS=\"a,b\"'"),
        (["--benchmark", "nope"], "--benchmark: unknown benchmark 'nope'. Known: lookup, embedding_step, grouped_"),
        (["--benchmark", "lokup"], "unknown benchmark 'lokup'; did you mean lookup?"),
        (["--fail-on", "slower"], "--fail-on slower cannot be read: for latency_us write such as faster:5% or slower"),
        (["--fail-on", "larger:5%"], "for latency_us"),
        (["--fail-on", "slower:-5%"], "cannot be read"),
        (["--fail-on", "slower:nan%"], "cannot be read"),
        (["--fail-on", ""], "cannot be read"),
        (["--metric", "memory_mb", "--fail-on", "slower:5%"], "larger:5% or smaller:5%"),
    ],
)
def test_what_cannot_be_read_is_wrong_usage(
    store: Store, arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    check_refusal(store, arguments, sentence, 2, capsys)


def check_refusal(
    store: Store, arguments: list[str], sentence: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    store.add([record("old"), record("odd", config={"batch_size": 3})])
    assert main(["compare", "--db", store.url, "old", "odd", *arguments]) == status
    said = capsys.readouterr()
    assert said.out == ""
    assert sentence in said.err
    assert len(said.err.splitlines()) == 1


def test_a_method_is_compared_with_a_method(store: Store) -> None:
    with pytest.raises(CompareError, match="write method:NAME on both sides"):
        compared(store, [record("old")], "old", "method:dense")


def test_no_results_are_one_sentence_and_no_new_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--db", str(tmp_path / "none.duckdb"), "a", "b"]) == 1
    assert "There are no results at none.duckdb yet" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


# -- what people and programs read ---------------------------------------------------------------------------------


def two_sweeps() -> list[Record]:
    configs = [{"batch_size": n, "direction": d} for n in (64, 512) for d in ("forward", "forward_backward")]
    made = []
    for sweep, slow in (("old", 1.0), ("new", 1.2)):
        made += [record(sweep, "dense", 100, config=c) for c in configs]
        made += [record(sweep, "hashed", 40 * slow, config=c) for c in configs]
    return made


def test_the_command_prints_a_table_and_its_summary(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    store.add(two_sweeps())
    assert main(["compare", "--db", store.url, "old", "sweep:new", "--fail-on", "slower:5%"]) == 3
    out = capsys.readouterr().out
    assert out.startswith(
        "A  sweep old\nB  sweep new\nlatency_us, ratio = A / B: above 1 B is faster; [95 % interval]\n"
    )
    assert "8 configurations: 4 slower, 4 same." in out
    assert "--fail-on slower:5%: 4 configurations." in out
    same = "benchmark lookup, op embedding_bag, compression 1, padding_idx -1, seed 0, machine box aa."
    assert f"The same in all: {same}" in " ".join(out.split())
    assert "8 configurations not measured in turns" in out
    assert "\x1b" not in out
    assert main(["compare", "--db", store.url, "old", "new", "--fail-on", "slower:25%"]) == 0
    assert main(["compare", "--db", store.url, "old", "new", "--fail-on", "faster:0%"]) == 0


def test_a_table_wider_than_the_terminal_moves_axes_into_headings(store: Store) -> None:
    found = compared(store, two_sweeps())
    wide = compare_table.text(found, 120)
    assert "dense\n  64     forward " in wide
    narrow = compare_table.text(found, 70)
    assert "dense, batch_size 64\n  forward " in narrow
    for width, text in ((120, wide), (80, compare_table.text(found, 80)), (70, narrow)):
        assert max(map(len, text.splitlines())) <= width
    assert "verdict" in compare_table.text(found, 1)  # as narrow as it gets


def test_benchmarks_have_tables_of_their_own(store: Store) -> None:
    records = two_sweeps()
    for sweep in ("old", "new"):
        made = record(sweep, "dense", config={"seed": 7})
        axes = {"benchmark": "training", "dataset": "synthetic", "direction": None, "configuration": "training"}
        records.append(Record({**made.trial, **axes}, made.samples_us, (), made.machine))
    text = compare_table.text(compared(store, records), 100)
    assert text.count("The same in all: ") == 2
    assert "The same in all: benchmark training, op embedding_bag, method dense, dataset synthetic" in text
    assert "9 configurations: 4 slower, 5 same." in text


def test_what_was_left_out_is_said(store: Store) -> None:
    records = [*drifted(), record("old", config={"batch_size": 1}), record("new", config={"batch_size": 2})]
    text = compare_table.text(compared(store, records, by_baseline=True), 200)
    assert "verdicts from the change against the baseline" in text
    assert "Not compared: 1 only in A, 1 only in B." in text
    assert "Left out: 1 without a baseline in turns on both sides." in text
    assert "Geometric mean of the ratios against the baseline:\n  hashed" in text
    assert "not measured in turns" not in text
    text = compare_table.text(compare(store, "old", "new"), 200)
    assert "--relative takes it out where there is a baseline" in text


def test_colours_are_for_terminals(
    store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store.add(two_sweeps())
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert main(["compare", "--db", store.url, "old", "new"]) == 0
    assert "\x1b[31mslower\x1b[0m" in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    assert main(["compare", "--db", store.url, "old", "new"]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_json_is_one_object_of_plain_values(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    bare = record("new", "hashed", us=300)
    store.add([record("old"), record("new"), record("old", "hashed"), Record(bare.trial, (), (), bare.machine)])
    assert main(["compare", "--db", store.url, "old", "new", "--json", "--fail-on", "slower:5%"]) == 0

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    found = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert list(found) == ["a", "b", "metric", "configurations", "summary"]
    assert found["a"] == {"kind": "sweep", "name": "old"}
    assert [c["verdict"] for c in found["configurations"]] == ["same", "unclear"]
    assert found["configurations"][1]["ratio"] == {"value": pytest.approx(1 / 3), "low": None, "high": None}
    assert found["summary"]["counts"] == {"faster": 0, "slower": 0, "same": 1, "unclear": 1}
    assert found["configurations"][0]["starts"] == 1
    assert found["summary"]["geometric_mean"]["all"]["high"] > 1
    assert found["summary"]["fail_on"] == {"limit": "slower:5%", "exceeded": 0}
    assert found["summary"]["fixed"]["batch_size"] == 64


def test_why_a_method_is_slower_is_told_of_what_was_stored(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    def told(touched: float) -> str:
        return json.dumps({"touched_bytes": touched, "gather_gb_s": 2.0})

    store.add([record(us=100, environment=told(160_000)), record(method="hashed", us=400, environment=told(320_000))])
    sentence = "hashed touches 2x the bytes at 0.4x the bandwidth of random rows; dense: 0.8x."
    command = ["compare", "--db", store.url, "method:dense", "method:hashed"]
    assert main(command) == 0
    assert f"\nWhy: {sentence}\n" in capsys.readouterr().out
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["summary"]["why"] == {"lookup": [sentence]}
    assert main([*command, "--metric", "latency_p99_us"]) == 1  # which these have not


def test_nothing_is_explained_where_times_are_the_same_or_trials_tell_nothing(store: Store) -> None:
    told = json.dumps({"touched_bytes": 1000, "gather_gb_s": 2.0})
    found = compared(store, [record("old", environment=told), record("new", environment=told)])
    assert found.configurations[0].verdict == "same"
    assert found.why == {}


def test_of_one_method_on_both_sides_the_sides_are_named(store: Store) -> None:
    def told(touched: float) -> str:
        return json.dumps({"touched_bytes": touched, "gather_gb_s": 2.0})

    records = [record("old", us=100, environment=told(160_000)), record("new", us=200, environment=told(320_000))]
    assert compared(store, records).why == {
        "lookup": ["dense in B touches 2x the bytes at 0.8x the bandwidth of random rows; dense in A: 0.8x."]
    }


def test_a_limit_needs_the_whole_interval_beyond_it() -> None:
    assert metric("latency_us") is METRICS["latency_us"]
    assert limit("slower:5 %", METRICS["latency_us"]).factor == pytest.approx(1.05)
    assert limit("larger:0.5%", METRICS["memory_mb"]).factor == pytest.approx(1.005)


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (Ratio(1.084, 1.05, 1.12), "1.08x [1.05, 1.12]"),
        (Ratio(0.05912, 0.0553, 0.0631), "0.059x [0.055, 0.063]"),
        (Ratio(2.0, 0.0, math.inf), "2.00x"),
        (Ratio(math.inf, math.inf, math.inf), "∞x"),
        (Ratio(250.4, 240.0, 260.0), "250x [240, 260]"),
    ],
)
def test_ratios_as_text(ratio: Ratio, text: str) -> None:
    assert ratio_text(ratio) == text


def test_speedups_over_two_baselines_are_not_divided(store: Store) -> None:
    def over(sweep: str, name: str, speedup: float) -> Record:
        known = {"speedup_ci_low": speedup * 0.99, "speedup_ci_high": speedup * 1.01}
        told = json.dumps({"compared_with": name})
        return record(sweep, "cafe", 50, environment=told, baseline_latency_us=50 * speedup, **known)

    made = [record("old", "dense", 100), over("old", "dense", 2.0), over("new", "hashed", 1.0)]
    (only,) = compared(store, made).configurations
    assert only.relative is None


def test_seeds_of_a_configuration_are_one_value_of_the_mean(store: Store) -> None:
    made = [
        record(
            sweep, us=50.0 if (sweep, batch) == ("new", 512) else 100.0, config={"batch_size": batch, "seed": seed}
        )
        for sweep in ("old", "new")
        for batch in (64, 512)
        for seed in range(10)
    ]  # fmt: skip
    mean = compared(store, made).means()["dense"]
    assert mean.value == pytest.approx(math.sqrt(2), rel=0.02)
    assert mean.low < 1 < 2 < mean.high


def test_what_is_in_no_mean_is_said(store: Store) -> None:
    values = {64: (0.0, 0.2), 512: (0.4, 0.2)}
    made = [
        record(sweep, config={"batch_size": batch}, metadata_mb=ends[number])
        for batch, ends in values.items()
        for number, sweep in enumerate(("old", "new"))
    ]
    text = compare_table.text(compared(store, made, of=METRICS["metadata_mb"]))
    assert "1 configuration with 0 on one side: a ratio that is in no mean." in text
