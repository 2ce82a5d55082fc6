"""A sweep file becomes trials: finds and reads the file, applies -p, and expands each of its parts."""

import itertools
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench_engine.registry import hint
from bench_engine.sweep import document as sweep_yaml
from bench_engine.sweep.part import IN_FILE, MAX_TRIALS_EVER, SPECIAL, Part, PartReader, SweepError, SweepUsageError
from bench_engine.sweep.search import Chosen, choose, grid_size
from bench_engine.trial import Stop, Trial
from db import installation

SWEEPS_DIR = installation.path("sweeps")
MAX_TRIALS = 10_000  # more than that is a slip of the pen more often than a wish; `run_cap` says that it is a wish
QUICK = Stop(min_samples=10, max_seconds=0.3, noise_target=0.05)  # of a first look


@dataclass(frozen=True)
class Sweep:
    """A sweep file.

    Attributes:
        name: what the results are filed under.
        text: the file as it was read.
        parts: one per YAML document.
    """

    name: str
    text: str
    parts: tuple[Part, ...] = field(repr=False)

    @property
    def description(self) -> str:
        """The comment at the top of the file, as one line."""
        lines = itertools.takewhile(lambda line: line.startswith("#"), self.text.splitlines())
        return " ".join(line.lstrip("# ").rstrip() for line in lines).strip()


def names() -> list[str]:
    """The ready sweeps."""
    return sorted(path.stem for path in SWEEPS_DIR.glob("*.yaml"))


def load(path_or_name: str) -> Sweep:
    """Read a sweep: a ready one by name, a file by path (it holds a slash or ends in .yaml), or `-` for standard input.

    Raises SweepError.
    """
    if path_or_name == "-":
        try:
            return parse(sys.stdin.read(sweep_yaml.MAX_CHARACTERS + 1), "stdin")
        except UnicodeDecodeError:
            raise SweepError("stdin is not UTF-8 text.") from None
    if not path_or_name.strip():
        raise SweepUsageError("No sweep was named: give a ready one by name, the path of a .yaml file, or - for stdin.")
    try:
        given = Path(path_or_name).expanduser()
    except RuntimeError:  # ~somebody whom this system does not know
        raise SweepUsageError(f"There is no sweep file {path_or_name}.") from None
    is_path = given.suffix in (".yaml", ".yml") or len(given.parts) != 1
    path = given if is_path else SWEEPS_DIR / f"{path_or_name}.yaml"
    try:
        with path.open(encoding="utf-8-sig") as file:
            text = file.read(sweep_yaml.MAX_CHARACTERS + 1)
        return parse(text, path.stem, path.name)
    except FileNotFoundError:
        if is_path:
            raise SweepUsageError(f"There is no sweep file {path_or_name}.") from None
        known = names()
        raise SweepUsageError(
            f"There is no sweep {path_or_name!r}{hint(path_or_name, known)} Ready ones: {', '.join(known)}; "
            "or give the path of a .yaml file."
        ) from None
    except UnicodeDecodeError:
        raise SweepError(f"{path.name} is not UTF-8 text.") from None
    except OSError as error:
        raise SweepError(f"{path.name} cannot be read: {error.strerror}.") from None


def parse(text: str, name: str, source: str = "") -> Sweep:
    """Read a sweep from YAML text. `name` holds where the text gives none. Raises SweepError."""
    source = source or name
    documents = sweep_yaml.documents(text, source)
    if not documents:
        raise SweepError(f"{source} is empty: it needs at least `benchmark` and `methods`.")
    parts = []
    for number, document in enumerate(documents, start=1):
        where = source if len(documents) == 1 else f"{source}, part {number}"
        if not isinstance(document, dict):
            raise SweepError(f"{where} must be keys and values, such as `benchmark: lookup`.")
        given = document.get("name", name)
        if not isinstance(given, str) or not given.strip() or len(given) > 100 or len(given.splitlines()) > 1:
            raise SweepError(f"{where}: name must be text of at most 100 characters on one line.")
        if unseen := next((c for c in given if not c.isprintable()), ""):
            raise SweepError(
                f"{where}: name holds a character that cannot be seen (U+{ord(unseen):04X}): leave it out."
            )
        name = given
        parts.append(PartReader(document, where).part())
    return Sweep(name, text, tuple(parts))


