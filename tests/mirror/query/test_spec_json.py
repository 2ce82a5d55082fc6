import contextlib
import dataclasses
import json
import subprocess
import sys
from typing import get_args

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from db import schema
from db.columns import BY_NAME, METRICS
from db.store import Store
from mirror.data.process.sandbox import Sandbox
from mirror.query.change import relative_columns
from mirror.query.spec import ChartType, ChartWish, Filter, Metric, Operator, Order, QuerySpec, Shape
from mirror.query.spec_json import (
    MAX_COLUMNS,
    MAX_FILTERS,
    MAX_LIMIT,
    MAX_VALUES,
    SpecError,
    from_json,
    json_schema,
    to_json,
)
from mirror.query.sql import compile_sql
from mirror.schema.views import KNOWN_COLUMNS

NUMERIC = sorted(c for c, kind in KNOWN_COLUMNS["results"].items() if kind in ("integer", "real"))
DIRECTED = sorted(c for c in METRICS if BY_NAME[c].better)
NOMINAL = sorted(c for c in KNOWN_COLUMNS["results"] if c not in NUMERIC)

words = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), max_size=30)
whole = st.integers(-(2**63), 2**63 - 1)
VALUES = {
    "text": words,
    "integer": whole,
    "real": st.floats(allow_nan=False, allow_infinity=False) | whole,
    "boolean": st.booleans(),
    "timestamp": st.datetimes().map(lambda t: t.isoformat()) | st.dates().map(str),
}


@st.composite
def filters(draw):
    column = draw(st.sampled_from(sorted(KNOWN_COLUMNS["results"])))
    operator = draw(st.sampled_from(get_args(Operator)))
    most = 5 if operator in ("in", "not in") else 1
    values = draw(st.lists(VALUES[KNOWN_COLUMNS["results"][column]], min_size=1, max_size=most))
    return Filter(column, operator, tuple(values))


@st.composite
def changes(draw):
    dimensions = tuple(draw(st.lists(st.sampled_from(NOMINAL), max_size=4, unique=True)))
    return QuerySpec(
        "change",
        (Metric(draw(st.sampled_from(NUMERIC)), draw(st.sampled_from([None, "median"]))),),
        dimensions,
        filters=tuple(draw(st.lists(filters(), max_size=3))),
        source="history",
        split=draw(VALUES["timestamp"]),
        claim=draw(st.sampled_from([None, "better", "worse"])),
    )


@st.composite
def fronts(draw):
    dimensions = tuple(draw(st.lists(st.sampled_from(NOMINAL), min_size=1, max_size=4, unique=True)))
    columns = draw(st.lists(st.sampled_from(DIRECTED), min_size=2, max_size=2, unique=True))
    metrics = tuple(Metric(c, draw(st.sampled_from(["avg", "max", "median"]))) for c in columns)
    return QuerySpec("front", metrics, dimensions, partitions=dimensions[:-1], limit=draw(st.none() | st.just(3)))


@st.composite
def relatives(draw):
    dimensions = tuple(draw(st.lists(st.sampled_from(sorted(KNOWN_COLUMNS["results"])), max_size=3, unique=True)))
    columns = draw(st.lists(st.sampled_from(METRICS), min_size=1, max_size=3, unique=True))
    assume(not set(columns) & {"method", *dimensions})
    dimensions = tuple(dict.fromkeys(["method", *dimensions]))
    inverse = draw(st.booleans())
    outcome = relative_columns(columns[0], inverse).outcome
    return QuerySpec(
        "relative",
        tuple(Metric(c, draw(st.sampled_from(["avg", "max", "median"]))) for c in columns),
        dimensions,
        partitions=dimensions[1:],
        filters=(*draw(st.lists(filters(), max_size=2)), Filter("compression", "=", (0.1,))),
        keep_baseline=draw(st.booleans()),
        order=tuple(draw(st.sampled_from([(), (Order(outcome, True),), (Order("method"),)]))),
        against=Filter("method", "=", (draw(words),)),
        inverse=inverse,
        claim=draw(st.sampled_from([None, "better", "worse"])),
    )


