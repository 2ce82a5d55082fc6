"""Trains the second reader and the ranker and writes the files that ship: `python -m mirror.language.train --help`."""

import argparse
import json
import logging
import os
import random
from dataclasses import replace
from datetime import date
from pathlib import Path

import torch

from mirror.language.neural import likeness, network, text_encoder
from mirror.language.neural.action_language import Inexpressible
from mirror.language.neural.form_actions import ASKED, Writer
from mirror.language.neural.items import items_of
from mirror.language.neural.results_grammar import RESULTS_LANGUAGE
from mirror.language.neural.results_reader import RESULTS_WEIGHTS
from mirror.language.ranking import ranker
from mirror.language.ranking.ranker import trained
from mirror.language.train.data import wikisql
from mirror.language.train.data.example import NOW, Example
from mirror.language.train.data.phrases import examples as worded_by_rules
from mirror.language.train.data.results_wordings import (
    alone,
    follow_ups_by_rules,
    follow_ups_said,
    not_here,
    read_by_rules,
    results_examples,
    results_wordings,
)
from mirror.language.train.data.results_wordings import for_ranking as for_results_ranking
from mirror.language.train.data.variants.results_variants import ResultsWording
from mirror.language.train.data.wordings import database_of, for_ranking, for_reading, wordings
from mirror.language.train.fitting.batches import vocabulary
from mirror.language.train.fitting.judged import NOT_HERE, judged
from mirror.language.train.fitting.learn import Learner, Part
from mirror.language.train.fitting.rank import fit
from mirror.language.train.fitting.results_judged import counted, counted_follow_ups, follow_ups_judged, results_judged
from mirror.language.train.tables import text_base, vectors

_log = logging.getLogger(__name__)
_LEAST, _LEAST_IN_RESULTS = 30, 8  # how often a stem must be there to have a place of its own
_RESULTS_EPOCHS, _VARIANTS = 3, 1
_LEAST_KEPT = 0.05  # of the items over the results that are not pointed at
_FEW = 2  # of so many questions in set phrases the ranker learns from one: people say few of them
_LEARNT_ALONE = 3000  # questions of their own that the network learns behind others
_ALONE = 250  # questions of their own, and such as the results cannot answer, among follow-ups
_BY_RULES, _TO_RANK = 160, 40  # questions per database, to learn reading and ranking from


def main() -> None:
    """Reads the command line. Two hours and a half on two cores, most of it the second reader."""
    parser = argparse.ArgumentParser(description=__doc__)
    parts = ("vectors", "text", "reader", "ranker", "results", "results-ranker", "follow-up-ranker")
    parser.add_argument("what", nargs="*", choices=(*parts, "card", []), default=list(parts[2:]))
    parser.add_argument("--folder", type=Path, default=Path("build/train"), help="checkpoints, to go on from")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--device", default="cpu", help="where the network of the results learns: cpu, cuda")
    given = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(given.threads)
    given.folder.mkdir(parents=True, exist_ok=True)
    if "card" in given.what:
        cards = [network.WEIGHTS.with_suffix(".json").read_text(), RESULTS_WEIGHTS.with_suffix(".json").read_text()]
        cards += [
            json.dumps(trained(path).card, indent=1)
            for path in (ranker.WEIGHTS, ranker.RESULTS_RANKER, ranker.FOLLOW_UP_RANKER)
        ]
        print(*cards, sep="\n")
    if "vectors" in given.what:
        _log.info("%d stems", vectors.write(likeness.TABLE))
    if "text" in given.what:
        _log.info("%d pieces of words", text_base.write(text_encoder.BASE))
    if "reader" in given.what:
        _reader(given.folder)
    if "ranker" in given.what:
        _ranker()
    if "results" in given.what:
        _results(given.folder, given.device)
    if "results-ranker" in given.what:
        _results_ranker()
    if "follow-up-ranker" in given.what:
        _follow_up_ranker()


