"""The page Settings: what it keeps, what it leaves to the environment, and what it tells of a server."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from chat_stub import KEY, Server, raw, running, says
from streamlit.testing.v1 import AppTest

from db import settings
from db.settings import SettingsError, setting
from mirror.model import model_setting
from mirror.query.kept.kept_settings import keep

NAMES = (*settings.KEPT, "OPENAI_API_KEY")


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("db.settings._secrets", dict)
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MIRROR_SETTINGS", str(tmp_path / "settings.json"))
    monkeypatch.setenv("MIRROR_DB", str(tmp_path / "m.duckdb"))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """One that no setting names."""
    with running(monkeypatch) as found:
        for name in NAMES:
            monkeypatch.delenv(name, raising=False)
        yield found


def shown() -> AppTest:
    def script() -> None:
        from mirror.faces.pages.settings import settings_page

        settings_page.page()

    app = AppTest.from_function(script, default_timeout=60).run()
    assert not app.exception
    return app


def filled(app: AppTest, url: str, model: str) -> AppTest:
    app.text_input[0].set_value(url)
    app.text_input[1].set_value(model)
    return app


def pressed(app: AppTest, label: str) -> AppTest:
    next(b for b in app.button if b.label == label).click().run()
    assert not app.exception
    return app


def test_what_is_kept_is_used_and_taken_back(tmp_path: Path) -> None:
    app = pressed(filled(shown(), " http://127.0.0.1:9/v1 ", "tiny"), "Keep")
    assert not app.error
    assert json.loads((tmp_path / "settings.json").read_text()) == {
        "MIRROR_LLM_BASE_URL": "http://127.0.0.1:9/v1",
        "MIRROR_LLM_MODEL": "tiny",
    }
    assert model_setting.configured()
    assert settings.origin("MIRROR_LLM_MODEL") == "this page"
    pressed(filled(shown(), "", ""), "Keep")
    assert not model_setting.configured()


def test_what_the_environment_says_stands_and_cannot_be_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    keep({"MIRROR_LLM_MODEL": "kept"})
    monkeypatch.setenv("MIRROR_LLM_MODEL", "said")
    app = shown()
    assert (app.text_input[1].value, app.text_input[1].disabled, app.text_input[0].disabled) == ("said", True, False)
    assert setting("MIRROR_LLM_MODEL") == "said"
    pressed(app, "Keep")
    assert settings.kept()["MIRROR_LLM_MODEL"] == "kept"


def test_a_model_is_tried_and_the_key_never_shown(monkeypatch: pytest.MonkeyPatch, server: Server) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.replies = [says("ready", usage={"prompt_tokens": 9, "completion_tokens": 1})]
    app = pressed(filled(shown(), f"http://{server.name}/v1", "tiny"), "Test")
    (told,) = app.success
    assert "tiny answered “ready”" in told.value.replace("\\", "")
    assert "9 tokens read, 1 written" in told.value.replace("\\", "")
    assert KEY not in " ".join(str(part.value) for part in (*app.markdown, *app.caption, *app.success))
    assert not settings.kept()  # a try keeps nothing


@pytest.mark.parametrize(
    ("url", "model", "button", "told"),
    [
        ("ftp://x", "tiny", "Keep", "is no web address"),
        ("ftp://x", "tiny", "Test", "is no web address"),
        ("http://127.0.0.1:9/v1", "", "Test", "There is no model to test: name one."),
        ("http://127.0.0.1:9/v1", "tiny", "Test", "could not be reached"),
        ("http://127.0.0.1:9/v1", "tiny", "List its models", "could not be reached"),
    ],
)
def test_what_cannot_be_is_one_sentence_and_nothing_is_kept(url: str, model: str, button: str, told: str) -> None:
    (error,) = pressed(filled(shown(), url, model), button).error
    assert told in error.value.replace("\\", "")
    assert not settings.kept()


def test_a_settings_file_that_cannot_be_read_is_one_sentence_and_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text("{cut o")
    with pytest.raises(SettingsError, match=r"settings\.json cannot be read"):
        settings.check()
    with pytest.raises(SettingsError):
        keep({"MIRROR_LEARNT": "0"})
    (error,) = shown().error
    assert "mend it or move it away" in error.value
    assert (tmp_path / "settings.json").read_text() == "{cut o"


def test_learning_is_switched_here() -> None:
    app = shown()
    app.toggle(key="learn").set_value(False).run()
    assert settings.kept() == {"MIRROR_LEARNT": "0"}
    app.toggle(key="learn").set_value(True).run()
    assert settings.kept() == {}


def test_only_what_is_no_secret_and_no_place_can_be_kept() -> None:
    with pytest.raises(ValueError, match="OPENAI_API_KEY: the page keeps"):
        keep({"OPENAI_API_KEY": KEY})


def test_the_models_of_a_server_are_listed(server: Server) -> None:
    server.replies = [raw(200, json.dumps({"data": [{"id": "b"}, {"id": "a"}, {"id": 3}, "odd"]}))]
    app = pressed(filled(shown(), f"http://{server.name}/v1", ""), "List its models")
    assert app.code[0].value == "a\nb"


def test_who_may_only_ask_sees_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from mirror.faces.pages.entrance import entry
    from mirror.runs.person import Person

    app = shown()
    monkeypatch.setattr(entry, "person", lambda: Person("reader", may_run=False))
    pressed(filled(app, "http://127.0.0.1:9/v1", "tiny"), "Keep")
    assert not settings.kept()
    assert not app.text_input
    assert "may start runs" in app.info[0].value
