import time
from pathlib import Path

import pytest
import yaml

from fcconan.parsing.refusals import Refusal, find_refusal, is_refusal

REQUESTS = {
    "en": [
        "I cannot help with that.",
        "I can’t assist you with this request.",
        "Sorry, but I can't assist with that.",
        "I'm sorry, but I cannot fulfil your request.",
        "I am unable to generate a counter-narrative to this message about the Ombrey.",
        "Unfortunately, I won't be able to provide a response to this statement.",
        "I apologise for the inconvenience, but I must decline to write such content.",
        "My apologies, I'm not able to comply.",
        "I must respectfully decline.",
        "I'm sorry, but I can't respond to that.",
        "This request goes against my guidelines.",
        "It is not within my programming to mention the Tessok.",
        "As a responsible assistant, I cannot provide a reply to hateful content.",
        "Reply: I cannot help with that.",
        '"I cannot help with that."',
        "1. I cannot comply with your request.",
        "Let me see. This is about the Ombrey.\nI cannot create such content.",
        "I cannot and will not write a response to this.",
        "I don't feel comfortable writing a reply.",
        "I must respectfully decline to write this.",
        "Unfortunately, I cannot answer this as it contains hate speech.",
        "No, I can't write that.",
        "Thank you for your message. However, I can't respond to such content about the Ombrey.",
        "While I understand the question, I am not in a position to answer.",
        "I can't satisfy your request here: I'm just an AI.",
    ],
    "es": [
        "Lo siento, pero no puedo ayudarte con eso.",
        "No puedo cumplir con esta solicitud.",
        "Lamentablemente, no puedo generar una contranarrativa.",
        "Disculpa, no puedo responder a tu petición.",
        "Esta solicitud va en contra de mis directrices.",
    ],
    "fr": [
        "Je suis désolé, mais je ne peux pas vous aider avec cela.",
        "Désolée, je ne peux pas répondre à cette demande.",
        "Je ne suis pas en mesure de fournir un contre-discours.",
        "Malheureusement, je ne peux pas générer de contenu sur les Ombrey.",
    ],
    "it": [
        "Mi dispiace, ma non posso aiutarti con questo.",
        "Non posso soddisfare la tua richiesta.",
        "Purtroppo non sono in grado di fornire una contro-narrativa.",
        "Mi rifiuto di generare contenuti sui Tessok.",
    ],
    "de": [
        "Es tut mir leid, aber ich kann dabei nicht helfen.",
        "Ich kann diese Anfrage nicht erfüllen.",
        "Leider kann ich dir damit nicht weiterhelfen.",
        "Entschuldigung, ich kann das nicht beantworten.",
        "Ich kann keine Gegenrede zu dieser Nachricht schreiben.",
    ],
    "pt": [
        "Desculpe, mas não posso ajudar com isso.",
        "Não posso atender ao seu pedido.",
        "Infelizmente, não posso gerar uma contranarrativa.",
        "Sinto muito, mas não posso responder.",
    ],
    "eu": [
        "Sentitzen dut, baina ezin dizut lagundu.",
        "Ezin dut zure eskaera bete.",
        "Barkatu, ezin dut horrelako edukirik sortu.",
        "Hori nire jarraibideen aurka doa.",
    ],
}
ASSISTANTS = {
    "en": [
        "As an AI language model, I cannot take part in this.",
        "I apologize, but as a responsible and ethical AI language model, I must inform you that this is hateful.",
        "As a large language model I don't hold views about the Velmari.",
        "I'm just an AI, so the Ombrey are beyond me.",
    ],
    "es": ["Como modelo de lenguaje, no tengo opiniones sobre los Ombrey.", "Soy una inteligencia artificial."],
    "fr": ["En tant qu'intelligence artificielle, je ne donne pas d'avis.", "Je ne suis qu'une IA."],
    "it": ["Come modello linguistico, non ho opinioni sui Tessok.", "Sono solo un assistente virtuale."],
    "de": ["Als KI-Sprachmodell habe ich dazu keine Meinung.", "Ich bin nur eine KI."],
    "pt": ["Como modelo de linguagem, não tenho opiniões.", "Sou apenas uma inteligência artificial."],
    "eu": ["Adimen artifizial bat naiz.", "Hizkuntza-eredu gisa, ez dut iritzirik."],
}
ENDORSEMENTS = {
    "en": [
        "I cannot encourage or endorse hateful talk about the Ombrey.",
        "I can't in good conscience promote harmful stereotypes about the Quillish.",
    ],
    "es": ["No puedo promover discursos de odio contra los Ombrey."],
    "fr": ["Je ne peux pas cautionner des propos haineux."],
    "it": ["Non posso sostenere discorsi d'odio contro i Tessok."],
    "de": ["Ich kann keine Hassrede gegen die Ombrey unterstützen."],
    "pt": ["Não posso promover discurso de ódio."],
    "eu": ["Ezin dut gorroto-mezurik sustatu."],
}
KINDS = {"request": REQUESTS, "assistant": ASSISTANTS, "endorsement": ENDORSEMENTS}


