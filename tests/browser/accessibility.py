"""What axe-core finds on a page in both themes."""

from pathlib import Path

import axe_playwright_python
from playwright.sync_api import Page, expect

_AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text()
_BACKGROUND = {"light": "rgb(255, 255, 255)", "dark": "rgb(17, 24, 31)"}
_AT_ONCE = "* {transition: none !important; animation: none !important;}"  # else colours are read half way to others
_SERIOUS = ("serious", "critical")


def settled(page: Page) -> None:
    """Wait until the page is drawn and nothing on it changes any more."""
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    expect(page.get_by_test_id("stSkeleton")).to_have_count(0)


def turn(page: Page, theme: str) -> None:
    """Turn the page light or dark and wait until it is drawn so: a chart drawn anew forgets what points at it."""
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    expect(page.get_by_test_id("stApp")).to_have_css("background-color", _BACKGROUND[theme])
    if page.locator(".mirror-drawn").count():  # the page is drawn anew in these colours, and fades meanwhile
        expect(page.locator(f".mirror-drawn[data-theme={theme}]")).to_have_count(1)
    settled(page)


def complaints(page: Page, state: str) -> list[str]:
    """What is serious or critical on the page as it is, in light and in dark, each in a line that names the state."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(_AXE)
        page.add_style_tag(content=_AT_ONCE)
    found = []
    for theme in ("light", "dark"):
        turn(page, theme)
        violations = page.evaluate("axe.run(document, {resultTypes: ['violations']}).then(r => r.violations)")
        found += [
            f"{state}, {theme}: {v['id']} ({v['impact']}): {n['html'][:200]} {n['failureSummary'][:300]}"
            for v in violations
            if v["impact"] in _SERIOUS
            for n in v["nodes"]
        ]
    return found
