"""A board in a real browser: two answers put on it, moved, one removed and brought back, its link in another tab."""

import pytest
from accessibility import complaints, settled
from app_under_test import App
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

QUESTIONS = ("memory vs AUC at compression 0.1", "how many trials failed?")


def keep(page: Page, app: App, question: str, board: str) -> None:
    page.goto(f"{app.url}/?q={question.replace(' ', '+')}")
    page.get_by_role("button", name="Add to board").click()
    popover = page.get_by_test_id("stPopoverBody")
    field = popover.get_by_role("combobox", name="Board")
    field.fill(board)
    field.press("Enter")
    expect(field).to_have_value(board)
    settled(page)
    popover.get_by_role("button", name="Add", exact=True).press("Enter")
    expect(page.get_by_test_id("stToast")).to_contain_text(f"It is on the board {board}.")


def test_answers_are_kept_on_a_board_moved_removed_and_brought_back(page: Page, app: App) -> None:
    for question in QUESTIONS:
        keep(page, app, question, "Weekly look")
    page.goto(f"{app.url}/boards?board=weekly+look")
    cards = page.locator("[class*='st-key-card-']")
    expect(cards).to_have_count(2)
    expect(cards.nth(0).locator(".js-plotly-plot").first).to_be_visible()
    expect(cards.nth(1).get_by_test_id("stMetric")).to_be_visible()
    left, right = cards.nth(0).bounding_box(), cards.nth(1).bounding_box()
    assert left
    assert right
    assert (left["y"], left["x"] < right["x"]) == (right["y"], True)  # side by side
    cards.nth(1).get_by_role("button", name="Earlier").click()
    expect(cards.nth(0).get_by_test_id("stMetric")).to_be_visible()
    settled(page)
    cards.nth(0).get_by_role("button", name="Remove").click()
    expect(cards).to_have_count(1)
    page.get_by_role("button", name="Bring back: how many trials failed?").click()
    expect(cards).to_have_count(2)
    expect(cards.nth(0).get_by_test_id("stMetric")).to_be_visible()
    settled(page)
    assert complaints(page, "a board") == []
    page.set_viewport_size({"width": 390, "height": 800})
    expect(cards.nth(1).locator(".js-plotly-plot").last).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    cards.nth(0).get_by_role("link", name="how many trials failed?").click()
    expect(page.locator(".st-key-headline")).to_be_visible()
