"""Questions about rows that became copies: which methods a word means, and settings that stay apart."""

from collections.abc import Iterator

import pytest
from measured_records import record, stored

from db.record import Record
from mirror import ask
from mirror.answer.answer import Answer
from mirror.data.process.sandbox import Sandbox
from mirror.query.spec import Filter

pytestmark = pytest.mark.usefixtures("as_meant")  # what becomes of a reading is tested

# (rows, dim, compression) -> duplicate rows of hashed, hashed_block and double_hash; hashed_mix64 has none.
SETTINGS = {
    (20_000, 16, 0.03): (3_800, 11_000, 1_000),
    (100_000, 16, 0.02): (32_000, 75_000, 3_900),
    (100_000, 16, 0.01): (50_000, 83_000, 8_800),
    (100_000, 64, 0.02): (10, 20, 3_900),
    (300_000, 16, 0.014): (117_000, 235_000, 5_300),
    (300_000, 16, 0.001): (276_000, 295_000, 254_000),
}
HASHES = ("double_hash", "hashed", "hashed_block", "hashed_mix64")


def records() -> Iterator[Record]:
    for (rows, dim, compression), (own, block, double) in SETTINGS.items():
        counts = {
            "hashed": own, "hashed_mix64": 0, "hashed_block": block, "double_hash": double, "row_modulo": rows - 50,
        }  # fmt: skip
        for method, duplicates in counts.items():
            axes = {"num_rows": rows, "embedding_dim": dim, "compression": compression, "seed": 0}
            measured = {"duplicate_rows": duplicates, "memory_mb": rows * dim * compression * 4e-6}
            if method.startswith("hashed"):
                measured["shared_slots"] = 0.9
            yield record("collisions", method, axes, measured)
    for method in ("dense", "hashed", "hashed_reference"):
        size = 1.0 if method == "dense" else 0.1
        axes = {"num_rows": 100_000, "embedding_dim": 16, "compression": size, "batch_size": 64, "seed": 0}
        yield record("lookup", method, axes, {"latency_us": 10.0, "memory_mb": 6.4 * size})


@pytest.fixture(scope="module")
def collided(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with Sandbox(stored(records(), tmp_path_factory.mktemp("collided"))) as box:
        yield box


def asked(question: str, box: Sandbox) -> Answer:
    answer = ask(question, box, use_model=False)
    assert answer.status == "answered", answer.summary
    return answer


def methods(answer: Answer) -> set[object]:
    return set(answer.table.values("method"))


def drawn_methods(answer: Answer) -> tuple[object, ...]:
    return next((f.values for f in answer.spec.filters if f.column == "method"), ())


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("how many identical rows does the reference hash make", {"hashed"}),
        ("how many identical rows does each hash make", set(HASHES)),
        ("duplicate rows per hash", set(HASHES)),
        ("compare the hashes by duplicate rows", set(HASHES)),
        ("duplicate rows of every hash at compression 0.001", set(HASHES)),
        ("compare hashed and hashed_mix64 by duplicate rows", {"hashed", "hashed_mix64"}),
        ("collisions of mix64 against the reference hash", {"hashed", "hashed_mix64"}),
        ("copies of other rows with robe", {"hashed_block"}),
        ("what do collisions look like at compression 0.001", {*HASHES, "row_modulo"}),
        ("duplicate rows by method at 300000 rows", {*HASHES, "row_modulo"}),
        ("how many slots are shared per method", {"hashed", "hashed_block", "hashed_mix64"}),
    ],
)
def test_which_methods_are_meant(question: str, meant: set[str], collided: Sandbox) -> None:
    assert methods(asked(question, collided)) == meant


@pytest.mark.parametrize("question", ["how many identical rows does the reference hash make", "duplicate rows of hash"])
def test_settings_are_never_averaged(question: str, collided: Sandbox) -> None:
    answer = asked(question, collided)
    columns = ("num_rows", "embedding_dim", "compression", "duplicate_rows")
    found = set(zip(*map(answer.table.values, columns), strict=True))
    assert found == {(*setting, counts[0]) for setting, counts in SETTINGS.items()}


def test_the_hash_with_the_fewest_copies_is_named_for_each_kind_of_table(collided: Sandbox) -> None:
    answer = asked("which hash has the fewest duplicate rows", collided)
    assert methods(answer) == {"hashed_mix64"}
    assert set(drawn_methods(answer)) == set(HASHES)
    sizes = set(zip(*map(answer.table.values, ("num_rows", "embedding_dim")), strict=True))
    assert sizes == {(rows, dim) for rows, dim, _ in SETTINGS}


def test_a_family_is_of_the_benchmark_that_has_the_metric(collided: Sandbox) -> None:
    assert set(drawn_methods(asked("which hash has the lowest latency", collided))) == {"hashed", "hashed_reference"}


def test_a_method_by_its_own_name_is_that_one_alone(collided: Sandbox) -> None:
    for question in ("which hashed tables have the most duplicate rows", "duplicate rows by hashed"):
        assert Filter("method", "=", ("hashed",)) in asked(question, collided).spec.filters


def test_settings_that_are_no_grid_have_a_bar_each(collided: Sandbox) -> None:
    chart = asked("how many identical rows does the reference hash make", collided).chart
    assert (chart.type, chart.x, chart.only) == ("bar", None, ())


def test_bars_that_cannot_show_all_settings_show_most_of_them(collided: Sandbox) -> None:
    answer = asked("how many identical rows does each hash make", collided)
    assert (answer.chart.x, answer.chart.facet, answer.chart.color) == ("compression", "num_rows", "method")
    assert answer.chart.only == (("embedding_dim", 16),)
    assert "Only dim 16 is drawn" in answer.chart.reason
