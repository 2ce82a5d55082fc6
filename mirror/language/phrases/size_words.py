"""Ways of saying how much of a table is kept, and how much memory there is: "shrunk to a tenth", "a cap of 1 MB".

Each rule is a frame of a sentence, as in `rephrase`, which applies them.
"""

import re
from collections.abc import Callable

from mirror.language.phrases.units_in_words import SIZE_UNIT
from mirror.words import phrasebook
from mirror.words.phrasebook import one_of

Rule = tuple[str, str | Callable[[re.Match[str]], str]]

_PARTS = {word: int(n) for word, n in phrasebook.numbers("numbers", "parts").items() if not word.endswith("s")}
FRACTIONS = {"half": "1/2"} | {f"{one} {word}": f"1/{n}" for word, n in _PARTS.items() for one in ("a", "an", "one")}
COUNTS = {word: f"{n:g}" for word, n in phrasebook.numbers("numbers", "cardinals").items() if 0 < n <= 100}
SEVERAL = one_of(word for word, n in COUNTS.items() if n != "1")
_NUMBER = r"\d+(?:\.\d+)?|\.\d+"
_COUNT = rf"(?:{_NUMBER}|{one_of(COUNTS)})"
_SHARE = r"(?P<share>\d+(?:\.\d+)?|\.\d+)\s*(?:%|percent|per cent|pct)"
_FRACTION = rf"(?P<fraction>{one_of(FRACTIONS)})"
_WEIGHTS = (
    r"(?:size|memory|parameters|params|weights|footprint|budget|table|tables|capacity|parameter (?:count|budget)|"
    r"memory (?:footprint|budget)|embeddings?|embedding table|embedding parameters)"
)
_WHOLE = rf"(?:of (?:the |its |their |our |my )?)?(?:the )?(?:original |dense |full |uncompressed |initial )?{_WEIGHTS}"
_IS = r"(?: (?:is|are|were|was|get|gets|remain|remains))?(?: still)?"
_LEFT = rf"(?:{_IS} (?:kept|left|retained|remaining|stored|surviving)| remains?(?! \w+ than))?"
_PRUNED = rf"(?:pruned|pruning|sparse|sparsity|prune rate|pruning rate|of (?:the )?(?:{_WEIGHTS} )?pruned)"
_PRUNE = f"(?:{one_of(phrasebook.words('sizes', 'pruning'))})"
_LESS = phrasebook.words("sizes", "less")
_SHRINK = f"(?:{one_of(phrasebook.words('sizes', 'shrinking'))})"
# What is shrunk: never a metric that a limit could be of.
_TABLE = (
    rf"(?:the |my |our |its |your |all |each |every |dense |full |everything |it |them |embedding |whole |down )*"
    rf"(?:(?:{_WEIGHTS}|model|models|everything|it|them) )?(?:of the (?:embeddings?|tables?|model) )?"
)
_LIMITS = r"(?P<limit>at most|at least|no more than|not more than|up to|less than|under|below|more than|over|above)"
_BYTES = rf"\d[\d.,]*\s*{SIZE_UNIT}\b(?!/)"


def _count(text: str) -> str:
    return COUNTS.get(text, text)


def _kept(pruned: str, percent: bool) -> str:
    """The fraction kept where this much is pruned."""
    return f"{1 - float(pruned) / (100 if percent else 1):.10g}"


def _pruned_percent(match: re.Match[str]) -> str:
    return f" compression {_kept(match['share'], True)} " if float(match["share"]) < 100 else match[0]


def _pruned_fraction(match: re.Match[str]) -> str:
    return f" compression {_kept(match['ratio'], False)} " if 0 < float(match["ratio"]) < 1 else match[0]


def _kept_percent(match: re.Match[str]) -> str:
    return f" compression {match['share']}% "


def _limited_percent(match: re.Match[str]) -> str:
    return f" compression {match['limit']} {match['share']}% "


def _kept_fraction(match: re.Match[str]) -> str:
    return f" compression {FRACTIONS[match['fraction']]} "


