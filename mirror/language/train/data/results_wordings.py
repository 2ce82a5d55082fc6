"""Questions over the results in the words of several people: what the network of the results learns from.

`results/NAME.yaml` lists queries as `spec_text` writes them, each with its wordings by voice, and
`results/NAME_not_here.txt` questions that results cannot answer. They were written for results that hold what
`results/profile.json` says. `results/by_rules.zip` holds questions in set phrases, with their forms: a grammar that the
network has replaced read them. Questions of the evaluation are none of them. Of so many queries one is not learnt from:
the ranker is fitted on those.

`follow_ups/said.yaml` has follow-ups in the words of three voices, written by two people from the question before, the
change in set phrases and the question that it makes; they had seen no reader and no question of the evaluation.
`follow_ups/by_rules.zip` has changes in set phrases with their forms, by rules of the same kind. A tenth of what was
said is sealed.
"""

import hashlib
import json
import random
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from mirror.language.neural.action_language import Inexpressible
from mirror.language.neural.results_actions import ResultsWriter
from mirror.language.neural.results_items import results_items
from mirror.language.train.data.example import NOW, Example
from mirror.language.train.data.spec_text import asked_of
from mirror.language.train.data.variants.results_variants import ResultsWording, other_results, variant
from mirror.query.in_words import question_of
from mirror.query.spec import QuerySpec
from mirror.schema.profile import Profile

_FOLDER, _SEALED, _FOLLOW_UPS = (Path(__file__).with_name(name) for name in ("results", "results_sealed", "follow_ups"))
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times faster
_RANKED = 5  # of so many queries one is kept for ranking


def results_wordings(sealed: bool = False) -> Iterator[ResultsWording]:
    """The open wordings, or the sealed ones, which nobody may read. Raises SpecError for a form that is none."""
    if sealed:
        queries = [q for held in _sealed() for q in held["queries"]]
    else:
        queries = [q for path in sorted(_FOLDER.glob("*.yaml")) for q in yaml.load(path.read_text(), _Loader)]
    for query in queries:
        asked = asked_of(query["form"])
        for voice, text in query["ask"].items():
            yield ResultsWording(str(query["id"]), voice, str(text), asked)


def read_by_rules() -> Iterator[ResultsWording]:
    """Questions in set phrases."""
    for row in _by_rules(_FOLDER):
        yield ResultsWording(row["of"], "rules", row["ask"], asked_of(row["form"]))


def _by_rules(folder: Path) -> Iterator[dict[str, Any]]:
    with zipfile.ZipFile(folder / "by_rules.zip") as packed:
        for line in packed.read("by_rules.jsonl").decode().splitlines():
            yield json.loads(line)


def not_here(sealed: bool = False) -> list[str]:
    """Questions that no results of this kind answer."""
    if sealed:
        return [text for held in _sealed() for text in held["not_here"]]
    return [line for path in sorted(_FOLDER.glob("*_not_here.txt")) for line in path.read_text().splitlines()]


def _sealed() -> Iterator[dict[str, Any]]:
    for path in sorted(_SEALED.glob("*.zip")):
        with zipfile.ZipFile(path) as packed:
            yield yaml.load(packed.read(f"{path.stem}.yaml"), _Loader)


def for_ranking(wording: ResultsWording) -> bool:
    """Whether the network does not learn from a wording."""
    return _number(wording.query) % _RANKED == 0


def worded_for() -> Profile:
    """What the results hold that the wordings were written for."""
    return Profile.from_dict(json.loads((_FOLDER / "profile.json").read_text()))


def results_examples(wordings: Sequence[ResultsWording], variants: int = 0, seed: int = 0) -> Iterator[Example]:
    """Each wording over the results that it was written for, and so many variants of it over other results.

    Those that no line of actions says are left out.
    """
    own, rng = worded_for(), random.Random(seed)
    for wording in wordings:
        with suppress(Inexpressible):
            yield _example(wording, own)
        for _ in range(variants):
            other = other_results(own, _all_said(wording), rng)
            with suppress(Inexpressible):
                yield _example(variant(wording, other, rng), other)


def _all_said(wording: ResultsWording) -> QuerySpec:
    """What is asked for, with the conditions of the question before."""
    before = wording.before.filters if wording.before else ()
    return replace(wording.asked, filters=(*wording.asked.filters, *before))


def _example(wording: ResultsWording, profile: Profile) -> Example:
    before = question_of(wording.before) if wording.before else ""
    items = results_items(wording.text, profile, NOW, before)
    return Example(items, tuple(ResultsWriter(wording.asked, items, profile).line()), wording.query)


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


# -- follow-ups --------------------------------------------------------------------------------------------------------


def follow_ups_said(sealed: bool = False) -> Iterator[ResultsWording]:
    """Follow-ups as people say them, or the sealed ones, which nobody may read. Raises SpecError for a form that is
    none."""
    if sealed:
        with zipfile.ZipFile(_FOLLOW_UPS / "sealed.zip") as packed:
            rows = yaml.load(packed.read("sealed.yaml"), _Loader)
    else:
        rows = yaml.load((_FOLLOW_UPS / "said.yaml").read_text(), _Loader)
    for row in rows:
        for voice, text in row["ask"].items():
            yield _follow_up(row, voice, text)


def follow_ups_by_rules() -> Iterator[ResultsWording]:
    """Follow-ups in set phrases."""
    for row in _by_rules(_FOLLOW_UPS):
        yield _follow_up(row, "rules", row["then"])


def _follow_up(row: Mapping[str, Any], voice: str, text: object) -> ResultsWording:
    return ResultsWording(row["of"], voice, str(text), asked_of(row["form"]), asked_of(row["before"]))


def alone(wordings: Sequence[ResultsWording], count: int, seed: int = 0) -> list[ResultsWording]:
    """Questions of their own behind any other: what was asked before is no part of them."""
    rng = random.Random(seed)
    befores = [w.asked for w in wordings]
    return [replace(w, before=rng.choice(befores)) for w in rng.sample(wordings, min(count, len(wordings)))]
