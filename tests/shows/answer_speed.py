"""Shows how long a person waits: from a question to SQL, and from a question to its chart, on 100,000 trials.

    python -m tests.shows.answer_speed                     # makes the store first: two or three minutes
    python -m tests.shows.answer_speed --trials 10000 --rounds 3
    python -m tests.shows.answer_speed --keep 100k.duckdb  # leave the store, and use it again the next time
    python -m tests.shows.answer_speed --profile           # where the time of the questions goes

The questions are the examples of the catalogue and more, refusals among them. To SQL: the likeliest reading, what
completes it, and the SQL. To a chart: all of `mirror.ask`, with the
query in the sandbox and the sentence, and the Plotly figure as JSON for the browser. Everything is warm, as it is for
a page that is open. The exit status is 0 when every target is met:

    to SQL: 95 % < 50 ms      to a chart: 95 % < 300 ms

and of 60 open questions of the evaluation, in words of all kinds, without a chart:

    to an answer: 50 % < 30 ms, 95 % < 120 ms
"""

import argparse
import cProfile
import math
import os
import pstats
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from bench_engine.machine import machine as this_machine
from mirror.answer.answering import ask
from mirror.chart.draw.figure import draw
from mirror.data.process.sandbox import Sandbox
from mirror.evaluation.questions import load
from mirror.language.ranking.results_readings import likeliest
from mirror.query.complete import complete
from mirror.query.errors import Ambiguity, Refusal
from mirror.query.sql import compile_sql
from mirror.schema import catalog
from tests.shows import sandbox_memory

TO_SQL_MS, TO_CHART_MS, TO_ANSWER_MS, USUALLY_MS = 50.0, 300.0, 120.0, 30.0
OPEN = 60  # questions of the evaluation
NOW = datetime(2026, 6, 1, 12, 0)

QUESTIONS = (
    "AUC vs logloss by compression",
    "best method per batch size in lookup",
    "box plot of latency by method in lookup",
    "compare dense, hashed and quotient remainder at dim 32",
    "compare the machines",
    "did latency get worse since 2026-02-01",
    "failed trials by method",
    "fastest lookups at batch size 512 on 2 threads",
    "frobnicate the wombats",
    "heatmap of latency by dim and batch size for hashed",
    "highest AUC per data set",
    "histogram of latency for lookups",
    "how much faster is hashed than dense",
    "largest error by method",
    "latency at dim 64 and batch size 2048 by direction",
    "latency between 100 us and 1 ms for small dim",
    "latency by machine in lookup",
    "latency by number of rows for hashed as a line chart",
    "list the trials of hashed at dim 16",
    "loss over training by method",
    "lowest memory with AUC above 0.75",
    "median latency by batch size in lookup",
    "memory by compression",
    "memory vs latency in lookup at dim 16 and batch size 64",
    "methods faster than dense",
    "number of trials per method",
    "p99 latency by batch size, log scale",
    "run the quick sweep",
    "speedup of hashed over dense by batch size",
    "the 3 slowest methods at dim 128",
    "throughput by batch size and method",
    "top 10 trials by AUC",
    "what is the latency of dense at batch size 8192 without hashed",
    "wich methd is fastst at dim 64",
    "why did trials fail",
)


def to_sql(question: str, box: Sandbox) -> None:
    """Question -> SQL, or the sentence that refuses it."""
    try:
        if asked := likeliest(question, box, NOW):
            compile_sql(complete(asked, box.schema(), question))
    except (Refusal, Ambiguity):
        return


def to_answer(question: str, box: Sandbox) -> str:
    """Question -> table, chart and sentence, with nothing drawn. Returns the status of the answer."""
    return ask(question, sandbox=box, use_model=False, now=NOW).status


