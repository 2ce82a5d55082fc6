"""Requests to measure: "run fiited at 0.95 on ML-206k", "rerun the quick sweep" -> a RunPlan, which nobody has started.

The words are read against what can be run here and not what was measured; only known names and numbers get into a plan.
The engine is asked what can be run when a text is a request, and once per process.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from mirror.language.requests import action_words, budget_words
from mirror.language.requests.action_words import SEEDS_NOT_CHOSEN, Request
from mirror.language.requests.budget_words import Budget
from mirror.language.requests.named import Named, named
from mirror.query.errors import Ambiguity, Refusal
from mirror.runs import jobs
from mirror.runs.jobs import AxisOption, BenchmarkOption, JobError, Options
from mirror.runs.run_plan import RunPlan, Scalar
from mirror.schema import catalog
from mirror.schema.profile import Profile
from mirror.table.values import Value
from mirror.table.wording import join, shortened

_MOST_NAMED = 12
_SWEEPS = r"(?:sweeps?|presets?)"
_NO_NAMES = ("a", "the", "my", "some", "with", "of", "ready")
_ASSIGNMENTS = re.compile(r"\s*(?:with|using|,)?\s*(?:\w+\s?=\s?\S+\s*)+")
_AGAINST = re.compile(
    r"(?<![\w-])(?:against|versus|vs\.?|compared (?:to|with)|relative to|with the baseline) (?:the )?"
)
_FRACTION = re.compile(r"(?<![\w.])0?\.\d+(?![\w.])")
_PRUNING = "prune_interval"  # the axis of methods that are pruned while they train
_DATA = "dataset"  # the axis of benchmarks that train
_OF_TRAINING = ("auc", "logloss", "regret", "kept_share", "restoration_lag_steps")

_Values = dict[str, list[Scalar]]


def read(question: str, profile: Profile, options: Options | None = None) -> RunPlan | None:
    """The plan of a request to measure something; None for any other text.

    Args:
        question: in plain words.
        profile: what the results hold: values that were measured before tell what a number without a name is of.
        options: what can be run; by default the engine is asked.

    Raises:
        Refusal: it cannot be run, or the engine does not answer; the sentence names what can.
        Ambiguity: a number could be of several axes.
    """
    if budget := budget_words.read(question):
        return _of_budget(budget, options)
    request = action_words.read(question)
    if request is None or (request.needs_method and not _names_a_method(request.text)):
        return None
    try:
        options = options or jobs.options()
    except JobError as error:
        raise Refusal(f"What can be run is not known: {error}") from error
    return _Planner(request, options, profile).plan()


def is_request(question: str) -> bool:
    """Whether a text asks to run something, as far as its words tell: the engine is asked nothing."""
    if budget_words.read(question):
        return True
    request = action_words.read(question)
    return request is not None and not (request.needs_method and not _names_a_method(request.text))


def _of_budget(budget: Budget, options: Options | None) -> RunPlan | None:
    """The search of what to use for a budget; None where the data are none that can be trained on. Raises Refusal."""
    if budget.data in budget_words.OWN:
        raise Refusal(
            "Data of your own are a file here: `python -m bench_engine suggest FILE --label COLUMN --budget-mb "
            f"{budget.budget_mb:g}` tells what to use for them."
        )
    try:
        options = options or jobs.options()
        name = next((d.name for d in options.data_sets if d.name.lower() == budget.data), "")
        return jobs.suggestion(name, budget.budget_mb) if name else None
    except JobError as error:
        raise Refusal(str(error)) from error


def _names_a_method(text: str) -> bool:
    """Whether a text names a method as the catalogue knows it: asking the engine takes a second."""
    for method, synonyms in catalog.value_synonyms("method").items():
        for name in (method, method.replace("_", " "), *synonyms):
            if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text):
                return True
    return False


class _Planner:
    """One request on its way to a plan."""

    def __init__(self, request: Request, options: Options, measured: Profile) -> None:
        self.request = request
        self.options = options
        self.measured = measured
        self.notes: list[str] = []

    def plan(self) -> RunPlan:
        name, rest = self._ready_sweep(self.request.text)
        made = self._of_a_sweep(name, rest) if name else self._of_words(self.request.text)
        return replace(
            made,
            again=self.request.again,
            retry_failed=self.request.retry_failed,
            quick=self.request.quick,
            notes=tuple(self.notes),
        )

    # -- ready sweeps ----------------------------------------------------------------------------------------------

    def _ready_sweep(self, text: str) -> tuple[str, str]:
        """(name, what is left of the text) of the ready sweep that is named; both empty where none is."""
        for name in sorted((s.name for s in self.options.sweeps), key=len, reverse=True):
            spelt = re.escape(name).replace("_", "[_ -]")
            beside = rf"(?<![\w-])(?:the )?(?:{_SWEEPS} {spelt}|{spelt}(?: ready)? {_SWEEPS})(?![\w-])"
            match = re.search(beside, text)
            if not match and not self.request.measures and (first := re.match(rf"(?:the )?{spelt}(?![\w-])", text)):
                match = first if self._is_meant(name, text[first.end() :]) else None
            if match:
                return name, f"{text[: match.start()]} {text[match.end() :]}"
        unknown = re.search(rf"(?<![\w-])(?:(?P<before>[\w-]+) {_SWEEPS}|{_SWEEPS} (?P<after>[\w-]+))(?![\w-])", text)
        if unknown and (name := unknown["before"] or unknown["after"]) not in _NO_NAMES:
            raise Refusal(f"There is no ready sweep “{name[:40]}”: there are {self._sweeps()}.")
        return "", ""

    def _is_meant(self, name: str, rest: str) -> bool:
        """Whether a sweep is meant by a name that a method or a benchmark may have too: no method is named as well."""
        if name in [m.name for m in self.options.methods]:
            return not rest.strip() or bool(_ASSIGNMENTS.fullmatch(rest))
        if name not in [b.name for b in self.options.benchmarks] or re.search(r"\bmethods\b", rest):
            return True
        try:
            return not named(f"{name} {rest}", self._profile(rest)).methods
        except (Refusal, Ambiguity):
            return False

    def _of_a_sweep(self, name: str, rest: str) -> RunPlan:
        told = self._named(rest)
        if told.excluded:
            raise Refusal("Nothing can be left out of a ready sweep: name the methods that it is to run.")
        methods, parameters = self._values(told)
        axes = {a.name: a for b in self.options.benchmarks for a in b.axes}
        for axis, values in parameters.items():
            _check_axis(axis, axes, "ready sweeps")
            problems = [_first_problem(a, values) for b in self.options.benchmarks for a in b.axes if a.name == axis]
            if all(problems):  # which of its benchmarks a sweep has is known to the engine
                raise Refusal(problems[0])
        return RunPlan(name, methods=tuple(methods), parameters=_pairs(parameters), seeds=self.request.seeds)

    # -- what is named in words ------------------------------------------------------------------------------------

    def _of_words(self, text: str) -> RunPlan:
        against = ""
        if match := _AGAINST.search(text):
            against = next(iter(self._named(text[match.end() :]).methods), "")
            text = f"{text[: match.start()]} and {text[match.end() :]}"
        told = self._named(text)
        methods, parameters = self._values(told)
        excluded = told.excluded
        if methods and not (methods := [m for m in methods if m not in excluded]):
            raise Refusal("Every method that is named is left out again: name those that are to run.")
        if not methods and not excluded and "method" not in told.bare:
            raise Refusal(
                f"It is not said what to run: name methods, as in “run hashed and dense at dim 64” (there are "
                f"{self._methods()}), or a ready sweep ({self._sweeps()})."
            )
        bench = self._benchmark(methods, parameters, told)
        if not methods:
            able = [m.name for m in self.options.methods if m.name in bench.methods and not m.missing]
            methods = [m for m in able if m not in excluded]
            self.notes.append(f"all methods of {bench.name} that can run here")
        self._pruning_ratio(methods, parameters, told.alone)
        self._check(bench, methods, parameters)
        usual = str(catalog.words()["baseline"])
        baseline = against or (usual if usual in bench.methods else bench.methods[0])
        if baseline in excluded:
            baseline = ""
        elif baseline not in methods:
            methods = [*methods, baseline]
            self.notes.append(f"{baseline} as well, which the others are compared with")
        seeds = self.request.seeds or 1
        return RunPlan("", bench.name, tuple(methods), baseline, _pairs(parameters), seeds)

    def _named(self, text: str) -> Named:
        """What the words name, against what can be run. Raises Refusal or Ambiguity."""
        told = named(text, self._profile(text))
        if unknown := list(dict.fromkeys(word[:40] for word in told.unknown)):
            raise Refusal(
                f"It is not known how to run {join(f'“{word}”' for word in unknown[:6])}. There are the methods "
                f"{self._methods()}; the benchmarks {join(b.name for b in self.options.benchmarks)}; the data sets "
                f"{join(d.name for d in self.options.data_sets)}."
            )
        self.notes += [n for n in told.notes if n not in self.notes]
        return told

    def _profile(self, text: str) -> Profile:
        """What can be run, in the form of what was measured: both are names and values."""
        names: dict[str, list[Value]] = {
            "method": [m.name for m in self.options.methods],
            "benchmark": [b.name for b in self.options.benchmarks],
            _DATA: [d.name for d in self.options.data_sets],
        }
        for axis in (a for b in self.options.benchmarks for a in b.axes):
            known = axis.choices if axis.type == "str" else self.measured.values(axis.name)
            if axis.name not in (_DATA, "seed"):
                names[axis.name] = list(dict.fromkeys([*names.get(axis.name, []), *known]))
        # A number below 1 that has no column is a fraction kept.
        fractions = (float(number) for number in _FRACTION.findall(text))
        names["compression"] = list(dict.fromkeys([*names.get("compression", []), *(f for f in fractions if f)]))
        distinct = {column: tuple(values) for column, values in names.items()}
        benches = [b.name for b in self.options.benchmarks]
        return Profile(
            distinct=distinct,
            distinct_by_benchmark=dict.fromkeys(benches, distinct),
            filled_metrics=dict.fromkeys(benches, frozenset()),
        )

    def _values(self, told: Named) -> tuple[list[str], _Values]:
        """(methods, axis -> values) that are named. Raises Refusal for a seed, and for an axis without a value."""
        if "seed" in told.values:
            raise Refusal(SEEDS_NOT_CHOSEN)
        axes = {a.name: a for b in self.options.benchmarks for a in b.axes}
        if silent := [c for c in told.bare if c in axes and c != "seed"]:
            label = catalog.entry(silent[0]).label
            raise Refusal(
                f"It is not said at which {label} to run: name values, such as “{label} {_example(axes[silent[0]])}”."
            )
        return list(dict.fromkeys(told.methods)), dict(told.values)

    # -- the benchmark ---------------------------------------------------------------------------------------------

    def _benchmark(self, methods: Sequence[str], parameters: _Values, told: Named) -> BenchmarkOption:
        """The benchmark that is named, or the first that has what is named. Raises Refusal."""
        benches = {b.name: b for b in self.options.benchmarks}
        asked = [b for b in dict.fromkeys(told.benchmarks) if b in benches]
        if len(asked) > 1:
            raise Refusal(f"One plan is of one benchmark: ask for {join(asked)} one after the other.")
        if asked:
            return benches[asked[0]]
        able = [b for b in benches.values() if set(methods) <= set(b.methods)]
        if not able:
            homes = [f"{m} in {join(b.name for b in benches.values() if m in b.methods)}" for m in methods]
            raise Refusal(f"No benchmark runs {join(methods)} together: {join(homes, '; ')}.")
        fitting = [b for b in able if set(parameters) <= {a.name for a in b.axes}]
        trained = self.request.trains or _DATA in parameters or bool(set(told.metrics) & set(_OF_TRAINING))
        if trained:
            fitting = [b for b in fitting or able if any(a.name == _DATA for a in b.axes)]
        if not fitting:
            for axis in parameters:
                _check_axis(axis, {a.name: a for b in able for a in b.axes}, join(b.name for b in able))
            labels = join(catalog.entry(a).label for a in parameters)
            raise Refusal(
                f"No benchmark of {join(methods)} has {labels}{' and data sets' if trained else ''} together."
            )
        why = "which has data sets and AUC" if trained else "since none is named"
        self.notes.append(f"benchmark {fitting[0].name}, {why}")
        return fitting[0]

    def _pruning_ratio(self, methods: Sequence[str], parameters: _Values, alone: Sequence[Scalar]) -> None:
        """ "fiited at 0.95": of methods that prune, a large number alone is the share pruned away."""
        pruned = {m for b in self.options.benchmarks for a in b.axes if a.name == _PRUNING for m in a.methods}
        values = [float(v) for v in parameters.get("compression", []) if isinstance(v, int | float)]
        if not pruned & set(methods) or not set(values) <= set(alone) or not all(0.5 < v < 1 for v in values):
            return
        self.notes = [n for n in self.notes if not n.endswith(" as compression")]
        for value in values:
            self.notes.append(f"{value:g} is taken as the pruning ratio: compression {1 - value:g}, the fraction kept")
        if values:
            parameters["compression"] = [float(f"{1 - v:.10g}") for v in values]

    # -- checks ----------------------------------------------------------------------------------------------------

    def _check(self, bench: BenchmarkOption, methods: Sequence[str], parameters: _Values) -> None:
        """Raise Refusal for what the benchmark does not have; note what is not there on this machine."""
        if strange := [m for m in methods if m not in bench.methods]:
            raise Refusal(f"{bench.name} does not run {join(strange)}: it runs {join(bench.methods)}.")
        axes = {a.name: a for a in bench.axes}
        for name, values in parameters.items():
            _check_axis(name, axes, bench.name)
            axis = axes[name]
            if problem := _first_problem(axis, values):
                raise Refusal(problem)
            if axis.methods and not set(axis.methods) & set(methods):
                raise Refusal(f"{join(methods)} has no {catalog.entry(name).label}: {join(axis.methods)} have it.")
        data_sets = parameters.get(_DATA, [])
        self.notes += [m.missing for m in self.options.methods if m.missing and m.name in methods]
        self.notes += [d.missing for d in self.options.data_sets if d.missing and d.name in data_sets]

    # -- what there is ---------------------------------------------------------------------------------------------

    def _methods(self) -> str:
        return shortened([m.name for m in self.options.methods], _MOST_NAMED)

    def _sweeps(self) -> str:
        return join(s.name for s in self.options.sweeps)


def _pairs(parameters: _Values) -> tuple[tuple[str, tuple[Scalar, ...]], ...]:
    return tuple((axis, tuple(dict.fromkeys(values))) for axis, values in parameters.items())


def _example(axis: AxisOption) -> str:
    if axis.choices:
        return join(map(str, axis.choices))
    return "0.05 and 0.1" if axis.name == "compression" else str(axis.default)


def _check_axis(name: str, axes: Mapping[str, AxisOption], where: str) -> None:
    """Raise Refusal for an axis that is not among these."""
    if name not in axes:
        labels = join(catalog.entry(a).label for a in axes if a != "seed")
        raise Refusal(f"{catalog.entry(name).label} cannot be chosen in {where}: there are {labels}.")


def _first_problem(axis: AxisOption, values: Sequence[Scalar]) -> str:
    """Why an axis cannot have one of the values, in one sentence; empty where it can have them all."""
    label = catalog.entry(axis.name).label
    for value in values:
        if axis.choices:
            if value not in axis.choices:
                return f"There is no {label} {value}: it is one of {join(map(str, axis.choices))}."
            continue
        kind = "a whole number" if axis.type == "int" else "a number"
        if isinstance(value, str | bool) or (axis.type == "int" and not float(value).is_integer()):
            return f"{label} takes {kind}, not {value}."
        low, high = axis.low, axis.high
        if (low is not None and value < low) or (high is not None and value > high):
            ends = " to ".join("?" if end is None else f"{end:,.15g}" for end in (low, high))
            return f"{label} goes from {ends}; {value} lies outside."
    return ""
