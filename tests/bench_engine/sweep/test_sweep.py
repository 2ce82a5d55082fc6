"""Sweeps: what is read, what is refused and with which words, and the trials that come out."""

from pathlib import Path

import pytest

from bench_engine.kernels.native import extension
from bench_engine.registry import BENCHMARKS, METHODS, missing
from bench_engine.sweep import search as sweep_search
from bench_engine.sweep import sweep
from bench_engine.sweep.sweep import SweepError, expand, expand_parts, first_look, load, parse
from bench_engine.trial import Stop

HEAD = "benchmark: lookup\nmethods: [dense, hashed]\nbaseline: dense\n"
TRAINING = "benchmark: training\nmethods: [dense]\n"


def trials_of(text: str, *overrides: str) -> list:
    return expand(parse(text, "s"), overrides)


def test_grid_takes_defaults_for_silent_axes_and_keeps_the_order_of_the_registry() -> None:
    (trial,) = trials_of("benchmark: lookup\nmethods: [dense]\n")
    assert list(trial.config) == [a.name for a in BENCHMARKS["lookup"].axes if a.is_of("dense")]
    assert trial.config["batch_size"] == 512
    assert trial.stop == Stop()
    assert not trial.is_baseline


def test_methods_of_one_configuration_are_neighbours_and_dense_collapses_to_compression_1() -> None:
    text = HEAD + "parameters:\n  compression: {values: [0.1, 0.5]}\n  batch_size: {values: [1, 2]}\nseeds: 2\n"
    got = [(t.config["batch_size"], t.config["seed"], t.method, t.config["compression"]) for t in trials_of(text)]
    assert got == [
        (batch, seed, method, compression)
        for batch in (1, 2)
        for seed in (0, 1)
        for method, compression in (("dense", 1.0), ("hashed", 0.1), ("hashed", 0.5))
    ]


def test_baseline_is_marked() -> None:
    assert [t.is_baseline for t in trials_of(HEAD)] == [True, False]


def test_several_documents_are_several_benchmarks() -> None:
    got = trials_of(HEAD + "---\n" + TRAINING + "---\n")
    assert [t.benchmark for t in got] == ["lookup", "lookup", "training"]


def test_stop_and_limits() -> None:
    stop = "stop: {min_samples: 5, max_seconds: 0.2, noise_target: 1e-1}\n"
    for trial in trials_of(HEAD + stop + "time_limit_s: 7\nmemory_limit_gb: 0.5\n"):
        assert trial.stop == Stop(5, 0.2, 0.1)
        assert trial.time_limit_s == 7.0
        assert trial.memory_limit_gb == 0.5
    assert {t.memory_limit_gb for t in trials_of(HEAD)} == {None}


def test_exclude_takes_out_what_matches_every_key() -> None:
    text = HEAD + "parameters: {batch_size: {values: [1, 2]}}\nexclude: [{method: hashed, batch_size: 2}]\n"
    assert [(t.method, t.config["batch_size"]) for t in trials_of(text)] == [("dense", 1), ("hashed", 1), ("dense", 2)]


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("batch_size=7", {("dense", 7, 0), ("hashed", 7, 0)}),
        ("batch_size=7, 8", {(m, b, 0) for m in ("dense", "hashed") for b in (7, 8)}),
        ("methods=hashed", {("hashed", 512, 0)}),
        ("seeds=2", {(m, 512, s) for m in ("dense", "hashed") for s in (0, 1)}),
        ("seeds=4,6", {(m, 512, s) for m in ("dense", "hashed") for s in (4, 6)}),
        ("seed=4", {("dense", 512, 4), ("hashed", 512, 4)}),
        ("batch_size=1e3", {("dense", 1000, 0), ("hashed", 1000, 0)}),
        ("run_cap=2", {("dense", 512, 0), ("hashed", 512, 0)}),
    ],
)
def test_overrides(override: str, expected: set) -> None:
    got = {(t.method, t.config["batch_size"], t.config["seed"]) for t in trials_of(HEAD, override)}
    assert got == expected


