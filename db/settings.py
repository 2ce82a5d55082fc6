"""Settings: environment variables that start with MIRROR_, then .streamlit/secrets.toml, then the default.

Of a clone all is kept in it. Installed, secrets.toml is that of the user's home folder, and results are kept in mirror/
among the user's data (XDG).
"""

import contextlib
import os
import tomllib
from functools import cache
from pathlib import Path

from db import installation
from db.installation import INSTALLED, ROOT

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
        raise SettingsError(f".streamlit/{path.name} cannot be read ({why}): mend it or move it away.") from error


def setting(name: str, default: str = "") -> str:
    """The value of a setting such as `MIRROR_DB` or `OPENAI_API_KEY`; an empty value counts as not set.

    Raises SettingsError when secrets.toml cannot be read.
    """
    return os.environ.get(name) or _secrets().get(name) or default


def check() -> None:
    """Raise SettingsError when secrets.toml cannot be read."""
    _secrets()


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


def db_url(given: str | None = None) -> str:
    """SQLAlchemy URL of the results: as given, else MIRROR_DB, else a file in `home`. A bare path is a DuckDB file."""
    url = given or setting("MIRROR_DB") or str(home() / "mirror.duckdb")
    return url if "://" in url else f"duckdb:///{Path(url).expanduser().resolve()}"


def is_postgres(url: str) -> bool:
    """Whether a SQLAlchemy URL names a PostgreSQL database that is reached with psycopg."""
    return url.startswith(("postgresql://", "postgresql+psycopg://"))


def journal_dir(url: str) -> Path:
    """Journal folder of a results URL: MIRROR_JOURNAL, else beside the file (`x.duckdb` -> `x.journal/`)."""
    if given := setting("MIRROR_JOURNAL"):
        return Path(given)
    path = url.removeprefix("duckdb:///")
    if url.startswith("duckdb:///") and path != ":memory:":
        return Path(path).with_suffix(".journal")
    return home() / "shared.journal"


def examples_dir() -> Path:
    """Folder of the example results that are shipped with the code."""
    return installation.path("db/examples")
