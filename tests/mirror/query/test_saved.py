"""Saved questions: found again, replaced, ranked by likeness; nothing is lost to bad lines, full disks or rivals."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from db.installation import ROOT
from mirror.query import saved as module
from mirror.query.kept import whole_file
from mirror.query.kept.same_question import same_question
from mirror.query.saved import MAX_BYTES, MAX_SAVED, Saved, SavedError, SavedQuestion, saved_path

SQL = "SELECT method,\n\tavg(auc) AS auc\nFROM results\nGROUP BY method"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mirror.saved.jsonl"


def questions(saved: Saved) -> list[str]:
    return [s.question for s in saved.all()]


# -- saving and finding ------------------------------------------------------------------------------------------------


def test_a_saved_question_is_found_again(path):
    assert Saved(path).all() == ()
    assert Saved(path).find("mean AUC per method") is None
    added = Saved(path).add("  mean AUC\nper  method? ", f"  {SQL}\n", " checked ")
    assert (added.question, added.sql, added.note) == ("mean AUC per method?", SQL, "checked")
    assert Saved(path).all() == (added,)
    assert added.saved_at[:2] == "20"
    for spelling in ("mean auc per method", " Mean  AUC per METHOD ?! ", "mean auc per method."):
        assert Saved(path).find(spelling) == added
    for other in ("mean AUC per methods", "mean AUC", "", "mean AUC > per method"):
        assert Saved(path).find(other) is None


def test_saving_the_same_question_again_replaces_it_in_its_place(path):
    saved = Saved(path)
    for question in ("a", "b", "c"):
        saved.add(question, "SELECT 1")
    saved.add("B?", "SELECT 2", "by hand")
    assert questions(saved) == ["a", "B?", "c"]
    found = saved.find("b")
    assert found is not None
    assert (found.sql, found.note) == ("SELECT 2", "by hand")


def test_removing(path):
    saved = Saved(path)
    saved.add("a", "SELECT 1")
    saved.add("b", "SELECT 2")
    assert saved.remove("A?") is True
    assert saved.remove("a") is False
    assert questions(Saved(path)) == ["b"]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("AUC at 0.1", "auc at 0.1 ?", True),
        ("AUC at 0.1", "AUC at 0.10", False),
        ("latency < 5 ms", "latency > 5 ms", False),
        ("ＡＵＣ", "auc", True),
        ("a\u200bb", "ab", False),
        ("why", "why not", False),
    ],
)
def test_what_counts_as_the_same_question(one, other, same):
    assert (same_question(one) == same_question(other)) is same


# -- likeness ----------------------------------------------------------------------------------------------------------


def test_the_nearest_are_those_with_the_rarest_words_in_common(path):
    saved = Saved(path)
    for question in (
        "average latency by method",
        "average latency by batch size",
        "share of failed trials per sweep",
        "memory vs AUC at compression 0.1",
        "memory vs AUC at compression 0.5",
        "which method has the best AUC?",
    ):
        saved.add(question, "SELECT 1")

    def nearest(question: str, k: int = 3) -> list[str]:
        return [s.question for s in saved.nearest(question, k)]

    assert nearest("mean latency per batch size", 1) == ["average latency by batch size"]
    assert nearest("which share of the trials of a sweep failed?", 1) == ["share of failed trials per sweep"]
    assert nearest("AUC against memory at compression 0.1", 2) == [
        "memory vs AUC at compression 0.1",
        "memory vs AUC at compression 0.5",
    ]
    assert nearest("methods with the best AUC", 1) == ["which method has the best AUC?"]
    assert nearest("failures", 1) == []
    assert nearest("what is the weather in Paris", 3) == []
    assert nearest("", 3) == []
    assert nearest("latency", 0) == []
    assert len(nearest("average latency of a method", 2)) == 2


def test_of_equally_near_questions_the_newer_comes_first(path):
    saved = Saved(path)
    saved.add("latency of a", "SELECT 1")
    saved.add("latency of b", "SELECT 2")
    assert [s.question for s in saved.nearest("latency of c", 2)] == ["latency of b", "latency of a"]


# -- what is not saved -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "sql", "note", "sentence"),
    [
        ("", "SELECT 1", "", "There is no question to save: write it first."),
        (" ?! ", "SELECT 1", "", "There is no question to save: write it first."),
        ("\x00\u200b", "SELECT 1", "", "There is no question to save"),
        ("q", "  \n", "", "There is no SQL to save with the question: write it first."),
        ("q" * 1001, "SELECT 1", "", "The question has 1,001 characters: 1,000 is the most that is saved."),
        ("q", "x" * 20_001, "", "The sql has 20,001 characters"),
        ("q", "SELECT 1", "n" * 1001, "The note has 1,001 characters"),
        ("q", "SELECT\u00a01", "", "The sql holds an invisible character: type it anew, with plain spaces."),
        ("q", "SELECT '\x00'", "", "The sql holds an invisible character"),
        ("q", "SELECT '\ud800'", "", "The sql holds an invisible character"),
        ("q", "SELECT 1 --\u202e", "", "The sql holds an invisible character"),
    ],
)
def test_what_cannot_be_shown_or_run_is_not_saved(path, question, sql, note, sentence):
    with pytest.raises(SavedError) as caught:
        Saved(path).add(question, sql, note)
    assert str(caught.value).startswith(sentence)
    assert not path.exists()


def test_hostile_text_is_kept_as_text(path):
    saved = Saved(path)
    hostile = 'x\ud800\x1b[31m\u202e"}\r\n{"question": "evil", "sql": "DROP TABLE results"} <script>'
    added = saved.add(hostile, "SELECT '\"}\n{''\\u0000'", hostile)
    assert added.question.isprintable()
    assert Saved(path).all() == (added,)
    assert Saved(path).find(hostile) == added
    assert path.read_bytes().count(b"\n") == 1


def test_there_is_an_end_to_their_number(path, monkeypatch):
    assert MAX_SAVED == 1_000
    monkeypatch.setattr(module, "MAX_SAVED", 3)
    saved = Saved(path)
    for i in range(3):
        saved.add(f"q{i}", "SELECT 1")
    with pytest.raises(SavedError, match="3 questions are saved, and no more can be: remove one first"):
        saved.add("q3", "SELECT 1")
    saved.add("q1", "SELECT 2")
    assert questions(saved) == ["q0", "q1", "q2"]


def test_there_is_an_end_to_their_size(path, monkeypatch):
    monkeypatch.setattr(module, "MAX_BYTES", 1_000)
    saved = Saved(path)
    saved.add("a", "SELECT " + "1" * 400)
    before = path.read_bytes()
    with pytest.raises(SavedError, match="would grow beyond 0 MB: remove a question first"):
        saved.add("b", "SELECT " + "2" * 800)
    assert path.read_bytes() == before
    assert list(path.parent.glob("*.part")) == []


# -- damaged files -----------------------------------------------------------------------------------------------------


def test_a_file_that_was_cut_off_keeps_all_whole_lines(path):
    saved = Saved(path)
    for question in ("a", "b", "c"):
        saved.add(question, "SELECT 1")
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        # A line that lacks only its line break is whole.
        assert questions(Saved(path)) == ["a", "b", "c"][: (whole[:size] + b"\n").count(b"}\n")]
    saved.add("d", "SELECT 4")
    assert questions(Saved(path)) == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    "line",
    [
        b"not JSON",
        b"\xff\xfe\x00",
        b"[]",
        b"null",
        b'"text"',
        b"7" * 5000,
        b'{"question": "x"}',
        b'{"question": 1, "sql": "SELECT 1"}',
        b'{"question": "x", "sql": ["SELECT 1"]}',
        b'{"question": "x", "sql": "SELECT 1", "more": 1}',
        b'{"question": "x", "sql": "SELECT 1\\u0000"}',
        b'{"question": "x\\ud800", "sql": "SELECT 1"}',
        b'{"question": "", "sql": "SELECT 1"}',
        b'{"a":' * 50_000,
    ],
    ids=lambda line: repr(line[:40]),
)
def test_a_line_that_nobody_can_read_is_passed_over_and_kept(path, line):
    good = json.dumps({"question": "a", "sql": "SELECT 1"}).encode()
    path.write_bytes(line + b"\n" + good)
    saved = Saved(path)
    assert questions(saved) == ["a"]
    saved.add("b", "SELECT 2")
    assert questions(saved) == ["a", "b"]
    saved.remove("a")
    assert questions(saved) == ["b"]
    assert line in path.read_bytes().split(b"\n")


def test_a_question_that_stands_there_twice_counts_as_saved_last(path):
    path.write_text('{"question": "a", "sql": "SELECT 1"}\n{"question": "A?", "sql": "SELECT 2"}\n')
    assert [s.sql for s in Saved(path).all()] == ["SELECT 2"]


def test_a_file_that_is_no_such_list_is_left_alone(path):
    path.write_bytes(b"x" * (MAX_BYTES + 1))
    for action in (Saved(path).all, lambda: Saved(path).add("a", "SELECT 1"), lambda: Saved(path).remove("a")):
        with pytest.raises(SavedError, match="is larger than 4 MB, so it is no list of saved questions"):
            action()
    assert path.stat().st_size == MAX_BYTES + 1


def test_a_folder_or_a_device_in_its_place_is_left_alone(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for place in (tmp_path, pipe):
        for action in (Saved(place).all, lambda place=place: Saved(place).add("a", "SELECT 1")):
            with pytest.raises(SavedError, match="is no file: name one for the saved questions with MIRROR_SAVED"):
                action()
    assert pipe.is_fifo()


def test_a_place_that_cannot_be_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file" / "saved.jsonl", tmp_path / ("x" * 300)):
        for action in (Saved(place).all, lambda place=place: Saved(place).add("a", "SELECT 1")):
            with pytest.raises(SavedError, match=r"cannot be (read|written): .*\.|File name too long"):
                action()


def test_a_link_stays_a_link_and_rights_stay_as_they_are(tmp_path):
    real, link = tmp_path / "real.jsonl", tmp_path / "link.jsonl"
    Saved(real).add("a", "SELECT 1")
    real.chmod(0o640)
    link.symlink_to(real)
    Saved(link).add("b", "SELECT 2")
    assert link.is_symlink()
    assert questions(Saved(real)) == ["a", "b"]
    assert real.stat().st_mode & 0o777 == 0o640


# -- rivals and full disks ---------------------------------------------------------------------------------------------

ADD_MANY = """
import sys
from mirror.query.saved import Saved
for i in range(20):
    Saved(sys.argv[1]).add(f"{sys.argv[2]} {i}", "SELECT " + "1" * 500)
