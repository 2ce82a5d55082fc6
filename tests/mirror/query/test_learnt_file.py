"""What was learnt: found again, put to use, taken back; nothing is lost to broken files, full folders or rivals."""

import json
import multiprocessing
import os
import time
from pathlib import Path

import pytest

from mirror.query.kept import learnt_file, whole_file
from mirror.query.kept.habits import Habit, Habits
from mirror.query.kept.learnt_file import MAX_QUESTIONS, Learnt, learnt_path
from mirror.query.kept.learnt_text import MAX_BYTES, HeardWord, LearntContents, LearntError, LearntQuestion, contents_of
from mirror.query.kept.same_question import same_words
from mirror.query.saved import saved_path_of

FORM = {"measure": ["count(customers)"], "by": ["customers.city"]}
ASKED = LearntQuestion("how many punters per city", "Show the number of customers by customer city", FORM)


@pytest.fixture
def learnt(tmp_path: Path) -> Learnt:
    return Learnt(tmp_path / "shop.learnt.yaml", "shop.duckdb")


def heard(word: str, means: str, *asked: str) -> HeardWord:
    return HeardWord(word, means, asked)


# -- questions ---------------------------------------------------------------------------------------------------------


def test_a_reading_is_found_for_its_question_however_that_is_spelled(learnt: Learnt) -> None:
    assert learnt.find(ASKED.asked) is None
    assert learnt.choose(ASKED) == ""
    for spelling in ("How many punters,  per city?", "“how many punters per city”", "HOW MANY PUNTERS PER CITY."):
        found = learnt.find(spelling)
        assert found is not None
        assert (found.meant, found.form, found.count) == (ASKED.meant, FORM, 1)
    for other in ("how many punters", "how many punters per cities", "how many punters not per city"):
        assert learnt.find(other) is None


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("AUC, by method", "auc by method?", True),
        ("at 0.1", "at 01", False),
        ("latency < 5", "latency > 5", False),
        ("0.1, 0.5", "0.1 0.5", True),
        ("it's late", "its late", False),
        ("'Red Sand' loans", "red sand loans", True),
    ],
)
def test_marks_between_words_make_no_other_question(one: str, other: str, same: bool) -> None:
    assert (same_words(one) == same_words(other)) is same


def test_choosing_the_same_again_counts_and_another_choice_takes_its_place(learnt: Learnt) -> None:
    learnt.choose(ASKED)
    learnt.choose(ASKED)
    assert [q.count for q in learnt.contents().questions] == [2]
    other = LearntQuestion(ASKED.asked, "Show the number of orders", {"measure": ["count(orders)"]})
    learnt.choose(other)
    (kept,) = learnt.contents().questions
    assert (kept.meant, kept.count) == (other.meant, 1)


def test_the_file_is_for_people(learnt: Learnt) -> None:
    learnt.choose(ASKED, heard("punters", "customers", ASKED.asked))
    learnt.keep("punters")
    text = learnt.path.read_text()
    assert text.startswith("# What was learnt about shop.duckdb")
    assert "\n  punters: customers\n" in text
    assert "- asked: how many punters per city\n  meant: Show the number of customers by customer city\n" in text


def test_what_a_person_writes_by_hand_is_taken(learnt: Learnt) -> None:
    learnt.path.write_text("words:\n  Spend: orders.amount\nquestions:\n- {asked: spend, meant: Show the spend}\n")
    assert learnt.contents().words == {"spend": "orders.amount"}
    found = learnt.find("Spend?")
    assert found is not None
    assert found.form is None
    learnt.path.write_text("")
    assert learnt.contents() == LearntContents()


# -- words -------------------------------------------------------------------------------------------------------------


def test_a_word_is_used_once_it_means_the_same_in_two_questions(learnt: Learnt) -> None:
    learnt.choose(None, heard("spend", "orders.amount", "spend by month"))
    learnt.choose(None, heard("spend", "orders.amount", "Spend, by month?"))  # the same question
    assert (dict(learnt.contents().words), len(learnt.contents().heard)) == ({}, 1)
    learnt.choose(None, heard("spend", "orders.amount", "total spend"))
    assert (dict(learnt.contents().words), learnt.contents().heard) == ({"spend": "orders.amount"}, ())


def test_a_word_that_means_several_things_begins_anew(learnt: Learnt) -> None:
    learnt.choose(None, heard("spend", "orders.amount", "spend by month"))
    learnt.choose(None, heard("spend", "items.price", "total spend"))
    assert dict(learnt.contents().words) == {}
    assert learnt.contents().heard[0].means == "items.price"


