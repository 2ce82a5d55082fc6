"""The pages, driven by Streamlit's AppTest on seeded results; figures are tested in test_chart."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).resolve().parent.parent.parent
LIMIT_S = 60


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch, results_file: Path) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("MIRROR_DB", str(results_file))
    for name in ("MIRROR_LLM_BASE_URL", "MIRROR_LLM_MODEL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def ask_page() -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=LIMIT_S).run()
    assert not app.exception
    return app


def ask(app: AppTest, question: str) -> AppTest:
    app.text_input(key="question").set_value(question)
    app.button[0].click().run()
    assert not app.exception
    return app


def texts(app: AppTest) -> str:
    shown = [*app.markdown, *app.caption, *app.info, *app.error, *app.warning]
    return "\n".join(str(e.value).replace("\\", "") for e in shown)


def test_the_first_visit_shows_three_answered_questions() -> None:
    app = ask_page()
    assert [b.label for b in app.button].count("Open") == 3
    assert "quotient_remainder" in texts(app)


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
    app = ask(ask_page(), "memory vs AUC at compression 0.1")
    for key in ("question", "sql"):
        del app.session_state[key]  # what Streamlit does while another page is shown
    app.run()
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


def press(app: AppTest, label: str) -> None:
    next(b for b in app.button if b.label.replace("\\", "") == label).click().run()
    assert not app.exception


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


def runs_page() -> None:
    from mirror.pages import runs

    runs.page()


def test_runs_lists_every_trial_with_reasons() -> None:
    app = AppTest.from_function(runs_page, default_timeout=LIMIT_S).run()
    assert not app.exception
    frame = app.dataframe[0].value
    assert "the loss is not finite" in set(frame["error"])
    app.multiselect(key="only_status").select("failed").run()
    assert len(app.dataframe[0].value) == 1


def new_run_page() -> None:
    from mirror.pages import new_run

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


def test_no_results_is_said_in_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "broken.duckdb"
    broken.write_bytes(b"not a database" * 1000)
    monkeypatch.setenv("MIRROR_DB", str(broken))
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=LIMIT_S).run()
    assert "broken.duckdb is not a whole DuckDB file" in texts(app)


def test_the_app_process_never_imports_torch(results_file: Path) -> None:
    code = """
        import sys
        from streamlit.testing.v1 import AppTest
        app = AppTest.from_file("app.py", default_timeout=60).run()
        app.text_input(key="question").set_value("memory vs AUC at compression 0.1")
        app.button[0].click().run()
        assert not app.exception
        import mirror.pages.runs, mirror.pages.new_run
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
