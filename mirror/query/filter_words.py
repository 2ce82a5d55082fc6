"""Filters in words, and the sentence where nothing passes them."""

from db.plain_text import plain_text
from mirror.query.spec import Filter, QuerySpec, Question
from mirror.schema import catalog
from mirror.table.numbers import describe
from mirror.table.wording import join

_OPERATORS = {"<>": "≠", "<=": "≤", ">=": "≥"}


def filter_in_words(f: Filter) -> str:
    """`compression = 0.1`, `memory ≤ 5 MB`, `method in dense, hashed`."""
    values = ", ".join(plain_text(str(v).lower() if isinstance(v, bool) else v) for v in f.values)
    entry = catalog.entry(f.column)
    unit = f" {entry.unit}" if entry.unit and entry.role == "metric" else ""
    return f"{entry.label} {_OPERATORS.get(f.operator, f.operator)} {values}{unit}"


def no_rows(spec: Question | None) -> str:
    """The sentence for an empty result, with the filters that it had to pass, or the claim that none of them keeps."""
    if not isinstance(spec, QuerySpec) or not spec.filters:
        return "No rows match."
    if spec.shape == "relative" and spec.claim and spec.against:
        metrics = join([catalog.entry(m.column).label for m in spec.metrics])
        reference = describe(catalog.entry(spec.against.column), spec.against.values[0])
        return (
            f"None is {spec.claim} than {reference} in {metrics} at equal work, where "
            f"{' and '.join(filter_in_words(f) for f in spec.filters)}."
        )
    return f"No rows match {' and '.join(filter_in_words(f) for f in spec.filters)}."
