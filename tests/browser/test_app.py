"""The product's main job in a real browser: ask, edit the SQL, start a run, see its trial."""

import re
import sys
from pathlib import Path

import pytest
from accessibility import settled
from app_under_test import App
from playwright.sync_api import Page, expect

from db.store import Store

pytestmark = pytest.mark.browser

QUESTION = "memory vs AUC at compression 0.1"


def ask(page: Page, question: str) -> None:
    page.get_by_label("Your question").fill(question)
    page.get_by_role("button", name="Ask", exact=True).click()


def count(page: Page) -> int:
    """Rows that the page says the result has."""
    text = page.get_by_text(re.compile(r"^[\d,]+ rows? · ")).inner_text()
    return int(text.split()[0].replace(",", ""))


def test_ask_edit_and_run(page: Page, app: App) -> None:
    page.goto(app.url)
    expect(page.get_by_role("heading", name="Mirror")).to_be_visible()
    expect(page.locator("[class*='st-key-open_'] button")).to_have_count(3)
    ask(page, QUESTION)

    expect(page.get_by_text("Read as: metrics memory (MB), AUC")).to_be_visible()
    expect(page.locator(".js-plotly-plot .scatterlayer .point").first).to_be_attached()
    before = count(page)
    assert before > 0

    editor = page.get_by_label("SQL", exact=True)
    expect(editor).to_have_value(re.compile("^SELECT"))
    editor.fill(editor.input_value() + "\n  AND method <> 'dense'")
    editor.press("Control+Enter")
    expect(page.get_by_text("edited", exact=True)).to_be_visible()
    expect(page.get_by_text(f"{before} rows ·")).to_have_count(0)  # the old table goes last
    after = count(page)
    assert 0 < after < before

    page.get_by_role("link", name="New run").click()
    page.get_by_label("Sweep").click()
    page.get_by_role("option", name="tiny").click()
    expect(page.get_by_test_id("stMetric").filter(has_text="to run")).to_contain_text("2")
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_text(re.compile("done · 2 of 2 trials"))).to_be_visible(timeout=120_000)

    rows = Store(str(app.db)).rows("SELECT method, latency_us FROM results WHERE sweep = 'tiny' ORDER BY method")
    assert [r["method"] for r in rows] == ["dense", "quotient_remainder"]
    assert all(r["latency_us"] > 0 for r in rows)

    page.get_by_role("link", name="Ask").click()
    ask(page, "fastest method for lookups at batch size 64 in sweep tiny")
    expect(page.get_by_text(re.compile("^Read as: .*sweep = tiny"))).to_be_visible()
    expect(page.get_by_text(re.compile("^1 row ·"))).to_be_visible()


def test_hostile_text_is_shown_and_not_run(page: Page, app: App) -> None:
    page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
    page.goto(app.url)
    ask(page, "<img src=x onerror=alert(1)> <script>alert(2)</script>")
    expect(page.get_by_text("These can be asked:")).to_be_visible()
    ask(page, "SELECT '<img src=x onerror=alert(3)>' AS method, 1.0 AS auc FROM results LIMIT 1")
    expect(page.get_by_text("1 row ·")).to_be_visible()
    ask(page, QUESTION)
    expect(page.get_by_text("Read as: metrics memory (MB), AUC")).to_be_visible()


def test_a_link_carries_the_question(page: Page, app: App) -> None:
    page.goto(f"{app.url}/?q=how+many+trials+failed%3F")
    expect(page.get_by_text("number of trials", exact=False).first).to_be_visible()
    expect(page.get_by_test_id("stMetric")).to_be_visible()


