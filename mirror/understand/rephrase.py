"""Ways of saying that people of the field have, put into the words of the lexicon before the question is cut up.

Each rule is a frame of a sentence: "95 % pruned" is compression 0.05, "the effect of A on B" is B by A. What a rule
assumes is told in a note.
"""

import re
import unicodedata
from collections.abc import Callable

_FRACTIONS = {
    "half": "1/2", "a half": "1/2", "one half": "1/2", "a third": "1/3", "one third": "1/3", "a quarter": "1/4",
    "one quarter": "1/4", "a fourth": "1/4", "a fifth": "1/5", "one fifth": "1/5", "a tenth": "1/10",
    "one tenth": "1/10", "a twentieth": "1/20", "one twentieth": "1/20", "a fiftieth": "1/50", "one fiftieth": "1/50",
    "a hundredth": "1/100", "one hundredth": "1/100",
}  # fmt: skip
_COUNTS = {
    "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8",
    "nine": "9", "ten": "10", "twelve": "12", "sixteen": "16", "twenty": "20", "fifty": "50", "hundred": "100",
}  # fmt: skip
_NUMBER = r"\d+(?:\.\d+)?|\.\d+"
_COUNT = rf"(?:{_NUMBER}|{'|'.join(_COUNTS)})"
_SHARE = r"(?P<share>\d+(?:\.\d+)?)\s*(?:%|percent|per cent|pct)"
_WEIGHTS = r"(?:size|memory|parameters|params|weights|footprint|budget|table|capacity)"
_WHOLE = rf"(?:of (?:the )?)?(?:original |dense |full |uncompressed )?{_WEIGHTS}"
_LEFT = r"(?: (?:kept|left|retained|remaining))?"
_PRUNED = rf"(?:pruned|pruning|sparse|sparsity|prune rate|pruning rate|of (?:the )?(?:{_WEIGHTS} )?pruned)"
_PRUNE = r"(?:pruned?|pruning(?: ratio| rate| level)?|sparsity|sparse|prunes)"
# Where the second half of a sentence that is turned around ends.
_REST = r"(?= for\b| at\b| in\b| with\b| when\b| of\b|[?.,!]|$)"
_A, _B = r"(?P<a>[\w\s-]+?)", r"(?P<b>[\w\s-]+?)"
_TIME = r"\d[\d.,]*\s*(?:ns|us|µs|ms|s|msec|microseconds?|milliseconds?|seconds?)\b"
_ENDS = r"(?:best|worst|fastest|slowest|smallest|largest|highest|lowest|biggest|quickest|cheapest|newest|latest|most)"
_GROWING = r"(?:increasing|decreasing|raising|lowering|growing|a larger|a smaller|larger|smaller|more|fewer|the)"


def _count(text: str) -> str:
    return _COUNTS.get(text, text)


def _kept(pruned: str, percent: bool) -> str:
    """The fraction kept where this much is pruned."""
    return f"{1 - float(pruned) / (100 if percent else 1):.10g}"


def _pruned_percent(match: re.Match[str]) -> str:
    return f" compression {_kept(match['share'], True)} " if float(match["share"]) < 100 else match[0]


def _pruned_fraction(match: re.Match[str]) -> str:
    return f" compression {_kept(match['ratio'], False)} " if 0 < float(match["ratio"]) < 1 else match[0]


def _kept_percent(match: re.Match[str]) -> str:
    return f" compression {match['share']}% "


def _fold(match: re.Match[str]) -> str:
    number = _count(match["n"])
    return f" {number}x smaller " if match["word"] in _LESS else f" {number}x {match['word']} "


def _percentile(match: re.Match[str]) -> str:
    return f" p{match['p']} "


def _at_least(match: re.Match[str]) -> str:
    return f"{match['auc'] or ''}at least "


def _poolings(match: re.Match[str]) -> str:
    return ", ".join(f"pooling {word}" for word in re.findall(r"sum|mean|max", match[0]))


def _turned(match: re.Match[str]) -> str:
    """ "does a larger batch help throughput" as "throughput by batch"."""
    return f" {match['b']} by {match['a'].strip()} "


_LESS = ("smaller", "less", "fewer", "reduction", "lighter", "tinier", "reduced")

