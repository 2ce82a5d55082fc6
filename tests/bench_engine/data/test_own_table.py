"""A CSV or Parquet file of one's own as click data: what is read, how it is split, one sentence for what is wrong."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from bench_engine import registry
from bench_engine.data import ClickData
from bench_engine.data.problems import DataFileError
from bench_engine.data.sets.own_table import column_names, load
from bench_engine.registry import own_data

ROWS = [(f"u{n % 7}", n % 11, n % 2, 100 - n) for n in range(50)]
TEXT = "user,item,click,at\n" + "".join(f"{user},{item},{click},{at}\n" for user, item, click, at in ROWS)


@pytest.fixture
def clicks(tmp_path: Path) -> Path:
    path = tmp_path / "my clicks.csv"
    path.write_text(TEXT)
    return path


def same(one: ClickData, other: ClickData) -> bool:
    arrays = ("train_ids", "train_labels", "test_ids", "test_labels")
    return one.field_rows == other.field_rows and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in arrays
    )


def test_each_value_has_a_row_and_one_more_stands_for_what_training_lacks(clicks: Path) -> None:
    data = load("mine", clicks, "click", ("user", "item"))
    assert data.field_rows == (8, 12)
    assert (len(data.train_labels), len(data.test_labels), data.train_order) == (40, 10, "none")
    assert sorted(np.concatenate([data.train_labels, data.test_labels])) == [0.0] * 25 + [1.0] * 25
    assert same(data, load("mine", clicks, "click", ("user", "item")))
    assert load("mine", clicks, "click").num_tables == 3, "all columns but the label are fields"


def test_a_column_of_times_parts_the_latest_rows(clicks: Path) -> None:
    data = load("mine", clicks, "click", time="at")
    assert data.train_order == "time"
    assert data.num_tables == 2
    assert data.test_labels.tolist() == [click for *_, click, _ in ROWS[9::-1]], "the first rows are the latest"


@pytest.mark.parametrize("kind", [pa.date32(), pa.date64(), pa.timestamp("us"), pa.time32("s"), pa.time64("us")])
def test_dates_and_times_of_day_are_times(clicks: Path, kind: pa.DataType) -> None:
    table = pyarrow.csv.read_csv(clicks)
    unit = 86_400_000 if kind == pa.date64() else 1
    whole = pa.int32() if kind.bit_width == 32 else pa.int64()
    at = pa.array([value.as_py() * unit for value in table["at"]], whole).cast(kind)
    path = clicks.with_name("dated.parquet")
    pq.write_table(table.set_column(3, "at", at), path)
    assert same(load("mine", path, "click", time="at"), load("mine", clicks, "click", time="at"))


@pytest.mark.parametrize("delimiter", ["\t", ";"])
def test_delimiters_quotes_packing_and_parquet_hold_the_same(clicks: Path, delimiter: str) -> None:
    expected = load("mine", clicks, "click", time="at")
    quoted = clicks.with_name("quoted.txt.gz")
    text = TEXT.replace(",", delimiter).replace("u3", '"u3"')
    with pa.CompressedOutputStream(str(quoted), "gzip") as packed:
        packed.write(b"\xef\xbb\xbf" + text.encode())
    parquet = clicks.with_name("mine.parquet")
    pq.write_table(pyarrow.csv.read_csv(clicks), parquet)
    assert column_names(parquet) == column_names(quoted) == ["user", "item", "click", "at"]
    assert same(load("mine", parquet, "click", time="at"), expected)
    assert same(load("mine", quoted, "click", time="at"), expected)


def test_ratings_are_liked_from_a_value_on_and_dates_are_times(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text("user,stars,day\n" + "".join(f"u,{n % 5 + 0.5},2026-01-{30 - n:02}\n" for n in range(20)))
    data = load("mine", path, "stars", liked=3.5, time="day")
    assert data.test_labels.tolist() == [float(n % 5 >= 3) for n in (3, 2, 1, 0)]


def test_an_empty_id_is_a_value(tmp_path: Path) -> None:
    path = tmp_path / "some.parquet"
    pq.write_table(pa.table({"user": [None, "a"] * 10, "click": [1, 0, 0, 1] * 5}), path)
    assert load("mine", path, "click").field_rows == (3,)


@pytest.mark.parametrize("name", ["", "Unnamed: 0", "__index_level_0__"])
def test_the_index_of_pandas_is_no_field(tmp_path: Path, name: str) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(f"{name},user,click\n" + "".join(f"{n},{n % 3},{n % 2}\n" for n in range(40)))
    assert len(load("mine", path, "click").field_rows) == 1


WRONG = [
    ("user,click\na,1\n", {"time": "click"}, "mine.csv: the column 'click' cannot be label and time"),
    ("", {}, "mine.csv is empty: give a file whose first line names its columns."),
    ("user,click\n", {}, "mine.csv holds no rows: fetch it again."),
    ("user,click\na,1\nb,nan\n", {}, "mine.csv, row 2: click is 'nan', not 0 or 1"),
    ("user,click\na,1\nb,\n", {}, "mine.csv, row 2: click is '', not 0 or 1"),
    (
        "user,click\na,3\n",
        {},
        "mine.csv, row 1: click is '3', not 0 or 1 (say from which value on it is a click: liked)",
    ),
    ("user,click\na,nan\n", {"liked": 2.0}, "mine.csv, row 1: click is 'nan', not a number"),
    ("user,click,at\na,1,1\na,1,nan\n", {"time": "at"}, "mine.csv, row 2: at is 'nan', not a time"),
    (
        "user,click\n" + "a,1\n" * 20,
        {},
        "mine.csv has clicks alone in its training part: give a file with rows of both.",
    ),
    ("user,clik\na,1\n", {}, "mine.csv has no column 'click': its columns are user, clik."),
    ("user,click\na,1,2\n", {}, "mine.csv, line 2: it has 3 fields, not 2; mend the line or fetch the file again."),
    ("click\n1\n", {}, "mine.csv has no column of ids beside its label"),
    ("click,click\n1,2\n", {}, "mine.csv has two columns called 'click'"),
    ("user,click\na,1\nb,0\n", {}, "mine has too few rows for a training and a test part"),
]


@pytest.mark.parametrize(("text", "said", "sentence"), WRONG, ids=[sentence for _, _, sentence in WRONG])
def test_what_is_wrong_is_one_sentence(tmp_path: Path, text: str, said: dict, sentence: str) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(text)
    with pytest.raises(DataFileError) as error:
        load("mine", path, "click", **said)
    assert str(error.value).startswith(sentence)


def test_what_is_no_table_is_told(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    for content, sentence in ((b"\xff\xfe\x00\x80", "neither text nor Parquet"), (b"PAR1 cut off", "may be cut off")):
        path.write_bytes(content)
        with pytest.raises(DataFileError, match=sentence):
            load("mine", path, "click")
    with pytest.raises(DataFileError, match="cannot be read"):
        load("mine", tmp_path, "click")


def test_a_file_is_known_to_other_processes_by_its_content(clicks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(own_data.VARIABLE, "")
    monkeypatch.setattr(registry, "DATA_SETS", registry.DATA_SETS.copy())
    own_data.name_table(table := registry.own_table(clicks, "click", ("user", "item"), time="at"))
    (found,) = own_data.named_tables()
    assert found == table
    assert found.name.startswith("my_clicks_")
    assert found.absent == ""
    assert same(found.load().load(), load(found.name, clicks, "click", ("user", "item"), time="at"))
    assert registry.own_table(clicks, "click", ("user",)).name != table.name
    clicks.write_text(TEXT + "u1,1,1,1\n")
    with pytest.raises(DataFileError, match="was changed after the run began"):
        found.load().load()
    clicks.unlink()
    assert "There is no file" in found.absent


def test_empty_times_among_texts_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "days.csv"
    rows = "".join(f"u{n % 3},{n % 2},{'' if n in (3, 18) else f'2026-01-{n + 1:02}'}\n" for n in range(20))
    path.write_text("user,click,day\n" + rows)
    with pytest.raises(DataFileError, match=r"days.csv, row 4: day is .*, not a time"):
        load("mine", path, "click", time="day")


def test_nanoseconds_are_times_and_lists_are_no_ids(tmp_path: Path) -> None:
    rows = range(50)
    at = pa.array([1_700_000_000_000_000_000 + n * 10**9 for n in rows], pa.timestamp("ns"))
    table = pa.table({"user": [f"u{n % 7}" for n in rows], "click": [n % 2 for n in rows], "at": at})
    path = tmp_path / "ns.parquet"
    pq.write_table(table, path)
    assert load("mine", path, "click", time="at").test_labels.tolist() == [n % 2 for n in range(40, 50)]
    pq.write_table(table.append_column("tags", pa.array([[n] for n in rows])), path)
    with pytest.raises(DataFileError, match=r"the column tags holds no single values but list.*leave it out"):
        load("mine", path, "click", time="at")


def test_a_file_with_carriage_returns_is_told(tmp_path: Path) -> None:
    path = tmp_path / "old.csv"
    path.write_bytes(b"user,click\ra,1\rb,0\r")
    with pytest.raises(DataFileError, match="has carriage returns within its first line"):
        load("mine", path, "click")


def test_whole_numbers_and_commas_in_what_is_said_come_back(clicks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(own_data.VARIABLE, raising=False)
    path = clicks.with_name("odd.csv")
    path.write_text('"user, id",item,rating\n' + "".join(f"{n % 5},{n % 3},{n % 6}\n" for n in range(40)))
    own_data.name_table(own_data.own_table(path, "rating", ["user, id", "item"], 4))  # type: ignore[arg-type]
    (found,) = own_data.named_tables()
    assert found.load().load().num_tables == 2


def test_a_mask_of_whole_numbers_is_refused() -> None:
    ids, test = np.arange(10)[:, None], np.array([0] * 8 + [1] * 2)
    labels = np.array([0, 1] * 5, np.float32)
    with pytest.raises(ValueError, match=r"test must be bool \(10,\), not int64"):
        ClickData.split("x", (10,), ids, labels, test)
    assert ClickData.split("x", (10,), ids, labels.astype(np.int64), test == 1).train_labels.dtype == np.float32


@pytest.mark.parametrize("day", ["12/{:02}/2025", "{:02}.12.2025", "2026-1-{}", "u{}"])
def test_texts_that_do_not_sort_as_times_are_refused(tmp_path: Path, day: str) -> None:
    path = tmp_path / "days.csv"
    path.write_text("user,click,day\n" + "".join(f"u,{n % 2},{day.format(n + 1)}\n" for n in range(20)))
    with pytest.raises(DataFileError, match=r"row 1: day is .* not a time such as 2026-01-31"):
        load("mine", path, "click", time="day")


def test_a_file_name_that_is_no_utf8_comes_back(clicks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(own_data.VARIABLE, raising=False)
    path = clicks.rename(os.fsdecode(os.fsencode(clicks.parent) + b"/old\xff.csv"))
    own_data.name_table(table := own_data.own_table(path, "click"))
    assert list(own_data.named_tables()) == [table]
