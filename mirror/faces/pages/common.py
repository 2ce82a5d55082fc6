"""What every page shares: the sandbox, the head, the glossary, tables and figures."""

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any, NoReturn
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.navigation.page import Page as StreamlitPage

from db import settings
from db.journal import open_results
from db.settings import SettingsError, db_url
from db.store import StoreError
from mirror.chart.chart_spec import ChartSpec
from mirror.chart.chart_words import in_words
from mirror.chart.choose import tiles
from mirror.chart.drawable import fits
from mirror.data.data_source import QueryStopped
from mirror.data.process.sandbox import Sandbox, shared
from mirror.data.sources.kind import find_other_data
from mirror.data.sources.location import SourceError
from mirror.faces.markdown import plain as plain  # for all pages
from mirror.faces.markdown import prose as prose
from mirror.faces.pages import in_browser
from mirror.runs import building
from mirror.schema import catalog, own_metrics
from mirror.schema.profile import Profile
from mirror.table.numbers import format_value, is_year
from mirror.table.table import Column, Table
from mirror.table.wording import counted, join
from mirror.words import glossary

ASK_PATH, BOARDS_PATH, RUNS_PATH, NEW_RUN_PATH = "ask", "boards", "runs", "new-run"
HOME = "Mirror"  # title of the page Ask
_POLL_S = 2.0
_MOST_MACHINES = 2  # that are named one by one
_HEIGHT_OF_A_SMALL_CHART = 260  # pixels
_MOST_PLACES = 10  # after the point, in a table; smaller numbers have an exponent
_PLOTLY: dict[str, Any] = {"displaylogo": False}
_PLOTLY_PHONE = {"displayModeBar": False}  # without a mouse it would always lie over the legend
# All of the style that is no option of Streamlit's; colours and radii are in .streamlit/config.toml.
_STYLE = """
<style>
.block-container {padding-top: 3.6rem; padding-bottom: 3rem; max-width: 1320px;}
/* Streamlit fades captions to a contrast of about 4:1. */
[data-testid="stCaptionContainer"], .mirror-status {opacity: 0.8;}
.st-key-headline p {font-size: 1.3rem; font-weight: 600; line-height: 1.35;}
.st-key-reading p {font-size: 0.85rem;}
.st-key-chips button {min-height: 0; padding: 0.1rem 0.6rem; border-radius: 1rem; height: auto;}
.st-key-chips :is(button, button p, .stMarkdown p) {font-size: 0.86rem;}
.st-key-places :is([role="radiogroup"] button, [data-testid="stPopoverButton"]) {
  min-height: 0; height: auto; padding: 0.1rem 0.7rem;
}
.st-key-places button p {font-size: 0.86rem;}
.st-key-places {margin: -0.4rem 0;}
.st-key-facts table {width: 100%; font-size: 0.9rem;}
.st-key-facts td, .st-key-facts th {padding: 0.2rem 0.5rem;}
.st-key-pages {display: none;}
[data-testid="stElementContainer"]:has(#mirror-in-browser, .mirror-suggest, .mirror-tour, .mirror-drawn) {
  display: none;
}
.st-key-redraw {display: none;}
[data-testid="stElementContainer"]:has(.mirror-skip) {position: absolute; width: auto; right: 0; z-index: 9;}
.mirror-skip:not(:focus) {position: absolute; opacity: 0; pointer-events: none;}
.mirror-skip {padding: 0.3rem 0.8rem; border-radius: 0.4rem; border: none; background: #0a6289; color: white;}
/* White on the dark theme's primary colour, which is light enough for text on the page, could not be read. */
:is(.stApp, [data-testid="stPopoverBody"]) :is(button[kind^="primary"], [data-tag]) {
  background-color: #0a6289; border-color: #0a6289;
}
:is(.stApp, [data-testid="stPopoverBody"]) button[kind^="primary"]:hover {
  background-color: #08506f; border-color: #08506f;
}
.stApp button[kind="tertiary"]:is(:hover, :focus, :active, [aria-expanded="true"]) {
  color: inherit; text-decoration: underline;
}
.stTextArea textarea {font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: 0.86rem;}
/* The text of the SQL's field is transparent over a copy of it in colours (sql_field.js). */
.stTextArea textarea.mirror-sql-field {-webkit-text-fill-color: transparent;}
.mirror-sql {
  position: absolute; margin: 0; overflow: hidden; white-space: pre-wrap; overflow-wrap: break-word;
  pointer-events: none; box-sizing: border-box; text-align: left;
}
.mirror-sql-keyword {color: #7a2a8f;} .mirror-sql-on-dark .mirror-sql-keyword {color: #d6a3ff;}
.mirror-sql-function {color: #0a5a8a;} .mirror-sql-on-dark .mirror-sql-function {color: #8fd0ff;}
.mirror-sql-text {color: #1a6b2f;} .mirror-sql-on-dark .mirror-sql-text {color: #9fdca8;}
.mirror-sql-number {color: #8a4b08;} .mirror-sql-on-dark .mirror-sql-number {color: #ffc58a;}
.mirror-sql-comment {color: #5c6470;} .mirror-sql-on-dark .mirror-sql-comment {color: #a9b1bb;}
.mirror-sql-wrong {text-decoration: underline wavy #d03030; text-underline-offset: 0.2em;}
#mirror-sql-options {
  position: fixed; z-index: 1000001; margin: 0; padding: 0.2rem; list-style: none; max-height: 15rem; overflow-y: auto;
  background: white; color: #202530; border: 1px solid #b0b7c3; border-radius: 0.4rem; box-shadow: 0 2px 8px #0003;
  font: 0.86rem ui-monospace, SFMono-Regular, Menlo, Consolas, monospace;
}
#mirror-sql-options.mirror-sql-on-dark {background: #1d2129; color: #f0f2f6; border-color: #5c6470;}
#mirror-sql-options[hidden] {display: none;}
#mirror-sql-options li {padding: 0.1rem 0.5rem; border-radius: 0.3rem; cursor: pointer; white-space: nowrap;}
#mirror-sql-options li[aria-selected="true"] {background: #0a6289; color: white;}
#mirror-sql-options small {margin-left: 0.8rem;}
.st-key-trial thead {display: none;}
.st-key-compared table {font-size: 0.9rem;}
.st-key-compared :is(td, th) {padding: 0.2rem 0.5rem;}
.st-key-trail p {font-size: 0.92rem;}
/* Links to the page that is shown, with another address, would all look chosen. */
[class*="st-key-links-"] a:not(:hover, :focus-visible) {background: none;}
[class*="st-key-choices-"] button p {white-space: normal; overflow-wrap: anywhere; text-align: left;}
[class*="st-key-choices-"] button {height: auto;}
.mirror-status {font-size: 0.85rem; text-align: right;}
@media (max-width: 640px) {
  .mirror-status {text-align: left;}
  .st-key-headline p {font-size: 1.1rem;}
  .st-key-places > :has([data-testid="stCaptionContainer"]) {display: none;}
  .st-key-facts {overflow-x: auto;}
  .st-key-facts table {font-size: 0.82rem;}
  .st-key-facts td, .st-key-facts th {padding: 0.2rem 0.3rem;}
  /* The pages are a row to tap, not a drawer to find; nothing else stands in the bar above them. */
  .st-key-pages {display: flex;}
  [data-testid="stHeader"] {display: none;}
  .st-key-pages p {font-size: 0.95rem;}
  [data-testid="InputInstructions"], [data-testid="stElementToolbar"] {display: none;}
  [class*="st-key-wide-"] {display: none;}
  .block-container {padding: 1rem 1rem 3rem;}
}
@media (min-width: 641px) {[class*="st-key-narrow-"] {display: none;}}
</style>
"""


