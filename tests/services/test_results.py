"""Results as objects, JSON, files and tables."""

import json
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from fcconan.errors import InputError
from fcconan.services import Result

DATA = {"signature": "fcconan:1|x:y", "rows": [{"name": "b", "value": 0.5}, {"name": "a", "value": None}], "n": 2}


def test_a_result_is_its_json_object(tmp_path: Path) -> None:
    result = Result(DATA)
    assert result.to_dict() == DATA
    assert result.signature == "fcconan:1|x:y"
    assert json.loads(result.to_json()) == DATA
    text = result.to_json(tmp_path / "r.json")
    assert (tmp_path / "r.json").read_text(encoding="utf-8") == text + "\n"
    assert repr(result) == "Result(2 rows, signature='fcconan:1|x:y')"
    with pytest.raises(FrozenInstanceError):
        result.data = {}  # type: ignore[misc]


def test_the_main_table_keeps_the_order_of_its_rows() -> None:
    frame = Result(DATA).to_frame()
    assert list(frame.columns) == ["name", "value"]
    assert frame["name"].tolist() == ["b", "a"]


def test_a_number_that_json_cannot_express_is_no_result(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"JSON cannot express .*: report this bug"):
        Result({"rows": [float("inf")]}).to_json(tmp_path / "r.json")
    with pytest.raises(InputError, match=r"cannot be written .*: choose another --json file"):
        Result(DATA).to_json(tmp_path)
    assert list(tmp_path.iterdir()) == []