def test_limits_can_be_overridden() -> None:
    for trial in trials_of(HEAD + "time_limit_s: 7\n", "time_limit_s=3", "memory_limit_gb=0.5"):
        assert (trial.time_limit_s, trial.memory_limit_gb) == (3.0, 0.5)


def test_a_label_names_what_varies_and_what_is_not_as_usual() -> None:
    labels = [t.label() for t in trials_of(HEAD + "parameters: {threads: {values: [1, 2]}, zipf_s: {value: 0}}\n")]
    assert labels == [f"lookup {m} zipf_s=0.0 threads={n}" for n in (1, 2) for m in ("dense", "hashed")]
    assert [t.label() for t in trials_of(HEAD)] == ["lookup dense", "lookup hashed"]


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "parameters: {pooling_mode: {values: [sum, mean]}, output: {values: [fresh, preallocated]}}\nseeds: 2\n",
        HEAD + "parameters: {bag_size: {value: 3}}\n---\n" + HEAD + "---\n" + TRAINING,
        HEAD + "method: random\nrun_cap: 60\nparameters: {zipf_s: {min: 0, max: 1}, num_rows: {min: 1, max: 9}}\n",
    ],
)
def test_no_two_trials_have_the_same_label(text: str) -> None:
    labels = [t.label() for t in trials_of(text)]
    assert len(set(labels)) == len(labels) > 2


