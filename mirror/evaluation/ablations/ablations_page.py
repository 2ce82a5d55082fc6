"""The stored table of ablations as a page: a table for each part, and what brought nothing where nobody has looked."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mirror.evaluation.ablations.ingredients import INGREDIENTS
from mirror.evaluation.ablations.paired import Paired

_SETS = {"foreign": "Other people's databases", "paraphrases": "Paraphrases", "categories": "Categories"}
_HEAD = """# What each ingredient brings

The readers of a question ([reading.md](reading.md)) are made of many parts. Here each is switched off alone, the
questions of the [evaluation](evaluation.md) are asked again, and what changes is counted. The page is printed by

```
python -m mirror eval --ablations mirror/evaluation/ablations.json
```

from the table in that file; parts that it lacks are asked first, which takes long, as said below. A run that is killed
goes on where it was. One ingredient off, by hand:

```
python -m mirror eval --set foreign --questions open --without ranker --failures
```
"""
_HOW = """## How to read it

- A question is **right at once** where it is answered and right, or planned and right; **shown** where readings are
  offered first and one of them is right; **asked** where none of those is; **refused** where there is an answer; and
  **wrong** where it is answered, and not with what was asked for. What is left are questions that have no answer and
  are rightly not answered. Of several fixtures the worst counts.
- The last columns are changes. `+2 −5` are questions that became so without the ingredient, and those that were so only
  with it; the percentages are the change of the share of all questions, with its 95 % interval for pairs (Bonett and
  Price 2012), and p is McNemar's exact test. Of twenty ingredients that bring nothing one has an interval without 0 all
  the same.
- Questions of one database are more like each other than these intervals know: they hold for other questions about
  these databases, less surely for other databases.
- Networks and rankers are as they were trained, with everything on. An ingredient may look dearer than it is, since
  what works with it never learnt to do without; or cheaper, where another does the same.
- How many thousands of wordings the networks learn from is an ingredient too, but cannot be switched off: each number
  of wordings is a network of its own, to be trained anew. No table here says what they bring.
