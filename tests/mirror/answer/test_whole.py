"""More rows than are read: winner, front and counts are those of gold SQL over all of them."""

import random
import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from bench_engine.trial import Trial
from db.columns import AXES
from db.record import Record
from db.store import Store
from mirror.answer.answer import Answer
from mirror.answer.answering import ask, run_sql
from mirror.chart.draw.figure import draw
from mirror.data.data_source import QueryStopped
from mirror.data.process.other_data_process import shared
from mirror.data.process.sandbox import Sandbox
from mirror.data.sources.location import find
from mirror.table.table import Table

# method -> (AUC, memory in MB without compression); in the order of the rows the best comes last.
METHODS = {"dense": (0.75, 3.2), "hashed": (0.76, 3.2), "quotient_remainder": (0.74, 3.2), "small_dim": (0.79, 1.6)}
SEEDS = 400


def records() -> list[Record]:
    """Trials of ten configurations; every fifth of small_dim and all of 50 seeds of hashed lack an AUC."""
    draw_from = random.Random(3)
    found = []
    start = datetime(2026, 11, 1)
    for method, (auc, memory) in METHODS.items():
        for compression in (1.0,) if method == "dense" else (0.5, 0.2, 0.1):
            for seed in range(SEEDS):
                n = len(found)
                config = {
                    "embedding_dim": 16,
                    "compression": compression,
                    "batch_size": 1024,
                    "seed": seed,
                    "threads": 2,
                }
                planned = Trial("training", method, {k: v for k, v in config.items() if k in AXES})
                lacks = (method == "small_dim" and seed % 5 == 0) or (method == "hashed" and seed < 50)
                trial = {
                    **config, "benchmark": "training", "op": "click_model", "method": method, "dataset": "frappe",
                    "num_rows": 50_000, "num_tables": 8, "sweep": "many", "trial_id": f"{n:012d}-1",
                    "identity": f"{n:012d}", "status": "ok", "is_baseline": method == "dense", "device": "cpu",
                    "dtype": "float32", "machine_id": "m1", "started_at": start + timedelta(minutes=n),
                    "duration_s": 1.0, "code_version": "abc", "configuration": planned.configuration(),
                    "comparison": planned.comparison(), "memory_mb": memory * compression,
                    "auc": None if lacks else auc + 0.01 * compression + draw_from.gauss(0, 0.002),
                    "latency_us": draw_from.lognormvariate(6, 0.5),
                }  # fmt: skip
                found.append(
                    Record(trial, (1.0,), (), {"machine_id": "m1", "name": "test"}, {"sweep_id": "s", "name": "many"})
                )
    return found


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("many") / "many.duckdb"
    store = Store(str(path))
    store.ensure()
    store.add(records())
    store.checkpoint()
    return path


@pytest.fixture(scope="module")
def many(results: Path) -> Iterator[Sandbox]:
    with Sandbox(str(results)) as sandbox:
        yield sandbox


TRADE_OFF = "SELECT method, compression, seed, memory_mb, auc FROM results ORDER BY method, compression, seed"
COMPARISON = (
    "SELECT method, compression, seed, latency_us, memory_mb, auc FROM results "
    "WHERE method IN ('hashed', 'small_dim') AND compression < 0.5 ORDER BY method"
)
GROUPS = """SELECT concat(method, compression, seed) AS run, avg(latency_us) AS latency_us, count(*) AS n
FROM results GROUP BY ALL ORDER BY run"""
GOLD = """
WITH each AS (
    SELECT method, compression, avg(memory_mb) AS memory, avg(auc) AS auc, stddev_samp(auc) AS deviation, count(*) AS n
    FROM results WHERE auc IS NOT NULL GROUP BY ALL
)
SELECT method, compression, auc, deviation, n, memory, NOT EXISTS (
    FROM each o WHERE o.memory <= e.memory AND o.auc >= e.auc AND (o.memory, o.auc) <> (e.memory, e.auc)
) AS unbeaten FROM each e ORDER BY auc DESC
"""


