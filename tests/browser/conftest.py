"""The real app on a copy of the example results, and a real browser; skipped, saying so, where there is none."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from app_under_test import App
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright
from runs_over_commits import COMMITS, run

from db.journal import example_folders, ingest
from db.store import Store

ROOT = Path(__file__).resolve().parent.parent.parent
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# Without these the browser looks for hosts of its maker at every start.
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    folder = tmp_path_factory.mktemp("app")
    db = folder / "copy.duckdb"
    ingest(Store(str(db)), example_folders())
    with served(folder, db) as found:
        yield found


@pytest.fixture
def locked_app(app: App, tmp_path: Path) -> Iterator[App]:
    """The same results behind two passwords."""
    with served(tmp_path, app.db, MIRROR_PASSWORD="Zürich 🔑", MIRROR_READER_PASSWORD="looking") as found:
        yield found


@pytest.fixture
def followed_app(tmp_path: Path) -> Iterator[App]:
    """The app over a sweep of two methods at twelve commits, one of which became slower half way."""
    db = tmp_path / "followed.duckdb"
    times = {"dense": [5.0, 5.01, 4.99] * 4, "hashed": [7.0, 7.01, 6.99] * 2 + [8.0, 8.01, 7.99] * 2}
    store = Store(str(db))
    store.ensure()
    store.add(
        run(method, us, COMMITS[number], number)
        for method, of_method in times.items()
        for number, us in enumerate(of_method)
    )
    with served(tmp_path, db) as found:
        yield found


@contextlib.contextmanager
def served(folder: Path, db: Path, **settings: str) -> Iterator[App]:
    """The app over some results, in a process of its own."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MIRROR_", "OPENAI_"))}
    own = {"MIRROR_SETTINGS": str(folder / "settings.json"), "MIRROR_LOCK": str(folder / "lock")}
    environment |= {"MIRROR_DB": str(db), **own, **settings}
    command = [
        sys.executable,
        "-m",
        "streamlit",
        "run",
        "app.py",
        "--server.headless",
        "true",
        "--server.port",
        str(port),
    ]
    started = time.monotonic()
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
    try:
        url = f"http://localhost:{port}"
        _wait(url + "/_stcore/health", process)
        yield App(url, db, time.monotonic() - started)
    finally:
        process.terminate()
        process.wait(10)


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        if process.poll() is not None:
            pytest.fail(f"the app ended with status {process.returncode}")
        try:
            with urllib.request.urlopen(url, timeout=1):
                return
        except OSError:
            time.sleep(0.05)
    pytest.fail("the app did not come up within 30 s")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    executable = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if executable is None:
        pytest.skip(f"no browser is installed (looked for {', '.join(BROWSERS)}): apt-get install chromium")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page of a browser of its own; what its console complains of fails the test."""
    context = browser.new_context(viewport={"width": 1440, "height": 1000})
    context.set_default_timeout(30_000)
    expect.set_options(timeout=30_000)  # a busy machine must not fail the tests
    page, errors = context.new_page(), list[str]()
    page.on("console", lambda message: _is_error(message) and errors.append(f"{message.text} {message.location}"))
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    context.close()
    assert not errors, "\n".join(errors)


def _is_error(message: ConsoleMessage) -> bool:
    # Streamlit looks for its server at each level of an address, and finds it at the last.
    return message.type == "error" and "/_stcore/" not in str(message.location.get("url"))
