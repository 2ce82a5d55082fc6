"""A form as it is kept in a file that outlives it: its mapping of short texts, and the chart that was asked for."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_args

from mirror.query.other_data.form import Asked
from mirror.query.other_data.form_text import FormError, asked_of, text_of
from mirror.query.spec import ChartType, ChartWish
from mirror.schema.database import Database


def text_of_learnt(asked: Asked) -> dict[str, Any]:
    """The mapping of a form; `asked_of_learnt` gives the form back, but for its notes and logarithmic axes."""
    return text_of(asked) | ({"chart": asked.chart.type} if asked.chart.type else {})


def asked_of_learnt(held: Mapping[str, Any], database: Database) -> Asked:
    """The form of a mapping. Raises FormError where it is none over the database, or none any more."""
    form = {key: value for key, value in held.items() if key != "chart"}
    for key in ("top", "skip", "per"):
        if not isinstance(form.get(key, 0), int):
            raise FormError(f"{key} is a whole number")
    chart = held.get("chart")
    if chart is not None and chart not in get_args(ChartType):
        raise FormError(f"there is no chart {chart}")
    return replace(asked_of(form, database), chart=ChartWish(chart))
