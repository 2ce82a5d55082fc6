"""What is chosen is answered at once when it is asked again, and can be taken back; words; what is never learnt."""

import json
import shlex
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from db.store import Store
from mirror.answer.answer import Answer
from mirror.answer.answering import ask, explain, to_json
from mirror.answer.as_text import as_text
from mirror.answer.notebook import html
from mirror.data.process.other_data_process import shared
from mirror.data.process.sandbox import Sandbox
from mirror.data.sources.location import find
from mirror.faces.command import main
from mirror.query.kept.learnt_file import Learnt, learnt_path
from mirror.query.saved import Saved, saved_path, saved_path_of
from tests.mirror.language.reading.library import write

NOW = datetime(2025, 6, 15)
ASKED, OTHER = "how many punters per city", "number of punters per city and name"
MEANT = "Show the number of members by member city"
TARDINESS = "average tardiness by method on frappe"


@pytest.fixture(autouse=True)
def learns(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Learning is on, into a folder of the test."""
    monkeypatch.setenv("MIRROR_LEARNT", "1")
    monkeypatch.setenv("MIRROR_SAVED", str(tmp_path / "x.saved.jsonl"))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path = write(tmp_path_factory.mktemp("library") / "library.duckdb")
    yield path
    shared(find(path)).close()


def asked(question: str, library: str, after: Answer | None = None, **given: Any) -> Answer:
    return ask(question, db=library, now=NOW, after=after, **given)


def file_of(library: str) -> Learnt:
    return Learnt(learnt_path(saved_path_of(find(library).where)))


def chosen(question: str, meant: str, library: str) -> Answer:
    back = asked(question, library)
    assert back.status == "ambiguous", back.read_as
    assert meant in back.suggestions
    return asked(meant, library, back)


# -- questions ---------------------------------------------------------------------------------------------------------


def test_a_choice_is_answered_at_once_when_it_is_asked_again(library: str) -> None:
    first = chosen(ASKED, MEANT, library)
    again = asked("How many punters, per city?", library)
    assert (again.status, again.form, again.sql) == ("answered", first.form, first.sql)
    assert again.read_as.endswith("(you chose this before)")
    assert [h.kind for h in again.learnt] == ["question"]
    assert again.table
    assert first.table
    assert again.table.rows == first.table.rows
    followed = asked("only bern", library, again)  # it is changed like any
    assert followed.status == "answered"
    assert "Bern" in str(followed.sql)


def test_what_was_chosen_is_taken_back(library: str) -> None:
    chosen(ASKED, MEANT, library)
    assert asked(ASKED, library).forget()
    back = asked(ASKED, library)
    assert back.status == "ambiguous"
    assert not back.learnt
    assert not back.forget()


def test_another_choice_takes_its_place(library: str) -> None:
    back = asked(ASKED, library)
    for meant in back.suggestions[:2]:
        asked(meant, library, back)
        assert asked(ASKED, library).form == next(p.form for p in back.proposals if p.text == meant)
    assert len(file_of(library).contents().questions) == 1


def test_the_choice_may_be_asked_after_the_answer_that_recalls_it(library: str) -> None:
    first = chosen(ASKED, MEANT, library)
    recalled = asked(ASKED, library)
    assert asked(MEANT, library, recalled).form == first.form  # as a link asks them, one after another


def test_a_reading_that_has_no_rows_any_more_is_read_anew(tmp_path: Path) -> None:
    changing = write(tmp_path / "library.duckdb")
    chosen(ASKED, MEANT, changing)
    shared(find(changing)).close()
    with duckdb.connect(changing) as connection:
        connection.execute("ALTER TABLE members RENAME COLUMN city TO town")
    answer = asked(ASKED, changing)
    shared(find(changing)).close()
    assert "has no rows any more" in answer.note
    assert "you chose this before" not in answer.read_as


def test_a_form_that_was_edited_into_nonsense_is_read_anew(library: str) -> None:
    chosen(ASKED, MEANT, library)
    file = file_of(library).path
    for form in ("{by: [nope]}", "{top: many, by: [members.city]}", "{chart: nope, by: [members.city]}", "{}"):
        file.write_text(f"questions:\n- {{asked: {ASKED}, meant: {MEANT}, form: {form}}}\n")
        answer = asked(ASKED, library)
        assert "has no rows any more" in answer.note
        assert answer.status == "ambiguous"


def test_a_broken_file_is_a_note(library: str) -> None:
    chosen(ASKED, MEANT, library)
    file_of(library).path.write_text("questions: [")
    answer = asked(ASKED, library)
    assert "is not YAML" in answer.note
    assert "Mend it" in answer.note
    assert asked("how many members", library).status == "answered"


def test_what_is_not_learnt(library: str) -> None:
    back = asked(ASKED, library)
    asked("how many members", library, back)  # no choice
    asked(MEANT, library)  # nothing offered it
    asked(MEANT, library, back, learnt=False)
    assert file_of(library).contents().questions == ()
    assert not file_of(library).path.exists()
    asked(MEANT, library, back)
    assert asked(ASKED, library, learnt=False).status == "ambiguous"


def test_what_is_told_from_the_present_is_not_answered_so_later(library: str) -> None:
    question = "punters who borrowed something last year"
    back = asked(question, library)
    for meant in back.suggestions:
        if (taken := asked(meant, library, back)).table and taken.table.rows:
            assert "chosen" not in [h.kind for h in taken.learnt]
    assert file_of(library).contents().questions == ()


def test_choices_of_a_follow_up_are_not_learnt(library: str) -> None:
    first = asked("how many loans by genre", library)
    back = asked("highest first, the top 2 and by year", library, first)
    for text in ("by date", "only 2024", "by name instead", "only berg"):
        back = asked(text, library, first)
        if back.proposals:
            assert not back.teaches
            asked(back.suggestions[0], library, back)
    assert file_of(library).contents().questions == ()


# -- words -------------------------------------------------------------------------------------------------------------


def test_a_word_is_read_after_two_questions(library: str) -> None:
    first = chosen(ASKED, MEANT, library)
    assert [(h.kind, h.text, h.means) for h in first.learnt][1:] == [("heard", "punters", "members")]
    assert asked("how many punters", library).status != "answered"
    second = chosen(OTHER, "Show the number of members by member city and member name", library)
    assert [h.kind for h in second.learnt] == ["chosen", "word"]
    read = asked("how many punters", library)
    assert read.status == "answered"
    assert read.table
    assert read.table.rows == ((4,),)
    assert "“punters” taken for members" in read.read_as
    assert [(h.kind, h.text) for h in read.learnt] == [("word", "punters")]
    assert "table members (learnt) 0.10" in explain("how many punters", library, NOW)[1]
    assert read.forget()
    assert asked("how many punters", library).status != "answered"


def test_a_word_is_read_at_once_where_a_person_says_so(library: str) -> None:
    taken = chosen(ASKED, MEANT, library)
    (heard,) = (h for h in taken.learnt if h.kind == "heard")
    assert heard.keep()
    assert asked("how many punters", library).status == "answered"
    assert asked("how many punters", library, learnt=False).status != "answered"


def test_words_by_hand_are_read_and_wrong_ones_passed_over(library: str) -> None:
    file = file_of(library).path
    file.parent.mkdir()
    file.write_text("words:\n  dosh: loans.fee\n  whodunit: books.genre = 'crime'\n  odd: nope.nope\n")
    total = asked("total dosh", library)
    assert total.table
    assert total.table.rows == ((10.0,),)
    crime = asked("how many whodunit books", library)
    assert crime.table
    assert crime.table.rows == ((2,),)


# -- saved questions ---------------------------------------------------------------------------------------------------


def test_saved_questions_worded_alike_are_offered(library: str) -> None:
    saved = Saved(saved_path_of(find(library).where))
    saved.add("how many punters are there per town", "SELECT city, count(*) AS n FROM members GROUP BY city")
    back = asked("how many punters per town", library)
    assert "how many punters are there per town" in back.suggestions
    taken = asked("how many punters are there per town", library, back)
    assert (taken.status, taken.engine) == ("answered", "saved")
    if back.status == "ambiguous":
        again = asked("how many punters per town", library)
        assert (again.engine, again.sql) == ("saved", taken.sql)
        saved.remove("how many punters are there per town")
        assert asked("how many punters per town", library).engine == "grammar"


# -- where it is seen --------------------------------------------------------------------------------------------------


def test_the_command_chooses_lists_uses_and_forgets(library: str, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*words: str) -> tuple[int, str]:
        status = main([*words, "--db", library])
        done = capsys.readouterr()
        return status, done.out + done.err

    assert run("learnt")[1].startswith("Nothing is learnt yet.")
    assert run("ask", ASKED, "--choose", "1")[0] == 0
    status, text = run("ask", ASKED)
    assert status == 0
    assert "(you chose this before)" in text
    assert "`mirror learnt` lists what was learnt" in text
    assert f"mirror learnt --forget {shlex.quote(ASKED)}" in run("ask", ASKED, "--choose", "2")[1]
    listed = run("learnt")[1]
    assert f"  {ASKED}\n    → " in listed
    assert "punters: members  (--use punters" in listed
    assert run("learnt", "--use", "punters") == (0, "“punters” is used from now on.\n")
    assert "Words:\n  punters: members" in run("learnt")[1]
    assert run("learnt", "--forget", ASKED)[0] == 0
    assert run("learnt", "--forget", ASKED) == (2, f"Nothing is learnt of “{ASKED}”.\n")
    assert run("learnt", "--use", "nobody")[0] == 2
    assert run("learnt", "--forget-all") == (0, "1 entries are forgotten.\n")
    file_of(library).path.write_text("[")
    assert run("learnt")[0] == 1


def test_a_notebook_and_json_tell_it_too(library: str) -> None:
    chosen(ASKED, MEANT, library)
    again = asked(ASKED, library)
    assert "answer.forget()" in html(again)
    assert "You chose this reading before" in as_text(again)
    assert to_json(again)["learnt"] == [{"kind": "question", "text": ASKED, "means": MEANT}]
    json.dumps(to_json(again))


# -- results -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def own_box(tmp_path: Path, results_file: Path) -> Iterator[Sandbox]:
    with Sandbox(str(results_file)) as sandbox:
        yield sandbox


def test_the_same_over_the_results(own_box: Sandbox) -> None:
    file = Learnt(learnt_path(saved_path(own_box.url)))
    back = ask(TARDINESS, own_box, now=NOW)
    assert back.status == "ambiguous"
    (meant,) = (p for p in back.proposals if p.text == "Show the mean latency (µs) by method where data set = frappe")
    taken = ask(meant.text, own_box, now=NOW, after=back)
    assert [(h.kind, h.means) for h in taken.learnt] == [("chosen", meant.text), ("heard", "latency_us")]
    again = ask("Average tardiness by method on frappe?", own_box, now=NOW)
    assert again.asked == meant.asked
    assert again.read_as.endswith("(you chose this before)")
    assert ask(meant.text, own_box, now=NOW, after=again).asked == meant.asked
    assert ask("tardiness by dataset in training", own_box, now=NOW).status != "answered"
    assert file.keep("tardiness")
    read = ask("tardiness by dataset in training", own_box, now=NOW)
    assert read.status == "answered"
    assert "“tardiness” taken for latency" in read.read_as
    assert [h.kind for h in read.learnt] == ["word"]
    plain = ask("tardiness by dataset in training", own_box, now=NOW, learnt=False)
    assert plain.status != "answered"
    assert again.forget()
    assert ask(TARDINESS, own_box, now=NOW, learnt=False).status == "ambiguous"


def test_a_query_over_results_that_was_edited_into_nonsense_is_read_anew(own_box: Sandbox) -> None:
    file = Learnt(learnt_path(saved_path(own_box.url))).path
    for form in ("{shape: nope}", "{shape: groups, metrics: [{column: nope}]}", "{}", "{shape: rows, filters: 3}"):
        file.write_text(f"questions:\n- {{asked: {TARDINESS}, meant: x, form: {form}}}\n")
        answer = ask(TARDINESS, own_box, now=NOW)
        assert "has no rows any more" in answer.note
        assert answer.status == "ambiguous"


def test_choices_that_are_questions_are_learnt_too(own_box: Sandbox) -> None:
    back = ask("best method", own_box, now=NOW)
    if back.status == "ambiguous":
        taken = ask(back.suggestions[0], own_box, now=NOW, after=back)
        again = ask("best method", own_box, now=NOW)
        assert (again.status, again.spec) == ("answered", taken.spec)


def test_results_without_rows_teach_nothing(tmp_path: Path) -> None:
    url = str(tmp_path / "empty.duckdb")
    Store(url).ensure()
    with Sandbox(url) as sandbox:
        ask(TARDINESS, sandbox, now=NOW)
    assert not (tmp_path / "x.learnt.yaml").exists()
