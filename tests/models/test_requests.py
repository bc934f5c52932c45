"""What a call refuses before any model sees it."""

from typing import Any

import pytest

from fcconan.errors import InputError
from fcconan.models.requests import Sampling


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temperature": -1.0}, "temperature is -1.0: give a number from 0"),
        ({"temperature": float("nan")}, "temperature is nan: give a number from 0"),
        ({"temperature": float("inf")}, "temperature is inf: give a number from 0"),
        ({"top_p": 0.0}, "top_p is 0.0: give a number above 0 and up to 1"),
        ({"top_p": 1.01}, "top_p is 1.01: give a number above 0 and up to 1"),
        ({"top_k": 0}, "top_k is 0: give a number from 1"),
        ({"max_tokens": 0}, "max_tokens is 0: give a number from 1"),
        ({"top_logprobs": -1}, "top_logprobs is -1: give a number from 0 to 20"),
        ({"top_logprobs": 21}, "top_logprobs is 21: give a number from 0 to 20"),
        ({"stop": ("a", "")}, "a stop string is empty: give words at which the answer ends, or none"),
    ],
)
def test_sampling_out_of_range_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        Sampling(**settings)
    assert str(error.value) == message


def test_sampling_at_the_ends_of_its_ranges_is_taken() -> None:
    least = Sampling(temperature=0.0, top_p=1e-9, max_tokens=1, top_logprobs=0)
    assert (least.temperature, least.top_p, least.max_tokens, least.top_logprobs) == (0.0, 1e-9, 1, 0)
    most = Sampling(temperature=None, top_p=1.0, max_tokens=None, top_logprobs=20, stop=("\n",))
    assert (most.temperature, most.top_p, most.max_tokens, most.top_logprobs, most.stop) == (
        None,
        1.0,
        None,
        20,
        ("\n",),
    )
