"""The page on sweeps: its examples run as they say, and every key, form and default on it is the engine's."""

import re

import pytest

from bench_engine.plan import planning
from bench_engine.plan.plan_text import MOST_LINES
from bench_engine.sweep import sweep
from bench_engine.sweep.part import ENTRY_KEYS, KEYS, MAX_TRIALS_EVER, SPECIAL, STOP_KEYS
from bench_engine.sweep.range import DISTRIBUTIONS, OF_VALUES
from bench_engine.trial import Stop, Trial
from db.installation import ROOT

PAGE = (ROOT / "docs" / "sweeps.md").read_text()
EXAMPLES = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("text", EXAMPLES, ids=range(len(EXAMPLES)))
def test_examples_can_be_planned(engine, text: str) -> None:
    made = planning.plan(sweep.parse(text, "example"))
    assert 5 <= len(made.trials) <= 60
    assert len(planning.plan(made.sweep, quick=True).trials) == len(made.trials)


def test_examples_are_the_size_that_the_page_says(engine) -> None:
    grid, drawn, parts = (planning.plan(sweep.parse(text, "example")) for text in EXAMPLES)
    assert f": {len(grid.trials)} trials." in PAGE
    assert len(drawn.trials) == 60
    assert {p.trial.benchmark for p in parts.trials} == {"training", "lookup"}
    assert parts.sweep.name == "size_and_speed"


def rows(after: str) -> dict[str, list[str]]:
    """The table after these words: first cell without its marks -> the other cells."""
    lines = PAGE[PAGE.index(after) :].splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("|---"))
    table = {}
    for line in lines[start + 1 :]:
        if not line.startswith("|"):
            break
        name, *cells = (cell.strip() for cell in line.strip("|").split(" | "))
        table |= dict.fromkeys(re.findall(r"`([^`]+)`", name), cells)
    return table


def test_every_key_is_there_and_no_other() -> None:
    assert list(rows("## Every key")) == list(KEYS)
    assert list(rows("A trial takes at least")) == list(STOP_KEYS)
    assert set(rows("| `distribution` |")) == {*DISTRIBUTIONS, *OF_VALUES}
    for key in ENTRY_KEYS:
        assert re.search(rf"[`{{ ]{key}[`:]", PAGE[PAGE.index("An entry of") :]), key
    for key in SPECIAL:
        assert f"-p {key}=" in PAGE


def test_defaults_and_bounds_are_the_engine_s() -> None:
    keys, stop = rows("## Every key"), rows("A trial takes at least")
    assert keys["time_limit_s"][-1] == f"`{Trial.time_limit_s:g}`"
    assert keys["random_seed"][-1] == "`0`"
    assert f"1 to {MAX_TRIALS_EVER}," in keys["run_cap"][0]
    assert f"up to {sweep.MAX_TRIALS:,}" in keys["run_cap"][-1]
    assert {key: cells[-1] for key, cells in stop.items()} == {k: f"`{getattr(Stop, k):g}`" for k in STOP_KEYS}
    quick = sweep.QUICK
    assert (
        f"becomes {quick.min_samples} samples, {quick.max_seconds} seconds and a noise of {quick.noise_target}," in PAGE
    )
    assert f"`plan` lists up to {MOST_LINES} trials" in PAGE
