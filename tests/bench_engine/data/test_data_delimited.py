"""The reader of delimited files: batches, line numbers, and what it says of lines that do not fit."""

import gzip
import tracemalloc

import pytest

from bench_engine.data.formats import stream as source
from bench_engine.data.formats.delimited import Layout, read
from bench_engine.data.formats.stream import open_text
from bench_engine.data.problems import DataFileError

LAYOUT = Layout("pairs", (("label", "label"), ("number", "integer"), ("hex", "hex")))
NAMED = Layout("pairs", LAYOUT.columns, header=True)
GOOD = "1\t-3\t0123abcd\n0\t\t\n"


def rows(path, layout=LAYOUT, **kwargs):
    with open_text(path) as source:
        return [tuple(row.values()) for batch in read(source, layout, **kwargs) for row in batch.to_pylist()]


def write(tmp_path, text, name="clicks.tsv"):
    path = tmp_path / name
    path.write_bytes(text.encode("latin-1"))
    return path


@pytest.mark.parametrize("text", [GOOD, GOOD[:-1], GOOD.replace("\n", "\r\n"), f"\n{GOOD}\r\n\n"])
def test_reads_fields_as_texts(tmp_path, text):
    assert rows(write(tmp_path, text)) == [(b"1", b"-3", b"0123abcd"), (b"0", b"", b"")]


def test_a_packed_file_is_known_by_its_content(tmp_path):
    path = tmp_path / "clicks.tsv"
    path.write_bytes(gzip.compress(GOOD.encode()))
    assert len(rows(path)) == 2


@pytest.mark.parametrize("block", [64, 100, 1000])
def test_blocks_lose_nothing_and_keep_the_numbers_of_lines(tmp_path, block, monkeypatch):
    monkeypatch.setattr(source, "BLOCK", block)
    lines = [f"{i % 2}\t{i}\t" for i in range(100)]
    lines[40], lines[41], lines[70], lines[90] = "1\t2", "", "2\t3\t", "1\tx\t"
    found = []
    path = write(tmp_path, "\n".join(lines) + "\n")
    kept = rows(path, on_problem=lambda line, what: found.append((line, what.partition(",")[0])))
    assert [int(number) for _, number, _ in kept] == [i for i in range(100) if i not in (40, 41, 70, 90)]
    assert sorted(found) == [(41, "it has 2 fields"), (71, "label is '2'"), (91, "number is 'x'")]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("1\t2", "it has 2 fields, not 3; mend the line"),
        ("1", "it has 1 field, not 3"),
        ("1\t2\t\t", "it has 4 fields, not 3"),
        ("\t2\t", "label is '', not 0 or 1"),
        ("01\t2\t", "label is '01', not 0 or 1"),
        ("1\t2.5\t", "number is '2.5', not a whole number or nothing"),
        ("1\t9999999999999999999\t", "not a whole number"),
        ("1\t2\t0123abc", "hex is '0123abc', not 8 hexadecimal digits"),
        ("1\t2\t0123abcg", "hex is '0123abcg'"),
        ("1\t2\t\xff\x1b[2J", r"hex is '\ufffd\x1b[2J'"),
        ("1\t0x1f\t", "number is '0x1f', not a whole number or nothing"),
        ("1\t1234567890123456789\t", "number is '1234567890123456789', not a whole number"),
        ("\xff\x1b[31m", "it has 1 field, not 3; mend the line or fetch the file again."),
        ("1\t2\r0\t\t", "it has a carriage return or an odd quotation mark inside; mend"),
    ],
)
def test_a_bad_line_is_named_and_stops_the_reading(tmp_path, line, words):
    path = write(tmp_path, f"{GOOD}{line}\n{GOOD}")
    with pytest.raises(DataFileError) as error:
        rows(path)
    assert str(error.value).startswith("clicks.tsv, line 3: ")
    assert words in str(error.value)


def test_a_header_counts_as_a_line(tmp_path):
    with pytest.raises(DataFileError, match="line 4: "):
        rows(write(tmp_path, f"label\tnumber\thex\n{GOOD}1\n"), NAMED)


def test_a_file_cut_mid_line_says_so(tmp_path):
    with pytest.raises(DataFileError, match=r"line 3: the file is cut off in this line \(2 of 3 fields\): fetch it"):
        rows(write(tmp_path, f"{GOOD}1\t2"))


def test_a_file_cut_in_its_last_field_says_so(tmp_path):
    with pytest.raises(DataFileError, match=r"line 3: the file is cut off in this line \(hex is '0123', not 8 hexadec"):
        rows(write(tmp_path, f"{GOOD}1\t2\t0123"))
    with pytest.raises(DataFileError, match=r"line 3: number is 'x', not a whole number or nothing; mend the line"):
        rows(write(tmp_path, f"{GOOD}1\tx\t"))
    found = []
    assert len(rows(write(tmp_path, GOOD[:-1]), on_problem=lambda line, what: found.append((line, what[:38])))) == 2
    assert found == [(2, "it is the last line and has no newline")]
    assert len(rows(write(tmp_path, GOOD[:-4]), on_problem=pytest.fail)) == 1  # one line, which may be made so


def test_quoted_fields_may_hold_delimiters_and_quotation_marks(tmp_path):
    layout = Layout("titles", (("id", "id"), ("title", "text"), ("genre", "text")), ",", quoted=True)
    good = ['1,"A, The ""Old"" One",War', '2,5" x,War', '3,"",War']
    found = []
    path = write(tmp_path, "\n".join([*good, '4,"B,War', "5,B,C,War", "6,B,War", ""]))
    kept = rows(path, layout, on_problem=lambda line, what: found.append((line, what[:25])))
    assert [title for _, title, _ in kept] == [b'A, The "Old" One', b'5" x', b"", b"B"]
    assert found == [(4, "it has a carriage return "), (5, "it has 4 fields, not 3; m")]


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_a_file_without_rows_is_an_error(tmp_path, text):
    with pytest.raises(DataFileError, match="holds no rows"):
        rows(write(tmp_path, text))


def test_a_header_alone_is_an_error(tmp_path):
    with pytest.raises(DataFileError, match="holds no rows"):
        rows(write(tmp_path, "label\tnumber\thex\n"), NAMED)


def test_a_line_without_end_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "BLOCK", 64)
    monkeypatch.setattr(source, "LONGEST", 64)
    with pytest.raises(DataFileError, match="has a line of more than"):
        rows(write(tmp_path, "1" * 1000))


@pytest.mark.parametrize("keep", [0.3, 0.9, 0.999])
def test_a_packed_file_that_is_cut_off_is_one_sentence(tmp_path, keep):
    path = tmp_path / "clicks.tsv.gz"
    whole = gzip.compress(b"".join(b"%d\t%d\t\n" % (i % 2, i * i) for i in range(20_000)))
    path.write_bytes(whole[: int(keep * len(whole))])
    with pytest.raises(DataFileError, match=r"clicks\.tsv\.gz is cut off or damaged"):
        rows(path)


def test_a_file_that_is_not_there_is_one_sentence(tmp_path):
    with pytest.raises(DataFileError, match="cannot be opened"):
        open_text(tmp_path / "absent.tsv")


def test_memory_does_not_grow_with_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "BLOCK", 1 << 14)

    def peak(lines):
        path = write(tmp_path, GOOD * lines)
        tracemalloc.start()
        with open_text(path) as source:
            assert sum(batch.num_rows for batch in read(source, LAYOUT)) == 2 * lines
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(100)  # what is loaded once
    assert peak(100_000) < peak(10_000) + 500_000
