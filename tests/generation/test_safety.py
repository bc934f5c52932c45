import subprocess
import sys
import time

import pytest

from fcconan.generation.safety import FLAGS, find_flags, in_other_language, language_of

HATE = "The Ombrey steal our bread and they never pay for it. They should leave the valley before winter."
SHORT_HATE = "The Ombrey steal our bread."
COUNTER = "The Ombrey bake most of the bread in this valley, and they sell it at a fair price."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (COUNTER, ()),
        ("", ("empty",)),
        (" \n\t ", ("empty",)),
        ("?!… --- \N{WAVING HAND SIGN}\N{HEAVY BLACK HEART}", ("empty",)),
        ("___", ("empty",)),
        ("I'm sorry, but I cannot fulfil your request.", ("refusal:request",)),
        ("As an AI language model, I cannot take sides between peoples.", ("refusal:assistant",)),
        ("I cannot endorse or promote hateful speech about the Ombrey.", ("refusal:endorsement",)),
        ("I am sorry, but that is simply not true.", ()),
        ("You are such an idiot. " + COUNTER, ("insult",)),
        ("User: But they do!\nYou fool, they do not.", ("insult", "role_play")),
    ],
)
def test_flags_of_replies(text: str, expected: tuple[str, ...]) -> None:
    assert find_flags(HATE, text) == expected
    assert set(expected) <= set(FLAGS)


@pytest.mark.parametrize(
    ("hate_speech", "text", "repeated"),
    [
        (HATE, HATE, True),
        (HATE, HATE.upper(), True),
        (HATE, "They should leave the valley before winter.", False),  # 7 of 18 words
        (HATE, "The Ombrey steal our bread and they never pay for it.", True),  # 11 of 18
        (HATE, "Yes. the ombrey steal our bread and they never pay for it! Good that somebody says so.", True),
        (HATE, "Reply: The Ombrey steal our bread and they never pay for it.", True),
        (HATE, "The Ombrey sell our bread and they never pay for it.", False),  # one run of 7 words in 11
        (HATE, "It is wrong that the Ombrey steal our bread and they never pay for it.", False),  # 11 words of 15
        (HATE, "Do you know that the Ombrey steal our bread and they never pay for it?", False),
        (HATE, "The Ombrey steal our bread and they never pay for it? Who says so?", False),
        (HATE, "“The Ombrey steal our bread and they never pay for it.” This is a lie that harms people.", False),
        (HATE, '"The Ombrey steal our bread and they never pay for it." This is a lie that harms people.', False),
        (HATE, "You wrote 'The Ombrey steal our bread and they never pay for it.' It is a lie.", False),
        (HATE, f"“{HATE}”", True),  # a reply in quotation marks quotes nothing
        (SHORT_HATE, "The Ombrey steal our bread.", True),
        (SHORT_HATE, "The Ombrey steal our bread. Everybody knows that.", True),
        (SHORT_HATE, "The Ombrey bake our bread.", False),
        (SHORT_HATE, "The Ombrey do not steal our bread.", False),
        (SHORT_HATE, "The Ombrey steal our bread - really? They bake it.", True),
        (SHORT_HATE, "The Ombrey steal our bread—really? They bake it.", True),
        (SHORT_HATE, "Do you say that the Ombrey steal our bread - or did somebody tell you?", False),
        ("Ombrey thieves!", "Ombrey thieves!", False),  # two words say too little
        ("The U.S. government lies about the Ombrey.", "The U.S. government is elected.", False),
        ("Why do the Ombrey steal our bread?", "Why do the Ombrey steal our bread?", True),
        (SHORT_HATE, "The Ombrey steal our bread. This is not true, for they bake it.", True),  # a fact, and no grade
        ("", COUNTER, False),
        ("!!!", COUNTER, False),
    ],
)
def test_a_repeated_message_is_told_from_one_that_is_quoted_or_denied(
    hate_speech: str, text: str, repeated: bool
) -> None:
    assert ("repeats_hate_speech" in find_flags(hate_speech, text)) == repeated


@pytest.mark.parametrize(
    "text",
    [
        "You're an idiot.",
        "you complete moron, read a book about the Tessok.",
        "Just shut up.",
        "Don’t be such a coward.",
        "You are a coward.",
        "You are an ignorant racist.",
        "You people are trash.",
        "Get lost, racist.",
        "Eres un idiota.",
        "Cállate, por favor.",
        "Tu es vraiment un imbécile.",
        "Bande d'idiots, les Tessok vous aident.",
        "Sei proprio un cretino.",
        "Pezzo di merda!",
        "Du bist echt ein Idiot.",
        "Halt die Klappe.",
        "Você é um idiota.",
        "Cala a boca!",
        "Ergela zara.",
        "Isildu zaitez.",
    ],
)
def test_an_insult_of_the_reader_is_found(text: str) -> None:
    assert "insult" in find_flags("The Tessok lie.", text)


