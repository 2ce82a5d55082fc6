"""The field of the SQL in a real browser: colours over the text, names that complete it, the word that is wrong."""

import re

from accessibility import settled
from app_under_test import App
from playwright.sync_api import Page, expect

QUESTION = "/?q=how+many+trials+failed%3F"


def opened(page: Page, app: App):
    page.goto(f"{app.url}{QUESTION}")
    editor = page.get_by_label("SQL", exact=True)
    expect(editor).to_have_value(re.compile("^SELECT"))
    settled(page)
    return editor


def test_the_text_has_colours_and_they_follow_it(page: Page, app: App) -> None:
    editor = opened(page, app)
    copy = page.locator(".mirror-sql")
    expect(copy.locator(".mirror-sql-keyword").first).to_have_text("SELECT")
    editor.fill("SELECT avg(auc) FROM results -- mine\nWHERE method = 'dense' AND batch_size > 64")
    expect(copy.locator(".mirror-sql-function")).to_have_text("avg")
    expect(copy.locator(".mirror-sql-text")).to_have_text("'dense'")
    expect(copy.locator(".mirror-sql-number")).to_have_text("64")
    expect(copy.locator(".mirror-sql-comment")).to_have_text("-- mine")
    # The copy lies where the text is, to the pixel.
    places = page.evaluate(
        """() => {
          const field = document.querySelector('textarea[aria-label="SQL"]').getBoundingClientRect();
          const copy = document.querySelector('.mirror-sql').getBoundingClientRect();
          return [copy.left - field.left, copy.top - field.top, field.width - copy.width];
        }"""
    )
    assert all(0 <= place < 4 for place in places[:2])
    assert places[2] < 24


def test_names_complete_while_one_types_and_by_the_keyboard_alone(page: Page, app: App) -> None:
    editor = opened(page, app)
    editor.fill("")
    editor.press_sequentially("SELECT comp")
    options = page.get_by_role("listbox", name="Names").get_by_role("option")
    expect(options.first).to_contain_text("compression")
    editor.press("Tab")
    expect(editor).to_have_value("SELECT compression")
    expect(options.first).to_be_hidden()
    editor.press_sequentially(", count(*) AS trials FROM resul")
    expect(options.first).to_contain_text("results")
    editor.press("ArrowDown")
    editor.press("ArrowUp")
    editor.press("Enter")
    expect(editor).to_have_value("SELECT compression, count(*) AS trials FROM results")
    editor.press_sequentially(" GROUP BY comp")
    expect(options.first).to_be_visible()
    editor.press("Escape")
    expect(options.first).to_be_hidden()
    expect(editor).to_be_focused()
    editor.press_sequentially("ression")
    editor.press("Control+Enter")
    expect(page.get_by_text(re.compile(r"rows? .* locked read-only copy"))).to_be_visible()
    expect(editor).to_have_value("SELECT compression, count(*) AS trials FROM results GROUP BY compression")


def test_enter_begins_a_line_unless_a_name_was_gone_to(page: Page, app: App) -> None:
    editor = opened(page, app)
    editor.fill("")
    editor.press_sequentially("SELECT lat")
    expect(page.get_by_role("listbox", name="Names")).to_be_visible()
    editor.press("Enter")
    expect(editor).to_have_value("SELECT lat\n")


def test_a_click_takes_a_name(page: Page, app: App) -> None:
    editor = opened(page, app)
    editor.fill("")
    editor.press_sequentially("SELECT bandw")
    page.get_by_role("option", name=re.compile("^bandwidth_gb_s")).click()
    expect(editor).to_have_value("SELECT bandwidth_gb_s")
    expect(editor).to_be_focused()


def test_the_word_that_is_wrong_is_marked_until_it_is_changed(page: Page, app: App) -> None:
    editor = opened(page, app)
    editor.fill("SELECT avg(auk) FROM results")
    editor.press("Control+Enter")
    wrong = page.locator(".mirror-sql-wrong")
    expect(wrong).to_have_text("auk")
    editor.fill("SELECT avg(auc) FROM results")
    expect(wrong).to_have_count(0)


def test_what_changed_is_shown_line_by_line(page: Page, app: App) -> None:
    editor = opened(page, app)
    expect(page.get_by_text("What changed")).to_have_count(0)
    editor.fill("SELECT 41 + 1 AS answer")
    editor.press("Control+Enter")
    page.get_by_text("What changed").click()
    expect(page.get_by_test_id("stCode").filter(has_text="+ SELECT 41 + 1 AS answer")).to_be_visible()
