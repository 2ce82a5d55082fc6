"""`data check`: what a file is by its content, and what is said of files that are not whole."""

import errno
import gzip
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench_engine.command import cli
from bench_engine.data.files import data_dir
from bench_engine.data.formats.check_file import as_json, check, lines
from bench_engine.data.formats.distinct import SIZE, Distinct
from bench_engine.registry import DATA_SETS

CRITEO = "\t".join(["1", "-1", *["5"] * 12, *["0123abcd"] * 25, ""]) + "\n"
AVAZU = ",".join(["1000", "0", "14102100", "1005", "0", *["1fbe01fe"] * 19]) + "\n"
AVAZU_HEADER = (
    "id,click,hour,C1,banner_pos,site_id,site_domain,site_category,app_id,app_domain,app_category,device_id,device_ip,"
    "device_model,device_type,device_conn_type,C14,C15,C16,C17,C18,C19,C20,C21\n"
)
INTER = "user_id:token\titem_id:token\trating:float\ttimestamp:float\n1\t2\t5\t99\n1\t3\t2\t98\n"
TEXTS = {
    "Criteo with labels": CRITEO * 2,
    "Criteo without labels": CRITEO[2:] * 2,
    "Avazu with labels": AVAZU_HEADER + AVAZU * 2,
    "Avazu without labels": (AVAZU_HEADER + AVAZU * 2).replace("click,", "").replace(",0,14", ",14"),
    "libfm, 2 features in a line": "-1 3:1 5:0.5\n1 4:1 5:2\n",
    "libfm, 1 to 2 features in a line": "1 3:1\n0 4:1 5:2\n",
    "MovieLens users (::)": "1::F::1::10::48067\n2::M::56::16::70072\n",
    "MovieLens movies (::)": "1::Toy: Story (1995)::Comedy\n2::É (1995)::Drama\n",
    "MovieLens ratings (::)": "1::10::5::978300760\n1::11::3::978300761\n",
    "MovieLens ratings (CSV)": "userId,movieId,rating,timestamp\n1,2,4.0,99\n1,3,3.5,98\n",
    "MovieLens movies (CSV)": 'movieId,title,genres\n1,"A, The (1990)",Drama\n2,B,War\n',
    "typed header (4 columns)": INTER,
    "anime ratings": "User_ID\tAnime_ID\tFeedback\n1\t1\t8\n1\t3\t5\n",
}


