"""How a question in words is read: as a saved one, as a follow-up, by a language model or by the built-in reader."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from mirror.answer.answer import Answer
from mirror.answer.proposal import Proposal, chosen_of_results
from mirror.answer.results_follow_up import changed, without_filter, without_outliers
from mirror.answer.results_policy import Shown, not_known, proposals, unlike
from mirror.answer.subject import GONE
from mirror.data.data_source import QueryError
from mirror.data.process.sandbox import Sandbox
from mirror.language.edit.told_change import changes_told
from mirror.language.ranking.results_decision import answered_at_once, nothing_of_it, shown, told_beside
from mirror.language.ranking.results_evidence import ResultsCandidate
from mirror.language.ranking.results_readings import likeliest, readings_to_decide, results_readings
from mirror.language.ranking.settled_benchmark import BenchmarkUnclear, has_rows, settle
from mirror.language.ranking.taken_for import with_notes
from mirror.model.model_setting import configured
from mirror.query.check import SpecError
from mirror.query.errors import Ambiguity, Refusal
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
        proposals: what else it may mean, the same in another benchmark first.
        spec: the same, completed with what the results leave open.
        sql: the statement of a saved question or of a language model; None where the spec says it.
        read_as: how that statement came about.
        note: what the person must know besides.
        sent: what a language model was sent, word for word.
        tokens: what that took.
        agreement: how the built-in reader compares, where a language model filled the form.
        changes: whether the question changes the one before.
        recalled: whether it was chosen for this question before.
    """

    engine: Literal["grammar", "llm", "saved"] = "grammar"
    asked: QuerySpec | None = None
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
            return _settled(Reading(asked=asked, note=note), question, sandbox)
        if after and after.asked and not (learnt and same_words(after.question) == same_words(question)):
            changes = True
            if reading := _follow_up(question, after, sandbox, now):
                return replace(reading, note=_joined(note, reading.note, " "))
            changes = False
        if learnt and (recalled := _recalled(learnt, question, sandbox)):
            return replace(recalled, note=_joined(note, recalled.note, " "))
        note = _joined(note, GONE if learnt else "", " ")
        if use_model and configured():
            return _by_model(question, sandbox, profile, now, saved.nearest, note)
        if _is_offered(question, after) and (asked := likeliest(question, sandbox, now)):
            return _settled(Reading(asked=asked, note=note), question, sandbox)
        return _built_in(question, sandbox, now, Reading(note=note))
    except (Refusal, Ambiguity) as error:
        raise Unread(error, Reading(note=note, changes=changes)) from error


def _chosen_before(question: str, after: Answer) -> QuerySpec | None:
    """The query of an answer that was recalled, where a question names it by the words of its choice."""
    recalled = (h for h in after.learnt if h.kind == "question" and same_words(h.means) == same_words(question))
    return after.asked if any(recalled) else None


def _is_offered(question: str, after: Answer | None) -> bool:
    """Whether a question is one that is offered whole: an example, or a choice just asked."""
    if after and not after.asked and question in after.suggestions:
        return True
    return any(same_words(question) == same_words(example) for example in catalog.examples())


def _follow_up(question: str, after: Answer, sandbox: Sandbox, now: datetime | None) -> Reading | None:
    """The reading of a follow-up; None where nothing can be made of the two questions together."""
    assert after.asked
    if asked := without_outliers(question, after.asked, after):
        return replace(_settled(Reading(asked=asked), question, sandbox), changes=True)
    asked = without_filter(question, after.asked) or changed(
        question, after.asked, sandbox, now, lambda: _alone(question, sandbox, now)
    )
    if asked is None:
        return None
    noted = with_notes(replace(asked, notes=changes_told(after.asked, asked)), question, sandbox.schema())
    return replace(_settled(Reading(asked=noted), question, sandbox), changes=True)


def _alone(question: str, sandbox: Sandbox, now: datetime | None) -> list[ResultsCandidate]:
    """The readings of a question by itself; none where it is refused."""
    try:
        return readings_to_decide(question, sandbox, now)
    except Refusal:
        return []