@st.composite
def specs(draw):
    shape = draw(st.sampled_from(get_args(Shape)))
    other = {"change": changes, "front": fronts, "relative": relatives}
    if shape in other:
        return draw(other[shape]())
    aggregates = st.none() if shape in ("points", "rows") else st.sampled_from([None, "avg", "max", "count", "stddev"])
    columns = draw(st.lists(st.sampled_from(NUMERIC), min_size=1, max_size=4, unique=True))
    metrics = tuple(Metric(c, draw(aggregates)) for c in columns)
    dimensions = tuple(draw(st.lists(st.sampled_from(NOMINAL), max_size=4, unique=True)))
    sortable = [*dimensions, "trials"] if shape == "count" else [*(m.alias for m in metrics), *dimensions]
    order = draw(st.lists(st.builds(Order, st.sampled_from(sortable), st.booleans()), min_size=1, max_size=3))
    if shape in ("best", "ranking"):
        order[0] = Order(draw(st.sampled_from([metrics[0].alias, metrics[0].column])), draw(st.booleans()))
    return QuerySpec(
        shape,
        metrics,
        dimensions,
        partitions=dimensions[:1],
        averaged=tuple(draw(st.sampled_from([(), ("dataset",)]))),
        explain=shape == "groups" and draw(st.booleans()),
        filters=tuple(draw(st.lists(filters(), max_size=4))),
        keep_baseline=draw(st.booleans()),
        order=tuple(order),
        limit=draw(st.integers(1, MAX_LIMIT)),
        source=draw(st.sampled_from(["results", "history"])),
        verdicts=shape in ("points", "groups", "best", "ranking") and draw(st.booleans()),
        chart=ChartWish(
            draw(st.none() | st.sampled_from(get_args(ChartType))), draw(st.booleans()), draw(st.booleans())
        ),
        notes=tuple(draw(st.lists(words, max_size=3))),
    )


@settings(deadline=None)  # the first one reads the catalogue
@given(specs())
def test_a_spec_survives_the_way_through_json(spec):
    assert from_json(json.loads(json.dumps(to_json(spec)))) == spec


@settings(max_examples=80, deadline=None)
@given(specs())
def test_what_is_accepted_compiles_to_a_statement_that_runs(box: Sandbox, spec):
    sql = compile_sql(from_json(to_json(spec)))
    assume(sql.replace("\n", "").isprintable())  # the guard refuses what cannot be seen
    box.run(sql, row_cap=1)


BY_LATENCY = {"metrics": [{"column": "latency_us", "aggregate": "median"}], "order": [{"column": "latency_us"}]}


@pytest.mark.parametrize(
    "data",
    [
        *({"shape": "rows", "source": source} for source in KNOWN_COLUMNS),
        *({"shape": "count", "source": source} for source in KNOWN_COLUMNS),
        {"shape": "best", **BY_LATENCY},
        {"shape": "ranking", "limit": 3, **BY_LATENCY},
        {"shape": "groups", "dimensions": ["method"], **BY_LATENCY},
        {"shape": "groups", "source": "curves", "metrics": [{"column": "value"}], "dimensions": ["metric", "step"]},
        {"shape": "count", "distinct": "method", "order": [{"column": "count_method"}]},
        {"shape": "best", "metrics": [{"column": "auc"}, {"column": "auc", "aggregate": "stddev"}],
         "order": [{"column": "auc"}]},
    ],
    ids=str,
)  # fmt: skip
def test_every_source_and_shape_runs(box: Sandbox, data):
    table = box.run(compile_sql(from_json(data)))
    assert len(set(table.names)) == len(table.names)
    if data["shape"] == "groups" and data.get("source") is None:
        medians = table.values("median_latency_us")
        assert list(medians) == sorted(medians)


def test_the_default_of_everything_but_shape():
    assert from_json({"shape": "count"}) == QuerySpec("count")
    fields = {f.name: None for f in dataclasses.fields(QuerySpec)}
    assert from_json({**fields, "shape": "count"}) == QuerySpec("count")


@pytest.mark.parametrize(
    ("column", "operator", "given", "kept"),
    [
        ("batch_size", "=", 64.0, 64),
        ("compression", "<", 1, 1),
        ("is_baseline", "=", True, True),
        ("started_at", ">=", "2026-11-20", "2026-11-20"),
        ("started_at", ">=", "2026-11-20T01:00:00+02:00", "2026-11-19T23:00:00"),
        ("started_at", "<", "20261120T010203", "2026-11-20T01:02:03"),
        ("method", "!=", "dense", "dense"),
        ("method", "==", "naïve 'x' 名", "naïve 'x' 名"),
    ],
)
def test_filter_values_take_the_type_of_their_column(column, operator, given, kept):
    spec = from_json({"shape": "count", "filters": [{"column": column, "operator": operator, "values": [given]}]})
    assert spec.filters == (Filter(column, {"!=": "<>", "==": "="}.get(operator, operator), (kept,)),)
    assert type(spec.filters[0].values[0]) is type(kept)


