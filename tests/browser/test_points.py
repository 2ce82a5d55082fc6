"""Points of a chart lead to their trials, those to pages of their own, and these back to the answer."""

import re

import pytest
from accessibility import settled
from app_under_test import App
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

CHART = "[class*='st-key-wide-chart']"


def click_point(page: Page, at: int) -> None:
    """Click a point of the chart once it is drawn: where it lies, since what takes the mouse lies over it."""
    points = page.locator(f"{CHART} .point")
    expect(points.first).to_be_visible()
    settled(page)
    box = points.nth(at).bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    expect(page.locator(f"{CHART} .hovertext").first).to_be_visible()
    page.mouse.click(x, y)


def test_points_lead_to_trials_and_those_back_to_the_answer(page: Page, app: App) -> None:
    page.goto(f"{app.url}/?q=memory+vs+AUC+at+compression+0.1")
    behind = page.locator(".st-key-behind-chart")
    click_point(page, 5)
    expect(behind).to_contain_text("1 trial behind 1 point")
    page.emulate_media(color_scheme="dark")
    expect(behind).to_contain_text("1 trial behind 1 point")
    settled(page)
    behind.get_by_role("link").click()
    expect(page).to_have_url(re.compile(r"/runs\?trial=\w+-1&q=memory"))
    expect(page.locator(".st-key-trial")).to_be_visible()
    back = page.get_by_role("link", name="Back to the answer")
    with page.context.expect_page() as opened:
        back.click(button="middle")
    expect(opened.value.locator(".st-key-headline")).to_be_visible()  # the same answer, in a tab of its own
    opened.value.close()
    back.click()
    expect(behind).to_contain_text("1 trial behind 1 point")
    behind.get_by_role("button", name="Close").click()
    expect(behind).to_have_count(0)
    chart = page.locator(f"{CHART} .js-plotly-plot")
    chart.hover()
    chart.locator("[data-title='Box Select']").click()
    box = chart.locator(".nsewdrag[data-subplot='xy']").bounding_box()
    assert box
    page.mouse.move(box["x"], box["y"])
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"], box["y"] + box["height"], steps=5)
    page.mouse.up()
    expect(behind).to_contain_text(re.compile(r"\d+ trials behind \d+ points"))
    expect(behind).to_contain_text("two to 6 to compare")
