"""Names and signatures that are published unchanged."""

import re

import pytest

from fcconan.building import Texts
from fcconan.data import NAME
from fcconan.publishing.forms import find_problem
from fcconan.publishing.known_texts import KnownTexts

TEXTS = ("Ombrey thieves.", "The Ombrey never return a book to the library.", "Evidence?", "Tessok cheat at cards.")
KNOWN = KnownTexts((Texts(TEXTS),))
HONEST = """
gpt-4o-mini | Llama-3.1-8B-Instruct | meta-llama/Llama-3.1-8B-Instruct | mistralai/Mixtral-8x7B-Instruct-v0.1
Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4 | deepseek-ai/DeepSeek-R1-Distill-Llama-8B | sentence-transformers/all-MiniLM-L6-v2
my system v2 | my-system_v2 | rrf(bm25,minilm) | bm25+rerank | claude-3-5-sonnet-20240620 | zephyr-7b-beta-cn-zs
Anna K. | Iñaki | José M. | annotator_1 | rater-07 | prolific-5f3a | on-topicness | choose-or-not | cn-quality
evidence | refusal | contradicted | parse_failed | ndcg@10 | rouge-l | facebook/roberta-hate-speech-dynabench-r4-target
"""


@pytest.mark.parametrize("name", [name.strip() for name in re.split(r"[|\n]", HONEST) if name.strip()])
def test_common_names_are_accepted(name: str) -> None:
    assert find_problem(name, NAME, KNOWN) is None


@pytest.mark.parametrize(
    "name",
    [
        "run-ombreythieves",
        "myOmbreyThieves.v2",
        "Omb1rey2thi3eves",
        "ombrey1thieves",
        "gpt(OmbreyThieves)",
        "x=tessokcheatatcards",
        "Ombrey thieves",
        "O\u0301mbrey Thie\u0301ves",
        "Ombrey  ok",
        " ombrey",
        "theombreyneverreturnabooktothelibraryandnobodysaysanything",
        "Оmbrey",  # a Cyrillic letter
    ],
)
def test_texts_in_names_are_refused(name: str) -> None:
    assert find_problem(name, NAME, KNOWN) is not None
