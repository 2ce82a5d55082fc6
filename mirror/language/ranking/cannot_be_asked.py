"""Questions about the results that no query in words can say: each is refused with what can be done instead."""

import re

from mirror.language.neural.items import MOST_TOKENS
from mirror.language.neural.results_items import tokens_in
from mirror.language.phrases import definitions
from mirror.query.errors import NotUnderstood, Refusal
from mirror.schema import own_metrics
from mirror.words.tokens import tokens

_COMMIT = (
    "Times are understood (since 2026-11-01, yesterday), commits are not: a commit is a value of the column code "
    "version, so ask “latency by code version”, or with SQL, such as SELECT code_version, started_at, method, "
    "embedding_dim, batch_size, direction, latency_us, latency_p99_us FROM history ORDER BY started_at."
)
_MISSING = (
    "What is missing cannot be asked for in words, only with SQL, such as SELECT method, latency_us FROM results "
    "WHERE embedding_dim IS NULL."
)
_IS_MISSING = re.compile(
    r"\bnull\b|\b(is|are|was|were|with|has|have)\s+(not\s+)?(missing|empty|blank|unset)(?=\W*($|(and|or|by|for|in|on)\b))",
    re.IGNORECASE,
)
_BEST = re.compile(r"\b(best|worst|better|worse) (?:mean |average |median )?(\w+)", re.IGNORECASE)
_BELOW_ZERO = re.compile(r"(?<![\w.,)%])(?<!\d )[-−]\.?\d[\w.]*")
_PARAMETERS = re.compile(
    r"(?:\d\s?(?:k|m|bn)|\d{4,}|\d,\d{3}|\b(?:thousand|million|billion))\s+(?:parameters?|params?|weights)\b",
    re.IGNORECASE,
)


def check(question: str) -> None:
    """Raise Refusal for a question that asks for commits, for what is missing, for numbers below zero or of parameters,
    for the best of a metric that no plug-in says what is better of, or for what a word means, which the refusal tells;
    and for one that is too long."""
    if (length := len(tokens_in(question)[1])) > MOST_TOKENS:  # what is behind them would be left out unseen
        raise NotUnderstood(
            f"The question has {length} words, numbers and signs, of which {MOST_TOKENS} are read: leave out what is "
            "not needed."
        )
    if {"commit", "commits"} & set(tokens(question)):
        raise Refusal(_COMMIT)
    if _IS_MISSING.search(question):
        raise Refusal(_MISSING)
    if signed := _BELOW_ZERO.search(question):  # of which the words keep no sign
        raise NotUnderstood(f"What “{signed[0]}” should do here is not clear: ask with SQL for numbers below zero.")
    if _PARAMETERS.search(question):
        raise NotUnderstood(
            "Numbers of parameters are not recorded, their bytes are: ask in MB, such as “under 0.4 MB” for 100,000 "
            "parameters of 4 bytes."
        )
    undirected = {own_metrics.one_word(c.name): c for c in own_metrics.known() if not c.better}
    for word, name in _BEST.findall(own_metrics.as_one_word(question.lower())):
        if name in undirected:
            label = undirected[name].name.replace("_", " ")
            raise Refusal(
                f"Whether a higher or a lower {label} is {word.replace('worst', 'worse').replace('best', 'better')} is "
                "not known: ask for the highest or the lowest, or have its plug-in say what is `better`."
            )
    if meant := definitions.find(question):
        raise Refusal(meant)
