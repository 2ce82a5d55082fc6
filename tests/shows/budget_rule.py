"""Shows what constants of one budget bring on validation parts: python -m tests.shows.budget_rule FILE [options]

Trains the click model of the benchmark training on the validation cut of training parts, never on a test part, with the
method field_budget at other constants and with int8_qr, and prints the AUC with its difference from int8_qr, paired by
seed (half the width of the 95 % interval after the sign). Trials go to FILE, a line of JSON each; one that is there is
not run again.

    python -m tests.shows.budget_rule /tmp/rule.jsonl --rules sharing=0.003 sharing=0.01 sharing=0.03
    python -m tests.shows.budget_rule /tmp/rule.jsonl --datasets planted --shares 0.02 --seeds 1 --rules admitted=20
"""

import argparse
import json
import statistics
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import torch

from bench_engine import registry
from bench_engine.benchmarks import training
from bench_engine.kernels.budget import allocation
from bench_engine.kernels.budget.allocation import Rule
from bench_engine.trial import Trial
from tests.shows.tables import of_seeds, table

AGAINST = "int8_qr"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--datasets", nargs="+", default=["frappe", "ml-206k"])
    parser.add_argument("--shares", nargs="+", type=float, default=[0.1, 0.05, 0.02])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rules", nargs="*", default=[], help="often=, admitted=, sharing=, whole=, with commas")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    known = [json.loads(line) for line in chosen.file.read_text().splitlines()] if chosen.file.exists() else []
    names = [AGAINST, "", *chosen.rules]
    wanted = [
        {"dataset": dataset, "share": share, "seed": seed, "rule": rule}
        for seed in range(chosen.seeds)
        for dataset in chosen.datasets
        for share in chosen.shares
        for rule in names
    ]
    for trial in wanted:
        if not any(trial.items() <= row.items() for row in known):
            known.append({**trial, "auc": auc(**trial)})
            with chosen.file.open("a") as file:
                file.write(json.dumps(known[-1]) + "\n")
    show(known, chosen.datasets, chosen.shares, names)


def auc(dataset: str, share: float, seed: int, rule: str) -> float | None:
    """Of a validation part; None where the method cannot be run."""
    method = AGAINST if rule == AGAINST else "field_budget"
    config = {axis.name: axis.default for axis in registry.BENCHMARKS["training"].axes if axis.is_of(method)}
    config |= {"dataset": dataset, "split": "validation", "compression": share, "seed": seed, "threads": 1}
    with mock.patch.object(allocation, "DEFAULT", rule_of(rule)):
        run = training.run(Trial("training", method, config))
        while True:
            try:
                next(run)
            except StopIteration as ended:
                return None if ended.value.status == "skipped" else float(ended.value.metrics["auc"])


def rule_of(text: str) -> Rule:
    """The rule that is shipped, with what is said changed."""
    changes = {} if text == AGAINST else dict(part.split("=") for part in text.split(",") if part)
    return replace(Rule(), **{name: float(value) for name, value in changes.items()})


def show(rows: list[dict[str, Any]], datasets: Iterable[str], shares: list[float], names: list[str]) -> None:
    """A table for each data set: a row a rule, a column a share."""
    found = {(r["dataset"], r["share"], r["rule"], r["seed"]): r["auc"] for r in rows if r["auc"] is not None}
    for dataset in datasets:
        print(f"{dataset}: validation AUC, and less that of {AGAINST}\n")
        lines = []
        for name in names:
            cells = [name or "as shipped"]
            for share in shares:
                mine = {seed: a for (d, s, r, seed), a in found.items() if (d, s, r) == (dataset, share, name)}
                other = {seed: a for (d, s, r, seed), a in found.items() if (d, s, r) == (dataset, share, AGAINST)}
                both = [a - other[seed] for seed, a in mine.items() if seed in other]
                less = f", {of_seeds(both, signed=True)}" if both and name != AGAINST else ""
                cells.append(f"{statistics.fmean(mine.values()):.4f}{less}" if mine else "")
            lines.append(cells)
        table(["rule", *(f"{share:g}" for share in shares)], lines)


if __name__ == "__main__":
    main()
