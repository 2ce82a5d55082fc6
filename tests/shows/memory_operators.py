"""Memory-bound operators by eager, Inductor and gir, in turns in one process: microseconds, and bytes per second.

    python -m tests.shows.memory_operators [--threads 1] [--without-inductor] [--budget 1.0]
        [--working-set in_l3] [operator ...]

A quick look; the benchmark memory_ops measures the same operators properly. Outputs are fresh. `predicted` is what the
cost model gives the candidate that won; `regret` is how much slower the candidate is that the model puts first than the
best one, both as measured while tuning. Bandwidth is the bytes that the operator must move (inputs and outputs once) by
the time, `share` what that is of a copy of the same size.
"""

import argparse
import math
import os

import torch

from bench_engine.kernels import gir
from bench_engine.kernels.gir.backend.tuning import measure
from bench_engine.methods.operators.memory_operators import OPERATORS, SIZES


def winners(compiled: gir.Compiled) -> tuple[str, str]:
    """What the model predicted for the winner, and the regret of trusting it alone."""
    decisions = compiled.decisions()
    if len(decisions) != 1 or not decisions[0].tried:
        return "-", "-"
    tried = decisions[0].tried
    best = min(tried, key=lambda t: t["measured_us"])
    return f"{best['predicted_us']:.0f}", f"{tried[0]['measured_us'] / best['measured_us'] - 1:.0%}"


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument("operators", nargs="*")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--budget", type=float, default=1.0)
    parser.add_argument("--working-set", choices=list(SIZES), default="in_l3")
    parser.add_argument("--without-inductor", action="store_true")
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    print(f"{asked.threads} threads, load {os.getloadavg()[0]:.1f}")
    print(
        f"{'operator':18}{'eager':>9}{'inductor':>9}{'gir':>9}{'ratio':>7}{'predicted':>10}{'regret':>7}{'GB/s':>7}{'share':>7}"
    )
    ratios = []
    for name, operator in OPERATORS.items():
        if asked.operators and name not in asked.operators:
            continue
        fn, inputs = operator.call, operator.inputs(asked.working_set, 0)
        with torch.no_grad():
            compiled = gir.compile(fn, inputs)
            calls = [lambda fn=fn, inputs=inputs: fn(*inputs), lambda call=compiled, inputs=inputs: call(*inputs)]
            if not asked.without_inductor:
                torch._dynamo.reset()
                inductor = torch.compile(fn, dynamic=False)
                calls.append(lambda call=inductor, inputs=inputs: call(*inputs))
            count = operator.bytes_moved(inputs, fn(*inputs))
            source = torch.ones(count // 8)
            calls.append(lambda source=source: source.clone())
            eager, own, *others, copy = measure(calls, asked.budget)
        best = min([eager, *others])
        ratios.append(best / own)
        predicted, regret = winners(compiled)
        rival = f"{others[0]:.0f}" if others else "-"
        speed = f"{count / own / 1e3:7.1f}{copy / own:7.0%}"
        print(
            f"{name:18}{eager:9.0f}{rival:>9}{own:9.0f}{best / own:7.2f}{predicted:>10}{regret:>7}{speed}", flush=True
        )
    print(f"geometric mean over the best of the others: {math.prod(ratios) ** (1 / len(ratios)):.2f}")


if __name__ == "__main__":
    main()
