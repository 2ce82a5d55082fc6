"""Where a run goes over ssh: `ssh://[user@]host[:port][/folder]`, read so that no word of it can mean anything else."""

import re
from dataclasses import dataclass
from urllib.parse import unquote

from bench_engine.run.executors import ExecutorError

SCHEME = "ssh://"
FOLDER = "~/mirror-bench"
# Nothing that begins with a dash, which ssh would take for an option, and nothing that a shell reads as more than text.
_PLACE = re.compile(
    r"(?:(?P<user>[A-Za-z0-9_][A-Za-z0-9_.-]{0,63})@)?"
    r"(?P<host>[A-Za-z0-9_][A-Za-z0-9_.-]{0,253}|\[[0-9A-Fa-f:.]+\])"
    r"(?::(?P<port>[0-9]{1,5}))?"
)


class DestinationError(ExecutorError):
    """An address that names no machine to run on."""


@dataclass(frozen=True)
class Destination:
    """A machine that ssh reaches.

    Attributes:
        host: a name, an alias of ssh's own configuration or an address, without brackets.
        user, port: empty and 0 for what ssh takes by itself.
        folder: where all is kept there; one that begins with `~/` is in the home folder.
    """

    host: str
    user: str = ""
    port: int = 0
    folder: str = FOLDER

    @property
    def arguments(self) -> list[str]:
        """The words of ssh's command line that name the machine."""
        user = ["-l", self.user] if self.user else []
        port = ["-p", str(self.port)] if self.port else []
        return [*user, *port, "--", self.host]

    @property
    def by_hand(self) -> str:
        """The command that a person types to get there."""
        port = f"-p {self.port} " if self.port else ""
        return f"ssh {port}{self.user + '@' if self.user else ''}{self.host}"


def parse(text: str) -> Destination:
    """The destination of `ssh://[user@]host[:port][/folder]`. Raises DestinationError."""
    place, slash, folder = text.removeprefix(SCHEME).partition("/")
    found = _PLACE.fullmatch(place)
    if not text.startswith(SCHEME) or found is None or not 0 <= int(found["port"] or 1) - 1 < 65535:
        raise DestinationError(
            f"{text!r:.100} names no machine: write ssh://[user@]host[:port][/folder], with letters, digits, dots, "
            "dashes and underscores in user and host, and no dash before them."
        )
    folder = unquote(folder)
    if not folder.isprintable():
        raise DestinationError(f"{text!r:.100}: the folder holds a character that cannot be seen: leave it out.")
    if not folder.rstrip("/"):
        folder = FOLDER
    elif not folder.startswith("~/"):
        folder = slash + folder
    return Destination(found["host"].strip("[]"), found["user"] or "", int(found["port"] or 0), folder)
