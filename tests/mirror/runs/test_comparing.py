"""Trials side by side, and failures by reason."""

from dataclasses import dataclass

from mirror.data.process.sandbox import Sandbox
from mirror.runs import comparing
from mirror.runs.comparing import compared, names_of, reasons, side_by_side
from mirror.runs.listing import trials
from mirror.table.table import Column, Table
from mirror.table.values import Value


def ids_of(box: Sandbox, **chosen: list[str]) -> list[str]:
    return [str(row[-1]) for row in trials(box, {"status": ["ok"], **chosen}).rows]


def test_trials_are_compared_in_what_differs(box: Sandbox) -> None:
    ids = ids_of(box, benchmark=["training"], dataset=["frappe"], method=["hashed"])[:3][::-1]
    found = compared(box, ids).differing
    assert list(found.values("trial_id")) == ids
    assert "method" in found.names
    assert "dataset" not in found.names
    assert all(len(set(found.values(n))) > 1 for n in found.names if n != "method")


def test_samples_and_curves_are_named_after_their_trials(box: Sandbox) -> None:
    ids = ids_of(box, benchmark=["training"], dataset=["frappe"], method=["hashed"])[:2]
    found = compared(box, ids)
    assert found.samples.rows == (("hashed 1", 1.0), ("hashed 1", 2.0), ("hashed 2", 1.0), ("hashed 2", 2.0))
    assert {(row[0], row[1]) for row in found.curves.rows} == {("hashed 1", "loss"), ("hashed 2", "loss")}


def test_names_are_methods_and_numbers_where_a_method_is_there_twice() -> None:
    table = Table((Column("trial_id"), Column("method")), (("a", "dense"), ("b", "hashed"), ("c", "hashed")))
    assert names_of(table) == {"a": "dense", "b": "hashed 1", "c": "hashed 2"}


def test_metrics_that_all_have_are_drawn_side_by_side(box: Sandbox) -> None:
    table = side_by_side(box, ids_of(box, benchmark=["training"], dataset=["frappe"]))
    assert table.names[0] == "method"
    assert {"auc", "memory_mb"} <= set(table.names)
    assert "speedup_ci_low" not in table.names


def test_failures_are_grouped_by_reason(box: Sandbox) -> None:
    found = reasons(box, {})
    assert sum(int(n or 0) for n in found.values("trials")) == box.schema().rows("failures")
    assert "the loss is not finite" in found.values("reason")
    assert reasons(box, {"status": ["ok"]}).rows == ()


# -- which is faster ---------------------------------------------------------------------------------------------------


@dataclass
class Group:
    """A box whose group of turns has the baseline dense."""

    def run(self, sql: str) -> Table:
        assert "'g'" in sql
        return Table((Column("method"),), (("dense",),))


def told(*rows: dict[str, Value | None]) -> str:
    usual = {"latency_us": 5.0, "group_id": "g", "machine_id": "m", "is_baseline": False, "batch_size": 64}
    whole = [{**usual, "trial_id": str(i), **row} for i, row in enumerate(rows)]
    names = tuple(dict.fromkeys(name for row in whole for name in row))
    table = Table(tuple(map(Column, names)), tuple(tuple(row.get(n) for n in names) for row in whole))
    return " ".join(comparing._told(table, names_of(table), Group()))  # type: ignore[arg-type]


HASHED = {"method": "hashed", "verdict": "faster", "speedup": 1.31, "speedup_ci_low": 1.28, "speedup_ci_high": 1.34}


def test_those_that_took_turns_have_their_verdict_with_its_interval() -> None:
    said = told({"method": "dense", "is_baseline": True}, HASHED)
    assert "took turns" in said
    assert "hashed is faster than dense: 1.31x (95 % interval 1.28x to 1.34x)." in said
    assert "hashed 1 is faster than dense" in told(HASHED, {**HASHED, "verdict": "unclear"})


def test_why_there_is_no_verdict_is_said() -> None:
    assert "different work (batch size)" in told(HASHED, {**HASHED, "group_id": "h", "batch_size": 512})
    assert "different machines" in told(HASHED, {**HASHED, "group_id": "h", "machine_id": "n"})
    assert "at different times" in told(HASHED, {**HASHED, "group_id": "h"})
    assert told(HASHED, {**HASHED, "latency_us": None}) == ""
