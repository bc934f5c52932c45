"""Settings of decoding: the values of the papers, and what does not go together."""

from typing import Any

import pytest

from fcconan.errors import InputError
from fcconan.generation.decoding import Decoding, load_decoding
from fcconan.models.requests import Sampling

PRESETS = ("greedy", "paper-zero-shot", "one-line", "top-pk")


def test_presets_have_the_values_of_the_papers() -> None:
    assert [load_decoding(name) for name in PRESETS] == [
        Decoding("greedy", temperature=0, max_tokens=512),
        Decoding("paper-zero-shot", temperature=1, max_tokens=512),
        Decoding("one-line", temperature=0, max_tokens=512, stop=("\n",)),
        Decoding("top-pk", temperature=1, top_p=0.92, top_k=40, max_tokens=156, candidates=5, pick="random"),
    ]


def test_sampling_is_that_of_the_settings() -> None:
    assert load_decoding("top-pk").sampling(7) == Sampling(
        temperature=1, max_tokens=156, top_p=0.92, top_k=40, stop=(), seed=7
    )
    assert load_decoding("one-line").sampling(0) == Sampling(temperature=0, max_tokens=512, stop=("\n",), seed=0)


def test_a_changed_setting_is_in_the_name() -> None:
    preset = load_decoding("top-pk")
    changed = preset.override(temperature=0.7, top_p=0.92, stop=["\n"])
    assert changed == Decoding(
        "top-pk, temperature=0.7, stop=['\\n']", 0.7, 0.92, 40, 156, stop=("\n",), candidates=5, pick="random"
    )
    assert preset.override() == preset.override(top_k=40) == preset
    assert preset.override(top_k=None).name == "top-pk, top_k=None"
    assert preset.override(candidates=1) == Decoding("top-pk, candidates=1, pick=None", 1, 0.92, 40, 156)
    assert changed.configuration == {
        "name": "top-pk, temperature=0.7, stop=['\\n']",
        "temperature": 0.7,
        "top_p": 0.92,
        "top_k": 40,
        "max_tokens": 156,
        "stop": ["\n"],
        "candidates": 5,
        "pick": "random",
    }


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"candidates": 2}, "there are 2 candidates: choose the selection (pick): first, random"),
        (
            {"candidates": 2, "pick": "random"},
            "2 candidates at temperature 0 are all the same: give a higher one, or 1",
        ),
        ({"pick": "random"}, "a single candidate needs no selection (random): request several candidates"),
        ({"stop": ["a", ""]}, "a stop string is empty: give words at which the answer ends, or none"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        load_decoding("greedy").override(**settings)
    assert str(caught.value) == message


def test_unknown_presets_are_refused() -> None:
    with pytest.raises(InputError) as caught:
        load_decoding("topk")
    assert str(caught.value) == (
        "unknown decoding 'topk': did you mean 'top-pk'? known are greedy, paper-zero-shot, one-line, top-pk"
    )
