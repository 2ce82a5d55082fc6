"""The page Ask in a real browser: follow-ups, Cancel, saved questions, plans."""

import re

import pytest
from app_under_test import App
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

QUESTION = "memory vs AUC at compression 0.1"
SLOW = "SELECT count(*) AS n FROM range(1000000) a, range(1000000) b WHERE hash(a.range + b.range) % 7 = 1"


def ask(page: Page, question: str) -> None:
    page.get_by_label("Your question").fill(question)
    page.get_by_role("button", name="Ask", exact=True).click()


def follow_up(page: Page, question: str) -> None:
    page.get_by_label("Follow up", exact=True).fill(question)
    page.get_by_role("button", name="Follow up").click()


def start_slow_query(page: Page) -> None:
    editor = page.get_by_label("SQL", exact=True)
    editor.fill(SLOW)
    editor.press("Control+Enter")
    expect(page.get_by_text(re.compile("^Asking … "))).to_be_visible()


def is_done(page: Page) -> None:
    expect(page.get_by_text(re.compile("^Asking … "))).to_have_count(0)
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)


def test_follow_ups_their_trail_and_their_link(page: Page, app: App) -> None:
    page.goto(app.url)
    ask(page, QUESTION)
    follow_up(page, "and for 0.5?")
    expect(page.get_by_text("compression 0.5 instead of 0.1")).to_be_visible()
    expect(page.get_by_label("Follow up", exact=True)).to_have_value("")
    follow_up(page, "only hashed")
    expect(page.get_by_text("method hashed only")).to_be_visible()
    page.reload()  # a new session, with what the address says
    expect(page.get_by_text("method hashed only")).to_be_visible()
    expect(page.get_by_label("SQL", exact=True)).to_have_value(re.compile("compression = 0.5"))
    page.get_by_role("button", name=QUESTION).click()
    expect(page.get_by_text("method hashed only")).to_have_count(0)
    expect(page.get_by_label("SQL", exact=True)).to_have_value(re.compile("compression = 0.1"))


def test_back_and_forward_show_the_answers_before_and_a_link_the_edited_sql(page: Page, app: App) -> None:
    page.goto(app.url)
    expect(page.locator("[class*='st-key-open_'] button").first).to_be_visible()
    ask(page, "how many trials failed?")
    expect(page.get_by_test_id("stMetric")).to_be_visible()
    page.get_by_label("SQL", exact=True).fill("SELECT 41 + 1 AS answer")
    page.get_by_label("SQL", exact=True).press("Control+Enter")
    expect(page.get_by_test_id("stMetric")).to_contain_text("42")
    expect(page).to_have_url(re.compile("sql=SELECT"))
    link = page.url
    page.go_back()
    expect(page.get_by_test_id("stMetric")).not_to_contain_text("42")
    expect(page.get_by_label("SQL", exact=True)).to_have_value(re.compile("failures"))
    page.go_back()
    expect(page.locator("[class*='st-key-open_'] button")).to_have_count(3)
    expect(page.get_by_label("Your question")).to_have_value("")
    page.go_forward()
    expect(page.get_by_label("Your question")).to_have_value("how many trials failed?")
    page.goto(link)  # another session
    expect(page.get_by_test_id("stMetric")).to_contain_text("42")
    expect(page.get_by_text("edited", exact=True)).to_be_visible()
    page.get_by_role("link", name="Runs").first.click()
    expect(page.get_by_role("heading", name="Runs")).to_be_visible()
    page.get_by_role("link", name="Ask").first.click()
    expect(page.get_by_test_id("stMetric")).to_contain_text("42")


def test_a_slow_query_is_cancelled_and_its_text_kept(page: Page, app: App) -> None:
    page.goto(f"{app.url}/?q=how+many+trials+failed%3F")
    start_slow_query(page)
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("The query was cancelled.")).to_be_visible()
    is_done(page)
    expect(page.get_by_label("SQL", exact=True)).to_have_value(SLOW)
    page.get_by_role("button", name="Back to the original").click()
    expect(page.get_by_test_id("stMetric")).to_be_visible()


