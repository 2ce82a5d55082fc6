"""Where the files of real data sets are. Opens none of them and imports nothing heavy, so that planning stays quick."""

from collections.abc import Iterable
from pathlib import Path

from db.installation import INSTALLED, ROOT
from db.settings import home, setting

# Names that files have where they are published; text may be packed besides, with or without the ending .gz.
_PUBLISHED = {"criteo/train.tsv": "criteo/train.txt", "avazu/train.csv": "avazu/train.gz"}
_BINARY = (".parquet", ".zip")


class DataMissingError(FileNotFoundError):
    """A data file is not there; the message is one sentence that says what to do."""


def data_dir() -> Path:
    """The data folder: MIRROR_DATA_DIR, else `data/` in the repository (installed: beside the results), else
    `shared/data/` beside the repository."""
    if given := setting("MIRROR_DATA_DIR"):
        return Path(given).expanduser()
    if INSTALLED:
        return home() / "data"
    own, shared = ROOT / "data", ROOT.parent / "shared" / "data"
    return own if own.is_dir() or not shared.is_dir() else shared


def located(file: str) -> Path | None:
    """Path of a file given relative to the data folder, also under its published name; None where it is not there."""
    names = [file, *([_PUBLISHED[file]] if file in _PUBLISHED else [])]
    if not file.endswith(_BINARY):
        names += [f"{name}.gz" for name in names]
    paths = (data_dir() / name for name in names)
    return next((path for path in paths if path.is_file()), None)


def find(file: str) -> Path:
    """Path of a file as `located` gives it. Raises DataMissingError."""
    if path := located(file):
        return path
    raise DataMissingError(_absent(file))


def missing_of(files: Iterable[str]) -> str:
    """One sentence about the first of these files that is not there; empty where all are."""
    return next((_absent(file) for file in files if not located(file)), "")


def _absent(file: str) -> str:
    return f"The file {file} is not in the data folder: set MIRROR_DATA_DIR to the folder that holds it."
