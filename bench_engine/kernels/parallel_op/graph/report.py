"""What the pass did to each graph, in words; kept for the process."""

import threading
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass

# A process that recompiles for ever must not grow for ever.
_KEPT = 1000
_NAMES_SHOWN, _FOLDED_SHOWN = 4, 2

_reports: deque["GraphReport"] = deque(maxlen=_KEPT)
_changing = threading.Lock()


@dataclass(frozen=True)
class GroupSummary:
    """A group that became one op.

    kind: "embedding", or the name of the op. names: of its members. folded: nodes that it also does, as "cat of 26" or
    "stack of 8 and 1 more". views: inputs that it slices by itself. shared: inputs passed once that several members
    take.
    """

    kind: str
    level: int
    device: str
    names: tuple[str, ...]
    folded: tuple[str, ...] = ()
    views: int = 0
    shared: int = 0

    def text(self, details: bool = True) -> str:
        """One sentence."""
        what = f"{len(self.names)} {'embeddings' if self.kind == 'embedding' else self.kind}"
        extras = [f"written straight into {folded}" for folded in self.folded]
        if not details:
            more = "".join(f", {extra}" for extra in extras[:_FOLDED_SHOWN])
            return f"{what} became one op{more} ({_some(self.names)})."
        what += f" at level {self.level}"
        if self.views:
            extras.append(f"slicing {_count(self.views, 'input')} by itself")
        if self.shared:
            extras.append(f"{_count(self.shared, 'input')} fewer since shared ones are passed once")
        more = "".join(f", {extra}" for extra in extras)
        return f"{what} on {self.device} became one op{more} ({_some(self.names)})."


@dataclass(frozen=True)
class Left:
    """Something that stayed as it was. name: of the node. op: in the whitelist; "cat" or "stack" for those."""

    op: str
    name: str
    reason: str


@dataclass(frozen=True)
class GraphReport:
    """One graph with its subgraphs.

    groups: what was grouped. refused: calls that must not be grouped. alone: calls that found too few others.
    not_folded: concatenations that stay beside their group. error: why the graph was left as it was, if it was.
    """

    groups: tuple[GroupSummary, ...] = ()
    refused: tuple[Left, ...] = ()
    alone: tuple[Left, ...] = ()
    not_folded: tuple[Left, ...] = ()
    error: str = ""

    @property
    def empty(self) -> bool:
        """There was no whitelisted call."""
        return self == GraphReport()

    def text(self, details: bool = True) -> str:
        """One paragraph."""
        sentences = [group.text(details) for group in self.groups]
        if not self.groups and not self.error:
            sentences.append("Nothing was grouped." if not self.empty else "No op of the whitelist was found.")
        sentences += _by_reason("Not grouped", self.refused)
        sentences += _by_reason("Left alone", self.alone)
        sentences += _by_reason("Not folded", self.not_folded)
        if self.error:
            sentences.append(f"Left as it was: {self.error}.")
        return " ".join(sentences)


def joined(parts: Sequence[GraphReport]) -> GraphReport:
    """The reports of a graph's parts as one."""
    return GraphReport(
        groups=tuple(group for one in parts for group in one.groups),
        refused=tuple(left for one in parts for left in one.refused),
        alone=tuple(left for one in parts for left in one.alone),
        not_folded=tuple(left for one in parts for left in one.not_folded),
        error="; ".join(dict.fromkeys(one.error for one in parts if one.error)),
    )


def record(one: GraphReport) -> None:
    """Keep a report for this process."""
    with _changing:
        _reports.append(one)


def reports() -> tuple[GraphReport, ...]:
    """The reports kept, in order; the oldest of very many are dropped."""
    with _changing:
        return tuple(_reports)


def clear() -> None:
    """Forget all reports."""
    with _changing:
        _reports.clear()


def report(known: Sequence[GraphReport] | None = None, details: bool = True) -> str:
    """These reports, else all of them, a paragraph per graph; graphs told in the same words share one."""
    known = reports() if known is None else known
    if not known:
        return "Parallel OP saw no new graph with an op of its whitelist."
    alike = Counter(one.text(details) for one in known)  # a graph is compiled anew for other sizes and modes
    return "\n".join(
        f"Parallel OP, graph {number}{f' ({count} times)' if count > 1 else ''}: {text}"
        for number, (text, count) in enumerate(alike.items(), start=1)
    )


def _by_reason(what: str, left: Sequence[Left]) -> list[str]:
    """One sentence for each reason."""
    names: dict[tuple[str, str], list[str]] = {}
    for item in left:
        names.setdefault((item.op, item.reason), []).append(item.name)
    return [f"{what}: {len(found)} {op}, {reason} ({_some(found)})." for (op, reason), found in names.items()]


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_NAMES_SHOWN])
    return shown + (f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else "")


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
