"""The oracle itself: its arithmetic against fractions and torch, its rules against cases worked out by hand."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests.kernels.fiited.oracle import ADD_FUSES, LARGEST, Optimizer, Oracle, fma, square_added

SGD = Optimizer("sgd", lr=0.5)


def nearest(exact: Fraction) -> np.float32:
    """The float32 next to a fraction, the even one of two."""
    near = np.float32(float(exact))
    both = [near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))]
    return min(both, key=lambda x: (abs(Fraction(float(x)) - exact), int(x.view(np.int32)) & 1))


def test_one_rounding():
    random = np.random.default_rng(0)
    a, b, c = random.standard_normal((3, 3000)).astype(np.float32)
    # Sums that lie next to the middle of two float32 values, where a second rounding would go wrong.
    a[:1000], b[:1000] = 1 + 2**-12, random.choice([1 + 2**-12, 1 - 2**-12, 2**-30], 1000)
    c[:1000] = random.choice([1, -1, 2**24, 1 + 2**-23, 2**-60, -(2**-60)], 1000)
    c[1000:2000] = -(a * b)[1000:2000]
    c[2000:2500] *= np.float32(2) ** random.integers(-30, 30, 500).astype(np.float32)
    exact = [Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)) for x, y, z in zip(a, b, c, strict=True)]
    assert fma(a, b, c).tolist() == [nearest(x) for x in exact]
    naive = (a.astype(np.float64) * b + c).astype(np.float32)
    assert (naive != fma(a, b, c)).any()  # else the cases show nothing


def test_one_rounding_at_the_ends_of_the_range():
    big = np.array([LARGEST, -LARGEST], np.float32)
    assert fma(big, np.float32(2), big).tolist() == [math.inf, -math.inf]
    tiny = np.array([2**-149], np.float32)
    assert fma(tiny, tiny, tiny).tolist() == tiny.tolist()
    assert fma(tiny, np.float32(0.5), tiny).tolist() == [2**-148]  # half way between 1 and 2 units: the even one


@pytest.mark.parametrize("size", [1, 3, 8, 16, 37, 1000])
def test_torch_rounds_so_too(size):
    random = np.random.default_rng(size)
    w, g = random.standard_normal((2, size)).astype(np.float32)
    assert np.array_equal(
        torch.from_numpy(w.copy()).addcmul_(torch.from_numpy(g), torch.from_numpy(g)), square_added(w, g)
    )
    if ADD_FUSES:
        added = torch.from_numpy(w.copy()).add_(torch.from_numpy(g), alpha=-0.1)
        assert np.array_equal(added, fma(g, np.float32(-0.1), w))


def test_torchs_own_root_is_the_right_one_or_its_neighbour():
    x = np.random.default_rng(0).random(10_000).astype(np.float32)
    found, right = torch.from_numpy(x).sqrt().numpy(), np.sqrt(x)
    assert (abs(found - right) <= np.spacing(right)).all()


# torch's EmbeddingBag adds up the gradients of up to 16 ids in order; of more, its sort mixes equal ids.
LENGTHS = {"sum": (1, 5, 3, 7), "mean": (8, 4, 1, 2)}


@pytest.mark.skipif(not ADD_FUSES, reason="this torch rounds twice in add_(alpha=)")
@pytest.mark.parametrize("mode", ["sum", "mean"])
@pytest.mark.parametrize("method", ["sgd", "adagrad", "adagrad from 0.1", "adam"])
def test_nothing_pruned_is_torch_bit_for_bit(method, mode, exact_roots):
    torch.manual_seed(1)
    method, _, initial = method.partition(" from ")
    weight = torch.nn.Parameter(torch.randn(30, 8))
    if method == "sgd":
        theirs = torch.optim.SGD([weight], lr=0.1)
    elif method == "adagrad":
        theirs = torch.optim.Adagrad([weight], lr=0.1, eps=1e-8, initial_accumulator_value=float(initial or 0))
    else:
        theirs = torch.optim.SparseAdam([weight], lr=0.1, eps=1e-8)
    optimizer = Optimizer(method, 0.1, initial_accumulator_value=float(initial or 0))
    oracle = Oracle([30], 8, 4, 0.0, optimizer, mode=mode)
    oracle.start(weight.detach().numpy().copy())
    for step in range(50):
        # The dense gradient of a mean is rounded once per lookup, ours twice: equal where 1 / length is exact.
        lengths = (3, 5, 7) if mode == "mean" and method == "adam" else LENGTHS[mode]
        bags = [torch.randint(0, 30, (length,)).tolist() for length in lengths]
        flat = torch.tensor([i for bag in bags for i in bag])
        offsets = torch.tensor([0, *lengths]).cumsum(0)[:-1]
        output = F.embedding_bag(flat, weight, offsets, mode=mode, sparse=method == "adam")
        assert np.array_equal(output.detach(), oracle.forward(bags)), step
        gradient = torch.randn_like(output)
        theirs.zero_grad()
        output.backward(gradient)
        theirs.step()
        oracle.zero_grad()
        oracle.backward(bags, gradient.numpy())
        oracle.step()
        assert np.array_equal(weight.detach(), oracle.materialize()), step


def test_row_wise_adagrad_keeps_one_number_per_chunk():
    oracle = Oracle([1], 4, 2, 0.0, Optimizer("rowwise_adagrad", 0.5, eps=0.0))
    oracle.start(np.ones((1, 4), np.float32))
    for _ in range(2):
        oracle.zero_grad()
        oracle.backward([[0]], np.array([[3, 1, 0, 2]], np.float32))
        oracle.step()
    five, two = (np.sqrt(np.float32(s)) for s in (5, 2))
    expected = 1 - 0.5 * np.array([3, 1, 0, 2]) * np.array([1 / five + 1 / np.sqrt(10)] * 2 + [1 / two + 0.5] * 2)
    np.testing.assert_allclose(oracle.vector(0), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("tables", "scope", "budgets", "rows"),
    [
        ([10], "global", [8], [0, 2, 5, 7]),
        ([10], "column", [4, 4], [0, 2, 5, 7]),
        ([10], "table", [8], [0, 2, 5, 7]),
        ([3, 7], "global", [8], [0, 2, 5, 7]),
        ([3, 7], "column", [4, 4], [0, 2, 5, 7]),
        ([3, 7], "table", [2, 6], [0, 3, 5, 7]),  # 2.4 and 5.6 chunks
        ([1], "global", [1], []),  # 0.8 of a chunk is one, less than a row
    ],
)
def test_budgets_and_first_rows(tables, scope, budgets, rows):
    oracle = Oracle(tables, 4, 2, 0.6, SGD, scope=scope)
    assert oracle.budgets == budgets
    assert oracle.first_rows() == rows


def test_a_budget_of_nothing():
    with pytest.raises(ValueError, match="nothing"):
        Oracle([1, 100], 4, 2, 0.9, SGD, scope="table")


def pruned(utilities, live, rows=4, **options):
    """An oracle of (rows, 2) chunks of one number, half of them to keep, with these utilities and these live chunks."""
    tables = options.pop("tables", [rows])
    oracle = Oracle(tables, 2, 2, 0.5, SGD, decay=1.0, **options)
    oracle.start(np.ones((len(oracle.first_rows()), 2), np.float32))
    chunk = next(iter(oracle.live.values()))
    oracle.live = dict.fromkeys(live, chunk)
    oracle.utility = {q: np.float32(u) for q, u in enumerate(utilities)}
    return oracle, oracle.prune()


def test_the_best_are_kept():
    oracle, event = pruned([0, 9, 0, 8, 7, 0, 6, 5], live=[0, 1, 2, 3])
    assert (event.evicted, event.restored, event.moved, event.skipped) == ([0, 2], [4, 6], 2, False)
    assert oracle.vector(0).tolist() == [0, 1]  # a chunk that stayed
    assert oracle.vector(2).tolist() == [0, 0]  # a chunk that came
    assert oracle.utilities().ravel().tolist() == [0, 9, 0, 8, 7, 0, 6, 5]


def test_of_equals_the_first():
    _, event = pruned([1] * 8, live=[4, 5, 6, 7])
    assert (event.evicted, event.restored) == ([4, 5, 6, 7], [0, 1, 2, 3])
    _, event = pruned([0, 0, 0, 0, 0, 0, 0, 1], live=[2, 3, 4, 5])
    assert (event.evicted, event.restored) == ([5], [7])


def test_free_chunks_are_given_out_and_nobody_is_evicted_for_them():
    _, event = pruned([0, 0, 0, 3, 0, 1, 0, 0], live=[0, 1])
    assert (event.evicted, event.restored) == ([], [3, 5])


@pytest.mark.parametrize(
    ("scope", "tables", "kept"),
    [("global", [4], [0, 1, 2, 3]), ("column", [4], [0, 1, 2, 3]), ("table", [2, 2], [0, 1, 4, 5])],
)
def test_scopes(scope, tables, kept):
    oracle, _ = pruned([8, 7, 6, 5, 4, 3, 2, 1], live=[], scope=scope, tables=tables)
    assert sorted(oracle.live) == kept
    oracle, _ = pruned([8, 1, 7, 2, 6, 3, 5, 4], live=[], scope=scope, tables=tables)
    assert sorted(oracle.live) == {"global": [0, 2, 4, 6], "column": [0, 2, 5, 7], "table": [0, 2, 4, 6]}[scope]


def test_too_little_to_move():
    utilities, live = [0, 9, 9, 9, 9, 0, 0, 0], [0, 1, 2, 3]
    assert pruned(utilities, live, min_turnover=0.26)[1].skipped
    oracle, event = pruned(utilities, live, min_turnover=0.25)
    assert (sorted(oracle.live), event.skipped, event.moved) == ([1, 2, 3, 4], False, 1)


@pytest.mark.parametrize(("share", "remembered"), [(0.0, []), (0.33, []), (0.34, [3]), (0.67, [3, 5]), (9.0, [3, 5])])
def test_forgetting(share, remembered):
    utilities = [9, 9, 8, 8, 7, 1, 2, 3, 4, 0, 0, 3]
    oracle, _ = pruned(utilities, live=[0, 1], rows=6, candidate_share=share)
    assert sorted(oracle.live) == [0, 1, 2, 3, 4, 8]
    assert oracle.utilities()[2].tolist() == [7, 1]
    rows = {q // 2 for q, u in oracle.utility.items() if u > 0}
    assert sorted(rows - {0, 1, 2, 4}) == remembered


def trained(events=1, **options):
    """Rows 0 and 1 are looked up in every step, and an event follows each."""
    oracle = Oracle([6], 2, 1, 0.5, SGD, interval=1, min_turnover=0.0, **options)
    oracle.start(np.ones((len(oracle.first_rows()), 2), np.float32))
    for _ in range(events):
        oracle.zero_grad()
        oracle.backward([[0, 1], [1]], np.array([[3, 4], [3, 4]], np.float32))
        oracle.step()
    return oracle


@pytest.mark.parametrize(
    ("score", "first", "second"), [("frequency*gradient", 5, 20), ("gradient", 5, 10), ("frequency", 1, 2)]
)
def test_scores_and_decay(score, first, second):
    assert trained(score=score, decay=0.5).utilities().ravel().tolist() == [first / 2, second / 2, 0, 0, 0, 0]
    assert trained(2, score=score, decay=0.5).utilities().ravel().tolist()[:2] == [first * 0.75, second * 0.75]


def test_utilities_stay_finite():
    oracle = Oracle([1], 2, 1, 0.0, SGD)
    oracle.start(np.zeros((1, 2), np.float32))
    for _ in range(2):
        oracle.backward([[0, 0]], np.full((1, 2), LARGEST))
        oracle.step()
    assert oracle.utilities().tolist() == [[LARGEST]]


def test_rows_that_nobody_asks_for_expire():
    oracle = trained(2, ttl=3)
    assert sorted(oracle.live) == [0, 1, 2]
    oracle = trained(3, ttl=3)
    assert sorted(oracle.live) == [0, 1]
    assert oracle.events[-1].evicted == [2]


def test_when_events_are_due():
    oracle = Oracle([4], 2, 1, 0.5, SGD, interval=8)
    due = []
    for _ in range(40):
        before = len(oracle.events)
        oracle.step()
        if len(oracle.events) > before:
            due.append(oracle.step_count)
    assert due == [3, 8, 16, 24, 30, 32, 40]
    dense = Oracle([4], 2, 1, 0.0, SGD, interval=1)
    dense.step()
    assert dense.events == []


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_gradient_that_is_not_finite_changes_nothing(bad):
    oracle = trained()
    before = (oracle.materialize(), oracle.utilities(), oracle.step_count)
    oracle.zero_grad()
    oracle.backward([[0], [1]], np.array([[1, 1], [1, bad]], np.float32))
    with pytest.raises(FloatingPointError):
        oracle.step()
    assert all(
        np.array_equal(x, y)
        for x, y in zip(before, (oracle.materialize(), oracle.utilities(), oracle.step_count), strict=True)
    )
