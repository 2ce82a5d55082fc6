"""Where the files of real data sets are. Opens none of them and imports nothing heavy, so that planning stays quick."""

from pathlib import Path

from bench_engine.registry import data_set
from db.settings import ROOT, setting

# Names that files have where they are published; text may be packed besides, with or without the ending .gz.
_PUBLISHED = {"criteo/train.tsv": "criteo/train.txt", "avazu/train.csv": "avazu/train.gz"}
_BINARY = (".parquet", ".zip")


class DataMissingError(FileNotFoundError):
    """A data file is not there; the message is one sentence that says what to do."""


def data_dir() -> Path:
    """The data folder: MIRROR_DATA_DIR, else `data/` in the repository, else `shared/data/` beside the repository."""
    if given := setting("MIRROR_DATA_DIR"):
        return Path(given).expanduser()
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


def missing(dataset: str) -> str:
    """One sentence about the first file that a data set lacks; empty when it can be loaded.

    Raises bench_engine.registry.UnknownNameError for a name that is not registered.
    """
    for file in data_set(dataset).files:
        if not located(file):
            return _absent(file)
    return ""


def _absent(file: str) -> str:
    return f"The file {file} is not in the data folder: set MIRROR_DATA_DIR to the folder that holds it."
