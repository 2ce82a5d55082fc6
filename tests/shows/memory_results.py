"""Shows how fast memory-bound operators are, as docs/memory_compiler.md has it: python -m tests.shows.memory_results

Of the benchmark memory_ops, and of whole models, from MIRROR_DB:

    python -m bench_engine --db /tmp/operators.duckdb ingest db/examples/memory_ops/*.jsonl.gz
    MIRROR_DB=/tmp/operators.duckdb python -m tests.shows.memory_results
"""

import math
from collections.abc import Iterable, Sequence

from db.settings import db_url
from db.store import Store
from tests.shows.tables import Row, groups, table

_RIVALS = ("inductor", "inductor_freezing", "inductor_cpp", "onnxruntime", "jax", "numba")
_SQL = "SELECT * FROM results WHERE benchmark = 'memory_ops' AND speedup IS NOT NULL"
_WHOLE = """
SELECT * FROM results
WHERE benchmark = 'grouped_lookup' AND model <> 'op' AND method IN ('eager', 'gir', 'inductor_model')
AND speedup IS NOT NULL
"""


def main() -> None:
    """Prints the tables."""
    rows = Store(db_url()).rows(_SQL)
    for key, cell in groups(rows, "direction", "working_set", "threads", "output").items():
        operators = {name: {r["method"]: r for r in of} for (name,), of in groups(cell, "operator").items()}
        rivals = [m for m in _RIVALS if any(m in of for of in operators.values())]
        direction, working_set, threads, output = key
        print(f"{direction}, {working_set}, threads {threads}, output {output}: times as fast as eager\n")
        table(
            ["operator", "eager, µs", "gir", *rivals, "share of a copy: eager", "gir"],
            (
                [
                    name,
                    f"{of['eager']['latency_us']:.0f}",
                    *(_times(of.get(method)) for method in ("gir", *rivals)),
                    *(_share(of.get(method)) for method in ("eager", "gir")),
                ]
                for name, of in operators.items()
            ),
        )
        print("gir against the others, geometric mean of the operators that both ran\n")
        table(["against", "gir is", "faster"], _against(operators.values(), ("eager", *rivals)))
    print("The cost model: candidates of one trial\n")
    decided = [r for r in rows if r["method"] == "gir" and r["model_regret"] is not None]
    table(
        ["operator", "working set", "threads", "output", "bytes predicted / moved", "regret", "rank correlation"],
        (
            [
                *key,
                _number(_over(r["bytes_predicted"], r["bytes_moved"]), ".2f"),
                _number(r["model_regret"], ".0%"),
                _number(r["model_rank_correlation"], ".2f"),
            ]
            for key, (r, *_) in groups(decided, "operator", "working_set", "threads", "output").items()
        ),
    )
    whole = Store(db_url()).rows(_WHOLE)
    print("Whole models: times as fast as eager\n")
    table(
        ["model", "batch", "threads", "direction", "eager, µs", "gir", "inductor_model"],
        (
            [*key, f"{of['eager']['latency_us']:.0f}", _times(of.get("gir")), _times(of.get("inductor_model"))]
            for key, own in groups(whole, "model", "batch_size", "threads", "direction").items()
            for of in [{r["method"]: r for r in own}]
        ),
    )
    regrets = sorted(r["model_regret"] for r in decided)
    ranks = sorted(r["model_rank_correlation"] for r in decided if r["model_rank_correlation"] is not None)
    print(f"Median regret {regrets[len(regrets) // 2]:.0%}, largest {regrets[-1]:.0%}, of {len(regrets)} trials;")
    print(f"median rank correlation {ranks[len(ranks) // 2]:.2f}, of {len(ranks)}.")


def _against(operators: Iterable[dict[str, Row]], methods: Sequence[str]) -> Iterable[list[str]]:
    cells = list(operators)
    for method in methods:
        ratios = [of["gir"]["speedup"] / of[method]["speedup"] for of in cells if "gir" in of and method in of]
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            yield [f"`{method}`", f"{mean:.2f}x as fast", f"{sum(r > 1 for r in ratios)} of {len(ratios)}"]


def _times(row: Row | None) -> str:
    """A question mark says that the interval leaves open whether it is faster, slower or the same."""
    return f"{row['speedup']:.2f}{' ?' if row['verdict'] == 'unclear' else ''}" if row else ""


def _share(row: Row | None) -> str:
    return f"{row['bandwidth_share']:.0%}" if row and row["bandwidth_share"] is not None else ""


def _over(one: float | None, other: float) -> float | None:
    return None if one is None else one / other


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


if __name__ == "__main__":
    main()
