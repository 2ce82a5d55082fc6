"""Shows how fast memory-bound operators are, as docs/memory_compiler.md has it: python -m tests.shows.memory_results

Of the benchmark memory_ops, and of whole models, from MIRROR_DB; with --all each operator of every case:

    python -m bench_engine --db /tmp/operators.duckdb ingest db/examples/memory_ops/*.jsonl.gz
    MIRROR_DB=/tmp/operators.duckdb python -m tests.shows.memory_results
"""

import argparse
import math
import statistics
from collections.abc import Iterable, Sequence

from db.settings import db_url
from db.store import Store
from tests.shows.tables import Row, groups, table

_RIVALS = ("inductor", "inductor_freezing", "inductor_cpp", "onnxruntime", "jax", "numba")
_CASE = ("direction", "working_set", "threads", "output")
_SLOWER = 1 / 1.03  # a difference that is told
_SQL = "SELECT * FROM results WHERE benchmark = 'memory_ops' AND speedup IS NOT NULL"
_WHOLE = """
SELECT * FROM results
WHERE benchmark = 'grouped_lookup' AND model <> 'op' AND method IN ('eager', 'gir', 'inductor_model')
AND speedup IS NOT NULL
"""

Operators = dict[str, dict[str, Row]]  # by operator and method


def main(argv: Sequence[str] | None = None) -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description="Tables of memory-bound operators from MIRROR_DB.")
    parser.add_argument("--all", action="store_true", help="each operator of every case")
    everything = parser.parse_args(argv).all
    rows = Store(db_url()).rows(_SQL)
    cases = {
        case: {operator: {row["method"]: row for row in own} for (operator,), own in groups(of, "operator").items()}
        for case, of in groups(rows, *_CASE).items()
    }
    _show_cases(cases)
    for case, operators in cases.items():
        direction, working_set, threads, output = case
        if (
            everything
            or direction != "forward"
            or (threads == 1 and (output == "fresh" or working_set == "out_of_cache"))
        ):
            print(f"{direction}, {working_set}, threads {threads}, output {output}: times as fast as eager\n")
            _show_operators(operators)
    print("gir against each of the others, forward, geometric mean of what both ran\n")
    table(["against", "gir is", "faster"], _against(_forward(cases)))
    _show_model([row for row in rows if row["method"] == "gir" and row["model_regret"] is not None])
    print("Whole models: times as fast as eager\n")
    table(
        ["model", "batch", "threads", "direction", "eager, µs", "gir", "inductor_model"],
        (
            [*key, f"{of['eager']['latency_us']:.0f}", _times(of.get("gir")), _times(of.get("inductor_model"))]
            for key, own in groups(Store(db_url()).rows(_WHOLE), "model", "batch_size", "threads", "direction").items()
            for of in [{r["method"]: r for r in own}]
        ),
    )


def _show_cases(cases: dict[tuple[str, ...], Operators]) -> None:
    print("gir, geometric mean over the operators of each case\n")
    head = [
        "direction",
        "working set",
        "threads",
        "output",
        "operators",
        "over eager",
        "over the faster of eager and Inductor",
    ]
    table(
        [*head, "over the fastest of all others", "slower than eager", "share of a copy, median: eager", "gir"],
        ([*case, len(of), *_summed_up(of.values()), *_shares(of.values())] for case, of in cases.items()),
    )
    forward = _forward(cases)
    over_eager, over_both, over_all, _ = _summed_up(forward)
    print(f"All {len(forward)} of forward: {over_eager} over eager, {over_both} over the faster of eager and Inductor,")
    print(f"{over_all} over the fastest of all others.")
    slower = [
        f"{operator} ({', '.join(map(str, case[1:]))}: {_times(of['gir'])})"
        for case, operators in cases.items()
        for operator, of in operators.items()
        if "gir" in of and of["gir"]["speedup"] < _SLOWER
    ]
    print(f"Slower than eager by more than 3 %: {'; '.join(slower) or 'none'}.\n")


def _show_operators(operators: Operators) -> None:
    rivals = [m for m in _RIVALS if any(m in of for of in operators.values())]
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


def _show_model(decided: Sequence[Row]) -> None:
    print("The cost model, over the candidates of each trial\n")
    table(
        ["operator", "trials", "bytes predicted / moved", "regret, median", "largest", "rank correlation, median"],
        (
            [
                operator,
                len(own),
                _median([row["bytes_predicted"] / row["bytes_moved"] for row in own if row["bytes_predicted"]], ".2f"),
                _median([row["model_regret"] for row in own], ".0%"),
                f"{max(row['model_regret'] for row in own):.0%}",
                _median([row["model_rank_correlation"] for row in own], ".2f"),
            ]
            for (operator,), own in groups(decided, "operator").items()
        ),
    )
    print(
        f"Of all {len(decided)} trials the median regret is {_median([row['model_regret'] for row in decided], '.0%')},"
    )
    print(f"the median rank correlation {_median([row['model_rank_correlation'] for row in decided], '.2f')}.\n")


def _forward(cases: dict[tuple[str, ...], Operators]) -> list[dict[str, Row]]:
    return [of for case, operators in cases.items() if case[0] == "forward" for of in operators.values()]


def _summed_up(operators: Iterable[dict[str, Row]]) -> list[str]:
    """Over eager, over the faster of eager and Inductor, over the fastest of all others; how many are slower."""
    ran = [of for of in operators if "gir" in of]
    means = [
        _mean([of["gir"]["speedup"] / max(of[m]["speedup"] for m in against if m in of) for of in ran])
        for against in (("eager",), ("eager", "inductor"), ("eager", *_RIVALS))
    ]
    return [*means, str(sum(of["gir"]["speedup"] < _SLOWER for of in ran))]


def _shares(operators: Iterable[dict[str, Row]]) -> list[str]:
    cells = list(operators)
    return [_median([of[m]["bandwidth_share"] for of in cells if m in of], ".0%") for m in ("eager", "gir")]


def _against(cells: Sequence[dict[str, Row]]) -> Iterable[list[str]]:
    for method in ("eager", *_RIVALS):
        ratios = [of["gir"]["speedup"] / of[method]["speedup"] for of in cells if "gir" in of and method in of]
        if ratios:
            yield [f"`{method}`", f"{_mean(ratios)}x as fast", f"{sum(r > 1 for r in ratios)} of {len(ratios)}"]


def _mean(ratios: Sequence[float]) -> str:
    return f"{math.exp(statistics.fmean(map(math.log, ratios))):.2f}" if ratios else ""


def _median(values: Sequence[float | None], form: str) -> str:
    known = [value for value in values if value is not None]
    return format(statistics.median(known), form) if known else ""


def _times(row: Row | None) -> str:
    """A question mark says that the interval leaves open whether it is faster, slower or the same."""
    return f"{row['speedup']:.2f}{' ?' if row['verdict'] == 'unclear' else ''}" if row else ""


def _share(row: Row | None) -> str:
    return f"{row['bandwidth_share']:.0%}" if row and row["bandwidth_share"] is not None else ""


if __name__ == "__main__":
    main()
