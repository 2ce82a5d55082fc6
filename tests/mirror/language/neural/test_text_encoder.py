"""Words in their context: how they are cut, and that numpy computes what torch does."""

import numpy as np
import pytest

from mirror.language.neural.text_encoder import (
    MOST_PIECES,
    WIDTH,
    TextEncoder,
    base_vocabulary,
    base_weights,
    packed,
    shares,
    unpacked,
)

VOCABULARY = base_vocabulary()


def _cut(*words: str) -> list[str]:
    """The pieces of words, without those that begin and end a text."""
    names = str(base_weights()["pieces"]).split("\n")
    return [names[i] for i in VOCABULARY.pieces(words).ids[1:-1]]


@pytest.mark.parametrize(
    ("word", "pieces"),
    [
        ("latency", ["late", "##ncy"]),
        ("the", ["the"]),
        ("Café", ["cafe"]),
        ("memory_mb", ["memory", "_", "mb"]),
        ("0.1", ["0", ".", "1"]),
        ("x" * 41, ["[UNK]"]),
        ("日", ["[UNK]"]),
        ("", []),
        (" ", []),
    ],
)
def test_words_are_cut_into_the_longest_pieces(word: str, pieces: list[str]) -> None:
    assert _cut(word) == pieces


def test_each_piece_knows_its_word() -> None:
    cut = VOCABULARY.pieces(("the", "latency", "", "of"))
    assert cut.word.tolist() == [-1, 0, 1, 1, 3, -1]
    assert shares(cut.word, 4)[1].tolist() == [0, 0, 0.5, 0.5, 0, 0]
    assert not shares(cut.word, 4)[2].any()


def test_a_long_text_is_cut_off() -> None:
    cut = VOCABULARY.pieces(("word",) * 10_000)
    assert len(cut.ids) == len(cut.word) == MOST_PIECES
    assert cut.word[-1] == -1


def test_packed_matrices_come_back_nearly_the_same() -> None:
    held = np.random.default_rng(0).normal(size=(20, 30)).astype(np.float32)
    assert np.abs(unpacked(*packed(held)) - held).max() <= np.abs(held).max() / 127


def test_numpy_computes_what_torch_does() -> None:
    torch = pytest.importorskip("torch", reason="torch is needed for training alone")
    from mirror.language.train.fitting.pretrained import TextLayers

    torch.manual_seed(0)
    layers = TextLayers().eval()
    for layer in layers.layer:
        for part in (layer.qkv, layer.o, layer.a, layer.b):
            torch.nn.init.normal_(part.up, std=0.02)
    words = ("which", "method", "is", "snappiest", "at", "0.1", "?")
    cut = VOCABULARY.pieces(words)
    share = torch.from_numpy(shares(cut.word, len(words)))
    with torch.no_grad():
        wanted = layers(torch.from_numpy(cut.ids)[None], share[None], torch.ones(1, len(cut.ids), dtype=torch.bool))
    learnt = {name: weights.numpy().astype(np.float16) for name, weights in layers.state_dict().items()}
    found = TextEncoder(learnt).vectors(words)
    assert found.shape == (len(words), WIDTH)
    assert np.abs(found - wanted[0].numpy()).max() < 0.2  # torch rounds to 8 bits on the way
    assert np.corrcoef(found.ravel(), wanted.numpy().ravel())[0, 1] > 0.999


def test_words_that_mean_alike_are_alike() -> None:
    pytest.importorskip("torch", reason="torch is needed for training alone")
    from mirror.language.train.fitting.pretrained import TextLayers

    encoder = TextEncoder({name: w.numpy().astype(np.float16) for name, w in TextLayers().state_dict().items()})

    def alike(one: str, other: str) -> float:
        a, b = (encoder.vectors(text.split()).mean(0) for text in (one, other))
        return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))

    assert alike("how big is it", "what size does it have") > 0.2 + alike("how big is it", "which failed yesterday")
