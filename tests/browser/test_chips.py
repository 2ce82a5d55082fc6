"""The reading as chips: each part is changed in place, the SQL follows; undo, redo and the link of what was changed."""

import re

import pytest
from accessibility import settled
from app_under_test import App
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

QUESTION = "memory vs AUC at compression 0.1"


def chip(page: Page, label: str) -> None:
    """Open a chip; what it holds is drawn then."""
    page.locator(".st-key-chips").get_by_role("button", name=label).click()
    expect(page.get_by_test_id("stPopoverBody")).to_be_visible()


def choose(page: Page, field: str, option: str) -> None:
    page.get_by_test_id("stPopoverBody").get_by_label(field, exact=True).click()
    page.keyboard.type(option)  # of many options the rest is not drawn
    page.get_by_role("option", name=option, exact=True).click()


def test_a_filter_is_changed_in_place_undone_and_redone_and_its_link_opens_the_same(page: Page, app: App) -> None:
    page.goto(f"{app.url}/?q=memory+vs+AUC+at+compression+0.1")
    sql = page.get_by_label("SQL", exact=True)
    expect(sql).to_have_value(re.compile("compression = 0.1 "))
    chip(page, "compression = 0.1")
    page.get_by_test_id("stPopoverBody").get_by_role("button", name="Remove 0.1").click()
    choose(page, "Values", "0.5")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Apply").click()
    expect(sql).to_have_value(re.compile("compression = 0.5 "))
    expect(page.locator(".st-key-trail")).to_contain_text("Show memory")
    page.get_by_role("button", name="Undo").click()
    expect(sql).to_have_value(re.compile("compression = 0.1 "))
    page.get_by_role("button", name="Redo").click()
    expect(sql).to_have_value(re.compile("compression = 0.5 "))
    settled(page)
    page.reload()  # another session, with what the address says
    expect(sql).to_have_value(re.compile("compression = 0.5 "))
    expect(page.locator(".st-key-chips")).to_contain_text("compression = 0.5")


def test_metrics_groups_and_order_are_chosen_one_after_the_other(page: Page, app: App) -> None:
    page.goto(f"{app.url}/?q=average+lookup+latency+by+method+and+batch+size")
    sql = page.get_by_label("SQL", exact=True)
    expect(sql).to_have_value(re.compile(r"avg\(latency_us\)"))
    chip(page, "mean latency")
    choose(page, "Of several trials", "median")
    page.get_by_role("button", name="Apply").click()
    expect(sql).to_have_value(re.compile(r"median\(latency_us\)"))
    chip(page, "all rows")
    choose(page, "Order by", "median latency")
    page.get_by_label("Only the first").fill("5")
    page.get_by_role("button", name="Apply").click()
    expect(sql).to_have_value(re.compile(r"ORDER BY median_latency_us.*LIMIT 5", re.DOTALL))
    expect(page.locator(".st-key-trail button")).to_have_count(1)  # small changes are one step
    chip(page, "add a filter")
    choose(page, "Filter", "batch size")
    choose(page, "Values", "64")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Apply").click()
    expect(sql).to_have_value(re.compile("batch_size = 64"))
