"""Results that say they started in the future: a clock was wrong, and they would stay the newest for long."""

from datetime import UTC, datetime, timedelta

from db.store import Store

_ALLOWED = timedelta(minutes=1)  # clocks of two machines differ by less


def warning(store: Store) -> str:
    """A sentence about the results from the future and what to do; empty where there are none.

    Raises StoreError where the results cannot be read.
    """
    now = datetime.now(UTC).replace(tzinfo=None)
    (last_of_all,) = store.rows("SELECT max(started_at) AS last FROM trials")
    if last_of_all["last"] is None or last_of_all["last"] <= now + _ALLOWED:  # the view takes longer than all else
        return ""
    sql = "SELECT trial_id, started_at FROM results WHERE started_at > :limit ORDER BY started_at DESC, trial_id"
    found = store.rows(sql, limit=now + _ALLOWED)
    if not found:
        return ""
    last = f"{found[0]['trial_id']} at {found[0]['started_at']:%Y-%m-%d %H:%M} UTC"
    they = f"{len(found)} results say that they" if len(found) > 1 else "1 result says that it"
    again = f"move {store.name} away" if store.path else "delete them from the tables samples, curve_points and trials"
    return (
        f"{they} started in the future ({last}) and would hide newer ones of changed code until then: set the clock of "
        "their machine and run them again there with --force, or take their entries out of the journal, "
        f"{again} and run `python -m bench_engine ingest`."
    )
