"""The pages, driven by Streamlit's AppTest on seeded results; figures are tested in test_chart."""

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import streamlit as st
from page_driver import LIMIT_S, ROOT, app_test, ask, ask_page, press, texts
from streamlit.testing.v1 import AppTest

from db import runs
from db import settings as settings_module
from db.runs import RunState
from mirror.answer import answering as answer
from mirror.answer.answer import Answer
from mirror.data.process.sandbox import Sandbox
from mirror.faces.pages import welcome
from mirror.faces.pages.common import prose
from mirror.model.llm import Declined, LlmFrontEnd
from mirror.runs import jobs
from mirror.runs.person import LOCAL
from mirror.schema.profile import Profile


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch, results_file: Path) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("MIRROR_DB", str(results_file))
    for name in ("MIRROR_LLM_BASE_URL", "MIRROR_LLM_MODEL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_the_first_visit_shows_three_answered_questions() -> None:
    app = ask_page()
    assert [b.key for b in app.button if (b.key or "").startswith("open_")] == ["open_0", "open_1", "open_2"]
    assert "Mirror" in [s.value for s in app.subheader]
    assert "ask in plain words" in texts(app)
    assert "quotient_remainder" in texts(app)


def test_the_first_visit_can_be_gone_back_to() -> None:
    app = ask(ask_page(), "how many trials failed?")
    assert "open_0" not in [b.key for b in app.button]
    app.button(key="home").click().run()
    assert not app.exception
    assert "open_0" in [b.key for b in app.button]
    assert app.text_input(key="question").value == ""
    assert "q" not in app.query_params


def test_the_glossary_tells_the_words_of_the_answer_first() -> None:
    app = ask(ask_page(), "memory vs AUC at compression 0.1")
    (told,) = [m.value.replace("\\", "") for m in app.markdown if "Words used here" in m.value]
    assert "**AUC**" in told
    assert "**compression**" in told
    assert "**adaembed**" not in told


def test_asking_shows_reading_sql_sentence_and_table() -> None:
    app = ask(ask_page(), "memory vs AUC at compression 0.1")
    assert "Read as: metrics memory (MB), AUC" in texts(app)
    assert "compression = 0.1 OR is_baseline" in app.text_area(key="sql").value
    assert len(app.dataframe[0].value) == 36
    assert "36 rows" in texts(app)


def test_an_edited_statement_follows_its_own_result_and_can_be_taken_back() -> None:
    app = ask(ask_page(), "memory vs AUC at compression 0.1")
    original = app.text_area(key="sql").value
    app.text_area(key="sql").set_value(original + "\n  AND method <> 'dense'")
    press(app, "Run")
    assert len(app.dataframe[0].value) == 27
    assert "edited" in texts(app)
    press(app, "Back to the original")
    assert app.text_area(key="sql").value == original
    assert len(app.dataframe[0].value) == 36


def test_question_and_statement_outlive_a_visit_to_another_page() -> None:
    before = ask(ask_page(), "memory vs AUC at compression 0.1")
    app = app_test()
    for key in ("trail", "generation"):  # what Streamlit keeps while another page is shown
        app.session_state[key] = before.session_state[key]
    app.run()
    assert not app.exception
    assert app.text_input(key="question").value == "memory vs AUC at compression 0.1"
    assert "compression = 0.1" in app.text_area(key="sql").value


def test_a_failing_statement_keeps_its_text_and_offers_the_likely_fix() -> None:
    app = ask(ask_page(), "memory vs AUC at compression 0.1")
    app.text_area(key="sql").set_value("SELECT method, aucc FROM results")
    press(app, "Run")
    assert app.text_area(key="sql").value == "SELECT method, aucc FROM results"
    assert "aucc" in texts(app)
    press(app, "Use auc instead of aucc")
    assert app.text_area(key="sql").value == "SELECT method, auc FROM results"
    assert len(app.dataframe[0].value) > 100


def test_hostile_sql_is_refused_and_the_next_question_answers() -> None:
    app = ask(ask_page(), "memory vs AUC at compression 0.1")
    app.text_area(key="sql").set_value("DROP TABLE results")
    press(app, "Run")
    assert "DROP changes data" in texts(app)
    ask(app, "how many trials failed?")
    assert app.metric[0].value == "1"


@pytest.mark.parametrize("question", ["", "price per hour of hashed", "x" * 10_000, "哪种方法最快"])
def test_a_refusal_offers_questions_to_click(question: str) -> None:
    app = ask(ask_page(), question)
    assert app.info
    offered = [b.label for b in app.button if (b.key or "").startswith("suggestion")]
    assert len(offered) == 3


def test_the_first_visit_asks_no_language_model_and_answers_once(monkeypatch: pytest.MonkeyPatch) -> None:
    st.cache_data.clear()
    monkeypatch.setattr("mirror.answer.readers.configured", lambda: True)
    monkeypatch.setattr(LlmFrontEnd, "read", lambda *_: pytest.fail("the model was asked"))
    asked: list[str] = []

    def counting(question: str, **more: object) -> Answer:
        asked.append(question)
        return answer.ask(question, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(welcome, "ask", counting)
    app = ask_page()
    assert len(app.get("plotly_chart")) + len(app.metric) >= 3
    app.run()
    assert not app.exception
    assert len(asked) == len(set(asked)) >= 3


HOSTILE = "![x](https://evil.example/p.png) :red[y] <b>"
ESCAPED = r"\!\[x\]\(https\:\/\/evil\.example\/p\.png\) \:red\[y\] \<b\>"


def test_text_from_data_is_never_markdown() -> None:
    app = ask(ask_page(), f"SELECT '{HOSTILE}' AS method, 1.0 AS \"{HOSTILE}\" FROM results LIMIT 1")
    tiles = {m.proto.label: m.proto.body for m in app.metric}
    assert ESCAPED in tiles.values()
    assert ESCAPED in tiles
    assert ESCAPED in json.loads(app.dataframe[0].proto.columns)[HOSTILE]["help"].replace("\\\\", "\\")
    shown = [e.proto.body for kind in (app.markdown, app.caption, app.warning, app.error, app.info) for e in kind]
    assert not [text for text in shown if "evil" in text and ESCAPED not in text]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("run `python -m x`.", r"run `python -m x`\."),
        ("`a` *b* `<c>`", r"`a` \*b\* `<c>`"),
        ("one ` alone <b>", r"one \` alone \<b\>"),
        ("``", r"\`\`"),
        ("`two\nlines`", "\\`two  \nlines\\`"),
    ],
)
def test_prose_is_plain_but_for_what_stands_between_backticks(text: str, shown: str) -> None:
    assert prose(text) == shown