@st.cache_resource(show_spinner="Loading the results …")
def _ready(url: str) -> None:
    if other := find_other_data():
        raise SourceError(
            f"{other.name} holds other data and no results: open it on the page Ask, or name a results database with "
            "MIRROR_DB."
        )
    open_results(url)


def sandbox() -> Sandbox:
    """The sandbox of the configured results; ends the page with one sentence where they cannot be used."""
    try:
        settings.check()
        catalog.words()
        url = db_url()
        _ready(url)
        return shared(url)
    except (StoreError, SettingsError, SourceError) as error:
        _stop(error)


def heading(title: str) -> DeltaGenerator:
    """Page title, and beside it the place for `show_status`, which may come later: loading results takes a while."""
    if title != HOME:
        st.session_state["elsewhere"] = True
    st.html(_STYLE)
    in_browser.run()
    left, right = st.columns([1, 2], vertical_alignment="bottom")
    left.subheader(title, anchor=False)
    if building.state().going:
        _compiling()
    elif failed := building.state().failed:
        st.warning(prose(f"The kernels could not be compiled, so methods that need them cannot run: {failed}"))
    return right.empty()


@st.fragment(run_every=_POLL_S)
def _compiling() -> None:
    """That the kernels compile, until they are ready."""
    now = building.state()
    if not now.going:
        st.rerun()
    since = format_value(catalog.entry("duration_s"), round(now.seconds))
    st.info(
        f"The kernels are compiling in the background, for {since} so far. Asking works meanwhile; a run that needs "
        "them waits until they are ready.",
        icon=":material/hourglass_top:",
    )


