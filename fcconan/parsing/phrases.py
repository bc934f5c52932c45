"""Classes of words by which `fcconan.parsing.context` tells what a sentence says about an answer.

They match text in lower case with straight quotation marks, single blanks, and `MARK` in the place of every answer.
All repetitions are bounded, so that a search takes time linear in the length of the text.
"""

import re
from functools import cache

# Stands where an answer stood.
MARK = "\ufffc"


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Returns a pattern; compiling all of them takes longer than most commands."""
    return re.compile(pattern)


END = r"(?=\W*$|\W*\n|\s?[.!?;,:)—–])"
CLOSED = r"[)\]}\"'`*_]{0,6}"
REPLY = (
    r"(?:repl(?:y|ies)|responses?|texts?|messages?|comments?|counter[- ]?\w+|posts?|contents?|statements?|authors?|"
    r"writers?|speakers?|users?|attackers?|commenters?)"
)
SPEAKER = rf"(?:{REPLY}|it|he|she|they|someone|somebody|injection|instruction|sentence|input|tweet|person|command|who)"
SAYS = (
    r"(?:(?:ask|say|tell|demand|want|request|claim|contain|write|order|command|instruct|suggest|read|state|quote|beg|"
    r"dictate|insist|pretend|attempt|expect|urge|insert|inject|propose|hope|include|smuggle|end|argue|fish)(?:s|e?d)?"
    r"|tries|tried|said|told|wrote|(?:ask|say|tell|demand|contain|includ|try|fish)ing)\b"
)
GRADE = r"(?:ratings?|grades?|scores?|verdicts?|evaluations?|assessments?|judge?ments?)"
ANSWER = rf"(?:{GRADE}|answers?|labels?|choices?|numbers?|values?|figures?|digits?)\b"
_RATE = r"(?:rat|scor|grad|evaluat|assess|judg|label+|classify|compar|analy[sz])"

# A sentence with one of these may be about the answer; all others are about the texts.
ABOUT = (
    rf"(?<!\w)(?:i|we|me|us|my|mine|our|you|your|{ANSWER}|{_RATE}(?:e|ed|d|ing)?|above|json|placeholders?|"
    rf"templates?|dummy|format|"
    r"sorry|apolog\w+|guidelines|polic(?:y|ies)|manipulat\w+|inject\w+|refus\w+|declin\w+|please|applicable|n/a|"
    r"unable|"
    r"cannot|can't|nope|refused|verweiger\w*|niego|rifiuto|recuso|préfère|prefiero|void|information|request|"
    r"unrated|puedo|peux|posso|nicht|ezin)\b"
)
NOT = (
    r"(?:(?<!\w)(?:not|never|no|nor|neither|none|nothing(?! to (?:object|add))|cannot|unable|without|hardly|"
    r"refus\w+|declin\w+|withh\w+|"
    r"impossible|unavailable|void|denied|prevents?|prohibits?|forbids?|insufficient|lacks?)\b|n't\b)"
)
# Words that make an answer another's, or none.
UNREAL = (
    r"(?:(?<!\w)(?:examples?(?! of an?\b)|samples?|placeholders?|templates?|schema|dummy|mock|default\w*|"
    r"illustrat\w+|"
    r"hypothetical\w*|fake|bogus|filler|fill-in|stand-in|arbitrary|random\w*|blindly|made[- ]up|guess\w*|hoax|"
    r"joke|lie|slip|test|"
    r"quot\w+|inject\w+|copied|lifted|echo\w*|planted|dictated|demanded|requested|suggested|embedded|"
    r"hidden|manipulat\w+|trick\w*|trap|bait|try|typo|mistake\w*|error|erratum|void|invalid|wrong|incorrect|"
    r"(?:comes?|came|taken|straight) (?:from|out of)|false|"
    r"meaningless|nonsense|misleading|undeserved|unearned|unfair|unjustified|unwarranted|inaccurate|dishonest|absurd|"
    r"ridiculous|ignored?|ignoring|disregard\w*|discard\w*|retract\w*|withdraw\w*|reject\w*|overstat\w+|"
    r"too (?:high|low|generous|harsh|lenient|kind|strict|much))\b)"
)
# Why a grade is not higher, or what a fact is, is an explanation.
COMPARED = (
    r"(?<!\w)(?:as high|higher|lower|more|less|better|worse|full|fully|top|perfect|highest|lowest|maximum|another|"
    r"else|easy|alone|only|just|strong|positive|generous|between|low|high|whether|if|how|why|facts?|claims?|accuracy|"
    r"truth|sources?|further|points? (?:were|was|are)|(?:an?|than|as) [0-9]|[0-9](?! \w+s\b))\b"
)

# --- What the judge may say of itself: all else is a refusal ---
AUXILIARY = (
    r"(?:,? (?:also|just|only|still|now|then|therefore|thus|so|simply|really|too|first|(?:do|did|have|had|would|"
    r"could|ca|"
    r"must|should|was|were|wo)(?:n't)?|am|will|can|cannot|not|never|may|might|personally|want|need|to|been|be|"
    r"going|able|"
    r"\w{2,20}ly)\b|'d\b|'ll\b|'ve\b|'m\b){0,6}+"
)
JUDGES = (
    rf"(?:{_RATE}(?:e|ed|d|ing)?|give|gave|given|assign(?:ed)?|award(?:ed)?|cho(?:o?se|sen)|pick(?:ed)?|"
    rf"select(?:ed)?|"
    r"go|went|said|put|mark(?:ed)?|deduct(?:ed)?|took off|answer(?:ed)?|conclude[ds]?|settled?|"
    r"prefer(?:red)?(?! to)|lean|justify|decided(?! (?:against|not))|reached|return|arrived?)"
)
VIEWS = (
    r"(?:(?:choose|pick|select|use) (?:this|the) (?:counter\w*|reply|response)|see|saw|find(?! myself)|found|"
    r"think|thought|"
    r"believe|feel(?! un)|felt|note|notice|noticed|observe|consider|considered|appreciate|"
    r"agree|like|liked|love|hope|recommend|suggest|explain|explained|mention|mentioned|read|review|reviewed|"
    r"weigh|weighed|"
    r"check|checked|verify|expect|expected|understand|know|based?|look|looked|doubt|endorse|condone|condemn|detect|"
    r"identify|identified|understood|interpret|interpreted|took into|focus|focused|fail|miss|missed|wonder|fear|"
    r"regret that|imagine|wish(?! to)|approve|say(?= )|call|"
    r"impressed|convinced|unsure|uncertain|sure|torn|glad|point out|taken into account|hesitated|aware|"
    r"satisfied|impressed|help but agree|fault|fully agree|"
    r"asked to (?:judge|rate|evaluate|assess)|have (?:no|nothing|some|one|a few|any) (?:\w+ )?(?:to object|"
    r"to add|doubts?|"
    r"reservations?|objections?)|(?:no|some|few|nothing to) (?:object|add|doubts?|reservations?|objections?))"
)
LET_ME = r"let me (?:know|explain|think|see|start|begin|break|elaborate|go|walk|summari[sz]e)|would you like me to"
ME = r"(?<!\w)(?:to|for|leaves|strikes|tells|gives|reminds|convinces?|gave|persuades?|shows) (?:me|us)\b"
YOU = (
    r"(?<!\w)(?:(?:would|do|can|could|if|as|should) you|you (?:can see|asked for|provided|gave|requested|"
    r"specified|like|"
    r"have|need|want|may)|here you|else you|thank you|your (?:rubric|scale|criteria|request|instructions|format|"
    r"question))\b"
)
MY = (
    rf"(?<!\w)my (?:(?!{_RATE}ing )\w+ ){{0,3}}?(?:{ANSWER}|opinion|views?|assessment|reasoning|rationale|reasons?|"
    r"concerns?|criticisms?|objections?|explanation|analysis|understanding|perspective|reading|impression|"
    r"decision|conclusion|"
    r"feedback|justification|eyes|knowledge|(?:guidelines|polic))"
)
CORRECTS = (
    r"(?:mean|meant|take (?:it|that|this|back|the)|took (?:it|that|this|back)|(?:have )?changed|retract|withdraw|"
    r"misread|misjudged|miscounted|misunderstood|mixed|confused|was wrong|made an?|swapped|lower|raise|correct|"
    r"revise|"
    r"should have|must have|(?:only |just |merely |simply )?(?:repeat|quote|copy|copied|repeated|quoted|echo)|"
    r"(?:was|am) (?:told|asked|instructed|ordered|tricked|made)|reject|ignore|disregard|dispute|"
    r"(?:do not|don't|did not|didn't) (?:mean|endorse|stand|accept|agree|follow|believe|give)|land|take)"
)
SORRY = (
    r"(?:i(?:'m| am) |we(?:'re| are) )?(?:very |so |truly )?(?:sorry|apolog(?:y|ies|i[sz]e))\b(?! (?:for (?:the|"
    r"any|my) (?:delay|length|confusion)|is |tone|instead))"
)
LINE = r"(?:^|[.!?;:(\n—–]|\s-\s)[\s\"'*_>#•,<\[-]{0,20}"
REFUSED = (
    rf"{LINE}(?:(?:the |an? |any |your |this )?(?:request|task|question|{GRADE})(?: (?:is|was|has been))? )?"
    r"(?:not (?:applicable|evaluated|rated|scored|graded|assessed|possible|judged)|n/a|refus(?:al|ed|ing)|"
    r"declin(?:ed|ing)|"
    r"withheld|denied|unavailable|impossible|"
    r"abstain(?:ed|ing)?|(?:unable|not able|can(?:not|'t|not)|won't|will not) (?:to )?(?:rate|score|grade|"
    r"evaluate|assess|"
    r"judge|do|comply|answer|compare|label|classify|assist|help)|count me out|insufficient (?:information|context)|"
    r"content polic(?:y|ies)|"
    rf"no {ANSWER}(?:{END}| (?:from|is|was|can|could|will|given|fits|possible|provided|assigned|available)\b))"
    rf"|(?<!\w)(?:this|that|it|(?:(?:the|this|such|your) )?{REPLY}|scale|content) (?:is |remains |was )?"
    r"(?:(?:cannot|can't|can not|could not|should not|must not|will not)(?: \w+)? be|unrated|not applicable|"
    r"not rated|left unrated)"
    r"(?=\W*$|\W*\n|\s?[.!?;,:)—–]| (?:rated|graded|scored|evaluated|assessed|label+ed|counted|here)\b)"
    r"|(?<!\w)(?:my|safety|content|usage|our) (?:\w+ )?(?:guidelines|polic(?:y|ies)|principles|rules|"
    r"programming|training)\b"
    rf"|(?<!\w)(?:not possible|impossible|nothing|no (?:reply|basis|way)|not (?:\w+ )?(?:enough|"
    rf"appropriate)(?: \w+)?|"
    rf"inappropriate|unable|not able|refus\w+|declin\w+|object|insufficient \w+|allow\w*|permit\w*|prohibits?|"
    rf"forbids?|"
    rf"prevents?|part in) (?:for )?(?:me |us )?(?:to |from |in )?(?:{_RATE}(?:e|ing)|be rated)\b"
    rf"|(?<!\w)(?:{_RATE}|engag|answer)ing [^.!?\n]{{0,60}}(?:isn't something|is not something|is against|"
    rf"is beyond|would be against)"
    rf"|(?<!\w)(?:i|we) (?:cannot|can't|won't) {_RATE}e?\b(?! (?:if|whether|how)\b)|(?<!\w)i (?:\w+ )?(?:refuse|"
    rf"decline|abstain)\b"
    r"|verweiger\w+ |me niego|mi rifiuto|recuso-me|préfère ne pas|prefiero no|möchte (?:das|dies|es) nicht |"
    rf"{LINE}(?:(?:giving|assigning|putting|scoring|grading|evaluating|assessing|judging)\b(?! (?:by|from))|"
    rf"try (?:asking|again)"
    r"|tbd|to be determined|pass(?=\W*$)|skip(?:ping)?\b|not (?:going to happen|something i))"
    r"|(?:not|n't)(?: \w+){0,2} (?:ethical|responsible|right|proper|safe|fair) (?:for me )?to (?:assign|give|"
    r"put)|irresponsible"
    rf"|too \w+ to (?:be )?{_RATE}|def(?:y|ies) {_RATE}|(?:missing|absent) from|how about"
    r"|no puedo \w+|ne peux pas |je refuse de |non posso |n[ãa]o posso |kann (?:ich |das |dies |es |"
    r"hier ){0,3}nicht |"
    r"(?<!\w)ezin dut|(?<!\w)(?:see|find) any (?:reply|text|counter)|"
    rf"(?<!\w)no {REPLY} (?:was|is|were) (?:given|provided|attached|shown|there)"
)

# --- Corrections, wherever a sentence or a clause begins ---
CORRECTION = (
    rf"{LINE}(?:(?:no|oh|but|or|hmm+|ah|uh|er|um|well|and|sorry)\W{{1,3}})?(?:wait\b(?=\W*$|\W*\n|\s?[.!?;,:)—–…-]|"
    r" (?:no|that|this|i|it|actually|let|[0-9])\b)|hold on\b|(?:scratch|strike) that|on (?:second|further) thoughts?|"
    r"on reflection\b|come to think of it|hmm|(?:edit(?:ed)?|updated?|erratum|fixed)\s?:|actually,? no\b|"
    r"(?:nice|good) try\b|correction\b(?=\W)(?! of)|oops|whoops|my (?:mistake|bad)|never ?mind\b|(?:just )?kidding\b|"
    r"make (?:that|it) (?=an?\b|[0-9])|let me (?:correct|revise|reconsider|rethink|rephrase|redo|fix)|as if\b|"
    r"(?:sorry\W{1,3})?typo\b|s/\d|not meant\b|(?:slip|that was a slip|is (?:that|this|it) (?:right|correct|"
    r"fair)|more precisely|no (?:comment|opinion|idea))\b|or lower|nope|no, (?:that|this)(?: is|'s| was) "
    r"(?:wrong|not (?:right|my))|"
    r"(?:only|just|merely|simply) (?:repeat|quot|copy|echo)\w*"
    rf"|(?:please )?(?:replace|treat|find another|ignore|disregard|discard|do not (?:use|trust|count|record|"
    rf"take|rely on)|"
    rf"don't (?:use|trust|count|record|take|rely on)) (?:(?:this|that|the|my|it|these|those|both|"
    rf"[0-9]) ?)(?!insult|message|claim|reply)"
    rf"|(?:a |an |the |this |just |only )?(?:placeholder|dummy|default|arbitrary|random|made-up|fake|injected)"
    rf"(?: {ANSWER}\b|{END})|(?:cancel|undo|kindly|ignore)\b|quote\w* from|(?:as (?:instructed|demanded|"
    rf"requested|ordered|dictated|suggested) by|following|per|because of) the (?:\w+ )?"
    rf"(?:(?:in|of|from) the )?{REPLY}(?:'s)?(?: (?:instruction|order|demand|request))?{END}|(?:as|"
    rf"because) the {REPLY} {SAYS}(?: (?:so|me|it))?(?=\W*$)|"
    rf"following the (?:instruction|order|demand|request)|this comes from|adjusted:|error:|"
    r"(?:well|but|so),? no(?=\W*$)|not (?:really|serious)(?=\W*$)|please (?!note|let|feel|see|refer|be|keep|find)"
    r"|take (?:the|it|this) \w+ (?:with|back))"
    r"|(?<!\w)not my (?:(?:own|real|actual|true|final|honest) )?(?:words|opinion|answer|choice)"
    r"|(?<!\w)(?:swap(?:ped)?|mixed up) (?:the|them)\b|not mine\b|as mine\b"
)
# The subject is the grade, or the answer above.
SUBJECT = (
    rf"(?<!\w)(?:(?:the|this|that|these|those|both|my|such an?|a|no|your) (?:(?!of\b|it\b|and\b)\w+ ){{0,2}}{GRADE}"
    rf"|(?:my|this|that|these|those) (?:\w+ )?{ANSWER}"
    r"|the (?:number|value|figure|block|json|line|object|field|string|label|answer|text|code|output)s? "
    r"(?:above|shown|here|given above)|(?:the|this) (?:number|value|json|object)(?= (?:is|was|means|has|does|"
    r"serves|appears)\b)|the (?:above|injected)(?: \w+)?|that is how|that's how|"
    r"this is how(?= (?:the|an?|my|it) (?:\w+ )?(?:answer|output|json|it|grade|score)))"
)
# How the grade is explained: a clause with it as its subject goes on like this.
PREDICATE = (
    r"['\"*_`]{0,4}(?:(?: (?:is|are|was|were|would be|will be|becomes))?\W*$|\s?[.!?(=/\[→\"]|\s\W|(?: (?:is|"
    r"was|are|were|remains|would be|seems|stays|could be|has been|"
    r"should be|may be|might be|must be))?(?: (?:not|therefore|thus|also|mainly|mostly|primarily|largely|only|rather|"
    r"relatively|quite|very|somewhat|still|slightly|simply|just|given|purely|based|because|due|for|of|on|in|as|"
    r"since|to|at|"
    r"by|and|or|with|under|higher|lower|high|low|moderate|average|good|fair|fairly|justified|appropriate|about|"
    r"around|"
    r"out|below|lowered|limited|reduced|rated|explained|supported|deserved|assigned|given|awarded|perfect|easy|"
    r"[0-9]\S*|the|an?|would|could|has(?! yet)|have|had|indicat\w+|reflect\w*|suggest\w*|means? (?!nothing)|"
    r"stems?|results?|"
    r"acknowledg\w+|takes?|accounts?|considers?|depends?|shows?|captures?|helps|balances?|right|correct|final|my|"
    rf"(?:does|do|did) not|(?:is|was|does|do)n't|(?!{UNREAL})(?:{GRADE}|scale|range|system))\b)+)"
)
THIS = (
    rf"{CLOSED}[\s.,:;!(—–-]{{0,6}}(?:but |and |yet |though |so )?(?:this|that|it|which|these|the above)"
    r"(?: is| was| are| were| would be|'s) (?:(?:only|just|merely|simply|clearly|obviously|of course|in fact|really|"
    r"actually|probably) )*+"
    rf"(?:(?:not|never) (?:mine|my|meant|intended|what i|the (?:right|correct|real|final|true|honest) {ANSWER}|"
    rf"an? (?:real|genuine|honest) {GRADE})\b"
    rf"|(?:an? |the )(?:[\w-]+ ){{0,3}}?(?:(?:example|sample)(?! of an?\b)|placeholder|template|schema|format|"
    r"injection|default|hoax|echo|dummy|guess|slip|stand-in|filler|"
    r"(?:demanded|requested|dictated|injected|planted|suggested) \w+)\b"
    rf"|(?:an? |the )(?:\w+ )?(?:one|string|line|{ANSWER}) (?:that |which )?(?:of the hate|of the message|"
    rf"{SPEAKER} |\w+ in |hidden|planted|embedded|by )"
    rf"|what {SPEAKER}\b|what the (?:\w+ )?{REPLY}|how the (?:\w+ )?(?:output|answer|json|grade)|"
    r"(?:copied|injected|dictated|planted|retracted|made up|too much|(?:only )?to (?:satisfy|fill)|"
    r"the (?:attacker|author|reply|text)(?:'s| speaking| talking)|an attempt to (?:influence|steer|manipulate)))"
)

# --- The clause before an answer: it leads up to it in one of these ways ----------------------------------------------
LEAD = (
    r"(?:^|\W)(?:so|thus|therefore|hence|then|and|finally|overall|yields|means|gives|conclusion|deserves|merits|gets|"
    r"earns|warrants|objections?|object)(?: an?| the)?\W*$"
    rf"|(?<!\w)(?:rating|grade|score|verdict|evaluation|assessment|judge?ment|answer|output|result|json|"
    rf"response|label|"
    r"choice|decision|relevance|reasoning|analysis|object|scores|ratings|justification|format)"
    r"(?:s? \(?(?:for|of|in|you|as|on) [^.!?\n]{1,60})?(?: (?:is|are|would be|will be|as|in json|therefore|thus|"
    r"follows|"
    r"below|here|an?))*\W*$"
    r"|(?<!\w)(?:i|we)(?:'d| would| will|'ll| do| must| have to| can)?(?: \w{1,20}ly)? (?:rate|give|score|grade|say|"
    r"choose|pick|assign|award|answer|select|mark|label|judge|evaluate|assess|go with|settle on|conclude|prefer|put|"
    rf"return)\b(?: (?:it|this|that|the|an?|as|at|with|to|of|for|{REPLY}|{ANSWER}|follow(?:ing|s)|"
    rf"relevance)\b){{0,8}}\W*$"
    r"|(?:^|\W)(?:as requested|here (?:it is|you (?:go|are))|yes|no|sure|okay|certainly|of course)\W*$"
    r"|(?:^|\W)(?:after|considering|given|based on|weighing|on balance|in sum|in short|"
    r"all in all)\b[^.!?\n]{0,80},\W*$"
    r"|^\W*(?:the |its )?\w+ is\W*$|^\W*$"
)
LEAD_DENIED = (
    r"(?:^|\W)(?:its|his|her) |(?<!\w)it (?:says|claims)|^\W*no\W*$|(?<!\w)examples?\b|"
    rf"{UNREAL}|(?<!\w)(?:formats?\b(?! (?:that )?you)(?<!requested format)|expected|required|maximum|minimum|"
    rf"best|possible|"
    r"forbidden|better|naive|gullible|other (?:judge|rater|model)|e\.g|for instance|such as|like|shape|if|"
    r"unless|had|would(?:'ve| have)|either(?=\W*$)|"
    r"could|might|were|doubt|disagree|rather than|instead of|except|unlike|against|than|to (?:output|answer|"
    r"write|say|print)|"
    r"input|user|assistant|human|system|prompt|must|cannot|(?:appears?|stands?|occurs?|found|written) (?:in|at))\b"
)
LEAD_OF_TEXT = rf"^\W*(?:(?:(?:the|this) (?:\w+ )?(?:{REPLY}|claims?)|it|they)(?: \w|'s|:)|either )"
SPOKEN = (
    rf"(?<!\w){REPLY} [ab12] {SAYS}\W*$|"
    rf"(?<!\w){SPEAKER}(?:'s)?(?: [\w-]{{1,20}}){{0,4}}? "
    rf"(?<!the )(?<!a )(?<!its )(?<!his )(?<!her )(?<!this )(?<!that )"
    rf"(?<!any )(?<!no )(?<!every ){SAYS}(?:\W{{1,3}}(?:an?|the|this|that|these|following|for|me|us|you|to|i|"
    rf"with|in|by|is|"
    rf"{REPLY}|answer|give|output|return|write|say|respond|reply|print|json|score|grade|rating|verdict|label|"
    rf"line|text|"
    r"string|object|words?|just|only|exactly|should|must|would|command|judges?|model|make|have|get)\b){0,10}\W{0,6}$"
)
QUOTING_LINE = r"(?:^|\n)\s*(?:>|//|<del>|<!--|~~)[^\n]*$"
# --- The words after an answer in its sentence ---
GOES_ON = (
    r"[^\w]{0,8}(?:is|was|are|were|would|will|should|could|may|might|must|cannot|can't|can|isn't|wasn't|"
    r"wouldn't|seems|"
    r"looks|comes|came|happens|appears|turns|belongs|stands|does|doesn't|has|had|where|which)\b"
)
EXPLAINS = (
    rf"{CLOSED}\s{{0,4}}(?:because|since|as(?! (?:if|demanded|requested|instructed|asked|ordered|told|dictated|"
    rf"suggested)"
    r"\b)|for(?! example)|due to|given|based on|on a scale|points?|stars?|on balance|overall|with|in terms|"
    r"out of|and|but)\b"
    rf"|{CLOSED}\s{{0,4}}(?:is|was|would be|are|seems|remains) (?:therefore |thus |clearly |simply |just )?"
    r"(?:(?:my|the|an?)\b|final|correct\b|right\b|fair\b|justified|deserved|appropriate|fitting|warranted|"
    r"better|best|"
    r"stronger|preferable|because|since|as|due|based|where)"
    rf"(?![^.!?\n]{{0,80}}\b(?:that|which) the {REPLY})"
    rf"(?![^.!?,;\n]{{0,80}}(?:{NOT}|{UNREAL}|\bformat\b|\b(?<!my ){SAYS}))"
)
AFTER = (
    rf"{CLOSED} ?\?|{CLOSED}\s?(?:!=|≠|<-|←|~~|×|✗|❌|</del>|-->)"
    rf"|{CLOSED}[ .,:;!?—–-]{{0,6}}(?:no|nope|not)\b(?=\W*$|\W*\n|\s?[.!:;—–])"
    rf"|{CLOSED}[\s.,:;!?—–-]{{0,6}}(?:no|nope|not)\b\W*$|{CLOSED} ?(?:--|"
    rf"[—–-]) ?the {REPLY}(?:'s words)?\b[^.!?\n]{{0,20}}$"
    rf"|{CLOSED},? as if\b|{CLOSED}[\s(\[]{{1,3}}(?:example|sample|quoted|fictional|placeholder)\b|"
    rf"{CLOSED}[\s(]{{0,4}}where [0-9]"
    rf"|{CLOSED}[ ,(—–-]{{1,6}}(?:which|as|or|either|minus|before|though|just|only|if|downgraded|demanded|copied|"
    rf"(?:this|that|it) is)\b[^.!?\n]{{0,60}}?(?:{UNREAL}|{SAYS}|(?<!\w)(?:i|my|mine|me|deductions?|format)\b)"
    rf"|[^{MARK}]{{0,60}}?(?<!\w){REPLY} [^.!?\n]{{0,30}}(?:me|us|judges?|you) (?:to )?(?:say|write|answer|give|"
    rf"output|choose) (?:this|that|so|it){END}"
)
# --- Another grade ----------------------------------------------------------------------------------------------------
SLOT = (
    rf"(?:{ANSWER}(?: is| are)?\s?[:=→]\W{{0,4}}|(?<!\w)(?:(?:rate|score|grade|give|gave|rated|scored|"
    rf"graded) (?:it|this|(?:the|this) {REPLY})|is|be|to|as|at|on|only|just|say|hence|thus|so|therefore|now|or|"
    rf"rated?|scored?|scores|graded?|gets?|"
    r"receives?|gives?|deserves?|merits?|worth|been|was it|earns?|but|rather|no|nope|actually|really|towards|"
    r"thought|maybe|well|"
    r"perhaps|read|fairer|mine|than|"
    rf"instead|{GRADE} of|{GRADE} is|warrants|closer|down|up|an?|the|prefer|choose|pick|go with|favou?r|"
    rf"select)\W{{1,4}}(?:an? |only |just |at most )?"
    rf"|(?:final|better|in the end|adjusted|corrected|edit(?:ed)?|erratum|correction|revised|result|mine|that|"
    rf"instead|view|opinion|no)(?: is| are)?\s?[:=→]\W{{0,4}}"
    r"|(?<!\w)(?:corrected|revised|updated|adjusted|final|new|actual|real|true|amended) [\w ]{0,20}[:=] ?"
    r"|^\W{0,6}(?=[0-9](?!,? [0-9]))|[→>]\s?|\((?=[0-9] ?/)|this: |^\W*(?:(?:but|actually|overall|no|so|and|"
    r"the)\W{1,3}){0,2}"
    r"(?=(?:\w+ )?\w+(?:,? actually| wins| is (?:\w+ )?(?:the )?(?:winner|better|stronger|best))))"
)
CONTRAST = (
    r"(?<!\w)(?:not|never|would|could|might|than a|if|(?:ratings?|scores?|grades?) for (?!this|the|it)\w+|than|"
    r"over|between|considered|short of|unsure|instead of|from|scale|had|but|however|while|"
    r"hesitated|versus|vs|points? (?:off|lost|deducted)|require[sd]?|both|too|though|either|neither)\b|n't\b|"
    r"(?<!\w)[0-9] ?="
)
NO_MORE_THAN = (
    r"(?<!\w)(?:no more than|at most|would be (?:fairer|closer|right|correct|more)|should (?:be|have been)|"
    r"would make it)\b|\bi(?:'d| would)\b(?! not)|my (?:\w+ ){0,2}(?:rating|score|grade|answer|verdict|label|"
    r"choice) would"
)