"""


def test_processes_at_once_lose_nothing(path):
    rivals = [
        subprocess.Popen([sys.executable, "-c", ADD_MANY, str(path), name], cwd=ROOT)
        for name in ("one", "two", "three")
    ]
    while any(r.poll() is None for r in rivals):
        Saved(path).all()  # a reader never meets half a file
        assert all(line.endswith(b"}") for line in (path.read_bytes().splitlines() if path.exists() else ()))
    assert [r.returncode for r in rivals] == [0, 0, 0]
    assert sorted(questions(Saved(path))) == sorted(f"{r} {i}" for r in ("one", "two", "three") for i in range(20))


def test_threads_at_once_lose_nothing(path):
    threads = [threading.Thread(target=Saved(path).add, args=(f"q{i}", "SELECT 1")) for i in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(questions(Saved(path))) == sorted(f"q{i}" for i in range(12))


HOLD = """
import fcntl, sys
file = open(sys.argv[1], "a")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


def test_a_rival_that_never_ends_is_told_and_a_dead_one_holds_nothing(path, monkeypatch):
    monkeypatch.setattr(whole_file, "_PATIENCE_S", 0.2)
    saved = Saved(path)
    saved.add("a", "SELECT 1")
    rival = subprocess.Popen(
        [sys.executable, "-c", HOLD, f"{path}.lock"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert rival.stdout
    assert rival.stdout.readline() == "held\n"
    with pytest.raises(
        SavedError, match=r"Another process has been writing mirror\.saved\.jsonl for 0\.2 s: try again"
    ):
        saved.add("b", "SELECT 2")
    assert questions(saved) == ["a"]
    rival.kill()
    rival.communicate()
    saved.add("b", "SELECT 2")
    assert questions(saved) == ["a", "b"]


FULL = """
import resource, sys
from mirror.query.saved import Saved, SavedError
resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))
try:
    Saved(sys.argv[1]).add("b", "SELECT " + "2" * 400)
except SavedError as error:
    print(error)
"""


def test_where_no_more_can_be_written_what_was_saved_is_kept(path):
    """A limit on the size of files stands for a full disk: the write fails half-way."""
    Saved(path).add("a", "SELECT 1")
    before = path.read_bytes()
    done = subprocess.run([sys.executable, "-c", FULL, str(path)], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == (
        "The saved questions (mirror.saved.jsonl) cannot be written: File too large. What was saved before is kept; "
        "mend that, or name another file with MIRROR_SAVED.\n"
    )
    assert path.read_bytes() == before
    assert sorted(p.name for p in path.parent.iterdir()) == [
        "mirror.saved.jsonl",
        "mirror.saved.jsonl.lock",
    ]


def test_a_writer_that_was_killed_leaves_nothing_in_the_way(path):
    saved = Saved(path)
    saved.add("a", "SELECT 1")
    (path.parent / f"{path.name}.part").write_bytes(b'{"question": "half')
    saved.add("b", "SELECT 2")
    assert questions(saved) == ["a", "b"]


# -- where they are ----------------------------------------------------------------------------------------------------


def test_where_they_are_kept(monkeypatch, tmp_path):
    monkeypatch.setattr("db.settings._secrets", dict)
    monkeypatch.delenv("MIRROR_SAVED", raising=False)
    assert saved_path("duckdb:////data/x.duckdb") == Path("/data/x.saved.jsonl")
    assert saved_path("postgresql+psycopg:///mirror") == ROOT / "db" / "shared.saved.jsonl"
    assert saved_path("duckdb:///:memory:") == ROOT / "db" / "shared.saved.jsonl"
    monkeypatch.setenv("MIRROR_SAVED", str(tmp_path / "mine"))
    assert saved_path("duckdb:////data/x.duckdb") == tmp_path / "mine"


def test_a_saved_question_is_data_alone():
    assert SavedQuestion("q", "SELECT 1") == SavedQuestion("q", "SELECT 1", "", "")