def test_a_word_is_used_at_once_where_a_person_says_so(learnt: Learnt) -> None:
    assert learnt.keep("spend") is False
    learnt.choose(None, heard("spend", "orders.amount", "spend by month"))
    assert learnt.keep("Spend") is True
    assert dict(learnt.contents().words) == {"spend": "orders.amount"}
    learnt.choose(None, heard("spend", "items.price", "total spend"))  # a word in use stays what it is
    assert dict(learnt.contents().words) == {"spend": "orders.amount"}


def test_forgetting(learnt: Learnt) -> None:
    learnt.choose(ASKED, heard("punters", "customers", ASKED.asked))
    learnt.choose(None, heard("dosh", "orders.amount", "dosh by month"))
    assert learnt.forget("How many punters per city?") is True
    assert learnt.forget(ASKED.asked) is False
    assert [h.word for h in learnt.contents().heard] == ["dosh"]  # what the question alone told is gone with it
    assert learnt.forget("DOSH") is True
    learnt.choose(ASKED)
    assert learnt.forget_all() == 1
    assert learnt.forget_all() == 0
    assert learnt.contents() == LearntContents()


def test_a_habit_tells_what_its_file_has_of_it_by_now(learnt: Learnt) -> None:
    learnt.choose(ASKED, heard("punters", "customers", ASKED.asked))
    habit = Habit("heard", "punters", "customers", learnt.path)
    assert habit.current == habit
    assert habit.keep()
    kept = habit.current
    assert kept is not None
    assert kept.kind == "word"
    assert habit.forget()
    assert habit.current is None


# -- what goes wrong ---------------------------------------------------------------------------------------------------

BROKEN = {
    "questions: [": "not YAML",
    "a list": "the names questions, words, heard",
    "wards:\n  spend: orders.amount": "there is no section wards",
    "words:\n  two words: orders.amount": "line 2 one word is expected",
    "words: [spend]": "a word is expected, a colon",
    "words:\n  spend: ''": "what a word names is a text",
    "words:\n  spend: {a: b}": "what a word names is a text",
    "questions:\n- asked: x": "line 2 the names asked, meant",
    "questions:\n- {asked: x, meant: y, form: z}": "a form is",
    "questions:\n- {asked: x, meant: y, count: many}": "a count is",
    "questions:\n- {asked: x, meant: y, more: z}": "the names asked, meant",
    "questions: {asked: x}": "a list is expected",
    "heard:\n- {word: x, means: y, asked: z}": "a list is expected",
    "words: &a {x: y}": "a reference or a type",
    "words: !!python/object/apply:os.system [x]": "a reference or a type",
    "? [a]\n: b": "are expected",
    "[" * 100_000: "too many things within one another",
    "- " * 50_000: "too many things within one another",
}


@pytest.mark.parametrize("text", BROKEN, ids=lambda text: text[:30])
def test_a_broken_file_is_one_sentence_and_is_kept_aside(learnt: Learnt, text: str) -> None:
    learnt.path.write_text(text)
    began = time.monotonic()
    with pytest.raises(LearntError, match=r"^shop\.learnt\.yaml cannot be read: in ") as caught:
        learnt.contents()
    assert time.monotonic() - began < 5
    assert BROKEN[text] in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(LearntError):
        learnt.forget("x")  # what cannot be read is not changed
    assert learnt.path.read_text() == text
    note = learnt.choose(ASKED)
    assert "It is kept as shop.learnt.yaml.broken-1" in note
    assert (learnt.path.parent / "shop.learnt.yaml.broken-1").read_text() == text
    assert len(learnt.contents().questions) == 1
    learnt.path.write_text(text)
    assert "broken-2" in learnt.choose(ASKED)
    assert (learnt.path.parent / "shop.learnt.yaml.broken-1").read_text() == text


def test_bytes_that_are_no_text(learnt: Learnt) -> None:
    learnt.path.write_bytes(b"words:\n  \xff\xfe: x\n")
    with pytest.raises(LearntError, match=r"no text in UTF-8|not YAML"):
        learnt.contents()


def test_what_is_too_large_is_no_such_file(learnt: Learnt) -> None:
    learnt.path.write_text("# " + "x" * MAX_BYTES)
    with pytest.raises(LearntError, match=r"larger than 0\.256 MB"):
        learnt.contents()


def test_hostile_text_stays_text(learnt: Learnt) -> None:
    hostile = "x: &a [*a]\n\x1b[31m\u202e' \"#{}%@`!!python/none - ? : |> \\ \x00 words:\n  a: b"
    learnt.choose(LearntQuestion(hostile, hostile, {"where": [hostile]}))
    (found,) = learnt.contents().questions
    assert found.form == {"where": [hostile]}
    assert "\x1b" not in learnt.path.read_text()
    assert "\n" not in found.asked
    assert dict(learnt.contents().words) == {}
    assert learnt.find(hostile) is not None
    assert learnt.forget(hostile) is True


