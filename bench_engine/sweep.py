"""A sweep file becomes trials: reads the YAML, says what is wrong with it, and expands the grid."""

import itertools
import math
import sys
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from bench_engine import readiness
from bench_engine.registry import method
from bench_engine.sweep_part import Part, PartReader, SweepError, hint, override
from bench_engine.trial import Scalar, Trial
from db.columns import BY_NAME
from db.settings import ROOT

SWEEPS_DIR = ROOT / "sweeps"
MAX_TRIALS = 10_000  # more than that is a slip of the pen more often than a wish; `run_cap` says that it is a wish


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
        return parse(sys.stdin.read(), "stdin")
    given = Path(path_or_name).expanduser()
    is_path = given.suffix in (".yaml", ".yml") or len(given.parts) != 1
    path = given if is_path else SWEEPS_DIR / f"{path_or_name}.yaml"
    try:
        return parse(path.read_text(encoding="utf-8"), path.stem, path.name)
    except FileNotFoundError:
        if is_path:
            raise SweepError(f"There is no sweep file {path_or_name}.") from None
        known = names()
        raise SweepError(
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
    try:
        documents = [d for d in yaml.load_all(text, Loader=_Loader) if d is not None]
    except yaml.MarkedYAMLError as error:
        line = f" line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise SweepError(f"{source}{line} is not YAML: {error.problem or error.context}.") from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise SweepError(f"{source} is not YAML: {str(error).splitlines()[0]}.") from None
    if not documents:
        raise SweepError(f"{source} is empty: it needs at least `benchmark` and `methods`.")
    parts = []
    for number, document in enumerate(documents, start=1):
        where = source if len(documents) == 1 else f"{source}, part {number}"
        if not isinstance(document, dict):
            raise SweepError(f"{where} must be keys and values, such as `benchmark: lookup`.")
        given = document.get("name", name)
        if not isinstance(given, str) or not given.strip() or len(given) > 100:
            raise SweepError(f"{where}: name must be text of at most 100 characters.")
        name = given
        parts.append(PartReader(document, where).part())
    return Sweep(name, text, tuple(parts))


def expand(sweep: Sweep, overrides: Sequence[str] = ()) -> list[Trial]:
    """All trials of a sweep, each once, in the order in which they are to run.

    The methods of one configuration are neighbours, so that a drifting machine hits them alike. `overrides` are texts
    such as `batch_size=64,512`, `methods=dense,hashed`, `seeds=3`; one applies to the parts that have the axis.

    Raises SweepError.
    """
    parts = _overridden(sweep.parts, overrides)
    trials: list[Trial] = []
    for part in parts:
        if part.run_cap is None and (size := _grid_size(part)) > MAX_TRIALS:
            raise SweepError(
                f"Sweep {sweep.name} has {size:,} trials of {part.benchmark.name}: give fewer values, or say with "
                "`run_cap` how many of them to run."
            )
        trials += itertools.islice(_trials(part), part.run_cap)
    if not trials:
        raise SweepError(f"Sweep {sweep.name} is an empty grid: everything is excluded.")
    return trials


def _grid_size(part: Part) -> int:
    return len(part.methods) * len(part.seeds) * math.prod(len(v) for v in part.values.values())


def _trials(part: Part) -> Iterator[Trial]:
    """The trials of the grid: workload axes outermost, then the seed, then what methods vary in, methods innermost."""
    axes = [a for a in part.benchmark.axes if a.name != "seed"]
    workload = [a for a in axes if BY_NAME[a.name].workload]
    varied = [a for a in axes if not BY_NAME[a.name].workload]
    columns: list[Sequence[Scalar]] = [part.values.get(a.name, (a.default,)) for a in workload]
    columns += [part.seeds, *(part.values.get(a.name, (a.default,)) for a in varied)]
    order = [*(a.name for a in workload), "seed", *(a.name for a in varied)]
    seen: set[Hashable] = set()
    skip = readiness.SkipReasons()
    for values in _product(columns):
        point = dict(zip(order, values, strict=True))
        for name in part.methods:
            config = {a.name: point[a.name] for a in part.benchmark.axes}
            if not method(name).compressible and "compression" in config:
                config["compression"] = 1.0
            key = (name, *config.values())
            if key in seen or any(_matches(pattern, name, config) for pattern in part.exclude):
                continue
            seen.add(key)
            yield Trial(
                part.benchmark.name,
                name,
                config,
                is_baseline=name == part.baseline,
                stop=part.stop,
                time_limit_s=part.time_limit_s,
                skip_reason=skip.of(name, config),
            )


def _product(columns: Sequence[Sequence[Scalar]]) -> Iterator[tuple[Scalar, ...]]:
    """itertools.product without its copies of the columns: a range of a billion seeds costs nothing."""
    if not columns:
        yield ()
        return
    for first in columns[0]:
        for rest in _product(columns[1:]):
            yield (first, *rest)


def _matches(pattern: Mapping[str, Scalar], name: str, config: Mapping[str, Scalar]) -> bool:
    return all((name if key == "method" else config[key]) == value for key, value in pattern.items())


# -- overrides -----------------------------------------------------------------------------------------------------


def _overridden(parts: tuple[Part, ...], overrides: Sequence[str]) -> list[Part]:
    changed = list(parts)
    for text in overrides:
        key, equals, values = text.partition("=")
        key = key.strip()
        items = [v.strip() for v in values.split(",")]
        if not equals or not key or not all(items):
            raise SweepError(f"-p {text!r} must look like axis=value or axis=value,value.")
        known = sorted({a.name for part in parts for a in part.benchmark.axes} | {"methods", "seeds"})
        if key not in known:
            raise SweepError(
                f"-p {text}: no part of this sweep has {key!r}{hint(key, known)} Known: {', '.join(known)}."
            )
        changed = [override(part, key, items, f"-p {text}") for part in changed]
    return changed


class _Loader(yaml.SafeLoader):
    """Safe YAML that refuses a key given twice, where plain YAML would drop the first without a word."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys: set[str] = set()
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if not isinstance(key, yaml.ScalarNode) or key.tag == "tag:yaml.org,2002:merge":
                continue
            if key.value in keys:
                raise yaml.constructor.ConstructorError(
                    problem=f"the key {key.value} is given twice", problem_mark=key.start_mark
                )
            keys.add(key.value)
        return super().construct_mapping(node, deep)
