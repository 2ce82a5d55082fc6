"""Where the files of real data sets are. Opens none of them and imports nothing heavy, so that planning stays quick."""

from pathlib import Path

from bench_engine.registry import data_set
from db.settings import ROOT, setting


class DataMissingError(FileNotFoundError):
    """A data file is not there; the message is one sentence that says what to do."""


def data_dir() -> Path:
    """The data folder: MIRROR_DATA_DIR, else `data/` in the repository, else `shared/data/` beside the repository."""
    if given := setting("MIRROR_DATA_DIR"):
        return Path(given).expanduser()
    own, shared = ROOT / "data", ROOT.parent / "shared" / "data"
    return own if own.is_dir() or not shared.is_dir() else shared


def find(file: str) -> Path:
    """Path of a file given relative to the data folder. Raises DataMissingError."""
    path = data_dir() / file
    if not path.is_file():
        raise DataMissingError(_absent(file))
    return path


def missing(dataset: str) -> str:
    """One sentence about the first file that a data set lacks; empty when it can be loaded.

    Raises bench_engine.registry.UnknownNameError for a name that is not registered.
    """
    for file in data_set(dataset).files:
        if not (data_dir() / file).is_file():
            return _absent(file)
    return ""


def _absent(file: str) -> str:
    return f"The file {file} is not in the data folder: set MIRROR_DATA_DIR to the folder that holds it."