def points(**changes):
    return {"shape": "points", "metrics": [{"column": "auc", "aggregate": None}], **changes}


def change(**changes):
    return points(shape="change", source="history", split="2026-11-01") | changes


def ranking(**changes):
    return points(shape="ranking", dimensions=["method"], order=[{"column": "auc"}], limit=3) | changes


def relative(**changes):
    against = {"column": "method", "operator": "=", "values": ["dense"]}
    return points(shape="relative", dimensions=["method"], against=against) | changes


def where(column, operator, *values):
    return points(filters=[{"column": column, "operator": operator, "values": list(values)}])


BAD = [
    (points(shape="front"), "metrics: the shape front takes two metrics"),
    (points(shape="front", metrics=[{"column": "auc"}, {"column": "sample_count"}]), "with a direction"),
    (points(shape="relative"), "against is missing, and the shape relative needs it"),
    (relative(dimensions=["dataset"]), "against: method is not among the dimensions"),
    (relative(against={"column": "method", "operator": "<>", "values": ["dense"]}), "has the operator ="),
    (relative(metrics=[{"column": "duration_s", "aggregate": "avg"}], shape="groups"), "against goes with"),
    (points(inverse=True), "inverse is false for the shape points"),
    (points(distinct="method"), "distinct is null for the shape points"),
    (points(explain=True), "explain is false for the shape points"),
    ([], "the query should be an object with the keys shape, metrics"),
    ("SELECT 1", "not 'SELECT 1'"),
    ({}, "shape is missing: it is one of points"),
    (points(shape="pie"), "'relative', 'count', 'rows' or 'change', not 'pie'"),
    (points(shape=["points"]), "shape should be 'points', 'groups'"),
    (points(sql="DROP TABLE trials"), "the query has no key 'sql'"),
    (points(dimension=["method"]), "the nearest is dimensions"),
    (points(metrics=[]), "metrics is missing, and the shape points needs it"),
    (points(metrics="auc"), "metrics should be a valid list, not 'auc'"),
    (points(metrics=["auc"]), "metrics[0] should be an object with the keys column, aggregate, name, not 'auc'"),
    (points(metrics=[{"aggregate": "avg"}]), "metrics[0].column is missing"),
    (points(metrics=[{"column": "latancy_us"}]), "results has no column 'latancy_us'; the nearest is latency_us"),
    (points(metrics=[{"column": "auc); DROP TABLE trials--"}]), "results has no column"),
    (points(metrics=[{"column": 3}]), "metrics[0].column should be a valid string, not 3"),
    (points(metrics=[{"column": "method"}]), "method holds text values and cannot be a metric"),
    (points(metrics=[{"column": "is_baseline", "aggregate": "avg"}]), "cannot be a metric"),
    (points(metrics=[{"column": "auc", "aggregate": "mean"}]), "metrics[0].aggregate should be 'avg', 'min'"),
    (
        points(shape="groups", metrics=[{"column": "auc"}, {"column": "auc", "aggregate": "avg"}]),
        "metrics names auc twice",
    ),
    (points(metrics=[{"column": "auc"}] * (MAX_COLUMNS + 1)), f"metrics: List should have at most {MAX_COLUMNS} items"),
    (points(dimensions=["methods"]), "dimensions[0]: results has no column 'methods'; the nearest is method"),
    (points(dimensions=["zzzzzz"]), "there are trial_id, sweep"),
    (points(dimensions=["status"]), "status is a column of failures, not of results"),
    (points(dimensions=["method", "method"]), "dimensions names method twice"),
    (points(dimensions=["auc"]), "auc is among the metrics and the dimensions"),
    (points(dimensions={"method": 1}), "dimensions should be a valid list, not {'method': 1}"),
    (points(partitions=["dataset"]), "partitions[0]: dataset is not among the dimensions"),
    (points(filters=[{"column": "method", "values": ["dense"]}]), "filters[0].operator is missing"),
    (where("auc", "like", 1), "filters[0].operator should be '=', '<>'"),
    (where("auc", ["="], 1), "filters[0].operator should be '='"),
    (where("auc", "="), "filters[0].values is empty"),
    (where("auc", "=", 1, 2), "the operator = takes one value, not 2"),
    (where("auc", "=", "0.7"), "filters[0].values[0]: auc takes a number without quotes or unit, not '0.7'"),
    (where("auc", "=", True), "auc takes a number"),
    (where("auc", ">", None), "auc takes a number"),
    (where("auc", ">", float("nan")), "nan is no number that auc can hold"),
    (where("auc", ">", float("inf")), "inf is no number that auc can hold"),
    (where("seed", "=", 2**63), "is no number that seed can hold"),
    (where("seed", "=", 10**5000), "a number of that size is no number that seed can hold"),
    (where("batch_size", "=", 0.5), "batch_size takes a whole number"),
    (where("method", "=", 5), "method takes a text, not 5"),
    (where("method", "=", ["dense"]), "method takes a text"),
    (where("method", "=", "a\0b"), "a character that is no text"),
    (where("method", "=", "\ud800"), "a character that is no text"),
    (where("method", "=", "x" * 301), "has 301 characters: 300 is the most"),
    (
        where("method", "in", *["x"] * (MAX_VALUES + 1)),
        f"filters[0].values: List should have at most {MAX_VALUES} items",
    ),
    (where("is_baseline", "=", "true"), "is_baseline takes true or false"),
    (where("is_baseline", "=", 1), "is_baseline takes true or false"),
    (where("started_at", ">", "last week"), "'last week' is no time"),
    (where("started_at", ">", "2026-13-01"), "is no time"),
    (where("started_at", ">", "0001-01-01T00:00:00+10:00"), "is no time"),
    (where("started_at", ">", 1763600000), "started_at takes a time"),
    (
        points(filters=[where("auc", "=", 1)["filters"][0]] * (MAX_FILTERS + 1)),
        f"filters: List should have at most {MAX_FILTERS} items",
    ),
    (points(keep_baseline="yes"), "keep_baseline should be a valid boolean, not 'yes'"),
    (points(order=[{"column": "memory"}], shape="groups"), "order[0].column: the result has no column 'memory'"),
    (
        points(order=[{"column": "auc", "descending": "desc"}]),
        "order[0].descending should be a valid boolean, not 'desc'",
    ),
    (points(order=[{"column": "n"}]), "the result has no column 'n'"),
    (ranking(limit=None), "limit is missing, and the shape ranking needs it"),
    (ranking(order=[]), "order is missing, and the shape ranking needs it"),
    (ranking(order=[{"column": "method"}]), "order[0].column: the shape ranking is ordered by its leading metric auc"),
    (ranking(shape="best", order=[{"column": "n"}]), "the shape best is ordered by its leading metric auc"),
    (points(metrics=[{"column": "auc", "aggregate": "avg"}]), "metrics[0].aggregate is null for the shape points"),
    (points(shape="count", order=[{"column": "auc"}]), "the result has no column 'auc'"),
    (ranking(limit=0), "limit should be greater than or equal to 1, not 0"),
    (ranking(limit=True), "limit should be a valid integer, not True"),
    (ranking(limit="5"), "limit should be a valid integer, not '5'"),
    (ranking(limit=MAX_LIMIT + 1), f"limit should be less than or equal to {MAX_LIMIT}, not 10001"),
    (points(source="trials"), "source should be 'results', 'failures'"),
    (points(source="results; DROP TABLE trials"), "source should be 'results'"),
    (points(chart="bar"), "chart should be an object with the keys type, log_x, log_y"),
    (points(chart={"type": "pie"}), "chart.type should be 'scatter'"),
    (points(chart={"log_x": 1}), "chart.log_x should be a valid boolean, not 1"),
    (points(notes="none"), "notes should be a valid list, not 'none'"),
    (points(notes=[{}]), "notes[0] should be a valid string, not {}"),
    ({"shape": "count", "source": "curves", "keep_baseline": True}, "keep_baseline is false for curves"),
    (change(split=None), "split is missing, and the shape change needs it"),
    (change(split="last week"), "split: 'last week' is no time"),
    (change(source="failures", metrics=[{"column": "duration_s"}]), "the shape change reads history, not failures"),
    (change(metrics=[{"column": "auc"}, {"column": "logloss"}]), "the shape change takes one metric"),
    (change(metrics=[{"column": "auc", "aggregate": "max"}]), "the shape change takes one metric"),
    (change(metrics=[{"column": "method", "aggregate": "count"}]), "the shape change takes one metric"),
    (change(verdicts=True), "verdicts is false for the shape change of history"),
    (change(claim="faster"), "claim: faster does not fit"),
    (change(claim="nicer"), "claim should be 'faster', 'slower', 'better' or 'worse', not 'nicer'"),
    (change(order=[{"column": "auc"}]), "order[0].column: the result has no column 'auc'"),
    (points(within=2), "within should be less than or equal to 1, not 2"),
    (points(within=True), "within should be a valid number, not True"),
    (points(within=float("nan")), "within should be"),
    (points(limit=10**5000), "not a number of that size"),
    (points(metrics=[{"column": "auc", "name": "x"}]), "metrics[0].name is null, or for the column value"),
    (points(metrics=[{"column": "auc", "unit": "ms"}]), "metrics[0] has no key 'unit'"),
    (points(chart={"colour": 1}), "chart has no key 'colour'"),
    (points(split="2026-11-01"), "split is null for the shape points"),
    (points(claim="worse"), "claim: worse does not fit"),
    (points(verdicts="yes"), "verdicts should be a valid boolean, not 'yes'"),
    ({"shape": "count", "source": "curves", "verdicts": True}, "verdicts is false for the shape count of curves"),
    ({"shape": "points", "source": "curves", "metrics": [{"column": "auc"}]}, "auc is a column of results and history"),
]


