"""The page Ask over files and databases, driven by Streamlit's AppTest."""

import json
from pathlib import Path

import pytest
import sales_data
from chat_stub import running, says
from streamlit.testing.v1 import AppTest

from mirror.data.process.other_data_process import shared
from mirror.data.sources.location import find
from mirror.schema import catalog

LIMIT_S = 60


def the_page() -> None:
    from mirror.faces.pages import ask

    ask.page()


def page(**address: str) -> AppTest:
    """The page at an address, not run yet."""
    app = AppTest.from_function(the_page, default_timeout=LIMIT_S)
    app.query_params.update(address)
    return app


def opened(url: str) -> AppTest:
    app = page(about="database").run()
    assert not app.exception
    app.text_input(key="place_database").set_value(url)
    return press(app, "Open")


def press(app: AppTest, label: str) -> AppTest:
    next(b for b in app.button if b.label.replace("\\", "") == label).click().run()
    assert not app.exception
    return app


def asked(app: AppTest, question: str) -> AppTest:
    app.text_input(key="question").set_value(question)
    return press(app, "Ask")


def texts(app: AppTest) -> str:
    shown = [*app.markdown, *app.caption, *app.info, *app.error, *app.warning]
    return "\n".join(str(e.value).replace("\\", "") for e in shown)


def test_the_first_visit_says_what_can_be_read() -> None:
    app = page(about="file").run()
    assert not app.exception
    assert "nothing is ever written" in texts(app)
    assert not [w.key for w in app.text_input if w.key == "question"]  # there is nothing to ask yet


def test_what_was_found_is_shown_with_keys_and_questions_to_click(csv_shop: sales_data.Shop) -> None:
    app = opened(csv_shop.url)
    assert "Found: 4 tables · 3 foreign keys" in [e.label for e in app.expander]
    assert "order_items.product_id → products.id (inferred)" in texts(app)
    assert "customers 12 rows" in texts(app).replace("*", "")
    held = {row["column"]: row["holds"] for row in app.dataframe[0].value.to_dict("records")}
    assert held["country"] == "Austria, France, Germany, Ireland, Portugal"
    offered = [b for b in app.button if (b.key or "").startswith("example")]
    assert len(offered) >= 4
    offered[0].click().run()
    assert not app.exception
    assert "Read as: " in texts(app)


def test_a_question_shows_reading_chart_sql_and_table(sqlite_shop: sales_data.Shop) -> None:
    app = asked(opened(sqlite_shop.url), "total amount by country")
    assert "Read as: total orders.amount · by customers.country" in texts(app)
    assert "SUM(orders.amount)" in app.text_area(key="sql").value
    assert len(app.get("plotly_chart")) == 1
    assert len(app.dataframe[0].value) == 6
    exports = ["CSV", "Parquet", "HTML page", "Notebook", "Markdown"]
    assert [b.label for b in app.get("download_button")] == [*exports, "CSV"]


def test_edited_sql_follows_its_own_result_and_can_be_taken_back(sqlite_shop: sales_data.Shop) -> None:
    app = asked(opened(sqlite_shop.url), "total amount by country")
    original = app.text_area(key="sql").value
    app.text_area(key="sql").set_value("SELECT status, count(*) AS orders FROM orders GROUP BY status")
    press(app, "Run")
    assert len(app.dataframe[0].value) == 4
    assert "edited" in texts(app)
    press(app, "Back to the original")
    assert app.text_area(key="sql").value == original


def test_hostile_sql_is_refused_and_keeps_its_text(sqlite_shop: sales_data.Shop) -> None:
    app = asked(opened(sqlite_shop.url), "how many customers")
    app.text_area(key="sql").set_value("DROP TABLE customers")
    press(app, "Run")
    assert "not DROP" in texts(app)
    assert app.text_area(key="sql").value == "DROP TABLE customers"
    asked(app, "how many customers")
    assert app.metric[0].value == "12"