def open_questions() -> list[str]:
    """Questions of the evaluation that stand alone and are not held out, spread over all kinds and personas."""
    found: list[str] = []
    for of in ("categories", "paraphrases"):
        alone = [q.ask for q in load(of) if not q.held_out and not q.after]
        found += alone[:: len(alone) // (OPEN // 2)][: OPEN // 2]
    return found


def to_chart(question: str, box: Sandbox) -> str:
    """Question -> what the page shows. Returns the status of the answer."""
    answer = ask(question, sandbox=box, use_model=False, now=NOW)
    if answer.table and answer.chart:
        drawn = draw(answer.table, answer.chart)
        if drawn is not None:
            drawn.to_json()
    return answer.status


def milliseconds(times: list[float], share: float) -> float:
    """The percentile of some times in seconds, in ms."""
    return statistics.quantiles(times, n=100, method="inclusive")[round(share * 100) - 1] * 1e3


def measure(
    run: Callable[[str, Sandbox], object], box: Sandbox, rounds: int, questions: Sequence[str]
) -> dict[str, list[tuple[float, float]]]:
    """Question -> (seconds, of these CPU time of this process) of each round; the first, which fills caches, is not
    counted."""
    found: dict[str, list[tuple[float, float]]] = {question: [] for question in questions}
    for number in range(rounds + 1):
        for question, times in found.items():
            start, busy = time.perf_counter(), time.process_time()
            run(question, box)
            if number:
                times.append((time.perf_counter() - start, time.process_time() - busy))
    return found


def show(path: Path, rounds: int) -> bool:
    """Print the percentiles and the slowest questions. Returns whether every target was met."""
    met = True
    mine = this_machine.machine()
    usual, asked = (*catalog.examples(), *QUESTIONS), open_questions()
    with Sandbox(str(path)) as box:
        print(f"{mine['cpu']}, {mine['cores']} cores, {mine['name']}; load before: {os.getloadavg()[0]:.1f}")
        profile = box.schema()
        print(f"{profile.rows('results'):,} trials in `results`, {profile.rows('history'):,} in `history`", flush=True)
        statuses = [to_chart(question, box) for question in (*usual, *asked)]
        print(", ".join(f"{statuses.count(status)} {status}" for status in sorted(set(statuses))))
        for way, run, questions, usually, target in (
            ("SQL", to_sql, usual, math.inf, TO_SQL_MS),
            ("a chart", to_chart, usual, math.inf, TO_CHART_MS),
            ("an answer", to_answer, asked, USUALLY_MS, TO_ANSWER_MS),
        ):
            found = measure(run, box, rounds, questions)
            waited, busy = ([t[i] for times in found.values() for t in times] for i in (0, 1))
            half, most = (milliseconds(waited, share) for share in (0.5, 0.95))
            good = half < usually and most < target
            met &= good
            targets = f"target p95 < {target:g} ms" + (f", p50 < {usually:g} ms" if usually < math.inf else "")
            print(
                f"{'PASS' if good else 'FAIL'}  question to {way:<9} p50 {half:6.1f} ms  p95 {most:6.1f} ms  "
                f"max {max(waited) * 1e3:6.1f} ms  ({targets}; n = {len(waited)})"
            )
            half, most = (milliseconds(busy, share) for share in (0.5, 0.95))
            print(f"        of it this process was busy: p50 {half:.1f} ms, p95 {most:.1f} ms", flush=True)
            medians = {question: statistics.median(t for t, _ in times) for question, times in found.items()}
            for question in sorted(medians, key=lambda q: -medians[q])[:5]:
                print(f"        {medians[question] * 1e3:7.1f} ms  {question}")
    return met


def profiled(path: Path) -> None:
    """Print where the time of one round of whole questions goes."""
    with Sandbox(str(path)) as box:
        asked = (*catalog.examples(), *QUESTIONS, *open_questions())
        for question in asked:
            to_chart(question, box)
        profiler = cProfile.Profile()
        profiler.enable()
        for question in asked:
            to_chart(question, box)
        profiler.disable()
    pstats.Stats(profiler).strip_dirs().sort_stats("cumulative").print_stats(60)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=100_000, help="recorded trials")
    parser.add_argument("--rounds", type=int, default=5, help="times that each question is asked")
    parser.add_argument("--keep", metavar="FILE", help="the store: used where it exists, else made and left there")
    parser.add_argument("--profile", action="store_true", help="print where the time goes instead")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(options.keep or f"{folder}/many.duckdb").resolve()
        if not path.exists():
            sandbox_memory.write_store(path, options.trials, samples=5)
        if options.profile:
            profiled(path)
            return 0
        met = show(path, options.rounds)
    print("Every target is met." if met else "A target is missed.")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