def test_it_stays_small_and_the_oldest_goes(learnt: Learnt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learnt_file, "MAX_QUESTIONS", 3)
    for i in range(5):
        learnt.choose(LearntQuestion(f"q{i}", "m"))
    assert [q.asked for q in learnt.contents().questions] == ["q2", "q3", "q4"]
    assert MAX_QUESTIONS > 3
    monkeypatch.setattr(learnt_file, "MAX_QUESTIONS", 500)
    for i in range(30):
        learnt.choose(LearntQuestion(f"long {i}", "m", {"where": [str(i) + "x" * 15_000]}))
    assert learnt.path.stat().st_size <= MAX_BYTES
    kept = [q.asked for q in learnt.contents().questions]
    assert kept[-1] == "long 29"
    assert "q2" not in kept


def test_what_is_too_long_is_not_learnt(learnt: Learnt) -> None:
    learnt.choose(LearntQuestion("x" * 2_000, "m"))
    learnt.choose(LearntQuestion("x", "m", {"where": ["y" * 30_000]}))
    assert learnt.contents() == LearntContents()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_unwritable_folder_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIRROR_LEARNT", "1")
    tmp_path.chmod(0o500)
    try:
        habits = Habits(tmp_path / "x.saved.jsonl", "x")
        note, learnt = habits.choose("a", "b", None, None)
    finally:
        tmp_path.chmod(0o700)
    assert note.startswith("This choice could not be kept.")
    assert learnt == ()


def test_a_file_in_the_place_of_a_folder_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIRROR_LEARNT", "1")
    (tmp_path / "file").write_text("")
    habits = Habits(tmp_path / "file" / "x.saved.jsonl", "x")
    note, learnt = habits.choose("a", "b", None, None)
    assert "cannot be written" in note
    assert learnt == ()
    assert habits.recall("a") is None


def test_a_broken_file_is_a_note_beside_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIRROR_LEARNT", "1")
    (tmp_path / "x.learnt.yaml").write_text("words: [")
    habits = Habits(tmp_path / "x.saved.jsonl", "x")
    assert habits.note.startswith("x.learnt.yaml cannot be read")
    assert habits.recall("a") is None
    assert dict(habits.words) == {}


def test_it_can_be_turned_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for off in ("0", "off", "no"):
        monkeypatch.setenv("MIRROR_LEARNT", off)
        assert Habits(tmp_path / "x.saved.jsonl", "x").choose("a", "b", None, None) == ("", ())
    monkeypatch.setenv("MIRROR_LEARNT", "1")
    assert Habits(tmp_path / "x.saved.jsonl", "x", on=False).choose("a", "b", None, None) == ("", ())
    assert list(tmp_path.iterdir()) == []


def test_a_rival_is_waited_for(learnt: Learnt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_file, "_PATIENCE_S", 0.2)
    other = whole_file.WholeFile(learnt.path, "x", LearntError, "x")
    with other.turn(), pytest.raises(LearntError, match="Another process has been writing"):
        learnt.choose(ASKED)
    assert learnt.choose(ASKED) == ""


def add_many(path: str, name: str) -> None:
    for i in range(20):
        Learnt(Path(path)).choose(LearntQuestion(f"{name} {i}", "m"), HeardWord(f"w{name}", "t", (f"{name} {i}",)))


def test_two_processes_lose_nothing(learnt: Learnt) -> None:
    processes = [multiprocessing.Process(target=add_many, args=(str(learnt.path), name)) for name in ("a", "b")]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    assert {q.asked for q in learnt.contents().questions} == {f"{n} {i}" for n in "ab" for i in range(20)}
    assert dict(learnt.contents().words) == {"wa": "t", "wb": "t"}


def test_where_it_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert learnt_path(Path("/x/mirror.saved.jsonl")) == Path("/x/mirror.learnt.yaml")
    assert learnt_path(Path("/x/mine")) == Path("/x/mine.learnt.yaml")
    monkeypatch.setenv("MIRROR_SAVED", str(tmp_path / "x.saved.jsonl"))
    assert learnt_path(saved_path_of("duckdb:a")).parent == tmp_path / "other_data"


def test_what_is_written_is_read_back() -> None:
    spec = {"shape": "groups", "metrics": [{"column": "auc", "aggregate": "avg"}], "within": 0.5, "last": True}
    contents = LearntContents(
        (LearntQuestion("no", "yes", json.loads(json.dumps(spec)), "2026-11-23", 3),),
        {"null": "orders", "on": "orders.status = 'paid'"},
        (HeardWord("off", "orders.amount", ("1", "true"), "2026-11-23"),),
    )
    assert contents_of(learnt_file.written(contents, "x\n: y"), "x") == contents