def write(tmp_path, content, name="file"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("form", TEXTS)
@pytest.mark.parametrize("packed", [False, True])
def test_a_whole_file_is_known_by_its_content(tmp_path, form, packed):
    text = TEXTS[form].encode("latin-1")
    report = check(write(tmp_path, gzip.compress(text) if packed else text))
    assert (report.format, report.rows, report.problems) == (form, 2, ())
    assert report.whole


@pytest.mark.parametrize(
    ("form", "share"),
    [
        ("Criteo with labels", 1.0),
        ("Criteo without labels", None),
        ("Avazu with labels", 0.0),
        ("libfm, 2 features in a line", 0.5),
        ("MovieLens ratings (::)", 0.5),
        ("MovieLens ratings (CSV)", 0.5),
        ("typed header (4 columns)", 0.5),
        ("anime ratings", 0.5),
        ("MovieLens users (::)", None),
    ],
)
def test_the_share_of_clicks(tmp_path, form, share):
    assert check(write(tmp_path, TEXTS[form].encode("latin-1"))).label_share == share


def test_the_columns_and_how_many_values_they_have(tmp_path):
    columns = {c.name: c.distinct for c in check(write(tmp_path, INTER)).columns}
    assert columns == {"user_id": 1, "item_id": 2, "rating": 2, "timestamp": 2}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (CRITEO * 3 + CRITEO[:30], "file, line 4: the file is cut off in this line (15 of 40 fields): fetch it again."),
        (CRITEO + CRITEO[:30] + "\n" + CRITEO, "file, line 2: it has 15 fields, not 40; mend the line or fetch"),
        (CRITEO + "7" + CRITEO[1:], "file, line 2: label is '7', not 0 or 1"),
        (CRITEO + CRITEO.replace("0123abcd", "0123"), "file, line 2: C1 is '0123', not 8 hexadecimal digits"),
        (AVAZU_HEADER + AVAZU + AVAZU[:30], "file, line 3: the file is cut off in this line"),
        (AVAZU_HEADER + AVAZU.replace("14102100", "14139900"), "file, line 2: hour is '14139900', not an hour"),
        (AVAZU_HEADER, "file holds no rows"),
        ("1 3:1 5:1\n" * 3 + "1 3:1 5:", "file, line 4: the file is cut off in this line: fetch it again."),
        ("1 3:1 5:1\n" * 3 + "1 3:1", "file, line 4: the file is cut off in this line: fetch it again."),
        ("1 3:1\n2 3:1\n1 3:1\n", "file, line 2: the label is '2', not -1, 0 or 1"),
        ("1 3:1\n1 x:1\n1 3:1\n", "file, line 2: 'x:1' is not a feature such as 17:1"),
        ("1 3:1\n0 3:12\n0 3:1", "file, line 3: it is the last line and has no newline, so the file may be cut off"),
        ((AVAZU_HEADER + AVAZU * 2)[:-3], "file, line 3: it is the last line and has no newline"),
        (CRITEO + CRITEO[:-1], "file, line 2: it is the last line and has no newline"),
        (CRITEO + CRITEO[:-1] + "0123", "file, line 2: the file is cut off in this line (C26 is '0123', not 8 hexadec"),
        (INTER[:-2], "file, line 3: it is the last line and has no newline"),
        (gzip.compress(INTER[:-2].encode(), mtime=0), "file, line 3: it is the last line and has no newline"),
        ("1::10::5::978300760\n1::11::3\n", "file, line 2: it has 3 fields, not 4"),
        (CRITEO[2:] + "\t" * 37 + "\n", "file, line 2: it has 38 fields, not 39"),
        (CRITEO + CRITEO.replace("\t5\t", "\t0x1f\t", 1), "file, line 2: I2 is '0x1f', not a whole number or nothing"),
        ("a:token\ta:token\n1\t2\n", "file is text of no format"),
        (gzip.compress(b"", mtime=0), "file is empty: fetch it again."),
        (gzip.compress(b"PAR1" + b"\0" * 100, mtime=0), "file is Parquet packed with gzip: unpack it with gunzip"),
        (INTER + "1\t2", "file, line 4: the file is cut off in this line (2 of 4 fields)"),
        (INTER + "1\t2\tx\t4\n", "file, line 4: rating is 'x', not a number"),
        ("", "file is empty: fetch it again."),
        ("Dear reader,\nthis is a letter.\n", "file is text of no format that is known here: give one of Criteo, "),
        (bytes(range(256)) * 40, "file is binary data of no format"),
        (gzip.compress((CRITEO * 500).encode())[:-9], "file is cut off or damaged"),
        (b"PAR1" + b"\0" * 100, "file cannot be read as Parquet; it is cut off or damaged"),
        (b"PK\x03\x04" + b"\0" * 100, "file is cut off or damaged"),
    ],
)
def test_one_sentence_for_what_is_wrong(tmp_path, text, words):
    report = check(write(tmp_path, text))
    assert not report.whole
    assert len(report.problems) == 1
    assert report.problems[0].startswith(words)
    assert report.problems[0].endswith(".")
    assert str(tmp_path) not in report.problems[0]


def test_lines_that_are_no_utf_8_are_told_of_and_hide_nothing(tmp_path, capfd):
    damaged = b"\xff\xfe\x1b[31mRED\x9b\tx\n"
    report = check(write(tmp_path, CRITEO.encode() * 300 + damaged + CRITEO.encode() + b"7\n"))
    assert report.rows == 301
    assert [p.partition(";")[0] for p in report.problems] == [
        "file, line 301: it has 2 fields, not 40",
        "file, line 303: it has 1 field, not 40",
    ]
    movies = "1::Café::Comedy\n21::Café :: au lait::Comedy::x\n2::Café::War\n".encode("latin-1")
    report = check(write(tmp_path, movies))
    assert report.rows == 2
    assert [p.partition(";")[0] for p in report.problems] == ["file, line 2: it has 5 fields, not 3"]
    assert capfd.readouterr().err == ""


