"""Which database or files a text names, from PostgreSQL to CSV, and how to call them without a password."""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote, unquote

from db.plain_text import printable
from db.store import Store
from mirror.data.guard.guard_errors import shown

if TYPE_CHECKING:  # takes longer to load than most questions take, and files need none of it
    import sqlalchemy as sa

Kind = Literal["postgresql", "mysql", "sqlite", "duckdb", "files"]

DIALECTS: dict[Kind, str] = {
    "postgresql": "postgres", "mysql": "mysql", "sqlite": "sqlite", "duckdb": "duckdb", "files": "duckdb",
}  # fmt: skip
READABLE = "PostgreSQL, MySQL or MariaDB, SQLite, DuckDB, CSV, JSON lines, Excel and Parquet"
MOST_FILES = 100

_SERVERS: dict[str, tuple[Kind, str]] = {
    "postgresql": ("postgresql", "postgresql+psycopg"), "postgres": ("postgresql", "postgresql+psycopg"),
    "mysql": ("mysql", "mysql+pymysql"), "mariadb": ("mysql", "mysql+pymysql"),
}  # fmt: skip
_TABLES = re.compile(r"\.(csv|tsv|parquet|pq|jsonl|ndjson|xlsx|xlsm)$|\.(csv|tsv)\.gz$", re.IGNORECASE)
_OTHER_WORKBOOK = re.compile(r"\.(xls|xlsb|ods|numbers)$", re.IGNORECASE)
# What lies in a folder beside its tables: questions that were saved, boards, and what an open workbook leaves.
_ASIDE = re.compile(r"\.(saved|boards)\.jsonl$|^[.~]", re.IGNORECASE)
_SQLITE = re.compile(r"\.(sqlite3?|s3db|db3)$", re.IGNORECASE)
_DUCKDB = re.compile(r"\.(duckdb|ddb)$", re.IGNORECASE)
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)


class SourceError(RuntimeError):
    """The database or file cannot be read; the message is a sentence that says what to do, and holds no password."""


@dataclass(frozen=True)
class Location:
    """One place with tables.

    Attributes:
        kind: what it is.
        url: SQLAlchemy URL of a server, with its password; empty for files.
        paths: the files under the names that were given, links among them not followed: a link stands for the kind of
            file that its own name says; empty for a server.
        name: what to call it in a message, without a password.
    """

    kind: Kind
    url: str = ""
    paths: tuple[Path, ...] = ()
    name: str = ""

    @property
    def dialect(self) -> str:
        """Its SQL, as sqlglot names it."""
        return DIALECTS[self.kind]

    @property
    def where(self) -> str:
        """Its kind and where it is, the same whoever connects to it; holds no password."""
        place = "\n".join(map(str, self.paths))
        if self.url:
            parts = _parts(self.url)
            place = f"{parts.host or ''}:{parts.port or ''}/{parts.database or ''}{_schema_of(self.url)}"
        return f"{self.kind}\n{place}"

    def version(self) -> str:
        """A text that changes whenever the files change; empty for a server. Raises SourceError for a missing file."""
        parts = []
        for path in self.paths:
            parts.append(_stamp(path))
            parts += [_stamp(log) for log in _logs(path) if log.exists()]
        return "/".join(parts)

    def without_password(self, text: str) -> str:
        """A message of a driver without the password, however it was written, and without the folders of files."""
        for secret in _secrets(self.url):
            text = text.replace(secret, "***")
        for path in self.paths:
            text = text.replace(str(path), path.name).replace(os.path.realpath(path), path.name)
        return text


def find(text: str) -> Location:
    """The location of a URL, a path, a folder, a glob such as `data/*.csv`, or paths with commas between them.

    Whether a DuckDB file is there is not looked at. Raises SourceError.
    """
    text = text.strip()
    if not text:
        raise SourceError(f"Name a database or a file: {READABLE} can be read.")
    scheme = _SCHEME.match(text)
    try:
        return _of_url(text, scheme[1].lower()) if scheme else _of_paths(_expanded(text))
    except SourceError:
        raise
    except (OSError, ValueError, RuntimeError) as error:  # longer than a path can be, with a NUL, of no such user
        why = getattr(error, "strerror", None) or str(error).rstrip(".")
        raise SourceError(
            f"“{shown(printable(text))}” names no file ({why}): name a database or a file, and ask the question apart."
        ) from None


def _of_url(text: str, scheme: str) -> Location:
    base = scheme.partition("+")[0]
    if base in _SERVERS:
        kind, driver = _SERVERS[base]
        url = driver + text[len(scheme) :]
        return Location(kind, url, name=_name_of(url))
    if base in ("sqlite", "duckdb", "file"):
        rest = unquote(text[len(scheme) + 3 :].partition("?")[0])
        path = Path(rest.removeprefix("/") if base != "file" else rest).expanduser()
        if base == "file":
            return _of_paths([path])
        if not rest or rest.endswith(":memory:"):
            raise SourceError(f"A {base} database in memory holds nothing yet: name a file.")
        return _file(base, path)  # type: ignore[arg-type]
    raise SourceError(f"Tables of {base} cannot be read: {READABLE} can be.")


