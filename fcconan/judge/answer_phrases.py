"""Phrases by which a judge refuses, denies, corrects or quotes an answer, for `fcconan.judge.answer_context`.

They match text in lower case with straight quotation marks, single blanks, and `MARK` in the place of every answer.
All repetitions are bounded, so that a search takes time linear in the length of the text.
"""

import re
from functools import cache
from typing import NamedTuple

# Stands where an answer stood.
MARK = "\ufffc"


class Phrase(NamedTuple):
    """A pattern that is tried only where one of some words occurs, since most texts hold none of them.

    Attributes:
        words: Text that must occur, one of these; empty if the pattern is always tried.
        pattern: Regular expression.
    """

    words: tuple[str, ...]
    pattern: str

    def search(self, text: str) -> re.Match[str] | None:
        """Returns the first place where the phrase stands."""
        for word in self.words:
            if word in text:
                return compiled(self.pattern).search(text)
        return None if self.words else compiled(self.pattern).search(text)


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Returns a pattern; compiling all of them takes longer than most commands."""
    return re.compile(pattern)


HEAD = rf"""(?:^|[.!?;:(\n—–{MARK}]|\s-\s)[\s"'*_>#•,{MARK}-]{{0,20}}"""
END = r"(?=\W*$|\W*\n|\s?[.!?;,:)—–])"
GRADE = r"(?:ratings?|grades?|scores?|verdicts?)"
ANSWER = rf"(?:{GRADE}|answers?|labels?|choices?|numbers?|judge?ments?|assessments?|values?)"
REPLY = r"(?:repl(?:y|ies)|responses?|texts?|messages?|comments?|counter[- ]?\w+|posts?|contents?|statements?)"
SAYS = (
    r"(?:(?:ask|say|tell|demand|want|request|claim|contain|write|order|command|instruct|suggest|read|state|quote|beg|"
    r"dictate|insist|pretend|attempt|expect|urge|insert|inject|propose|hope|include)(?:s|e?d)?"
    r"|tries|tried|said|told|wrote|(?:ask|say|tell|demand|contain|includ|try)ing)\b"
)

# --- Refusals -------------------------------------------------------------------------------------------------------
# What the reply is reported to say is not the judge's refusal.
_OWN_SPEECH = "".join(rf"(?<!{verb} )(?<!{verb}: )(?<!{verb} that )" for verb in ("says", "states", "writes", "saying"))
_ADVERBS = r"(?:(?:in good conscience|simply|really|fairly|reliably|properly|safely|ethically|possibly|just),? ){0,2}"
_CANNOT = (
    rf"(?<!\w){_OWN_SPEECH}(?:i|we)(?: (?:simply|really|just|respectfully|politely|therefore|still|also|do))?"
    r"(?: (?:cannot|can't|can not|could not|couldn't|won't|will not|must not|(?:would|'d) rather not|prefer not to"
    r"|(?:do not|don't)(?: (?:wish|want) to)?|(?:must |have to |will |would )?(?:refuse|decline) to"
    r"|(?:must |have to |will )?(?:abstain|refrain) from)"
    r"|(?: am|'m| are|'re| was| were)(?: afraid i (?:cannot|can't)| unable to| refusing to| declining to"
    r"| not (?:able|allowed|permitted|willing|going|comfortable|in a position|qualified|prepared)(?: to)?))"
    rf" {_ADVERBS}"
)
# A grade that is not higher, or a fact that cannot be checked, is explained and not refused.
_EXPLAINED = (
    r"(?![^.!?;\n]{0,50}\b(?:higher|lower|more|less|better|worse|above|below|full|top|perfect|highest|lowest|maximum|"
    r"good|high|low|strong|positive|passing|generous|between|(?:an?|it|than|only|as|at) [0-9]|else|but|as(?! (?:it|"
    r"this|that|the|i|they|there|its|such)\b)|with (?:hate|certainty))\b)"
    r"(?! (?:whether|if|how|why|its|his|her|their)\b)(?! (?:the )?(?:\w+ )?(?:facts?|claims?|accuracy|truth|"
    r"sources?)\b)"
)
_RATE = r"(?:rat|scor|grad|evaluat|assess|judg|labell?|classify|compar)(?:e|ing)?\b"
_GIVE = r"(?:provid|giv|offer|assign|mak|produc|generat|writ|creat|return|output)(?:e|ing)?\b"
_TASK = (
    rf"(?:{_RATE}{_EXPLAINED}"
    rf"|{_GIVE}(?=[^.!?;\n]{{0,50}}\b(?:{ANSWER}|responses?|evaluation|contents?|counter\w*|help|one)\b){_EXPLAINED}"
    r"|(?:help|assist)\b(?! but\b)|do(?= (?:this|that|so|it)\b|\W*$|\W*\n|[.!?;,)])|(?:complete|fulfil+|process|"
    r"continue|engage|participate)\b"
    rf"|(?:comply|proceed|choose|decide|say|tell|answer|respond)\b{_EXPLAINED}"
    r"(?=\W*$|\W*\n|[.!?;,)]| (?:with|to|because|since|the|this|that|which)\b))"
)
_CANNOT_WORDS = (
    *("cannot", "can't", "can not", "could not", "couldn't", "won't", "will not", "must not", "not to", "n't w"),
    *("refus", "declin", "unable", "abstain", "refrain", "rather not", "not w", "not a", "not p", "not g", "not c"),
    *("not i", "not q", "do not", "don't"),
)
REFUSALS = (
    Phrase(
        ("not ", "n't", "never "),
        rf"(?<!\w){_OWN_SPEECH}i\b[^.!?;,\n]{{0,20}}(?:\bnot|n't|\bnever) (?:(?:to|be|been|able|going|willing|"
        rf"comfortable|really|"
        r"fully|actually|even|yet|in a position) ){0,4}(?:rate|score|grade|evaluate|assess|judge|rat|scor|grad|"
        r"evaluat|assess|judg)"
        rf"(?:d|ed|ing)?\b{_EXPLAINED}",
    ),
    Phrase(
        (" me ",),
        rf"(?:(?<!\w)(?:not|never|cannot)|n't) [^.!?\n]{{0,20}}(?:allow|permit|let|enable)s? me (?:to )?(?:{_RATE}|"
        rf"{_GIVE}|answer|help)"
        rf"|(?<!\w)(?:prevent|forbid|stop|prohibit|keep|bar)s? me from (?:{_RATE}|{_GIVE}|answering)",
    ),
    Phrase(
        ("possible", "declined", "refused", "denied", "unavailable", "withheld"),
        rf"{HEAD}(?:the |an? |any )?(?:evaluation|rating|grading|scoring|assessment|judge?ment|score|grade)(?: is|"
        rf" was)? (?:not possible|impossible|unavailable|declined|refused|denied|withheld){END}",
    ),
    Phrase(
        ("abstain", "refuse", "decline"),
        rf"(?<!\w)i\b[^.!?\n]{{0,40}} (?:and|so|thus) (?:i )?(?:abstain|refuse|decline){END}",
    ),
    Phrase(
        ("i cannot", "i can't", "i won't", "i will not"),
        rf"(?<!\w){_OWN_SPEECH}i (?:cannot|can't|won't|will not)(?=\W*$|\W*\n|\s?[.!?;])",
    ),
    Phrase(_CANNOT_WORDS, _CANNOT + _TASK),
    Phrase(
        ("refuse", "decline", "abstain"),
        rf"(?<!\w){_OWN_SPEECH}i(?: must| have to| will|'ll| would like to| hereby| am going to|"
        rf"'m going to)? (?:refuse|decline|abstain)"
        r"(?=\W*$|\W*\n|\s?[.!?;,:)—–]| (?:because|as|since|this|that|the (?:task|request)|to (?:stand|give|say|"
        r"follow|take part))\b)",
    ),
    Phrase(
        (" ai", "model", "assistant"),
        rf"(?<!\w)(?:i am|i'm|as) an? [^.!?\n]{{0,40}} (?:and|so|which|i) (?:i )?(?:do not|don't|cannot|can't|won't|"
        rf"will not) {_TASK}",
    ),
    Phrase(
        ("puedo", "peux", "posso", "nicht"),
        r"(?<!\w)no puedo (?:calificar|evaluar|puntuar|valorar|juzgar)|je ne peux pas (?:noter|évaluer|juger)|"
        r"non posso (?:valutare|giudicare)|n[ãa]o posso (?:avaliar|classificar|julgar)|"
        r"ich kann [^.!?\n]{0,40}nicht (?:bewerten|beurteilen)",
    ),
    Phrase(
        ("pass", "skip"),
        r"(?<!\w)i(?: will|'ll| must| would| have to| will have to|'d rather| am going to)? (?:pass|skip)(?: on)?"
        r"(?: (?:this|that|it|here)(?: one| text| reply)?)?(?=\W*$|\W*\n|\s?[.!?;,:)—–])",
    ),
    Phrase(
        ("sorry", "apolog"),
        rf"{HEAD}(?:(?:i'm|i am|we're|we are) )?(?:(?:very|so|really|truly|terribly) )?"
        r"(?:sorry|apologies|my apologies|i apologi[sz]e)"
        r"(?=\W*$|\W*\n|\s?[.!;:—–]|,? (?:but|i|we|no|not|cannot|can't|this)\b)",
    ),
    Phrase(
        (" too ",),
        r"(?<!\w)too \w+ (?:for me )?to (?:rate|grade|score|evaluate|assess|judge)(?! (?:it )?(?:high|low|as))",
    ),
    Phrase(("applicable", "n/a", "n.a."), rf"{HEAD}(?:not applicable|n/a|n\.a\.)(?! to\b)(?!\w)"),
    Phrase(
        ("not applicable",),
        rf"{HEAD}(?:the )?(?:{ANSWER}|scale|rubric|aspect|question|it|this) (?:is|are) not applicable\b",
    ),
    Phrase(
        ("refused", "declined", "withheld", "denied"),
        rf"{HEAD}(?:(?:the |my )?(?:{ANSWER}|request|rating)(?: is| was|:)? )?(?:refused|declined|denied|"
        rf"withheld){END}",
    ),
    Phrase(
        _CANNOT_WORDS,
        rf"{HEAD}(?:cannot|can't|unable to|not able to|refus(?:e|ing) to|declin(?:e|ing) to|won't) "
        rf"(?:be )?(?:rated|graded|scored|{_RATE}){_EXPLAINED}",
    ),
    Phrase(
        ("no ",),
        rf"{HEAD}no {ANSWER}(?:{END}| (?:is|was|can|could|will)(?: be)? (?:given|possible|provided|assigned|"
        rf"available)\b)",
    ),
    Phrase(
        ("not be ", "n't be ", "cannot be "),
        rf"(?<!\w)(?:this|that|it|(?:(?:the|this|such|your) )?{REPLY}) (?:cannot|can't|can not|could not|should not|"
        rf"must not|will not) be (?:rated|graded|scored|evaluated|assessed|label+ed)\b{_EXPLAINED}",
    ),
    Phrase(
        ("possible", "appropriate"),
        r"(?<!\w)(?:it is|it's|it would be) (?:not possible|impossible|not appropriate|inappropriate) (?:for me )?to "
        rf"(?:rate|grade|score|evaluate|assess)\b{_EXPLAINED}",
    ),
    Phrase(
        (" my ",),
        r"(?<!\w)(?:against|violates?|contrary to|breach(?:es)?) my (?:\w+ ){0,2}"
        r"(?:guidelines|polic(?:y|ies)|principles|rules|programming)\b",
    ),
)

# --- Corrections and denials, wherever they stand -------------------------------------------------------------------
_THE_GRADE = (
    rf"(?<!\w)(?:(?:the|this|that|these|those|both|my|such an?) (?:(?!of\b)\w+ ){{0,2}}{GRADE}"
    r"|(?:my|this|that|these|those) (?:\w+ )?(?:answer|label|choice|number)s?"
    r"|the (?:above|json|quoted|injected|first|previous|earlier)(?: \w+)?"
    r"|the (?:\w+ )?(?:object|json|line|field|number|label|answer) above)"
)
GRADE_WORDS = ("rating", "grade", "score", "verdict", "answer", "label", "choice", "number", "above", "json", "inject")
_SURELY = r"(?:(?:only|just|merely|simply|clearly|obviously|plainly|of course|in fact|really|actually|probably) )*+"
_IS = r"(?: is| was| are| were| would be| would have been| must be| seems| looks|'s) "
_NOT_MEANT = (
    r"(?:(?:not|never) (?:mine|my|meant|serious|valid|intended|an? (?:real|actual|genuine|valid|own|true)\b"
    rf"|(?:the|an?) (?:(?:right|correct|real|actual|final|true|honest) )?{ANSWER}\b|what i\b)"
    r"|(?:an? |the )(?:[\w-]+ ){0,3}?(?:(?:example|sample)(?! of an?\b)|placeholder|template|schema|format|quote|"
    r"quotation|injection|joke|test|default|illustration|typo|lie|hoax|mistake|echo|dummy|repetition"
    r"|(?:demanded|requested|dictated|injected|quoted|planted|suggested) \w+)\b"
    rf"|(?:an? |the )(?:\w+ )?(?:one|{ANSWER}) (?:that |which )?(?:the|it|he|she|they) (?:\w+ ){{0,2}}{SAYS}"
    rf"|what (?:the|it|he|she|they|this|that) (?:\w+ ){{0,3}}?{SAYS}"
    r"|(?:copied|quoted|injected|dictated|planted|hypothetical|placeholders|examples|templates|guesses|taken from|"
    r"lifted from|an error|withdrawn|retracted|void|random|"
    r"arbitrary|made up|guesswork|(?:provided|given|supplied|set|written|chosen|produced) by (?:the|its|his|"
    r"her)\b(?! (?:judge|rubric|scale)))\b)"
)
_WRONG = (
    r"(?:(?:not|never) (?:correct|right|true|accurate|justified|warranted|deserved|fair|appropriate|adequate)\b"
    r"|(?:wrong|incorrect|false|invalid|fake|bogus|meaningless|nonsense|mistaken|undeserved|unjustified|unwarranted|"
    r"unfair|inaccurate|inappropriate|dishonest|misleading|unearned|absurd|ridiculous)\b"
    r"|(?:far |much |way )?too (?:high|low|generous|harsh|lenient|kind|strict)\b)"
)
CORRECTIONS = (
    Phrase(
        (
            *(
                "wait",
                "hold on",
                "scratch",
                "strike",
                "thought",
                "reflection",
                "correct",
                "mean",
                "oops",
                "whoops",
                "my ",
            ),
            *(
                "mind",
                "kidding",
                "make ",
                "let me",
                "back",
                "retract",
                "withdraw",
                "have ",
                "mistake",
                "error",
                "i was",
            ),
            *(
                "ignore",
                "disregard",
                "discard",
                "typo",
                "misread",
                "mis",
                "mixed",
                "confused",
                "only",
                "just",
                "merely",
                "simply",
                "edit",
                "update",
                "actually",
                "try",
            ),
        ),
        rf"{HEAD}(?:(?:no|oh|but|or|hmm+|ah|uh|er|um|well|and)\W{{1,3}})?(?:wait\b(?=\W*$|\W*\n|\s?[.!?;,:)—–…-]|"
        rf" (?:no|that|this|i|it|actually|let|[0-9])\b)|hold on\b"
        r"|(?:scratch|strike) that|on (?:second|further) thoughts?|on reflection\b|(?:edit|update)\s?:|"
        r"actually,? no\b|(?:nice|good) try\b|correction\b(?=\W)(?! of)"
        r"|i mean\b|i meant\b(?! to)|oops|whoops|my mistake|my bad|never ?mind\b|(?:just )?kidding\b"
        r"|make (?:that|it) (?=an?\b|[0-9])|let me (?:correct|revise|reconsider|rethink|rephrase|redo|fix)"
        r"|i (?:take|took) (?:it|that|this) back|i (?:have )?changed my mind|i (?:retract|withdraw)\b"
        r"|i (?:should|must) have (?:said|given|written|answered|chosen)|i made (?:a mistake|an error)|i was wrong"
        rf"|(?:please )?(?:ignore|disregard|discard) (?:that|this|it|(?:the|my|these|those|both) (?:above|previous|"
        rf"earlier|first|json|{ANSWER}))\b"
        r"|(?:sorry\W{1,3})?typo\b|i (?:misread|misjudged|miscounted|misunderstood|mixed (?:up|them)|confused)\b"
        rf"|(?:i )?(?:only|just|merely|simply) (?:repeat|quote|copy|echo|cite|copied|repeated|quoted|"
        rf"echoed) (?:what|it|this|that|the {ANSWER})\b)",
    ),
    Phrase(GRADE_WORDS, rf"{_THE_GRADE}{_IS}{_SURELY}(?:{_NOT_MEANT}|{_WRONG})"),
    Phrase(
        GRADE_WORDS,
        rf"{_THE_GRADE} (?:isn't|wasn't) (?:my\b|mine\b|valid|meant|correct\b|right\b|real|an? (?:real|valid)|"
        rf"what i\b)",
    ),
    Phrase(
        GRADE_WORDS,
        rf"{_THE_GRADE} (?:(?:should|must) (?:not (?:be (?:taken|used|counted|trusted|read|followed|accepted)|count)"
        r"|be (?:ignored|disregarded|discarded|corrected|changed|replaced|(?:lower|higher)(?! if| had| with))|"
        r"have been)"
        r"|(?:does not|doesn't|did not) (?:count|reflect|stand|represent (?:my|what i))|(?:comes?|came) from the"
        r"|no longer)\b",
    ),
    Phrase(
        (*GRADE_WORDS, "value"),
        rf"{HEAD}(?:a |an |the |this |just |only )?(?:placeholder|dummy|default|arbitrary|random|made-up|fake|"
        rf"injected) (?:{ANSWER})\b",
    ),
    Phrase(
        ("i was told", "i am told", "i was asked", "i was instructed", "i was ordered", "i was tricked"),
        rf"(?<!\w)i (?:was|am) (?:told|asked|instructed|ordered|"
        rf"tricked)(?: to \w+(?: \w+){{0,3}})? by the (?:\w+ )?{REPLY}\b",
    ),
    Phrase(("not meant",), rf"{HEAD}not meant\b"),
    Phrase(
        ("do not ", "don't "),
        rf"{HEAD}(?:please )?(?:do not|don't) (?:use|trust|count|record|take|rely on) "
        rf"(?:this|that|the|my|it)\b(?: {ANSWER})?{END}",
    ),
    Phrase(
        (" would be ",), rf"{HEAD}[0-9] would be (?:fairer|right|correct|closer|more (?:fair|accurate|appropriate))\b"
    ),
    Phrase(("not my",), rf"(?<!\w)not my (?:(?:own|real|actual|true|final|honest) )?{ANSWER}\b"),
    Phrase(
        ("mean", "endorse", "stand by", "accept", "agree"),
        r"(?<!\w)i (?:do not|don't|did not|didn't) (?:mean|endorse|stand by|accept|agree with) "
        rf"(?:it|this|that|(?:the|my) (?:\w+ )?{GRADE})\b",
    ),
)
# After these words an answer of the judge's own may follow.
OWN_ANSWER = (
    rf"(?<!\w)(?:my|the (?:correct|right|real|actual|true|proper|honest|final|revised|updated|fair|corrected)) "
    rf"(?:\w+ ){{0,2}}{ANSWER}"
    r"(?: (?:is|are|was|would be|remains|becomes|should be)(?: (?:therefore|thus|only|just|actually|really))?|\s?[:=])"
    rf"|{HEAD}(?:(?:so|thus|therefore|hence|final|real|actual|correct|corrected|revised|updated|true|new|own|and|"
    rf"but|the),? ){{0,3}}(?:{ANSWER}|result)(?: (?:is|should be)|\s?[:=])"
    rf"|{HEAD}(?:no|nope|actually|rather|instead|or|or rather|more like|better|so|well|final|finally|and now|maybe|"
    rf"perhaps)"
    r"\b[\s,:—–-]{1,4}(?:(?:it's|it is|i'd say|rather|just|more like|maybe) )?"
    r"|(?<!\w)(?:i|we)(?:'d| would| will|'ll| do| must| can only)?(?: \w{1,20}ly| now| rather| instead)? "
    r"(?:rated?|give|gave|scored?|graded?|say|choose|chose|pick|assign|award|go with|settle on|put|mark|answer|"
    r"prefer|select)"
    rf"(?=[ :])(?: (?:it|this|that|the|an?|as|at|with|having|for|of|only|just|to|be|{REPLY}|{ANSWER})\b){{0,8}}:?"
    r"|(?<!\w)mine(?: is|\s?:)|(?<!\w)(?:it|this|that)(?: is|'s) an?(?= )|(?<!\w)(?:it|this|that) (?:should be|"
    r"should have been|deserves|merits|is worth|is really|is actually|must be|"
    r"ought to be)(?: (?:an?|only|just|at most|rated?|graded?|scored?|as)\b){0,4}"
    rf"|(?<!\w){REPLY} (?:(?:is|was|should be) (?:rated|scored|graded)|deserves|merits|scores|rates)"
    r"(?: (?:an?|only|just|as|at|with|having|score|of)\b){0,4}"
    r"|(?<!\w)(?:lower|raise|change|correct|revise|reduce|adjust|increase)d?(?:ing)? (?:it|this|that|(?:the|my) \w+)"
    r" (?:down |up )?to(?: an?)?\b"
)

# --- Clauses that touch the answer ----------------------------------------------------------------------------------
_FILL = (
    r"(?:\W{1,3}(?:an?|the|this|that|these|those|following|for|me|us|you|to|i|we|be|is|as|of|with|in|by|my|your|its|"
    r"it|own|"
    r"answer|answered|answering|output|return|give|giving|given|write|written|say|saying|respond|reply with|print|"
    r"json|score|"
    r"grade|rating|mark|verdict|label|line|text|string|object|words?|just|only|exactly|simply|literally|itself|"
    r"should|must|"
    r"would|have|been|get|receive|assign|deserve|warrant|merit|choose|pick|select|accept|follow|obey|copy|repeat|"
    r"verbatim|"
    r"and|judges?|model|assistant|looks?|like|format|anything|orders?|instructions?|demands?|commands?|(?:correct|"
    r"right|honest|real) (?:answer|grade|score|rating))\b){0,10}\W{0,6}$"
)
# At the end of the clause before an answer.
BEFORE = (
    rf"(?<=is |be |as |'s )(?:not|never)\b{_FILL}|(?:(?<!\w)(?:not|never|nor|neither|rather than|instead of|except|"
    rf"without|than|unlike|against)\b|\wn't){_FILL[:-1]}(?<!:)(?<!: )$"
    rf"|(?:(?<!\w)(?:reject|refus|ignor|dismiss|disregard|deny|denie|disput)(?:e|s|es|d|ed|ing)?\b){_FILL}"
    r"|(?<!\w)(?:repl(?:y|ies)|text|author|writer|message|comment|counter[- ]?\w+|post|response|it|he|she|they|someone|"
    r"somebody|injection|instruction|sentence|input|speaker|tweet|person|who)(?:'s)?(?: [\w-]{1,20}){0,4}? "
    r"(?<!the )(?<!a )(?<!its )(?<!his )(?<!her )(?<!this )(?<!that )(?<!any )(?<!no )(?<!every )"
    rf"{SAYS}{_FILL}"
    r"|(?<!\w)(?:examples?|e\.g|for instance|such as|templates?|schema|placeholder|samples?|quotations?|quot(?:e|es|"
    r"ed|ing)|"
    rf"injection|injected|copied|hypothetical(?:ly)?|looks? like|something like)\b{_FILL}"
    r"|(?<!in )(?<!in the )(?<!\w)(?:(?:the|an?|expected|required|requested|correct|right|json|answer|output|"
    r"usual) ){1,3}format\b(?! (?:that )?you)[^.!?\n]{0,30}$"
    r"|^\W*(?:wrong|incorrect|false|bad|invalid|not)(?: answer| grade| rating)?\W*$"
    rf"|(?<!\w)would(?:'ve| have) (?:been|given|said|answered|looked|rated|scored|read|written)\b{_FILL}"
    r"|(?<!\w)if i (?:could|were (?:able|allowed|forced|to))\b(?![^.!?\n]{0,80}\bbut\b)[^.!?\n]{0,80}$"
    rf"|(?<!\w)(?:according to|as (?:instructed|requested|asked|told|demanded|ordered|suggested|dictated|"
    rf"claimed) (?:by|in)"
    rf"|(?:{ANSWER}|json|object|instruction|text|line|words?|found|written|given|quoted|appears?|asked(?: for)?|"
    rf"requested|"
    r"demanded|dictated|planted|claimed|stated|suggested|contained|included) (?:in|from|by|inside|within)) "
    rf"the {REPLY}\W{{0,4}}$"
    r"|(?<!\w)(?:must|should|will|can)(?: not|n't) be (?:followed|obeyed|trusted|given|used|answered|copied)\W*$"
    rf"|(?<!\w)(?:appears?|stands?|occurs?|found|written|quoted|planted|hidden) (?:in|inside|within|"
    rf"at the end of) the {REPLY}"
    r"\b[^.!?\n]{0,40}$"
    r"|(?<!\w)(?:instruction|injection|order|command|demand|hint|trick|trap|bait|nice try|(?:following|hidden|"
    r"this) (?:line|sentence|phrase|passage|string|text))s?\W*$"
    rf"|(?<!\w)(?:tempt\w+|(?:one|some|others|someone|people) (?:might|could|may|would))\b{_FILL}"
)
# The words after which an answer within a sentence is the judge's own.
LEADS = (
    r"(?:^|\W)(?:so|thus|therefore|hence|then|and|finally|overall|is|are|be|deserves|merits|gets|earns|warrants|"
    r"yields|means|gives)(?: an?| the)?\W*$"
    rf"|(?<!\w)(?:my|the|your|this|final|overall|json|here is|"
    rf"here's)\b[^.!?\n]{{0,60}}(?<!\w)(?<!to )(?<!would )(?<!me )(?:{ANSWER}|output|result|json|"
    r"response|evaluation|object)(?: (?:for|of) [^.!?\n]{1,60})?(?: (?:is|are|would be|will be|as|in json|therefore|"
    r"thus))*\W*$"
    r"|(?<!\w)(?:i|we)(?:'d| would| will|'ll| do| must| have to| can)?(?: \w{1,20}ly)? (?:rate|give|score|grade|say|"
    r"choose|pick|"
    r"assign|award|answer|select|mark|label|judge|go with|settle on|conclude|prefer|put|return)\b(?: (?:it|this|"
    r"that|the|an?|as|"
    rf"at|with|to|of|for|{REPLY}|{ANSWER}|following)\b){{0,8}}\W*$"
    r"|^\W*\w*\W*$"
)
_CLOSED = r"[)\]}\"'`*_]{0,6}"
# The answer is the subject of a clause: it is denied unless the clause affirms it.
SUBJECT = (
    rf"{_CLOSED}\s{{0,4}}(?:is|was|are|were|would|will|should|could|may|might|must|cannot|can't|can|isn't|wasn't|"
    r"wouldn't|seems|looks|sounds|feels|being|does|doesn't|comes|came|has|had)\b"
)
AFFIRMED = (
    rf"{_CLOSED}\s{{0,4}}(?:is|was|would be|are|seems|remains) (?:therefore |thus |clearly |simply |just )?"
    r"(?:(?:my|the|an?)\b|final|correct\b|right\b|fair\b|justified|deserved|appropriate|fitting|warranted|better|best|"
    r"stronger|preferable|because|since|as|due|based|where)"
    rf"(?![^.!?\n]{{0,80}}\b(?:that|which) the {REPLY})"
    r"(?![^.!?\n]{0,80}(?:\bnot\b|n't\b|\bnever\b|\b(?:format|template|example|schema|placeholder|injection|quot\w+|"
    r"joke|"
    rf"mistake|lie)\b|\b{SAYS}))"
)
# Of `this` in the next sentence; a quotation or a mistake would be of the reply.
_NOT_MEANT_BY_THIS = (
    rf"(?:(?:not|never) (?:mine|my|meant|intended|what i|the (?:right|correct|real|final|true|honest) {ANSWER}|"
    rf"an? (?:real|genuine|honest) {GRADE})\b|(?:an? |the )(?:[\w-]+ ){{0,3}}?"
    r"(?:(?:example|sample)(?! of an?\b)|placeholder|template|schema|format|"
    r"injection|default|hoax|echo|dummy|(?:demanded|requested|dictated|injected|planted|suggested) \w+)\b"
    rf"|(?:an? |the )(?:\w+ )?(?:one|{ANSWER}) (?:that |which )?(?:the|it|he|she|they) (?:\w+ ){{0,2}}{SAYS}"
    rf"|(?:an? |the )(?:\w+ )?(?:one|{ANSWER}) (?:requested|demanded|wanted|suggested|dictated|asked for) (?:by|"
    rf"in) the\b"
    rf"|what (?:the|it|he|she|they|this|that) (?:\w+ ){{0,3}}?{SAYS}|(?:copied|injected|dictated|planted|retracted)\b)"
)
AFTER = (
    rf"{_CLOSED} ?\?|{_CLOSED}\s?[,—–-]{{1,2}}{_IS}{_SURELY}{_NOT_MEANT}"
    rf"|{_CLOSED}\s?[(,—–-]{{1,2}}\s?{_SURELY}{_NOT_MEANT}"
    rf"|{_CLOSED}\s?[(,—–-]{{1,2}}\s?as (?:(?:demanded|requested|instructed|asked|ordered|told|dictated|"
    rf"suggested) (?:by|in) the\b|the {REPLY} {SAYS})|{_CLOSED}\s?(?:!=|≠|<-|←|~~|×|✗|❌)"
    rf"|{_CLOSED}[ .,:;!?—–-]{{0,6}}(?:no|nope|not)\b(?=\W*$|\W*\n|\s?[.!:;—–])"
    rf"|{_CLOSED}[\s.,:;!?—–-]{{0,6}}(?:no|nope|not)\b\W*$|{_CLOSED} ?(?:--|[—–-]) ?the {REPLY}\W*$"
    rf"|{_CLOSED}[ .,:;!(—–-]{{0,6}}(?:but |and |yet )?(?:this|that|it|which){_IS}{_SURELY}{_WRONG}"
    r"(?=\W*$|\W*\n|\s?[.!?;,])"
    rf"|{_CLOSED}[\s.,:;!?—–-]{{0,6}}no, (?:(?:that|this)(?: is|'s| was) (?:wrong|not (?:right|my))|wait|i|sorry|"
    rf"the (?:\w+ )?{ANSWER})\b"
    rf"|{_CLOSED}[\s.,:;!(—–-]{{0,6}}(?:but |and |yet |though )?(?:this|that|it|which|the above|these)"
    rf"(?:{_IS}{_SURELY}{_NOT_MEANT_BY_THIS}"
    r"| (?:should|must) (?:not|be (?:ignored|disregarded|lower|higher|corrected|changed)|have been)\b"
    r"| (?:isn't|wasn't|wouldn't be) (?:my|mine|the|right|correct|meant|what)\b)"
    rf"|{_CLOSED}[\s.,:;!—–-]{{0,6}}(?:but |and |which |that |yet )?(?:i|we) (?:\w{{1,20}}ly )?(?:reject|ignore|refuse|"
    r"disregard|dispute|deny|(?:do not|don't|will not|won't) (?:agree|accept|follow|believe|give|endorse|"
    r"obey))(?: with| to)?"
    rf"(?:{END}| (?:it|this|that)\b| (?:the|this|that) (?:\w+ )?{ANSWER}\b)"
    rf"|[^{MARK}]{{0,60}}?(?<!\w){REPLY} [^.!?\n]{{0,30}}(?:me|us|judges?|you) (?:to )?(?:say|write|answer|give|"
    rf"output|choose) (?:this|that|so|it){END}"
)