def test_other_clicks_meanwhile_neither_stop_a_query_nor_get_stuck(page: Page, app: App) -> None:
    page.goto(f"{app.url}/?q=how+many+trials+failed%3F")
    start_slow_query(page)
    follow_up(page, "")
    # Still asking; on a machine with other work the query may have come to its own limit before the page is drawn.
    expect(page.get_by_text(re.compile("^Asking … |^The query was stopped after 10 s"))).to_be_visible()
    page.get_by_role("link", name="Runs").click()
    expect(page.get_by_role("heading", name="Runs")).to_be_visible()
    page.get_by_role("link", name="Ask").click()
    ask(page, QUESTION)  # instead
    expect(page.get_by_text("Read as: metrics memory (MB), AUC")).to_be_visible()
    is_done(page)


def test_sql_is_saved_as_typed_and_answers_its_question(page: Page, app: App) -> None:
    page.goto(f"{app.url}/?q=how+many+trials+failed%3F")
    page.get_by_label("SQL", exact=True).fill("SELECT 41 + 1 AS answer")
    page.get_by_role("button", name="Save …").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Question").fill("")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_text("There is no question to save")).to_be_visible()
    dialog.get_by_label("Question").fill("What is the answer?")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_have_count(0)
    expect(page.get_by_label("SQL", exact=True)).to_have_value("SELECT 41 + 1 AS answer")
    ask(page, "what is the answer")
    expect(page.get_by_text("Read as: saved with its SQL")).to_be_visible()
    expect(page.get_by_test_id("stMetric")).to_contain_text("42")
    page.get_by_role("button", name="Saved questions").click()
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_role("button", name="Bring back: What is the answer?")).to_be_visible()


def test_a_dialog_that_is_closed_stays_closed(page: Page, app: App) -> None:
    page.goto(f"{app.url}/?q=how+many+trials+failed%3F")
    page.get_by_role("button", name="Save …").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    ask(page, QUESTION)
    expect(page.get_by_text("Read as: metrics memory (MB), AUC")).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_plan_fills_the_form_and_starts_nothing(page: Page, app: App) -> None:
    page.goto(app.url)
    ask(page, "run hashed lookups at batch size 64")
    expect(page.get_by_text("Run hashed and dense in lookup, batch size 64.")).to_be_visible()
    page.get_by_role("button", name="Fill the form on New run").click()
    expect(page.get_by_text("Asked for: Run hashed and dense in lookup, batch size 64.")).to_be_visible()
    expect(page.get_by_role("textbox", name="batch_size")).to_have_value("64")
    expect(page.get_by_role("button", name="Start")).to_be_enabled()
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)


MEANT = re.compile(r"which is meant\?$|^Is this meant\?$")


def test_what_is_chosen_is_answered_at_once_until_it_is_forgotten(page: Page, app: App) -> None:
    question = "tardiness by method on frappe"
    page.goto(app.url)
    ask(page, question)
    expect(page.get_by_text(MEANT)).to_be_visible()  # the first page has choices beside its answers too
    choices = page.locator("[class*='st-key-choices-suggestion'] button")
    choices.first.click()
    expect(page.get_by_text(f"Asked again, “{question}” is answered so at once.")).to_be_visible()

    page.goto(app.url)  # another session
    ask(page, question.capitalize() + "?")
    expect(page.get_by_text(re.compile(r"^Read as: .*\(you chose this before\)"))).to_be_visible()
    expect(page.get_by_text("You chose this reading before")).to_be_visible()
    assert app.db.with_suffix(".learnt.yaml").read_text().count(f"asked: {question}") == 1

    page.get_by_role("button", name="Forget this choice").click()
    expect(page.get_by_text(MEANT)).to_be_visible()
    expect(page.get_by_text("you chose this before")).to_have_count(0)
    assert question not in app.db.with_suffix(".learnt.yaml").read_text()
