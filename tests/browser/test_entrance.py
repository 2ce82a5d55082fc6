"""Several people: no way in but by the password, and who only asks is offered nothing else."""

import pytest
from accessibility import complaints
from app_under_test import App
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


def test_every_way_in_asks_for_the_password_and_a_reader_only_asks(locked_app: App, page: Page) -> None:
    for way in ("/runs?only_status=failed", "/new-run", "/?q=how+many+trials+failed%3F"):
        page.goto(locked_app.url + way)
        expect(page.get_by_label("Password", exact=True)).to_be_visible()
        expect(page.get_by_role("link", name="Runs")).to_have_count(0)
    assert complaints(page, "the password is asked for") == []
    page.get_by_label("Password", exact=True).fill("looking")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Read as:").first).to_be_visible()
    assert "looking" not in page.url
    page.get_by_role("link", name="New run").first.click()
    expect(page.get_by_text("You may ask here, and start, save or change nothing")).to_be_visible()
    expect(page.get_by_role("button", name="Start", exact=True)).to_have_count(0)
    page.reload()
    expect(page.get_by_label("Password", exact=True)).to_be_visible()
