"""The network in numpy computes what the one in torch does, and reads plain questions."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from mirror.language.neural import network
from mirror.language.neural.form_actions import ASKED, Writer
from mirror.language.neural.items import items_of
from mirror.language.neural.other_data_reader import other_data_readings
from mirror.language.train.data.example import NOW, Example
from mirror.language.train.fitting.batches import arrays_of, batch_of, vocabulary
from mirror.language.train.fitting.learn import Learner, Part
from mirror.query.other_data.form_text import asked_of
from tests.mirror.language.reading.library import DATABASE

QUESTIONS = {
    "how many members are there": {"measure": ["count(members)"]},
    "number of loans per genre": {"measure": ["count(loans)"], "by": ["books.genre"]},
    "titles of books over 100 pages": {"of": "books", "show": ["books.title"], "where": ["books.pages > 100"]},
    "which member has most loans": {
        "measure": ["count(loans)"], "by": ["members"], "order": "1 desc", "ties": True,
    },
}  # fmt: skip


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Tensors this small are learnt from faster by one thread, by far where other processes want the cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def made() -> list[Example]:
    found = []
    for text, form in QUESTIONS.items():
        items = items_of(text, DATABASE, NOW)
        found.append(Example(items, tuple(Writer(asked_of(form, DATABASE), items, DATABASE).line()), "library"))
    return found


@pytest.mark.usefixtures("one_thread")
def test_it_learns_goes_on_and_says_in_numpy_what_it_says_in_torch(tmp_path: Path) -> None:
    examples = made()
    words = vocabulary(examples, 1)
    part = Part("few", examples * 24, 40, forget=0.0)
    learner = Learner(words, tmp_path / "kept", ASKED)
    learner.fit(part, examples)
    assert learner.exact([arrays_of(e, words, ASKED) for e in examples]) == 1.0
    again = Learner(words, tmp_path / "kept", ASKED, seed=5)
    again.fit(part)  # nothing is left to do: the epochs are there
    learner.network.eval()
    again.network.eval()
    batch = batch_of([arrays_of(examples[2], words, ASKED)], 0.0, np.random.default_rng(0))
    with torch.no_grad():
        assert torch.equal(learner.network(batch), again.network(batch))
    learner.write(tmp_path / "weights.npz")
    read = network.Network.load(tmp_path / "weights.npz", ASKED)
    for example in examples:
        best = read.lines(example.items, 3)[0]
        assert best.actions == example.line
        batch = batch_of([arrays_of(example, words, ASKED)], 0.0, np.random.default_rng(0))
        with torch.no_grad():
            told = learner.network(batch)[0].log_softmax(-1)
            likely = told.gather(1, batch["wanted"][0][:, None]).sum()
        assert best.score == pytest.approx(float(likely), abs=0.02)  # weights of half precision


def test_the_network_that_ships_reads_plain_questions() -> None:
    for text, form in QUESTIONS.items():
        found = other_data_readings(text, DATABASE, NOW)
        assert any(r.asked == asked_of(form, DATABASE) for r in found), text


@pytest.mark.parametrize("text", ["", "?", "x" * 10_000, "loans " * 10_000, "ｌｏａｎｓ ‮ '; DROP TABLE loans; --"])
def test_any_text_is_taken(text: str) -> None:
    assert isinstance(other_data_readings(text, DATABASE, NOW), list)


def test_what_a_reading_leaves_out_is_told() -> None:
    found = other_data_readings("how many members are there, not 17", DATABASE, NOW)
    plain = [r for r in found if not r.asked.conditions and not r.asked.presences]
    assert all({"17", "not"} <= set(r.unread) for r in plain)
