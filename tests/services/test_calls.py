"""Calls of services by users of Python."""

import inspect
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fcconan
from fcconan import services
from fcconan.errors import InputError

ROWS = [{"pair_id": pair, "rater": rater, "label": "appropriate"} for pair in ("hs1:cn1", "hs1:cn2") for rater in "ab"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"round": "main"}, "a dict, expected StatusOptions: give StatusOptions(round='main')"),
        (fcconan.TierOptions(), "a TierOptions, expected StatusOptions: give StatusOptions(...)"),
        (fcconan.TierOptions, "the class TierOptions, expected StatusOptions: give StatusOptions(...)"),
        (None, "a NoneType, expected StatusOptions: give StatusOptions(...)"),
    ],
)
def test_options_of_another_kind_are_refused(options: Any, message: str) -> None:
    with pytest.raises(InputError) as refused:
        fcconan.campaign_status("c", options)
    assert str(refused.value) == f"campaign_status: options is {message}"


def test_missing_and_unknown_arguments_are_named_with_the_function() -> None:
    with pytest.raises(TypeError, match=r"^campaign_status: got an unexpected keyword argument 'round'$"):
        fcconan.campaign_status("c", round="main")  # type: ignore[call-arg]


def test_objects_that_name_no_file_are_refused() -> None:
    with pytest.raises(InputError, match=r"^assign: campaign is a NoneType, expected a path or a name$"):
        fcconan.assign(None)  # type: ignore[arg-type]


def test_help_is_short() -> None:
    shown = str(inspect.signature(fcconan.campaign_status))
    assert shown.endswith(") -> fcconan.services.campaign_folders.StatusResult")
    assert repr(fcconan.StatusOptions(round=())) == "StatusOptions()"


def test_a_name_of_the_package_is_one_object() -> None:
    assert inspect.unwrap(fcconan.assign) is services.assign
    assert fcconan.list_datasets is services.list_datasets  # takes no options


def test_calls_and_results_can_be_sent_to_other_processes() -> None:
    assert pickle.loads(pickle.dumps(fcconan.assign)) is fcconan.assign
    found = fcconan.list_datasets()
    assert pickle.loads(pickle.dumps(found)).to_dict() == found.to_dict()


def test_lists_of_a_data_frame_are_lists() -> None:
    references = np.array(["They do pay."], dtype=object)  # as `read_parquet` and `to_pandas` give them
    replies = pd.DataFrame(
        [{"hate_speech": "They never pay.", "text": "They do pay.", "system": "A", "references": references}]
    )
    found = fcconan.metrics(replies, metric=("rouge-l",))
    assert found.to_frame()["value"].tolist() == [1.0]