Rule = tuple[str, str | Callable[[re.Match[str]], str]]
_RULES: tuple[Rule, ...] = (
    # What is cut off in speech.
    (r"\b(is|are|was|were|does|do|did|has|have|had|would|could|should)n['’]?t\b", r"\1 not"),
    (r"\b(can['’]?t|cannot|won['’]t)\b", "can not"),
    (r"\b(?:each|every) (?P<what>\w+(?: \w+)?)['’]s\b", r"for each \g<what>"),
    (r"(?<=\w)['’](s|re|ll|d|ve|m)\b", " "),
    # A negation that leaves nothing out: "faster or not", "not only memory but also AUC".
    (r"\bor not\b(?=\s*(?:[?.!,]|$))|\bwhether or not\b|\bnot (?:only|just)\b|\bbut also\b|\byes or no\b", " and "),
    # Signs: "10 %", "64..2048".
    (r"(?<=\d)\s*(?:%|percent|per cent|pct)(?![\w])", "%"),
    (r"(?<=\d)\s*\.\.+\s*(?=\d)", " to "),
    (r"(?<=\d)\s*gb\s*(?:/|per)\s*s(?:ec|econd)?\b", "gb/s"),
    (r"\bhalf a (?:gigabyte|gb)\b", "500 mb"),
    (r"\b(?:a|one) (gigabyte|megabyte|millisecond|microsecond)\b", r"1 \1"),
    # "five fastest", "the three worst".
    (rf"\b(?P<n>{'|'.join(list(_COUNTS)[1:])})\s+(?={_ENDS}\b)", lambda m: f"{_count(m['n'])} "),
    # Open ends: "from 512 up", "64 or more".
    (r"\bfrom (?P<n>\d[\d.,]*\s*(?:[a-zµ%/]+)?) (?:up|upwards?|on|onwards?)\b", r"at least \g<n>"),
    (
        r"(?P<n>\d[\d.,]*[a-zµ%]*) (?:and|or) (?:up|upwards?|above|more|larger|higher|over)\b(?!\s*\d)",
        r"at least \g<n>",
    ),
    (r"(?P<n>\d[\d.,]*[a-zµ%]*) (?:and|or) (?:below|less|smaller|fewer|lower|under)\b(?!\s*\d)", r"at most \g<n>"),
    # What a whole trial takes.
    (
        rf"\b(?P<who>trials?|runs?|trainings?)\b(?P<between>[^?.!]*?)"
        rf"\b(?P<how>longer|shorter|more|less) than (?={_TIME})",
        lambda m: f"{m['who']}{m['between']} duration {'above' if m['how'] in ('longer', 'more') else 'under'} ",
    ),
    # A budget: "with 1 MB".
    (
        r"\b(?:with|for|in|given|on) (?:a |an |only |just )?(?:budget of )?"
        r"(?=\d[\d.,]*\s*(?:[kmg]i?b|megabytes?|gigabytes?)\b(?!/))",
        "at most ",
    ),
    # A time that is compared with is a limit: "faster than 20 µs".
    (rf"\b(?:faster|quicker|shorter) than (?={_TIME})", "latency under "),
    (rf"\b(?:slower|longer) than (?={_TIME})", "latency above "),
    (r"\bnot (?:nearly )?as (?:fast|quick) as\b", "slower than"),
    (r"\bnot (?:nearly )?as (?:small|compact) as\b", "larger than"),
    (r"\bnot (?:nearly )?as (?:good|accurate) as\b", "worse than"),
    # "before and after 2026-11-01"; "since the beginning of November".
    (r"\bbefore (?:and|vs\.?|versus) (?:after|since)\b", "changed since"),
    (r"\b(?:the )?(?:beginning|start) of (?=\w)", ""),
    # Who: a method, unless it is a person that is asked for.
    (r"\bwho (?=is|has|wins|gives|needs|takes|uses|leads|beats|comes)", "which method "),
    (r"\b(?:from|of) (?=(?:january|february|april|june|july|august|september|october|november|december)\b)", "in "),
    (r"\btop (?P<n>two|three|four|five|six|seven|eight|nine|ten|twenty)\b", lambda m: f"top {_COUNTS[m['n']]}"),
    (r"\bnot counting\b", "except"),
    (
        r"\bhow (?P<how>slow|fast) (?:is|are) (?P<what>[\w\s-]+?) compared (?:to|with)\b",
        r"latency of \g<what> compared to",
    ),
    (r"\bso (slow|large|big)\b", lambda m: {"slow": "slower", "large": "larger", "big": "larger"}[m[1]]),
    # Margins of AUC in other words.
    (
        r"\bwithout losing more than (?P<n>0?\.\d+) (?:of )?(?:auc|quality|accuracy)\b|"
        r"\b(?:at most|no more than) (?P<m>0?\.\d+) (?:auc |quality |accuracy )?(?:loss|drop|below dense)\b",
        lambda m: f"within {m['n'] or m['m']} of dense",
    ),
    # What a weight is pressed to: "squeezed to a tenth", "when 10 % are kept".
    (
        rf"\b(?:squeezed|shrunk|reduced|cut|compressed|down) (?:down )?to (?P<fraction>{'|'.join(_FRACTIONS)})\b",
        lambda m: f" compression {_FRACTIONS[m['fraction']]} ",
    ),
    (
        rf"\b(?P<fraction>{'|'.join(_FRACTIONS)}) (?:of (?:the|them|it) )?(?:is |are )?(?:kept|left|retained)\b",
        lambda m: f" compression {_FRACTIONS[m['fraction']]} ",
    ),
    (rf"\b(?:squeezed|shrunk|reduced|cut|compressed|down) (?:down )?to {_SHARE}", _kept_percent),
    # "sum, mean and max pooling" names three values, no aggregates.
    (r"\b(?:(?:sum|mean|max)(?:, | and | or |/| vs\.? | versus ))+(?:sum|mean|max)[- ]pooling\b", _poolings),
    (r"\b(sum|mean|max)[- ]pooling\b", r"pooling \1"),
    # "which is the quickest": of the methods.
    (r"\bwhich (?:one )?(?=(?:is|are|was|has|gives|needs|takes|runs|performs|wins|uses)\b)", "which method "),
    # How far something scatters.
    (
        r"\bhow much (?:do|does|did) (?:the )?(?P<what>[\w\s%.-]+?) (?:vary|fluctuate|scatter|spread|differ)s?\b",
        lambda m: f"std of {m['what']}",
    ),
    (r"\bverdict (?:is|are|was) not\b", "not verdict"),
    (r"\b(?:and )?colou?r(?:ed)? by (?:the )?\w+\b", " "),
    (r"\b(?:that|which|who) (?:do|does|are|is) not compress(?:ed)?\b", "without compression"),
    # Limits: "within 5 MB", "reaches 0.94 AUC".
    (r"\bwithin (?:an? |the )?(?:budget |limit )?(?:of )?(?=\d[\d.,]*\s*(?:[kmg]i?b|us|µs|ms|ns|s)\b)", "under "),
    (
        r"\b(?:reach|achieve|attain|hit|get|manage)(?:e?s|ing)?\s+(?:an? |to )?(?P<auc>auc )?(?:of )?(?=0?\.\d)",
        _at_least,
    ),
    (r"\b(?:after|at|for|in|on) (?:each|every) (?:training )?step\b", "per step"),
    # Percentiles: "99th percentile", "90 %ile".
    (
        r"\b(?:the )?(?P<p>10|90|95|99)(?:th)?[- ]?(?:percentile|%ile|percent ile|pctile|pctl)\b(?: latency)?",
        _percentile,
    ),
    (r"\bp(?:50|\.50) latency\b", "latency"),
    (r"\b(?:p\s?99\.?0?|p-99)\b", "p99"),
    # What is pruned, and what is kept.
    (rf"\b{_SHARE}\s*{_PRUNED}\b", _pruned_percent),
    (
        rf"\b{_PRUNE}(?: (?:by|to|of|at|away|is|=|the))*\s*{_SHARE}",
        _pruned_percent,
    ),
    (
        r"\b(?:pruning ratio|prune ratio|pruning rate|sparsity|pruned)(?: (?:of|at|is|=))?\s*(?P<ratio>0?\.\d+)",
        _pruned_fraction,
    ),
    (rf"\b(?:keep(?:s|ing)?|kept|retain(?:s|ing)?|with only|only)\s+{_SHARE}\s*{_WHOLE}", _kept_percent),
    (rf"\b(?:keep(?:s|ing)?|retain(?:s|ing)?)\s+{_SHARE}", _kept_percent),
    (rf"\b{_SHARE}\s*{_WHOLE}", _kept_percent),
    (rf"\b{_SHARE}\s*(?:kept|retained|remaining|left|compression|compressed)\b", _kept_percent),
    (
        rf"\b(?:at|with|to|for|using|in|only)\s+(?:only |just )?(?P<fraction>{'|'.join(_FRACTIONS)})\s+{_WHOLE}{_LEFT}",
        lambda m: f" compression {_FRACTIONS[m['fraction']]} ",
    ),
    (
        rf"\b(?P<fraction>{'|'.join(_FRACTIONS)})\s+(?:the|its|of the|of its)\s+(?:original |dense |full )?{_WEIGHTS}",
        lambda m: f" compression {_FRACTIONS[m['fraction']]} ",
    ),
    (
        rf"\bcompression\s+(?:of |to |ratio |level )?(?P<fraction>{'|'.join(_FRACTIONS)})\b",
        lambda m: f" compression {_FRACTIONS[m['fraction']]} ",
    ),
    # "10-fold smaller", "ten times smaller", "20:1", "10x compression".
    (r"\b(?P<n>\d+)\s*:\s*1\b(?:\s+compress\w*)?", lambda m: f" {m['n']}x smaller "),
    (
        r"\bcompress(?:ed|ion)(?: of| by| to| factor| ratio|ed)*\s+(?P<n>\d+)\s*(?:x|fold|times)\b",
        lambda m: f" {m['n']}x smaller ",
    ),
    (
        rf"\b(?P<n>{_COUNT})\s*(?:-?\s?fold|x|times)\s+(?P<word>{'|'.join(_LESS)})\b(?:\s+{_WEIGHTS})?(?!\s+than)",
        _fold,
    ),
    # "single-threaded", "on two threads".
    (r"\b(?:single|one)[- ]?thread(?:ed)?\b", "1 thread"),
    (r"\b(?:dual|two)[- ]?thread(?:ed|s)?\b", "2 threads"),
    (r"\bmulti[- ]?thread(?:ed|ing)?\b", "threads above 1"),
    # Names glued to their number: bs512, d64, dim=64, b=64.
    (r"\b(bs|batch|dim|d|dims|comp|threads?)[=_]?(\d+(?:\.\d+)?)\b(?!\s*(?:bit))", r" \1 \2 "),
    (r"\b(l|k|b)[=_](\d+)\b", r" \1 \2 "),
    (r"\b(\w+)\s*=\s*(?=[\w.])", r"\1 = "),
    # Sentences turned around.
    (
        rf"\b(?:what(?: is)? )?(?:the )?(?:effect|impact|influence)s? of (?:the )?{_A} on (?:the )?{_B}{_REST}",
        _turned,
    ),
    (
        rf"\bhow (?:do|does|did) (?:the )?{_A} (?:affect|influence|impact|change|drive)s? (?:the )?{_B}{_REST}",
        _turned,
    ),
    (
        rf"\b(?:does|do|did|will|would|can) {_GROWING}?\s*{_A} "
        rf"(?:help|affect|matter for|increase|reduce|lower|raise|influence|impact)s? (?:the )?{_B}{_REST}",
        _turned,
    ),
    (
        r"\bas (?:the )?(?P<a>[\w-]+(?: [\w-]+)?) "
        r"(?:gets?|grows?|increases?|decreases?|shrinks?|rises?|falls?|goes|drops?)"
        r"(?: (?:up|down|smaller|larger|bigger|higher|lower))?\b",
        lambda m: f" by {m['a']} ",
    ),
    # What is ranked, and by what.
    (
        r"\b(?:rank|sort|order)(?:ing)?\s+(?:of\s+)?(?:all |the |every )*(?P<what>[\w\s-]+?)\s+by\s+",
        lambda m: f" {m['what']} sorted by ",
    ),
    # Limits that are crossed.
    (r"\b(?:fall|drop|dip|go|sink|stay|remain|keep|get|lie|come|end)s?\s+(?:below|under)\b", "below"),
    (r"\b(?:rise|go|climb|stay|remain|keep|get|lie|come|end|reach)(?:e?s)?\s+(?:above|over)\b", "above"),
    (r"\bexceeds?\b", "above"),
    (r"\bno (?:larger|bigger|more|higher|slower|longer) than\b", "at most"),
    (r"\bno (?:smaller|less|lower|fewer) than\b", "at least"),
    # What a trial as a whole takes is not what a call takes.
    (
        r"\bhow long (?:did|do|does|will) (?P<what>.*?\b(?:trials?|runs?|sweeps?)\b)",
        lambda m: f" duration of {m['what']}",
    ),
    # Over seeds a mean or a spread is always taken.
    (
        r"\b(?:over|across|between|among) (?:all |the |different )*(?:seeds?|repeats?|repetitions|replicates)\b",
        " ",
    ),
    # Few words of everyday that the lexicon holds in another form.
    (r"\btrade[- ]?offs?\b", "tradeoff"),
    (r"\bmovie ?lens[- ](1m|206k|100k)\b", r"ml-\1"),
    (r"\be\.g\.|\bi\.e\.", " "),
)
_COMPILED = tuple((re.compile(pattern), by) for pattern, by in _RULES)


def rephrase(question: str) -> str:
    """The question in the lexicon's words, lower case; what no rule knows stays as it is."""
    text = unicodedata.normalize("NFKC", question).lower().replace("μ", "µ")
    for pattern, by in _COMPILED:
        text = pattern.sub(by, text)
    return text
