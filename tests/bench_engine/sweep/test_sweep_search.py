"""Random sweeps: what is drawn, that it stays when more is asked for, and that a small space comes to an end."""

import pytest

from bench_engine.sweep import search as sweep_search
from bench_engine.sweep.sweep import SweepError, expand, expand_parts, parse
from bench_engine.trial import Trial

HEAD = "benchmark: lookup\nmethods: [dense, hashed]\nbaseline: dense\nmethod: random\n"
RANGES = """parameters:
  compression: {min: 0.01, max: 1, distribution: log_uniform_values}
  batch_size: {min: 1, max: 4096}
  embedding_dim: {values: [8, 16, 64]}
  threads: {value: 1}
"""


def trials_of(text: str, *overrides: str) -> list[Trial]:
    return expand(parse(text, "s"), overrides)


def keys(trials: list[Trial]) -> list[str]:
    return [t.configuration() for t in trials]


def points(trials: list[Trial]) -> list[tuple]:
    return [(t.config["embedding_dim"], t.config["batch_size"], t.config["compression"]) for t in trials]


def test_the_same_sweep_draws_the_same_trials_within_its_ranges() -> None:
    trials = trials_of(HEAD + RANGES + "run_cap: 200\n")
    assert keys(trials) == keys(trials_of(HEAD + RANGES + "run_cap: 200\n"))
    assert len(trials) == len(set(keys(trials))) == 200
    hashed = [t.config for t in trials if t.method == "hashed"]
    assert all(0.01 <= c["compression"] <= 1 and 1 <= c["batch_size"] <= 4096 for c in hashed)
    assert {c["embedding_dim"] for c in hashed} == {8, 16, 64}
    assert {type(c["batch_size"]) for c in hashed} == {int}
    assert 30 < sum(c["compression"] < 0.1 for c in hashed) < 70
    assert {t.config["compression"] for t in trials if t.method == "dense"} == {1.0}


def test_what_is_drawn_is_the_same_for_ever() -> None:
    """Another draw would run everything again that people have: if this fails, keep the old one."""
    trials = trials_of(HEAD + RANGES + "run_cap: 6\n", "methods=hashed")
    assert points(trials)[:3] == [(16, 581, 0.347976), (16, 2629, 0.0647627), (8, 811, 0.158546)]


@pytest.mark.parametrize("more", ["", "seeds: 3\n"])
def test_a_larger_run_cap_keeps_what_was_drawn(more: str) -> None:
    before: list[str] = []
    for cap in (1, 2, 3, 7, 40, 41, 200):
        now = keys(trials_of(HEAD + RANGES + more, f"run_cap={cap}"))
        assert now[: len(before)] == before
        before = now


def test_other_methods_axes_and_seeds_keep_what_was_drawn() -> None:
    first = points([t for t in trials_of(HEAD + RANGES, "run_cap=20") if t.method == "hashed"])
    assert points(trials_of(HEAD + RANGES, "run_cap=10", "methods=hashed")) == first
    seeded = trials_of(HEAD + RANGES, "run_cap=30", "methods=hashed", "seeds=3")
    assert points(seeded) == [p for p in first for _ in range(3)]
    fixed = points(trials_of(HEAD + RANGES, "run_cap=10", "methods=hashed", "embedding_dim=32"))
    assert fixed == [(32, *p[1:]) for p in first]


def test_another_random_seed_draws_others() -> None:
    first = trials_of(HEAD + RANGES + "run_cap: 20\n")
    other = trials_of(HEAD + RANGES + "run_cap: 20\nrandom_seed: 1\n")
    assert not set(keys(first)) & set(keys(other))
    assert keys(other) == keys(trials_of(HEAD + RANGES + "run_cap: 20\n", "random_seed=1"))


def test_an_override_takes_the_place_of_a_range() -> None:
    trials = trials_of(HEAD + RANGES + "run_cap: 40\n", "batch_size=64,512")
    assert {t.config["batch_size"] for t in trials} == {64, 512}
    assert trials_of(HEAD + RANGES, "run_cap=40", "batch_size=64,512") == trials


def test_the_methods_of_a_configuration_stay_together() -> None:
    trials = trials_of(HEAD + RANGES + "run_cap: 7\n")
    assert [t.method for t in trials] == ["dense", "hashed"] * 3
    (chosen,) = expand_parts(parse(HEAD + RANGES + "run_cap: 7\n", "s"))
    assert chosen.configurations == 3
    assert chosen.note == "run_cap 7 keeps the methods of a configuration together: 3 configurations with 6 trials."