def page_at(path: str) -> StreamlitPage:
    """A page to link to, by its path: app.py alone knows what draws it."""
    return st.Page(lambda: None, title=path, url_path=path, default=path == ASK_PATH)


def show_glossary(*texts: str) -> None:
    """What words mean, one click away: those that some texts use first, then all others."""
    used = glossary.found_in(texts)
    with st.popover("Glossary", icon=":material/menu_book:"):
        for title, terms in (("Words used here", used), ("All words", [t for t in glossary.terms() if t not in used])):
            if terms:
                lines = [f"**{plain(t.term)}** {plain(t.text)}" for t in terms]
                st.markdown("\n\n".join([f"###### {title}" if used else "", *lines]))


def show_status(slot: DeltaGenerator, box: Sandbox, measuring: bool = False) -> None:
    """What the results hold, on one line; while a run is measuring they are left in peace."""
    hint, status = ("", "a run is measuring") if measuring else _status(box)
    slot.html(f'<div class="mirror-status" title="{hint}">{status}</div>')


def _status(box: Sandbox) -> tuple[str, str]:
    """(hint, text) of the status line."""
    try:
        trials, machines, updated = _counts(box.url, box.version(), box)
    except (StoreError, QueryStopped) as error:
        _stop(error)
    parts = [f"{trials:,} trials", counted(machines, "machine")]
    if not updated:
        return "", f"results: {' · '.join(parts)}"
    return _on_the_readers_clock(updated), f"results: {' · '.join([*parts, f'updated {utc_time(updated)}'])}"


@st.cache_data(max_entries=4, show_spinner=False)
def _counts(url: str, version: str, _box: Sandbox) -> tuple[int, int, str | None]:
    """(trials, machines, time of the newest), read once: a page must not wait for the query of somebody else."""
    profile = _box.schema()
    return profile.rows("results"), profile.machines, profile.updated


def profile_of(box: Sandbox) -> Profile:
    """What the results hold, without a wait for the query of somebody else."""
    try:
        profile = _profile(box.url, box.version(), box)
        own_metrics.know(profile.own_metrics)
        return profile
    except (StoreError, QueryStopped) as error:
        _stop(error)


@st.cache_resource(max_entries=4, show_spinner=False)
def _profile(url: str, version: str, _box: Sandbox) -> Profile:
    return _box.schema()