"""


def as_page(table: Mapping[str, Any]) -> str:
    """The page, in Markdown."""
    parts = table["parts"]
    texts = [_HEAD, _measured(table), _HOW]
    texts += [_part(part) for part in parts]
    texts += [_nothing([part for part in parts if part["half"] == "held out"]), _ingredients()]
    return "\n".join(texts)


def _measured(table: Mapping[str, Any]) -> str:
    lines = [
        "Each part on one thread; the last column tells readers and questions apart.",
        "",
        "| part | questions | asked | on | took | machine | with | readers |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for part in table["parts"]:
        asked = "all" if part["one_in"] == 1 else f"one in {part['one_in']}"
        asked += "" if part["whole"] else ", until the run was stopped"
        whole = "" if part["databases"] == part["all_databases"] else f" of {part['all_databases']}"
        of = f" of {part['databases']}{whole} databases" if part["databases"] else ""
        told = [
            _title(part),
            f"{part['n']}{of}",
            asked,
            part["asked_on"],
            f"{part['minutes']:.0f} min",
            part["machine"],
        ]
        versions = ", ".join(f"{name} {number}" for name, number in part["versions"].items())
        lines.append(f"| {' | '.join([*told, versions, part['readers']])} |")
    there = {(part["set"], part["half"]) for part in table["parts"] if part["whole"]}
    all_parts = [(of, half) for half in ("held out", "open") for of in _SETS]
    if missing := [_title({"set": of, "half": half}) for of, half in all_parts if (of, half) not in there]:
        lines += ["", f"Not asked yet, or not to the end: {'; '.join(missing)}."]
    return "\n".join([*lines, ""])


def _title(part: Mapping[str, Any]) -> str:
    half = "sealed" if part["set"] == "foreign" and part["half"] == "held out" else part["half"]
    return f"{_SETS[part['set']]}, {half}"


def _part(part: Mapping[str, Any]) -> str:
    off = sorted(part["without"].items(), key=lambda item: _net(item[1]["right"]))
    lines = [
        f"## {_title(part)}",
        "",
        "| without | right at once | shown | asked | refused | wrong "
        "| right at once, changed | p | right at once or shown, changed | wrong, changed |",
        "|---|---|---|---|---|---|---|---|---|---|",
        f"| nothing | {_counts(part['all_on'])} | | | | |",
    ]
    for name, told in off:
        right, reached, wrong = _pairs(part, told)
        changes = " | ".join((_change(right), _p(right), _change(reached), _change(wrong)))
        lines.append(f"| {name} | {_counts(told['counts'])} | {changes} |")
    return "\n".join([*lines, ""])


def _pairs(part: Mapping[str, Any], told: Mapping[str, Any]) -> tuple[Paired, Paired, Paired]:
    """What changed of right at once, of right at once or shown, and of wrong."""
    right, reached, wrong = (Paired(part["n"], *told[of]) for of in ("right", "reached", "wrong"))
    return right, reached, wrong


def _net(change: Sequence[int]) -> int:
    return change[0] - change[1]


def _counts(counts: Mapping[str, int]) -> str:
    return " | ".join(str(counts[letter] + (counts["E"] if letter == "F" else 0)) for letter in "RSBFW")


def _change(paired: Paired) -> str:
    if not paired.gained and not paired.lost:
        return "none"
    low, high = paired.interval
    return f"+{paired.gained} −{paired.lost}: {_points(paired.difference)} [{_points(low)}, {_points(high)}]"


def _points(share: float) -> str:
    return f"{share * 100:+.1f} %".replace("-", "−")


def _p(paired: Paired) -> str:
    return f"{paired.p:.3f}" if paired.gained or paired.lost else ""


def brings_nothing(parts: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, list[str]]]:
    """The ingredients without which nothing gets worse beyond chance, with what each part says of them."""
    for one in INGREDIENTS:
        told = [(part, part["without"][one.name]) for part in parts if one.name in part["without"]]
        if told and not any(_helps(*_pairs(part, off)) for part, off in told):
            yield one.name, [f"{_title(part)}: {_said(part, off)}" for part, off in told]


def _helps(right: Paired, reached: Paired, wrong: Paired) -> bool:
    return right.interval[1] < 0 or reached.interval[1] < 0 or wrong.interval[0] > 0


def _said(part: Mapping[str, Any], off: Mapping[str, Any]) -> str:
    if not off["changed"]:
        return "no question ends otherwise"
    right, reached, wrong = (f"+{p.gained} −{p.lost}" for p in _pairs(part, off))
    ends = "question ends" if off["changed"] == 1 else "questions end"
    changed = f"right at once {right}, right at once or shown {reached}, wrong {wrong}"
    return f"{off['changed']} {ends} otherwise ({changed})"


def _nothing(parts: Sequence[Mapping[str, Any]]) -> str:
    lines = [
        "## What shows no gain where nobody has looked",
        "",
        "Of the questions above that are sealed or held out, as many are right at once, as many right at once or shown",
        "and as few wrong without these, as far as chance lets tell: no interval lies on the side of a gain. That is",
        "no proof that they bring nothing, least of all where few questions ask for them.",
        "",
    ]
    lines += [f"- `{name}`. {'; '.join(told)}." for name, told in brings_nothing(parts)]
    return "\n".join([*lines, ""])


def _ingredients() -> str:
    lines = ["## The ingredients", "", "| name | what it does | for |", "|---|---|---|"]
    for one in INGREDIENTS:
        of = "all" if len(one.of) == 3 else "other data" if one.of == ("foreign",) else "results"
        lines.append(f"| `{one.name}` | {one.meaning} | {of} |")
    lines += [
        "",
        "An ingredient is off while a function or table of the readers has a substitute, wherever it is used",
        "(`mirror/evaluation/ablations/ingredients.py`). A form is off while no statement is made of it: both readers",
        "then go on with their next reading.",
        "",
    ]
    return "\n".join(lines)
