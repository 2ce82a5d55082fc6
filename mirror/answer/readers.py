"""How a question in words is read: as one that was saved, as a follow-up, by the language model or the grammar."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from mirror.answer.answer import Answer
from mirror.answer.proposal import Proposal, chosen_of_results
from mirror.answer.results_follow_up import by_rules, changed, late
from mirror.answer.results_policy import NOT_CLEAR, Shown, proposals, unlike
from mirror.answer.subject import GONE
from mirror.data.data_source import QueryError
from mirror.data.process.sandbox import Sandbox
from mirror.language.grammar import grammar
from mirror.language.ranking.results_decision import (
    MOST_BESIDE,
    answered_at_once,
    shown,
    shown_with_choices,
    told_beside,
)
from mirror.language.ranking.results_readings import readings_to_decide
from mirror.language.ranking.settled_benchmark import has_rows, settle
from mirror.model.model_setting import configured
from mirror.query.check import SpecError
from mirror.query.complete import complete
from mirror.query.errors import Ambiguity, NotUnderstood, Refusal
from mirror.query.kept.learnt_text import LearntQuestion
from mirror.query.kept.same_question import same_words
from mirror.query.saved import Saved, SavedError, SavedQuestion, saved_path
from mirror.query.spec import QuerySpec
from mirror.query.token_count import NO_TOKENS, Tokens
from mirror.schema import catalog
from mirror.schema.profile import Profile

if TYPE_CHECKING:
    from mirror.query.agreement import Agreement

_NEAREST = 3  # saved questions that a language model is shown


@dataclass(frozen=True)
class Reading:
    """What a question was read as.

    Attributes:
        engine: who read it.
        asked: the query that the question itself says, or None where it became SQL at once.
        others: questions to click, which mean another benchmark.
        proposals: what else it may mean.
        spec: the same, completed with what the results leave open.
        sql: the statement of a saved question or of a language model; None where the spec says it.
        read_as: how that statement came about.
        note: what the person must know besides.
        sent: what a language model was sent, word for word.
        tokens: what that took.
        agreement: how the grammar compares, where a language model filled the form.
        changes: whether the question changes the one before.
        recalled: whether it was chosen for this question before.
    """

    engine: Literal["grammar", "llm", "saved"] = "grammar"
    asked: QuerySpec | None = None
    others: tuple[str, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    spec: QuerySpec | None = None
    sql: str | None = None
    read_as: str = ""
    note: str = ""
    sent: str = ""
    tokens: Tokens = NO_TOKENS
    agreement: "Agreement | None" = None
    changes: bool = False
    recalled: bool = False


class Unread(Exception):
    """The question became no query: `cause` says why (Refusal or Ambiguity), and `reading` holds how far it came."""

    def __init__(self, cause: Refusal | Ambiguity, reading: Reading) -> None:
        super().__init__(str(cause))
        self.cause = cause
        self.reading = reading


def read(
    question: str,
    sandbox: Sandbox,
    use_model: bool,
    now: datetime | None,
    after: Answer | None,
    learnt: LearntQuestion | None = None,
) -> Reading:
    """Read a question in plain words. Raises Unread; and StoreError or QueryStopped where the results are not there.

    The arguments are those of `ask`, and `learnt` is the reading that was chosen for the question before.
    """
    profile = sandbox.schema()
    saved, note = _saved(question, sandbox)
    if saved.exact:
        return Reading("saved", sql=saved.exact.sql, read_as=saved.exact.said, note=note)
    changes = False
    try:
        if after and (asked := chosen_of_results(question, after.proposals) or _chosen_before(question, after)):
            return _settled(Reading(asked=asked, note=note), question, sandbox, now)
        if after and after.asked and not (learnt and same_words(after.question) == same_words(question)):
            changes = True
            if asked := changed(question, after.asked, sandbox, now, after):
                return _settled_after(Reading(asked=asked, note=note), question, sandbox, now, after)
            changes = False
        if learnt and (reading := _recalled(learnt, question, sandbox, now)):
            return replace(reading, note=_joined(note, reading.note, " "))
        note = _joined(note, GONE if learnt else "", " ")
        if use_model and configured():
            return _by_model(question, sandbox, profile, now, saved.nearest, note)
        if _is_offered(question, after) and (asked := _asked(question, sandbox, now)):
            return _settled(Reading(asked=asked, note=note), question, sandbox, now)
        try:
            return _by_both(question, sandbox, now, Reading(note=note))
        except (NotUnderstood, Shown) as error:
            changes = after is not None and after.asked is not None
            if after and after.asked and (asked := late(question, after.asked, sandbox, now, error)):
                return _settled_after(Reading(asked=asked, note=note), question, sandbox, now, after)
            raise
    except (Refusal, Ambiguity) as error:
        raise Unread(error, Reading(note=note, changes=changes)) from error


def _chosen_before(question: str, after: Answer) -> QuerySpec | None:
    """The query of an answer that was recalled, where a question names it by the words of its choice."""
    recalled = (h for h in after.learnt if h.kind == "question" and same_words(h.means) == same_words(question))
    return after.asked if any(recalled) else None


def _is_offered(question: str, after: Answer | None) -> bool:
    """Whether a question is one that is offered whole, in the grammar's words: an example, or a choice just asked."""
    if after and not after.asked and question in after.suggestions:
        return True
    return any(same_words(question) == same_words(example) for example in catalog.examples())