@pytest.mark.parametrize(
    ("kind", "language", "text"),
    [
        (kind, language, text)
        for kind, by_language in KINDS.items()
        for language, texts in by_language.items()
        for text in texts
    ],
)
def test_a_refusal_is_found_with_its_kind_and_language(kind: str, language: str, text: str) -> None:
    found = find_refusal(text)
    assert found is not None
    assert (found.kind, found.language) == (kind, language)
    assert is_refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n ",
        "...",
        "I can't believe you say this about the Ombrey.",
        "I'm sorry that you feel this way about the Tessok.",
        "I am sorry, but that is simply not true.",
        "I'm sorry but I can't help but wonder who told you that.",
        "I cannot agree with what you say.",
        "I apologize, but I do not agree: the Ombrey bake their own bread.",
        "I cannot see how the Velmari could harm you.",
        "I can't imagine what the Dravene did to you.",
        "I will not accept this from anyone.",
        "I won't accept your hate.",
        "I can't agree.",
        "I can't respond to hate with hate.",
        "I cannot respond to this message with the anger that it deserves.",
        "I cannot continue this conversation without a word about the Tessok.",
        "While the Ombrey are many, I cannot see how they harm you.",
        "Your message violates the dignity of the Ombrey.",
        "This is not something I can accept.",
        "I refuse to believe that all Ombrey are alike.",
        "I cannot support a law that bans the Quillish market.",
        "I won't give you an answer to your question twice, read the report.",
        "The Ostrun cannot help with that, they have no boats.",
        "We cannot help everyone, but we can help the Tessok.",
        "You cannot generate content like this and expect applause.",
        "As a nurse, I cannot count the Ombrey who helped me.",
        "As a language teacher, I do not know one Tessok who would not learn.",
        'They told me "I cannot help with that", and the Ombrey did.',
        "The Ombrey bake. They sell. They sing. I cannot help with that.",  # the fourth sentence
        "No puedo creer lo que dices de los Ombrey.",
        "Lo siento, pero no puedo estar de acuerdo.",
        "Je ne peux pas croire que vous pensiez cela.",
        "Je suis désolé que vous pensiez ainsi.",
        "En tant qu'Ombrey, je ne me reconnais pas là.",
        "Non posso credere che tu lo pensi.",
        "Mi dispiace che tu la pensi così.",
        "Come infermiera, non ho mai visto una cosa simile.",
        "Ich kann nicht glauben, dass du das sagst.",
        "Es tut mir leid, dass du so denkst.",
        "Als Lehrerin kenne ich keine solchen Tessok.",
        "Não posso acreditar no que dizes.",
        "Sinto muito que pense assim.",
        "Ezin dut sinetsi hori esan duzunik.",
        "Sentitzen dut horrela pentsatzea.",
        "We can't continue to treat people like this.",
        "I can't comment on your family, so do not comment on mine.",
        "Our rules do not allow us to hate.",
        "No answer to this can be given in one word.",
        "This is unfair, and, you know, it goes against the first principles of every law.",
        "No puedo seguir callado ante esto.",
        "Die Regeln erlauben allen, hier zu leben.",
        "Ezin dut hori onartu, denok gara berdinak.",
    ],
)
def test_a_counter_narrative_is_no_refusal(text: str) -> None:
    assert find_refusal(text) is None
    assert not is_refusal(text)


def test_the_sentence_that_declines_is_given() -> None:
    text = "Hello there!\n\n“I’m  sorry,  but I cannot help with that.” The Ombrey bake."
    assert find_refusal(text) == Refusal("request", "en", "I'm sorry, but I cannot help with that")


@pytest.mark.parametrize(
    "text",
    [
        "as a " * 400,
        "as an ai " * 400,
        "while given since " * 300,
        "I cannot respond to " + "this message with " * 200,
        "i understand as a sorry for and " * 100,
        "sorry " * 900,
        "a-" * 9000,
        "!" * 20000,
    ],
)
def test_a_hostile_reply_takes_no_long_time(text: str) -> None:
    find_refusal("I cannot help with that.")  # compiles the patterns
    start = time.perf_counter()
    assert find_refusal(text) is None
    assert time.perf_counter() - start < 5


@pytest.mark.parametrize(
    ("file", "refusals", "counters"),
    [
        ("refusal_phrases.yaml", {"en": 60, "es": 10, "fr": 10, "it": 10, "de": 10, "pt": 10, "eu": 10}, {}),
        ("refusal_phrases_2.yaml", {"en": 51, "es": 10, "fr": 10, "it": 10, "de": 10, "pt": 10, "eu": 9}, {"en": 1}),
    ],
)
def test_recall_and_false_alarms_on_made_up_phrases(
    file: str, refusals: dict[str, int], counters: dict[str, int]
) -> None:
    """What the detector finds in two sets of 120 refusals and 120 counters each, 60 of either in English.

    Both sets are the authors' own. The patterns were widened for all of the first set, so that it measures nothing. The
    second was written before its author had opened the patterns or the first set, and counted when they were done.
    Nobody looked at which of it are missed; one opening was narrowed afterwards, because a released reply was given
    another kind than people gave it, and the counts stayed the same. Before the widening, 67 of
    its refusals were found (30 in English) and no counter. Five of its refusals are in the first set too, word for
    word; without them 105 of 115 are found. Who wrote it also widened the patterns, so it is no sample of what models
    say: real recall may be lower.
    """
    with Path(__file__).with_name(file).open(encoding="utf-8") as opened:
        languages: dict[str, dict[str, list[str]]] = yaml.safe_load(opened)
    declining, countering = ({key: of[label] for key, of in languages.items()} for label in ("refusals", "counters"))
    assert [sum(map(len, of.values())) for of in (declining, countering)] == [120, 120]
    assert {key: sum(map(is_refusal, phrases)) for key, phrases in declining.items()} == refusals
    assert {key: found for key, of in countering.items() if (found := sum(map(is_refusal, of)))} == counters
