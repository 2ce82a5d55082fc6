"""Memory-bound operators by eager, Inductor and gir, in turns in one process: microseconds, and bytes per second.

    python -m tests.shows.memory_operators [--threads 1] [--without-inductor] [--budget 1.0] [operator ...]

Outputs are fresh. `predicted` is what the cost model gives the candidate that won; `regret` is how much slower the
candidate is that the model puts first than the best one, both as measured while tuning. Bandwidth is the bytes that the
operator must move (inputs and outputs once) by the time, `share` what that is of a copy of the same size.
"""

import argparse
import math
import os
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from bench_engine.kernels import gir
from bench_engine.kernels.gir.tuning import measure


def interaction(x: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Dot products of all pairs of vectors, beside the first vector."""
    return torch.cat([x[:, 0], torch.bmm(x, x.transpose(1, 2))[:, rows, columns]], 1)


def bags(*given: Tensor) -> Tensor:
    """Sums of bags side by side; half of what is given are tables, the others ids."""
    half = len(given) // 2
    return torch.cat(
        [F.embedding_bag(ids, w, mode="sum") for w, ids in zip(given[half:], given[:half], strict=True)], 1
    )


def hashed_bag(ids: Tensor, table: Tensor) -> Tensor:
    """A bag whose rows share a small table."""
    return F.embedding_bag((ids * 2654435761 + 97) % table.shape[0], table, mode="sum")


def operators(rows: int = 2048) -> dict[str, tuple[Callable, list[Tensor]]]:
    """Each with its inputs, whose sizes grow with `rows`."""
    torch.manual_seed(0)
    wide, vector = torch.randn(rows, 832), torch.randn(832)
    ids = [torch.randint(0, 10_000, (rows // 4, 10)) for _ in range(26)]
    tables = [torch.randn(10_000, 16) for _ in range(26)]
    pairs = torch.tril_indices(27, 27, -1)
    flat, side = torch.randn(1_000_000 * rows // 2048), math.isqrt(2048 * rows)
    return {
        "softmax": (lambda x: x.softmax(-1), [wide]),
        "log_softmax": (lambda x: x.log_softmax(-1), [wide]),
        "layer_norm": (lambda x, w, b: F.layer_norm(x, (832,), w, b), [wide, vector, vector]),
        "rms_norm_residual": (lambda x, y, w: F.rms_norm(x + y, (832,), w), [wide, wide.flip(0), vector]),
        "bias_gelu": (lambda x, b: F.gelu(x + b), [wide, vector]),
        "swiglu": (lambda x, y: F.silu(x) * y, [wide, wide.flip(0)]),
        "sigmoid_chain": (lambda x: torch.sigmoid(torch.sigmoid(x) * 2 - 1) * x, [flat]),
        "sigmoid_bce": (F.binary_cross_entropy_with_logits, [flat, flat.sigmoid()]),
        "transpose_add": (lambda x, y: x + y.t(), [torch.randn(side, side), torch.randn(side, side)]),
        "concat": (lambda *parts: torch.cat(parts, 1), [torch.randn(rows, 16) for _ in range(26)]),
        "bags_concat": (bags, [*ids, *tables]),
        "interaction": (interaction, [torch.randn(rows // 4, 27, 32), *pairs]),
        "hashed_bag": (hashed_bag, [torch.randint(0, 1_000_000, (rows, 10)), torch.randn(100_000, 16)]),
    }


def moved(fn: Callable, inputs: list[Tensor]) -> int:
    """Bytes of inputs and outputs; of a table the rows that are asked for."""
    ids = [t for t in inputs if t.dtype == torch.int64]
    rows = sum(t.numel() for t in ids)
    tables = [t for t in inputs if t.dtype != torch.int64 and ids and t.dim() == 2]
    dense = [t for t in inputs if not any(t is table for table in tables)]
    looked_up = rows * tables[0].shape[1] * 4 if tables else 0
    return sum(t.nbytes for t in dense) + looked_up + fn(*inputs).nbytes


def winners(compiled: gir.Compiled) -> tuple[str, str]:
    """What the model predicted for the winner, and the regret of trusting it alone."""
    decisions = [d for g in compiled.graphs.values() for r in g.regions.values() for d in r.decisions.values()]
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
    parser.add_argument("--without-inductor", action="store_true")
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    print(f"{asked.threads} threads, load {os.getloadavg()[0]:.1f}")
    print(
        f"{'operator':18}{'eager':>9}{'inductor':>9}{'gir':>9}{'ratio':>7}{'predicted':>10}{'regret':>7}{'GB/s':>7}{'share':>7}"
    )
    ratios = []
    for name, (fn, inputs) in operators().items():
        if asked.operators and name not in asked.operators:
            continue
        with torch.no_grad():
            compiled = gir.compile(fn, inputs)
            calls = [lambda fn=fn, inputs=inputs: fn(*inputs), lambda call=compiled, inputs=inputs: call(*inputs)]
            if not asked.without_inductor:
                torch._dynamo.reset()
                inductor = torch.compile(fn, dynamic=False)
                calls.append(lambda call=inductor, inputs=inputs: call(*inputs))
            count = moved(fn, inputs)
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
