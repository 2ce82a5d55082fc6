"""What the results hold of some trials, by their identities."""

from collections.abc import Mapping, Sequence
from typing import Any

from bench_engine.trial import Trial
from db.store import Store

Row = Mapping[str, Any]


def rows_of(store: Store, trials: Sequence[tuple[str, Trial]], measured: Sequence[str]) -> tuple[Row, ...]:
    """What the results hold of trials, by their identities: of each the newest result, else the newest failure.

    A row has method, axes, trial_id, status, error, environment and the columns `measured`; a trial that never ended
    has none.
    """
    if not trials:
        return ()
    places = {f"identity_{number}": identity for number, (identity, _) in enumerate(trials)}
    of_these = f"identity IN ({', '.join(f':{place}' for place in places)})"
    said = store.rows(f"SELECT identity, trial_id, status, error, environment FROM trials WHERE {of_these}", **places)
    newest: dict[str, Row] = {}
    for row in sorted(said, key=lambda r: (r["status"] == "ok", int(r["trial_id"].rpartition("-")[2]))):
        newest[row["identity"]] = row
    ids = {f"id_{number}": row["trial_id"] for number, row in enumerate(newest.values())}
    if not ids:
        return ()
    columns = ", ".join(("trial_id", *measured))
    sql = f"SELECT {columns} FROM history WHERE trial_id IN ({', '.join(f':{name}' for name in ids)})"
    found = {row["trial_id"]: row for row in store.rows(sql, **ids)}
    nothing = dict.fromkeys(measured)
    return tuple(
        {
            "method": trial.method,
            **trial.config,
            **newest[identity],
            **found.get(newest[identity]["trial_id"], nothing),
        }
        for identity, trial in trials
        if identity in newest
    )