def gold(path: Path, sql: str) -> list[tuple]:
    with duckdb.connect(str(path), read_only=True) as connection:
        return connection.execute(sql).fetchall()


def cut(answer: Answer) -> Table:
    assert answer.status == "answered", answer.summary
    assert answer.table
    assert answer.table.truncated
    assert len(answer.table.rows) == 1000
    return answer.table


@pytest.mark.parametrize("question", ["memory vs AUC", TRADE_OFF])
def test_a_trade_off_is_told_of_all_trials(question: str, many: Sandbox, results: Path) -> None:
    answer = ask(question, sandbox=many)
    table, every = cut(answer), gold(results, GOLD)
    there = Counter(row[0] for row in table.rows)
    if question == "memory vs AUC":  # a statement of a person is left as it is
        assert len(there) == 4
        assert max(there.values()) - min(there.values()) <= 1 or min(there, key=there.__getitem__) == "dense"
        assert table.rows == cut(ask(question, sandbox=many)).rows  # the same every time
    else:
        assert set(there) == {"dense", "hashed"}  # the best is not among what is drawn
    method, compression, auc, deviation, n, *_ = every[0]
    assert f"{method} at compression {compression} ({auc:.4f} ± {deviation:.4f}, n = {n}," in answer.summary
    front = [row for row in every if row[-1]]
    assert {row[0] for row in front} == {"small_dim"}
    assert f"On the Pareto front: small_dim ({len(front)} configurations)." in answer.summary
    trials = len(records()) if question == TRADE_OFF else sum(row[4] for row in every)
    assert answer.summary.endswith(f"Rests on {trials:,} trials of 10 configurations.")
    assert answer.chart
    drawn = "the first 1,000 are drawn" if question == TRADE_OFF else "1,000 are drawn, evenly over method"
    assert answer.chart.reason.endswith(f"Of {trials:,} rows {drawn}; the Pareto front is that of all.")
    lines = [trace for trace in draw(table, answer.chart).data if trace.name == "Pareto front"]
    assert [sorted(zip(line.x, line.y, strict=True)) for line in lines] == [
        [pytest.approx(point) for point in sorted((row[5], row[2]) for row in front)]
    ]


def test_what_differs_beyond_the_rows_that_were_read_has_no_front_in_common(many: Sandbox) -> None:
    sql = TRADE_OFF.replace("method, ", "CASE method WHEN 'small_dim' THEN 'b' ELSE 'a' END AS dataset, method, ", 1)
    answer = run_sql(sql, many)
    assert {row[0] for row in cut(answer).rows} == {"a"}
    assert answer.chart
    assert (answer.chart.facet, answer.chart.pareto) == ("dataset", True)
    assert "hashed (3 configurations) on a; and small_dim (3 configurations) on b" in answer.summary


def test_two_methods_are_compared_over_all_trials(many: Sandbox, results: Path) -> None:
    answer = run_sql(COMPARISON, many)
    assert {row[0] for row in cut(answer).rows} == {"hashed", "small_dim"}
    sql = "SELECT avg(auc) FROM results WHERE method = '{}' AND compression = {} AND auc IS NOT NULL"
    gaps = [
        gold(results, sql.format("small_dim", c))[0][0] - gold(results, sql.format("hashed", c))[0][0]
        for c in (0.1, 0.2)
    ]
    first, last = (f"{gap:.4f}" for gap in sorted(gaps, reverse=True))
    assert answer.summary.startswith("hashed against small_dim: latency ")
    assert f"AUC {first} to {last} lower in 2 pairs" in answer.summary
    assert "memory 2x in 2 pairs" in answer.summary


def test_a_ranking_of_more_groups_than_are_read(many: Sandbox, results: Path) -> None:
    answer = run_sql(GROUPS, many)
    cut(answer)
    ((low, high),) = gold(results, f"SELECT arg_min(run, latency_us), arg_max(run, latency_us) FROM ({GROUPS})")
    assert f"({low})" in answer.summary
    assert f"({high})" in answer.summary
    assert "Rests on 4,000 trials in 4,000 rows." in answer.summary


