"""Why one method is slower: only what is stored, the same words each time, and nothing where it is missing."""

import json

import pytest

from bench_engine.compare.why import cost, why


def row(us: float = 10.0, touched: float = 0, gather: float = 2.0, **more) -> dict:
    """A trial of 10 µs that touches 16 kB a call does so at 0.8 of a bandwidth of 2 GB/s."""
    told = {"touched_bytes": touched, "gather_gb_s": gather, **more.pop("environment", {})} if touched else {}
    columns = {"bytes_moved": more.pop("moved", None), "bandwidth_share": more.pop("share", None)}
    return {"latency_us": us, "environment": json.dumps({**told, **more}), **columns}


def test_bytes_and_bandwidths_are_told_and_explain_the_time():
    a, b = row(10.0, 16_000), row(38.0, 30_400)
    assert why([(a, b)], "dense", "hashed") == (
        "hashed touches 1.9x the bytes at 0.4x the bandwidth of random rows; dense: 0.8x."
    )
    x, y = cost(a), cost(b)
    assert (y.bytes / x.bytes) / (y.share / x.share) == pytest.approx(y.latency_us / x.latency_us)


def test_what_comes_from_caches_is_said():
    sentence = why([(row(10.0, 16_000), row(10.0, 64_000))], "dense", "hashed")
    assert sentence == (
        "hashed touches 4x the bytes at 3.2x the bandwidth of random rows; dense: 0.8x (above 1: from caches)."
    )


def test_rows_of_two_sizes_have_a_bandwidth_each_so_that_the_arithmetic_holds():
    a, b = row(10.0, 160_000, gather=20.0), row(100.0, 800_000)
    assert why([(a, b)], "dense", "hashed") == (
        "hashed touches 5x the bytes at 8 GB/s, 4x the bandwidth of random rows of its size; dense: 16 GB/s, 0.8x "
        "(above 1: from caches)."
    )


def test_several_configurations_are_a_mean_and_its_ends():
    pairs = [(row(10.0, 16_000), row(10.0, 32_000)), (row(10.0, 16_000), row(10.0, 128_000))]
    assert why(pairs, "a", "b").startswith("b touches 4x the bytes (2x to 8x) at 3.2x the bandwidth")


def test_bytes_are_told_alone_where_the_machine_s_bandwidth_is_not_known():
    assert why([(row(10.0, 16_000, 0), row(10.0, 32_000, 0))], "a", "b") == "b touches 2x the bytes of a."
    assert why([(row(10.0, 16_000, 0), row(20.0, 16_000, 0))], "a", "b") == ""


def test_equal_bytes_are_the_same_bytes():
    assert why([(row(10.0, 16_000), row(20.0, 16_100))], "a", "b").startswith("b touches the same bytes at 0.4x the")


def test_where_no_method_declares_bytes_those_of_the_operator_are_told_beside_a_copy():
    a, b = row(10.0, moved=8000, share=0.35), row(5.0, moved=8000, share=0.7)
    assert why([(a, b)], "eager", "gir") == "gir moves the same bytes at 0.7x a copy's bandwidth; eager: 0.35x."
    assert why([(a, row(10.0, 16_000))], "eager", "gir") == ""  # bytes of two kinds do not compare


def counts(**events: float) -> dict:
    return row(counts=events)


def test_counts_that_differ_are_told():
    a = counts(instructions=1000, cycles=500, cache_misses=10, branch_misses=0.2, page_faults=50)
    b = counts(instructions=5000, cycles=5000, cache_misses=10.5, branch_misses=0.9, page_faults=25)
    assert why([(a, b)], "dense", "hashed") == (
        "hashed takes 5x the instructions and 0.5x the page faults. Instructions a cycle: 1; dense: 2."
    )
    a, b = row(10.0, 16_000, energy_j=0.1), row(20.0, 16_000, energy_j=0.3)
    assert why([(a, b)], "dense", "hashed").endswith(" dense: 0.8x. hashed takes 3x the energy.")


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"environment": None},
        {"environment": "no JSON"},
        {"environment": "[]"},
        {"environment": '{"touched_bytes": "many", "gather_gb_s": true, "counts": [1], "energy_j": -1}'},
        {"environment": "[" * 100_000},
        {"environment": '{"touched_bytes": 1' + "0" * 400 + "}"},
        {"environment": '{"touched_bytes": 0, "gather_gb_s": 2, "counts": {"instructions": NaN}}'},
        {"environment": '{"touched_bytes": Infinity, "gather_gb_s": 2}', "latency_us": None},
    ],
)
def test_what_is_missing_or_broken_says_nothing(given):
    trial = {**row(), **given}
    assert why([(trial, trial)], "a", "b") == ""
    assert why([(row(10.0, 16_000), trial)], "a", "b") == ""
    assert why([], "a", "b") == ""
