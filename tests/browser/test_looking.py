"""Looking closer: a chart drawn otherwise, points along time, pages of runs, trials, what a refusal offers."""

import re

import pytest
from accessibility import settled
from app_under_test import App
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


def test_a_chart_is_drawn_otherwise_or_says_why_not(page: Page, app: App) -> None:
    page.goto(f"{app.url}/?q=average+lookup+latency+by+method+and+batch+size")
    figure = page.get_by_role("figure")
    expect(figure.first).to_be_visible()
    settled(page)
    page.get_by_role("button", name="Chart options").click()
    page.get_by_role("combobox", name="type").click()
    page.get_by_role("option", name="heatmap").click()
    expect(page.get_by_test_id("stPopoverBody").get_by_test_id("stAlert").or_(figure.first)).to_be_visible()
    settled(page)
    heat = page.get_by_role("figure", name=re.compile("^Heat map"))
    refused = page.get_by_test_id("stPopoverBody").get_by_test_id("stAlert")
    assert heat.count() + refused.count() > 0


def test_latency_over_time_has_points_and_says_why_there_are_no_lines(page: Page, app: App) -> None:
    page.goto(f"{app.url}/?q=latency+of+hashed+over+time")
    expect(page.get_by_text("No lines, since each configuration was measured once.")).to_be_visible()
    expect(page.locator(".js-plotly-plot .scatterlayer .point").first).to_be_attached()


def test_runs_are_turned_page_by_page_and_say_where_they_are(page: Page, app: App) -> None:
    page.goto(f"{app.url}/runs")
    expect(page.get_by_text(re.compile("^trials 1 to 100 of "))).to_be_visible()
    page.get_by_role("button", name="2", exact=True).click()
    expect(page.get_by_text(re.compile("^trials 101 to 200 of "))).to_be_visible()


def test_a_refusal_offers_a_question_that_answers(page: Page, app: App) -> None:
    page.goto(f"{app.url}/?q=what+is+the+weather+like+on+mars")
    expect(page.get_by_text("The results say nothing about")).to_be_visible()
    page.locator("[class*='st-key-choices-suggestion'] button").first.click()
    expect(page.locator(".st-key-headline")).to_be_visible()
    expect(page.get_by_text("The results say nothing about")).to_have_count(0)


def test_a_misspelt_column_is_mended_by_a_click(page: Page, app: App) -> None:
    page.goto(f"{app.url}/?q=SELECT+methodd+FROM+results")
    expect(page.get_by_text("There is no column methodd: was method,")).to_be_visible()
    page.get_by_role("button", name="Use method instead of methodd").click()
    expect(page.get_by_text(re.compile(r"rows of more ·|^[\d,]+ rows ·")).first).to_be_visible()
    expect(page.get_by_label("SQL", exact=True)).to_have_value("SELECT method FROM results")


def test_a_link_to_a_database_server_waits_for_a_click(page: Page, app: App) -> None:
    page.goto(f"{app.url}/data?source=postgresql://me@localhost:1/shop")
    expect(page.get_by_text("press Open to connect to it")).to_be_visible()
    expect(page.get_by_role("textbox", name="Database or file")).to_have_value("postgresql://me@localhost:1/shop")