def test_results_are_asked_about_as_results(results_file: Path) -> None:
    app = opened(str(results_file))
    assert [b.label.replace("\\", "") for b in app.button if (b.key or "").startswith("example")] == [
        *catalog.examples()
    ]
    asked(app, "memory vs AUC at compression 0.1")
    assert "Memory against AUC, one point per trial" in texts(app)  # in the words of the results
    assert "memory_mb" in app.text_area(key="sql").value
    app.text_area(key="sql").set_value("SELECT count(*) AS n FROM results")
    press(app, "Run")
    assert "edited" in texts(app)
    shared(find(str(results_file))).close()


def test_a_reading_is_shown_first_and_answered_by_a_click(sqlite_shop: sales_data.Shop) -> None:
    app = asked(opened(sqlite_shop.url), "lowest, average and highest amount by year")
    assert "meant?" in texts(app)
    shown = [b.label.replace("\\", "") for b in app.button if b.label.startswith("Show ")]
    press(app, shown[0])
    assert "Read as: " in texts(app)


def test_a_question_back_offers_its_choices(sqlite_shop: sales_data.Shop) -> None:
    app = asked(opened(sqlite_shop.url), "countries with total amount between 5000 and 15000")
    assert "which is meant?" in texts(app)
    shown = [b.label.replace("\\", "") for b in app.button if b.label.startswith("Show ")]
    assert 2 <= len(shown) <= 3
    press(app, shown[-1])
    assert "Read as: " in texts(app)