def _recalled(learnt: LearntQuestion, question: str, sandbox: Sandbox, now: datetime | None) -> Reading | None:
    """The reading that was chosen before; None where it has no rows, or no meaning, any more."""
    if learnt.form is None:
        kept = _saved(learnt.meant, sandbox)[0].exact
        return Reading("saved", sql=kept.sql, read_as=kept.said, recalled=True) if kept else None
    from mirror.query.spec_json import from_json  # here, since it takes a while to load

    try:
        reading = _settled(Reading(asked=from_json(dict(learnt.form)), recalled=True), question, sandbox, now)
        return reading if reading.spec and has_rows(reading.spec, sandbox) else None
    except (SpecError, Refusal, Ambiguity, QueryError):
        return None


def _by_grammar(question: str, sandbox: Sandbox, now: datetime | None, so_far: Reading) -> Reading:
    asked = grammar.parse(question, sandbox.schema(), now)
    return _settled(replace(so_far, engine="grammar", asked=asked), question, sandbox, now)


def _by_both(question: str, sandbox: Sandbox, now: datetime | None, so_far: Reading) -> Reading:
    """What the grammar and the network make of a question. Raises Refusal or Ambiguity, which may be Shown."""
    found, cause = readings_to_decide(question, sandbox, now, lambda text: _answered(text, sandbox, now))
    if isinstance(cause, Ambiguity):
        meant = [spec for choice in cause.choices if (spec := _asked(choice, sandbox, now))]
        beside = proposals(unlike(shown_with_choices(found), meant)[:MOST_BESIDE])
        raise Shown(beside, cause) if beside else cause
    if best := answered_at_once(found):
        beside = proposals(told_beside([c for c in found if c is best or unlike([c], [best.asked])]))
        return replace(so_far, asked=best.asked, spec=best.spec, others=best.others, proposals=beside)
    if offered := proposals(shown(found)):
        raise Shown(offered)
    if grammars := next((c for c in found if c.by_grammar), None):  # all is understood, and there is nothing of it
        return replace(so_far, asked=grammars.asked, spec=grammars.spec, others=grammars.others)
    raise cause or Refusal(NOT_CLEAR)


def _asked(question: str, sandbox: Sandbox, now: datetime | None) -> QuerySpec | None:
    try:
        return grammar.parse(question, sandbox.schema(), now)
    except (Refusal, Ambiguity):
        return None


def _settled(reading: Reading, question: str, sandbox: Sandbox, now: datetime | None) -> Reading:
    """The reading with its query completed. Raises Refusal or Ambiguity."""
    assert reading.asked
    settled = settle(reading.asked, question, sandbox, lambda text: _answered(text, sandbox, now))
    return replace(reading, spec=settled.spec, others=settled.others)


def _settled_after(reading: Reading, question: str, sandbox: Sandbox, now: datetime | None, after: Answer) -> Reading:
    """The same of a follow-up, whose choices are follow-ups too: none of them stands beside an answer."""
    assert reading.asked
    assert after.asked
    before, profile = after.asked, sandbox.schema()

    def is_answered(text: str) -> bool:
        try:
            asked = by_rules(text, before, profile, now, after)
            return asked is not None and has_rows(complete(asked, profile, text), sandbox)
        except (Refusal, Ambiguity):
            return False

    return replace(reading, spec=settle(reading.asked, question, sandbox, is_answered).spec)


