"""Changes of level: found where they are, and rarely where there are none."""

import itertools
import math

import numpy as np
import pytest

from bench_engine.measure import change_points as module
from bench_engine.measure.change_points import Found, change_points


def found(logs: np.ndarray, own: float = 0.003, commits: list[int] | None = None, probability: float = 0.95) -> Found:
    numbers = commits or list(range(len(logs)))
    return change_points(np.exp(logs).tolist(), [own**2] * len(logs), numbers, probability)


@pytest.mark.parametrize(("count", "tau"), [(5, 0.003), (10, 0.01), (20, 0.03), (40, 0.003)])
def test_series_without_a_change_rarely_raise_an_alarm(count: int, tau: float) -> None:
    chance = np.random.default_rng(1)
    assert sum(bool(found(chance.normal(0, tau, count)).changes) for _ in range(100)) <= 2


def test_a_change_is_found_where_it_is() -> None:
    chance = np.random.default_rng(2)
    right, held = 0, 0
    for _ in range(100):
        logs = chance.normal(0, 0.005, 15)
        logs[9:] += 0.05
        changes = found(logs).changes
        right += len(changes) == 1 and changes[0].before <= 8 < 9 <= changes[0].after
        held += any(c.ratio.low <= math.exp(0.05) <= c.ratio.high for c in changes)
    assert right >= 95
    assert held >= 88


def test_two_runs_alone_make_no_change() -> None:
    assert found(np.log([1.0, 1.1])).changes == ()
    assert found(np.log([1.0])).changes == ()
    assert change_points([], [], []).changes == ()


def test_the_posterior_is_that_of_all_ways_to_cut_the_series(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every set of borders counted, for one tau."""
    monkeypatch.setattr(module, "_TAUS", np.array([0.01]))
    logs = np.array([0.0, 0.01, -0.005, 0.03, 0.035, 0.028])
    series = module._Series(logs, np.full(6, 1e-6), np.arange(6))
    posterior = module._posterior(series)
    weights = {}
    for cuts in itertools.chain.from_iterable(itertools.combinations(range(1, 6), n) for n in range(6)):
        weight = len(cuts) * math.log(module.CHANGE) + (5 - len(cuts)) * math.log1p(-module.CHANGE)
        for begin, end in itertools.pairwise((0, *cuts, 6)):
            inside = logs[begin:end] - series.centre
            spread = np.eye(end - begin) * (1e-4 + 1e-6) + module.LEVELS**2
            sign, size = np.linalg.slogdet(2 * math.pi * spread)
            weight -= 0.5 * (sign * size + inside @ np.linalg.solve(spread, inside))
        weights[cuts] = math.exp(weight)
    for first, last in ((1, 1), (3, 3), (2, 4), (1, 5)):
        expected = sum(w for cuts, w in weights.items() if any(first <= c <= last for c in cuts)) / sum(
            weights.values()
        )
        assert posterior.changed(first, last) == pytest.approx(expected, abs=1e-9)


def test_runs_of_one_commit_are_never_apart() -> None:
    logs = np.log([1.0, 1.001, 0.999, 1.2, 1.0, 1.2, 1.001, 1.0])
    apart = found(logs, commits=[0, 1, 2, 3, 3, 3, 4, 5]).changes
    assert all(c.before < c.after for c in apart)


def test_values_must_be_positive() -> None:
    with pytest.raises(ValueError, match="positive"):
        change_points([1.0, 0.0], [1.0, 1.0], [0, 1])
    unknown = change_points([1.0, 1.01, 0.99, 1.5, 1.51, 1.49], [math.inf] * 6, range(6)).changes
    assert [(c.before, c.after) for c in unknown] == [(2, 3)]