def test_override_applies_to_the_parts_that_have_the_axis() -> None:
    got = trials_of(HEAD + "---\n" + TRAINING, "bag_size=3", "embedding_dim=4")
    assert [(t.benchmark, t.config.get("bag_size"), t.config["embedding_dim"]) for t in got] == [
        ("lookup", 3, 4),
        ("lookup", 3, 4),
        ("training", None, 4),
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "s is empty"),
        ("- a\n", "must be keys and values"),
        ("benchmark: lookup\n  methods: [dense]\n", "s line 2 is not YAML"),
        ("methods: [dense\nbenchmark: lookup\n", "is not YAML"),
        ("benchmark: lookup\nbenchmark: training\n", "s line 2 is not YAML: the key benchmark is given twice"),
        ("benchmark: !!python/object:os.system {}\n", "is not YAML"),
        ("[" * 100_000, "is not YAML"),
        ("methods: [dense]\n", "the key benchmark is missing"),
        ("benchmark: lookup\n", "the key methods is missing"),
        ("benchmark: lokup\nmethods: [dense]\n", "unknown benchmark 'lokup'; did you mean lookup? Known: lookup"),
        ("benchmark: [a]\nmethods: [dense]\n", "benchmark takes names, not a list"),
        ("benchmark: lookup\nmethods: [dens]\n", "unknown method 'dens'; did you mean dense?"),
        ("benchmark: lookup\nmethods: []\n", "at least one"),
        ("benchmark: lookup\nmethods: dense\n", "methods must be a list"),
        ("benchmark: lookup\nmethods: [{}]\n", "methods takes names, not a mapping"),
        (HEAD + "paramters: {}\n", "unknown key 'paramters'; did you mean parameters?"),
        (HEAD + "parameters: [1]\n", "parameters must be keys and values, not a list"),
        (HEAD + "parameters: {batchsize: {value: 1}}\n", "'batchsize'; did you mean batch_size?"),
        (HEAD + "parameters: {batch_size: 3}\n", "must be {values: [..]} or {value: x}"),
        (HEAD + "parameters: {batch_size: {min: 1, max: 3}}\n", "min and max need method: random"),
        (HEAD + "parameters: {batch_size: {values: 3}}\n", "parameters.batch_size.values must be a list"),
        (HEAD + "parameters: {batch_size: {values: []}}\n", "axis batch_size has no values, so the grid is empty"),
        (HEAD + "parameters: {batch_size: {values: [[1]]}}\n", "axis batch_size takes single values, not a list"),
        (HEAD + "parameters: {batch_size: {value: 1.5}}\n", "takes a whole number, not 1.5"),
        (HEAD + "parameters: {batch_size: {value: yes}}\n", "takes a whole number, not True"),
        (HEAD + "parameters: {batch_size: {value: 0}}\n", "must lie between 1 and"),
        (HEAD + "parameters: {compression: {value: .nan}}\n", "takes a number, not nan"),
        (HEAD + "parameters: {direction: {value: forwrd}}\n", "not 'forwrd'; did you mean forward?"),
        (HEAD + "parameters: {seed: {value: 1}}\n", "under the key seeds"),
        (HEAD + "baseline: small_dim\n".replace("baseline", "x"), "unknown key 'x'"),
        ("benchmark: lookup\nmethods: [hashed]\nbaseline: dense\n", "baseline 'dense' is not among the methods"),
        (HEAD + "method: random\n", "say with run_cap how many trials to run, in the file or as -p run_cap=20."),
        (HEAD + "method: dense\n", "method must be grid or random, not 'dense'"),
        (HEAD + "method: [grid]\n", "method must be grid or random, not a list"),
        (HEAD + "random_seed: 1\n", "random_seed needs method: random"),
        (HEAD + "memory_limit_gb: 0\n", "memory_limit_gb must be a number from 0.001 to 1000000, not 0"),
        (HEAD + "memory_limit_gb: yes\n", "not True"),
        (HEAD + "memory_limit: 1\n", "unknown key 'memory_limit'; did you mean memory_limit_gb?"),
        (HEAD + "time_limit_s: .nan\n", "not nan"),
        (
            HEAD + "parameters: {batch_size: {vlaues: [1]}}\n",
            "unknown key of parameters.batch_size 'vlaues'; did you mean values?",
        ),
        (HEAD + "parameters: {batch_size: {}}\n", "parameters.batch_size must be"),
        (HEAD + "parameters: {batch_size: {value: 1, values: [1]}}\n", "parameters.batch_size must be"),
        (HEAD + "parameters: {batch_size: {value: -.inf}}\n", "takes a whole number, not -inf"),
        (HEAD + f"parameters: {{direction: {{value: {'a' * 5000}}}}}\n", "not a text of 5,000 characters"),
        (HEAD.replace("baseline: dense", "baseline: [dense]"), "baseline takes names, not a list"),
        (HEAD + "exclude: [{metod: dense}]\n", "unknown axis in exclude 'metod'; did you mean method?"),
        (HEAD + "exclude: {method: dense}\n", "exclude must be a list"),
        (HEAD + "exclude: [{method: dense}, {method: hashed}]\n", "empty grid: everything is excluded"),
        (HEAD + "seeds: 0\n", "at least 1"),
        (HEAD + "seeds: [-1]\n", "must lie between 0"),
        (HEAD + "seeds: 99999999999\n", "must lie between 0"),
        (HEAD + "seeds: many\n", "seeds must be"),
        (HEAD + "stop: {min_sample: 3}\n", "unknown key of stop 'min_sample'; did you mean min_samples?"),
        (HEAD + "stop: {min_samples: 0}\n", "min_samples must be a whole number from 1 to 2147483647, not 0"),
        (HEAD + "stop: {min_samples: 1000000000000}\n", "from 1 to 2147483647, not 1000000000000"),
        (HEAD + "seeds: [99999999999]\n", "axis seed must lie between 0 and 2147483647, not 99999999999"),
        (HEAD + "parameters: {num_rows: {value: 0}}\n", "must lie between 1 and 1099511627776, not 0"),
        (HEAD + "parameters: {compression: {value: 2}}\n", "must lie between 1e-06 and 1, not 2"),
        (HEAD + 'name: "a\\u202Eb"\n', "name holds a character that cannot be seen (U+202E): leave it out."),
        (HEAD + 'name: "a\\u200Bb"\n', "(U+200B)"),
        (HEAD + "stop: {max_seconds: .inf}\n", "not inf"),
        (HEAD + "time_limit_s: soon\n", "not 'soon'"),
        (HEAD + "run_cap: -1\n", "run_cap must be a whole number from 1 to 100000, not -1"),
        (HEAD + "run_cap: yes\n", "not True"),
        (HEAD + "name: 3\n", "name must be text"),
        (HEAD + 'name: "a\\nb"\n', "on one line"),
        (TRAINING + "parameters: {dataset: {value: frape}}\n", "not 'frape'; did you mean frappe?"),
        (HEAD + "---\n" + TRAINING + "seeds: x\n", "s, part 2: "),
        (HEAD + "seeds: 1000000\n", "has 2,000,000 trials of lookup: give fewer values, or say with `run_cap`"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(text: str, words: str) -> None:
    with pytest.raises(SweepError) as caught:
        trials_of(text)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("batch_size", "must look like axis=value"),
        ("batch_size=", "must look like axis=value"),
        ("batchsize=3", "did you mean batch_size?"),
        ("batch_size=x", "-p batch_size=x: axis batch_size takes a whole number, not 'x'"),
        ("methods=dens", "did you mean dense?"),
        ("dataset=frappe", "no part of this sweep has 'dataset'"),
        ("seeds=0", "at least 1"),
        ("run_cap=0", "-p run_cap=0: run_cap must be a whole number from 1 to 100000, not 0"),
        ("run_cap=x", "not 'x'"),
        ("run_cap=1,2", "takes one number"),
        ("run_cp=1", "did you mean run_cap?"),
        ("random_seed=1", "-p random_seed=1: random_seed needs method: random, for nothing of a grid is drawn."),
        ("stop=3", "-p stop=3: stop is set in the sweep's file. Known here: bag_size, "),
        ("stop.min_samples=3", "is set in the sweep's file"),
        ("time_limit_s=0", "-p time_limit_s=0: time_limit_s must be a number from 0.001 to 1000000, not 0."),
        ("memory_limit_gb=much", "memory_limit_gb must be a number from 0.001 to 1000000, not 'much'."),
        ("time_limit_s=1,2", "takes one number"),
        ("num_rows=1e99", "must lie between"),
        ("num_rows=nan", "takes a whole number, not nan"),
    ],
)
def test_what_is_wrong_with_an_override(override: str, words: str) -> None:
    with pytest.raises(SweepError) as caught:
        trials_of(HEAD, override)
    assert words in str(caught.value)


