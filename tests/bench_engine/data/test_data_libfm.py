"""The libfm reader, and Frappe on top of it."""

import numpy as np
import pytest

from bench_engine.data.formats.check_file import check
from bench_engine.data.formats.libfm import LABELS, LibfmError, read
from bench_engine.data.sets import frappe
from bench_engine.registry import missing

ROWS = (3, 2)  # features 0-2 and 3-4


def write(tmp_path, text):
    path = tmp_path / "clicks.libfm"
    path.write_bytes(text.encode("latin-1"))
    return path


def whole(path, **kwargs):
    parts = list(read(path, ROWS, **kwargs))
    return np.concatenate([p[0] for p in parts]).tolist(), np.concatenate([p[1] for p in parts]).tolist()


@pytest.mark.parametrize(
    "text",
    [
        "-1 0:1 3:1\n1 2:1 4:1\n",
        "0 0:1 3:1\n1 2:1 4:1\n",
        "-1 0:1 3:1\n1 2:1 4:1",  # no newline at the end
        "-1 0:1 3:1\r\n1\t2:1  4:1\r\n\r\n",
        "-1.0 0:1 3:1\n+1 2:1 4:1\n",
    ],
)
def test_reads_ids_and_labels(tmp_path, text):
    assert whole(write(tmp_path, text)) == ([[0, 3], [2, 4]], [0.0, 1.0])


def test_chunks_are_bounded_and_lose_nothing(tmp_path):
    path = write(tmp_path, "".join(f"{i % 2} {i % 3}:1 {3 + i % 2}:1\n" for i in range(10)))
    for rows in (1, 3, 5, 10, 11):
        parts = list(read(path, ROWS, chunk_rows=rows))
        assert max(len(p[0]) for p in parts) <= rows
        assert whole(path, chunk_rows=rows) == whole(path)
    assert len(whole(path)[1]) == 10


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("1 0:1 3:", "'3:' is not a feature"),
        ("1 0:1 3", "'3' is not a feature"),
        ("1 0:1", "it has 1 features, not 2"),
        ("1", "it has 0 features, not 2"),
        ("1 0:1 3:1 4:1", "it has 3 features, not 2"),
        ("2 0:1 3:1", "the label is '2'"),
        ("0:1 3:1", "the label is '0:1'"),
        ("1 x:1 3:1", "'x:1' is not a feature"),
        ("1 -1:1 3:1", "'-1:1' is not a feature"),
        ("1 0:1 3:0.5", "'3:0.5' is not a feature"),
        ("1 3:1 0:1", "outside its field, 0 to 2"),
        ("1 0:1 5:1", "outside its field, 3 to 4"),
        ("1 0:1 99999999999999999999999:1", "outside its field"),
        ("\xff\x00 0:1 3:1", "the label is"),
    ],
)
def test_a_bad_line_is_named(tmp_path, line, words):
    path = write(tmp_path, f"1 0:1 3:1\n\n{line}\n1 0:1 3:1\n")
    with pytest.raises(LibfmError) as error:
        whole(path)
    assert str(error.value).startswith("clicks.libfm, line 3: ")
    assert words in str(error.value)


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_a_file_without_lines_is_an_error(tmp_path, text):
    with pytest.raises(LibfmError, match="holds no lines"):
        whole(write(tmp_path, text))


@pytest.mark.parametrize("label", [*LABELS, b"2", b"x"])
def test_the_check_takes_the_labels_that_the_reader_takes(tmp_path, label):
    path = tmp_path / "clicks.libfm"
    path.write_bytes(b"1 0:1 3:1\n" + label + b" 0:1 3:1\n")
    assert check(path).whole == (label in LABELS)
    if label in LABELS:
        assert whole(path)[1] == [1.0, LABELS[label]]


def test_frappe_keeps_the_joint_feature_numbers(tmp_path, monkeypatch):
    monkeypatch.setenv("MIRROR_DATA_DIR", str(tmp_path))
    (tmp_path / "frappe").mkdir()
    low = "1 0:1 957:1 5039:1 5046:1 5053:1 5055:1 5058:1 5060:1 5069:1 5149:1\n"
    high = "-1 956:1 5038:1 5045:1 5052:1 5054:1 5057:1 5059:1 5068:1 5148:1 5381:1\n"
    (tmp_path / "frappe" / "frappe.validation.libfm").write_text(low + high)
    (tmp_path / "frappe" / "frappe.test.libfm").write_text(high)
    data = frappe.load()
    assert data.num_rows == 5382
    assert data.num_tables == 10
    assert data.train_labels.tolist() == [1, 0]
    assert data.train_ids[0, :3].tolist() == [0, 957, 5039]
    assert data.test_ids[0, -1] == 5381


@pytest.mark.skipif(bool(missing("frappe")), reason=missing("frappe"))
def test_real_frappe():
    data = frappe.load()
    assert (len(data.train_ids), len(data.test_ids)) == (57_722, 28_860)
    assert data.train_labels.mean() == pytest.approx(1 / 3, abs=0.01)
