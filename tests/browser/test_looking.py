"""Looking closer: points along time, what a refusal offers, a slip in SQL, a link to a server."""

import re

import pytest
from app_under_test import App
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


def test_latency_over_time_has_points_and_says_why_there_are_no_lines(page: Page, app: App) -> None:
    page.goto(f"{app.url}/?q=latency+of+hashed+over+time")
    expect(page.get_by_text("No lines, since each configuration was measured once.")).to_be_visible()
    expect(page.locator(".js-plotly-plot .scatterlayer .point").first).to_be_attached()


def test_a_refusal_offers_a_question_that_answers(page: Page, app: App) -> None:
    page.goto(f"{app.url}/?q=what+is+the+weather+like+on+mars")
    expect(page.get_by_test_id("stAlert").get_by_text("The results say nothing about")).to_be_visible()
    page.locator("[class*='st-key-choices-suggestion'] button").first.click()
    expect(page.locator(".st-key-headline")).to_be_visible()
    expect(page.get_by_test_id("stAlert").get_by_text("The results say nothing about")).to_have_count(0)


def test_a_misspelt_column_is_mended_by_a_click(page: Page, app: App) -> None:
    page.goto(f"{app.url}/?q=SELECT+methodd+FROM+results")
    expect(page.get_by_text("There is no column methodd: was method,")).to_be_visible()
    page.get_by_role("button", name="Use method instead of methodd").click()
    expect(page.get_by_text(re.compile(r"rows of more ·|^[\d,]+ rows ·")).first).to_be_visible()
    expect(page.get_by_label("SQL", exact=True)).to_have_value("SELECT method FROM results")


def test_a_link_to_a_database_server_waits_for_a_click(page: Page, app: App) -> None:
    page.goto(f"{app.url}/data?source=postgresql://me@localhost:1/shop")
    expect(page.get_by_text("press Open to connect to it")).to_be_visible()
    expect(page).to_have_url(re.compile(r"[^a]/\?source=postgresql"))  # where that page was, one may still link to
    expect(page.get_by_role("textbox", name="Database")).to_have_value("postgresql://me@localhost:1/shop")
