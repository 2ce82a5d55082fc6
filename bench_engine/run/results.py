"""Brings what a run has written to the journal into the results, while it goes on and at its end."""

import contextlib
from collections.abc import Callable, Sequence

from db import future, journal
from db.record import Record
from db.settings import journal_dir
from db.store import Store, StoreBusyError, StoreError


class Results:
    """The results of a store, as a run fills them: the journal has each entry first."""

    def __init__(self, store: Store, say: Callable[[str], None]) -> None:
        """`say` is told in sentences about what could not be brought."""
        self._store = store
        self._say = say
        self._pending: list[Record] = []  # in the journal, not yet in the results

    def open(self) -> None:
        """Make the results ready; what is wrong with them is told before anything runs."""
        if self._store.ensure():  # a new file: what is asked meanwhile is about all that was measured
            self.catch_up()
        journal.recover(self._store)
        if warning := future.warning(self._store):
            self._say(warning)

    def index(self, entries: Sequence[Record]) -> None:
        """Bring trials into the results, so that they can be asked about while the run goes on."""
        self._pending += entries
        with contextlib.suppress(StoreError):  # the journal has it: the next group or `catch_up` tries again
            Store(self._store.url, lock_wait_s=1.0).add(self._pending)
            self._pending.clear()

    def catch_up(self) -> None:
        """Bring into the results what the journal has and they lack: of this run, or of one that was killed."""
        try:
            report = journal.ingest(self._store, [journal_dir(self._store.url)])
        except (StoreError, journal.JournalError) as error:
            hint = "" if isinstance(error, StoreBusyError) else " The trials are safe in the journal."
            self._say(f"{error}{hint} Run `python -m bench_engine ingest` later to bring them into the results.")
        else:
            for line in report.set_aside:
                self._say(f"Set aside: {line}")