def _stop(error: Exception) -> NoReturn:
    """End the page with one sentence."""
    st.error(prose(str(error)), icon=":material/database_off:")
    st.stop()


def utc_time(iso: str) -> str:
    """A naive UTC ISO time to the minute, the same for whoever looks at it; other text as it is."""
    try:
        return f"{datetime.fromisoformat(iso):%Y-%m-%d %H:%M} UTC"
    except ValueError:
        return iso


def _on_the_readers_clock(iso: str) -> str:
    """A naive UTC ISO time in the reader's time zone; empty where that is not known."""
    try:
        zone = ZoneInfo(st.context.timezone or "")
        return f"{datetime.fromisoformat(iso).replace(tzinfo=UTC).astimezone(zone):%Y-%m-%d %H:%M} on your clock"
    except (ZoneInfoNotFoundError, ValueError):
        return ""


def is_phone() -> bool:
    """Whether the browser says it is a phone."""
    return "Mobi" in st.context.headers.get("User-Agent", "")


def show_table(table: Table, key: str, selectable: bool = False) -> list[int]:
    """A result as a table, numbers with a sensible count of digits. Returns the rows that are selected."""
    frame = pd.DataFrame(list(table.rows), columns=list(table.names)).convert_dtypes()
    columns = {}
    for column in table.columns:
        title = column.title  # drawn as it is: heads of columns know no Markdown
        text = plain(f"{column.name}: {column.text}" if column.text else column.name)
        if column.numeric and pd.api.types.is_float_dtype(frame[column.name]):
            digits, kept = _digits(column, table)
            if kept is not None:
                frame[column.name] = frame[column.name].round(kept)
            columns[column.name] = st.column_config.NumberColumn(title, help=text, format=digits)
        elif column.numeric and not is_year(column):
            columns[column.name] = st.column_config.NumberColumn(title, help=text, format="localized")
        else:
            columns[column.name] = st.column_config.Column(title, help=text)
    select: dict[str, Any] = {"on_select": "rerun", "selection_mode": "multi-row"} if selectable else {}
    event = st.dataframe(frame, hide_index=True, column_config=columns, key=key, placeholder="", **select)
    return sorted(event["selection"]["rows"]) if selectable else []


def _digits(column: Column, table: Table) -> tuple[str, int | None]:
    """A format with enough digits for the smallest value of the column, and no more; what to round to before, or None.

    Large numbers have separators of thousands, which no printf format knows: theirs is the reader's own.
    """
    sizes = [abs(v) for v in table.values(column.name) if isinstance(v, (int, float)) and v]
    if not sizes or (column.role == "axis" and column.type == "real"):
        return "%.4g", None
    smallest, largest = min(sizes), max(sizes)
    if smallest < 1:
        places = max(4, 1 - math.floor(math.log10(smallest)))
        return (f"%.{places}f" if places <= _MOST_PLACES else "%.4g"), None
    if largest < 1000:
        return "%.2f", None
    return "localized", 2 if smallest < 1000 else 0


