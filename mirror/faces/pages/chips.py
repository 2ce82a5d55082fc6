"""The reading of a question as chips, each a part of its query that is changed in place; the answer follows."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from mirror.answer.answer import Answer
from mirror.faces.pages.common import plain, profile_of
from mirror.faces.pages.places.place import Place
from mirror.faces.pages.trails import flow
from mirror.faces.query_parts import AGGREGATES, MEASURED, OPERATORS, Parts, Way, filter_of, is_way, operator_of
from mirror.query.check import SpecError
from mirror.query.filter_words import filter_in_words
from mirror.query.spec import Filter, Metric, QuerySpec
from mirror.schema import catalog
from mirror.table.numbers import format_value
from mirror.table.wording import join

_MOST_NAMED = 3
_SIGNS = {"<>": "≠", "<=": "≤", ">=": "≥"}
_WAYS: dict[Way, str] = {"trials": "single trials", "groups": "means by group"}
_SOURCES = {"results": "results", "history": "all that was ever run"}


def show(answer: Answer, place: Place, can_change: bool) -> None:
    """The chips of an answer that was asked in words; nothing where its query is not known.

    Args:
        answer: the answer.
        place: what was asked about: other data have no such parts.
        can_change: whether another question may follow; else the chips only tell.
    """
    known = answer.spec is not None and answer.asked is not None and answer.spec.source in _SOURCES
    if not (known and place.box and answer.asked and answer.spec):
        return
    parts = Parts(answer.asked, answer.spec, profile_of(place.box))
    asked, spec = parts.asked, parts.spec
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center", key="chips"):
        if spec.metrics:
            alike = len({m.aggregate for m in spec.metrics}) == 1  # of several kinds one choice would make one
            editor = partial(_metrics, parts, place) if spec.shape in MEASURED and alike else None
            _chip("metrics", f"**{_of_metrics(spec.metrics)}**", editor, can_change)
        else:
            _chip("metrics", "**number of trials**" if spec.shape == "count" else "**trials**", None, can_change)
        if spec.shape in ("groups", "ranking", "best"):
            label = f"by {_listed(asked.dimensions or spec.dimensions)}"
            _chip("groups", label, partial(_groups, parts, place), can_change)
        if way := is_way(asked):
            _chip("way", _WAYS[way], partial(_way, parts, way, place), can_change)
        for i, one in enumerate(spec.filters):
            if not (spec.source == "curves" and one.column == "metric"):
                _chip(f"filter_{i}", filter_in_words(one), partial(_filter, parts, one, place), can_change)
        if can_change:
            _chip("more", "add a filter", partial(_add_filter, parts, place), can_change, icon=":material/add:")
        if spec.shape in ("points", "groups", "ranking", "best"):
            _chip("order", _of_order(spec), partial(_order, parts, place), can_change)
        if spec.shape in ("points", "count"):
            _chip("source", _SOURCES[spec.source], partial(_source, parts, place), can_change)
    failed = st.session_state.pop("not_changed", None)
    if isinstance(failed, SpecError):
        st.error(plain(str(failed)), icon=":material/error:")


def _chip(name: str, label: str, editor: Callable[[str], None] | None, can_change: bool, icon: str = "") -> None:
    """One part: what it says, and what changes it, which is drawn when it is opened."""
    text = label if label.startswith("**") else plain(label)
    if editor is None or not can_change:
        st.markdown(f":gray-badge[{text}]", width="content")
        return
    key = f"chip_{name}_{st.session_state.get('generation', 0)}"  # a new answer closes it
    chip = st.popover(text, icon=icon or None, key=key, on_change="rerun")
    if chip.open:
        with chip:
            editor(key)


def _changed(make: Callable[[], QuerySpec], place: Place) -> None:
    """Ask what a change gives; what cannot be is said."""
    try:
        flow.change(make(), place)
    except SpecError as error:
        st.session_state["not_changed"] = error


def _apply(make: Callable[[], QuerySpec], place: Place, label: str = "Apply") -> None:
    st.form_submit_button(label, type="primary", on_click=_changed, args=(make, place))


# -- what each says ----------------------------------------------------------------------------------------------------


def _of_metrics(metrics: tuple[Metric, ...]) -> str:
    names = []
    for m in metrics[:_MOST_NAMED]:
        word = f"{catalog.AGGREGATE_WORDS[m.aggregate]} " if m.aggregate else ""
        names.append(f"{word}{catalog.entry(m.name or m.column).title}")
    more = f" and {len(metrics) - _MOST_NAMED} more" if len(metrics) > _MOST_NAMED else ""
    return plain(", ".join(names) + more)


def _listed(columns: tuple[str, ...]) -> str:
    labels = [catalog.entry(c).label for c in columns]
    if len(labels) > _MOST_NAMED:
        return f"{', '.join(labels[:_MOST_NAMED])} and {len(labels) - _MOST_NAMED} more"
    return join(labels) if labels else "nothing"


def _of_order(spec: QuerySpec) -> str:
    first = f"first {spec.limit:,}" if spec.limit else "all rows"
    if not spec.order:
        return first
    end = "highest" if spec.order[0].descending else "lowest"
    return f"{first}, {end} {catalog.entry(spec.order[0].column).label} first"


# -- what changes each -------------------------------------------------------------------------------------------------


def _label(column: str) -> str:
    return catalog.entry(column).title


def _metrics(parts: Parts, place: Place, key: str) -> None:
    state, now = st.session_state, parts.spec.metrics
    grouped = parts.spec.shape != "points"
    with st.form(f"{key}_form", border=False):
        st.multiselect(
            "Metrics", parts.metrics, [m.column for m in now], key=f"{key}_names", format_func=_label,
            max_selections=2 if parts.spec.shape == "front" else None,
        )  # fmt: skip
        if grouped:
            words = catalog.AGGREGATE_WORDS
            kinds = tuple(dict.fromkeys((now[0].aggregate or "avg", *AGGREGATES)))  # what it is now comes first
            st.selectbox("Of several trials", kinds, key=f"{key}_of", format_func=words.__getitem__)
        _apply(lambda: parts.with_metrics(state[f"{key}_names"], state.get(f"{key}_of") or "avg"), place)


def _groups(parts: Parts, place: Place, key: str) -> None:
    state = st.session_state
    with st.form(f"{key}_form", border=False):
        st.multiselect("By", parts.axes, parts.asked.dimensions, key=f"{key}_names", format_func=_label)
        if parts.apart or parts.asked.averaged:
            st.multiselect(
                "Average over", (*parts.asked.averaged, *parts.apart), parts.asked.averaged, key=f"{key}_over",
                format_func=_label, help="What rows are also told apart by, so that unlike work is not mixed.",
            )  # fmt: skip
        _apply(lambda: parts.with_groups(state[f"{key}_names"], state.get(f"{key}_over", ())), place)


def _way(parts: Parts, way: Way, place: Place, key: str) -> None:
    for other in _WAYS:
        if other != way:
            st.button(
                f"Show {_WAYS[other]}", key=f"{key}_to", on_click=_changed, args=(partial(parts.as_way, other), place)
            )


def _filter(parts: Parts, f: Filter, place: Place, key: str) -> None:
    _values(parts, f.column, f, place, key)
    if f in parts.asked.filters:
        without = partial(parts.with_filter, f, None)
        st.button("Remove", key=f"{key}_remove", on_click=_changed, args=(without, place), icon=":material/close:")
    else:
        st.caption("Mirror chose it, so that unlike work is not mixed.")


def _add_filter(parts: Parts, place: Place, key: str) -> None:
    column = st.selectbox("Filter", parts.filtered, None, key=f"{key}_column", format_func=_label)
    if column:
        _values(parts, column, None, place, f"{key}_{column}")


def _values(parts: Parts, column: str, f: Filter | None, place: Place, key: str) -> None:
    """Comparison and values of a filter."""
    state, entry = st.session_state, catalog.entry(column)
    numeric = entry.type in ("integer", "real", "timestamp")
    typed = numeric or not parts.values(column)  # too many values to be listed
    kind = "time" if entry.type == "timestamp" else "number"
    operators = OPERATORS if numeric else OPERATORS[:2]
    now = operator_of(f) if f else (">=" if entry.role == "metric" else "=")
    held = f.values if f else ()
    with st.form(f"{key}_form", border=False):
        st.selectbox(
            entry.label, operators, operators.index(now) if now in operators else 0, key=f"{key}_operator",
            format_func=lambda o: _SIGNS.get(o, o),
        )  # fmt: skip
        st.multiselect(
            "Values", list(dict.fromkeys((*parts.values(column), *held))), held, key=f"{key}_values",
            format_func=lambda v: v if isinstance(v, str) else format_value(entry, v), accept_new_options=typed,
            placeholder=f"choose, or type a {kind}" if numeric else "type a value" if typed else "choose",
        )  # fmt: skip

        def changed() -> QuerySpec:
            return parts.with_filter(f, filter_of(column, state[f"{key}_operator"], state[f"{key}_values"]))

        _apply(changed, place)


def _order(parts: Parts, place: Place, key: str) -> None:
    state, asked, spec = st.session_state, parts.asked, parts.spec
    now = asked.order[0] if asked.order else None
    ranked = spec.shape in ("ranking", "best")
    with st.form(f"{key}_form", border=False):
        own = [m.alias for m in spec.metrics[: 1 if ranked else None]]
        columns = own if ranked else [None, *own, *(asked.dimensions if spec.shape == "groups" else ())]
        if now and now.column not in columns:
            columns.append(now.column)
        st.selectbox(
            "Order by", columns, columns.index(now.column) if now else 0, key=f"{key}_by",
            format_func=lambda c: catalog.entry(c).label if c else "as it comes",
        )  # fmt: skip
        st.radio("First", ("lowest", "highest"), int(bool(now and now.descending)), key=f"{key}_first", horizontal=True)
        if spec.shape != "best":
            st.number_input(
                "Only the first", 1, max(10_000, asked.limit or 0), asked.limit, key=f"{key}_limit", placeholder="all"
            )

        def changed() -> QuerySpec:
            limit = state.get(f"{key}_limit") or (asked.limit if spec.shape == "ranking" else None)
            return parts.with_order(state[f"{key}_by"], state[f"{key}_first"] == "highest", limit)

        _apply(changed, place)


def _source(parts: Parts, place: Place, key: str) -> None:
    for other in _SOURCES:
        if other != parts.spec.source:
            change = partial(parts.of_source, other)
            st.button(f"Ask {_SOURCES[other]}", key=f"{key}_to", on_click=_changed, args=(change, place))
    st.caption("All that was ever run has superseded trials too.")