def test_a_rating_that_is_no_number_is_no_label(tmp_path):
    for kind, value in (("token", "bad"), ("float_seq", "1 2 3")):
        report = check(write(tmp_path, f"user_id:token\trating:{kind}\n1\t{value}\n"))
        assert (report.rows, report.label_share, report.problems) == (1, None, ())


def test_empty_lines_are_no_rows(tmp_path):
    assert check(write(tmp_path, CRITEO[2:] + "\n\r\n" + CRITEO[2:] + "\n")).rows == 2


def test_many_problems_are_counted_and_the_good_rows_too(tmp_path):
    report = check(write(tmp_path, CRITEO + "1\t2\n" * 20 + CRITEO))
    assert report.rows == 2
    assert len(report.problems) == 6
    assert report.problems[-1] == "file has 15 more problems like these: fetch the file again."


def test_a_first_line_that_is_damaged_does_not_hide_the_format(tmp_path):
    report = check(write(tmp_path, "1\t2\n" + CRITEO * 3))
    assert (report.format, report.rows) == ("Criteo with labels", 3)
    assert report.problems[0].startswith("file, line 1: it has 2 fields, not 40")


def test_places_where_there_is_no_file(tmp_path):
    assert check(tmp_path / "absent").problems == ("absent is not there: see whether the path is right.",)
    assert check(tmp_path).problems == (f"{tmp_path.name} is a folder: name a file in it.",)
    os.mkfifo(tmp_path / "pipe")
    assert check(tmp_path / "pipe").problems == ("pipe is no regular file: name a file on a disk.",)


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="there is no /proc")
def test_a_file_that_cannot_be_read_from_its_first_byte_on():
    assert check(Path("/proc/self/mem")).problems == (
        "mem cannot be opened (Input/output error): see whether the disk is well.",
    )


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    def refuse(*_args, **_kwargs):
        raise PermissionError(errno.EACCES, "Permission denied")

    path = write(tmp_path, CRITEO)
    monkeypatch.setattr(type(path), "open", refuse)  # root may read whatever its mode says
    assert check(path).problems == (
        "file cannot be opened (Permission denied): let your user read it, as in chmod u+r.",
    )


def test_parquet(tmp_path):
    path = tmp_path / "file"
    ratings = {"userId": [1, 1], "movieId": [2, 3], "rating": [4.0, 3.5], "timestamp": [99, 98]}
    pq.write_table(pa.table(ratings), path)
    report = check(path)
    assert (report.format, report.rows, report.label_share) == ("MovieLens ratings (Parquet)", 2, 0.5)
    assert report.whole
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    assert check(path).problems[0].startswith("file cannot be read as Parquet; it is cut off")
    pq.write_table(pa.table({**ratings, "movieId": [2, None]}), path)
    assert check(path).problems[0].startswith("file has 1 empty values in column movieId")
    pq.write_table(pa.table({**ratings, "rating": ["4", "x"]}), path)
    assert check(path).problems == ("file has no numbers in column rating: give a file with them.",)
    pq.write_table(pa.table({"a": [[1], [2, 3]], "b": [None, "x"]}), path)
    assert check(path).format == "Parquet, no table that is known here"


def test_the_anime_archive_and_other_archives(tmp_path):
    path = tmp_path / "file"
    info = "anime_ids\tname\tgenre\ttype\tepisodes\trating\tmembers\n1\tA\tDrama\tTV\t1\t9\t1\n"
    ratings = TEXTS["anime ratings"]
    for change, words in (("", None), ("1\t", "file: x/anime_ratings.dat, line 4: the file is cut off")):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("x/anime_ratings.dat", ratings + change)
            archive.writestr("x/anime_info.dat", info)
        report = check(path)
        assert (report.format, report.rows) == ("anime ratings and titles (zip)", 2)
        assert [p.startswith(words) for p in report.problems] == ([True] if words else [])
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"Drama", b"Trauma"[:5]))
    assert "damaged" in check(path).problems[0]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("train.txt", CRITEO)
    assert check(path).problems == ("file is a zip of 1 other files: unpack it and check those.",)


