"""The network in numpy computes what the one in torch does, and learns questions over the results."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from mirror.language.neural.action_language import Action
from mirror.language.neural.network import Decoder, Network
from mirror.language.neural.results_actions import ResultsReader, ResultsWriter, bare_of
from mirror.language.neural.results_grammar import RESULTS_LANGUAGE
from mirror.language.neural.results_items import results_items
from mirror.language.neural.text_encoder import base_vocabulary
from tests.mirror.language.neural.results_questions import NOW, PROFILE, QUESTIONS, form_of

torch = pytest.importorskip("torch", reason="torch is needed for training alone")

from mirror.language.train.data.example import Example  # noqa: E402
from mirror.language.train.fitting import learn  # noqa: E402
from mirror.language.train.fitting.batches import arrays_of, batch_of, vocabulary  # noqa: E402
from mirror.language.train.fitting.learn import Learner, Part  # noqa: E402

TEXT = base_vocabulary()


def _examples(questions: tuple[str, ...]) -> list[Example]:
    found = []
    for question in questions:
        items = results_items(question, PROFILE, NOW)
        line = ResultsWriter(form_of(question), items, PROFILE).line()
        found.append(Example(items, tuple(line), question))
    return found


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Threads that wait for one another on a busy machine take minutes."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def _learner(examples: list[Example], folder: Path) -> Learner:
    return Learner(vocabulary(examples, 1), folder, RESULTS_LANGUAGE, in_context=True)


def test_numpy_computes_what_torch_does(tmp_path: Path) -> None:
    examples = _examples(QUESTIONS[:3])
    learner = _learner(examples, tmp_path)
    learner.write(tmp_path / "weights.npz")
    network = Network.load(tmp_path / "weights.npz", RESULTS_LANGUAGE)
    learner.network.load_state_dict({n: w.half().float() for n, w in learner.network.state_dict().items()})
    learner.network.eval()
    for example in examples:
        arrays = arrays_of(example, learner.vocabulary, RESULTS_LANGUAGE, TEXT)
        with torch.no_grad():
            wanted = learner.network(batch_of([arrays], 0.0, np.random.default_rng(0), TEXT))[0].numpy()
        decoder = Decoder(network, network.encoded(example.items), 2)
        for at, last in enumerate((Action(""), *example.line[:-1])):
            logits = decoder.next([last])[0]
            may = wanted[at] > -1e8
            assert np.allclose(logits[may], wanted[at][may], atol=5e-3)  # torch rounds words in context


def test_a_question_is_read_alike_whoever_shares_its_batch(tmp_path: Path) -> None:
    short, long = sorted(_examples(QUESTIONS[:8]), key=lambda e: len(e.items.tokens))[:: len(QUESTIONS[:8]) - 1]
    assert len(short.items.tokens) < len(long.items.tokens)
    learner = _learner([short, long], tmp_path)
    learner.network.eval()
    torch.nn.init.normal_(learner.network.context.bias)
    alone, beside = (
        batch_of(
            [arrays_of(e, learner.vocabulary, RESULTS_LANGUAGE, TEXT) for e in examples],
            0.0, np.random.default_rng(0), TEXT,
        )
        for examples in ([short], [short, long])
    )  # fmt: skip
    with torch.no_grad():
        one, other = learner.network(alone)[0], learner.network(beside)[0, : len(short.line)]
    words = len(RESULTS_LANGUAGE.words)
    assert torch.allclose(one[:, :words], other[:, :words], atol=0.02)  # torch rounds words in context
    items = one.shape[1] - words
    assert torch.allclose(one[:, words:], other[:, words : words + items], atol=0.02)


def test_a_line_has_the_same_score_alone_as_in_the_beam(tmp_path: Path) -> None:
    examples = _examples(QUESTIONS[:2])
    _learner(examples, tmp_path).write(tmp_path / "weights.npz")
    network = Network.load(tmp_path / "weights.npz", RESULTS_LANGUAGE)
    for example in examples:
        for line in network.lines(example.items, 3):
            assert network.score(example.items, line.actions) == pytest.approx(line.score, abs=1e-4)


def test_lines_that_stand_side_by_side_are_kept_apart(tmp_path: Path) -> None:
    one, other = _examples(QUESTIONS[:1])[0], Action("count")
    learner = _learner([one], tmp_path)
    learner.write(tmp_path / "weights.npz")
    network = Network.load(tmp_path / "weights.npz", RESULTS_LANGUAGE)
    memory = network.encoded(one.items)
    alone, both = Decoder(network, memory, 1), Decoder(network, memory, 2)
    alone.next([Action("")])
    both.next([Action("")])
    both.keep([0, 0])
    first = alone.next([one.line[0]])
    assert np.allclose(both.next([other, one.line[0]])[1], first[0], atol=1e-4)
    both.keep([1, 0])
    third = alone.next([one.line[1]])
    assert np.allclose(both.next([one.line[1], one.line[1]])[0], third[0], atol=1e-4)
    assert not np.allclose(both.next([one.line[1], one.line[1]])[1], third[0], atol=1e-4)


def test_a_few_questions_are_learnt_by_heart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learn, "WARM_UP", 5)
    examples = _examples(QUESTIONS[:2])
    learner = _learner(examples, tmp_path)
    learner.fit(Part("by heart", examples, 40, forget=0.0))
    learner.write(tmp_path / "weights.npz")
    network = Network.load(tmp_path / "weights.npz", RESULTS_LANGUAGE)
    for example in examples:
        line = network.lines(example.items)[0]
        read = bare_of(ResultsReader(line.actions, example.items, PROFILE).asked())
        assert read == bare_of(form_of(example.group))


def test_what_another_network_knows_is_taken_over(tmp_path: Path) -> None:
    examples = _examples(QUESTIONS[:2])
    first, second = (Learner(vocabulary(examples, 1), tmp_path, RESULTS_LANGUAGE, seed) for seed in (0, 1))
    first.write(tmp_path / "weights.npz")
    second.begin_with(tmp_path / "weights.npz", RESULTS_LANGUAGE)
    theirs = {name: w.half().float() for name, w in first.network.state_dict().items()}
    for name, weights in second.network.state_dict().items():
        if name != "action.weight":  # the last of its rows is nobody's
            assert torch.equal(weights, theirs[name]), name
