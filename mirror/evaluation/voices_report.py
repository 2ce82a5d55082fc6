"""What the paraphrases come to, per voice and in all: what is right, what helps nobody, and what is wrong."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mirror.evaluation.report import footer, header, is_narrowed, notes, wilson
from mirror.evaluation.runner import Scored
from mirror.evaluation.scoring import Verdict
from mirror.evaluation.voices import VOICES

# No harm, no help: nothing was answered, and the question has an answer.
_NO_HELP: tuple[Verdict, ...] = ("refused", "asked back")


@dataclass(frozen=True)
class Share:
    """So many questions of some, with the 95 % interval of their share."""

    count: int
    low: float
    high: float


@dataclass(frozen=True)
class VoiceTally:
    """Counts of some questions.

    Attributes:
        half: all, open half or held-out half.
        voice: who asks; empty for all of them.
        n: questions.
        right: answered right, or refused or asked back where that is right.
        refused: refused, or asked back, where something else is right.
        wrong: answered, and not what was meant.
        errors: neither.
        narrowed: right answers that hold for the values that they fixed and named.
    """

    half: str
    voice: str
    n: int
    right: Share
    refused: Share
    wrong: Share
    errors: int
    narrowed: int


def voice_tally(half: str, voice: str, scored: Sequence[Scored]) -> VoiceTally:
    """Count some questions."""

    def share(*verdicts: Verdict) -> Share:
        count = sum(s.verdict in verdicts for s in scored)
        return Share(count, *wilson(count, len(scored)))

    return VoiceTally(
        half, voice, len(scored), share("right"), share(*_NO_HELP), share("wrong"), share("error").count,
        sum(is_narrowed(s) for s in scored),
    )  # fmt: skip


def voice_tallies(scored: Sequence[Scored]) -> list[VoiceTally]:
    """All, the open and the held-out half: of each all voices and every one."""
    halves = {
        "all": scored,
        "open half": [s for s in scored if not s.question.held_out],
        "held-out half": [s for s in scored if s.question.held_out],
    }
    found = []
    for half, of in halves.items():
        for voice in ("", *VOICES):
            asked = [s for s in of if voice in ("", s.question.category)]
            if asked or not voice:
                found.append(voice_tally(half, voice, asked))
    return found


def voices_as_text(scored: Sequence[Scored], engine: str) -> str:
    """The table for a terminal."""
    heading = f"{'':15}    n  {'right':22}  {'honestly refused':22}  {'wrong':22}  error"
    rows: list[str] = []
    for tally in voice_tallies(scored):
        if not tally.voice:
            rows.append("")
        name = f"  {tally.voice}" if tally.voice else tally.half
        shares = "  ".join(_column(share, tally.n) for share in (tally.right, tally.refused, tally.wrong))
        rows.append(f"{name:15}  {tally.n:3d}  {shares}  {tally.errors:5d}")
    return "\n".join([heading, *rows[1:], "", *notes(scored, engine)])


def _column(share: Share, n: int) -> str:
    part = f"{share.count / n:6.1%}" if n else "     -"
    interval = f"[{share.low:.0%}, {share.high:.0%}]"
    return f"{share.count:3d} {part} {interval:11}"


def voices_as_json(scored: Sequence[Scored], engine: str) -> dict[str, Any]:
    """One object with all counts, the times in seconds, and the failures of the open half."""
    return {**header(engine), "tallies": [asdict(t) for t in voice_tallies(scored)], **footer(scored)}
