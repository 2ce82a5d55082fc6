"""The phrases of follow-up questions, as patterns over text in lower case with single spaces."""

import re
from typing import Literal

from mirror.words import phrasebook
from mirror.words.phrasebook import one_of

Mode = Literal["replace", "and", "add", "only", "without", "drop", "all", "regardless", "group", "by", "beside"]
Direction = Literal["", "descending", "ascending", "best", "worst", "reversed"]

IT = r"(?: (?:it|that|this|them|these|those|everything|results?))?"
_OUT = one_of(phrasebook.phrases("follow_ups", "verbs")["out"])
_END = r"(?= ?(?:$|[,;.:]|(?:and|instead|but|as|please|too|sort|sorted|ordered)\b))"
_WHAT = "[^,;.:]+?"
_NO_LONGER = f"(?:{one_of(phrasebook.phrases('follow_ups', 'verbs')['stop'])})"


def whole(words: str) -> "re.Pattern[str]":
    """A pattern for whole words."""
    return re.compile(rf"(?<![\w-])(?:{words})(?![\w-])")


# Words around a follow-up that say nothing.
POLITE = whole(
    one_of(phrasebook.words("follow_ups", "polite"))
    + "|(?<!as )well|hm+|(?:can|could|would|will) (?:you|we|i)|i(?:'d| would)? (?:want|like|need)(?: to (?:see|know))?"
    "|do (?:that|it|the same)|(?:does|do|did|would) (?:it|that|this|they) look(?: like)?|look(?:s)? like|(?:be )?true"
    "|what(?:'s| is| was| are)(?: it| that| this)?"
)
ANAPHORA = whole("(?:of|among|from) (?:these|those|them|it)(?! (?:with|that|which|who|under|below|above|where|at|on))")

_LOG = r"(?:(?:on|with|use) )?(?:a )?log(?:arithmic)?"
_SCALE = "(?:[- ]?(?:scaled?|scales|ax[ei]s))?"
_ALONG = r"(?:[- ]?scaled?)?[- ](?:(?:on|for|along) )?(?:the )?{}(?:[- ]ax[ei]s)?"
# Orders that are no part of a question; what each name means stands in `words.ParsedFollowUp`.
WISHES = {
    name: whole(words)
    for name, words in (
        (
            "count",
            "(?:count (?:them|these|those)|how many(?: (?:of (?:them|those|these)"
            "|(?:are|is|were) (?:there|they|these|those|that|left)))?)"
            r"(?= ?(?:$|[,;]|(?:by|per|for|on|in|at|with)\b))",
        ),
        (
            "outliers",
            rf"(?:{_OUT}) (?:(?:the|all|any|that|those|this|these|its) )*outlier(?:s| points?| rows?)?",
        ),
        (
            "everything",
            "(?:(?:show|list|give|see|display|get) )?(?:me )?(?:all of (?:them|it|these)(?! (?:but|except))"
            "|them all|everything(?! (?:but|except|else|other))"
            "|all (?:the )?(?:rows|results|groups|ones|others)"
            "|the (?:whole|full|complete|entire) (?:list|table|ranking|result|lot)|the rest|the others|the other ones)"
            rf"|(?:show|list|see|display|give) (?:me )?all{_END}|^all$"
            rf"|(?:no|without(?: (?:the|a|any))?|(?:drop|remove|lift) the) (?:row )?limit(?! (?:on|of|for)){_END}"
            "|not (?:just|only) the (?:best|first|top|winners?)(?: [0-9]+| ones?)*",
        ),
        (
            "linear",
            f"(?:(?:on|with|use|as) )?(?:a )?(?:linear|non[- ]?log){_SCALE}"
            f"|(?:not|no|without(?: (?:the|a))?|(?:drop|remove) the) log(?:arithmic)?(?! ?-?loss){_SCALE}",
        ),
        ("log_x", _LOG + _ALONG.format("x")),
        ("log_y", _LOG + _ALONG.format("y")),
        ("log", f"{_LOG}(?! ?-?loss){_SCALE}"),
        ("swap", "(?:swap|flip|switch|exchange|transpose) (?:the )?ax[ei]s"),
        (
            "chart",
            f"(?:as|in|into) a (?:chart|plot|graph|figure){_END}|(?:the )?(?:default|usual|automatic) chart",
        ),
        (
            "any time",
            f"(?:(?:over|for|of|at|from) )?(?:all|any|the (?:whole|entire)) times?{_END}|anytime|whenever"
            f"|(?:{_OUT}|clear|reset) (?:the )?(?:time|date|period) (?:filter|limit|range|window|span)",
        ),
        (
            "unfilter",
            f"(?:{_OUT}|clear|reset|lift|forget) (?:(?:all|the|any|of|my) )*"
            f"(?:filters|restrictions|conditions|filter){_END}|unfiltered",
        ),
    )
}
DIRECTIONS: dict[Direction, "re.Pattern[str]"] = {
    "reversed": whole(
        "(?:revers(?:e|ed|ing)|flip(?:ped)?|invert(?:ed)?)(?: (?:the|its|that))?"
        "(?: (?:order|sort(?:ing)?|ranking|list|it))?|in reverse(?: order)?|(?:the )?(?:other|opposite) way (?:a)?round"
        "|upside down|in (?:the )?opposite order"
    ),
    "best": whole("(?:the )?(?:best|fastest|quickest)(?: ones?)? first"),
    "worst": whole("(?:the )?(?:worst|slowest)(?: ones?)? first"),
    "descending": whole(
        "(?:sort(?:ed)? )?(?:in )?(?:descending|decreasing|falling)(?: order)?"
        "|(?:from )?(?:high(?:est)?|large(?:st)?|big(?:gest)?) to (?:low(?:est)?|small(?:est)?)"
        "|(?:the )?(?:largest|biggest|highest)(?: ones?)? first"
    ),
    "ascending": whole(
        "(?:sort(?:ed)? )?(?:in )?(?:ascending|increasing|rising)(?: order)?"
        "|(?:from )?(?:low(?:est)?|small(?:est)?) to (?:high(?:est)?|large(?:st)?|big(?:gest)?)"
        "|(?:the )?(?:smallest|lowest|tiniest)(?: ones?)? first"
    ),
}
_SORTING = f"(?:sort(?:ed|ing)?|order(?:ed)?|rank(?:ed)?|arranged?){IT} (?:by|on)"
SORTING = re.compile(_SORTING)