def _recalled(learnt: LearntQuestion, question: str, sandbox: Sandbox) -> Reading | None:
    """The reading that was chosen before; None where it has no rows, or no meaning, any more."""
    if learnt.form is None:
        kept = _saved(learnt.meant, sandbox)[0].exact
        return Reading("saved", sql=kept.sql, read_as=kept.said, recalled=True) if kept else None
    from mirror.query.spec_json import from_json  # here, since it takes a while to load

    try:
        reading = _settled(Reading(asked=from_json(dict(learnt.form)), recalled=True), question, sandbox)
        return reading if reading.spec and has_rows(reading.spec, sandbox) else None
    except (SpecError, Refusal, Ambiguity, QueryError):
        return None


def _built_in(question: str, sandbox: Sandbox, now: datetime | None, so_far: Reading) -> Reading:
    """What the built-in reader makes of a question. Raises Refusal or Ambiguity, which may be Shown."""
    found = readings_to_decide(question, sandbox, now)
    if best := answered_at_once(found):
        beside = proposals(told_beside([c for c in found if c is best or unlike([c], [best.asked])]))
        asked = with_notes(best.asked, question, sandbox.schema())
        reading = _settled(replace(so_far, asked=asked), question, sandbox)
        return replace(reading, proposals=(*reading.proposals, *beside))
    if offered := proposals(shown(found)):
        raise Shown(offered, left=found[0].read.unread)
    if empty := nothing_of_it(results_readings(question, sandbox, now) if found else ()):
        return _settled(replace(so_far, asked=empty.asked), question, sandbox)
    raise Refusal(not_known(question, sandbox.schema(), now))


def _settled(reading: Reading, question: str, sandbox: Sandbox) -> Reading:
    """The reading with its query completed. Raises Refusal or Ambiguity, which may be Shown."""
    assert reading.asked
    try:
        settled = settle(reading.asked, question, sandbox)
    except BenchmarkUnclear as several:
        offered = tuple(Proposal(text, None, asked=asked) for text, asked in several.meant)
        raise Shown(offered, str(several)) from several
    others = tuple(Proposal(text, None, asked=asked) for text, asked in settled.others)
    return replace(reading, spec=settled.spec, proposals=others)


def _by_model(
    question: str,
    sandbox: Sandbox,
    profile: Profile,
    now: datetime | None,
    examples: tuple[SavedQuestion, ...],
    note: str,
) -> Reading:
    """By the language model; by the built-in reader where it fails."""
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
            built_in = _built_in_or_why(question, sandbox, now)
            if isinstance(built_in, Reading):  # it is sure: the form holds it
                told = "The language model would have written SQL; the built-in reader read the question instead."
                return replace(built_in, note=_joined(note, told, " "), sent=sent, tokens=tokens)
            written = model.write_sql(question, *given, check_in(sandbox), examples)
            sql, tokens = written.value.sql, tokens + written.tokens
            told = "; ".join(("SQL that the language model wrote", *written.value.notes))
            return Reading("llm", sql=sql, read_as=told, note=note, sent=_joined(sent, written.sent), tokens=tokens)
        so_far = Reading("llm", reading.value, note=note, sent=reading.sent, tokens=reading.tokens)
        try:
            read_by_model = _settled(so_far, question, sandbox)
        except (Refusal, Ambiguity) as error:
            raise Unread(error, so_far) from error
        assert read_by_model.spec
        built_in = _built_in_or_why(question, sandbox, now)
        compared = built_in.spec if isinstance(built_in, Reading) else built_in
        assert compared
        return replace(read_by_model, agreement=agreement(read_by_model.spec, compared))
    except Declined as error:
        so_far = Reading("llm", note=note, sent=_joined(sent, error.sent), tokens=tokens + error.tokens)
        raise Unread(error, so_far) from error
    except LlmError as error:
        told = f"{error} The built-in reader read the question instead."
        so_far = Reading(note=_joined(note, told, " "), sent=_joined(sent, error.sent), tokens=tokens + error.tokens)
        try:
            return _built_in(question, sandbox, now, so_far)
        except (Refusal, Ambiguity) as unread:
            raise Unread(unread, so_far) from unread


def _joined(first: str, second: str, between: str = "\n\n") -> str:
    return between.join(filter(None, (first, second)))


def _built_in_or_why(question: str, sandbox: Sandbox, now: datetime | None) -> Reading | Refusal | Ambiguity:
    """The reading of the built-in reader, or why it has none."""
    try:
        return _built_in(question, sandbox, now, Reading())
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
