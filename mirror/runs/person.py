"""Who uses the app, as far as runs need to know: a name to note down, and whether they may change anything."""

from dataclasses import dataclass

ONLY_ASKS = "You may ask here, and start, save or change nothing: whoever runs this app says who may."


@dataclass(frozen=True)
class Person:
    """Somebody at a page.

    Attributes:
        name: of their login; without one `local`, or which password was given.
        may_run: whether they may start and cancel runs, save, and change what is kept on this machine.
    """

    name: str
    may_run: bool = True


LOCAL = Person("local")  # whoever sits at an app that asks nobody who they are
