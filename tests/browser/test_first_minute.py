"""The first minute: suggestions while typing, and the tour."""

import pytest
from accessibility import complaints, settled
from app_under_test import App
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


def test_suggestions_come_while_typing_and_the_tour_leads_over_a_real_answer_until_it_is_skipped(
    page: Page, app: App
) -> None:
    page.goto(app.url)
    expect(page.locator("[class*='st-key-open_'] button")).to_have_count(3)
    question = page.get_by_label("Your question")
    question.press_sequentially("memory by comp")
    expect(page.locator("#mirror-suggestions option").first).to_have_attribute("value", "memory by compression")
    question.fill("")
    page.get_by_role("button", name="Take the tour").click()
    step = page.locator(".st-key-tour")
    for at in (1, 2, 3, 4):
        expect(step).to_contain_text(f"{at} of 6")
        page.get_by_role("button", name="Next", exact=True).click()
    expect(step).to_contain_text("Go on from here")
    expect(page.get_by_label("Follow up", exact=True)).to_be_in_viewport()
    expect(step).to_be_in_viewport()
    settled(page)
    found = complaints(page, "tour")
    page.get_by_role("button", name="Skip the tour").click()
    expect(step).to_have_count(0)
    headline = page.locator(".st-key-headline")
    expect(headline).to_have_count(1)  # for a moment the one of before stands beside it
    expect(headline).to_be_visible()
    assert not found, "\n".join(found)
