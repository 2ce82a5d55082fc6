"""What is behind the points of a chart that are selected: trials and the ways to their pages, or rows of other data."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from mirror.answer.answer import Answer
from mirror.answer.subject import FAILURES, Behind, Subject
from mirror.data.guard.guard_errors import GuardError
from mirror.data.rows_behind import MOST_ROWS, UntracedError
from mirror.faces.pages.common import RUNS_PATH, page_at, plain, show_table
from mirror.runs.comparing import MOST_COMPARED
from mirror.table.table import Table
from mirror.table.wording import counted

Parameters = Mapping[str, list[str]]


@dataclass
class _Selected:
    """Some rows of a result.

    Attributes:
        table: the result.
        places: of the rows.
        points: how many points they are.
        number: counts selections, for the keys of widgets.
        behind: what they were made from, once that is known; or why nobody knows.
    """

    table: Table
    places: tuple[int, ...]
    points: int
    number: int
    behind: Behind | str | None = None


def chart_key(key: str) -> str:
    """The key of a chart's widget: another one once its selection has been let go."""
    return f"{key}_{gone}" if (gone := st.session_state.get(f"{key}_let_go", 0)) else key


def select(key: str, table: Table, widget: str) -> None:
    """Take the points that are selected in a widget; each names the places of its rows in the table."""
    points = [p["customdata"] for p in st.session_state[widget]["selection"]["points"] if p.get("customdata")]
    places = tuple(sorted({int(place) for rows in points for place in rows}))
    before: _Selected | None = st.session_state.get(f"{key}_selected")
    number = before.number + 1 if before else 1
    st.session_state[f"{key}_selected"] = _Selected(table, places, len(points), number)


def show(answer: Answer, key: str, subject: Subject, back: Parameters | None) -> None:
    """What is behind the points that are selected; nothing where none is.

    Args:
        answer: whose chart it is.
        key: of the chart.
        subject: what the answer is about.
        back: the address of the answer, for the pages of its trials; None where trials have none.
    """
    if answer.table is not None:
        show_of(answer.table, key, partial(_behind, answer, subject), back)


def show_of(table: Table, key: str, find: Callable[[Sequence[int]], Behind | str], back: Parameters | None) -> None:
    """The same for the chart of any table; `find` says what its rows at some places were made from, or why not."""
    selected: _Selected | None = st.session_state.get(f"{key}_selected")
    if selected is None or selected.table is not table or not selected.places:
        return
    if selected.behind is None:
        selected.behind = find(selected.places)
    with st.container(border=True, key=f"behind-{key}"):
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            st.markdown(_heading(selected))
            st.button("Close", key=f"{key}_close", on_click=_let_go, args=(key,), icon=":material/close:")
        if isinstance(selected.behind, str):
            st.caption(plain(selected.behind))
            return
        behind = selected.behind.table
        is_linked = selected.behind.trials and back is not None
        ticked = show_table(behind, key=f"{key}_behind_{selected.number}", selectable=is_linked)
        if is_linked:
            _links([behind.rows[i] for i in ticked] or list(behind.rows), behind, back or {})


def _behind(answer: Answer, subject: Subject, places: Sequence[int]) -> Behind | str:
    try:
        return subject.behind(answer, places)
    except GuardError:  # which the person did not write
        return str(UntracedError())
    except (UntracedError, *FAILURES) as error:
        return str(error)


def _heading(selected: _Selected) -> str:
    """`12 trials behind 2 points`, and how many of them are shown."""
    points, behind = counted(selected.points, "point"), selected.behind
    if isinstance(behind, str) or behind is None:
        return f"**{points}**"
    noun, shown = "trial" if behind.trials else "row", len(behind.table.rows)
    count = f"More than {counted(shown, noun)}" if behind.total is None else counted(behind.total, noun)
    parts = [f"**{count}** behind {points}"]
    if behind.total != shown:
        parts.append(f"the first {shown:,} are listed")
    if len(selected.places) > MOST_ROWS:
        parts.append(f"of the first {MOST_ROWS} of {len(selected.places):,} rows of the table")
    return " · ".join(parts)


def _links(rows: Sequence[tuple[object, ...]], table: Table, back: Parameters) -> None:
    """Ways to the page of each trial, where they are few, and to all of them side by side."""
    if len(rows) > MOST_COMPARED:
        st.caption(f"Select a line to open its trial, two to {MOST_COMPARED} to compare them.")
        return
    at = table.names.index("method")
    ids = [str(row[-1]) for row in rows]
    runs = page_at(RUNS_PATH)
    with st.container(horizontal=True, gap="small"):
        if len(ids) > 1:
            label = f"Compare these {len(ids)}"
            st.page_link(runs, label=label, icon=":material/compare_arrows:", query_params={"trial": ids, **back})
        for row, trial_id in zip(rows, ids, strict=True):
            label = f"{plain(str(row[at]))} {plain(trial_id)}"
            st.page_link(runs, label=label, icon=":material/science:", query_params={"trial": [trial_id], **back})


def _let_go(key: str) -> None:
    state = st.session_state
    state.pop(f"{key}_selected", None)
    state[f"{key}_let_go"] = state.get(f"{key}_let_go", 0) + 1
