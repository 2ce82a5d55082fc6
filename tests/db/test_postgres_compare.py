"""A comparison reads PostgreSQL as it reads a DuckDB file."""

from dataclasses import replace

import pytest
from make_records import make_record

from bench_engine.compare import comparison_table as compare_table
from bench_engine.compare.compare import METRICS, compare
from bench_engine.compare.sides import CompareError
from db.store import Store


def test_both_databases_tell_the_same(store: Store, postgres_store: Store) -> None:
    records = []
    for number, (sweep, method, us) in enumerate([("a", "dense", 10), ("a", "hashed", 20), ("b", "hashed", 10)]):
        made = make_record(
            number, sweep=sweep, method=method, seed=0, memory_mb=6.4, latency_us=float(us), group_id=sweep
        )
        samples = tuple(us * (1 + 0.01 * (i % 7)) for i in range(40))
        records.append(replace(made, samples_us=samples, turn_sizes=(5,) * 8 if sweep == "a" else ()))
    store.ensure()
    found = []
    for each in (store, postgres_store):
        each.add(records)
        sides = (("a", "b"), ("method:dense", "method:hashed"), ("before:2026-11-01T00:02", "since:2026-11-01T00:02"))
        found.append([compare_table.as_json(compare(each, *side)) for side in sides])
        found[-1].append(
            compare_table.as_json(compare(each, "a", "b", METRICS["memory_mb"], ["compression=1", "method=hashed"]))
        )
        with pytest.raises(CompareError, match="holds no trial"):
            compare(each, "a", "b", where=["method=x' OR 1=1 --"])
    assert found[0] == found[1]
    assert [c["verdict"] for c in found[0][0]["configurations"]] == ["faster"]
    assert found[0][1]["configurations"][0]["in_turns"] is False  # the newest hashed is of the other sweep