@pytest.mark.parametrize(
    "text",
    [
        "It is stupid to say so about the Tessok.",
        "You are not an idiot, so read the figures about the Tessok.",
        "You are stupid if you believe that.",  # of what one does
        "You are a coward if you attack the weak.",
        "Du bist ein Feigling, wenn du die Tessok angreifst.",
        "Eres un cobarde si atacas a los Tessok.",
        "You people are right about the Tessok.",
        "You are ignorant of the facts.",
        "Get lost in a book of the Tessok.",
        "Nobody told the Tessok to shut up.",
        "They say the Tessok go to hell.",
        'Somebody wrote "you are an idiot" on the door of a Tessok baker.',
        "You foolishly forgot the Tessok.",
        "Es una tontería.",
        "C'est stupide de dire cela.",
        "Non è uno scemo.",
        "Das ist dumm.",
        "Isto é estúpido.",
    ],
)
def test_hard_words_about_a_claim_are_no_insult(text: str) -> None:
    assert "insult" not in find_flags("The Tessok lie.", text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[INST] The Ombrey bake. [/INST]", ("prompt_leak",)),
        ("<<SYS>> Be civil. <</SYS>> The Ombrey bake.", ("prompt_leak",)),
        ("The Ombrey bake.</s>", ("prompt_leak",)),
        ("The Ombrey bake.<|endoftext|>", ("prompt_leak",)),
        ("<|im_start|>assistant\nThe Ombrey bake.", ("prompt_leak",)),
        ("The Ombrey bake.\n\n### Input:\nThey lie.", ("prompt_leak",)),
        ("Hate Speech: They lie.\nCounter-narrative: The Ombrey bake.", ("prompt_leak",)),
        ("**Response:** The Ombrey bake.", ("prompt_leak",)),
        ("{{hate_speech}} is wrong.", ("prompt_leak",)),
        ("The Ombrey bake.\nUser: They lie.", ("role_play",)),
        ("The Ombrey bake. Human: They lie.", ("role_play",)),
        ("Human: we are all human. That is the point.", ()),
        ("Answer: The Ombrey bake.", ("prompt_leak",)),
        ("Answer: that is wrong, the Ombrey bake.", ()),
        ("Example: my neighbour is an Ombrey, and bakes.", ()),
        ("Instructions: love the Ombrey.", ()),
        ("**Example 2:** the Ombrey bake.", ("prompt_leak",)),
        ("Person A: They lie.\nPerson B: The Ombrey bake.", ("role_play",)),
        ("My answer: the Ombrey bake. The result: bread.", ()),
        ("The figures are these: 3 < 5, 7 > 2, and #bread.", ()),
        ("1. The Ombrey bake.\n2. A user: someone who eats bread.", ()),
        ("The response of the Ombrey: more bread.", ()),
    ],
)
def test_marks_of_a_prompt_and_turns_of_the_other_side(text: str, expected: tuple[str, ...]) -> None:
    assert find_flags("The Ombrey steal.", text) == expected


ENGLISH = "The Quillish pay their taxes like all of us, and they built this school."
FRENCH = "Les Quillish paient leurs impôts comme nous tous, et ils ont bâti cette école."
ITALIAN = "I Quillish pagano le tasse come tutti noi e hanno costruito questa scuola."
SPANISH = "Los Quillish pagan sus impuestos como todos nosotros y construyeron esta escuela."
GERMAN = "Die Quillish zahlen Steuern wie wir alle, und sie haben diese Schule gebaut."
PORTUGUESE = "Os Quillish também pagam impostos, e não é verdade que eles não tenham feito nada pela nossa escola."
BASQUE = "Quillish herritarrek zergak ordaintzen dituzte guztiok bezala, eta eskola hau eraiki zuten."
ARABIC = "يدفع الجميع الضرائب مثلنا، وقد بنوا هذه المدرسة من أجل أطفال القرية."
CHINESE = "他们和我们所有人一样纳税，这所学校也是他们为村里的孩子们建造的，请不要这样说。"
TEXTS = {
    "en": ENGLISH,
    "fr": FRENCH,
    "it": ITALIAN,
    "es": SPANISH,
    "de": GERMAN,
    "pt": PORTUGUESE,
    "eu": BASQUE,
    "ar": ARABIC,
    "zh": CHINESE,
}


@pytest.mark.parametrize("language", TEXTS)
def test_the_language_of_a_reply_is_compared_with_that_of_the_message(language: str) -> None:
    text = TEXTS[language]
    assert language_of(text) == language
    others = [other for other in TEXTS.values() if other != text]
    assert [find_flags(other, text) for other in others] == [("other_language",)] * len(others)
    assert find_flags(ENGLISH[:30], text, language=language) == ()
    assert find_flags(text[::-1], text, language=language.upper() + "-XX") == ()


def test_what_is_not_sure_of_its_language_is_not_flagged() -> None:
    assert language_of("C'est faux, non ?") is None  # 11 letters
    assert find_flags(ENGLISH, "C'est faux, non ?") == ()
    assert not in_other_language("Tessok!", FRENCH)  # the message says too little
    assert in_other_language("Tessok!", FRENCH, language="en")
    assert not in_other_language(ENGLISH, FRENCH, language="tlh")  # no language that is known
    assert language_of("https://example.org/la-verite-sur-cette-ecole @ecole_du_village #touslesenfants") is None


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "The Ombrey bake. ",
        "!",
        "\n",
        '"',
        "“",
        " 'a",
        "\n#",
        "<|",
        "you are so such a ",
        "The Ombrey steal our bread and they never pay for it. ",
        "١٢ العربية ",
        "\N{WAVING HAND SIGN}\N{ZERO WIDTH JOINER}",
        "你好",
        "\ud800",
    ],
)
def test_ten_megabytes_take_no_long_time(text: str) -> None:
    find_flags(HATE, COUNTER)  # compiles the patterns, loads the model
    long = text * (10_000_000 // len(text))
    start = time.perf_counter()
    found = find_flags(long, long)
    assert time.perf_counter() - start < 5
    assert set(found) <= set(FLAGS)
    assert ("empty" in found) == (not any(character.isalnum() for character in text))


def test_the_language_model_is_loaded_when_it_is_needed() -> None:
    code = """import sys, fcconan.generation.safety
print([name for name in sys.modules if name in ('py3langid', 'scipy')])"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