def test_an_override_takes_the_front_away_where_it_would_mix_data_sets() -> None:
    app = ask(ask_page(), "memory vs AUC at compression 0.1")
    assert "No Pareto front" not in texts(app)
    app.selectbox(key="panels_1").select_index(0).run()
    assert not app.exception
    assert "No Pareto front, since data set differs as well." in texts(app)


def test_what_a_model_was_sent_is_shown_when_it_declines(monkeypatch: pytest.MonkeyPatch) -> None:
    def declines(*_: object) -> None:
        refusal = Declined("No such thing.")
        refusal.sent = "word for word"
        raise refusal

    monkeypatch.setattr("mirror.answer.readers.configured", lambda: True)
    monkeypatch.setattr(LlmFrontEnd, "read", declines)
    app = ask(ask_page(), "what is the weather?")
    assert "No such thing." in texts(app)
    assert "word for word" in [c.value for c in app.code]


def test_the_status_line_counts_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    st.cache_data.clear()
    profile = Profile(row_counts={"results": 70}, machines=60)  # more than a profile lists by name
    monkeypatch.setattr(Sandbox, "schema", lambda _: profile)
    app = AppTest.from_function(runs_page, default_timeout=LIMIT_S).run()
    assert any("70 trials · 60 machines" in h.proto.body for h in app.get("html"))


def test_malformed_secrets_are_said_in_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".streamlit").mkdir()
    (tmp_path / ".streamlit" / "secrets.toml").write_text("MIRROR_DB = [")
    monkeypatch.setattr(settings_module, "ROOT", tmp_path)
    settings_module._secrets.cache_clear()
    for page in (ask_page_alone, runs_page, new_run_page):
        app = AppTest.from_function(page, default_timeout=LIMIT_S).run()
        assert not app.exception
        assert ".streamlit/secrets.toml cannot be read" in texts(app)


def ask_page_alone() -> None:
    from mirror.faces.pages import ask

    ask.page()


def runs_page() -> None:
    from mirror.faces.pages.runs import runs_page as shown

    shown.page()


