"""What was found in a place: its tables, how they are joined, and of one of them the columns and the first rows."""

import pandas as pd
import streamlit as st

from mirror.answer.subject import FAILURES
from mirror.data.guard.guard_errors import GuardError
from mirror.faces.pages.common import plain, show_table
from mirror.faces.pages.places.place import Place
from mirror.query.other_data.first_rows import first_rows
from mirror.schema.database import Column, Database, Relation, shown
from mirror.table.table import Table
from mirror.table.wording import counted

_MOST_VALUES = 6
_FIRST_ROWS = 5
_LIMIT_S = 3.0  # a view may take long
_ROWS = "first_rows"  # in the session's state: the database, and of its tables those that were looked at


def show(place: Place, database: Database, expanded: bool) -> None:
    """All of it, to open."""
    tables = [r for r in database.relations if not r.view]
    views = len(database.relations) - len(tables)
    others = ((views, "view"), (len(database.foreign_keys), "foreign key"))
    parts = [counted(len(tables), "table"), *(counted(n, noun) for n, noun in others if n)]
    with st.expander(f"Found: {' · '.join(parts)}", icon=":material/database:", expanded=expanded):
        for note in database.notes:
            st.caption(plain(note))
        for link in database.foreign_keys:
            said = f"{link.table}.{', '.join(link.columns)} → {link.to}.{', '.join(link.to_columns)}"
            st.markdown(plain(said if link.declared else f"{said} (inferred)"))
        by_name = {relation.name: relation for relation in database.relations}
        if len(by_name) > 1:
            named = st.selectbox("Table", list(by_name), key=f"found_{place.link}", width=320)
        else:
            named = next(iter(by_name), "")
        if named in by_name:
            _table(place, database, by_name[named])


def _table(place: Place, database: Database, relation: Relation) -> None:
    st.markdown(f"**{plain(relation.name)}** {plain(_about(relation))}")
    frame = pd.DataFrame(
        [(c.name, c.type, "yes" if c.name in relation.key else "", _holds(c), c.comment) for c in relation.columns],
        columns=["column", "type", "key", "holds", "comment"],
    )
    st.dataframe(frame, hide_index=True, key=f"columns_{relation.name}")
    rows = _first_rows(place, database, relation)
    if isinstance(rows, Table):
        st.caption(f"The first {counted(len(rows.rows), 'row')}:" if rows.rows else "It has no rows.")
        show_table(rows, key=f"first_rows_{relation.name}")
    else:
        st.caption(plain(f"Its first rows cannot be shown. {rows}"))


def _first_rows(place: Place, database: Database, relation: Relation) -> Table | str:
    """A few rows of a table as they come, read once while the tables stay what they are; or why there are none."""
    of, known = st.session_state.get(_ROWS, (None, {}))
    if of is not database:
        st.session_state[_ROWS] = (database, known := {})
    if relation.name not in known:
        try:
            sql = first_rows(relation.name, database.dialect, _FIRST_ROWS)
            known[relation.name] = place.rows(sql, _FIRST_ROWS, _LIMIT_S)
        except (GuardError, *FAILURES) as error:
            return str(error)
    found: Table = known[relation.name]
    return found


def _about(relation: Relation) -> str:
    """`80 rows`, `about 1,000,000 rows`, and what the database says of the table."""
    rows = "" if relation.rows is None else counted(relation.rows, "row")
    about = f"about {rows}" if rows and not relation.exact else rows
    return " · ".join(filter(None, ("view" if relation.view else "", about, relation.comment)))


def _holds(column: Column) -> str:
    if column.values:
        return shown(column.values, _MOST_VALUES)
    return f"{column.low} to {column.high}" if column.low is not None else ""