# "drop the batch size filter", "remove the limit on memory", "don't filter by method"
FREED = re.compile(
    rf"(?<![\w-])(?:{_OUT}|clear|reset|lift|forget|relax) (?:(?:all|the|any|my) )*(?P<what>{_WHAT})? ?\b"
    r"(?:filters?|restrictions?|conditions?|constraints?|limits?)\b"
    rf"(?: (?:on|for|by|to|of|about) (?:the )?(?P<of>{_WHAT}))?{_END}"
    rf"|(?<![\w-]){_NO_LONGER} filter(?:ed|ing)? (?:by|on|for) (?:the )?(?P<by>{_WHAT}){_END}"
)
# "don't group by seed", "not per data set", "average over dims", "merge the machines", "drop the dim grouping"
MERGED = re.compile(
    rf"(?<![\w-])(?:{_NO_LONGER} (?:(?:group(?:ed|ing)?|split(?:ting)?|separat(?:e|ed|ing)|broken|break(?:ing)?)"
    rf"{IT}(?: (?:up|down))? )?(?:by|per|for each)|ungroup(?:ed)?(?: by)?"
    rf"|(?<!not )(?<!n't )(?<!without )(?<!longer )(?:average[ds]?|averaging|mean){IT} (?:over|across)"
    r"|(?:combined?|merged?|pool(?:ed)?|collapsed?|aggregated?|lump)(?: (?:over|across|together))?)"
    rf" (?:(?:all|the|different|of) )*(?P<what>{_WHAT})(?: together)?{_END}"
    rf"|(?<![\w-])(?:drop|remove) the (?P<named>{_WHAT}) (?:grouping|split|breakdown|dimension)(?![\w-])"
)
# "replace hashed by qr", "change the dim to 64"
SET = re.compile(
    r"(?<![\w-])(?:replace|swap|exchange|substitute|switch|change|turn|set) (?:the )?"
    rf"(?P<old>{_WHAT}) (?:by|with|for|to|into) (?:the )?(?P<new>[^,;]+)"
)

