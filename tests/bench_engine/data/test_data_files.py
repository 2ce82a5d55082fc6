"""Where data files are found, and what is said when they are not."""

import subprocess
import sys
from pathlib import Path

import pytest

from bench_engine import registry
from bench_engine.data import files
from bench_engine.registry import UnknownNameError, missing


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """A repository without data folders."""
    monkeypatch.delenv("MIRROR_DATA_DIR", raising=False)
    monkeypatch.setattr(files, "ROOT", tmp_path / "repository")
    return tmp_path


def put(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")


def test_a_missing_file_is_one_sentence_that_says_what_to_do(nowhere):
    with pytest.raises(files.DataMissingError) as error:
        files.find("frappe/frappe.test.libfm")
    assert str(error.value) == (
        "The file frappe/frappe.test.libfm is not in the data folder: set MIRROR_DATA_DIR to the folder that holds it."
    )


def test_missing_names_the_first_absent_file(nowhere, monkeypatch):
    monkeypatch.setenv("MIRROR_DATA_DIR", str(nowhere))
    assert missing("frappe").startswith("The file frappe/frappe.validation.libfm is not in the data folder: set")
    put(nowhere, "frappe/frappe.validation.libfm")
    assert missing("frappe").startswith("The file frappe/frappe.test.libfm is not")
    put(nowhere, "frappe/frappe.test.libfm")
    assert missing("frappe") == ""


def test_generated_data_need_no_file(nowhere):
    assert missing("synthetic") == ""


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("criteo/train.tsv", "criteo/train.txt"),
        ("criteo/train.tsv", "criteo/train.tsv.gz"),
        ("criteo/train.tsv", "criteo/train.txt.gz"),
        ("criteo-1tb/day_1", "criteo-1tb/day_1.gz"),
        ("avazu/train.csv", "avazu/train.gz"),
    ],
)
def test_files_may_keep_the_name_they_are_published_under(nowhere, monkeypatch, file, name):
    monkeypatch.setenv("MIRROR_DATA_DIR", str(nowhere))
    put(nowhere, name)
    assert files.find(file) == nowhere / name
    put(nowhere, file)
    assert files.find(file) == nowhere / file


def test_binary_files_have_one_name(nowhere, monkeypatch):
    monkeypatch.setenv("MIRROR_DATA_DIR", str(nowhere))
    put(nowhere, "anime/anime.zip.gz")
    assert missing("anime")


def test_unknown_data_set_lists_the_known(nowhere):
    with pytest.raises(UnknownNameError, match="frappe"):
        missing("frape")


def test_a_folder_in_place_of_the_file_is_not_the_file(nowhere, monkeypatch):
    monkeypatch.setenv("MIRROR_DATA_DIR", str(nowhere))
    (nowhere / "frappe" / "frappe.test.libfm").mkdir(parents=True)
    with pytest.raises(files.DataMissingError):
        files.find("frappe/frappe.test.libfm")


def test_order_of_the_folders(nowhere, monkeypatch):
    shared, own, given = nowhere / "shared" / "data", nowhere / "repository" / "data", nowhere / "given"
    put(shared, "a")
    assert files.find("a") == shared / "a"
    put(own, "a")
    assert files.find("a") == own / "a"
    put(given, "a")
    monkeypatch.setenv("MIRROR_DATA_DIR", str(given))
    assert files.find("a") == given / "a"


def test_asking_imports_nothing_heavy():
    code = (
        "import sys, bench_engine.registry as r; r.missing('ml-206k');"
        "print(sorted({'torch', 'numpy', 'pyarrow', 'pandas'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_all_days_that_are_there_belong_to_the_data_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIRROR_DATA_DIR", str(tmp_path))
    (tmp_path / "criteo-1tb").mkdir()
    for number in range(4):
        (tmp_path / f"criteo-1tb/day_{number}").write_text("x")
    assert registry.DATA_SETS["criteo-1tb"].present[-1] == "criteo-1tb/day_3"
