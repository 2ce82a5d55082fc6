"""Writes what the page Settings keeps; `db.settings` reads it."""

import json
from collections.abc import Mapping

from db.settings import KEPT, SettingsError, kept, kept_path
from mirror.query.kept.whole_file import WholeFile


def keep(changes: Mapping[str, str]) -> None:
    """Keep these values; an empty one takes a setting back to its default.

    Raises SettingsError where the file cannot be read or written, and ValueError for a setting that is not one of KEPT.
    """
    if foreign := set(changes) - set(KEPT):
        raise ValueError(f"{', '.join(sorted(foreign))}: the page keeps {', '.join(KEPT)} alone.")
    file = WholeFile(kept_path(), "settings", SettingsError, "MIRROR_SETTINGS")
    with file.turn():
        values = {name: value for name, value in {**kept(), **changes}.items() if value}
        file.write((json.dumps(values, indent=1) + "\n").encode())
