"""What a model is asked about a message."""

import json
from pathlib import Path
from typing import Any

import pytest

from fcconan.errors import InputError
from fcconan.generation.decoding import load_decoding
from fcconan.generation.items import PromptContext
from fcconan.generation.prompts import load_generation_prompt, prompt_names
from fcconan.generation.requests import DEFAULT_PROMPTS, NO_BACKGROUND, GenerationPlan, default_name
from tests.generation.said import ITEMS, OMBREY, Fixed, drawing, example, plan

THREE = Fixed(example(1), example(2), example(3))


class Known:
    """Background for one message."""

    def __init__(self) -> None:
        self.configuration = {"passages": "12"}

    def __call__(self, row: Any) -> str | None:
        return "One.\n\nTwo." if row["hate_speech"] == OMBREY else None


PLANS = {
    "zero-shot": plan(),
    "few-shot": plan(examples=THREE),
    "grounded": plan("grounded", background=Known()),
}


@pytest.mark.parametrize("strategy", PLANS)
def test_the_strategy_follows_from_what_is_shown(strategy: str) -> None:
    found = PLANS[strategy]
    assert found.strategy == strategy
    assert found.prompt.name == DEFAULT_PROMPTS[strategy]
    assert DEFAULT_PROMPTS[strategy] in prompt_names()
    said = json.loads(json.dumps(found.configuration))
    assert said["strategy"] == strategy
    assert (said["prompt"]["name"], said["prompt"]["hash"]) == (DEFAULT_PROMPTS[strategy], found.prompt.hash)
    assert said["prompt"]["messages"][-1] == {"role": "user", "content": "{{hate_speech}}"}
    assert (said["decoding"]["name"], said["seed"]) == ("greedy", 0)
    sources = {name: said[name] for name in ("examples", "background") if said[name] is not None}
    assert (
        sources
        == {
            "zero-shot": {},
            "few-shot": {"examples": THREE.configuration},
            "grounded": {"background": {"passages": "12"}},
        }[strategy]
    )


def test_every_candidate_is_a_call_with_a_seed_of_its_own() -> None:
    asked = plan(decoding=drawing(3, "random", top_k=7), seed=10)
    calls = asked.calls(ITEMS[0], PromptContext())
    assert [(call.sample, call.sampling.seed) for call in calls] == [(0, 10), (1, 11), (2, 12)]
    assert {(call.sampling.temperature, call.sampling.top_k) for call in calls} == {(1.0, 7)}
    assert {call.messages[-1]["content"] for call in calls} == {OMBREY}
    assert calls[0].variables["hate_speech"] == OMBREY
    without = plan(decoding=drawing(3), seed=None).calls(ITEMS[0], PromptContext())
    assert [(call.sample, call.sampling.seed) for call in without] == [(0, None), (1, None), (2, None)]


def test_examples_are_turns_before_the_message() -> None:
    asked = PLANS["few-shot"]
    shown, reason = asked.shown(ITEMS[0])
    assert reason is None
    assert [each.pair_id for each in shown.examples] == ["p1", "p2", "p3"]
    (call,) = asked.calls(ITEMS[0], shown)
    assert [message["role"] for message in call.messages] == ["system", *["user", "assistant"] * 3, "user"]
    assert [message["content"] for message in call.messages[1:3]] == ["Message 1.", "Answer 1."]


def test_background_comes_in_passages_and_its_want_is_a_reason() -> None:
    asked = PLANS["grounded"]
    assert asked.shown(ITEMS[0]) == (PromptContext(background=("One.", "Two.")), None)
    assert asked.shown(ITEMS[1]) == (PromptContext(), NO_BACKGROUND)
    (call,) = asked.calls(ITEMS[0], asked.shown(ITEMS[0])[0])
    assert "One.\n\nTwo." in call.messages[0]["content"]


def test_the_want_of_examples_is_no_reason() -> None:
    nothing = Fixed(example(1), nothing=[ITEMS[1].item_id])
    assert plan(examples=nothing).shown(ITEMS[1]) == (PromptContext(), None)


@pytest.mark.parametrize(
    ("task", "settings", "message"),
    [
        ("brief", {"background": Known()}, "the prompt brief shows no background knowledge: choose one with {{backgro"),
        ("grounded", {}, "the prompt grounded shows background knowledge, and there is none: give --background FOLDER"),
    ],
)
def test_prompts_and_what_is_shown_must_go_together(task: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as refused:
        plan(task, **settings)
    assert str(refused.value).startswith(message)


def test_examples_are_prepared_with_all_items_at_once() -> None:
    examples = Fixed(example(1))
    plan(examples=examples).prepare(iter(ITEMS))
    assert examples.prepared == [[each.item_id for each in ITEMS]]


def test_names_say_what_differs_from_the_usual(tmp_path: Path) -> None:
    own = tmp_path / "mine.yaml"
    own.write_text('- role: user\n  content: "{{hate_speech}}"\n')
    greedy = load_decoding("greedy")
    two = Fixed(example(1), example(2))
    lexical, dense, usual = Fixed(example(1)), Fixed(example(1), example(2)), Fixed(*[example(1)] * 3)
    lexical.configuration["encoder"] = "tfidf"
    dense.configuration["encoder"] = {"model": "owner/encoder"}
    usual.configuration["encoder"] = {"model": "all-MiniLM-L6-v2"}
    found = [
        default_name(each)
        for each in (
            *PLANS.values(),
            plan(examples=two),
            plan(examples=lexical),
            plan(examples=dense),
            plan(examples=usual),
            plan("plain", seed=3),
            plan(decoding=load_decoding("one-line"), seed=None),
            plan(decoding=greedy.override(max_tokens=20, stop=("\n",))),
            plan("grounded", background=Known(), examples=THREE),
            GenerationPlan(load_generation_prompt(own), greedy),
        )
    ]
    assert found == [
        *PLANS,
        "few-shot-2-examples",
        "few-shot-1-example-tfidf",
        "few-shot-2-examples-encoder",
        "few-shot",
        "zero-shot-plain-seed-3",
        "zero-shot-one-line-no-seed",
        "zero-shot-max_tokens=20-stop=-n",
        "grounded-3-examples",
        "zero-shot-mine",
    ]
    assert default_name(plan(), "zephyr") == "zero-shot-zephyr"
    assert default_name(plan(), str(tmp_path / "own.jinja")) == "zero-shot-own"