# A mark begins a part, save for those that stand behind one. The first that fits wins; `plain` is no mark.
_ORDER = (
    "plain", "target", "instead", "alone", "too", "by", "group", "regardless", "add", "beside", "only", "drop",
    "without", "all", "replace",
)  # fmt: skip
# Marks that are more than a phrase.
_PATTERNS = {
    "plain": f"{_SORTING}|(?:no|not) (?:more|less) than",
    "too": "as well(?! as)",
    "by": f"(?:and|then) (?:also )?(?:by|per|for each)|{_NO_LONGER} averag(?:e|ed|ing){IT} (?:over|across)(?: all)?"
    f"|split(?:ting)?{IT}(?: up)?(?: further)? (?:by|per|into|on|across)"
    f"|(?:broken|break(?:ing)?){IT} (?:down|out|up)(?: (?:by|per|into))|separat(?:e|ed|ely){IT} (?:by|for|per)"
    f"|facet(?:ed)? by|colou?r(?:ed)?{IT} by",
    "group": f"(?:re)?group(?:ed|ing)?{IT} by",
    "beside": f"compare{IT} (?:to|with|against)",
    "only": f"(?:restrict|limit|narrow|confine)(?:ed)?{IT}(?: down)? to"
    f"|filter(?:ed)?(?! out){IT}(?: (?:by|to|on|for|where))?",
    "without": "(?:all|everything|anything|everyone) (?:but|except(?: for)?|other than)",
    "all": "(?:(?:for|over|across|on|at|in|with|of) )?(?:all|any)(?: (?:of|the|possible|other|kinds of))*",
    "replace": "(?:the )?same(?: (?:thing|chart|plot|question))? "
    "(?:but(?: (?:for|with|at|on|in))?|for|with|at|on|in|again)"
    "|(?:switch|change|go|move|set)(?: (?:it|over|back))? to"
    "|mak(?:e|ing) (?:it|that|this|them)|turn (?:it|that|this) into",
}


def _mark(name: str) -> str:
    """The pattern of a mark, as a group of its name."""
    anywhere = phrasebook.phrases("follow_ups", "marks").get(name, ())
    at_an_end = phrasebook.phrases("follow_ups", "marks at an end").get(name, ())
    ways = [_PATTERNS.get(name, ""), one_of(anywhere)]
    if at_an_end:
        ways.append(f"(?:{one_of(at_an_end)})(?= ?(?:[,;]|$))")
    return rf"(?P<{name}>(?<![\w-])(?:{'|'.join(filter(None, ways))})(?![\w-]))"


MARK = re.compile("|".join(map(_mark, _ORDER)))
TRAILING = ("instead", "too", "alone")
OPENS_AND = re.compile(r"(?:(?:and|with) (?:its|their|the corresponding)|and|or|&|with|vs|versus|against)(?![\w-])")

# How a follow-up opens, surely or perhaps, and how a question of its own does.
_OPENINGS = {how: one_of(among) for how, among in phrasebook.phrases("follow_ups", "openings").items()}
SURELY = re.compile(
    rf"^(?:{_OPENINGS['surely']}"
    r"|(?:the )?same (?:thing |chart |plot |question )?(?:for|but|with|at|on|in|again))(?![\w-])"
    r"|(?<![\w-])(?:instead|too$|as well$|also$|rather than)(?![\w-])"
)
PERHAPS = re.compile(rf"^(?:{_OPENINGS['perhaps']}|compare (?:it |that |this |them )?(?:to|with|against))(?![\w-])")
QUESTION = re.compile(rf"(?:^|[,;:]|\band\b) ?(?:{_OPENINGS['question']})(?![\w-])")
STATEMENT = re.compile(
    r"\W*(?:drop|delete|truncate|alter|insert|update|create|grant)\s+(?:table|from|into|view|database|set|all)\b"
    r"|\W*(?:delete|erase|wipe)\b.*\b(?:trials?|runs?|results?|data|rows)\b"
)
TYPOS = phrasebook.phrases("follow_ups", "spelling")["mark"]
