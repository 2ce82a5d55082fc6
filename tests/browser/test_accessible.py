"""Nothing serious or critical for axe-core on any page, in light and in dark, with popovers, dialogs and errors."""

import re
from pathlib import Path

import pytest
from accessibility import complaints, settled
from app_under_test import App
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

QUESTION = "memory vs AUC at compression 0.1"
PHONE = {"width": 390, "height": 844}


def ask(page: Page, question: str) -> None:
    page.get_by_label("Your question").fill(question)
    page.get_by_role("button", name="Ask", exact=True).click()


def test_the_first_page_and_an_answer_with_all_that_opens_on_it(page: Page, app: App) -> None:
    page.goto(app.url)
    expect(page.locator("[class*='st-key-open_'] button")).to_have_count(3)
    settled(page)
    found = complaints(page, "first page")
    ask(page, QUESTION)
    expect(page.get_by_text("Read as: metrics memory (MB), AUC")).to_be_visible()
    settled(page)
    found += complaints(page, "answer")
    for name in ("Glossary", "Example questions", "compression = 0.1", "Not what I meant", "Chart options", "Export"):
        page.get_by_role("button", name=name).click()
        expect(page.get_by_test_id("stPopoverBody")).to_be_visible()
        found += complaints(page, name)
        page.keyboard.press("Escape")
        expect(page.get_by_test_id("stPopoverBody")).to_have_count(0)
    page.get_by_role("button", name="Save …").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    settled(page)
    found += complaints(page, "dialog")
    page.keyboard.press("Escape")
    page.set_viewport_size(PHONE)
    settled(page)
    found += complaints(page, "answer on a phone")
    assert not found, "\n".join(found)


def test_refusals_choices_plans_and_errors(page: Page, app: App) -> None:
    page.goto(f"{app.url}/?q=how+many+trials+failed%3F")
    expect(page.get_by_test_id("stMetric")).to_be_visible()
    settled(page)
    found = complaints(page, "number")
    editor = page.get_by_label("SQL", exact=True)
    editor.fill("SELECT methodd FROM results")
    editor.press("Control+Enter")
    expect(page.get_by_test_id("stAlert")).to_be_visible()
    settled(page)
    found += complaints(page, "error")
    for state, question, sign in (
        ("refusal", "what is the weather like on mars", "These can be asked:"),
        ("choices", "tardiness by method on frappe", "Which one?"),
        ("plan", "run hashed lookups at batch size 64", "Fill the form on New run"),
    ):
        ask(page, question)
        expect(page.get_by_text(sign)).to_be_visible()
        settled(page)
        found += complaints(page, state)
    assert not found, "\n".join(found)


def test_runs_a_trial_and_trials_side_by_side(page: Page, app: App) -> None:
    page.goto(f"{app.url}/runs")
    table = page.get_by_test_id("stDataFrame").first
    expect(table).to_be_visible()
    settled(page)
    page.get_by_text("Without a result: ").click()
    expect(page.get_by_test_id("stDataFrame")).to_have_count(2)
    settled(page)
    found = complaints(page, "runs")
    rows = table.bounding_box()
    assert rows
    for row, opened in ((1, ".st-key-trial"), (2, ".st-key-compared")):
        page.mouse.click(rows["x"] + 15, rows["y"] + 35 * row + 17)
        expect(page.locator(opened)).to_be_visible()
        settled(page)
        found += complaints(page, opened)
    expect(page.locator(".st-key-compared")).to_contain_text("They took turns on one machine")
    expect(page.locator(".st-key-compared .js-plotly-plot")).to_have_count(2)
    page.get_by_label("method", exact=True).click()
    expect(page.get_by_role("listbox")).to_be_visible()
    found += complaints(page, "filter")
    assert not found, "\n".join(found)


def test_new_run_as_preset_and_form(page: Page, app: App) -> None:
    page.goto(f"{app.url}/new-run")
    expect(page.get_by_role("button", name="Start")).to_be_visible()
    settled(page)
    found = complaints(page, "preset")
    page.get_by_role("radio", name="Form").click()
    expect(page.get_by_role("textbox", name="batch_size")).to_be_visible()
    settled(page)
    found += complaints(page, "form")
    assert not found, "\n".join(found)


def test_settings_and_a_model_that_does_not_answer(page: Page, app: App) -> None:
    page.goto(f"{app.url}/settings")
    page.get_by_role("textbox", name="Address").fill("http://127.0.0.1:9/v1")
    page.get_by_role("textbox", name="Model").fill("tiny")
    settled(page)
    found = complaints(page, "settings")
    page.get_by_role("button", name="Test", exact=True).click()
    expect(page.get_by_test_id("stAlert")).to_contain_text("could not be reached")
    settled(page)
    found += complaints(page, "no answer")
    assert not found, "\n".join(found)


def test_a_file_before_and_after_it_is_open(page: Page, app: App, tmp_path: Path) -> None:
    file = tmp_path / "sales.csv"
    file.write_text("city,amount\nOslo,3.5\nBergen,2\nOslo,8\n")
    page.goto(f"{app.url}/?about=file")
    expect(page.get_by_role("button", name="Open")).to_be_visible()
    settled(page)
    found = complaints(page, "file to be chosen")
    page.get_by_role("textbox", name="File").fill(str(file))
    page.get_by_role("button", name="Open").click()
    expect(page.get_by_text(re.compile("^Found: 1 table"))).to_be_visible()
    expect(page.get_by_test_id("stDataFrame")).to_have_count(2)  # its columns and its first rows
    settled(page)
    found += complaints(page, "tables")
    page.get_by_label("Your question").fill("average amount by city")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator(".st-key-headline")).to_be_visible()
    settled(page)
    found += complaints(page, "answer about data")
    assert not found, "\n".join(found)
