"""Names and signatures that are published unchanged."""

import json
import re
from typing import Any

import pytest

from fcconan.building.quotations import Texts
from fcconan.data.forms import NAME
from fcconan.publishing.forms import clean_signature, find_problem
from fcconan.publishing.known_texts import KnownTexts

TEXTS = ("Ombrey thieves.", "The Ombrey never return a book to the library.", "Evidence?", "Tessok cheat at cards.")
KNOWN = KnownTexts((Texts(TEXTS),))
DATA = "data:demo@8f6317564d9b+lexical.parquet@b9ea1ef4667c"
PEOPLE = "people:simulated-annotator-1,simulated-annotator-2"
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


@pytest.mark.parametrize(
    "signature",
    [
        "fcconan:0.1.0|primary:mrr@10@gold|pairs:against-bm25|correction:max-t|tests:2-primary+62-exploratory|floor:0.003",
        f"fcconan:0.1.0|metric:mean-rating|{DATA}|{PEOPLE}|test:sign-flip|draws:300-by-item|sides:2|pairs:all"
        "|family:primary-default-and-exploratory-by-rater|tests:2x6+2x18|floor:0.00332|correction:max-t",
        f"fcconan:0.1.0|{DATA}|test:williams|sides:2|family:aspect-level-coefficient|tests:8x1+4x0|correction:holm",
        "audit|resamples:300|seed:0|confidence:0.95|refusals:39553c44|family:modal-share|tests:0|floor:none|v:0.1.0",
        f"fcconan:0.1.0|metric:bradley-terry+share|{DATA}+replies:demo@8f6317564d9b;majority|family:win-rates|length:words",
        "fcconan:0.1.0|metric:ndcg|data:a@1|ranks:quality-by-anna,ben,clara|scores:unified|ties:expected|incomplete:left-out",
        "fcconan:0.1.0|training:300-without-12-kin|people:anna,ben,clara,dora,emil",
        "fcconan:0.1.0|protocol:cross-validated|labels:1000-by-hs-and-cn|folds:100-and-10x5-by-leakage-group"
        "|unconfirmed:reverse",
        "fcconan:0.1.0|protocol:sound|unconfirmed:drop",
    ],
)
def test_signatures_of_all_commands_are_unchanged(signature: str) -> None:
    assert clean_signature(signature, frozenset(), KNOWN) == signature


@pytest.mark.parametrize(
    ("signature", "written"),
    [
        ("seed:the+ombrey+steal|depth:3", "withheld|depth:3"),
        ("data:the+ombrey|data:steal+bread|seed:0", "data:the+ombrey|withheld|seed:0"),  # a repeated key
        ("data:run-ombreythieves|seed:0", "withheld|seed:0"),
        ("data:the,ombrey,never|people:return,a,book,to,the,library|seed:0", None),
        ("data:tessok,cheat|metric:at,cards|seed:0", None),
        ("remark:hello|note:hello", None),
        ("data:a\nb|seed:0", "withheld|seed:0"),
    ],
)
def test_unknown_parts_of_signatures_are_withheld(signature: str, written: Any) -> None:
    assert json.dumps(clean_signature(signature, frozenset(), KNOWN)) == json.dumps(written)