def _fold(match: re.Match[str]) -> str:
    number = _count(match["n"])
    return f" {number}x smaller " if match["word"] in _LESS else f" {number}x {match['word']} "


def _kept_list(match: re.Match[str]) -> str:
    """ "at half and quarter size" as the two compressions."""
    return f" compression {', '.join(f'1/{_PARTS[word]}' for word in re.findall(one_of(_PARTS), match[0]))} "


_NAMES = rf"(?:half|(?:an? |one )?(?:{one_of(_PARTS)}))"

BUDGETS: tuple[Rule, ...] = (
    # A budget: "with 1 MB", "a hard cap of 500 KB", "that fits in 1 MB", "if I only have 1 MB".
    (r"\bhalf an? (?:gigabyte|gb)\b", "500 mb"),
    (r"\bhalf an? (?:megabyte|mb)\b", "500 kb"),
    (r"\b(?:a|one) (gigabyte|megabyte|kilobyte|millisecond|microsecond)\b", r"1 \1"),
    (
        r"\b(?:with |for |in |given |on |within |under )?(?:there is )?(?:i |we )?(?:have |has |had |got )?"
        r"(?:a |an |my |our |the |only |just )*"
        r"(?:(?:hard|strict|tight|total|fixed|small|maximum|max) )?(?:(?:memory|size|storage|ram|space) )?"
        rf"(?:budget|cap|limit|ceiling|allowance)(?: (?:of|is|at)|:)*(?: about| around| only| just)? (?={_BYTES})",
        " at most ",
    ),
    (
        r"\b(?:under|within|below|in|for|with) (?:that|this|the same|such an?) (?:budget|cap|limit|ceiling|"
        r"constraint)\b",
        " ",
    ),
    (
        r"\b(?:with|for|in|into|given|on|have|has|had|got|afford|spend|spare) (?:a |an |only |just |about |around )?"
        rf"(?:budget of )?(?={_BYTES})",
        "at most ",
    ),
    (rf"\b(?P<n>{_BYTES}) (?:budget|cap|limit|max|maximum|tops|to spend|to spare|or so)\b", r" at most \g<n> "),
    (rf"\b(?:a |an |the )?(?=at most {_BYTES})", " "),
    (r"(?<=\bat most )(?:at most )+", ""),
)