def show_chart(
    table: Table,
    chart: ChartSpec,
    key: str,
    narrow: bool = False,
    title: str = "",
    note: str = "",
    picture: str = "png",
    select: Callable[[str], None] | None = None,
    finish: Callable[[Any], None] | None = None,
    more_in_words: str = "",
) -> None:
    """The chart of a result, number tiles, or why there is none.

    Args:
        table: the result.
        chart: what to draw of it.
        key: of its widgets.
        narrow: it has no more room than on a phone.
        title: what stands over it, also in a picture of it, whose file is called after it.
        note: where the numbers are from, below the title.
        picture: png or svg, as which the camera on the chart saves it.
        select: is called with the key of a widget when points of it are selected.
        finish: adds to the figure what no chart has by itself.
        more_in_words: what that shows, for those who do not see it.
    """
    if chart.type == "tiles" and table.rows:
        _show_tiles(table)
        return
    if why := fits(chart, table):
        st.info(plain(why), icon=":material/table_chart:")
        return
    from mirror.chart.draw.figure import draw  # here, since Plotly is slow to load

    narrow = narrow or is_phone()
    look: dict[str, Any] = {"dark": is_dark(), "title": title, "note": "" if narrow else note, "finish": finish}
    drawn = draw(table, chart, columns=1 if narrow else None, **look)
    if drawn is None:
        st.info(plain(chart.reason or "No chart fits this result."), icon=":material/table_chart:")
        return
    alt = f"{in_words(chart, table)} {more_in_words}".strip()
    config = (
        _PLOTLY_PHONE
        if is_phone()
        else {**_PLOTLY, "toImageButtonOptions": _picture(title, drawn.layout.height, picture)}
    )

    def plot(figure: Any, name: str) -> None:
        own: dict[str, Any] = {"config": config, "theme": None, "alt": alt}
        if select:
            figure.update_layout(clickmode="event+select")  # set by the browser, it would be drawn twice
            own |= {"on_select": partial(select, name), "selection_mode": ("points", "box")}
        st.plotly_chart(figure, key=name, **own)

    if chart.facet is None or narrow:
        plot(drawn, key)
    else:
        # The server does not know how wide the page is: the style sheet shows one of the two.
        with st.container(key=f"wide-{key}"):
            plot(drawn, f"{key}_wide")
        with st.container(key=f"narrow-{key}"):
            plot(draw(table, chart, columns=1, **look), f"{key}_narrow")
    if chart.reason:
        st.caption(plain(chart.reason))


def show_small_chart(table: Table, chart: ChartSpec, key: str) -> None:
    """A chart as it fits on a card, to look at alone; number tiles; nothing where it cannot be drawn."""
    if chart.type == "tiles" and table.rows:
        _show_tiles(table)
    elif not fits(chart, table):
        drawn = _small(table, chart, is_dark())
        if drawn is not None:
            st.plotly_chart(drawn, key=key, config={"staticPlot": True}, theme=None, alt=in_words(chart, table))


@st.cache_data(max_entries=20, show_spinner=False)
def _small(table: Table, chart: ChartSpec, dark: bool) -> Any:
    from mirror.chart.draw.figure import draw  # here, since Plotly is slow to load

    drawn = draw(table, chart, columns=1, dark=dark)
    return drawn if drawn is None else drawn.update_layout(height=_HEIGHT_OF_A_SMALL_CHART)


def _show_tiles(table: Table) -> None:
    with st.container(horizontal=True, gap="medium"):
        for column, value in tiles(table):
            st.metric(plain(column.label), plain(format_value(column, value)), width="content")


def file_name(title: str) -> str:
    """A file's name without its ending, after what it shows."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60] or "chart"


def _picture(title: str, height: float | None, kind: str) -> dict[str, Any]:
    """How Plotly saves a picture: wide enough for a page of a paper, and sharp."""
    size = {"width": 1000, "height": max(420, int(height or 0)), "scale": 2 if kind == "png" else 1}
    return {"format": kind, "filename": file_name(title), **size}


def origin_of_results(box: Sandbox) -> str:
    """Where results are from, in one line: the machines, and when the newest was measured."""
    try:
        return _origin(box.url, box.version(), box)
    except (StoreError, QueryStopped):  # the status line, drawn before, ends the page where they cannot be read
        return HOME


@st.cache_data(max_entries=4, show_spinner=False)
def _origin(url: str, version: str, _box: Sandbox) -> str:
    profile = _box.schema()
    named = [str(m) for m in profile.values("machine")]
    machines = join(named) if 0 < len(named) <= _MOST_MACHINES else counted(profile.machines, "machine")
    until = f"results up to {utc_time(profile.updated)}" if profile.updated else "no results"
    return f"{HOME} · {machines} · {until}"


def is_dark() -> bool:
    """Whether the page is dark, as the system or the person asks."""
    return bool(st.context.theme.type == "dark")
