"""A sweep over commits as a chart: its change is told, its points lead to trials and those back to it."""

import re

import pytest
from accessibility import complaints, settled, turn
from app_under_test import App
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

CHART = "[class*='st-key-over_commits']"
CHANGE = "hashed is slower, between c000005 (2026-11-01) and c000006 (2026-11-01)"


def test_a_change_is_seen_its_points_lead_to_trials_and_those_back_to_the_chart(page: Page, followed_app: App) -> None:
    page.goto(f"{followed_app.url}/runs")
    page.get_by_role("radio", name="Over commits").press("Enter")
    expect(page.get_by_text(CHANGE)).to_be_visible()
    expect(page.locator(f"{CHART} .js-plotly-plot").first).to_contain_text("1: slower, virtually certain")
    page.get_by_role("combobox", name="sweep").press("ArrowDown")
    expect(page.get_by_role("option", name="quick")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/runs\?of=quick&view=Over\+commits$"))
    settled(page)
    found = complaints(page, "over commits")
    turn(page, "light")
    points = page.locator(f"{CHART} .point")
    expect(points.first).to_be_visible()
    box = points.nth(2).bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page.locator(f"{CHART} .hovertext").first).to_contain_text("c000002")
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    behind = page.locator(".st-key-behind-over_commits")
    expect(behind).to_contain_text("1 trial behind 1 point")
    settled(page)
    behind.get_by_role("link").click()
    expect(page.locator(".st-key-trial")).to_be_visible()
    expect(page.get_by_role("link", name="Its time over commits")).to_be_visible()
    page.get_by_role("link", name="Back to the chart").click()
    expect(page.get_by_text(CHANGE)).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 844})
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert not found, "\n".join(found)