@pytest.mark.parametrize(("data", "sentence"), BAD, ids=[f"{i}-{s[:30]}" for i, (_, s) in enumerate(BAD)])
def test_bad_input_is_one_clear_sentence(data, sentence):
    with pytest.raises(SpecError) as caught:
        from_json(data)
    text = str(caught.value)
    assert sentence in text
    assert "\n" not in text
    assert text.endswith(".")
    assert len(text) < 1100


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["auc", "="]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["shape", "metrics", "filters", "column", "values", "order", "limit", "chart", "x"]),
                inner,
            )
        ),
        max_leaves=12,
    )
)
def test_any_json_is_a_spec_or_a_spec_error(data):
    with contextlib.suppress(SpecError):
        assert isinstance(from_json({"shape": "rows", **data} if isinstance(data, dict) else data), QuerySpec)


def test_results_can_be_sorted_by_what_a_shape_adds():
    def ordered(shape, column, **more):
        return from_json(points(shape=shape, dimensions=["method"], order=[{"column": column}], **more)).order

    assert ordered("groups", "n") == (Order("n"),)
    assert ordered("groups", "stddev_auc") == (Order("stddev_auc"),)
    assert ordered("count", "trials") == (Order("trials"),)
    assert ordered("points", "started_at") == (Order("started_at"),)
    highest = [{"column": "auc", "aggregate": "max"}]
    assert ordered("best", "max_auc", metrics=highest) == (Order("max_auc"),)
    assert ordered("best", "auc", metrics=highest) == (Order("auc"),)


