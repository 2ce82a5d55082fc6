"""The page Ask: follow-ups, plans, saved questions, Cancel, and who read the question."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from chat_stub import Server, fails, running, says
from page_driver import app_test, ask, ask_page, labels, press, texts
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Block

from db.installation import ROOT
from mirror.answer import results
from mirror.answer.answer import Answer
from mirror.data.process.sandbox import Sandbox
from mirror.faces.pages.places import place
from mirror.faces.pages.trails import flow
from mirror.faces.pages.trails.asking import Asking
from mirror.faces.pages.trails.trail import MOST_STEPS
from mirror.model.llm_prompt import answer_of
from mirror.query.agreement import Agreement
from mirror.query.saved import Saved
from mirror.query.spec import Metric, Order, QuerySpec
from mirror.runs import jobs
from mirror.runs.run_plan import RunPlan

QUESTION = "memory vs AUC at compression 0.1"
SLOW = "SELECT count(*) AS n FROM range(1000000) a, range(1000000) b WHERE hash(a.range + b.range) % 7 = 1"


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch, results_file: Path, tmp_path: Path) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("MIRROR_DB", str(results_file))
    monkeypatch.setenv("MIRROR_SAVED", str(tmp_path / "my.saved.jsonl"))
    for name in ("MIRROR_LLM_BASE_URL", "MIRROR_LLM_MODEL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def follow_up(app: AppTest, question: str) -> AppTest:
    app.text_input(key="followup").set_value(question)
    return press(app, "Follow up")


def edit(app: AppTest, sql: str) -> AppTest:
    app.text_area(key="sql").set_value(sql)
    return app


def go_back(app: AppTest, to: int) -> AppTest:
    app.button(key=f"back_{to}").click().run()
    assert not app.exception
    return app


def link(app: AppTest) -> list[str]:
    """The questions in the address."""
    found = app.query_params["q"]
    return found if isinstance(found, list) else [found]


def warnings(app: AppTest) -> str:
    return "\n".join(w.value.replace("\\", "") for w in app.warning)


def place_of_the_editor(app: AppTest) -> list[int]:
    """Where the SQL stands on the page: its place in each block around it, from the outermost."""

    def found(block: Block) -> list[int] | None:
        for at, child in block.children.items():
            if getattr(child, "key", None) == "sql":
                return [at]
            if isinstance(child, Block) and (inner := found(child)):
                return [at, *inner]
        return None

    return found(app.main) or []


def trail(app: AppTest) -> list[str]:
    """The questions that can be gone back to."""
    return [b.label.replace("\\", "") for b in app.button if (b.key or "").startswith("back_")]


# -- follow-ups --------------------------------------------------------------------------------------------------------


def test_follow_ups_change_the_answer_and_leave_a_trail() -> None:
    app = ask(ask_page(), QUESTION)
    assert trail(app) == []
    follow_up(app, "and for 0.5?")
    assert "compression = 0.5" in app.text_area(key="sql").value
    follow_up(app, "only hashed")
    assert set(app.dataframe[0].value["method"]) == {"hashed"}
    assert "compression = 0.5" in app.text_area(key="sql").value
    assert trail(app) == [QUESTION, "and for 0.5?"]
    assert "**only hashed**" in texts(app)
    assert app.text_input(key="question").value == QUESTION
    assert app.text_input(key="followup").value == ""
    assert link(app) == [QUESTION, "and for 0.5?", "only hashed"]


def test_a_question_of_the_trail_can_be_gone_back_to() -> None:
    app = follow_up(follow_up(ask(ask_page(), QUESTION), "and for 0.5?"), "only hashed")
    go_back(app, 0)
    assert "compression = 0.1" in app.text_area(key="sql").value
    assert trail(app) == ["and for 0.5?", "only hashed"]
    assert link(app) == [QUESTION]
    follow_up(app, "only small_dim")
    assert trail(app) == [QUESTION]
    assert set(app.dataframe[0].value["method"]) == {"small_dim"}


def test_a_question_in_the_box_above_starts_anew() -> None:
    app = follow_up(ask(ask_page(), QUESTION), "and for 0.5?")
    ask(app, "how many trials failed?")
    assert trail(app) == []
    assert app.metric[0].value == "1"
    assert link(app) == ["how many trials failed?"]


@pytest.mark.parametrize("question", ["and for banana?", "run hashed lookups at batch size 64"])
def test_a_follow_up_without_rows_keeps_the_answer_and_the_text(question: str) -> None:
    app = follow_up(ask(ask_page(), QUESTION), question)
    assert "Read as: metrics memory (MB), AUC" in texts(app)
    assert app.text_input(key="followup").value == question
    assert ("banana" in texts(app)) == ("banana" in question)
    assert ("Fill the form on New run" in labels(app)) == ("run" in question)
    assert link(app) == [QUESTION]


def test_a_blank_follow_up_changes_nothing() -> None:
    app = follow_up(ask(ask_page(), QUESTION), "  ")
    assert trail(app) == []
    assert len(app.dataframe[0].value) == 36


def test_a_question_back_to_a_follow_up_offers_follow_ups(monkeypatch: pytest.MonkeyPatch) -> None:
    app = ask(ask_page(), QUESTION)

    def asks_back(question: str, **more: object) -> Answer:
        assert more["after"]
        return Answer("ambiguous", question, summary="Which?", suggestions=("only hashed", "only dense"))

    with monkeypatch.context() as once:
        once.setattr(place, "ask", asks_back)
        follow_up(app, "only that one")
    press(app, "only hashed")
    assert set(app.dataframe[0].value["method"]) == {"hashed"}
    assert trail(app) == [QUESTION]


def test_a_link_asks_the_whole_trail() -> None:
    app = ask_page(QUESTION, "and for 0.5?", "only hashed")
    assert set(app.dataframe[0].value["method"]) == {"hashed"}
    assert "compression = 0.5" in app.text_area(key="sql").value
    assert trail(app) == [QUESTION, "and for 0.5?"]
    assert app.text_input(key="question").value == QUESTION


def test_a_link_stops_where_it_is_not_understood() -> None:
    app = ask_page(QUESTION, "and for banana?", "only hashed")
    assert len(app.dataframe[0].value) == 36
    assert app.text_input(key="followup").value == "and for banana?"
    assert "banana" in texts(app)
    app = ask_page("salary per hour of hashed", "only hashed")
    assert "salary" in texts(app)
    assert "Follow up" not in labels(app)


def test_a_link_of_any_length_is_bounded() -> None:
    app = ask_page(QUESTION, *["and for 0.5?", "and for 0.1?"] * MOST_STEPS)
    assert len(trail(app)) == MOST_STEPS - 1
    assert "Follow up" not in labels(app)
    assert f"{MOST_STEPS} questions in a row" in texts(app)
    press(app, "Leave out compression = 0.5")  # no way past it
    assert len(link(app)) == MOST_STEPS


def test_the_editor_keeps_its_place_when_a_statement_fails() -> None:
    app = ask(ask_page(), QUESTION)
    before = place_of_the_editor(app)
    press(edit(app, "SELECT nothing FROM results"), "Run")
    assert before
    assert place_of_the_editor(app) == before  # else the browser draws two of them for a while


def test_a_follow_up_of_edited_sql_changes_the_question_and_says_so() -> None:
    app = ask(ask_page(), QUESTION)
    press(edit(app, "SELECT method, auc FROM results LIMIT 3"), "Run")
    assert len(app.dataframe[0].value) == 3
    assert "without the edits of its SQL" in texts(app)
    follow_up(app, "only hashed")
    assert set(app.dataframe[0].value["method"]) == {"hashed"}
    go_back(app, 0)
    assert len(app.dataframe[0].value) == 3  # the edits are where they were
    assert app.text_area(key="sql").value == "SELECT method, auc FROM results LIMIT 3"


def test_sql_that_was_asked_has_no_follow_up_box() -> None:
    app = ask(ask_page(), "SELECT method, auc FROM results LIMIT 3")
    assert len(app.dataframe[0].value) == 3
    assert "Follow up" not in labels(app)


def test_not_what_i_meant_leaves_out_a_filter() -> None:
    app = ask(ask_page(), "which method has the best AUC under 5 MB at compression 0.1?")
    assert {"Leave out memory < 5 MB", "Leave out compression = 0.1"} <= set(labels(app))
    press(app, "Leave out compression = 0.1")
    assert "compression = 0.1" not in app.text_area(key="sql").value
    assert "memory_mb" in app.text_area(key="sql").value


# -- parts that are changed in place -----------------------------------------------------------------------------------


def linked(question: str, form: str) -> AppTest:
    """A link whose second question has a form."""
    app = app_test()
    app.query_params["q"] = [QUESTION, question]
    app.query_params["form"] = [f"1:{form}"]
    app.run()
    assert not app.exception
    return app


def test_a_link_carries_what_was_changed_in_place_and_undo_takes_it_back() -> None:
    metrics = [{"column": "memory_mb"}, {"column": "auc"}]
    filters = [{"column": "compression", "operator": "=", "values": [0.5]}]
    app = linked("changed", json.dumps({"shape": "points", "metrics": metrics, "filters": filters}))
    assert "compression = 0.5" in app.text_area(key="sql").value
    assert trail(app) == [QUESTION]
    assert "form" in app.query_params
    press(app, "Undo")
    assert "compression = 0.1" in app.text_area(key="sql").value
    assert link(app) == [QUESTION]
    assert "form" not in app.query_params
    press(app, "Redo")
    assert "compression = 0.5" in app.text_area(key="sql").value


def test_a_change_that_has_no_answer_keeps_the_one_before_and_is_told_beside_the_chips() -> None:
    metrics = [{"column": "bandwidth_gb_s"}, {"column": "auc"}]  # measured by no benchmark together
    app = linked("changed", json.dumps({"shape": "points", "metrics": metrics}))
    assert "compression = 0.1" in app.text_area(key="sql").value
    assert "together yet" in texts(app)
    assert app.text_input(key="followup").value == ""


def test_a_form_that_cannot_be_read_gives_way_to_its_words() -> None:
    for form in ("{", '{"shape": "circle"}', "[" * 500):
        app = linked("only hashed", form)
        assert set(app.dataframe[0].value["method"]) == {"hashed"}


# -- plans -------------------------------------------------------------------------------------------------------------


def test_a_plan_fills_new_run_and_starts_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    st.cache_data.clear()
    monkeypatch.setenv("MIRROR_JOURNAL", str(tmp_path / "journal"))
    monkeypatch.setattr(jobs, "start", lambda *_, **__: pytest.fail("a run was started"))
    app = ask(ask_page(), "run hashed lookups at batch size 64")
    assert "Run hashed and dense in lookup, batch size 64." in texts(app)
    assert "dense as well" in texts(app)
    assert any(c.value.startswith("python -m bench_engine run - <<<") for c in app.code)
    press(app, "Fill the form on New run")
    assert app.segmented_control(key="way").value == "Form"
    assert app.multiselect(key="form_methods_lookup").value == ["hashed", "dense"]
    assert app.text_input(key="form_lookup_batch_size").value == "64"
    assert not jobs.runs()


def test_a_budget_leads_to_a_plan_and_to_what_is_measured_already(monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = (("dataset", ("frappe",)), ("split", ("validation",)), ("compression", (0.1, 0.05)))
    plan = RunPlan(benchmark="training", methods=("int8_qr",), parameters=parameters, seeds=1, budget=("frappe", 0.03))
    monkeypatch.setattr(jobs, "suggestion", lambda data, budget_mb: plan)
    monkeypatch.setattr(results, "_measured", lambda _plan, _profile: ("memory vs AUC on frappe",))
    app = ask(ask_page(), "what should I use for 0.03 MB on frappe?")
    assert "to see what to use for 0.03 MB on frappe" in texts(app)
    assert [c.value for c in app.code] == ["python -m bench_engine suggest frappe --budget-mb 0.03"]
    press(app, "memory vs AUC on frappe")
    assert "frappe" in app.text_area(key="sql").value


# -- saved questions ---------------------------------------------------------------------------------------------------


def test_an_edited_statement_is_saved_and_answers_its_question(tmp_path: Path) -> None:
    app = ask(ask_page(), QUESTION)
    sql = "SELECT method, avg(auc) AS auc FROM results GROUP BY method"
    press(edit(app, sql), "Save …")  # not even run
    assert app.text_input(key="saved_question").value == QUESTION
    app.text_input(key="saved_note").set_value("means")
    press(app, "Save")
    kept = Saved(tmp_path / "my.saved.jsonl").find(QUESTION)
    assert kept is not None
    assert (kept.sql, kept.note) == (sql, "means")
    assert "Save" not in labels(app)
    assert app.text_area(key="sql").value == sql
    ask(app, QUESTION.upper())
    assert "Read as: saved with its SQL" in texts(app)
    assert "means" in texts(app)
    assert "saved question" in texts(app)
    assert app.text_area(key="sql").value == sql


def test_a_follow_up_is_saved_with_all_that_it_says(tmp_path: Path) -> None:
    app = press(follow_up(ask(ask_page(), QUESTION), "only hashed"), "Save …")
    assert app.text_input(key="saved_question").value == f"{QUESTION}, only hashed"
    press(app, "Save")
    assert Saved(tmp_path / "my.saved.jsonl").find("only hashed") is None


def test_what_cannot_be_saved_is_said_and_nothing_typed_is_lost() -> None:
    app = press(ask(ask_page(), QUESTION), "Save …")
    app.text_input(key="saved_question").set_value(" ")
    app.text_input(key="saved_note").set_value("a note")
    press(app, "Save")
    assert "There is no question to save" in texts(app)
    assert app.text_input(key="saved_note").value == "a note"
    app.text_input(key="saved_question").set_value("mine")
    press(app, "Save")
    assert "mine" in labels(app)


def test_a_saved_question_is_asked_removed_and_brought_back(tmp_path: Path) -> None:
    store = Saved(tmp_path / "my.saved.jsonl")
    store.add("mine", "SELECT 7 AS seven", "a note")
    app = ask_page()
    press(app, "mine")
    assert app.text_area(key="sql").value == "SELECT 7 AS seven"
    press(app, "Remove")
    assert store.all() == ()
    press(app, "Bring back: mine")
    assert [(s.question, s.note) for s in store.all()] == [("mine", "a note")]
    assert "Bring back: mine" not in labels(app)


def test_many_saved_questions_are_found_by_a_word(tmp_path: Path) -> None:
    store = Saved(tmp_path / "my.saved.jsonl")
    for i in range(30):
        store.add(f"question {i}", "SELECT 1", "odd one" if i == 3 else "")
    app = ask_page()
    shown = [label for label in labels(app) if label.startswith("question ")]
    assert 0 < len(shown) < 30
    assert f"{30 - len(shown)} more" in texts(app)
    app.text_input(key="saved_find").set_value("ODD").run()
    assert [label for label in labels(app) if label.startswith("question ")] == ["question 3"]


def test_saved_questions_that_cannot_be_read_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MIRROR_SAVED", str(tmp_path))
    app = ask(ask_page(), QUESTION)
    assert "is no file" in texts(app)
    assert len(app.dataframe[0].value) == 36
    press(app, "Save …")
    press(app, "Save")
    assert app.text_input(key="saved_question").value == QUESTION


# -- cancel ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """When the page said that it is asking: seconds since the question."""
    found: list[float] = []
    show_progress = flow._show_progress

    def noted(asking: Asking, slot: object, number: int) -> None:
        found.append(asking.seconds)
        show_progress(asking, slot, number)  # type: ignore[arg-type]

    monkeypatch.setattr(flow, "_show_progress", noted)
    return found


class Impatient(Asking):
    """Is cancelled, from another thread, as soon as it takes long; that thread, too, asks whether it is done."""

    _canceller: threading.Thread | None = None

    def done(self, within_s: float = 0.0) -> bool:
        at_it = self._canceller is not None and self._canceller.is_alive()
        if not at_it and self.seconds > flow._QUICK_S and not super().done():
            self._canceller = threading.Thread(target=self.cancel)
            self._canceller.start()
        return super().done(within_s)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> AppTest:
    """The page with an answer, where each query that takes long is cancelled from now on."""
    app = ask(ask_page(), QUESTION)
    monkeypatch.setattr(flow, "Asking", Impatient)
    return app


def test_a_quick_answer_says_nothing_of_asking(waits: list[float], box: Sandbox) -> None:
    app = ask(ask_page(), QUESTION)
    assert len(app.dataframe[0].value) == 36
    waits.clear()  # the first question had to load the results
    press(edit(app, "SELECT 1 AS one"), "Run")
    assert waits == []


def test_a_cancelled_statement_keeps_its_text_and_the_page_goes_on(
    waits: list[float], asked: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = press(edit(asked, SLOW), "Run")
    assert waits
    assert "The query was cancelled." in texts(app)
    assert app.text_area(key="sql").value == SLOW
    assert "Cancel" not in labels(app)
    press(app, "Back to the original")
    assert len(app.dataframe[0].value) == 36
    monkeypatch.setattr(flow, "Asking", Asking)
    ask(app, "how many trials failed?")
    assert app.metric[0].value == "1"


def test_a_cancelled_follow_up_keeps_the_answer_before(asked: AppTest) -> None:
    app = follow_up(asked, SLOW)
    assert "The query was cancelled." in texts(app)
    assert app.text_input(key="followup").value == SLOW
    assert len(app.dataframe[0].value) == 36


def test_a_cancelled_question_keeps_its_text(asked: AppTest) -> None:
    app = ask(asked, SLOW)
    assert "The query was cancelled." in texts(app)
    assert app.text_input(key="question").value == SLOW


@pytest.mark.parametrize("connected", [True, False])
def test_only_a_browser_that_has_gone_stops_its_query(
    connected: bool, box: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = threading.Event()

    class Sessions:
        def is_active_session(self, session: str) -> bool:
            looked.set()
            return connected

    monkeypatch.setattr(flow, "_GONE_S", 0.0)
    monkeypatch.setattr(flow.runtime, "exists", lambda: True)
    monkeypatch.setattr(flow.runtime, "get_instance", Sessions)
    free = threading.Event()
    given_up = Answer("error", "q")
    asking = Asking(lambda: Answer("answered", str(free.wait(60))), box, given_up)
    cancelled = threading.Event()
    monkeypatch.setattr(asking, "cancel", cancelled.set)
    flow._stop_if_gone(asking)
    assert looked.wait(60)
    assert cancelled.wait(0.2 if connected else 60) is not connected
    free.set()


def test_each_slow_question_of_one_address_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow, "_QUICK_S", -60.0)  # nothing is that quick
    app = ask_page(QUESTION, "only hashed")
    assert not app.exception
    assert len(app.dataframe) >= 1


def test_a_fault_of_ours_leaves_no_page_that_asks_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    app = ask_page()
    with monkeypatch.context() as broken:
        broken.setattr(place, "ask", lambda *_, **__: 1 / 0)
        app.text_input(key="question").set_value(QUESTION)
        app.button[0].click().run()
        assert app.exception
    ask(app, QUESTION)
    assert len(app.dataframe[0].value) == 36


# -- who read the question ---------------------------------------------------------------------------------------------


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with running(monkeypatch) as server:
        yield server


TOP = QuerySpec("ranking", (Metric("auc", "avg"),), ("method",), order=(Order("auc", True),), limit=3)
USAGE = {"prompt_tokens": 3120, "completion_tokens": 210}


def read_by_model(server: Server, question: str, spec: QuerySpec = TOP) -> AppTest:
    server.replies = [says(json.dumps(answer_of(spec)), usage=USAGE)]
    return ask(ask_page(), question)


def test_the_built_in_reader_is_named_as_reader() -> None:
    assert "built-in reader" in texts(ask(ask_page(), QUESTION))


def test_a_language_model_is_named_and_its_cost_told(server: Server) -> None:
    app = read_by_model(server, "top 3 methods by AUC")
    assert "[language model]" in texts(app)
    assert any("3,120 tokens read, 210 written" in e.label for e in app.expander)
    assert any("top 3 methods by AUC" in c.value for c in app.code)


def test_a_reading_that_differs_is_told_and_the_other_can_be_had(server: Server) -> None:
    app = read_by_model(server, "top 5 methods by AUC")
    assert "The built-in reader would show the first 5" in warnings(app)
    press(app, "Let the built-in reader read it")
    assert "[built-in reader]" in texts(app)
    assert "LIMIT 5" in app.text_area(key="sql").value or "<= 5" in app.text_area(key="sql").value
    assert len(server.requests) == 1


def test_a_reading_that_nothing_confirms_is_told(server: Server) -> None:
    app = read_by_model(server, "which wombats rock hardest")
    assert "nothing confirms the model's reading" in texts(app)


def test_a_model_that_fails_leaves_a_note(server: Server) -> None:
    server.replies = [fails(500, "out of order")]
    app = ask(ask_page(), QUESTION)
    assert "The built-in reader read the question instead." in "\n".join(w.value.replace("\\", "") for w in app.warning)
    assert "[built-in reader]" in texts(app)
    assert len(app.dataframe[0].value) == 36


def test_readings_that_agree_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    real = place.ask

    def agreed(question: str, **more: object) -> Answer:
        found = real(question, **more)  # type: ignore[arg-type]
        return Answer(**{**vars(found), "engine": "llm", "agreement": Agreement(True)})

    monkeypatch.setattr(place, "ask", agreed)
    app = ask(ask_page(), QUESTION)
    assert "[the built-in reader agrees]" in texts(app)
    assert not app.warning


# -- what is learnt ----------------------------------------------------------------------------------------------------

TARDINESS = "average tardiness by method on frappe"
MEAN = "Show the mean latency (µs) by method where data set = frappe"


def test_a_choice_is_learnt_told_and_forgotten(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MIRROR_LEARNT", "1")
    app = press(ask(ask_page(), TARDINESS), MEAN)
    assert f"Asked again, “{TARDINESS}” is answered so at once." in texts(app)
    ask(app, f"{TARDINESS}?")
    assert "(you chose this before)" in texts(app)
    press(app, "Forget this choice")
    assert MEAN in labels(app)
    assert TARDINESS not in (tmp_path / "my.learnt.yaml").read_text()


def test_whoever_opens_a_link_chooses_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MIRROR_LEARNT", "1")
    app = ask_page(TARDINESS, MEAN)
    assert "Read as: mean latency" in texts(app)
    assert "answered so at once" not in texts(app)
    assert not (tmp_path / "my.learnt.yaml").exists()


# -- links -------------------------------------------------------------------------------------------------------------


def opened_again(seen: str) -> str:
    app = app_test()
    app.query_params.update({"q": QUESTION, "seen": seen})
    app.run()
    assert not app.exception
    return texts(app)


def test_a_link_tells_when_the_results_behind_it_have_changed() -> None:
    address = ask(ask_page(), QUESTION).query_params["seen"]
    seen = address if isinstance(address, str) else address[0]
    assert seen.startswith("36-")
    told = "The results behind this answer have changed since the link was made"
    assert told not in opened_again(seen)
    assert f"{told}: 30 rows then, 36 now." in opened_again("30-0123abcd")
    assert f"{told}." in opened_again("36-0123abcd")
    assert f"{told}." in opened_again("a_mark_of_some_other_kind")


def test_a_link_starts_no_language_model_and_keeps_what_it_said(server: Server) -> None:
    app = read_by_model(server, "which wombats rock hardest")
    shown, asked = app.dataframe[0].value, len(server.requests)
    opened = app_test()
    opened.query_params.update({name: app.query_params[name] for name in ("q", "sql", "seen")})
    opened.run()
    assert not opened.exception
    assert opened.dataframe[0].value.equals(shown)
    assert "A link starts no language model" in texts(opened)
    assert len(server.requests) == asked
    press(opened, "Ask the language model")
    assert "[language model]" in texts(opened)
    assert "A link starts no language model" not in texts(opened)
    assert len(server.requests) > asked


def test_the_follow_ups_of_a_link_start_no_language_model(server: Server) -> None:
    assert "A link starts no language model" in texts(ask_page(QUESTION, "and for 0.5?"))
    assert "wombats" in texts(ask_page(QUESTION, "and for wombats?"))
    assert not server.requests
