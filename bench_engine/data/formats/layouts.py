"""The columns of the text formats that are known, and which of them a file has by its first line."""

import re

from bench_engine.data.formats.delimited import Layout
from bench_engine.data.formats.stream import DOUBLE_COLON

_NUMBERS = tuple((f"I{i}", "integer") for i in range(1, 14))
_CATEGORIES = tuple((f"C{i}", "hex") for i in range(1, 27))
CRITEO = Layout("Criteo with labels", (("label", "label"), *_NUMBERS, *_CATEGORIES), label="label")
CRITEO_TEST = Layout("Criteo without labels", (*_NUMBERS, *_CATEGORIES))

_AVAZU_CATEGORIES = (
    "C1", "banner_pos", "site_id", "site_domain", "site_category", "app_id", "app_domain", "app_category",
    "device_id", "device_ip", "device_model", "device_type", "device_conn_type",
    "C14", "C15", "C16", "C17", "C18", "C19", "C20", "C21",
)  # fmt: skip
_AVAZU = (("hour", "hour"), *((name, "short") for name in _AVAZU_CATEGORIES))

_COLON = DOUBLE_COLON.decode()
ML_USERS = Layout(
    "MovieLens users (::)",
    (("user", "id"), ("gender", "token"), ("age", "id"), ("occupation", "id"), ("zip", "token")),
    _COLON,
)
ML_MOVIES = Layout("MovieLens movies (::)", (("movie", "id"), ("title", "token"), ("genres", "token")), _COLON)
ML_RATINGS = Layout(
    "MovieLens ratings (::)",
    (("user", "id"), ("movie", "id"), ("rating", "number"), ("timestamp", "id")),
    _COLON,
    label="rating",
    liked=4,
)
_ML_CSV = {
    "ratings": ("userId", "movieId", "rating", "timestamp"),
    "movies": ("movieId", "title", "genres"),
    "tags": ("userId", "movieId", "tag", "timestamp"),
    "links": ("movieId", "imdbId", "tmdbId"),
}
_ML_KINDS = {"userId": "id", "movieId": "id", "rating": "number", "timestamp": "id", "title": "token"}

ANIME_RATINGS = Layout(
    "anime ratings",
    (("User_ID", "id"), ("Anime_ID", "id"), ("Feedback", "number")),
    header=True,
    label="Feedback",
    liked=8,
)
ANIME_INFO = Layout(
    "anime titles",
    (
        ("anime_ids", "id"), ("name", "text"), ("genre", "text"), ("type", "text"), ("episodes", "text"),
        ("rating", "text"), ("members", "text"),
    ),
    header=True,
)  # fmt: skip

LIBFM = "libfm"
_LIBFM = re.compile(rb"[-+]?[0-9.]+(?:[ \t]+[0-9]+:[-+0-9.eE]+)+[ \t\r]*$")
_TYPED = re.compile(rb"\w+:(?:token|token_seq|float|float_seq)(?:\t\w+:(?:token|token_seq|float|float_seq))*\r?$")


def avazu(labels: bool, header: bool) -> Layout:
    """Avazu's columns, which some copies of the file do not name."""
    words = f"Avazu {'with' if labels else 'without'} labels"
    columns = (("id", "token"), *([("click", "label")] if labels else []), *_AVAZU)
    return Layout(words, columns, ",", header, label="click" if labels else "")


def typed(header: bytes) -> Layout:
    """A TAB-separated file whose header gives the type of each column, such as `user_id:token`."""
    columns = [part.partition(":")[::2] for part in header.decode("utf-8", "replace").rstrip("\r\n").split("\t")]
    kinds = {"float": "number", "token": "token"}
    rating = "rating" if ("rating", "float") in columns else ""
    return Layout(
        f"typed header ({len(columns)} columns)",
        tuple((name, kinds.get(kind, "text")) for name, kind in columns),
        header=True,
        label=rating,
        liked=4,
    )


def recognise(line: bytes) -> Layout | str | None:
    """The layout of a text file by its first line; LIBFM, whose lines are no columns; None for anything else."""
    line = line.rstrip(b"\r\n")
    tabs, commas, colons = line.count(b"\t"), line.count(b","), line.count(b"::")
    if _TYPED.match(line):
        found = typed(line)
        return found if len(dict(found.columns)) == len(found.columns) else None
    if tabs >= 30:
        return _criteo(line, tabs)
    if commas >= 20:
        return _avazu(line, commas)
    for layout in (ML_USERS, ML_MOVIES, ML_RATINGS):
        if colons == len(layout.columns) - 1 and line.partition(b"::")[0].isdigit():
            return layout
    for name, columns in _ML_CSV.items():
        if line == ",".join(columns).encode():
            kinds = tuple((column, _ML_KINDS.get(column, "text")) for column in columns)
            label = "rating" if "rating" in columns else ""
            return Layout(f"MovieLens {name} (CSV)", kinds, ",", header=True, quoted=True, label=label, liked=4)
    for layout in (ANIME_RATINGS, ANIME_INFO):
        if line == "\t".join(name for name, _ in layout.columns).encode():
            return layout
    return LIBFM if _LIBFM.match(line) else None


def _criteo(line: bytes, tabs: int) -> Layout | None:
    fields = line.split(b"\t")
    numbers = re.match(rb"[-0-9.\t]*", line)  # what follows their last tab are categories
    last = line.rfind(b"\t", 0, numbers.end()) if numbers else -1
    if last < 0 or not re.fullmatch(rb"[0-9a-fA-F\t]*", line[last:]):
        return None
    if tabs == len(CRITEO_TEST.columns) - 1:
        return CRITEO_TEST
    # A first line with another number of fields is told apart by its label and the place of the first category.
    whole = tabs == len(CRITEO.columns) - 1
    return CRITEO if whole or (fields[0] in (b"0", b"1") and not re.fullmatch(rb"[0-9a-f]{8}", fields[13])) else None


def _avazu(line: bytes, commas: int) -> Layout | None:
    fields = line.split(b",")
    header = fields[0] == b"id"
    labels = fields[1] == b"click" if header else commas == len(_AVAZU) + 1
    layout = avazu(labels, header)
    names = [name.encode() for name, _ in layout.columns]
    if header:
        return layout if fields == names else None
    hour = fields[2 if labels else 1]
    return layout if hour.isdigit() and len(hour) == 8 and fields[0].isdigit() else None
