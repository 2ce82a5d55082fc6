"""Settings: environment variables that start with MIRROR_, then .streamlit/secrets.toml, then, of some, what the page
Settings keeps, then the default.

Of a clone all is kept in it. Installed, secrets.toml is that of the user's home folder, and results are kept in mirror/
among the user's data (XDG).
"""

import contextlib
import json
import os
import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path

from db import installation
from db.installation import INSTALLED, ROOT

# What the page Settings may keep: nothing secret, and no place of a file.
KEPT = ("MIRROR_LLM_BASE_URL", "MIRROR_LLM_MODEL", "MIRROR_LLM_TIMEOUT_S", "MIRROR_LLM_ROWS", "MIRROR_LEARNT")
_SECRETS, _PAGE = ".streamlit/secrets.toml", "this page"
PASSWORDS = ("MIRROR_PASSWORD", "MIRROR_READER_PASSWORD")


class SettingsError(ValueError):
    """The settings cannot be read; the message is a sentence that says what to mend."""


@cache
def _secrets() -> dict[str, str]:
    try:
        path = (Path.home() if INSTALLED else ROOT) / ".streamlit" / "secrets.toml"
        return {k: str(v) for k, v in tomllib.loads(path.read_text()).items()}
    except (FileNotFoundError, RuntimeError):  # the latter where there is no home folder
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        why = getattr(error, "strerror", None) or error  # not the whole path
        raise SettingsError(f"{_SECRETS} cannot be read ({why}): mend it or move it away.") from error


def setting(name: str, default: str = "") -> str:
    """The value of a setting such as `MIRROR_DB` or `OPENAI_API_KEY`; an empty value counts as not set.

    Raises SettingsError when secrets.toml or the file of what was kept cannot be read.
    """
    of_page = kept().get(name) if name in KEPT else None
    return os.environ.get(name) or _secrets().get(name) or of_page or default


def origin(name: str) -> str:
    """Where a setting's value comes from, in words; empty where it is the default. Raises SettingsError."""
    if os.environ.get(name):
        return "the environment"
    if _secrets().get(name):
        return _SECRETS
    return _PAGE if name in KEPT and kept().get(name) else ""


def can_be_kept(name: str) -> bool:
    """Whether what the page Settings keeps of a setting counts: nothing else says it. Raises SettingsError."""
    return name in KEPT and origin(name) in ("", _PAGE)


def check() -> None:
    """Raise SettingsError when secrets.toml or the file of what was kept cannot be read."""
    _secrets()
    kept()


def kept_path() -> Path:
    """The file of what the page Settings keeps: MIRROR_SETTINGS, else one in `home`. Raises SettingsError."""
    given = os.environ.get("MIRROR_SETTINGS")
    return _path(given) if given else home() / "settings.json"


def kept() -> Mapping[str, str]:
    """What the page Settings keeps: name -> value. Raises SettingsError."""
    try:
        path = kept_path()
        found = path.stat()
    except (OSError, SettingsError):
        return {}
    return _kept_in(path, (found.st_mtime_ns, found.st_size, found.st_ino))


@lru_cache(maxsize=4)
def _kept_in(path: Path, _state: tuple[int, ...]) -> Mapping[str, str]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(found, dict):
            raise ValueError("it holds no settings")
    except (OSError, ValueError, RecursionError) as error:
        why = getattr(error, "strerror", None) or str(error)[:100]
        raise SettingsError(f"{path.name} cannot be read ({why}): mend it or move it away.") from error
    return {name: str(value) for name, value in found.items() if name in KEPT}


def is_blank(name: str) -> bool:
    """Whether a setting is given without a value: of a password that is a mistake, and not "none"."""
    return not setting(name) and (name in os.environ or name in _secrets())


def environment() -> dict[str, str]:
    """This process's environment for the programs that it starts: without the passwords of the app, of which they know
    nothing."""
    return {name: value for name, value in os.environ.items() if name not in PASSWORDS}


def home() -> Path:
    """The folder for what no setting names a place for. Raises SettingsError where there is no home folder."""
    if not INSTALLED:
        return ROOT / "db"
    try:
        folder = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "mirror"
    except RuntimeError:
        raise SettingsError(
            "There is no home folder to keep results in: name a file for them with MIRROR_DB."
        ) from None
    with contextlib.suppress(OSError):  # whoever writes there says what is wrong
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def _path(text: str) -> Path:
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise SettingsError(f"There is no home folder for {text}: write the path in full.") from None


def db_url(given: str | None = None) -> str:
    """SQLAlchemy URL of the results: as given, else MIRROR_DB, else a file in `home`. A bare path is a DuckDB file."""
    url = given or setting("MIRROR_DB") or str(home() / "mirror.duckdb")
    return url if "://" in url else f"duckdb:///{_path(url).resolve()}"


def is_postgres(url: str) -> bool:
    """Whether a SQLAlchemy URL names a PostgreSQL database that is reached with psycopg."""
    return url.startswith(("postgresql://", "postgresql+psycopg://"))


def journal_dir(url: str) -> Path:
    """Journal folder of a results URL: MIRROR_JOURNAL, else beside the file (`x.duckdb` -> `x.journal/`)."""
    if given := setting("MIRROR_JOURNAL"):
        return _path(given)
    path = url.removeprefix("duckdb:///")
    if url.startswith("duckdb:///") and path != ":memory:":
        return Path(path).with_suffix(".journal")
    return home() / "shared.journal"


def examples_dir() -> Path:
    """Folder of the example results that are shipped with the code."""
    return installation.path("db/examples")
