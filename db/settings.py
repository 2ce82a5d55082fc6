"""Settings: environment variables that start with MIRROR_, then .streamlit/secrets.toml, then the default."""

import os
import tomllib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class SettingsError(ValueError):
    """The settings cannot be read; the message is a sentence that says what to mend."""


@cache
def _secrets() -> dict[str, str]:
    path = ROOT / ".streamlit" / "secrets.toml"
    try:
        return {k: str(v) for k, v in tomllib.loads(path.read_text()).items()}
    except FileNotFoundError:
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


def db_url(given: str | None = None) -> str:
    """SQLAlchemy URL of the results: as given, else MIRROR_DB, else the file in db/. A bare path is a DuckDB file."""
    url = given or setting("MIRROR_DB") or str(ROOT / "db" / "mirror.duckdb")
    return url if "://" in url else f"duckdb:///{Path(url).expanduser().resolve()}"


def journal_dir(url: str) -> Path:
    """Journal folder of a results URL: MIRROR_JOURNAL, else beside the file (`x.duckdb` -> `x.journal/`)."""
    if given := setting("MIRROR_JOURNAL"):
        return Path(given)
    path = url.removeprefix("duckdb:///")
    if url.startswith("duckdb:///") and path != ":memory:":
        return Path(path).with_suffix(".journal")
    return ROOT / "db" / "shared.journal"


def examples_dir() -> Path:
    """Folder of the example results that are shipped with the code."""
    return ROOT / "db" / "examples"
