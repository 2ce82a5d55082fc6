"""Follow-ups on other data: "only card", "without refunds", "and for 2025", "by month instead", "top 3", "as bars"."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from mirror.language.edit.form_change import Change, NoChange
from mirror.language.edit.fragment import Fragment, fragment_of
from mirror.language.edit.still_there import missing
from mirror.language.reading.covers import Cover, covers_of, linker_of, taken_for
from mirror.language.reading.cues import cues
from mirror.language.reading.held import left_out
from mirror.language.reading.linking import TYPO, says_nothing
from mirror.language.reading.pieces import Pieces
from mirror.language.reading.query_draft import Draft
from mirror.language.reading.settle_places import Unsettled
from mirror.query.errors import Ambiguity, Impossible, Refusal
from mirror.query.other_data.form import Asked
from mirror.query.other_data.form_sentence import sentence
from mirror.schema.database import Database

_ALIKE = 0.02  # costs that are no further apart are equal
_LIKELY = 0.25  # how much dearer a change may be than a question of its own, where marks tell that it is one
_UNMOVED = 0.4  # a follow-up that would change nothing
_MOST_FORMS = 4  # that are asked back


class SeveralEdits(Ambiguity):
    """A follow-up that may mean several changes; `forms` are what the choices ask for."""

    def __init__(self, choices: tuple[str, ...], forms: tuple[Asked, ...]) -> None:
        super().__init__(f"This may change the question in {len(forms)} ways: which is meant?", choices)
        self.forms = forms


def edited(question: str, before: Asked, database: Database, now: datetime) -> Asked | None:
    """The form of a follow-up; None for a question of its own. Raises Refusal or SeveralEdits.

    Args:
        question: in plain words.
        before: the form of the question before.
        database: what both are about.
        now: the present that "last month" is told from.
    """
    if missing(before, database):
        return None
    fragment = fragment_of(question)
    outcomes: list[tuple[float, list[Asked] | Refusal]] = []
    unread: tuple[str, ...] = ()
    more: float | None = None  # the cost of reading it as something new
    for cover in covers_of(fragment.text, database, now):
        if any(cover.cost > cost + _ALIKE for cost, _ in outcomes) or (
            more is not None and cover.cost > more + _LIKELY
        ):
            break
        draft = Pieces(cover, database).draft()
        change = Change(draft, linker_of(database), now, before, fragment)
        missed = _unread(cover, draft)
        if change.asks_more() and not fragment.sure and (missed or not fragment.verb) and not (outcomes or unread):
            return None  # where words are missed, another reader may know them
        if missed:
            unread = unread or missed
        elif change.asks_more():
            more = cover.cost if more is None else more
        elif (found := _outcome(change, cover, database)) is not None:
            outcomes.append((cover.cost + change.cost + _UNMOVED * isinstance(found, NoChange), found))
    if more is not None and not any(isinstance(found, list) for _, found in outcomes):
        if fragment.sure:
            raise _says_more(question)
        return None
    if not outcomes:
        _check_is_own(unread, fragment, database)
        return None
    return _one_of(outcomes, database)


def _says_more(question: str) -> Refusal:
    return Refusal(
        f"“{question.strip()[:60]}” says more than what to change: change values, groups, the number of rows "
        "or the chart, or ask it as a whole question."
    )


def _unread(cover: Cover, draft: Draft) -> tuple[str, ...]:
    """Words that are not read; a value that nobody wrote is one of them, for there may be others as near."""
    slips = [s.text for s in cover.spans if s.kind == "val" and s.link and s.link.cost >= TYPO]
    return tuple(dict.fromkeys((*cover.skipped, *draft.left, *slips)))


def _outcome(change: Change, cover: Cover, database: Database) -> list[Asked] | Refusal | None:
    """The forms that a cover asks for, or why there is none; None where it is no change of the form before."""
    try:
        forms = list(change.forms())
    except (Unsettled, KeyError, IndexError):
        return None
    except Refusal as refusal:
        return refusal
    if any(left_out(form, cover, database)[0] for form in forms):
        return None
    return [replace(f, notes=tuple(dict.fromkeys((*f.notes, *taken_for(cover))))) for f in forms]


def _check_is_own(unread: Sequence[str], fragment: Fragment, database: Database) -> None:
    """Raises Refusal for what is no question of its own, and changes nothing that is known."""
    if not fragment.marked:
        return
    if unknown := [word for word in unread if (word,) not in cues()]:
        raise Refusal(says_nothing(unknown, linker_of(database)))
    raise Refusal(f"What “{fragment.text[:60]}” should change is not clear: ask it as a whole question.")


def _one_of(outcomes: Sequence[tuple[float, list[Asked] | Refusal]], database: Database) -> Asked:
    """The cheapest form. Raises Impossible for why it cannot be, and SeveralEdits where others are as cheap."""
    least = min(cost for cost, _ in outcomes)
    alike = [found for cost, found in outcomes if cost <= least + _ALIKE]
    forms = {replace(form, notes=()): form for found in reversed(alike) if isinstance(found, list) for form in found}
    if not forms:
        why = next(found for found in alike if isinstance(found, Refusal))
        raise Impossible(str(why)) from why  # it is a follow-up, and no question of its own
    said = {sentence(form, database): form for form in forms.values()}
    if len(said) > 1:
        first = dict(list(said.items())[:_MOST_FORMS])
        raise SeveralEdits(tuple(first), tuple(first.values()))
    return next(iter(said.values()))
