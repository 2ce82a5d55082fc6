"""Versioned changes to the tables; each is applied once, in a transaction together with its record."""

import hashlib
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from db import schema
from db.columns import COLUMNS, OWN_STEP, own_columns

if TYPE_CHECKING:
    import sqlalchemy as sa


class NewerDatabaseError(RuntimeError):
    """The file was written by a newer version of the code."""


class OtherDataError(NewerDatabaseError):
    """The file holds tables, and none of them is ours."""


def create_tables(connection: "sa.Connection") -> None:
    """The tables of the results contract."""
    from db import tables  # with SQLAlchemy, which is slow to load: only a change of tables needs it

    tables.metadata.create_all(connection)


def add_turns(connection: "sa.Connection") -> None:
    """Groups of trials that take turns: what a trial was compared with, and in which turn each sample was taken."""
    texts, numbers = (
        ("cache", "output", "verdict", "group_id"),
        ("speedup_ci_low", "speedup_ci_high", "baseline_latency_us"),
    )
    for name in texts:
        connection.exec_driver_sql(f"ALTER TABLE trials ADD COLUMN IF NOT EXISTS {name} TEXT")
    for name in numbers:
        connection.exec_driver_sql(f"ALTER TABLE trials ADD COLUMN IF NOT EXISTS {name} DOUBLE PRECISION")
    connection.exec_driver_sql("ALTER TABLE samples ADD COLUMN IF NOT EXISTS turn BIGINT")


def add_grouped_lookups(connection: "sa.Connection") -> None:
    """Axes of lookups of many tables together."""
    for name in ("bag_sizes", "structure", "model"):
        connection.exec_driver_sql(f"ALTER TABLE trials ADD COLUMN IF NOT EXISTS {name} TEXT")


def add_pruned_embeddings(connection: "sa.Connection") -> None:
    """Axes and metrics of embeddings that are pruned while they train, and what a click model was tested on."""
    axes = {"split": "TEXT", "num_chunks": "BIGINT", "prune_interval": "BIGINT", "decay": "DOUBLE PRECISION"}
    axes |= dict.fromkeys(("prune_scope", "utility_score", "layout"), "TEXT")
    metrics = {"regret": "DOUBLE PRECISION", "kept_share": "DOUBLE PRECISION", "restoration_lag_steps": "BIGINT"}
    for name, kind in {**axes, **metrics, "metadata_mb": "DOUBLE PRECISION"}.items():
        connection.exec_driver_sql(f"ALTER TABLE trials ADD COLUMN IF NOT EXISTS {name} {kind}")


def add_embedding_steps(connection: "sa.Connection") -> None:
    """What updates the weights, what prune events add to steps, and one more percentile."""
    kinds = {"optimizer": "TEXT", **dict.fromkeys(("latency_p95_us", "prune_share"), "DOUBLE PRECISION")}
    for name, kind in kinds.items():
        connection.exec_driver_sql(f"ALTER TABLE trials ADD COLUMN IF NOT EXISTS {name} {kind}")


def add_answering(connection: "sa.Connection") -> None:
    """What Mirror was asked, and how much of it it answered right."""
    shares = ("right_share", "right_ci_low", "right_ci_high", "wrong_share", "chart_share")
    kinds = {"category": "TEXT", "question_set": "TEXT", **dict.fromkeys(shares, "DOUBLE PRECISION")}
    for name, kind in {**kinds, "question_count": "BIGINT"}.items():
        connection.exec_driver_sql(f"ALTER TABLE trials ADD COLUMN IF NOT EXISTS {name} {kind}")


def add_collisions(connection: "sa.Connection") -> None:
    """How many rows of a compressed table are copies of others, and how many elements share a slot."""
    for name, kind in {"duplicate_rows": "BIGINT", "shared_slots": "DOUBLE PRECISION"}.items():
        connection.exec_driver_sql(f"ALTER TABLE trials ADD COLUMN IF NOT EXISTS {name} {kind}")


def add_padding(connection: "sa.Connection") -> None:
    """The id that fills up the bags of a lookup."""
    connection.exec_driver_sql("ALTER TABLE trials ADD COLUMN IF NOT EXISTS padding_idx BIGINT")


def add_memory_operators(connection: "sa.Connection") -> None:
    """The benchmark of memory-bound operators, and what it measures."""
    for name, kind in (
        ("operator", "TEXT"),
        ("working_set", "TEXT"),
        ("bandwidth_share", "DOUBLE PRECISION"),
        ("bytes_moved", "BIGINT"),
        ("bytes_predicted", "BIGINT"),
        ("model_regret", "DOUBLE PRECISION"),
        ("model_rank_correlation", "DOUBLE PRECISION"),
    ):
        connection.exec_driver_sql(f"ALTER TABLE trials ADD COLUMN IF NOT EXISTS {name} {kind}")


