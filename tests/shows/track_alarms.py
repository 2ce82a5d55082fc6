"""Shows how often `track` raises an alarm where nothing has changed, and how often it finds what has.

    python -m tests.shows.track_alarms                   # 400 simulated series of each kind, a minute

A series is one configuration over commits, a run at each; runs scatter by tau, and each has an interval of its own. The
exit status is 0 when no more than one series in twenty of the kinds of noise that the model has raises an alarm.
"""

import argparse
import sys

import numpy as np

from bench_engine.measure.change_points import change_points

OWN = 0.003  # standard deviation that a run's own interval has
KINDS = {
    "normal": lambda chance, count, tau: chance.normal(0, tau, count),
    "heavy tails (Student, 3)": lambda chance, count, tau: chance.standard_t(3, count) * tau / np.sqrt(3),
    "drifting": lambda chance, count, tau: np.cumsum(chance.normal(0, tau / 3, count)) + chance.normal(0, tau, count),
    "one run in 20 slower by 15 %": lambda chance, count, tau: (
        chance.normal(0, tau, count) + 0.15 * (chance.random(count) < 0.05)
    ),
}


def share(kind: str, count: int, tau: float, change: float, at: int, series: int) -> tuple[float, float]:
    """Of series of so many commits: the shares with a change that is none, and with the one that is there found."""
    chance = np.random.default_rng([count, round(tau * 1e4), round(change * 1e4), at, list(KINDS).index(kind)])
    alarms, hits = 0, 0
    for _ in range(series):
        logs = KINDS[kind](chance, count, tau) + chance.normal(0, OWN, count)
        logs[at:] += np.log1p(change)
        found = change_points(np.exp(logs).tolist(), [OWN**2] * count, range(count)).changes
        right = [change and c.before < at <= c.after for c in found]
        hits += any(right)
        alarms += not all(right)
    return alarms / series, hits / series


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--series", type=int, default=400, help="simulated series of each kind")
    series = parser.parse_args().series
    good = True
    print("Nothing has changed: share of series with an alarm")
    for kind in KINDS:
        for count in (10, 30):
            alarms, _ = share(kind, count, 0.01, 0.0, 0, series)
            good &= alarms <= 0.05 or kind not in ("normal", "heavy tails (Student, 3)")
            print(f"  {kind:<30} {count:>3} commits, runs scatter by 1 %: {alarms:7.2%}", flush=True)
    print("A change: share of series in which it is found, and with another one told")
    for change, tau, count, at in (
        (0.05, 0.005, 12, 6), (0.05, 0.005, 12, 11), (0.05, 0.01, 20, 10), (0.1, 0.01, 12, 6), (0.1, 0.01, 12, 11),
        (0.03, 0.005, 20, 10),
    ):  # fmt: skip
        alarms, hits = share("normal", count, tau, change, at, series)
        told = f"{change:.0%} after {at} of {count} commits, runs scatter by {tau:.1%}"
        print(f"  {told:<55} {hits:7.2%} {alarms:7.2%}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