def test_a_small_space_is_drawn_once_and_then_over() -> None:
    text = HEAD + "parameters: {batch_size: {min: 1, max: 6}, embedding_dim: {values: [8, 16]}}\nrun_cap: 1000\n"
    (chosen,) = expand_parts(parse(text, "s"))
    assert len({(t.config["batch_size"], t.config["embedding_dim"]) for t in chosen.trials}) == 12
    assert len(chosen.trials) == len(set(keys(list(chosen.trials)))) == 24
    assert chosen.note == "run_cap 1,000 is more than there is: 12 configurations with 24 trials."


@pytest.mark.parametrize(
    ("methods", "more", "trials", "configurations"),
    [
        ("[dense]", "parameters: {compression: {min: 0.1, max: 0.9}}", 1, 1),
        ("[dense, hashed]", "parameters: {batch_size: {min: 1, max: 99}}\nexclude: [{method: hashed}]", 99, 99),
        ("[dense, hashed]", "seeds: 2", 4, 2),
    ],
)
def test_a_search_that_finds_nothing_new_ends(
    methods: str, more: str, trials: int, configurations: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep_search, "FRUITLESS", 5000)
    text = f"benchmark: lookup\nmethods: {methods}\nmethod: random\nrun_cap: 3000\n{more}\n"
    (chosen,) = expand_parts(parse(text, "s"))
    assert (len(chosen.trials), chosen.configurations) == (trials, configurations)
    assert chosen.note.startswith("run_cap 3,000 is more than there is: ")


def test_everything_excluded_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep_search, "FRUITLESS", 500)
    text = HEAD + RANGES + "run_cap: 3\nexclude: [{method: dense}, {method: hashed}]\n"
    with pytest.raises(SweepError, match="everything is excluded"):
        trials_of(text)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("{min: 1}", "parameters.batch_size must be {values: [..]} or {value: x}, or with method: random"),
        ("{mni: 1, max: 2}", "unknown key of parameters.batch_size 'mni'; did you mean min?"),
        ("{min: 1, max: 2, values: [3]}", "not min, max, values"),
        ("{min: 2, max: 1}", "parameters.batch_size needs min below max, not 2 and 1."),
        ("{min: 0, max: 1}", "axis batch_size must lie between 1 and"),
        ("{min: 1, max: 1.5}", "takes a whole number, not 1.5"),
        ("{min: 1, max: .inf}", "takes a whole number, not inf"),
        ("{min: .nan, max: 2}", "takes a whole number, not nan"),
        ("{min: no, max: 2}", "takes a whole number, not False"),
        ("{min: [1], max: 2}", "takes single values, not a list"),
        ("{min: 1, max: 2, distribution: normal}", "unknown distribution 'normal'"),
        ("{min: 1, max: 2, distribution: log_uniform}", "did you mean log_uniform_values?"),
        ("{min: 1, max: 2, distribution: categorical}", "the distribution categorical needs values"),
        ("{values: [1], distribution: uniform}", "the distribution uniform needs min and max"),
        ("{min: 1, max: 2, distribution: [a]}", "distribution takes names, not a list"),
        ("{min: 1, max: 9, distribution: q_uniform, q: 0}", "parameters.batch_size.q must be a number"),
        ("{min: 1, max: 9, q: 2}", "needs q for q_uniform and q_log_uniform_values only"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_range(entry: str, words: str) -> None:
    with pytest.raises(SweepError) as caught:
        parse(HEAD + f"run_cap: 5\nparameters: {{batch_size: {entry}}}\n", "s")
    assert words in str(caught.value)
    assert str(caught.value).startswith("s: ")
    assert "\n" not in str(caught.value)


def test_only_numbers_have_ranges() -> None:
    with pytest.raises(SweepError, match=r"parameters\.direction takes values, not min and max"):
        parse(HEAD + "run_cap: 5\nparameters: {direction: {min: 1, max: 2}}\n", "s")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("random_seed: -1\n", "random_seed must be a whole number from 0 to 2147483647, not -1"),
        ("random_seed: x\n", "not 'x'"),
        ("run_cap: 1000000\n", "run_cap must be a whole number from 1 to 100000, not 1000000"),
    ],
)
def test_what_is_wrong_with_the_draw(text: str, words: str) -> None:
    with pytest.raises(SweepError, match=words):
        parse(HEAD + text, "s")
