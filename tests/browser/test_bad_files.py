"""Files that cannot be read: each is a sentence on the page that says what to do."""

from pathlib import Path

import pytest
from app_under_test import App
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


def test_uploads_that_are_too_large_cut_off_or_something_else_are_sentences(
    page: Page, app: App, tmp_path: Path
) -> None:
    large, random, cut = tmp_path / "large.csv", tmp_path / "random.csv", tmp_path / "cut.parquet"
    with large.open("wb") as file:
        file.truncate(5_000_000_000)  # a hole, which takes no place
    random.write_bytes(bytes(range(256)) * 20)
    cut.write_bytes(b"PAR1" + bytes(1000))
    page.goto(f"{app.url}/?about=file")
    upload = page.get_by_test_id("stFileUploaderDropzoneInput")
    expect(page.get_by_text("Of a larger file name the path above.")).to_be_visible()
    upload.set_input_files(large)
    expect(page.get_by_text("File must be 200.0MB or smaller.")).to_be_visible()
    for file, said in (
        (random, "random.csv is no text file, so no CSV: name a CSV, or rename it after what it is."),
        (cut, "cut.parquet is no whole Parquet file: it may have been cut off on its way; copy or save it anew."),
    ):
        page.goto(f"{app.url}/?about=file")
        upload.set_input_files(file)
        expect(page.get_by_test_id("stAlert").get_by_text(said)).to_be_visible()
