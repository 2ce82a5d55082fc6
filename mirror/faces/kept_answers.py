"""Answers as boards keep them, and asked anew: with their reading, source and what was changed of their charts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from db.settings import db_url, setting
from mirror.answer.answer import Answer
from mirror.answer.answering import subject_of
from mirror.answer.subject import FAILURES, ask_kept, failed
from mirror.chart.chart_spec import ChartSpec
from mirror.chart.choose import redrawn
from mirror.chart.drawable import fits
from mirror.data.sources.kind import find_other_data
from mirror.query.kept.board_file import BoardItem, Boards, boards_path
from mirror.query.saved import saved_path, saved_path_of
from mirror.query.spec import QuerySpec

_CHANGED = ("type", "x", "y", "color", "facet", "log_x", "log_y")  # what can be changed of a chart


def open_boards() -> Boards:
    """The boards beside the saved questions of what MIRROR_DB names. Raises SettingsError or SourceError."""
    return Boards(_path(setting("MIRROR_DB"), setting("MIRROR_SAVED")))


@lru_cache(maxsize=4)  # a DuckDB file is opened to see whose data it holds
def _path(*settings: str) -> Path:
    del settings
    other = find_other_data()
    return boards_path(saved_path_of(other.where) if other else saved_path(db_url()))


def item_of(answer: Answer, chart: ChartSpec, source: str, address: Mapping[str, Sequence[str]]) -> BoardItem:
    """An answer with SQL, as a board keeps it.

    Args:
        answer: what is kept.
        chart: its chart, as it was changed.
        source: of other data, without a password; empty for the results.
        address: the parameters of the address that leads to it.
    """
    changed = {name: getattr(chart, name) for name in _CHANGED if getattr(chart, name) != getattr(answer.chart, name)}
    question = " ".join(answer.question.split())
    return BoardItem(question, answer.sql or "", _form(answer), source, changed or None, dict(address) or None)


def ask_item(item: BoardItem, db: str | None) -> Answer:
    """Ask an answer of a board anew. Never raises; `db` is that of `ask`, with a password where there is one."""
    try:
        answer = ask_kept(subject_of(db=db), item.question, item.sql, item.form)
    except FAILURES as error:
        return failed(item.question, error)
    return _redrawn(answer, item.chart) if item.chart and answer.status == "answered" else answer


def _form(answer: Answer) -> dict[str, Any] | None:
    """The reading of an answer, which the benchmark that answered stays a part of."""
    if answer.form is not None:
        from mirror.query.other_data.learnt_form import text_of_learnt

        return text_of_learnt(answer.form)
    if answer.asked is None:
        return None
    from mirror.query.spec_json import to_short_json  # here, since it takes a while to load

    return to_short_json(_in_its_benchmark(answer.asked, answer.spec))


def _in_its_benchmark(asked: QuerySpec, spec: QuerySpec | None) -> QuerySpec:
    if spec is None or any(f.column == "benchmark" for f in asked.filters):
        return asked
    return replace(asked, filters=(*(f for f in spec.filters if f.column == "benchmark"), *asked.filters))


def _redrawn(answer: Answer, changed: Mapping[str, Any]) -> Answer:
    """The answer with its chart changed as it was, where that can still be drawn."""
    if answer.table is None or answer.chart is None or not answer.table.rows:
        return answer
    known = {name: value for name, value in changed.items() if name in _CHANGED}
    try:
        chart = replace(answer.chart, **known)
        possible = not fits(chart, answer.table)
        return replace(answer, chart=redrawn(chart, answer.table, answer.spec or answer.wanted)) if possible else answer
    except (KeyError, TypeError, ValueError):  # of another version, or edited by hand
        return answer