def _parts(url: str) -> "sa.URL":
    from sqlalchemy import exc, make_url

    try:
        return make_url(url)
    except (exc.ArgumentError, ValueError):
        raise SourceError(
            "The URL of the database cannot be taken apart: write it as scheme://user:password@host:port/database, "
            "with an @ or / of the password as %40 or %2F."
        ) from None


def _name_of(url: str) -> str:
    _parts(url)
    name = Store(url).name
    if name == "the URL given":  # an @ in the host: part of a password that would be shown
        raise SourceError("The password of the URL must have its @ written as %40.")
    return name.replace("+psycopg", "").replace("+pymysql", "") + _schema_of(url)


def _schema_of(url: str) -> str:
    """The search path that a URL of PostgreSQL names, as its query: of all that may stand there, it alone says which
    tables are meant."""
    found = re.fullmatch(r"-c\s*search_path=([\w$, ]+)", str(_parts(url).query.get("options", "")))
    return f"?options=-csearch_path%3D{quote(found[1])}" if found else ""


def _secrets(url: str) -> Iterable[str]:
    if not url:
        return
    parts = _parts(url)
    texts = [str(parts.password or ""), *(str(v) for k, v in parts.query.items() if "pass" in k.lower())]
    for secret in texts:
        if len(secret) > 2:  # shorter ones are in every other word
            yield from dict.fromkeys((secret, quote(secret), quote(secret, safe="")))


# -- files -------------------------------------------------------------------------------------------------------------


def _expanded(text: str) -> list[Path]:
    """The paths that a text names: one, those of a glob, or several with commas between them."""
    whole = Path(text).expanduser()
    if "," not in text or _is_there(whole):
        if not whole.exists() and re.search(r"[*?\[]", whole.name):
            found = sorted(whole.parent.glob(whole.name)) if whole.parent.is_dir() else []
            if not found:
                raise SourceError(f"No file is called like {whole.name} in {whole.parent.name or 'this folder'}/.")
            return found
        return [whole]
    return [path for part in text.split(",") if part.strip() for path in _expanded(part.strip())]


def _is_there(path: Path) -> bool:
    """Whether a path leads to something; a list of many paths is longer than any path."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _of_paths(paths: list[Path]) -> Location:
    if len(paths) == 1:
        path = paths[0]
        if path.is_dir():
            return _folder(path)
        if not (_TABLES.search(path.name) or _OTHER_WORKBOOK.search(path.name)):
            return _file(_kind_of_file(path), path)
    for path in paths:
        if _OTHER_WORKBOOK.search(path.name):
            raise SourceError(f"{path.name} is a workbook of a kind that is not read: save it as .xlsx or CSV.")
        if not _TABLES.search(path.name):
            raise SourceError(
                f"{path.name} is neither CSV nor Parquet, JSON lines or Excel: only such files can be read together."
            )
    for path in paths:
        if not path.is_file():
            raise SourceError(f"There is no file {path.name}: mend the path.")
    if len(paths) > MOST_FILES:
        raise SourceError(f"These are {len(paths):,} files, where {MOST_FILES} can be read together: name fewer.")
    named = tuple(path.absolute() for path in paths)
    return Location("files", paths=named, name=_named(named))


def _named(paths: tuple[Path, ...]) -> str:
    if len(paths) == 1:
        return paths[0].name
    folders = {path.parent.name for path in paths}
    return f"{len(paths)} files of {folders.pop()}/" if len(folders) == 1 else f"{len(paths)} files"


def _folder(path: Path) -> Location:
    found = sorted(p for p in path.iterdir() if p.is_file() and _TABLES.search(p.name) and not _ASIDE.search(p.name))
    if not found:
        raise SourceError(f"The folder {path.name}/ holds no CSV, JSON lines, Excel or Parquet file.")
    return _of_paths(found)


def _kind_of_file(path: Path) -> Kind:
    """By its suffix where that says it, else by its first bytes; what nobody knows is taken for DuckDB.

    A DuckDB file is not looked into: closing it would free the lock that this process may hold on it.
    """
    if _SQLITE.search(path.name):
        return "sqlite"
    start = b""
    if path.is_file() and not _DUCKDB.search(path.name):
        try:
            with path.open("rb") as file:
                start = file.read(16)
        except OSError as error:
            raise SourceError(f"{path.name} cannot be read: {error.strerror}.") from error
    return "sqlite" if start.startswith(b"SQLite format 3\0") else "duckdb"


def _file(kind: Kind, path: Path) -> Location:
    if kind == "sqlite" and not path.is_file():
        raise SourceError(f"There is no file {path.name}: mend the path.")
    return Location(kind, paths=(path.absolute(),), name=path.name)


def _stamp(path: Path) -> str:
    try:
        stat = path.stat()
    except OSError:
        raise SourceError(f"The file {path.name} is not there any more.") from None
    return f"{path.name}-{stat.st_ino}-{stat.st_mtime_ns}-{stat.st_size}"


def _logs(path: Path) -> list[Path]:
    """Files beside a database that hold its newest changes."""
    return [path.with_name(f"{path.name}{suffix}") for suffix in (".wal", "-wal")]
