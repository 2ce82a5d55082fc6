"""Ways of saying become the words of the lexicon; each case is what people of the field say and what it comes to."""

import pytest

from mirror.language.grammar import grammar
from mirror.language.phrases.rephrase import rephrase
from mirror.query.spec import Filter
from mirror.schema.profile import Profile


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("fiited pruned 95 %", "compression 0.05"),
        ("fiited at 95% sparsity", "compression 0.05"),
        ("fiited with a pruning ratio of 0.95", "compression 0.05"),
        ("keeping 10 % of the params", "compression 10%"),
        ("10% of the original size", "compression 10%"),
        ("at a tenth of the size", "compression 1/10"),
        ("10-fold smaller", "10x smaller"),
        ("ten times fewer parameters", "10x smaller"),
        ("20:1 compression", "20x smaller"),
        ("99th percentile latency", "p99"),
        ("90 percentile", "p90"),
        ("bs512", "bs 512"),
        ("dim=64", "dim 64"),
        ("single-threaded", "1 thread"),
        ("isn't dense", "is not dense"),
        ("what's the impact of compression on AUC?", "auc by compression"),
        ("how does batch size affect latency?", "latency by batch size"),
        ("does a larger batch size help throughput?", "throughput by batch size"),
        ("latency as batch size grows", "latency by batch size"),
        ("rank all methods by AUC", "methods sorted by auc"),
        ("AUC drops below 0.9", "auc below 0.9"),
        ("std of AUC over seeds", "std of auc"),
    ],
)
def test_sayings(said: str, read: str) -> None:
    assert read in " ".join(rephrase(said).split())


@pytest.mark.parametrize(
    "text",
    ["3x faster than dense", "10 % of the users", "pruned 150 %", "how many times smaller than dense", "", "ß·²"],
)
def test_what_is_no_saying_stays(text: str) -> None:
    assert "compression" not in rephrase(text)
    assert "x smaller" not in rephrase(text)


@pytest.mark.parametrize(
    ("question", "kept"),
    [
        ("memory of hashed pruned 90 % on frappe", 0.1),
        ("auc of hashed at half the size on frappe", 0.5),
        ("auc of qr at 98% sparsity on frappe", 0.02),
    ],
)
def test_they_end_as_filters(question: str, kept: float, profile: Profile) -> None:
    assert Filter("compression", "=", (kept,)) in grammar.read(question, profile).filters
