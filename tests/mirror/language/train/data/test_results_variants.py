"""Variants of wordings over the results: what is said and what is asked for stay the same thing."""

import random
from dataclasses import replace

import numpy as np
import pytest

from mirror.language.neural.results_grammar import RESULTS_LANGUAGE
from mirror.language.train.data.results_wordings import for_ranking, results_examples, results_wordings, worded_for
from mirror.language.train.data.variants.results_variants import ResultsWording, other_results, variant
from mirror.language.train.fitting.batches import arrays_of, thinned, vocabulary
from mirror.query.spec import Filter

PROFILE = worded_for()
OPEN = [w for w in results_wordings() if not for_ranking(w)]


def _wording(text: str, *filters: Filter) -> ResultsWording:
    return ResultsWording("q", "plain", text, replace(OPEN[0].asked, filters=filters, against=None))


def test_a_value_that_is_written_gives_way_in_words_and_query_alike():
    seen = set()
    for seed in range(40):
        made = variant(_wording("memory on ml-1m", Filter("dataset", "=", ("ml-1m",))), PROFILE, random.Random(seed))
        dataset = next(f.values[0] for f in made.asked.filters if f.column == "dataset")
        assert str(dataset) in made.text
        seen.add(dataset)
    assert len(seen) > 3


def test_a_number_within_another_number_is_left_alone():
    condition = Filter("embedding_dim", "=", (16,))
    for seed in range(40):
        made = variant(
            _wording("latency of d16 tables with 16 dims and 1600 rows", condition), PROFILE, random.Random(seed)
        )
        assert "1600 rows" in made.text


@pytest.mark.parametrize("seed", range(5))
def test_each_condition_that_is_added_is_said(seed):
    rng, added = random.Random(seed), 0
    for wording in rng.sample(OPEN, 60):
        made = variant(wording, PROFILE, rng)
        new = made.asked.filters[len(wording.asked.filters) :]
        added += len(new)
        assert not new or len(made.text) > len(wording.text) - 20
        assert {f.column for f in new}.isdisjoint(f.column for f in wording.asked.filters)
    assert added > 20


def test_most_variants_can_be_said_as_a_line_of_actions():
    some = random.Random(3).sample(OPEN, 40)
    assert len(list(results_examples(some, variants=1))) > 65


def test_other_results_hold_what_is_asked_for():
    rng = random.Random(0)
    for wording in rng.sample(OPEN, 100):
        other = other_results(PROFILE, wording.asked, rng)
        for condition in wording.asked.filters:
            held = {v for v in condition.values if v in PROFILE.values(condition.column)}
            assert held <= set(other.values(condition.column))
        assert set(other.benchmarks) <= set(PROFILE.benchmarks)
        assert other.benchmarks


def test_thinned_arrays_point_at_what_they_pointed_at():
    examples = list(results_examples(OPEN[:12]))
    words = vocabulary(examples, 1)
    rng = np.random.default_rng(0)
    for example in examples:
        whole = arrays_of(example, words, RESULTS_LANGUAGE)
        part = thinned(whole, 0.3, rng)
        first = whole.allowed_words.shape[1]
        assert len(part.kinds) < len(whole.kinds)
        assert (part.places < len(example.items.tokens)).sum() == len(example.items.tokens)
        for before, after in zip(whole.wanted, part.wanted, strict=True):
            if before < first:
                assert before == after
            else:
                assert (whole.words[before - first] == part.words[after - first]).all()
                assert (whole.features[before - first] == part.features[after - first]).all()


def test_what_no_line_says_is_left_out():
    unsayable = _wording("latency at 12345 threads", Filter("threads", "=", (54321,)))
    assert list(results_examples([unsayable])) == []