def test_run_cap_reads_no_more_of_a_huge_grid_than_it_needs() -> None:
    got = trials_of(HEAD + "seeds: 1000000000\nrun_cap: 4\n")
    assert [(t.method, t.config["seed"]) for t in got] == [("dense", 0), ("hashed", 0), ("dense", 1), ("hashed", 1)]


def test_a_grid_beyond_all_measure_is_told_at_once() -> None:
    axes = ("num_rows", "embedding_dim", "bag_size", "batch_size", "threads")
    values = ", ".join(map(str, range(1, 1001)))
    text = HEAD + "seeds: 2000000000\nparameters:\n" + "".join(f"  {a}: {{values: [{values}]}}\n" for a in axes)
    with pytest.raises(SweepError, match=r"^Sweep s has about 4e\+24 trials of lookup: give fewer values"):
        trials_of(text)
    assert len(trials_of(text, "run_cap=100")) == 100


@pytest.mark.parametrize(
    ("methods", "cap", "expected"),
    [("[dense, hashed]", 5, 4), ("[dense, hashed]", 1, 2), ("[dense, hashed]", 99, 6), ("[dense]", 2, 2)],
)
def test_run_cap_never_parts_the_methods_of_a_configuration(methods: str, cap: int, expected: int) -> None:
    text = f"benchmark: lookup\nmethods: {methods}\nseeds: 3\nrun_cap: {cap}\n"
    assert len(trials_of(text)) == expected
    assert bool(expand_parts(parse(text, "s"))[0].note) == (expected != cap)


