"""Where the packages lie that tables are made from."""

import importlib.util
from pathlib import Path


def folder_of(package: str) -> Path:
    """The folder of an installed package. Raises ImportError, with what to do, where it is missing."""
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise ImportError(f"The package {package} is missing: pip install -e '.[train]' in a clone.")
    return Path(found.submodule_search_locations[0])
