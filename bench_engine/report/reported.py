"""What a run found in the form that was asked for, on standard output or in a file."""

import os
from pathlib import Path

from bench_engine.report import run_page, run_text
from bench_engine.report.run_results import RunResults
from db import installation

FORMATS = ("text", "markdown", "csv", "json", "html")


class ReportError(RuntimeError):
    """A report cannot be made or written; the message says what to do."""


def rendered(found: RunResults, form: str, width: int = 100, colour: bool = False, every: bool = False) -> str:
    """The report in one of FORMATS, with a newline at its end.

    Args:
        width: of the terminal, for text.
        every: list all trials, where text and Markdown would only sum them up.

    Raises ReportError where what it needs is not installed.
    """
    if form == "text":
        return run_text.text(found, width, colour, every) + "\n"
    if form == "markdown":
        return run_text.markdown(found, every)
    if form == "csv":
        return run_text.as_csv(found)
    if form == "json":
        return run_text.as_json(found) + "\n"
    try:
        return run_page.page(found)
    except ModuleNotFoundError as error:
        raise ReportError(installation.missing(error, "--format html", "app")) from error


def write(text: str, target: Path) -> None:
    """Write a file as a whole, or leave what is there as it was. Raises ReportError."""
    try:
        part = target.with_name(f"{target.name}.{os.getpid()}.part")
        try:
            part.write_text(text, encoding="utf-8")
            os.replace(part, target)
        finally:
            part.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        raise ReportError(f"{target} cannot be written: {getattr(error, 'strerror', None) or error}.") from error
