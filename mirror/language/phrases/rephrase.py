"""Ways of saying that people of the field have, put into the words of the lexicon before the question is cut up.

Each rule is a frame of a sentence: "95 % pruned" is compression 0.05, "the effect of A on B" is B by A. What a rule
assumes is told in a note.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import cache

from mirror.language.phrases import small_talk, two_meanings, units_in_words
from mirror.language.phrases.size_words import BUDGETS, COUNTS, SEVERAL, SIZES, Rule
from mirror.query.errors import Refusal
from mirror.schema import catalog
from mirror.words import phrasebook
from mirror.words.phrasebook import one_of

# Where the second half of a sentence that is turned around ends.
_REST = r"(?= for\b| at\b| in\b| with\b| when\b| of\b|[?.,!]|$)"
_A, _B = r"(?P<a>[\w\s-]+?)", r"(?P<b>[\w\s-]+?)"
_TIME = rf"\d[\d.,]*\s*(?:{one_of(unit for unit, size in phrasebook.numbers('units', 'time').items() if size < 6e7)})\b"
_ENDS = r"(?:best|worst|fastest|slowest|smallest|largest|highest|lowest|biggest|quickest|cheapest|newest|latest|most)"
_GROWING = (
    r"(?:doubling the|doubling|tripling the|increasing the|increasing|decreasing|raising|lowering|"
    r"growing|a larger|a smaller|larger|smaller|more|fewer|the)"
)


_AXIS_WORD = (
    r"(?:threads?|cores?|batch sizes?|batch|batches|bs|tables?|rows?|dims?|dimensions?|embedding dim(?:ension)?s?|"
    r"compressions?|compression ratios?|chunks?|bag sizes?|seeds?|prune intervals?|optimizers?|decays?|block sizes?)"
)
# "bigger batches", "the batch gets bigger", "more threads".
_MOVING = (
    r"(?:the |a |an |we use |you use |using |i use |you have |there are )?"
    r"(?:more|larger|bigger|smaller|higher|lower|fewer|increasing|growing|longer|wider|stronger|heavier|the)? ?"
    rf"(?P<axis>{_AXIS_WORD})(?: (?:get|gets|grow|grows|become|becomes|increase|increases|rise|rises|shrink|"
    rf"shrinks|is|are)"
    r"(?: (?:bigger|larger|smaller|higher|lower|up|down|longer|wider|increased|added|more))?)?\b"
)
_BASE = r"(?:THE_BASELINE|baseline)"  # its name stands in the catalogue, which is read when first asked


def _percentile(match: re.Match[str]) -> str:
    return f" p{match['p']} "


def _at_least(match: re.Match[str]) -> str:
    return f"{match['auc'] or ''}at least "


def _poolings(match: re.Match[str]) -> str:
    return ", ".join(f"pooling {word}" for word in re.findall(r"sum|mean|max", match[0]))


def _turned(match: re.Match[str]) -> str:
    """ "does a larger batch help throughput" as "throughput by batch"."""
    return f" {match['b']} by {match['a'].strip()} "


def _extremes(match: re.Match[str]) -> str:
    """ "which machine did the most runs" as the number of trials of each, those with the most first."""
    order = "descending" if match["end"] in ("most", "highest number of") else "ascending"
    return f"number of trials by {match['axis']} {order} "


def _two_ends(match: re.Match[str]) -> str:
    """ "is 2 threads faster than 1 thread" as the one relative to the other."""
    axis = match["axis"]
    return f" {_MEANT[match['how']]} of {axis} {match['a']} relative to {axis} {match['b']} "


_MEANT = {word: metric for metric, among in phrasebook.phrases("sizes", "compared").items() for word in among}
_OPENING: tuple[Rule, ...] = (
    # "For each data set, which method ...": what stands behind is not grouped by as well.
    (
        r"^(?P<before>.*?[.!] |)(?P<by>for (?:each|every) [\w ]{3,40}?), (?P<rest>(?:which|what|who|how|is|are|"
        r"does|do|show|give|list)"
        r"\b[^?.!;]*)",
        r"\g<before>\g<rest> \g<by>",
    ),
    (r"\bon (?:the|our|my|a|your|an) (?:edge |mobile |target )?(?:device|phone)\b", " "),
    (r"\bat (?:equal|the same|an equal|identical) (?:nominal )?compression(?: of)? (?=[\d.])", "at compression "),
    # What is cut short in writing: "w/ dim 64", "w/o dense", "n by how much".
    (r"\bw/o\b", "without"),
    (r"\bw\.?r\.?t\.?(?=\s)", "with respect to"),
    (r"\bw/\s*", "with "),
    (r"(?<=\w) ?& ?(?=\w)", " and "),
    (r"(?<=[a-z,]) n (?=(?:by|how|what|which|the)\b)", " and "),
    (r"(?<=[a-z0-9]) \+ (?=[a-z])", " and "),
    (r"\b(?:do|can|could|would|did) u\b", " you "),
    # "10 million rows", "a million ids".
    (r"\b(?:a|one) (?=(?:million|thousand|billion)\b)", "1 "),
    (
        r"\b(?P<n>\d+(?:\.\d+)?) ?(?P<of>thousand|million|mio|billion)\b",
        lambda m: f"{float(m['n']) * {'thousand': 1e3, 'million': 1e6, 'mio': 1e6, 'billion': 1e9}[m['of']]:.0f}",
    ),
    # "isn't hashed faster?" asks whether it is.
    (r"^\s*(is|are|was|were|does|do|did|has|have)n['’]?t\b(?=.*\?)", r"\1"),
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
    # "five fastest", "the three worst".
    (rf"\b(?P<n>{SEVERAL})\s+(?={_ENDS}\b)", lambda m: f"{COUNTS[m['n']]} "),
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
)
_FRAMES: tuple[Rule, ...] = (
    *(
        (rf"\b(?:{one_of(among)})\b", put)
        for put, among in phrasebook.phrases("rewrites", "results", "every reader").items()
    ),
    # Factors in words: "twice as fast as", "three times as slow as".
    (r"\btwice (?=as (?:fast|quick|slow)\b)", "2 times "),
    (rf"\b(?P<n>{one_of(COUNTS)}) times (?=as (?:fast|quick|slow)\b)", lambda m: f"{COUNTS[m['n']]} times "),
    (r"\b(?P<n>\d+(?:\.\d+)?) ?(?:x|times) as (?:fast|quick)(?: as|(?= than))\b", r"\g<n>x faster than"),
    (r"\b(?P<n>\d+(?:\.\d+)?) ?(?:x|times) as slow as\b", r"\g<n>x slower than"),
    (r"\b(?P<n>\d+(?:\.\d+)?) times (?=(?:faster|slower|smaller)\b)", r"\g<n>x "),
    # One value of an axis beside another: "is 2 threads faster than 1 thread".
    (
        rf"^\s*(?:is|are|does|do|was|were|will|would) (?:using |having )?(?P<a>\d[\d,]*) (?P<axis>{_AXIS_WORD})"
        rf"(?: (?:run|runs|be|come out))?(?: (?:much|any|really|still))? (?P<how>{one_of(_MEANT)}) than "
        rf"(?P<b>\d[\d,]*)(?: {_AXIS_WORD})?\b",
        _two_ends,
    ),
    (
        r"\b(?:does|do|will|would|is|are) (?:a|the|having a|using a) second (?P<axis>thread|core) (?:make|makes|"
        r"making)\b"
        r"(?P<what>[\w\s-]*?) (?:faster|quicker|slower|any faster)\b",
        r" how many times faster is threads 2 than threads 1 \g<what> ",
    ),
    # Who is left out: "all but dense", "dense excluded".
    (
        r"\b(?:all|everything|anything|every one|everyone|each|any)(?: (?:of them|methods?|the methods|"
        r"others?))? but\b",
        "except",
    ),
    (
        r"\b(?P<what>[\w-]+) (?:is |are )?(?:excluded|left out|left aside|not included|not counted)\b",
        r"except \g<what> ",
    ),
    # "metadata included": it is in what inference must keep.
    (r"\b(?:metadata (?:is |being )?included|(?:including|incl\.?|counting) (?:the |all |its )*metadata)\b", " "),
    # What was tried: "what compression settings did you try for X".
    (
        rf"\b(?:what|which|what kinds? of) (?P<axis>{_AXIS_WORD})(?: (?:settings?|values?|levels?|options?))?"
        r" (?:did|have|do|are|were|was|has) (?:(?:you|we|they|been|people|it|there|ever|already|get|got|all) )*"
        r"(?:tried|try|tested|test|used|use|run|measured|measure|covered|cover|benchmarked|benchmark|been|"
        r"there)(?: out)?\b"
        r"(?! (?:best|most|least|fastest|with the))",
        r"which \g<axis> are there ",
    ),
    (
        rf"\b(?:which|what) (?P<axis>{_AXIS_WORD}|methods?|machines?|data ?sets?|benchmarks?|sweeps?) (?:did|has|"
        rf"have|had|got|saw|ran) "
        r"(?:the )?(?P<end>most|fewest|highest number of|lowest number of) (?:runs|trials|results|experiments)\b",
        _extremes,
    ),
    # What did not end well, and why.
    (
        r"\b(?:did not|does not|do not|could not|never) (?:make it|finish(?:ed)?|complete[d]?|succeed(?:ed)?|run "
        r"through|"
        r"go through|terminate[d]?)\b",
        "failed",
    ),
    (r"(?:\band )?\bwhat (?:was|is|were|are) the (?:errors?|reasons?|error messages?|causes?)(?= *[?.!]*$)", " why "),
    (
        r"\b(?:ran|run|running|went|goes) into (?:the |a )?(?:time ?out|time limit)\b|\bhit the time limit\b",
        "timed out",
    ),
    (r"\b(out of memory|oom|time ?outs?|timed out) (?:errors?|failures?|crashes|fails|kills)\b", r"\1"),
    (r"\bbut (?=(?:without|no|except|excluding|only)\b)", ""),
    # Who is nearest to the baseline, who loses least.
    (
        rf"\b(?:comes? |is |are |gets? |stays? |lies )?(?:the )?(?:closest|nearest) to (?:the )?{_BASE}(?:['’]s)? "
        r"(?:in (?:terms of )?)?(?:test )?(?:auc|quality|accuracy)\b",
        "has the lowest auc loss",
    ),
    (
        r"\b(?:loses?|drops?|gives? up|sacrifices?) (?:the )?(?P<end>least|most) (?:of (?:the |its )?)?(?:test "
        r")?(?:auc|quality|accuracy)\b",
        lambda m: f"has the {'lowest' if m['end'] == 'least' else 'highest'} auc loss",
    ),
    (
        r"\bhow much longer (?:does|do|did|will) (?=.*\b(?:steps?|lookups?|calls?|batch|batches|forward|backward|"
        r"pass)\b)"
        r"(?!.*\b(?:trials?|runs?|sweeps?)\b)",
        "how much slower is ",
    ),
    (
        rf"\b(?:does|do|will|would|can) (?:more |larger |bigger |a larger |a bigger |fewer |smaller |the |"
        rf"stronger )?(?P<axis>{_AXIS_WORD}) "
        rf"make (?P<what>[\w\s-]+?) (?:any |much )?(?P<how>{one_of(_MEANT)})\b",
        lambda m: f" {_MEANT[m['how']]} of {m['what']} by {m['axis']} ",
    ),
    (
        r"\b(?:is|are) there (?:a |any |some |another |other |an )*(?:methods?|kernels?|compressors?|approach|"
        r"approaches|one|ones) "
        r"(?:that|which|who) (?:is|are) (?=(?:faster|slower|smaller|larger|better|worse|more accurate))",
        "which methods are ",
    ),
    # "c = 0.1", "in decreasing order", "by how many AUC points".
    (r"\bc ?[=:] ?(?=[\d.])|\bc in (?=[{(\[]? ?[\d.])", "compression "),
    (r"\bin (?:an? )?(decreasing|increasing|ascending|descending) order\b", r"\1"),
    (r"\b(sorted by|ranked by|rank by|sort by) test (auc|logloss|log loss|accuracy)\b", r"\1 \2 test"),
    # "how large is the gap": no question of memory.
    (
        r"\bhow (?:large|big|small|high|great|wide|much) (?:is|are|was) (?:the |this |that )?"
        r"(?=(?:\w+ )?(?:gap|gaps|difference|differences|improvement|advantage|benefit|drop|loss|gain|penalty|"
        r"lead|edge)\b)",
        "what is the ",
    ),
    # "the advantage of A over B".
    (
        rf"\b(?:the )?(?:advantage|improvement|benefit|superiority|edge|gain|lead)s? of (?:the )?{_A} over "
        rf"(?:the )?{_B}{_REST}",
        r" gap between \g<a> and \g<b> ",
    ),
    # "0.92 AUC that is kept" is a limit; "from compression 0.5 to 0.05" no time.
    (
        r"\b(?:keep|retain|maintain|preserve|hold|deliver)(?:s|ing)? (?:an? )?(?:at least )?(?:auc (?:of "
        r")?)?(?P<n>0?\.\d+)(?: of)? auc\b",
        r"auc at least \g<n>",
    ),
    (
        rf"\bhow (?:much )?(?:does|do) (?:the )?{_A} (?:degrade|drop|fall|decline|change|improve|rise|decrease|"
        rf"increase|go|move)s?"
        r"(?: (?:down|up))?(?: (?:when|if) (?:going|moving))? (?=from compression [\d.]+ to [\d.]+)",
        r" \g<a> ",
    ),
    # What something costs in quality.
    (
        r"\b(?:the )?(?:costs?|price|pay|pays|paid|toll)(?: (?:paid|to pay|it takes))? in (?:terms of )?(?:test "
        r")?(?:auc|quality|accuracy)\b",
        "auc loss",
    ),
    # "does anyone beat dense", "is there anything faster than dense".
    (
        r"^\s*(?:does|did|do|can|will|would|is there|are there)? ?(?:any ?one|any ?body|anything|any methods?|"
        r"any of (?:them|the methods)|"
        r"something|any other methods?)(?: else)?(?: that| which)?(?: (?:is|are))? "
        r"(?=(?:beat|beats|faster|slower|smaller|larger|better|worse|outperform|outperforms|more accurate)\b)",
        " which methods ",
    ),
    # "scaling of throughput with threads".
    (rf"\bscaling of (?:the )?{_A} (?:with|over|across|by|along) (?:the )?{_B}{_REST}", r" \g<a> by \g<b> "),
    (rf"\bscaling of (?:the )?{_A} from (?=\d+ to \d+ {_AXIS_WORD})", r" \g<a> from "),
    # Several at once: "batches of 512", "looking up 2048 at once".
    (r"\b(?:when|while|for|in|if|by|during) (?:we are |i am )?looking up\b", "in lookup"),
    (
        r"\b(?P<n>\d[\d,]*k?) (?:(?:ids?|samples|examples|vectors|requests|items|users|queries) )?(?:at once|at "
        r"a time)\b",
        r"batch size \g<n> ",
    ),
    (r"\b(?:mini-?)?batch(?:es)? of (?=\d)", "batch size "),
    # Bounds of an axis: "turn compression from .5 to .02", "from batch 64 to 2048".
    (
        rf"\b(?:turn|move|switch|change|go|vary|increase|decrease|raise|lower|drop|push|set|grow|rise|jump|shift)"
        rf"(?:s|es|ing|ed)?(?: the)? (?P<axis>{_AXIS_WORD})(?: (?:up|down))? from (?=[\d.])",
        r" \g<axis> from ",
    ),
    (
        rf"\b(?:(?:go|grow|rise|scale|change|move|jump|climb|fall|drop)(?:e?s|ing)? )?from (?P<axis>{_AXIS_WORD}) "
        rf"(?P<a>[\d.,]*\d) to (?:{_AXIS_WORD} )?(?=[\d.])",
        r" \g<axis> from \g<a> to ",
    ),
    # "latency gets worse with bigger batches": what changes, by what.
    (
        rf"\b(?:does|do|will|is|are|would|how (?:much )?(?:does|do|will)) (?:the )?(?P<what>(?:(?!\b(?:than|it|"
        rf"that)\b)[\w\s-])+?) "
        r"(?:get|gets|become|go|grow|rise|fall|increase|decrease|drop|suffer|improve|degrade|worsen|change|scale|vary|"
        r"deteriorate)(?: (?:any|much))?(?: (?:better|worse|slower|faster|larger|smaller|bigger|up|down|higher|lower))?"
        rf" (?:with|as|when|if|for|at) {_MOVING}\b",
        r" \g<what> by \g<axis> ",
    ),
    (
        r"\b(?:does|will|do) (?:it|that|this|things) (?:get|become|go)(?: any)? (?:worse|better|slower|faster|"
        r"larger|smaller)"
        rf" (?:with|as|when|if|for|at) {_MOVING}",
        r" by \g<axis> ",
    ),
    # A time that is compared with is a limit: "faster than 20 µs".
    (rf"\b(?:faster|quicker|shorter) than (?={_TIME})", "latency under "),
    (rf"\b(?:slower|longer) than (?={_TIME})", "latency above "),
    # "before and after 2026-11-01"; "since the beginning of November".
    (r"\b(?:the )?(?:beginning|start) of (?=\w)", ""),
    # Who: a method, unless it is a person that is asked for.
    (r"\bwho (?=is|has|wins|gives|needs|takes|uses|leads|beats|comes)", "which method "),
    (r"\b(?:from|of) (?=(?:january|february|april|june|july|august|september|october|november|december)\b)", "in "),
    (rf"\btop (?P<n>{SEVERAL})\b", lambda m: f"top {COUNTS[m['n']]}"),
    # "which three methods have the lowest ..." asks for the three lowest.
    (
        rf"(?:(?<=which )|(?<=what )|(?<=the )|^\s*)(?P<n>\d+|{SEVERAL}) "
        r"(?P<what>methods|data ?sets|config(?:uration)?s|machines|trials|runs)\b"
        rf"(?P<between>[^?.!,\d]{{0,30}}?)(?={_ENDS}\b)",
        lambda m: f"{m['what']}{m['between']}{COUNTS.get(m['n'], m['n'])} ",
    ),
    (r"\b(?:distinct|unique) (?=[a-z])", "different "),
    (
        r"\b(?:the )?most (?:common|frequent) (?:(?:failure|error) )?reasons?(?: (?:for|of) (?:failures?|failing))?\b",
        "number of failures by reason",
    ),
    (r"\bgrows? (?=(?:with|in)\b)", "scale "),
    (
        r"\bhow (?P<how>slow|fast) (?:is|are) (?P<what>[\w\s-]+?) compared (?:to|with)\b",
        r"latency of \g<what> compared to",
    ),
    (r"\bso (slow|large|big)\b", lambda m: {"slow": "slower", "large": "larger", "big": "larger"}[m[1]]),
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
    (
        r"\bwhich (?P<who>[\w-]+?)s? (?:varies|vary|fluctuates?|scatters?|spreads?) (?:the )?(?P<end>most|least)\b"
        r"(?: in(?: its)? (?P<what>auc|logloss|latency|throughput|memory))?",
        lambda m: f"which {m['who']} has the {'highest' if m['end'] == 'most' else 'lowest'} std of {m['what'] or ''}",
    ),
    (r"\bvariance(?= (?:over|across|between|among) (?:all |the |different )*seeds?\b)|\bseed variance\b", "std"),
    (r"\bverdict (?:is|are|was) not\b", "not verdict"),
    (r"\b(?:and )?colou?r(?:ed)? by (?:the )?\w+\b", " "),
    (r"\b(?:that|which|who) (?:do|does|are|is) not compress(?:ed)?\b", "without compression"),
    # Limits: "within 5 MB", "reaches 0.94 AUC".
    (r"\bwithin (?:an? |the )?(?:budget |limit )?(?:of )?(?=\d[\d.,]*\s*(?:[kmg]i?b|us|µs|ms|ns|s)\b)", "under "),
    (
        r"\b(?:reach|achieve|attain|hit|get|manage)(?:e?s|ing)?\s+(?:an? |to )?(?P<auc>auc )?(?:of )?(?=0?\.\d)",
        _at_least,
    ),
    (
        r"\b(?:reach|achieve|attain|hit|get to)(?:e?s|ing)? (?!over|more|at)(?=\d[\d.,]* ?(?:gb/s|[km]? "
        r"?(?:samples|examples|"
        r"lookups|queries)(?:/s| per)|[km]? ?qps|x speedup|% auc))",
        "at least ",
    ),
    (r"\b(?:after|at|for|in|on) (?:each|every) (?:training )?step\b", "per step"),
    # Percentiles: "99th percentile", "90 %ile".
    (
        r"\b(?:the )?(?P<p>10|90|95|99)(?:th)?[- ]?(?:percentile|%ile|percent ile|pctile|pctl)\b(?: latency)?",
        _percentile,
    ),
    (r"\bp(?:50|\.50) latency\b", "latency"),
    (r"\b(?:p\s?99\.?0?|p-99)\b", "p99"),
)
_SENTENCES: tuple[Rule, ...] = (
    # "single-threaded", "on two threads".
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
    # What a trial as a whole takes is not what a call takes.
    (
        r"\bhow long (?:did|do|does|will) (?P<what>.*?\b(?:trials?|runs?|sweeps?)\b)",
        lambda m: f" duration of {m['what']}",
    ),
    # Over seeds a mean or a spread is always taken.
    (
        r"\b(?:over|across|between|among) (?:all |the |different |(?:three|five|two|ten|\d+) )*(?:random "
        r")?(?:seeds?|repeats?|repetitions|replicates)\b",
        " ",
    ),
    # Few words of everyday that the lexicon holds in another form.
    (r"\bmovie ?lens[- ](1m|206k|100k)\b", r"ml-\1"),
    (r"\be\.g\.|\bi\.e\.", " "),
)
_QUOTIENT = re.compile(
    r"\b(?:per|for each|for every) (?:saved |extra |additional |lost )?(?:mb|megabyte|mib|kb|kilobyte|gb|gigabyte|byte|"
    r"parameter|param|microsecond|millisecond|ms|us)s?\b(?! (?:saved )?(?:budget|limit|cap))"
)
_ALL = (*_OPENING, *BUDGETS, *_FRAMES, *SIZES, *_SENTENCES)


@cache
def _compiled(baseline: str) -> tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...]:
    return tuple((re.compile(pattern.replace("THE_BASELINE", re.escape(baseline))), by) for pattern, by in _ALL)


def rephrase(question: str) -> str:
    """The question in the lexicon's words, lower case; what no rule knows stays as it is. Raises Refusal or
    Ambiguity."""
    text = small_talk.without(unicodedata.normalize("NFKC", question).lower().replace("μ", "µ"))
    two_meanings.check(text)
    if _QUOTIENT.search(text):
        raise Refusal(
            "A quotient of two metrics, such as AUC per megabyte, is not computed: ask for both, as in “memory vs AUC”."
        )
    for pattern, by in _compiled(str(catalog.words()["baseline"])):
        text = pattern.sub(by, text)
    return units_in_words.of_training(units_in_words.without_wishes(text))
