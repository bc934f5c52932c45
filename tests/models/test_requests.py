"""What a call refuses before any model sees it."""

import pytest

from fcconan.errors import InputError
from fcconan.models.requests import Sampling


def test_an_empty_stop_string_is_refused() -> None:
    with pytest.raises(InputError, match=r"^a stop string is empty: give words at which the answer ends, or none$"):
        Sampling(stop=("a", ""))


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
