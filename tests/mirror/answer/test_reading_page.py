"""The page docs/reading.md shows what the command says, to the letter."""

import re
from pathlib import Path

import duckdb
import pytest

from db.installation import ROOT
from mirror.faces.command import main

PAGE = (ROOT / "docs" / "reading.md").read_text()


def test_the_question_on_the_page_is_explained_as_it_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = re.search(r"open\('([^']+)'\)", PAGE)
    question = re.search(r'python -m mirror explain "([^"]+)"', PAGE)
    assert script
    assert question
    with duckdb.connect(str(tmp_path / "bookshop.duckdb")) as shop:
        shop.execute((ROOT / script[1]).read_text())
    assert main(["explain", question[1], "--db", str(tmp_path / "bookshop.duckdb")]) == 0
    blocks = re.findall(r"```\n(.*?)```", PAGE, re.DOTALL)
    assert capsys.readouterr().out in blocks
