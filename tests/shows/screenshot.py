"""A picture of the page Ask with an answer, as README shows it; the app has to be open (`make app`).

python -m tests.shows.screenshot docs/ask.png "memory vs AUC at compression 0.1"
"""

import argparse
import re
import shutil
import sys
from urllib.parse import quote

from playwright.sync_api import expect, sync_playwright

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def main() -> int:
    """Take the picture. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", help="where the picture goes")
    parser.add_argument("question", nargs="?", default="memory vs AUC at compression 0.1")
    parser.add_argument("--url", default="http://localhost:8501", help="where the app is")
    given = parser.parse_args()
    executable = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if executable is None:
        print(f"No browser is installed (looked for {', '.join(BROWSERS)}): apt-get install chromium.", file=sys.stderr)
        return 1
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1440, "height": 1180})
        page.goto(f"{given.url}/?q={quote(given.question)}")
        page.locator(".js-plotly-plot").first.wait_for(timeout=60_000)
        expect(page.get_by_text(re.compile("^Asking … "))).to_have_count(0)
        page.wait_for_timeout(1000)  # the chart has grown to its place
        page.screenshot(path=given.file)
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
