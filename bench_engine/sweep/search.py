"""Which trials a part of a sweep has: its whole grid in order, or configurations drawn at random, within run_cap."""

import math
import random
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench_engine.registry import method
from bench_engine.registry.readiness import SkipReasons
from bench_engine.sweep.part import Part, SweepError
from bench_engine.trial import Scalar, Trial
from db.columns import BY_NAME

# So many configurations in a row that give nothing new end a search.
FRUITLESS = 50_000

Point = dict[str, Scalar]


@dataclass(frozen=True)
class Chosen:
    """The trials of one part.

    Attributes:
        part: what they are of, overrides applied.
        trials: each once, in the order in which they are to run; the methods of one configuration are neighbours.
        configurations: how many there are, each seed counted.
        note: one sentence where run_cap does not give the number of trials that it says; else empty.
    """

    part: Part
    trials: tuple[Trial, ...]
    configurations: int
    note: str


def counted(number: int, noun: str) -> str:
    """`1 trial`, `2,000 trials`."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def grid_size(part: Part) -> int:
    """Trials of the whole grid, before what is excluded and what is the same for a method of one size."""

    def configurations(method_name: str) -> int:
        axes = (a for a in part.benchmark.axes if a.is_of(method_name))
        return math.prod(len(part.values.get(a.name, ("its default",))) for a in axes)

    return len(part.seeds) * sum(map(configurations, part.methods))


def choose(part: Part) -> Chosen:
    """The trials of a part. The methods of a configuration stay together: run_cap never parts them.

    Raises SweepError where a grid with run_cap is excluded almost as a whole.
    """
    cap = math.inf if part.run_cap is None else part.run_cap
    trials: list[Trial] = []
    configurations = fruitless = 0
    methods = _Methods(part)
    for point in _points(part):
        if len(trials) >= cap or fruitless == FRUITLESS:
            break
        new = methods.trials(point)
        fruitless = 0 if new else fruitless + 1
        if trials and len(trials) + len(new) > cap:
            break
        trials += new
        configurations += bool(new)
    else:
        return Chosen(part, tuple(trials), configurations, _note(part, len(trials), configurations, ended=True))
    if fruitless == FRUITLESS and not part.drawn:
        raise SweepError(
            f"The grid of {part.benchmark.name} has {FRUITLESS:,} configurations in a row that are excluded or the "
            "same for these methods: leave their values out of parameters instead."
        )
    return Chosen(part, tuple(trials), configurations, _note(part, len(trials), configurations, fruitless == FRUITLESS))


def _note(part: Part, trials: int, configurations: int, ended: bool) -> str:
    if part.run_cap is None or trials == part.run_cap:
        return ""
    whole = f"{counted(configurations, 'configuration')} with {counted(trials, 'trial')}"
    if ended and trials < part.run_cap:
        return f"run_cap {part.run_cap:,} is more than there is: {whole}."
    return f"run_cap {part.run_cap:,} keeps the methods of a configuration together: {whole}."


class _Methods:
    """The trials at a configuration that were not there before."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.seen: set[Hashable] = set()
        self.skip = SkipReasons()
        self.varied = {name for name, values in {**part.values, "seed": part.seeds}.items() if len(values) > 1}
        self.varied |= part.ranges.keys()
        # By their keys: one look for all of them.
        self.excluded: dict[tuple[str, ...], set[tuple[Scalar | None, ...]]] = {}
        for pattern in part.exclude:
            keys = tuple(sorted(pattern))
            self.excluded.setdefault(keys, set()).add(tuple(pattern[key] for key in keys))

    def trials(self, point: Point) -> list[Trial]:
        part, found = self.part, []
        for name in part.methods:
            config = {a.name: point[a.name] for a in part.benchmark.axes if a.is_of(name)}
            if not method(name, part.benchmark.name).compressible and "compression" in config:
                config["compression"] = 1.0
            key = (name, *config.values())
            if key in self.seen or self.is_excluded({**config, "method": name}):
                continue
            self.seen.add(key)
            trial = Trial(
                part.benchmark.name,
                name,
                config,
                is_baseline=name == part.baseline,
                stop=part.stop,
                time_limit_s=part.time_limit_s,
                memory_limit_gb=part.memory_limit_gb,
                skip_reason=self.skip.of(name, config, part.benchmark.name),
                metrics=part.metrics,
                named=self.named(config),
            )
            found.append(trial)
        return found

    def named(self, config: Point) -> tuple[str, ...]:
        """The axes that a label names: those that the part varies, and those that are not at their default. What is
        left out is the same for all, so that no two trials of a sweep look alike."""
        axes = (a for a in self.part.benchmark.axes if a.name in config)
        return tuple(a.name for a in axes if a.name in self.varied or config[a.name] != a.default)

    def is_excluded(self, config: Mapping[str, Scalar]) -> bool:
        """Whether a pattern fits; one that names an axis which the method does not have fits nowhere."""
        return any(tuple(map(config.get, keys)) in values for keys, values in self.excluded.items())


# -- configurations ------------------------------------------------------------------------------------------------


def _points(part: Part) -> Iterator[Point]:
    """The value of every axis, the seed among them, configuration after configuration."""
    axes = [a for a in part.benchmark.axes if a.name != "seed"]
    if part.drawn:
        yield from ({**point, "seed": seed} for point in _draws(part) for seed in part.seeds)
        return
    # workload axes outermost, then the seed, then what methods vary in
    workload = [a for a in axes if BY_NAME[a.name].workload]
    varied = [a for a in axes if not BY_NAME[a.name].workload]
    columns: list[Sequence[Scalar]] = [part.values.get(a.name, (a.default,)) for a in workload]
    columns += [part.seeds, *(part.values.get(a.name, (a.default,)) for a in varied)]
    order = [*(a.name for a in workload), "seed", *(a.name for a in varied)]
    for values in _product(columns):
        yield dict(zip(order, values, strict=True))


def _product(columns: Sequence[Sequence[Scalar]]) -> Iterator[tuple[Scalar, ...]]:
    """itertools.product without its copies of the columns: a range of a billion seeds costs nothing."""
    if not columns:
        yield ()
        return
    for first in columns[0]:
        for rest in _product(columns[1:]):
            yield (first, *rest)


def _draws(part: Part) -> Iterator[Point]:
    """Different points of a random search, for ever or until there is none left.

    Each axis has its own stream of numbers, made of random_seed and its name alone: what is drawn first stays the same
    whatever run_cap, seeds, methods and the other axes are. Only `random()` is used, which Python keeps the same from
    version to version.
    """
    axes = [a for a in part.benchmark.axes if a.name != "seed"]
    choices = {a.name: part.values.get(a.name, (a.default,)) for a in axes if a.name not in part.ranges}
    streams = {a.name: random.Random(f"{part.random_seed} {a.name}") for a in axes}
    size = math.prod([*(len(v) for v in choices.values()), *(r.count for r in part.ranges.values())])
    seen: set[Hashable] = set()
    repeated = 0
    while len(seen) < size and repeated < FRUITLESS:
        point: Point = {}
        for name, stream in streams.items():
            place = stream.random()
            values = choices.get(name)
            point[name] = part.ranges[name].at(place) if values is None else values[int(place * len(values))]
        key = tuple(point.values())
        repeated = repeated + 1 if key in seen else 0
        if not repeated:
            seen.add(key)
            yield point
