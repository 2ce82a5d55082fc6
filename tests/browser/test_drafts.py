"""What is typed and chosen is still there after a visit to another page, a reload, an error; the keyboard goes far."""

import re
from pathlib import Path

import pytest
from accessibility import settled
from app_under_test import App
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

COUNT = "how many trials failed?"


def visit(page: Page, name: str) -> None:
    page.get_by_test_id("stTopNavLink").filter(has_text=re.compile(f"{name}$")).click()
    expect(page.get_by_role("heading", name="Mirror" if name == "Ask" else name)).to_be_visible()
    settled(page)


def test_a_question_that_was_not_sent_survives_other_pages_and_a_reload(page: Page, app: App) -> None:
    question = page.get_by_label("Your question")
    page.goto(app.url)
    question.press_sequentially("memory vs AUC at")
    visit(page, "Runs")
    visit(page, "Ask")
    expect(question).to_have_value("memory vs AUC at")
    page.reload()
    expect(question).to_have_value("memory vs AUC at")
    question.fill(COUNT)
    question.press("Enter")
    expect(page.get_by_test_id("stMetric")).to_be_visible()
    page.get_by_role("button", name="Start page").click()
    expect(page.locator("[class*='st-key-open_'] button")).to_have_count(3)
    expect(question).to_have_value("")  # what was sent is no draft


def test_sql_that_was_not_run_survives_other_pages_and_a_reload_and_a_failing_one_its_error(
    page: Page, app: App
) -> None:
    page.goto(f"{app.url}/?q=how+many+trials+failed%3F")
    editor = page.get_by_label("SQL", exact=True)
    expect(editor).to_have_value(re.compile("^SELECT"))
    settled(page)
    editor.fill("SELECT 41 +")
    visit(page, "New run")
    visit(page, "Ask")
    expect(editor).to_have_value("SELECT 41 +")
    editor.press("Control+Enter")
    expect(page.get_by_test_id("stAlert")).to_be_visible()
    expect(editor).to_have_value("SELECT 41 +")
    editor.fill("SELECT 41 + 1 AS answer")
    page.reload()
    expect(editor).to_have_value("SELECT 41 + 1 AS answer")
    settled(page)  # the keys do nothing before the form's button is there
    editor.press("Control+Enter")
    expect(page.get_by_test_id("stMetric")).to_contain_text("42")


def test_the_filters_of_runs_survive_other_pages_and_a_reload_and_are_in_the_address(page: Page, app: App) -> None:
    page.goto(f"{app.url}/runs")
    settled(page)
    page.get_by_label("method", exact=True).click()
    page.get_by_role("option", name="dense", exact=True).click()
    page.keyboard.press("Escape")
    expect(page).to_have_url(re.compile("only_method=dense"))
    chosen = page.locator("[data-tag]").filter(has_text="dense")
    expect(chosen).to_be_visible()
    visit(page, "Ask")
    visit(page, "Runs")
    expect(chosen).to_be_visible()
    page.reload()
    expect(chosen).to_be_visible()


def test_what_is_asked_about_is_in_the_address_and_has_drafts_of_its_own(page: Page, app: App, tmp_path: Path) -> None:
    file, found = tmp_path / "sales.csv", page.get_by_text(re.compile("^Found: 1 table"))
    file.write_text("city,amount\nOslo,3.5\nBergen,2\nOslo,8\n")
    question, about = page.get_by_label("Your question"), page.get_by_role("radiogroup", name="Ask about")
    page.goto(app.url)
    question.press_sequentially("memory vs")
    about.get_by_role("radio", name="File").click()
    expect(page).to_have_url(re.compile("about=file"))
    page.get_by_role("textbox", name="File").fill(str(file))
    page.get_by_role("button", name="Open").click()
    expect(found).to_be_visible()
    expect(page).to_have_url(re.compile("source=.*sales.csv"))
    settled(page)
    expect(question).to_have_value("")
    question.fill("average amount")
    page.reload()
    expect(found).to_be_visible()
    expect(question).to_have_value("average amount")
    visit(page, "Runs")
    visit(page, "Ask")
    expect(found).to_be_visible()
    expect(page).to_have_url(re.compile("source=.*sales.csv"))
    settled(page)
    about.get_by_role("radio", name="Results").click()
    expect(page.locator("[class*='st-key-open_'] button")).to_have_count(3)
    expect(question).to_have_value("memory vs")
    page.go_back()
    expect(found).to_be_visible()
    expect(question).to_have_value("average amount")


def test_three_keys_from_the_question_to_the_sql_and_one_to_run_it(page: Page, app: App) -> None:
    page.goto(f"{app.url}/?q=how+many+trials+failed%3F")
    expect(page.get_by_test_id("stMetric")).to_be_visible()
    settled(page)
    page.get_by_label("Your question").focus()
    for key in ("Tab", "Tab", "Enter"):
        page.keyboard.press(key)
    editor = page.get_by_label("SQL", exact=True)
    expect(editor).to_be_focused()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text("SELECT 41 + 1 AS answer")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_test_id("stMetric")).to_contain_text("42")
    expect(editor).to_be_focused()
