"""What people say in their own words is read as what they mean, and what could mean two things is asked back."""

import pytest

from mirror.language.grammar import grammar
from mirror.language.grammar.lexicon import Lexicon
from mirror.language.phrases import quality_cues, small_talk
from mirror.language.phrases.rephrase import rephrase
from mirror.query.errors import Ambiguity, Refusal
from mirror.query.spec import Filter, QuerySpec
from mirror.schema.profile import Profile


def _words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(
    ("said", "plain"),
    [
        ("Hi, I'm new here: AUC of hashed at 0.1 on frappe", "AUC of hashed at 0.1 on frappe"),
        ("for a paper I need the AUC of hashed at 0.1 on frappe", "I need the AUC of hashed at 0.1 on frappe"),
        ("a reviewer asks whether hashed is smaller than dense on frappe", "is hashed smaller than dense on frappe"),
        ("could somebody tell me the AUC of hashed on frappe? thanks!", "AUC of hashed on frappe"),
        ("quick question: which method has the best AUC on frappe?", "which method has the best AUC on frappe?"),
        ("memory in KB of hashed at 0.1 in training", "memory of hashed at 0.1 in training"),
        ("how many MB does hashed take at 0.1 in training", "memory of hashed at 0.1 in training"),
        ("p99 latency in ms of dense lookups by batch size", "p99 latency of dense lookups by batch size"),
        ("shrink the table to a tenth: AUC of hashed on frappe", "AUC of hashed at compression 0.1 on frappe"),
        ("halve the memory: AUC of hashed on frappe", "AUC of hashed at compression 0.5 on frappe"),
        ("best AUC on frappe under a hard cap of 500 KB", "best AUC on frappe with memory at most 0.5 MB"),
        ("which method has the best AUC if I only have 1 MB", "which method has the best AUC at most 1 MB"),
        ("all but dense: AUC on frappe", "AUC on frappe except dense"),
        ("AUC on frappe, dense excluded", "AUC on frappe except dense"),
        ("which methods lose less than 0.005 AUC on frappe?", "which methods within 0.005 of dense on frappe"),
        ("c = 0.1, AUC on frappe", "compression 0.1, AUC on frappe"),
        ("what is the price in AUC of hashed at 0.1 on frappe?", "AUC loss of hashed at 0.1 on frappe"),
        ("does a larger batch size make lookups slower?", "latency of lookups by batch size"),
        ("does latency get worse with bigger batches in lookup?", "latency by batch size in lookup"),
        ("auc of evrything on frappe", "auc of everything on frappe"),
        ("samples per second while training on frappe", "samples per second in training on frappe"),
        ("which three methods have the lowest logloss on frappe", "3 lowest logloss on frappe by method"),
        ("number of distinct methods in training", "how many different methods in training"),
        ("latency of hashed divided by dense in lookup", "latency of hashed relative to dense in lookup"),
        ("how does latency grow with dim in lookup", "how does latency scale with dim in lookup"),
        ("most common failure reason", "number of failures by reason"),
        ("teh auc of hashed on frappe, whihc dim", "the auc of hashed on frappe, which dim"),
        ("total benchmark time per sweep", "total duration per sweep"),
    ],
)  # fmt: skip
def test_said_in_own_words(said: str, plain: str, profile: Profile) -> None:
    assert _asked(grammar.read(said, profile)) == _asked(grammar.read(plain, profile))


def _asked(spec: QuerySpec) -> tuple[object, ...]:
    filters = frozenset((f.column, f.operator, f.values) for f in spec.filters)
    return spec.shape, spec.metrics, set(spec.dimensions), filters, spec.within, spec.against, spec.order


@pytest.mark.parametrize(
    "text",
    [
        "latency by method in the sweep named paper runs",
        "for the paper sweep: memory of hashed",
        "which method has not failed",
        "is a small one faster",
        "is lower better than higher",
    ],
)
def test_what_says_something_is_no_small_talk(text: str) -> None:
    assert small_talk.without(text) == text


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("which are twice as fast as dense", "2x faster than dense"),
        ("10 million rows", "10000000 rows"),
        ("is 4 threads faster than 1 for dense?", "latency of threads 4 relative to threads 1"),
        ("which machine did the most runs?", "number of trials by machine descending"),
        ("what compression settings did you try for hashed?", "which compression are there"),
        ("which trainings did not make it", "which trainings failed"),
        ("out of memory errors by method", "out of memory by method"),
        ("how large is the AUC gap of hashed", "what is the auc gap of hashed"),
        ("isn't hashed faster than dense?", "is hashed faster"),
        ("turn compression from .5 to .02", "compression from .5 to .02"),
        ("which kernels reach 20 GB/s", "at least 20gb/s"),
        ("at half and quarter size", "compression 1/2, 1/4"),
        ("cut the memory by 90 %", "compression 0.1"),
        ("keep at most 5 %", "compression at most 5%"),
        ("under a 10 % parameter budget", "compression at most 10%"),
    ],
)
def test_frames(said: str, read: str) -> None:
    assert read in _words(rephrase(said))


