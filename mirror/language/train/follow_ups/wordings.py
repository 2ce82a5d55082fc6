"""Follow-ups with the question before them and the one that they make."""

import json
import random
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from mirror.language.train.spec_text import asked_of
from mirror.language.train.variants.results_variants import ResultsWording

_FOLDER = Path(__file__).parent


def said(sealed: bool = False) -> Iterator[ResultsWording]:
    """Follow-ups as people say them, or the sealed ones, which nobody may read. Raises SpecError for a form that is
    none."""
    if sealed:
        with zipfile.ZipFile(_FOLDER / "sealed.zip") as packed:
            rows = yaml.safe_load(packed.read("sealed.yaml"))
    else:
        rows = yaml.safe_load((_FOLDER / "said.yaml").read_text())
    for row in rows:
        for voice, text in row["ask"].items():
            yield _wording(row, voice, text)


def by_rules() -> Iterator[ResultsWording]:
    """Follow-ups in set phrases."""
    with zipfile.ZipFile(_FOLDER / "by_rules.zip") as packed:
        for line in packed.read("by_rules.jsonl").decode().splitlines():
            row = json.loads(line)
            yield _wording(row, "rules", row["then"])


def _wording(row: Mapping[str, Any], voice: str, text: object) -> ResultsWording:
    return ResultsWording(row["of"], voice, str(text), asked_of(row["form"]), asked_of(row["before"]))


def alone(wordings: Sequence[ResultsWording], count: int, seed: int = 0) -> list[ResultsWording]:
    """Questions of their own behind any other: what was asked before is no part of them."""
    rng = random.Random(seed)
    befores = [w.asked for w in wordings]
    return [replace(w, before=rng.choice(befores)) for w in rng.sample(wordings, min(count, len(wordings)))]
