"""The door to the pages: nothing is shown or computed before what is asked for is given, and who only asks changes
nothing."""

import logging
from pathlib import Path
from types import SimpleNamespace

import pytest
import streamlit as st
from page_driver import LIMIT_S, ROOT, app_test, ask, labels, press, texts
from streamlit.testing.v1 import AppTest

from db.settings import SettingsError
from mirror.answer.answer import Answer
from mirror.data.process.sandbox import Sandbox
from mirror.faces.pages import chooser, learnt_view, saved_view
from mirror.faces.pages.entrance import entry, logins, passwords
from mirror.faces.pages.entrance.passwords import Throttle
from mirror.faces.pages.places.place import Place
from mirror.faces.pages.trails.asking import taken_from
from mirror.query.saved import SavedError
from mirror.runs import jobs
from mirror.runs.person import LOCAL, Person

PASSWORD, READER = "Zürich 🔑 42", "only looking"


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch, results_file: Path, tmp_path: Path) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("MIRROR_DB", str(results_file))
    monkeypatch.setenv("MIRROR_JOURNAL", str(tmp_path / "journal"))
    monkeypatch.setattr(passwords, "throttle", Throttle(lambda: 0.0))
    st.cache_data.clear()


@pytest.fixture
def locked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIRROR_PASSWORD", PASSWORD)
    monkeypatch.setenv("MIRROR_READER_PASSWORD", READER)


def give(app: AppTest, password: str) -> AppTest:
    app.text_input(key="entry_password").set_value(password)
    app.button[0].click().run()
    assert not app.exception
    return app


def is_shut(app: AppTest) -> bool:
    return [w.label for w in app.text_input] == ["Password"] and labels(app) == ["Enter"] and not app.dataframe


