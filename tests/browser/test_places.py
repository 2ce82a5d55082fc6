"""Files and folders in a real browser: saved questions, follow-ups, links and boards as for the results."""

import re
from pathlib import Path

import pytest
from accessibility import settled
from app_under_test import App
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


def ask(page: Page, question: str) -> None:
    settled(page)
    page.get_by_label("Your question").fill(question)
    page.get_by_role("button", name="Ask", exact=True).click()


def test_a_folder_is_asked_followed_up_saved_and_linked_to(page: Page, app: App, tmp_path: Path) -> None:
    (tmp_path / "sales.csv").write_text("city,customer_id,amount\nOslo,1,3.5\nBergen,2,2\nOslo,1,8\n")
    (tmp_path / "customers.csv").write_text("id,name,country\n1,Anna,Norway\n2,Bo,Sweden\n")
    headline = page.locator(".st-key-headline")
    page.goto(f"{app.url}/?about=folder")
    page.get_by_role("textbox", name="Folder").fill(str(tmp_path))
    page.get_by_role("button", name="Open").click()
    expect(page.get_by_text("sales.customer_id → customers.id (inferred)")).to_be_visible()
    ask(page, "total amount by city")
    expect(headline).to_contain_text("11.5")
    settled(page)
    page.get_by_label("Follow up").fill("only Bergen")
    page.get_by_role("button", name="Follow up").click()
    expect(page.locator(".st-key-trail")).to_contain_text("only Bergen")
    expect(page).to_have_url(re.compile("q=total.*q=only"))
    settled(page)
    link = page.url
    page.get_by_role("button", name="Save …").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Question").fill("Bergen alone")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_have_count(0)
    page.get_by_role("button", name="Start page").click()
    expect(page.get_by_text(re.compile("^Found: 2 tables"))).to_be_visible()
    ask(page, "Bergen alone")
    expect(page.get_by_text("saved question", exact=True)).to_be_visible()
    page.goto(link)
    expect(page.locator(".st-key-trail")).to_contain_text("only Bergen")


def test_an_upload_is_asked_and_its_link_says_in_another_tab_what_is_missing(
    page: Page, app: App, tmp_path: Path
) -> None:
    file = tmp_path / "visits.csv"
    file.write_text("city,visits\nBerlin,3\nRome,4\nBerlin,5\n")
    upload = page.get_by_test_id("stFileUploaderDropzoneInput")
    page.goto(f"{app.url}/?about=file")
    upload.set_input_files(file)
    ask(page, "total visits by city")
    page.get_by_role("button", name="Show the total visits by city").click()
    expect(page.locator(".st-key-headline")).to_contain_text("8")
    page.reload()
    expect(page.get_by_test_id("stAlert").first).to_contain_text("in another tab (visits.csv): upload them here")
    upload.set_input_files(file)
    expect(page.locator(".st-key-headline")).to_contain_text("8")  # the question of the link, answered now
