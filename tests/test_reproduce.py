"""`fcconan.reproduce` without upstream files: the form of a result, statuses, users' mistakes."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fcconan import InputError, reproduce
from fcconan.building import load_recipe
from fcconan.reproduction import STATUSES, load_paper, paper_names, parse_printed, status_of
from tests.conftest import RunCli

TRAINING = ("text 3", "training-pairs", "count")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of datasets, in which `multi-aspect` has three invented training pairs."""
    built = tmp_path / "datasets" / "multi-aspect"
    table = built / "pairs" / "train-00000-of-00001.parquet"
    table.parent.mkdir(parents=True)
    pairs = [{"hate_speech": "Every Tessok cheats.", "counter_narrative": f"Not {n} did."} for n in range(3)]
    pd.DataFrame(pairs).to_parquet(table)
    written = {"sha256": hashlib.sha256(table.read_bytes()).hexdigest(), "bytes": table.stat().st_size}
    manifest = {"format": 1, "name": "multi-aspect", "labels_only": False, "tier_rule": None} | {
        "package": {"name": "fcconan", "version": "0"},
        "fingerprint": "0123456789ab",
        "versions": {"pairs": "1"},
        "counts": {"pairs": {"train": 3}},
        "files": {"pairs/train-00000-of-00001.parquet": written},
    }
    (built / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return tmp_path / "datasets"


def test_every_printed_value_has_a_row_in_the_order_of_the_paper(folder: Path) -> None:
    found = reproduce("multi-aspect", data_dir=folder)
    values = found.to_frame("values").set_index(["table", "row", "column"])
    printed = [(table.id, row, column, each) for table, row, column, each in load_paper("multi-aspect").cells()]
    assert [(*key, each) for key, each in values["published"].items()] == printed
    counted = values.loc[TRAINING]
    assert counted[["published", "recomputed", "status", "note"]].tolist() == ["4003", 3.0, "differs", ""]
    assert counted["source"] == "OSU-NLP-Group/LLM-CN-Eval/src/data/multitargetCONAN_train.csv"
    assert counted["command"] == "fcconan build multi-aspect --out multi-aspect"
    others = values.drop(TRAINING)
    assert others["recomputed"].isna().all() and (others[["source", "command"]] == "").all().all()
    assert (others["status"] == "not_released").all() and (others["note"] != "").all()
    summary = found.to_frame()
    assert summary["n"].sum() == 2 * len(values) and set(summary["status"]) == set(STATUSES)
    whole = summary[summary["table"] == "all"].set_index("status")["n"]
    assert whole[whole > 0].to_dict() == {"differs": 1, "not_released": 1051}
    assert found.signature.endswith("|reproduce|papers:multi-aspect|data:multi-aspect@0123456789ab")


def test_the_command_writes_json_and_a_page(folder: Path, tmp_path: Path, run_cli: RunCli) -> None:
    done = run_cli(
        "reproduce", "multi-aspect", "--data-dir", folder, "--json", tmp_path / "x.json", "--report", tmp_path / "page"
    )
    assert done.returncode == 0, done.stderr
    tables = json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))["tables"]
    assert len(tables["values"]) == 1052 and tables["values"][0]["recomputed"] is None
    page = (tmp_path / "page" / "index.html").read_text(encoding="utf-8")
    assert page.count("<tr data-choice=") == 1052 + 21


def test_mistakes_are_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="the paper 'fc' is unknown: choose among cseval, fc-conan, multi-aspect, pai"):
        reproduce("multi-aspect", "fc", data_dir=folder)
    with pytest.raises(InputError, match="unknown model 'mpnet': did you mean 'sbert-mpnet'"):
        reproduce("multi-aspect", data_dir=folder, model={"mpnet": "folder"})
    built = folder / "multi-aspect"
    table = next(built.glob("pairs/*"))
    table.write_bytes(table.read_bytes() + b" ")
    with pytest.raises(InputError, match=r"parquet was changed after the build: remove .* to build it again"):
        reproduce("multi-aspect", data_dir=folder)
    manifest = (built / "manifest.json").read_text(encoding="utf-8")
    (built / "manifest.json").write_text(manifest.replace('"labels_only": false', '"labels_only": true'))
    with pytest.raises(InputError, match="is not multi-aspect with its texts: give another --data-dir"):
        reproduce("multi-aspect", data_dir=folder)


@pytest.mark.parametrize("paper", paper_names())
def test_sources_are_pinned_files(paper: str) -> None:
    named = {name for table in load_paper(paper).tables for remark in table.remarks for name in remark.source}
    for name in named:
        recipe, _, pattern = name.rpartition("/")
        keys = pd.Index([*(load_recipe(recipe).sources if recipe else load_paper(paper).sources)])
        assert keys.str.fullmatch(pattern.replace("*", ".*")).any(), name


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        (".50", (0.5, 0.01, "")),
        ("4,078", (4078, 1, "")),
        ("≈11.49%", (11.49, 0.01, "")),
        (">63", (63, 1, ">")),
        ("1e-5", (1e-5, 1e-5, "")),
        ("-.05*", (-0.05, 0.01, "")),
    ],
)
def test_a_printed_value_has_a_number_and_a_unit(printed: str, expected: tuple[Any, ...]) -> None:
    assert [*parse_printed(printed)] == [expected[0], pytest.approx(expected[1]), expected[2]]


@pytest.mark.parametrize("printed", ["", "-", "1,23", "1.2.3", "nan", "0.5 (0.1)", "%"])
def test_other_texts_are_not_numbers(printed: str) -> None:
    with pytest.raises(ValueError, match="is not a number"):
        parse_printed(printed)


@pytest.mark.parametrize(
    ("printed", "value", "status"),
    [
        (".22", 0.2249, "exact"),
        (".22", 0.215, "exact"),  # a half is rounded up or to even
        (".22", 0.2299, "rounding"),  # cut off
        (".22", 0.2301, "differs"),
        (".22", None, "differs"),
        (".22", float("nan"), "differs"),
        ("11.49%", 11.4988, "rounding"),
        ("4,040", 4040.0, "exact"),
        ("129", 130.0, "differs"),  # a count is not rounded
        ("23", 23.4, "exact"),
        ("≈46", 46.80625, "rounding"),
        (">63", 63.01, "exact"),
        (">63", 63.0, "differs"),
        ("1e-5", 1.4e-5, "exact"),
        (".50", 0.4951, "exact"),
        (".50", 0.4911, "differs"),  # neither truncation nor double rounding increases the value so far
        ("0.626", 0.62546, "rounding"),  # 0.6255, then 0.626
        ("0.626", 0.625496, "rounding"),  # 0.62550, then 0.626
        ("0.626", 0.62544, "differs"),
        ("-0.05", -0.0599, "rounding"),
        ("-0.06", -0.05496, "rounding"),
        ("-0.06", -0.0539, "differs"),
    ],
)
def test_the_status_of_a_value(printed: str, value: float | None, status: str) -> None:
    assert status_of(parse_printed(printed), value) == status