def test_what_run_cap_came_to_is_said() -> None:
    def note(cap: int) -> str:
        return expand_parts(parse(HEAD + f"seeds: 3\nrun_cap: {cap}\n", "s"))[0].note

    assert note(4) == ""
    assert note(5) == "run_cap 5 keeps the methods of a configuration together: 2 configurations with 4 trials."
    assert note(1) == "run_cap 1 keeps the methods of a configuration together: 1 configuration with 2 trials."
    assert note(7) == "run_cap 7 is more than there is: 3 configurations with 6 trials."


def test_a_grid_that_is_nearly_all_excluded_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep_search, "FRUITLESS", 500)
    text = "benchmark: lookup\nmethods: [dense]\nexclude: [{method: dense}]\nseeds: 2000000000\nrun_cap: 5\n"
    with pytest.raises(SweepError, match="500 configurations in a row that are excluded"):
        trials_of(text)


def test_more_trials_than_a_plan_can_hold_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "MAX_TRIALS_EVER", 100)
    text = HEAD + "seeds: 1000000\nrun_cap: 60\n"
    with pytest.raises(SweepError, match="has 120 trials and more: make several sweeps of it"):
        trials_of(text + "---\n" + text)


def test_a_quick_look_is_shorter_and_never_longer() -> None:
    (usual,) = trials_of("benchmark: lookup\nmethods: [dense]\n")
    assert first_look(usual).stop == Stop(10, 0.3, 0.05)
    assert first_look(usual).config == usual.config
    (short,) = trials_of(
        "benchmark: lookup\nmethods: [dense]\nstop: {min_samples: 5, max_seconds: 0.1, noise_target: 0.2}\n"
    )
    assert first_look(short) == short


@pytest.mark.parametrize("given", ["", " "])
def test_no_name_is_no_sweep(given: str) -> None:
    with pytest.raises(SweepError, match=r"^No sweep was named: give "):
        load(given)


def test_unknown_sweep_names_the_nearest() -> None:
    with pytest.raises(SweepError, match=r"no sweep 'quik'; did you mean quick\? Ready ones: .*tiny"):
        load("quik")


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", None])
def test_a_file_that_cannot_be_read(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "a.yaml"
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    with pytest.raises(SweepError, match=r"a\.yaml"):
        load(str(path))


def test_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(SweepError, match="There is no sweep file"):
        load(str(tmp_path / "none.yaml"))


def test_data_that_are_not_there_skip_the_trial(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MIRROR_DATA_DIR", str(tmp_path))
    by_dataset = {t.config["dataset"]: t.skip_reason for t in trials_of(TRAINING, "dataset=synthetic,frappe")}
    assert by_dataset == {"synthetic": "", "frappe": missing("frappe")}
    assert by_dataset["frappe"]


def test_kernels_that_are_not_built_skip_the_methods_that_need_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extension, "built", lambda: False)
    reasons = {t.method: t.skip_reason for t in trials_of(HEAD)}
    assert reasons["dense"] == ""
    assert "python -m bench_engine build" in reasons["hashed"]


@pytest.mark.parametrize("name", sweep.names())
def test_ready_sweeps_say_what_they_answer_and_have_trials(name: str) -> None:
    ready = load(name)
    assert "?" in ready.description
    assert len({(t.benchmark, t.method, *t.config.items()) for t in expand(ready)}) == len(expand(ready))


def test_memory_vs_auc_is_the_size_it_says() -> None:
    compressible = sum(METHODS[m].compressible for m in ("dense", "small_dim", "hashed", "quotient_remainder"))
    assert len(expand(load("memory_vs_auc"))) == 3 * 3 * (1 + 6 * compressible)
