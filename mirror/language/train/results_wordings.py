"""Questions over the results in the words of several people: what the second reader of the results learns from.

`results/NAME.yaml` lists queries as `mirror.query.spec_text` writes them, each with its wordings by voice. Questions of
the evaluation are none of them. What a question is about is the results of one of the evaluation's fixtures, another
for each wording.
"""

import hashlib
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from mirror.data.process.sandbox import Sandbox
from mirror.evaluation.fixture_trials import build
from mirror.evaluation.fixtures import NOW, fixtures
from mirror.language.second.action_language import Inexpressible
from mirror.language.second.results_actions import ResultsWriter
from mirror.language.second.results_items import results_items
from mirror.language.train.batches import Example
from mirror.query.spec import QuerySpec
from mirror.query.spec_text import asked_of
from mirror.schema.profile import Profile

_FOLDER = Path(__file__).with_name("results")
_CHECKED = 12  # of so many queries one is only checked


@dataclass(frozen=True)
class ResultsWording:
    """A query over the results in somebody's words.

    Attributes:
        query: the id of the query.
        voice: who says it.
        text: the words.
        asked: what they ask for.
    """

    query: str
    voice: str
    text: str
    asked: QuerySpec


def results_wordings() -> Iterator[ResultsWording]:
    """All wordings. Raises SpecError for a form that is none."""
    for path in sorted(_FOLDER.glob("*.yaml")):
        for query in yaml.safe_load(path.read_text()):
            asked = asked_of(query["form"])
            for voice, text in query["ask"].items():
                yield ResultsWording(str(query["id"]), voice, str(text), asked)


def results_examples(
    wordings: Sequence[ResultsWording], profiles: Sequence[Profile]
) -> tuple[list[Example], list[Example]]:
    """(examples to learn, examples of other queries to check by); those that no line of actions says are left out."""
    learnt: list[Example] = []
    checked: list[Example] = []
    for wording in wordings:
        start = _number(f"{wording.query} {wording.voice}")
        for i in range(len(profiles)):
            try:
                made = _example(wording, profiles[(start + i) % len(profiles)])
            except Inexpressible:
                continue
            (learnt if _number(wording.query) % _CHECKED else checked).append(made)
            break
    return learnt, checked


def _example(wording: ResultsWording, profile: Profile) -> Example:
    items = results_items(wording.text, profile, NOW)
    return Example(items, tuple(ResultsWriter(wording.asked, items, profile).line()), wording.query)


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def results_profiles(kept: Path) -> list[Profile]:
    """What each fixture of the evaluation holds; kept in a file, since building them takes a minute."""
    if not kept.is_file():
        with tempfile.TemporaryDirectory() as folder:
            found = []
            for fixture in (*fixtures("categories"), *fixtures("paraphrases")):
                with Sandbox(str(build(fixture, Path(folder)))) as sandbox:
                    found.append(sandbox.schema().to_dict())
        kept.write_text(json.dumps(found))
    return [Profile.from_dict(held) for held in json.loads(kept.read_text())]
