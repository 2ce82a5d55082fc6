"""Times calls on a GPU in turns, and says what is slower than what."""

import math
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch


def graph_of(call: Callable[[], Any], times: int) -> Callable[[], Any]:
    """`times` calls recorded in a CUDA graph."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(times):
            call()
    return graph.replay


def turns(calls: dict[str, Callable[[], Any]], device: str, times: int, budget_s: float) -> dict[str, list[float]]:
    """Microseconds of one of the `times` that a call stands for, for each round; the order changes."""
    samples: dict[str, list[float]] = {name: [] for name in calls}
    order, until = list(calls), time.monotonic() + budget_s
    for call in calls.values():
        call()
    while len(samples[order[0]]) < 5 or (time.monotonic() < until and len(samples[order[0]]) < 200):
        random.shuffle(order)
        if device == "cuda":
            events = {name: [torch.cuda.Event(enable_timing=True) for _ in range(2)] for name in order}
            for name in order:
                events[name][0].record()
                calls[name]()
                events[name][1].record()
            torch.cuda.synchronize()
            for name, (begin, end) in events.items():
                samples[name].append(begin.elapsed_time(end) * 1e3 / times)
        else:
            for name in order:
                begin = time.perf_counter()
                calls[name]()
                samples[name].append((time.perf_counter() - begin) * 1e6 / times)
    return samples


def summary(samples: dict[str, list[float]], ours: str) -> dict[str, Any]:
    """Medians, and rival / ours as (median, low, high): order statistics that hold the median in 19 of 20 cases."""
    said: dict[str, Any] = {f"{name}_us": round(statistics.median(own), 3) for name, own in samples.items()}
    for name in samples.keys() - {ours}:
        ratios = sorted(a / b for a, b in zip(samples[name], samples[ours], strict=True))
        count = len(ratios)
        reach = 0.98 * math.sqrt(count)
        low, high = max(0, math.floor(count / 2 - reach)), min(count - 1, math.ceil(count / 2 + reach))
        said[f"{name}_ratio"] = [round(value, 4) for value in (statistics.median(ratios), ratios[low], ratios[high])]
    return said
