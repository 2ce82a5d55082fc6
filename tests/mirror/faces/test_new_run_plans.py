"""The page New run, opened with a plan that a question has asked for."""

from collections.abc import Callable
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from mirror.runs import jobs
from mirror.runs.run_plan import RunPlan

ROOT = Path(__file__).resolve().parent.parent.parent
LIMIT_S = 60

LOOKUP = RunPlan(
    benchmark="lookup",
    methods=("quotient_remainder", "hashed"),
    baseline="hashed",
    parameters=(("batch_size", (64, 512)), ("direction", ("forward_backward",))),
    seeds=2,
    notes=("benchmark lookup, since none is named",),
)


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch, results_file: Path, tmp_path: Path) -> None:
    st.cache_data.clear()
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("MIRROR_DB", str(results_file))
    monkeypatch.setenv("MIRROR_JOURNAL", str(tmp_path / "journal"))


def page() -> None:
    from mirror.faces.pages import new_run

    new_run.page()


def here_or_elsewhere() -> None:
    import streamlit as st

    from mirror.faces.pages import new_run

    if not st.session_state.get("elsewhere"):
        new_run.page()


def opened(plan: object, what: Callable[[], None] = page) -> AppTest:
    app = AppTest.from_function(what, default_timeout=LIMIT_S)
    app.session_state["plan"] = plan
    app.run()
    assert not app.exception
    return app


def shown(app: AppTest) -> str:
    elements = [*app.markdown, *app.caption, *app.info, *app.error, *app.warning]
    return "\n".join(str(e.value).replace("\\", "") for e in elements)


def test_a_plan_of_its_own_fills_the_form_and_is_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []
    monkeypatch.setattr(jobs, "start", lambda sweep, *_, **__: started.append(sweep))
    app = opened(LOOKUP)
    assert app.segmented_control(key="way").value == "Form"
    assert app.selectbox(key="form_benchmark").value == "lookup"
    assert app.multiselect(key="form_methods_lookup").value == ["quotient_remainder", "hashed"]
    assert app.text_input(key="form_lookup_batch_size").value == "64, 512"
    assert app.multiselect(key="form_lookup_direction").value == ["forward_backward"]
    assert app.number_input(key="form_lookup_seed").value == 2
    assert {m.label: m.value for m in app.metric}["to run"] == "8"
    assert "estimate" in {m.label for m in app.metric}
    assert f"Asked for: {LOOKUP.words}" in shown(app)
    assert "benchmark lookup, since none is named" in shown(app)
    assert not app.warning
    assert LOOKUP.command in [c.value for c in app.code]
    assert not started  # nothing runs until a person presses Start
    next(b for b in app.button if b.label == "Start").click().run()
    assert len(started) == 1
    assert "baseline: hashed" in started[0]
    assert "Asked for" not in shown(app.run())


def test_what_a_person_changes_afterwards_stays() -> None:
    app = opened(LOOKUP)
    app.text_input(key="form_lookup_batch_size").set_value("128").run()
    assert app.text_input(key="form_lookup_batch_size").value == "128"
    assert {m.label: m.value for m in app.metric}["to run"] == "4"


def test_a_ready_sweep_fills_the_preset() -> None:
    app = opened(RunPlan("tiny", parameters=(("batch_size", (64, 128)),), again=True, quick=True))
    assert app.segmented_control(key="way").value == "Preset"
    assert app.selectbox(key="preset").value == "tiny"
    assert app.text_input(key="overrides").value == "batch_size=64,128"
    assert app.checkbox(key="quick").value
    assert {m.label: m.value for m in app.metric}["to run"] == "4"


def test_what_was_asked_for_does_not_stand_above_another_plan() -> None:
    app = opened(RunPlan("tiny"))
    assert "Asked for" in shown(app)
    app.selectbox(key="preset").select("quick").run()
    assert "Asked for" not in shown(app)
    app.selectbox(key="preset").select("tiny").run()
    assert "Asked for" in shown(app)


@pytest.mark.parametrize(
    ("plan", "gone"),
    [
        (RunPlan("nightly"), "nightly"),
        (RunPlan(benchmark="mining", methods=("dense",)), "mining"),
        (RunPlan(benchmark="lookup", methods=("dense", "gone"), parameters=(("altitude", (3,)),)), "gone, altitude 3"),
        (RunPlan(benchmark="lookup", methods=("dense",), parameters=(("direction", ("sideways",)),)), "sideways"),
    ],
)
def test_what_an_old_plan_names_and_is_gone_is_said(plan: RunPlan, gone: str) -> None:
    app = opened(plan)
    assert f"{gone}." in app.warning[0].value.replace("\\", "")
    assert "to run" in {m.label for m in app.metric}


@pytest.mark.parametrize("plan", [None, {"sweep": "quick"}, "quick"])
def test_what_is_no_plan_is_left_alone(plan: object) -> None:
    app = opened(plan)
    assert app.segmented_control(key="way").value == "Preset"
    assert "Asked for" not in shown(app)


def test_a_plan_is_there_again_after_a_visit_to_another_page() -> None:
    """Streamlit forgets what widgets hold while another page is shown, unless they say that it stays."""
    app = opened(LOOKUP, here_or_elsewhere)
    app.text_input(key="form_lookup_num_rows").set_value("123").run()
    for elsewhere in (True, False):
        app.session_state["elsewhere"] = elsewhere
        app.run()
        assert not app.exception
    assert app.text_input(key="form_lookup_num_rows").value == "123"
    assert app.text_input(key="form_lookup_batch_size").value == "64, 512"


def test_a_second_plan_has_nothing_of_the_first() -> None:
    app = opened(LOOKUP)
    lookup = next(b for b in jobs.options().benchmarks if b.name == "lookup")
    usual = next(a for a in lookup.axes if a.name == "batch_size")
    app.session_state["plan"] = RunPlan(benchmark="lookup", methods=("dense", "hashed"))
    app.run()
    assert app.text_input(key="form_lookup_batch_size").value == str(usual.default)