def test_the_cards_tell_of_each_kernel_and_lead_to_their_answers_and_back(page: Page, app: App) -> None:
    page.goto(app.url)
    cards = page.locator("[class*='st-key-open_'] button")
    expect(cards).to_have_count(3)
    for card, kernel in enumerate(("fiited", "hashed", "parallel_op")):
        expect(cards.nth(card)).to_contain_text(kernel)
    expect(page.locator(".js-plotly-plot")).to_have_count(3)
    cards.nth(1).click()
    expect(page.locator(".st-key-headline")).to_contain_text("hashed: AUC")
    page.get_by_role("button", name="Glossary").click()
    expect(page.get_by_text("Words used here")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Start page").click()
    expect(cards).to_have_count(3)
    expect(page.get_by_label("Your question")).to_have_value("")


def test_the_answer_and_its_chart_are_on_the_first_screen(page: Page, app: App) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(f"{app.url}/?q=memory+vs+AUC+at+compression+0.1")
    headline, chart = page.locator(".st-key-headline"), page.locator(".js-plotly-plot").first
    expect(chart).to_be_visible()
    told, drawn = headline.bounding_box(), chart.bounding_box()
    assert told is not None
    assert drawn is not None
    assert told["height"] < 40  # one line
    assert drawn["y"] < 450
    expect(page.get_by_role("figure", name=re.compile("^Scatter plot of AUC against memory"))).to_have_count(1)
    expect(page.locator(".st-key-facts table")).to_be_visible()


def test_an_answer_is_exported_as_a_file_of_each_kind_and_a_picture_says_where_it_is_from(
    page: Page, app: App, tmp_path: Path
) -> None:
    page.goto(f"{app.url}/?q=memory+vs+AUC+for+hashed+and+dense+on+frappe+at+dim+64")
    expect(page.locator(".js-plotly-plot")).to_be_visible()
    settled(page)
    page.get_by_role("button", name="Export").click()
    starts = {
        "CSV": b"method,",
        "Parquet": b"PAR1",
        "HTML page": b"<!DOCTYPE",
        "Notebook": b"{",
        "Markdown": b"### memory",
    }
    for label, start in starts.items():
        with page.expect_download() as download:
            page.get_by_test_id("stPopoverBody").get_by_role("button", name=label, exact=True).click()
        assert download.value.path().read_bytes().startswith(start), label
        download.value.save_as(tmp_path / download.value.suggested_filename)
    page.get_by_text("SVG", exact=True).click()
    settled(page)
    page.keyboard.press("Escape")
    # The chart with the other button takes the place of the one before.
    page.wait_for_function(
        "[...document.querySelectorAll('.js-plotly-plot')].map(e => e._context?.toImageButtonOptions.format) == 'svg'"
    )
    page.locator(".js-plotly-plot").hover()
    with page.expect_download() as download:
        page.locator(".modebar-btn").first.click()
    picture = download.value.path().read_text()
    assert download.value.suggested_filename == "memory-vs-auc-for-hashed-and-dense-on-frappe-at-dim-64.svg"
    for said in ("memory vs AUC for hashed", r"Memory \(MB\)", r"\d machines", "results up to 20"):
        assert re.search(said, picture), said  # one machine more where another test has run something
    page.goto((tmp_path / "memory-vs-auc-for-hashed-and-dense-on-frappe-at-dim-64.html").as_uri())
    expect(page.locator(".js-plotly-plot .scatterlayer .point").first).to_be_attached()


def test_every_page_is_in_reach_on_a_phone(page: Page, app: App) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(app.url)
    for name in ("Boards", "Runs", "New run", "Ask"):
        page.locator(".st-key-pages").get_by_role("link", name=name, exact=True).click()
        heading = "Mirror" if name == "Ask" else name
        expect(page.get_by_role("heading", name=heading)).to_be_visible()


def test_a_dark_system_has_dark_pages(page: Page, app: App) -> None:
    page.emulate_media(color_scheme="dark")
    page.goto(app.url)
    expect(page.locator(".stApp")).to_have_css("background-color", "rgb(17, 24, 31)")


def test_charts_follow_the_theme(page: Page, app: App) -> None:
    page.goto(f"{app.url}/?q=memory+vs+AUC+at+compression+0.1")
    tick = page.locator(".js-plotly-plot:visible .xtick text").first
    expect(tick).to_be_visible()
    light = tick.evaluate("tick => getComputedStyle(tick).fill")
    page.emulate_media(color_scheme="dark")
    expect(tick).not_to_have_css("fill", light)
    page.emulate_media(color_scheme="light")
    expect(tick).to_have_css("fill", light)


@pytest.mark.parametrize("path", ["/", "/?q=memory+vs+AUC+at+compression+0.1&q=only+hashed", "/runs", "/new-run"])
@pytest.mark.parametrize("width", [1440, 390])
def test_no_page_scrolls_sideways(page: Page, app: App, path: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(app.url + path)
    expect(page.locator(".mirror-status")).to_be_visible()
    page.wait_for_load_state("networkidle")
    overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert overflow <= 0


def test_the_first_page_is_up_soon(app: App) -> None:
    print(f"up after {app.seconds_to_up:.1f} s", file=sys.stderr)
    assert app.seconds_to_up < 30  # the goal is 3 s; a busy machine must not fail the tests