def test_a_password_is_never_shown_back(postgres_shop: sales_data.Shop) -> None:
    secret = postgres_shop.url.partition("@")[0].rpartition(":")[2]
    app = opened(postgres_shop.url)
    assert "Found: 4 tables · 3 foreign keys" in [e.label for e in app.expander]
    assert "***" in app.text_input(key="place_database").value
    assert secret not in str(app.main)
    asked(app, "how many customers")
    assert app.metric[0].value == "12"
    press(app, "Open")  # the shown name, without its password, is the same database again
    assert secret not in str(app.main)
    assert "Found: 4 tables · 3 foreign keys" in [e.label for e in app.expander]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("nowhere.csv", "There is no file nowhere.csv"),
        ("mssql://sa:hidden-1@host/x", "mssql cannot be read"),
        ("postgresql://u:hidden-1@x@host/y", "%40"),
        ("postgresql://u:hidden-1@127.0.0.1:1/y", "host and port"),
        ("", "Name a database"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(url: str, said: str) -> None:
    app = opened(url)
    assert said in texts(app)
    assert "hidden-1" not in str(app.main)


def test_an_uploaded_file_is_a_table(tmp_path: Path) -> None:
    app = page(about="file").run()
    app.file_uploader(key="place_file_upload").set_value(
        [("visits.csv", b"city,visits\nBerlin,3\nRome,4\nBerlin,5\n", "text/csv")]
    ).run()
    assert not app.exception
    asked(app, "total visits by city")
    if "Is this meant?" in texts(app) or "which is meant?" in texts(app):
        press(app, "Show the total visits by city")
    assert list(app.dataframe[0].value["total_visits"]) == [8, 4]
    shared(find(app.session_state["places"]["uploaded:visits.csv"].db)).close()


def test_a_language_model_reads_the_question_too(
    sqlite_shop: sales_data.Shop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MIRROR_SAVED", str(tmp_path / "x.saved.jsonl"))
    answer = {"notes": ["one"], "sql": "SELECT count(*) AS n FROM customers", "choices": [], "cannot_answer": None}
    with running(monkeypatch) as server:
        server.replies = [says(json.dumps(answer), usage={"prompt_tokens": 900, "completion_tokens": 40})]
        app = asked(opened(sqlite_shop.url), "how lopsided is our clientele?")
        assert "Read as: SQL that the language model wrote; one" in texts(app)
        assert "language model" in texts(app)
        assert "nothing confirms" in " ".join(c.value for c in app.caption)
        assert any("What the language model was sent" in e.label for e in app.expander)
        asked(app, "how many customers")
        assert "the built-in reader agrees" in texts(app)
        both = asked(app, "total amount by country")
        grammars, models = [b for b in both.button if (b.key or "").startswith("suggestion")]
        assert models.label.replace("\\", "") == "As the language model reads it: one"
        requests = len(server.requests)
        grammars.click().run()
        assert "SUM(orders.amount)" in app.text_area(key="sql").value
        assert len(server.requests) == requests


def test_a_choice_is_learnt_told_and_forgotten(
    sqlite_shop: sales_data.Shop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MIRROR_LEARNT", "1")
    monkeypatch.setenv("MIRROR_SAVED", str(tmp_path / "x.saved.jsonl"))
    question = "how many punters per country"
    app = asked(opened(sqlite_shop.url), question)
    press(app, "Show the number of customers by customer country")
    assert f"Asked again, “{question}” is answered so at once." in texts(app)
    assert "“punters” seems to mean customers" in texts(app)
    press(app, "Always read “punters” so")
    assert "“punters” is taken for customers" in texts(app)
    asked(app, "How many punters per country?")
    assert "(you chose this before)" in texts(app)
    press(app, "Forget this choice")  # the word is still in use, so that nothing need be asked back
    assert "(you chose this before)" not in texts(app)
    assert "“punters” taken for customers" in texts(app)
    press(app, "Forget “punters”")
    assert "meant?" in texts(app)
    assert "“punters” is taken for" not in texts(app)


def test_what_was_learnt_is_listed_to_remove(
    sqlite_shop: sales_data.Shop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MIRROR_LEARNT", "1")
    monkeypatch.setenv("MIRROR_SAVED", str(tmp_path / "x.saved.jsonl"))
    app = asked(opened(sqlite_shop.url), "how many punters per country")
    press(app, "Show the number of customers by customer country")
    assert "“punters” may be customers: not used yet" in texts(app)
    assert len([b for b in app.button if (b.key or "").startswith("forget_")]) == 2
    next(b for b in app.button if b.key == "forget_1").click().run()
    assert not app.exception
    assert "answered so at once" not in texts(app)
    asked(app, "how many punters per country")
    assert "meant?" in texts(app)


def test_a_link_with_a_question_is_answered_without_the_language_model(
    monkeypatch: pytest.MonkeyPatch, csv_shop: sales_data.Shop
) -> None:
    app = page(source=csv_shop.url, q="how many products")
    with running(monkeypatch) as server:
        server.replies = [says("{}")]
        app.run()
    assert not app.exception
    assert app.text_input(key="question").value == "how many products"
    assert server.requests == []


def choose(app: AppTest, kind: str) -> AppTest:
    app.button_group(key="about").set_value(kind).run()
    assert not app.exception
    return app


def test_each_place_shows_again_what_was_asked_there(
    sqlite_shop: sales_data.Shop, results_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MIRROR_DB", str(results_file))
    app = asked(opened(sqlite_shop.url), "how many customers")
    name = app.query_params["source"]
    choose(app, "results")
    assert "source" not in app.query_params
    assert app.text_input(key="question").value == ""
    asked(app, "how many trials failed?")
    assert app.metric[0].value == "1"
    choose(app, "folder")
    assert app.query_params["about"] == "folder"
    assert not app.metric
    choose(app, "database")
    assert app.query_params["source"] == name
    assert app.text_input(key="question").value == "how many customers"
    assert app.metric[0].value == "12"
    choose(app, "results")
    assert app.metric[0].value == "1"


def test_a_question_is_followed_up_saved_and_undone(
    sqlite_shop: sales_data.Shop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MIRROR_SAVED", str(tmp_path / "x.saved.jsonl"))
    app = asked(opened(sqlite_shop.url), "total amount by country")
    app.text_input(key="followup").set_value("only Germany")
    press(app, "Follow up")
    assert app.query_params["q"] == ["total amount by country", "only Germany"]
    assert len(app.dataframe[0].value) == 1
    press(app, "Save …")
    app.text_input(key="saved_question").set_value("the German amount")
    press(app, "Save")
    press(app, "Undo")
    assert len(app.dataframe[0].value) == 6
    asked(app, "the German amount")
    assert len(app.dataframe[0].value) == 1
    assert "saved question" in texts(app)


def test_a_file_that_is_gone_is_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "visits.csv"
    file.write_text("city,visits\nRome,4\n")
    app = opened(str(file))
    file.unlink()
    asked(app, "how many visits")
    assert "visits.csv" in texts(app)
    assert app.error