# -- passwords ---------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("locked")
def test_nothing_is_shown_or_computed_before_the_password(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as shut:
        for name in ("run", "schema", "version"):
            shut.setattr(Sandbox, name, lambda *_, **__: pytest.fail("the results were read"))
        app = app_test()
        app.query_params["q"] = "memory vs AUC at compression 0.1"
        app.run()
        assert is_shut(app)
        give(app, "password")
        assert is_shut(app)
        assert "This is not the password." in texts(app)
        app.session_state["question"] = "how many trials?"  # what a browser may send
        assert is_shut(app.run())
    passwords.throttle = Throttle()
    give(app, PASSWORD)
    assert app.query_params["q"] == "memory vs AUC at compression 0.1"
    assert "Read as: metrics memory (MB), AUC" in texts(app)  # the link is opened now
    assert "Password" not in [w.label for w in app.text_input]
    ask(app, "how many trials failed?")  # for the rest of the session


@pytest.mark.usefixtures("locked")
def test_the_password_is_kept_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        app = give(app_test().run(), "wrong-guess")
        passwords.throttle = Throttle()
        give(app, PASSWORD)
    assert not is_shut(app)
    kept = repr({key: app.session_state[key] for key in app.session_state._state.filtered_state})
    for typed in (PASSWORD, "wrong-guess"):
        assert typed not in kept
        assert typed not in str(dict(app.query_params))
        assert typed not in caplog.text


def test_passwords_are_compared_as_they_are_meant(locked: None) -> None:
    assert passwords.are_on()
    assert passwords.role_of(PASSWORD) == "owner"
    assert passwords.role_of("Zu\u0308rich 🔑 42") == "owner"  # the same letter, as another keyboard sends it
    assert passwords.role_of(READER) == "reader"
    for wrong in ("", " ", PASSWORD.lower(), PASSWORD + " ", "\ud800", "\0", PASSWORD + READER):
        assert passwords.role_of(wrong) is None


def test_one_password_leaves_the_other_way_shut(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not passwords.are_on()
    assert passwords.role_of("") is None
    monkeypatch.setenv("MIRROR_READER_PASSWORD", READER)
    assert passwords.are_on()
    assert passwords.role_of("") is None
    assert passwords.role_of(READER) == "reader"


@pytest.mark.parametrize(
    ("owner", "reader", "words"),
    [
        ("", None, "MIRROR_PASSWORD is set and empty"),
        ("x", "", "MIRROR_READER_PASSWORD is set and empty"),
        ("same", "same", "are the same"),
    ],
)
def test_what_cannot_be_meant_serves_nobody(
    owner: str, reader: str | None, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MIRROR_PASSWORD", owner)
    if reader is not None:
        monkeypatch.setenv("MIRROR_READER_PASSWORD", reader)
    app = app_test().run()
    assert not app.exception
    assert words in texts(app)
    assert not app.text_input
    assert not app.button
    assert "same" not in texts(app).replace("are the same", "")


def test_wrong_tries_wait_longer_and_longer_and_a_right_one_waits_too() -> None:
    now = [100.0]
    throttle = Throttle(lambda: now[0])
    looked: list[float] = []

    def wrong() -> None:
        looked.append(now[0])

    assert throttle.attempt("192.0.2.1", wrong) == (None, 0.0)
    assert throttle.attempt("192.0.2.1", lambda: "owner") == (None, 1.0)  # not even looked at
    for wait in (1, 2, 4, 8, 16, 32, 60, 60):
        now[0] += wait - 0.5
        assert throttle.attempt("192.0.2.1", wrong) == (None, 0.5)
        now[0] += 0.5
        assert throttle.attempt("192.0.2.1", wrong) == (None, 0.0)
    assert len(looked) == 9
    assert throttle.attempt("192.0.2.2", lambda: "owner") == ("owner", 0.0)  # others need not wait
    now[0] += 60
    assert throttle.attempt("192.0.2.1", lambda: "reader") == ("reader", 0.0)
    assert throttle.attempt("192.0.2.1", wrong) == (None, 0.0)
    assert throttle.attempt("192.0.2.1", wrong) == (None, 1.0)


def test_wrong_tries_of_one_network_count_together_and_are_forgotten() -> None:
    now = [0.0]
    throttle = Throttle(lambda: now[0])
    throttle.attempt("2001:db8::1", lambda: None)
    assert throttle.attempt("2001:db8::ffff:2", lambda: "owner")[1] == 1.0
    assert throttle.attempt("2001:db8:0:1::1", lambda: "owner") == ("owner", 0.0)
    for i in range(10_050):
        throttle.attempt(f"host {i}", lambda: None)
    assert len(throttle._wrong) <= 10_001
    now[0] = 1_000.0
    throttle.attempt("this machine", lambda: None)
    assert list(throttle._wrong) == ["this machine"]


@pytest.mark.parametrize(
    ("cookie", "same_as"),
    [
        ("2|00000000|6d6972726f72|1", "6d6972726f72"),
        ("2|01020304|6c6b71766e70|1", "6d6972726f72"),  # the same token behind another mask
        ("2||6c6b|1", ""),
        ("2|zz|6c6b|1", ""),
        ("2|01", ""),
        ("", ""),
    ],
)
def test_the_tabs_of_a_browser_are_one_person(cookie: str, same_as: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry.st, "context", SimpleNamespace(cookies={"_streamlit_xsrf": cookie}))
    assert entry.whose() == same_as


# -- who only asks -----------------------------------------------------------------------------------------------------


def new_run_page() -> None:
    from mirror.faces.pages import new_run

    new_run.page()


@pytest.mark.usefixtures("locked")
def test_a_reader_asks_and_edits_and_saves_nothing() -> None:
    app = give(app_test().run(), READER)
    ask(app, "memory vs AUC at compression 0.1")
    assert "Save …" not in labels(app)
    app.text_area(key="sql").set_value("SELECT method FROM results")
    press(app, "Run")
    assert len(app.dataframe[0].value) > 100


@pytest.mark.usefixtures("locked")
@pytest.mark.parametrize("role", [None, "reader", "root", True])
def test_who_may_not_run_is_shown_no_plan_and_no_start(role: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "plan", lambda *_, **__: pytest.fail("something was planned"))
    app = AppTest.from_function(new_run_page, default_timeout=LIMIT_S)
    if role is not None:
        app.session_state["entry_role"] = role
    app.run()
    assert not app.exception
    assert "You may ask here" in texts(app)
    assert labels(app) == []


@pytest.mark.usefixtures("locked")
def test_a_reader_opens_no_file_of_this_machine(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("salary\n1\n")
    app = app_test()
    app.session_state["entry_role"] = "reader"
    app.query_params["source"] = str(tmp_path / "secret.csv")
    app.run()
    assert not app.exception
    assert "files that you upload" in texts(app)
    assert "salary" not in texts(app)
    app.text_input(key="place_file").set_value(str(tmp_path / "secret.csv"))
    press(app, "Open")
    assert "files that you upload" in texts(app)
    assert "places" not in app.session_state


def test_what_changes_files_refuses_who_may_not(monkeypatch: pytest.MonkeyPatch, box: Sandbox) -> None:
    """Not the buttons, which they are not shown, but what these call."""
    for module in (saved_view, learnt_view, chooser):
        monkeypatch.setattr(module.entry, "person", lambda: Person("reader", may_run=False))
    with pytest.raises(SavedError, match="You may ask here"):
        saved_view._changed(Place(box=box))
    with pytest.raises(learnt_view.LearntError, match="You may ask here"):
        learnt_view._check()
    offered = Answer("ambiguous", "which one?", suggestions=("this",))
    learnt_from = taken_from(offered)
    assert learnt_from is not None
    assert not learnt_from.teaches
    monkeypatch.setattr(entry, "person", lambda: LOCAL)
    assert taken_from(offered) is offered


# -- logins ------------------------------------------------------------------------------------------------------------


def log_in(monkeypatch: pytest.MonkeyPatch, **claims: object) -> None:
    """Have Streamlit say who is logged in, as it does of a provider's token."""
    monkeypatch.setattr(st, "user", {"is_logged_in": bool(claims), **claims})
    monkeypatch.setattr(logins, "providers", lambda: ["", "google"])


def test_nothing_is_served_without_the_login(monkeypatch: pytest.MonkeyPatch) -> None:
    log_in(monkeypatch)
    app = app_test()
    app.query_params["q"] = "how many trials failed?"
    app.run()
    assert not app.exception
    assert labels(app) == ["Log in", "Log in with google"]
    assert not app.text_input
    assert "Read as" not in texts(app)
    log_in(monkeypatch, email="anna@example.org")
    assert "Read as" in texts(app.run())


def test_a_login_that_cannot_work_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    log_in(monkeypatch)
    app = app_test().run()
    app.button(key="login_").click().run()
    assert not app.exception
    assert "Nobody can log in as this app is set up" in texts(app)


@pytest.mark.parametrize(
    ("claims", "listed", "may_run"),
    [
        ({"email": "anna@example.org"}, "", False),
        ({"email": "Anna@Example.org"}, " ben@example.org, anna@example.org", True),
        ({"email": "anna@example.org"}, "@example.org", True),
        ({"email": "anna@evil-example.org"}, "@example.org", False),
        ({"email": "anna@example.org@evil.org"}, "@example.org", False),
        ({"email": "anna@example.org", "email_verified": False}, "anna@example.org", False),
        ({"email": "anna@example.org", "email_verified": "false"}, "anna@example.org", False),
        ({"email": "anna@example.org", "email_verified": True}, "anna@example.org", True),
        ({"name": "anna@example.org"}, "anna@example.org", False),
        ({"email": ""}, ",", False),
        ({"email": ["anna@example.org"]}, "anna@example.org", False),
    ],
)
def test_the_list_says_who_may_run(
    claims: dict[str, object], listed: str, may_run: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MIRROR_MAY_RUN", listed)
    log_in(monkeypatch, sub="123", **claims)
    assert entry.person().may_run is may_run


def test_who_may_not_ask_is_told_so_and_shown_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIRROR_MAY_ASK", "@example.org")
    monkeypatch.setenv("MIRROR_MAY_RUN", "ben@example.com")
    log_in(monkeypatch, email="eve@elsewhere.org")
    app = app_test().run()
    assert not app.exception
    assert "eve@elsewhere.org, who may not ask here" in texts(app)
    assert labels(app) == ["Log out"]
    assert not entry.person().may_run
    log_in(monkeypatch, email="ben@example.com")
    assert entry.person() == Person("ben@example.com")


@pytest.mark.usefixtures("locked")
def test_with_both_both_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIRROR_MAY_RUN", "anna@example.org")
    log_in(monkeypatch)
    app = app_test().run()
    assert "Password" not in [w.label for w in app.text_input]
    log_in(monkeypatch, email="anna@example.org")
    assert is_shut(app.run())
    give(app, READER)
    assert not is_shut(app)
    monkeypatch.setattr(st, "session_state", {"entry_role": "reader"})
    assert entry.person() == Person("anna@example.org", may_run=False)
    monkeypatch.setattr(st, "session_state", {"entry_role": "owner"})
    assert entry.person() == Person("anna@example.org", may_run=True)


def test_secrets_that_streamlit_cannot_read_serve_nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A login that they name would else be passed over."""
    broken = tmp_path / "secrets.toml"
    broken.write_text("[auth")
    monkeypatch.setattr(st, "get_option", lambda _: [str(broken)])
    with pytest.raises(SettingsError, match="cannot be read by Streamlit"):
        logins.are_on()
    assert entry.person().may_run is False


@pytest.mark.usefixtures("locked")
@pytest.mark.parametrize("question", ["run hashed on frappe", "what should I use for 0.03 MB on frappe?"])
def test_a_reader_gets_no_plan_and_starts_nothing(question: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("options", "plan", "suggestion"):
        monkeypatch.setattr(jobs, name, lambda *_, **__: pytest.fail("the engine was asked"))
    app = give(app_test().run(), READER)
    ask(app, question)
    assert "You may ask here" in texts(app)
    assert "Fill the form on New run" not in labels(app)
    linked = app_test()
    linked.session_state["entry_role"] = "reader"
    linked.query_params["q"] = question
    linked.run()
    assert not linked.exception
    assert "You may ask here" in texts(linked)
