"""The pictures of README and docs, in light and in dark, of the example results; the app has to be open (`make app`).

python -m tests.shows.pictures
"""

import argparse
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from playwright.sync_api import Page, expect, sync_playwright

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FOLDER = Path(__file__).resolve().parent.parent.parent / "docs" / "pictures"
QUESTION = "memory vs AUC at compression 0.1"
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
PATIENCE_MS = 120_000


def first(page: Page, url: str) -> None:
    """The first visit."""
    page.goto(url)
    expect(page.locator("[class*='st-key-open_'] button")).to_have_count(3)
    expect(page.locator(".js-plotly-plot")).to_have_count(3)


def answer(page: Page, url: str) -> None:
    """An answer: its chips, its chart, its facts and SQL."""
    page.goto(f"{url}/?q={quote(QUESTION)}")
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    expect(page.get_by_label("SQL", exact=True)).to_have_value(re.compile("SELECT"))


def compared(page: Page, url: str) -> None:
    """Three trials side by side."""
    page.goto(f"{url}/runs")
    table = page.get_by_test_id("stDataFrame").first
    expect(table).to_be_visible()
    _settled(page)
    box = table.bounding_box()
    assert box
    for row, opened in ((1, ".st-key-trial"), (2, ".st-key-compared"), (3, ".st-key-compared th:nth-child(4)")):
        page.mouse.click(box["x"] + 15, box["y"] + 35 * row + 17)
        expect(page.locator(opened).first).to_be_visible()
        _settled(page)
    page.evaluate("document.querySelector('.st-key-compared').scrollIntoView({block: 'start'})")
    page.mouse.move(5, 600)


SHOWN: dict[str, Callable[[Page, str], None]] = {"ask": answer, "compared": compared, "first": first}


def main() -> int:
    """Take the pictures. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(SHOWN)}; all without one")
    parser.add_argument("--url", default="http://localhost:8501", help="where the app is")
    given = parser.parse_args()
    if unknown := set(given.names) - set(SHOWN):
        parser.error(f"there is no picture {', '.join(sorted(unknown))}: there are {', '.join(SHOWN)}")
    executable = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if executable is None:
        print(f"No browser is installed (looked for {', '.join(BROWSERS)}): apt-get install chromium.", file=sys.stderr)
        return 1
    FOLDER.mkdir(exist_ok=True)
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        for name in given.names or SHOWN:
            for theme in THEMES:
                context = browser.new_context(viewport={"width": 1440, "height": 1000}, color_scheme=theme)
                page = context.new_page()
                SHOWN[name](page, given.url)
                _settled(page)
                page.wait_for_timeout(1000)  # charts have grown to their places
                page.screenshot(path=FOLDER / f"{name}-{theme}.png")
                context.close()
        browser.close()
    return 0


def _settled(page: Page) -> None:
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    expect(page.get_by_text(re.compile("^Asking … "))).to_have_count(0)


if __name__ == "__main__":
    sys.exit(main())