def test_runs_lists_every_trial_with_reasons() -> None:
    app = AppTest.from_function(runs_page, default_timeout=LIMIT_S).run()
    assert not app.exception
    assert len(app.dataframe[0].value) == 100
    told = "\n".join(c.value for c in app.caption)
    assert re.search(r"trials 1 to 100 of \d+, \d+ of them without a result", told)
    app.multiselect(key="only_status").select("failed").run()
    assert set(app.dataframe[0].value["error"]) == {"the loss is not finite"}
    assert "1 trial, 1 of them without a result" in "\n".join(c.value for c in app.caption)


def test_a_selection_does_not_outlive_the_list_it_was_made_in(monkeypatch: pytest.MonkeyPatch) -> None:
    app = AppTest.from_function(runs_page, default_timeout=LIMIT_S).run()
    first = app.dataframe[0].proto.id
    assert app.run().dataframe[0].proto.id == first
    app.multiselect(key="only_status").select("ok").run()
    assert app.dataframe[0].proto.id != first
    app.multiselect(key="only_status").unselect("ok").run()
    assert app.dataframe[0].proto.id == first
    monkeypatch.setattr(Sandbox, "version", lambda _: "new results")
    assert app.run().dataframe[0].proto.id != first


def opened_trial(url: str, where: str) -> None:
    from mirror.data.process.sandbox import shared
    from mirror.faces.pages.runs.runs_page import show_trial

    box = shared(url)
    show_trial(box, str(box.run(f"SELECT trial_id FROM {where} LIMIT 1").rows[0][0]))


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("results WHERE benchmark = 'training'", "A line needs two points; all rows have the same step."),
        ("results WHERE benchmark = 'lookup'", "Every timed sample, in the order taken"),
        ("failures WHERE status = 'failed'", "the loss is not finite"),
    ],
)
def test_a_trial_is_opened(where: str, words: str, results_file: Path) -> None:
    app = AppTest.from_function(opened_trial, args=(str(results_file), where), default_timeout=LIMIT_S).run()
    assert not app.exception
    assert words in texts(app)
    assert "| machine | test machine |" in texts(app)


def new_run_page() -> None:
    from mirror.faces.pages import new_run

    new_run.page()


def test_new_run_shows_a_plan_and_says_what_is_wrong_with_a_bad_one() -> None:
    app = AppTest.from_function(new_run_page, default_timeout=LIMIT_S).run()
    assert not app.exception
    app.selectbox(key="preset").select("tiny").run()
    assert {m.label: m.value for m in app.metric}["to run"] == "2"
    app.text_input(key="overrides").set_value("bacth_size=64").run()
    assert "batch_size" in app.error[0].value.replace("\\", "")
    assert not app.exception


def test_new_run_form_makes_a_plan() -> None:
    app = AppTest.from_function(new_run_page, default_timeout=LIMIT_S).run()
    app.segmented_control(key="way").set_value("Form").run()
    assert not app.exception
    app.text_input(key="form_lookup_batch_size").set_value("64, 128, 256").run()
    assert {m.label: m.value for m in app.metric}["to run"] == "6"
    app.text_input(key="form_lookup_batch_size").set_value("many").run()
    assert "batch_size" in app.error[0].value.replace("\\", "")


@pytest.fixture
def journal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A journal folder of the test's own."""
    st.cache_data.clear()
    monkeypatch.setenv("MIRROR_JOURNAL", str(tmp_path / "journal"))
    return tmp_path / "journal"


def state(**more: object) -> RunState:
    """A run of this very process, as far as anyone can tell."""
    values = {"pid": os.getpid(), "pid_start": runs.process_start(os.getpid()), "status": "running", "total": 4}
    values |= {"started_at": "2026-11-01T00:00:00", "updated_at": "2026-11-01T00:01:00"}
    return RunState(**{"run_id": "r1", "sweep": "lookup", **values, **more})  # type: ignore[arg-type]


def new_run() -> AppTest:
    app = AppTest.from_function(new_run_page, default_timeout=LIMIT_S).run()
    assert not app.exception
    return app