def add_callables(connection: "sa.Connection") -> None:
    """The shapes of a callable's inputs."""
    connection.exec_driver_sql("ALTER TABLE trials ADD COLUMN IF NOT EXISTS shape TEXT")


def add_own_metrics(connection: "sa.Connection") -> None:
    """What is known of metrics of plug-ins, of which trials from before have points alone."""
    from db import tables

    tables.own_metrics.create(connection, checkfirst=True)
    names = connection.exec_driver_sql(f"SELECT DISTINCT metric FROM curve_points WHERE step = {OWN_STEP}").scalars()
    tables.know_own_metrics(connection, {name: {} for name in names})


# Append only. A later step that adds a column says IF NOT EXISTS, since a new file starts from today's tables.
MIGRATIONS: "tuple[tuple[str, Callable[[sa.Connection], None]], ...]" = (
    ("0001_create_tables", create_tables),
    ("0002_add_turns", add_turns),
    ("0003_add_grouped_lookups", add_grouped_lookups),
    ("0004_add_pruned_embeddings", add_pruned_embeddings),
    ("0005_add_embedding_steps", add_embedding_steps),
    ("0006_add_answering", add_answering),
    ("0007_add_collisions", add_collisions),
    ("0008_add_padding", add_padding),
    ("0009_add_memory_operators", add_memory_operators),
    ("0010_add_callables", add_callables),
    ("0011_add_own_metrics", add_own_metrics),
)


def _views_version() -> str:
    own = schema.view("results", own_columns([("any", "", "", "")]))
    text = repr((schema.VIEWS, own, [schema.comment_of(c.name) for c in COLUMNS], schema.VIEW_COMMENTS))
    return "views:" + hashlib.sha256(text.encode()).hexdigest()[:16]


def missing(applied: Collection[str]) -> list[str]:
    """Names of the changes that a database lacks which has had these. Raises NewerDatabaseError."""
    known = [name for name, _ in MIGRATIONS]
    newer = sorted(n for n in applied if not n.startswith("views:") and n not in known)
    if newer:
        raise NewerDatabaseError(
            f"These results were written by a newer version of Mirror (it knows {newer[0]}, this one does not): "
            "update Mirror, or name another file with MIRROR_DB."
        )
    return [n for n in [*known, _views_version()] if n not in applied]


def pending(connection: "sa.Connection") -> bool:
    """Whether `migrate` has something to do. Raises NewerDatabaseError."""
    from db import tables

    return not tables.has_migrations(connection) or bool(missing(tables.applied(connection)))


def migrate(connection: "sa.Connection") -> bool:
    """Bring tables and views up to date. Returns whether there were none. The caller holds the transaction.

    Raises NewerDatabaseError and OtherDataError.
    """
    from db import postgres, tables

    if connection.dialect.name == "postgresql":
        postgres.begin_change(connection)
    anew = not tables.has_migrations(connection)
    if anew and connection.dialect.name == "duckdb" and (there := tables.names(connection)) and "trials" not in there:
        raise OtherDataError(
            f"This file holds other data ({there[0]} ...) and no results: ask it with `mirror ask --db`, or name a "
            "file of results with --db or MIRROR_DB."
        )
    tables.migrations.create(connection, checkfirst=True)
    lacking = missing(tables.applied(connection))
    for name, step in MIGRATIONS:
        if name in lacking:
            step(connection)
            connection.execute(tables.migrations.insert().values(name=name))
    if _views_version() in lacking:
        create_views(connection)
        of = tables.migrations
        connection.execute(of.delete().where(of.c.name.like("views:%")))
        connection.execute(of.insert().values(name=_views_version()))
    return anew


def create_views(connection: "sa.Connection") -> None:
    """Make the views anew, with the metrics of plug-ins that the results hold. The caller holds the transaction."""
    import sqlalchemy as sa

    from db import postgres, tables

    if connection.dialect.name == "postgresql":
        postgres.begin_change(connection)
    own = tables.own_metrics_of(connection)
    for name in reversed(schema.VIEWS):
        connection.exec_driver_sql(f"DROP VIEW IF EXISTS {name}")
    for name in schema.VIEWS:
        connection.exec_driver_sql(f"CREATE VIEW {name} AS {schema.view(name, own)}")
    for name in schema.VIEWS:
        for column in connection.exec_driver_sql(f"SELECT * FROM {name} WHERE 1 = 0").keys():  # noqa: SIM118 (a result, not a dict)
            text = schema.comment_of(column, own).replace("'", "''").replace(":", r"\:")
            # Not as the driver's own SQL, where PostgreSQL's takes a per cent sign for a parameter.
            connection.execute(sa.text(f"COMMENT ON COLUMN {name}.{column} IS '{text}'"))