@pytest.mark.parametrize(
    ("question", "choices"),
    [
        ("is hashed worth it on frappe?", ["AUC of hashed compared to dense on frappe"]),
        ("which one should I pick for frappe?", ["which method has the best AUC on frappe?"]),
        ("how expensive is hashed on frappe?", ["memory of hashed on frappe?", "latency of hashed on frappe?"]),
        ("auc of hashed at 90% compression on frappe", ["auc of hashed at compression 0.1 on frappe"]),
        ("within 1% of dense auc on frappe", ["within 0.01 of dense on frappe"]),
    ],
)
def test_two_meanings_are_asked_back_and_keep_the_rest(question: str, choices: list[str], profile: Profile) -> None:
    with pytest.raises(Ambiguity) as asked:
        grammar.read(question, profile)
    assert set(choices) <= set(asked.value.choices)
    for choice in choices:
        grammar.read(choice, profile)  # and each is understood


def test_a_loss_that_is_more_than_a_limit_is_no_margin() -> None:
    assert quality_cues.find("which methods lose more than 0.01 auc")[0] is None
    assert quality_cues.find("without losing more than 0.01 auc")[0] == 0.01


def test_as_good_as_the_baseline_in_speed_is_no_margin_of_auc() -> None:
    assert quality_cues.find("matches dense in latency")[0] is None
    assert quality_cues.find("as accurate as dense")[0] == quality_cues.AS_GOOD


def test_a_quotient_of_metrics_is_refused(profile: Profile) -> None:
    with pytest.raises(Refusal, match="quotient"):
        grammar.read("AUC lost per megabyte saved for hashed", profile)


def _lexicon(*machines: str) -> Lexicon:
    return Lexicon(Profile(distinct={"machine": machines}))


def test_a_part_of_a_name_that_one_machine_has_names_it() -> None:
    (found,) = [i for i in _lexicon("epyc-01", "laptop").items("latency on the epyc")[0] if i.kind == "value"]
    assert (found.name, found.value) == ("machine", "epyc-01")


@pytest.mark.parametrize("machines", [("epyc-01", "epyc-03"), ("epyc-01",)])
def test_a_part_that_fits_several_or_begins_another_name_is_not_known(machines: tuple[str, ...]) -> None:
    items, _ = _lexicon(*machines).items("latency on epyc-02")
    assert "epyc" in [i.text for i in items if i.kind == "unknown"]


def test_an_everyday_word_of_a_machines_name_counts_only_beside_machine() -> None:
    lexicon = _lexicon("old thinkpad", "laptop")
    assert [i.kind for i in lexicon.items("old")[0]] == ["unknown"]
    assert [i.value for i in lexicon.items("old machine")[0]] == ["old thinkpad"]


@pytest.mark.parametrize("word", ["closest", "plane", "dominates", "halve"])
def test_another_word_is_no_typo(word: str, profile: Profile) -> None:
    with pytest.raises(Refusal):
        grammar.read(f"{word} AUC by method on frappe", profile)


def test_a_word_is_never_corrected_to_itself() -> None:
    items, notes = _lexicon("epyc-01", "laptop").items("epyc-02 speedup")
    assert notes == []
    assert items[-1].name == "speedup"


def test_metrics_that_choose_are_shown_beside_those_that_sort(profile: Profile) -> None:
    spec = grammar.read("every trial on frappe with AUC above 0.9, sorted by size", profile)
    assert [m.column for m in spec.metrics] == ["auc", "memory_mb"]
    assert Filter("auc", ">", (0.9,)) in spec.filters


def test_a_number_of_trials_is_no_number_of_ends() -> None:
    assert _words(rephrase("which 3 methods have the best AUC")) == "which methods have the 3 best auc"
    assert "3 best" not in rephrase("the last 3 trials with the best AUC")


def test_samples_are_of_all_trials(profile: Profile) -> None:
    spec = grammar.read("number of samples by stop reason", profile)
    assert spec.dimensions == ("stop_reason",)
