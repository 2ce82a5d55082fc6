"""Whether a libfm file is whole: labels, features, and a last line that was cut off."""

import re
from dataclasses import dataclass, field

import numpy as np

from bench_engine.data.formats.distinct import Distinct
from bench_engine.data.formats.libfm import LABELS
from bench_engine.data.formats.stream import Source
from bench_engine.data.problems import MEND, NO_NEWLINE, Problems, shown

_FEATURE = re.compile(rb"([0-9]{1,18}):[-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?")
_WAITING = 1 << 16


@dataclass
class Libfm:
    """What was found: rows that can be used, clicks among them, the smallest and largest number of features."""

    rows: int = 0
    clicks: int = 0
    fewest: int = 0
    most: int = 0
    distinct: Distinct = field(default_factory=Distinct)

    @property
    def label_share(self) -> float | None:
        """Share of rows that were clicked; None without rows."""
        return self.clicks / self.rows if self.rows else None

    @property
    def features_per_line(self) -> str:
        """A number, or `3 to 10`."""
        return str(self.most) if self.fewest == self.most else f"{self.fewest} to {self.most}"


def check_libfm(source: Source, problems: Problems) -> Libfm:
    """Read to the end. Raises DataFileError for a packed file that is cut off."""
    found = Libfm()
    waiting: list[int] = []
    held: tuple[int, list[bytes], str] | None = None  # a line is told of once it is known not to be the last
    for number, line in enumerate(source.lines(), start=1):
        tokens = line.split()
        if not tokens:
            continue
        if held:
            _tell(found, held, problems)
        wrong, features = _wrong(tokens)
        held = (number, tokens, wrong)
        if not wrong:
            waiting += features
        if len(waiting) > _WAITING:
            found.distinct.add_keys(np.array(waiting, np.uint64))
            waiting.clear()
    found.distinct.add_keys(np.array(waiting, np.uint64))
    if held:
        fewer = found.rows and found.fewest == found.most > len(held[1]) - 1
        if source.open_line and (held[2] or fewer):
            problems.complain(held[0], "the file is cut off in this line: fetch it again.")
        else:
            _tell(found, held, problems)
            if source.open_line and held[0] > 1:
                problems.complain(held[0], NO_NEWLINE)
    return found


def _tell(found: Libfm, held: tuple[int, list[bytes], str], problems: Problems) -> None:
    number, tokens, wrong = held
    if wrong:
        problems.complain(number, wrong + MEND)
        return
    features = len(tokens) - 1
    found.fewest = min(found.fewest, features) if found.rows else features
    found.most = max(found.most, features)
    found.rows += 1
    found.clicks += LABELS[tokens[0]] == 1


def _wrong(tokens: list[bytes]) -> tuple[str, list[int]]:
    """(what is wrong with a line, its features)."""
    if tokens[0] not in LABELS:
        return f"the label is {shown(tokens[0])}, not -1, 0 or 1", []
    features = []
    for token in tokens[1:]:
        if not (match := _FEATURE.fullmatch(token)):
            return f"{shown(token)} is not a feature such as 17:1", []
        features.append(int(match[1]))
    return "", features
