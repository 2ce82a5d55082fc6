"""What people say around a question: greetings, who asks, what it is for. It is taken out whole, as phrases.

Only what can never change the answer stands here. Single words that carry nothing are the fillers of the lexicon; a
word such as "paper" or "new" says something elsewhere, so it goes only with the words around it.
"""

import re

from mirror.words import phrasebook
from mirror.words.phrasebook import one_of

_PEOPLE = {who: one_of(among) for who, among in phrasebook.phrases("talk", "people").items()}
_WHO = rf"(?:(?:a|an|one|the|our|my|his|her) )?(?:{_PEOPLE['asker']})(?: ?#?\d\b| (?:one|two|three)\b)?"
_WORK = f"(?:{one_of(phrasebook.words('talk', 'work'))})"
_OPENINGS, _ENDINGS, _ASIDES = (
    {what: one_of(among) for what, among in phrasebook.phrases("talk", place).items()}
    for place in ("openings", "endings", "asides")
)
# Not before a word that makes the phrase the name of something measured: "the paper sweep".
_NO_NAME = r"(?! ?(?:sweeps?|runs?|machines?|trials?|results?|data|models?|configs?|configurations?|sizes?|steps?)\b)"
_END = r"(?=[ \t]*(?:[,.:;!?–—-]|$| i\b| we\b| please\b| show\b| what\b| which\b| how\b| give\b| is\b| does\b))"

_PHRASES = (
    # Greetings and thanks.
    rf"^\s*(?:{_OPENINGS['greeting']})(?: (?:{_OPENINGS['addressed']}))?\b\s*[,.:!;–—-]*",
    rf"\b(?:{_ENDINGS['thanks']})(?: (?:{_ENDINGS['how much']}))*\s*[!.:)]*\s*$",
    r"^\s*(?:ok(?:ay)?|alright|right|so|well|now|hmm+|um+|uh+|oh|ah)(?: (?:so|then|now|well))?\s*[,.:!–—]+",
    r"^\s*(?:ok(?:ay)?|alright|hmm+|um+|uh+)(?: so)?\b",
    # Who asks.
    r"\b(?:i am|i['’]?m|im|we are|we['’]?re)(?: (?:quite|very|totally|kind of|kinda|pretty|completely|still|a "
    r"bit|rather|also))*"
    r" (?:new (?:here|to (?:this|all this|all of this|the field|the topic|embeddings?|embedding compression|"
    r"recommenders?|recommender systems|compression|mirror|ml|machine learning))|a (?:total |complete |bloody )?"
    rf"(?:{_PEOPLE['beginner']})|no expert|not an expert)\b",
    r"\b(?:total |complete )?(?:newbie|noob|newcomer|beginner)(?:['’]?s)? (?:here|question)\b",
    r"\bi (?:have |['’]ve )?(?:only |just )*(?:started|begun|got started|joined)(?: (?:here|out|reading|working|"
    r"recently|today|last week|"
    r"(?:with|in|on) (?:this|the|these) (?:topic|field|project|team|area|work|things)))+\b",
    r"\bi (?:do not|don['’]?t) know (?:much|a lot|anything) about (?:this|these things|embeddings|compression)\b",
    r"\b(?:sorry|apologies|forgive me|pardon)(?: (?:if|for|that)\b[^,.!?:;]{0,40})?(?=[,.!?:;])",
    r"\b(?:a |one |just a |another |my )?(?:(?:quick|dumb|stupid|silly) (?:question|one|q)|(?:basic|naive|simple|short|"
    r"small|noob|random|general|honest|beginner['’]?s?) question)\b(?: (?:about|on|for you|here))?",
    # What it is for.
    rf"\b(?:it is |this is |that is |it['’]s )?for (?:(?:a|an|my|our|the|their|his|her|this|tomorrow['’]?s|"
    rf"today['’]?s) )"
    rf"(?:next |new |upcoming |weekly |internal )?{_WORK}\b{_NO_NAME}(?: (?:tomorrow|today|next week|i am "
    rf"writing|we are writing))?{_END}",
    rf"\b(?:i am|i['’]?m|we are|we['’]?re) (?:writing|preparing|working on|finishing|reviewing) "
    rf"(?:(?:a|an|my|our|the|this) ){_WORK}\b{_NO_NAME}(?: on [\w ]{{3,30}}?(?=[,.:;]))?",
    rf"\b{_WHO} (?:{_PEOPLE['asks']})(?: (?:me|us))?(?: (?:whether|if|for|that|about|to see))?\b\s*[:,]?",
    # Who should answer, and how it is put.
    r"\b(?:do|does|can|could|would|might) (?:any ?(?:one|body)|some ?(?:one|body)) (?:here )?(?:happen to "
    r")?(?:please )?(?:know|remember|"
    r"tell (?:me|us)|say|help(?: me| us)?(?: out)?(?= (?:with|and|,|:))|show (?:me|us)|look up|give (?:me|us))\b",
    r"\b(?:do you|would you|can you|could you)(?: happen to)?(?: please)? know (?=what|which|how|if|whether|who|"
    r"where|why)",
    r"\b(?:just |only )?(?:out of (?:pure |sheer |mere )?curiosity|being curious|for my (?:own "
    r")?(?:understanding|curiosity|"
    r"information))\b",
    r"\bif (?:you (?:do not|don['’]?t) mind|(?:it is |that['’]s |that is )?possible|i may(?: ask)?|i might ask|"
    r"you can|you could|"
    r"i remember (?:correctly|right|well)|i am not mistaken|i understand (?:correctly|right|this right|it right)|"
    r"you please)\b",
    rf"\b(?:in (?:plain|simple|other|a few|my own|your own) (?:words|terms|english)|{_ASIDES['where a clause ends']})\b"
    r"(?=\s*(?:[,.:;!?…]|$))",
    rf"\b(?:{_ASIDES['anywhere']}|i (?:was|am|['’]m) (?:just )?wondering(?: (?:if|whether|about))?"
    r"|just wondering(?: (?:if|whether|about))?)\b",
    # A question hung on a statement, and a word on what is better.
    r",\s*(?:is|are|does|do|was|were|did|has|have)n['’]?t (?:it|they|that|he|she|we)(?=\s*[?.!,]|\s*$)",
    r"\b(?:lower|higher|smaller|larger|bigger|less|more)(?: (?:values?|numbers?))? (?:is|are|means) better"
    r"(?:,? (?:i (?:guess|think|suppose|assume|hope)|of course|obviously))?"
    r"(?:\s*,\s*(?:correct|right|yes|no|is it|isn['’]?t it))?(?=\s*[,.:;?!)])",
    r",\s*(?:right|correct|no|yes|yeah|eh|huh|ok|okay)(?=\s*\?)",
    r"^\s*(?:one more (?:thing|question)|another (?:one|thing|question)|next (?:one|question|up)|"
    r"here is (?:one|another one|a question)|follow-?up(?: question)?)\s*[,.:;–—-]+",
    r":-?\)|;-?\)|:-?d\b|\^\^",
)  # fmt: skip
_COMPILED = tuple(re.compile(pattern) for pattern in _PHRASES)


def without(question: str) -> str:
    """The question, lower case, without what is said around it; all of it where nothing else is left."""
    text = question
    for pattern in _COMPILED:
        text = pattern.sub(" ", text)
    return text if re.search(r"\w", text) else question
