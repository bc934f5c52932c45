"""Calls of services by users of Python."""

import inspect
import pickle
from pathlib import Path
from typing import Any

import pytest

import fcconan
from fcconan import services
from fcconan.errors import InputError

VOTES = [{"pair_id": pair, "rater": rater, "label": "appropriate"} for pair in ("hs1:cn1", "hs1:cn2") for rater in "ab"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"resamples": 0}, "agree: options is a dict, expected AgreeOptions: give AgreeOptions(resamples=0)"),
        (
            fcconan.CorrelateOptions(),
            "agree: options is a CorrelateOptions, expected AgreeOptions: give AgreeOptions(...)",
        ),
        (
            fcconan.CorrelateOptions,
            "agree: options is the class CorrelateOptions, expected AgreeOptions: give AgreeOptions(...)",
        ),
        (None, "agree: options is a NoneType, expected AgreeOptions: give AgreeOptions(...)"),
    ],
)
def test_options_of_another_kind_are_refused(options: Any, message: str) -> None:
    with pytest.raises(InputError) as refused:
        fcconan.agree(VOTES, options)
    assert str(refused.value) == message


def test_missing_and_unknown_arguments_are_named_with_the_function() -> None:
    with pytest.raises(TypeError, match=r"^rate: missing a required argument: 'options'$"):
        fcconan.rate(VOTES)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^agree: got an unexpected keyword argument 'resamples'$"):
        fcconan.agree(VOTES, resamples=0)  # type: ignore[call-arg]


def test_messages_name_options_as_python_does() -> None:
    options = fcconan.RateOptions(model=("m", "n"), rater_name="us")
    with pytest.raises(
        InputError, match=r"^rater_name us is for one model: name one with model, and no learned rater$"
    ):
        fcconan.rate([{"hate_speech": "x", "text": "y"}], options)
    with pytest.raises(InputError, match=r"^--rater-name us is for one model: name one with --model, .*"):
        services.rate([{"hate_speech": "x", "text": "y"}], options)  # as the command calls it


def test_progress_is_a_function_or_none(tmp_path: Path) -> None:
    assert fcconan.build("demo", tmp_path / "demo", progress=False).manifest["name"] == "demo"
    options = fcconan.BenchOptions(system=("tfidf",), resamples=100, cache=False)
    lines: list[str] = []
    with_lines = fcconan.bench(tmp_path / "demo", options, progress=lines.append)
    assert lines == ["tfidf: ranking 60 CNs for 24 HS", "scoring"]
    assert fcconan.bench(tmp_path / "demo", options, progress=None).to_dict() == with_lines.to_dict()  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^bench: progress is True, expected a function: give one, or None$"):
        fcconan.bench(tmp_path / "demo", options, progress=True)  # type: ignore[arg-type]


def test_a_single_path_is_accepted_where_several_are() -> None:
    with pytest.raises(InputError, match=r"^the paper 'fc-cona' is unknown"):
        fcconan.reproduce("fc-cona")
    with pytest.raises(InputError, match=r"^the paper 'fc-cona' is unknown"):
        fcconan.reproduce(papers="fc-cona")


def test_objects_that_name_no_file_are_refused() -> None:
    with pytest.raises(InputError, match=r"^assign: campaign is a NoneType, expected a path or a name$"):
        fcconan.assign(None)  # type: ignore[arg-type]


def test_help_is_short() -> None:
    assert str(inspect.signature(fcconan.agree)).endswith(") -> fcconan.services.agreement.AgreeResult")
    assert repr(fcconan.AgreeOptions(resamples=0, seed=0)) == "AgreeOptions(resamples=0)"


def test_a_name_of_the_package_is_one_object() -> None:
    assert fcconan.agree is fcconan.agree
    assert inspect.unwrap(fcconan.agree) is services.agree
    assert fcconan.list_datasets is services.list_datasets  # takes no options


def test_calls_and_results_can_be_sent_to_other_processes() -> None:
    assert pickle.loads(pickle.dumps(fcconan.agree)) is fcconan.agree
    found = fcconan.agree(VOTES, fcconan.AgreeOptions(resamples=0))
    assert pickle.loads(pickle.dumps(found)).to_dict() == found.to_dict()
