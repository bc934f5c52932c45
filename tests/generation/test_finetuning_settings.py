"""Presets against the papers, and settings that are out of range."""

import math
from dataclasses import replace
from typing import Any

import pytest

from fcconan.errors import InputError
from fcconan.generation.finetuning.settings import load_finetuning, preset_names


def test_presets_are_those_of_the_papers() -> None:
    assert preset_names() == ["pairwise-qlora", "pairwise-lora", "dialogpt"]
    paper = load_finetuning("pairwise-qlora")
    assert (paper.method, paper.rank, paper.alpha, paper.dropout) == ("qlora", 16, 16, 0.05)
    assert (paper.schedule, paper.batch_size, paper.epochs, paper.patience) == ("inverse_sqrt", 32, 10, 3)
    assert (min(paper.learning_rates), max(paper.learning_rates), paper.dtype) == (1e-6, 1e-3, "bfloat16")
    assert {1e-5, 6e-6, 2e-5, 1e-4, 3e-5, 1e-3} < set(paper.learning_rates)  # Table 3
    assert load_finetuning("pairwise-lora") == replace(paper, method="lora", dtype="auto")
    dialogpt = load_finetuning("dialogpt")
    assert (dialogpt.method, dialogpt.learning_rates, dialogpt.batch_size) == ("full", (5e-5,), 4)
    assert (dialogpt.epochs, dialogpt.patience) == (2, 0)
    assert load_finetuning("dialogpt", epochs=3, learning_rates=[1e-3], seed=None) == replace(
        dialogpt, epochs=3, learning_rates=(1e-3,)
    )


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"method": "prefix"}, "method: Input should be 'lora', 'qlora' or 'full'"),
        ({"rank": 0}, "rank: Input should be greater than or equal to 1"),
        ({"patience": -1}, "patience: Input should be greater than or equal to 0"),
        ({"dropout": 1.0}, "dropout: Input should be less than 1"),
        ({"learning_rates": ()}, "learning_rates: Tuple should have at least 1 item"),
        ({"learning_rates": (0.1, math.inf)}, "learning_rates.1: Input should be less than 1000"),
        ({"learning_rates": (1e38,)}, "learning_rates.0: Input should be less than 1000"),
        ({"learning_rates": (0.1, 0.1)}, r"the learning rates are \[0.1, 0.1\]: give each once"),
        ({"batch_size": 6, "accumulation": 4}, "a batch of 6 pairs has no 4 parts of one size"),
        ({"max_grad_norm": math.nan}, "max_grad_norm: Input should be"),
        ({"rang": 4}, "rang: Unexpected keyword argument"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        load_finetuning("pairwise-lora", **settings)


def test_a_preset_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InputError, match="there is no preset 'gpt': choose one of pairwise-qlora, pairwise-lora"):
        load_finetuning("gpt")