SIZES: tuple[Rule, ...] = (
    (
        rf"\b(?:under|within|below|in) (?:a |an |the )?{_SHARE}\s*(?:(?:parameter|memory|size|weight) "
        rf")?(?:budget|cap|limit)\b",
        lambda m: f" compression at most {m['share']}% ",
    ),
    # "keep at most 5 %", "with less than 10 % of the weights"; "nominally" says what a compression is.
    (r"\bnominal(?:ly)? (?=(?:keep|kept|retain|compress|size))", " "),
    (rf"\b(?:keep(?:s|ing)?|kept|retain(?:s|ed|ing)?) {_LIMITS} {_SHARE}(?:\s*{_WHOLE})?", _limited_percent),
    (rf"\b{_LIMITS} {_SHARE}\s*{_WHOLE}{_LEFT}", _limited_percent),
    # "halve the memory", "cut the size in half".
    (rf"\bhalv(?:e|es|ed|ing) (?:the |its |my |our |all |dense )*{_WEIGHTS}\b", " compression 1/2 "),
    (rf"\b{_SHRINK} {_TABLE}(?:in|by|to) half\b", " compression 1/2 "),
    (rf"\bhalf as (?:many|much) {_WEIGHTS}\b(?! (?:as|than))", " compression 1/2 "),
    (rf"\b{_WEIGHTS} (?:is|are) halved\b", " compression 1/2 "),
    # What a weight is pressed to: "squeezed to a tenth", "when 10 % are kept"; and by how much: "cut by 90 %".
    (rf"\b{_SHRINK} {_TABLE}(?:down )?to {_FRACTION}\b(?:\s*{_WHOLE})?", _kept_fraction),
    (rf"\b{_SHRINK} {_TABLE}(?:down )?to {_SHARE}(?:\s*{_WHOLE})?", _kept_percent),
    (rf"\b{_SHRINK} {_TABLE}by {_SHARE}", _pruned_percent),
    (
        rf"\b{_SHRINK} {_TABLE}(?:by )?(?:a factor of )?(?P<n>{_COUNT})\s*(?:x|fold|-fold|times)(?! (?:faster|"
        rf"slower))\b",
        lambda m: f" {_count(m['n'])}x smaller ",
    ),
    (rf"\b{_SHRINK} {_TABLE}by a factor of (?P<n>{_COUNT})\b", lambda m: f" {_count(m['n'])}x smaller "),
    (rf"\b{_FRACTION}(?: of (?:the|them|it))?(?: {_WHOLE})?{_IS} (?:kept|left|retained)\b", _kept_fraction),
    # What is pruned, and what is kept.
    (rf"\b{_SHARE}\s*{_PRUNED}\b", _pruned_percent),
    (rf"\b{_PRUNE}(?: (?:by|to|of|at|away|is|=|the))*\s*{_SHARE}", _pruned_percent),
    (
        r"\b(?:pruning ratio|prune ratio|pruning rate|sparsity|pruned)(?: (?:of|at|is|=))?\s*(?P<ratio>0?\.\d+)",
        _pruned_fraction,
    ),
    (rf"\b{_SHARE}\s*(?:smaller|fewer (?:parameters|params|weights)|less (?:memory|space))\b(?! "
     rf"than)", _pruned_percent),
    (rf"\b(?:keep(?:s|ing)?|kept|retain(?:s|ing)?|with only|only)\s+{_SHARE}\s*{_WHOLE}{_LEFT}", _kept_percent),
    (rf"\b(?:keep(?:s|ing)?|retain(?:s|ing)?)\s+{_SHARE}", _kept_percent),
    (rf"\b{_SHARE}\s*{_WHOLE}{_LEFT}", _kept_percent),
    (rf"\b{_SHARE}{_IS}\s*(?:kept|retained|remaining|left|compression|compressed)\b", _kept_percent),
    (rf"\b(?:at|with|to|for|using|in|only)\s+(?:only |just )?{_FRACTION}\s+{_WHOLE}{_LEFT}", _kept_fraction),
    (rf"\b{_FRACTION}\s+(?:the|its|of the|of its)\s+(?:original |dense |full )?{_WEIGHTS}(?! of \w)", _kept_fraction),
    (rf"\bcompression\s+(?:of |to |ratio |level )?{_FRACTION}\b", _kept_fraction),
    # "at a tenth", "at half and quarter size", "at half size".
    (rf"\b(?:at|with|to|for|in) {_NAMES}(?:(?:,| and| or|, and|/| vs\.?| versus) {_NAMES})*[- ]size\b", _kept_list),
    (
        r"\b(?:at|with|when|down to) (?:only |just )?"
        rf"(?P<fraction>{one_of(f for f in FRACTIONS if not f.endswith('half'))})"
        r"(?! (?:of|the|as|more|less)\b)(?: kept)?",
        _kept_fraction,
    ),
    # "10-fold smaller", "ten times smaller", "20:1", "10x compression".
    (r"\b(?P<n>\d+)\s*:\s*1\b(?:\s+compress\w*)?", lambda m: f" {m['n']}x smaller "),
    (
        r"\bcompress(?:ed|ion)(?: of| by| to| factor| ratio|ed)*\s+(?P<n>\d+)\s*(?:x|fold|times)\b",
        lambda m: f" {m['n']}x smaller ",
    ),
    (
        rf"\b(?P<n>{_COUNT})\s*(?:-?\s?fold|x|times)\s+(?P<word>{one_of(_LESS)})\b(?:\s+{_WEIGHTS})?(?!\s+than)",
        _fold,
    ),
)  # fmt: skip