def expand(sweep: Sweep, overrides: Sequence[str] = ()) -> list[Trial]:
    """All trials of a sweep, part after part, in the order in which they are to run. See `expand_parts`."""
    return [trial for chosen in expand_parts(sweep, overrides) for trial in chosen.trials]


def expand_parts(sweep: Sweep, overrides: Sequence[str] = ()) -> tuple[Chosen, ...]:
    """The trials of each part of a sweep, each once.

    The methods of one configuration are neighbours, so that a drifting machine hits them alike. `overrides` are texts
    such as `batch_size=64,512`, `methods=dense,hashed`, `seeds=3`, `run_cap=20`; one applies to the parts that have
    the axis.

    Raises SweepError.
    """
    chosen = []
    for part in _overridden(sweep.parts, overrides):
        if part.drawn and part.run_cap is None:
            raise SweepError(
                f"Sweep {sweep.name} draws {part.benchmark.name} at random without end: say with run_cap how many "
                "trials to run, in the file or as -p run_cap=20."
            )
        if part.run_cap is None and (size := grid_size(part)) > MAX_TRIALS:
            shown = f"{size:,}" if size < 1e12 else f"about {size:.0e}"
            raise SweepError(
                f"Sweep {sweep.name} has {shown} trials of {part.benchmark.name}: give fewer values, or say with "
                "`run_cap` how many of them to run."
            )
        chosen.append(choose(part))
        if (total := sum(len(c.trials) for c in chosen)) > MAX_TRIALS_EVER:
            raise SweepError(f"Sweep {sweep.name} has {total:,} trials and more: make several sweeps of it.")
    if not any(c.trials for c in chosen):
        raise SweepError(f"Sweep {sweep.name} is an empty grid: everything is excluded.")
    return tuple(chosen)


def first_look(trial: Trial) -> Trial:
    """The trial as --quick runs it: it stops sampling earlier, and never later than its own sweep says."""
    stop = Stop(
        min_samples=min(trial.stop.min_samples, QUICK.min_samples),
        max_seconds=min(trial.stop.max_seconds, QUICK.max_seconds),
        noise_target=max(trial.stop.noise_target, QUICK.noise_target),
    )
    return replace(trial, stop=stop)


# -- overrides -----------------------------------------------------------------------------------------------------


def _overridden(parts: tuple[Part, ...], overrides: Sequence[str]) -> list[Part]:
    changed = list(parts)
    for text in overrides:
        key, equals, values = text.partition("=")
        key = key.strip()
        items = [v.strip() for v in values.split(",")]
        if not equals or not key or not all(items):
            raise SweepUsageError(f"-p {text!r} must look like axis=value or axis=value,value.")
        known = sorted({a.name for part in parts for a in part.benchmark.axes} | set(SPECIAL))
        drawn = any(part.drawn for part in parts)
        if not drawn:
            known.remove("random_seed")
        if key.partition(".")[0] in IN_FILE:
            raise SweepUsageError(f"-p {text}: {key} is set in the sweep's file. Known here: {', '.join(known)}.")
        if key == "random_seed" and not drawn:
            raise SweepUsageError(f"-p {text}: random_seed needs method: random, for nothing of a grid is drawn.")
        if key not in known:
            raise SweepUsageError(
                f"-p {text}: no part of this sweep has {key!r}{hint(key, known)} Known: {', '.join(known)}."
            )
        try:
            changed = [PartReader({}, f"-p {text}").override(part, key, items) for part in changed]
        except SweepError as error:
            raise SweepUsageError(str(error)) from error
        if key == "metrics" and not any(set(items) & set(part.metrics) for part in changed):
            of = ", ".join(part.benchmark.name for part in changed)
            raise SweepUsageError(f"-p {text}: trials of {of} can have none of these.")
    return changed