def test_a_range_and_a_number_of_rows_are_those_of_all(many: Sandbox, results: Path) -> None:
    answer = run_sql("SELECT seed, auc FROM results", many)
    cut(answer)
    ((mean, deviation, n, low, high),) = gold(
        results, "SELECT avg(auc), stddev_samp(auc), count(auc), min(auc), max(auc) FROM results"
    )
    told = f"Mean AUC {mean:.4f} ± {deviation:.4f} (n = {n:,}), from {low:.4f} to {high:.4f}."
    without = f"{len(records()) - n} trials have no AUC"
    assert answer.summary == f"{told} Rests on {n:,} trials of 1 configuration; {without}."
    assert run_sql("SELECT trial_id, method FROM results", many).summary == "4,000 rows."


def test_more_configurations_than_can_be_held_are_said_to_be_cut(
    many: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mirror.answer.whole.MOST_CONFIGURATIONS", 9)
    answer = run_sql(TRADE_OFF, many)
    assert cut(answer).whole is None
    assert answer.summary.endswith("Rests on 1,000 trials of 3 configurations; only the first 1,000 rows were read.")
    assert answer.chart
    assert answer.chart.reason.endswith("Only the first 1,000 rows were read.")


def test_a_second_statement_that_fails_leaves_what_was_read(many: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    run = many.run

    def slow(sql: str, row_cap: int = 1000, time_limit_s: float = 10.0) -> Table:
        if row_cap != 1000:
            raise QueryStopped("The query took too long.")
        return run(sql, row_cap, time_limit_s)

    monkeypatch.setattr(many, "run", slow)
    assert run_sql(TRADE_OFF, many).summary.endswith("; only the first 1,000 rows were read.")


@pytest.fixture(scope="module")
def sales(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A CSV file of 5,000 sales; those of the last city are the highest."""
    path = tmp_path_factory.mktemp("sales") / "sales.csv"
    draw_from = random.Random(5)
    with path.open("w") as file:
        file.write("customer,city,price\n")
        for i in range(5000):
            city = ("Aarhus", "Bergen", "Cork", "Delft")[i // 1250]
            file.write(f"customer {i:04d},{city},{draw_from.uniform(1, 2) * (1 + i // 1250):.2f}\n")
    yield str(path)
    shared(find(str(path))).close()


def of_sales(path: str, sql: str) -> tuple:
    return duckdb.sql(sql.replace("sales", f"'{path}'")).fetchall()[0]


def test_edited_sql_over_a_file_is_told_of_all_rows(sales: str) -> None:
    answer = run_sql("SELECT city, price FROM sales", db=sales)
    cut(answer)
    low, high = of_sales(sales, "SELECT min(m), max(m) FROM (SELECT avg(price) AS m FROM sales GROUP BY city)")
    assert re.findall(r"[\d.,]+(?= \()", answer.summary) == [f"{high:.3g}", f"{low:.3g}"]
    assert "(Delft)" in answer.summary
    assert "(Aarhus)" in answer.summary
    assert answer.summary.endswith("5,000 rows.")


def test_more_groups_of_a_file_than_are_read(sales: str) -> None:
    answer = ask("total price by customer", db=sales)
    if answer.status == "ambiguous":
        answer = ask(answer.suggestions[0], db=sales, after=answer)
    cut(answer)
    ends = of_sales(sales, "SELECT arg_max(customer, price), arg_min(customer, price) FROM sales")
    assert all(end in answer.summary for end in ends), answer.summary
    assert answer.summary.endswith("5,000 rows.")


def test_listed_rows_of_a_file_are_counted(sales: str) -> None:
    assert ask("list sales", db=sales).summary == "The first 1,000 rows of 5,000."


def test_numbers_that_are_none_are_in_no_mean(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text("city,price\n" + "a,1\n" * 1500 + "b,NaN\n" * 5 + "b,3\n" * 5)
    answer = run_sql("SELECT city, price FROM odd", db=str(path))
    cut(answer)
    assert answer.summary.endswith("; only the first 1,000 rows were read.")
    shared(find(str(path))).close()