def _answered(question: str, sandbox: Sandbox, now: datetime | None) -> bool:
    """Whether the grammar answers a question with rows."""
    try:
        spec = _by_grammar(question, sandbox, now, Reading()).spec
    except (Refusal, Ambiguity):
        return False
    return spec is not None and has_rows(spec, sandbox)


def with_rows(choices: tuple[str, ...], sandbox: Sandbox, now: datetime | None) -> tuple[str, ...]:
    """The choices of a question back that are answered with rows; for one that is asked back itself, its first."""
    found = []
    for choice in choices:
        try:
            spec = _by_grammar(choice, sandbox, now, Reading()).spec
        except Refusal:
            continue
        except Ambiguity as error:
            found += [inner for inner in error.choices if _answered(inner, sandbox, now)][:1]
            continue
        found += [choice] if spec and has_rows(spec, sandbox) else []
    return tuple(dict.fromkeys(found))


def _by_model(
    question: str,
    sandbox: Sandbox,
    profile: Profile,
    now: datetime | None,
    examples: tuple[SavedQuestion, ...],
    note: str,
) -> Reading:
    """By the language model; by the grammar where it fails."""
    # Here, since these take a while to load, and most people set up no model.
    from mirror.model.free_sql import check_in
    from mirror.model.llm import Declined, LlmError, LlmFrontEnd, NeedsSql
    from mirror.query.agreement import agreement

    model = LlmFrontEnd()
    values = {e.name: profile.values(e.name) for e in catalog.entries().values() if e.role in ("axis", "info")}
    values["metric"] = profile.curves
    given = catalog.describe(), {column: listed for column, listed in values.items() if listed}
    sent, tokens = "", NO_TOKENS
    try:
        try:
            reading = model.read(question, *given, examples)
        except NeedsSql as needed:
            sent, tokens = needed.sent, needed.tokens
            if isinstance(_grammars(question, profile, now), QuerySpec):  # it knows every word: the form holds it
                told = "The language model would have written SQL; the built-in grammar read the question instead."
                so_far = Reading(note=_joined(note, told, " "), sent=sent, tokens=tokens)
                return _by_grammar(question, sandbox, now, so_far)
            written = model.write_sql(question, *given, check_in(sandbox), examples)
            sql, tokens = written.value.sql, tokens + written.tokens
            told = "; ".join(("SQL that the language model wrote", *written.value.notes))
            return Reading("llm", sql=sql, read_as=told, note=note, sent=_joined(sent, written.sent), tokens=tokens)
        so_far = Reading("llm", reading.value, note=note, sent=reading.sent, tokens=reading.tokens)
        try:
            read_by_model = _settled(so_far, question, sandbox, now)
        except (Refusal, Ambiguity) as error:
            raise Unread(error, so_far) from error
        assert read_by_model.spec
        grammars = _grammars(question, profile, now)
        return replace(read_by_model, agreement=agreement(read_by_model.spec, grammars))
    except Declined as error:
        so_far = Reading("llm", note=note, sent=_joined(sent, error.sent), tokens=tokens + error.tokens)
        raise Unread(error, so_far) from error
    except LlmError as error:
        told = f"{error} The built-in grammar read the question instead."
        so_far = Reading(note=_joined(note, told, " "), sent=_joined(sent, error.sent), tokens=tokens + error.tokens)
        try:
            return _by_grammar(question, sandbox, now, so_far)
        except (Refusal, Ambiguity) as unread:
            raise Unread(unread, so_far) from unread


def _joined(first: str, second: str, between: str = "\n\n") -> str:
    return between.join(filter(None, (first, second)))


def _grammars(question: str, profile: Profile, now: datetime | None) -> QuerySpec | Refusal | Ambiguity:
    try:
        return grammar.read(question, profile, now)
    except (Refusal, Ambiguity) as error:
        return error


@dataclass(frozen=True)
class _Known:
    """Saved questions that bear on this one."""

    exact: SavedQuestion | None = None
    nearest: tuple[SavedQuestion, ...] = ()


def _saved(question: str, sandbox: Sandbox) -> tuple[_Known, str]:
    """The saved questions that bear on this one, and a note where they cannot be read."""
    store = Saved(saved_path(sandbox.url))
    try:
        nearest = store.nearest(question, _NEAREST) if configured() else ()
        return _Known(store.find(question), nearest), ""
    except SavedError as error:
        return _Known(), str(error)
