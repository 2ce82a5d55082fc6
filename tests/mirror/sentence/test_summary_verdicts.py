"""A yes or a no from verdicts, with their number; worked out by hand."""

import pytest

from mirror.query.spec import Claim, Metric, QuerySpec
from mirror.schema.result_columns import result_table
from mirror.sentence.summary import summarize

COLUMNS = ("method", "batch_size", "speedup", "speedup_ci_low", "speedup_ci_high", "verdict", "n")


def spec(claim: Claim | None) -> QuerySpec:
    return QuerySpec("groups", (Metric("speedup", "avg"),), ("method", "batch_size"), verdicts=True, claim=claim)


def rows(method: str, *verdicts: str | None, speedup: float = 0.5) -> list[tuple]:
    return [
        (method, 2**i, speedup * 2**i, speedup * 2**i * 0.9, speedup * 2**i * 1.1, verdict, 1)
        for i, verdict in enumerate(verdicts)
    ]


def said(claim: Claim | None, *found: tuple) -> str:
    return summarize(result_table(COLUMNS, found), spec(claim), None)


@pytest.mark.parametrize(
    ("claim", "verdicts", "sentence"),
    [
        ("faster", ["slower"] * 11 + ["unclear"], "No: # is slower than dense (verdict in 11 of 12 %; 1 unclear)."),
        ("slower", ["slower"] * 3, "Yes: # is slower than dense (verdict in all 3 %)."),
        ("faster", ["faster"], "Yes: # is faster than dense (verdict of the one configuration)."),
        ("faster", ["same", "same"], "No: # is as fast as dense (verdict in all 2 %)."),
        (
            "faster",
            ["unclear"] * 2,
            "It cannot be said whether # is faster than dense: the verdict is unclear in all 2 %.",
        ),
        (
            "slower",
            ["unclear"],
            "It cannot be said whether # is slower than dense: the verdict is unclear in the one configuration.",
        ),
        (
            "faster",
            ["faster", "unclear"],
            "Yes where it is clear: # is faster than dense (verdict in 1 of 2 %; 1 unclear).",
        ),
        (
            "faster",
            ["slower", "faster", "slower", "same", "unclear"],
            "In part: # is faster than dense in 1 of 5 %, slower in 2, as fast in 1, unclear in 1.",
        ),
        ("slower", ["faster", "same", "same"], "No: # is as fast as dense in 2 of 3 %, faster in 1."),
    ],
)
def test_one_method(claim: Claim, verdicts: list[str], sentence: str) -> None:
    sentence = sentence.replace("#", "hashed").replace("%", "configurations")
    assert said(claim, *rows("hashed", *verdicts)).startswith(sentence)


def test_speedups_are_told_with_their_geometric_mean_or_their_interval() -> None:
    assert "Speedup 0.500x to 2x, geometric mean 1x." in said("faster", *rows("hashed", "slower", "same", "faster"))
    assert "Speedup 2x, 95 % interval 1.80x to 2.20x." in said("faster", *rows("hashed", "faster", speedup=2.0))


def test_several_methods_are_listed_with_their_counts() -> None:
    found = [
        *rows("hashed", "slower", "unclear"),
        *rows("small_dim", "faster", "same"),
        *rows("qr", "faster", "faster"),
    ]
    assert said("faster", *found).startswith(
        "Faster than dense: qr in 2 of 2 configurations and small_dim in 1 of 2 configurations; not hashed (1 slower "
        "and 1 unclear)."
    )
    assert said("faster", *rows("a", "slower"), *rows("b", "same")).startswith(
        "None is faster than dense: a (1 slower) and b (1 same)."
    )


def test_the_baseline_has_no_verdict_and_others_without_one_are_told() -> None:
    text = said("faster", *rows("dense", None), *rows("hashed", "slower", None))
    assert "1 configuration without a verdict is not counted." in text


def test_without_a_claim_verdicts_stand_beside_the_usual_sentence() -> None:
    text = said(None, *rows("hashed", "slower", "slower"), *rows("small_dim", "faster", "unclear"))
    assert "Verdicts against the baseline: hashed 2 slower; and small_dim 1 faster and 1 unclear." in text
    assert "speedup" in text.split("Verdicts")[0]


def test_a_claim_without_any_verdict_falls_back_to_the_numbers() -> None:
    text = said("faster", *rows("hashed", None, None))
    assert "verdict" not in text
    assert "1x" in text