def test_the_open_page_leaves_the_results_alone_while_a_run_measures(
    journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs.write(journal, state(done=1, current="dense B=64"))
    read = Sandbox.run
    with monkeypatch.context() as measuring:
        for name in ("run", "schema"):
            measuring.setattr(Sandbox, name, lambda *_, **__: pytest.fail("the results were read"))
        app = new_run()
        assert "1 of 4 trials" in texts(app)
        assert not [m for m in app.markdown if "Newest results" in m.value]
        measuring.setattr(Sandbox, "run", read)
        press(app, "Show results so far")
        assert "Newest results of lookup" in texts(app)
    runs.write(journal, state(done=4, status="done"))
    app.run()
    assert not app.exception
    assert "done · 4 of 4 trials" in texts(app)
    assert "Newest results of lookup" in texts(app)
    assert "Show results so far" not in [b.label for b in app.button]


def test_results_of_a_run_that_ended_are_read_once(journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs.write(journal, state(done=4, status="done"))
    app = new_run()
    monkeypatch.setattr(Sandbox, "run", lambda *_, **__: pytest.fail("the results were read again"))
    app.run()
    assert not app.exception
    assert "Newest results of lookup" in texts(app)


def test_an_engine_that_fails_hides_neither_runs_nor_cancel(journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> jobs.Options:
        raise jobs.JobError("The engine cannot be started: no room.")

    monkeypatch.setattr(jobs, "options", broken)
    runs.write(journal, state())
    app = new_run()
    assert "The engine cannot be started" in texts(app)
    assert "Cancel" in [b.label for b in app.button]


@pytest.mark.parametrize("started_at", ["", "long ago"])
def test_a_state_without_a_start_is_no_crash(started_at: str, journal: Path) -> None:
    runs.write(journal, state(status="done", started_at=started_at))
    assert "done · 0 of 4 trials" in texts(new_run())


def test_a_failed_run_offers_its_log_without_paths(journal: Path) -> None:
    runs.write(journal, state(status="failed", message="It broke."))
    runs.path_of(journal, "r1", ".log").write_text(f"Something happened in {ROOT}/db/store.py.")
    app = new_run()
    assert "Something happened in db/store.py." in [c.value for c in app.code]


def test_what_failed_before_is_no_result_and_can_be_retried(journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[dict[str, object]] = []

    def plan(*_: object, retry_failed: bool = False, force: bool = False, quick: bool = False) -> jobs.PlanView:
        fates = (("ok", force), ("failed", retry_failed or force), ("oom", retry_failed or force), ("", True))
        trials = [
            jobs.PlannedView("t", "lookup", "dense", "todo" if again else "done", before, "", 2.0 * again)
            for before, again in fates
        ]
        seconds = sum(t.seconds for t in trials) / (2 if quick else 1)
        return jobs.PlanView("s", seconds, tuple(trials), ("run_cap leaves out 3 configurations",))

    monkeypatch.setattr(jobs, "plan", plan)
    monkeypatch.setattr(jobs, "start", lambda *_, **flags: started.append(flags))
    app = new_run()
    shown = {"to run": "1", "done already": "1", "failed before": "2", "cannot run": "0", "estimate": "2 s"}
    assert {m.label: m.value for m in app.metric} == shown
    assert list(app.dataframe[0].value["state"]) == ["done", "failed before", "failed before", "to run"]
    app.checkbox(key="retry").check().run()
    assert {m.label: m.value for m in app.metric} == {**shown, "to run": "3", "estimate": "6 s"}
    assert "run_cap leaves out 3 configurations" in texts(app)
    app.checkbox(key="quick").check().run()
    assert {m.label: m.value for m in app.metric} == {**shown, "to run": "3", "estimate": "3 s"}
    press(app, "Start")
    assert started == [{"retry_failed": True, "force": False, "quick": True, "by": LOCAL}]


def test_no_results_is_said_in_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "broken.duckdb"
    broken.write_bytes(b"not a database" * 1000)
    monkeypatch.setenv("MIRROR_DB", str(broken))
    app = app_test().run()
    assert "broken.duckdb is not a whole DuckDB file" in texts(app)


def test_the_app_process_never_imports_torch(results_file: Path) -> None:
    code = """
        import sys
        from streamlit.testing.v1 import AppTest
        app = AppTest.from_file("app.py", default_timeout=60).run()
        app.text_input(key="question").set_value("memory vs AUC at compression 0.1")
        app.button[0].click().run()
        assert not app.exception
        import mirror.faces.pages.runs.runs_page, mirror.faces.pages.new_run
        print("torch" in sys.modules, "openai" in sys.modules)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["False", "False"]
