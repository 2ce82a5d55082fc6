"""What one process kept for the calls of a model, found by the next one."""

import os
import threading

import pytest

from bench_engine.kernels.parallel_op.entry.kept_sides import Memory, Remembered

FOUND = Remembered("grouped", (30.0, 10.0, 0.0))


def memory(folder, tables=("a (40, 4)",), build="one"):
    return Memory(folder, "here.Model", tables, build)


def test_what_was_kept_is_found_by_the_next(tmp_path):
    memory(tmp_path / "new").keep("lesson", "sizes <8", FOUND)
    later = memory(tmp_path / "new")
    assert later.side("lesson", "sizes <8") == FOUND
    assert later.side("another lesson", "sizes <8") is None
    assert later.side("lesson", "sizes <16") is None
    assert memory(tmp_path / "new", tables=("a (50, 4)",)).side("lesson", "sizes <8") is None
    assert memory(tmp_path / "new", build="two").side("lesson", "sizes <8") is None
    assert [path.suffix for path in (tmp_path / "new").iterdir()] == [".txt"]


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe", b"something else\n", b"mirror parallel_op sides 9\there.Model\n", b"\0" * 100]
)
def test_a_foreign_file_is_replaced(tmp_path, content):
    memory(tmp_path).keep("lesson", "calls", FOUND)
    (path,) = tmp_path.iterdir()
    path.write_bytes(content)
    broken = memory(tmp_path)
    assert broken.side("lesson", "calls") is None
    broken.keep("lesson", "calls", FOUND)
    assert memory(tmp_path).side("lesson", "calls") == FOUND


def test_lines_that_make_no_sense_are_passed_over(tmp_path):
    memory(tmp_path).keep("lesson", "calls", FOUND)
    (path,) = tmp_path.iterdir()
    good = path.read_text()
    path.write_text(good + "x\ty\n" + good.splitlines()[1].replace("grouped", "sideways") + "\nhalf a li")
    assert memory(tmp_path).side("lesson", "calls") == FOUND


def test_no_folder_and_one_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (None, tmp_path / "file"):
        one = memory(folder)
        one.keep("lesson", "calls", FOUND)
        assert memory(folder).side("lesson", "calls") is None


def test_two_at_once_keep_what_both_found(tmp_path):
    first, second = memory(tmp_path), memory(tmp_path)
    first.keep("lesson", "first", FOUND)
    second.keep("lesson", "second", FOUND)
    first.keep("lesson", "third", FOUND)
    later = memory(tmp_path)
    assert all(later.side("lesson", calls) == FOUND for calls in ("first", "second", "third"))


def test_many_writers_leave_one_whole_file(tmp_path):
    def write(number: int) -> None:
        for turn in range(20):
            memory(tmp_path).keep("lesson", f"{number} {turn}", FOUND)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (path,) = tmp_path.iterdir()
    lines = path.read_text().splitlines()
    assert len(lines) > 20
    assert all(line.count(os.sep) == 0 and line.count("\t") == 5 for line in lines[1:])