@pytest.mark.parametrize("form", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_an_archive_with_damaged_or_encrypted_parts_is_one_sentence(tmp_path, form):
    path = tmp_path / "file"
    with zipfile.ZipFile(path, "w", form) as archive:
        archive.writestr("anime_ratings.dat", TEXTS["anime ratings"])
        archive.writestr("anime_info.dat", "anime_ids\tname\tgenre\ttype\tepisodes\trating\tmembers\n1\t\t\t\t\t\t\n")
        archive.writestr("other", bytes(range(256)) * 9)
        parts = {info.filename: info.header_offset + 30 + len(info.filename) for info in archive.infolist()}
    whole = path.read_bytes()
    for name, start in parts.items():
        path.write_bytes(whole[:start] + b"\xff" * 12 + whole[start + 12 :])
        problems = check(path).problems
        assert len([p for p in problems if " damaged " in p]) == 1, name
        assert all(p.startswith("file") and p.endswith(" again.") for p in problems)
    directory = whole.index(b"PK\x01\x02")
    path.write_bytes(whole[: directory + 8] + b"\x01" + whole[directory + 9 :])
    assert check(path).problems == ("file is encrypted: give an archive without a password.",)


def test_text_and_json(tmp_path, capsys):
    path = write(tmp_path, CRITEO * 3 + CRITEO[:30])
    assert cli.main(["data", "check", str(path)]) == 1
    told = capsys.readouterr().out.splitlines()
    assert told[0] == f"file: Criteo with labels; {path.stat().st_size} bytes, 3 rows, 100.0% clicks"
    assert told[1].startswith("different values: label 1, I1 1, ")
    assert told[2].startswith("file, line 4: ")
    assert cli.main(["data", "check", str(path), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["rows"], found["whole"], len(found["columns"])) == (3, False, 40)
    path.write_text(CRITEO)
    assert cli.main(["data", "check", str(path)]) == 0
    assert capsys.readouterr().out.endswith("It is whole.\n")
    assert list(lines(check(path)))[-1] == "It is whole."
    assert as_json(check(path))["whole"] is True


def test_data_list_names_what_is_missing(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("MIRROR_DATA_DIR", str(tmp_path))
    assert cli.main(["data"]) == cli.main(["data", "list"]) == 0
    assert "The file criteo/train.tsv is not in the data folder" in capsys.readouterr().out
    assert cli.main(["data", "list", "--json"]) == 0
    found = {d["name"]: d for d in json.loads(capsys.readouterr().out)}
    assert found["criteo"]["files"] == ["criteo/train.tsv"]
    assert found["synthetic"]["missing"] == ""


def test_data_commands_import_no_torch():
    code = (
        "import sys; from bench_engine.command import cli; cli.main(['data', 'list']);"
        "cli.main(['data', 'check', 'app.py']);"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"


@pytest.mark.parametrize("values", [0, 1, SIZE - 1, 300_000])
def test_different_values_are_exact_up_to_a_size_and_close_beyond(values):
    distinct = Distinct()
    drawn = np.random.default_rng(0).permutation(np.repeat(np.arange(values), 2))
    for part in np.array_split(drawn, 7):
        distinct.add(pa.array([b"value %d" % v if v % 2 else b"%d" % v for v in part.tolist()], pa.binary()))
    assert distinct.exact == (values < SIZE)
    assert distinct.number == pytest.approx(values, rel=0 if distinct.exact else 0.04)


# The folder may hold files of no data set of ours too.
FOLDERS = {Path(file).parts[0] for data_set in DATA_SETS.values() for file in data_set.files}
REAL = [
    path
    for folder in sorted(FOLDERS)
    for path in sorted((data_dir() / folder).rglob("*"))
    if path.is_file() and not path.name.upper().startswith("README")
]


SMALL = [path for path in REAL if path.stat().st_size < 20_000_000]


@pytest.mark.parametrize(
    "path",
    SMALL or [pytest.param(None, marks=pytest.mark.skip(reason="there is no data folder"))],
    ids=lambda path: getattr(path, "name", "none"),
)
def test_real_files_are_whole(path):
    report = check(path)
    assert report.problems == ()
    assert report.rows > 0
