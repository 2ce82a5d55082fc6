"""Random graphs of supported ops by the memory-first compiler beside float64, thousands of them.

    python -m tests.shows.gir_random_graphs [--graphs 4000] [--from-seed 1000] [--out FILE]

The graphs are those of tests/kernels/gir/test_gir_fuzz.py, of other seeds: random shapes, strides, rewrites, schedules
and threads. FILE, which is JSON, has how many there were and each that was wrong, with its seed and number.
"""

import argparse
import json
import platform
import random
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
IN_A_UNIT = 50  # graphs of a seed, which are compiled together


def wrong_in(seed: int, count: int) -> list[str]:
    """What is wrong among so many graphs of a seed, a sentence each."""
    from generated import build, compare
    from test_gir_fuzz import random_case

    choice = random.Random(seed)
    cases = [random_case(choice) for _ in range(count)]
    build(cases, threads=1 + seed % 2)
    wrong = []
    for number, c in enumerate(cases):
        try:
            assert c.call
            compare(c.call(*c.inputs), c.fn, c.inputs, 1e-4, f"graph {number} of seed {seed}")
        except AssertionError as error:
            wrong.append(str(error).splitlines()[0])
    return wrong


def main() -> None:
    """Builds, compares, and tells."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--graphs", type=int, default=4000)
    parser.add_argument("--from-seed", type=int, default=1000)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "kernels" / "gir")]
    wrong: list[str] = []
    begin, done = time.monotonic(), 0
    for seed in range(options.from_seed, options.from_seed + -(-options.graphs // IN_A_UNIT)):
        count = min(IN_A_UNIT, options.graphs - done)
        wrong += wrong_in(seed, count)
        done += count
        print(f"\r{done:,} of {options.graphs:,}, {len(wrong)} wrong", end="", file=sys.stderr, flush=True)
    import torch

    told = {
        "graphs": done,
        "from_seed": options.from_seed,
        "wrong": wrong,
        "seconds": round(time.monotonic() - begin),
        "torch": torch.__version__,
        "machine": platform.machine(),
    }
    print(f"\n{done:,} random graphs, {len(wrong)} wrong, in {told['seconds']} s.", *wrong, sep="\n")
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
