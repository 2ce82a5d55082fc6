"""Anime ratings out of a zip file, on a small one and on the real one where it is."""

import zipfile

import numpy as np
import pytest

from bench_engine.data.problems import DataFileError
from bench_engine.data.sets import anime
from bench_engine.registry import missing

RATINGS = "User_ID\tAnime_ID\tFeedback\n" + "".join(f"{u}\t{a}\t{a % 10 + 1}\n" for u in (1, 2) for a in range(1, 21))
INFO = "anime_ids\tname\tgenre\ttype\tepisodes\trating\tmembers\n" + "".join(
    f"{a}\tÉ {a}\tDrama, War\t{'TV' if a % 2 else 'OVA'}\t{a}\t9.1\t100\n" for a in range(1, 21)
)


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.setenv("MIRROR_DATA_DIR", str(tmp_path))
    (tmp_path / "anime").mkdir()

    def write(ratings=RATINGS, info=INFO):
        path = tmp_path / "anime" / "anime.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("anime/anime_ratings.dat", ratings)
            if info:
                archive.writestr("anime/anime_info.dat", info)
        return path

    return write


def test_a_seeded_fifth_of_each_user_is_tested_and_eight_is_liked(write):
    write()
    data, again = anime.load(), anime.load()
    assert (data.test_ids == again.test_ids).all()
    assert (data.num_tables, len(data.train_ids), len(data.test_ids)) == (6, 32, 8)
    assert data.test_ids[:, 0].tolist() == [1] * 4 + [2] * 4
    assert np.concatenate([data.train_labels, data.test_labels]).mean() == 0.3
    assert data.field_rows[2:5] == (2, 2, 3)


def test_parts_that_cannot_be_used_are_one_sentence(write):
    write(ratings=RATINGS + "2\t7")
    with pytest.raises(DataFileError, match=r"anime_ratings\.dat, line 42: the file is cut off in this line"):
        anime.load()
    write(info="")
    with pytest.raises(DataFileError, match=r"holds no anime/anime_info\.dat"):
        anime.load()


def test_ratings_may_be_written_as_fractions(write):
    write()
    whole = anime.load()
    write(ratings=RATINGS.replace("\n", ".0\n").replace("Feedback.0", "Feedback"))
    data = anime.load()
    assert (data.train_labels == whole.train_labels).all()
    assert (data.train_ids == whole.train_ids).all()


@pytest.mark.parametrize("form", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_damaged_and_encrypted_parts_are_one_sentence(write, form):
    path = write()
    with zipfile.ZipFile(path, "w", form) as archive:
        archive.writestr("anime/anime_ratings.dat", RATINGS)
        start = archive.getinfo("anime/anime_ratings.dat").header_offset + 60
    whole = path.read_bytes()
    path.write_bytes(whole[:start] + b"\xff" * 12 + whole[start + 12 :])
    with pytest.raises(DataFileError, match=r"anime/anime\.zip.* is cut off or damaged \(.*\): fetch it again\."):
        anime.load()
    directory = whole.index(b"PK\x01\x02")
    path.write_bytes(whole[: directory + 8] + b"\x01" + whole[directory + 9 :])
    with pytest.raises(DataFileError, match=r"anime/anime\.zip is encrypted"):
        anime.load()


def test_an_archive_cut_off_is_one_sentence(write):
    path = write()
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(DataFileError, match=r"anime/anime\.zip is cut off or damaged"):
        anime.load()


@pytest.mark.skipif(bool(missing("anime")), reason=missing("anime"))
def test_real_anime():
    data = anime.load()
    assert len(data.train_ids) + len(data.test_ids) == 419_943
    assert 0.5 < data.test_labels.mean() < 0.7
