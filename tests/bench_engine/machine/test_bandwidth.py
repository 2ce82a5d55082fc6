"""What memory gives is kept from one process to the next, by processor, host and threads."""

from dataclasses import replace

import pytest

from bench_engine.machine import bandwidth, hardware
from bench_engine.machine.bandwidth import Bandwidth

FOUND = Bandwidth(2, 12.5, 3.25, 5.5, 160.0, 1073.7, "2026-11-27 18:34 UTC", 0.5)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MIRROR_CACHE_DIR", str(tmp_path))
    return tmp_path / "bandwidth"


def test_what_was_kept_is_found_for_these_threads_and_this_processor(monkeypatch):
    assert bandwidth.kept(2) is None
    bandwidth.keep(FOUND)
    assert bandwidth.kept(2) == FOUND
    assert bandwidth.kept(1) is None
    monkeypatch.setattr(hardware, "cpu_model", lambda: "another")
    assert bandwidth.kept(2) is None


def test_it_is_the_same_machine_for_a_worker_that_is_kept_on_one_core(monkeypatch):
    bandwidth.keep(FOUND)
    monkeypatch.setattr(hardware, "cores", lambda: 1)
    assert bandwidth.kept(2) == FOUND


def test_what_is_measured_anew_takes_its_place_and_what_is_forgotten_is_gone(folder):
    bandwidth.keep(FOUND)
    bandwidth.keep(replace(FOUND, copy_gb_s=13.0))
    assert bandwidth.kept(2).copy_gb_s == 13.0
    assert len(list(folder.iterdir())) == 1
    bandwidth.forget(2)
    bandwidth.forget(2)
    assert bandwidth.kept(2) is None


@pytest.mark.parametrize("text", ["", "[]", "{", '{"threads": 2}'])
def test_a_broken_file_is_none(folder, text):
    bandwidth.keep(FOUND)
    (path,) = folder.iterdir()
    path.write_text(text)
    assert bandwidth.kept(2) is None


def test_a_rate_that_cannot_be_is_none():
    for wrong in (0.0, float("inf"), -1.0):
        bandwidth.keep(replace(FOUND, gather_64_gb_s=wrong))
        assert bandwidth.kept(2) is None


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MIRROR_CACHE_DIR", str(tmp_path / "file"))
    bandwidth.keep(FOUND)
    assert bandwidth.kept(2) is None


def test_trials_are_told_beside_nothing_that_was_found_on_a_busy_machine(monkeypatch):
    monkeypatch.setattr(bandwidth.os, "cpu_count", lambda: 4)
    monkeypatch.setattr(hardware, "cores", lambda: 1)  # of a worker that is kept on one
    assert bandwidth.undisturbed(2) is None
    for load, told in ((4.0, True), (4.5, False)):
        bandwidth.keep(replace(FOUND, load=load))
        assert (bandwidth.undisturbed(2) is not None) is told
    assert "at a load of 4.5" in bandwidth.kept(2).text()


def test_rows_have_the_bandwidth_of_the_size_next_to_theirs():
    assert [FOUND.gather_gb_s(size) for size in (4, 64, 66, 256)] == [3.25, 3.25, 5.5, 5.5]
