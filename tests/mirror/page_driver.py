"""Streamlit's AppTest on the app, as a person uses it: ask, press, read."""

from pathlib import Path

from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).resolve().parent.parent.parent
LIMIT_S = 60


def app_test() -> AppTest:
    """The app, not run yet."""
    return AppTest.from_file(str(ROOT / "app.py"), default_timeout=LIMIT_S)


def ask_page(*link: str) -> AppTest:
    """The page Ask, opened with the questions of a link."""
    app = app_test()
    if link:
        app.query_params["q"] = list(link)
    app.run()
    assert not app.exception
    return app


def ask(app: AppTest, question: str) -> AppTest:
    app.text_input(key="question").set_value(question)
    app.button[0].click().run()
    assert not app.exception
    return app


def press(app: AppTest, label: str) -> AppTest:
    next(b for b in app.button if b.label.replace("\\", "") == label).click().run()
    assert not app.exception
    return app


def labels(app: AppTest) -> list[str]:
    """What the buttons say."""
    return [b.label.replace("\\", "") for b in app.button]


def texts(app: AppTest) -> str:
    """What the page says."""
    shown = [*app.markdown, *app.caption, *app.info, *app.error, *app.warning]
    return "\n".join(str(e.value).replace("\\", "") for e in shown)