def _reader(folder: Path) -> None:
    tables = _wikisql()
    worded = [e for name in for_reading() for e in _worded(name)]
    rng = random.Random(0)
    by_rules = [e for name in for_reading() for e in worded_by_rules(database_of(name), rng, _BY_RULES)]
    learner = Learner(vocabulary([*tables, *worded, *by_rules], _LEAST), folder, ASKED)
    if tables:
        learner.fit(Part("wikisql", tables, 2))
    learner.fit(Part("by rules", [*by_rules, *worded], 2))
    learner.fit(Part("wordings", [*worded, *rng.sample(by_rules, len(by_rules) // 10)], 7))
    learner.write(network.WEIGHTS)
    card = {
        "written": date.today().isoformat(),
        "WikiSQL": len(tables),
        "made by rules": len(by_rules),
        "wordings": len(worded),
        "databases": len(for_reading()),
    }
    network.WEIGHTS.with_suffix(".json").write_text(json.dumps(card, indent=1) + "\n")


def _results(folder: Path, device: str) -> None:
    """The network of the results, which goes on from that of other data, and its ranker."""
    worded = list(results_wordings())
    learnt = [w for w in worded if not for_results_ranking(w)]
    by_rules = [w for w in read_by_rules() if not for_results_ranking(w)]
    examples = list(results_examples(learnt, _VARIANTS))
    checked = list(results_examples([w for w in worded if for_results_ranking(w)]))
    _log.info("%d examples to learn, %d to check by", len(examples), len(checked))
    learner = Learner(vocabulary(examples, _LEAST_IN_RESULTS), folder, RESULTS_LANGUAGE, in_context=True, device=device)
    learner.begin_with(network.WEIGHTS, ASKED)
    learner.fit(Part("results", examples, _RESULTS_EPOCHS, least_kept=_LEAST_KEPT), checked)
    follow_ups = [w for w in (*follow_ups_said(), *follow_ups_by_rules()) if not for_results_ranking(w)]
    follow_ups += [*alone(learnt, _LEARNT_ALONE), *alone(by_rules, _LEARNT_ALONE // 3)]
    examples += results_examples([*by_rules, *follow_ups], _VARIANTS, seed=1)
    learner.fit(Part("results, rules and follow-ups", examples, _RESULTS_EPOCHS, least_kept=_LEAST_KEPT), checked)
    learner.write(RESULTS_WEIGHTS)
    card = {
        "written": date.today().isoformat(),
        "queries": len({w.query for w in learnt}),
        "wordings": len(learnt),
        "by rules": len(by_rules),
        "follow-ups": len(follow_ups),
        "variants": _VARIANTS,
    }
    RESULTS_WEIGHTS.with_suffix(".json").write_text(json.dumps(card, indent=1) + "\n")


def _wikisql() -> list[Example]:
    """WikiSQL's training questions; none without MIRROR_DATA_DIR."""
    path = Path(os.environ.get("MIRROR_DATA_DIR", "")) / "wikisql" / "train.jsonl.gz"
    if not path.is_file():
        _log.warning("There is no %s: the reader learns without WikiSQL, and reads single tables worse.", path)
        return []
    return list(wikisql.examples(path))


def _worded(name: str) -> list[Example]:
    """The open wordings of a database; those that the network's language cannot say are left out."""
    database, found = database_of(name), []
    for wording in wordings(name):
        items = items_of(wording.text, database, NOW)
        try:
            found.append(Example(items, tuple(Writer(wording.asked, items, database).line()), name))
        except Inexpressible:
            continue
    return found


def _ranker() -> None:
    questions = [q for name in for_ranking() for q in judged(name, by_rules=_TO_RANK)]
    answerable = [q for q in questions if q.voice != NOT_HERE]
    card = {
        "written": date.today().isoformat(),
        "questions": len(questions),
        "databases": len(for_ranking()),
        "right among the readings": round(sum(any(q.right) for q in answerable) / len(answerable), 3),
    }
    replace(fit(questions), card=card).write(ranker.WEIGHTS)
    _log.info("%s", json.dumps(card))


def _results_ranker() -> None:
    """Fitted to wordings that the network has not learnt from; the sealed ones are only counted."""
    held = [w for w in results_wordings() if for_results_ranking(w)]
    held += [w for w in read_by_rules() if for_results_ranking(w)][::_FEW]
    questions = list(results_judged(held, not_here()))
    found = fit([q.judged() for q in questions])
    found.write(ranker.RESULTS_RANKER)
    trained.cache_clear()
    sealed = results_judged(list(results_wordings(sealed=True)), not_here(sealed=True))
    card = {"written": date.today().isoformat(), "fitted to": counted(questions), "sealed": counted(sealed)}
    replace(found, card=card).write(ranker.RESULTS_RANKER)
    _log.info("%s", json.dumps(card))


def _follow_up_ranker() -> None:
    """Fitted to follow-ups, and questions of their own behind others, that the network has not learnt from."""
    held = [w for w in results_wordings() if for_results_ranking(w)]
    nothing = (ResultsWording("", NOT_HERE, text, held[0].asked) for text in not_here())
    ours = [
        *(w for w in follow_ups_said() if for_results_ranking(w)),
        *alone(held, _ALONE),
        *alone(list(nothing), _ALONE),
    ]
    ours += [w for w in follow_ups_by_rules() if for_results_ranking(w)][::_FEW]
    questions = list(follow_ups_judged(ours))
    found = fit(questions)
    sealed = follow_ups_judged(follow_ups_said(sealed=True))
    card = {"written": date.today().isoformat(), "fitted to": counted_follow_ups(questions, found)}
    card["sealed"] = counted_follow_ups(sealed, found)
    replace(found, card=card).write(ranker.FOLLOW_UP_RANKER)
    _log.info("%s", json.dumps(card))


if __name__ == "__main__":
    main()