def test_known_columns_are_those_of_the_views(tmp_path):
    store = Store(str(tmp_path / "r.duckdb"))
    store.ensure()
    snapshot = store.snapshot()
    for_sql_alone = {"budget_share"}
    assert {source: list(columns) for source, columns in KNOWN_COLUMNS.items()} == {
        source: [c for c in snapshot[source].column_names if c not in for_sql_alone] for source in schema.EXPOSED
    }
    arrow = {"string": "text", "large_string": "text", "int64": "integer", "double": "real", "bool": "boolean"}
    for source, columns in KNOWN_COLUMNS.items():
        for name, kind in columns.items():
            assert arrow.get(str(snapshot[source].schema.field(name).type), "timestamp") == kind, (source, name)


def test_the_schema_is_strict_and_follows_the_dataclass():
    schema_ = json_schema()
    assert list(schema_["properties"]) == [f.name for f in dataclasses.fields(QuerySpec)]
    filter_ = schema_["properties"]["filters"]["items"]["properties"]
    assert filter_["operator"]["enum"] == list(get_args(Operator))
    assert {"auc", "status", "step"} <= set(filter_["column"]["enum"])
    assert schema_["properties"]["source"]["enum"] == list(schema.EXPOSED)

    def objects(node):
        if isinstance(node, dict):
            if node.get("type") == "object":
                yield node
            for child in node.values():
                yield from objects(child)

    found = list(objects(schema_))
    assert len(found) == 5
    for node in found:
        assert node["additionalProperties"] is False
        assert node["required"] == list(node["properties"])


def test_pydantic_is_loaded_only_where_a_language_model_is_asked():
    code = "import sys, mirror.answer.answering; sys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
