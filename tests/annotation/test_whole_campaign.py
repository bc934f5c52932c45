"""A whole campaign without people, from two lists of texts to a dataset, with planted errors that are recovered."""

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from fcconan import Bootstrap, agree
from fcconan.annotation import VALIDATION, Campaign
from fcconan.data import read_rows
from tests.conftest import RunCli

OVERLAP = ("--overlap.2", 0.2, "--overlap.3", 0.8)


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.conftest import run_here

    folder = tmp_path_factory.mktemp("whole")

    def annotate(verb: str, *arguments: object) -> None:
        run = run_here("annotate", verb, folder / "campaign", *arguments)
        assert (run.returncode, run.stderr) == (0, ""), verb

    peoples = ("Ombrey", "Tessok", "Velmari", "Dravene", "Quillish", "Ostrun")
    hs = [f"The {people} spoil {thing}." for people in peoples for thing in ("the bread", "the games")]
    cn = [f"Bakers and players of year {year} praise them." for year in range(1900, 1925)]
    (folder / "hs.txt").write_text("\n".join(hs))
    (folder / "cn.txt").write_text("\n".join(cn))
    lists = ("--hs", folder / "hs.txt", "--cns", folder / "cn.txt")
    annotate("new", "--task", "appropriateness", *lists, "--seed", 1)
    with (folder / "campaign" / "raters.csv").open("a", encoding="utf-8") as file:
        file.writelines(f"annotator-{number},annotator,active\n" for number in range(1, 7))
        file.writelines(f"validator-{number},validator,active\n" for number in range(1, 3))
    annotate("assign", *OVERLAP)
    annotate("simulate", "--out", folder / "main", "--accuracy", 0.8, "--skip-rate", 0.01)
    annotate("import", *sorted((folder / "main").glob("*.csv")))
    assert agree(str(folder / "campaign"), bootstrap=Bootstrap(resamples=0)).to_frame()["n"][0] > 0
    annotate("adjudicate", "--json", folder / "adjudicated.json")
    annotate("validate", "--overlap.2", 0.1, "--resamples", 0)
    annotate("simulate", "--round", VALIDATION, "--out", folder / "validation", "--accuracy", 0.95)
    annotate("import", *sorted((folder / "validation").glob("*.csv")))
    annotate("validate", "--resamples", 0, "--json", folder / "validated.json")
    annotate("release", "--out", folder / "data", "--synthetic", "--json", folder / "release.json")
    run = run_here("build", folder / "data" / "recipe.yaml", "--out", folder / "release")
    assert (run.returncode, run.stderr) == (0, "")
    return folder


def truth_of(work: Path) -> dict[str, str]:
    return {row["unit_id"]: row["value"] for row in read_rows(work / "main" / "truth.jsonl")}


def loaded(work: Path, config: str) -> list[dict[str, Any]]:
    from datasets import load_dataset

    found: list[dict[str, Any]] = load_dataset(str(work / "release"), config, split="test").to_list()
    return found


def test_planted_labels_are_recovered_better_the_better_the_tier(work: Path) -> None:
    truth = truth_of(work)
    assert Counter(truth.values()) == {"not_appropriate": 249, "appropriate": 51}
    errors = {}
    for tier in ("diamond", "silver", "bronze"):
        rows = loaded(work, tier)
        errors[tier] = sum(row["label"] != truth[row["pair_id"]] for row in rows) / len(rows)
    assert max(errors["diamond"], errors["silver"]) <= 0.02 < 0.05 < errors["bronze"]


def test_the_numbers_of_every_step_fit_together(work: Path) -> None:
    adjudicated, validated, released = (
        json.loads((work / f"{name}.json").read_text())["tables"] for name in ("adjudicated", "validated", "release")
    )
    units = Counter[str]()
    for each in adjudicated["units"]:
        units[each["kind"]] += each["units"]
    assert (units["label"] + units["discarded"], units["pending"]) == (300, 0)
    states = {each["state"]: each["units"] for each in validated["validation"] if each["label"] == "all"}
    sizes = {each["config"]: each["rows"] for each in released["rows"] if each["split"] == "test"}
    assert sizes["bronze"] == units["label"] == len(loaded(work, "bronze"))
    assert (sizes["silver"], states["missing"]) == (states["agreed"], 0)
    checked = Counter(
        each.unit_id for each in Campaign(work / "campaign").answers(VALIDATION).values() if each.value is not None
    )
    assert validated["agreement"][0]["n"] == sum(number == 2 for number in checked.values()) > 20
    assert sizes["diamond"] <= sizes["gold"] <= sizes["silver"] < sizes["bronze"]
    assert len(loaded(work, "corpus")) == 25


def test_a_dataset_is_published_when_its_card_has_no_placeholder(work: Path, run_cli: RunCli, tmp_path: Path) -> None:
    shutil.copytree(work / "data", tmp_path / "data")
    recipe, folder = tmp_path / "data" / "recipe.yaml", tmp_path / "labels"
    for placeholder, stated, left in (
        ("", "", "card_licence, homepage, citation"),
        ("{unknown}", "{The people of Tarn}", "card_licence, homepage"),
        ("card_licence: unknown", "card_licence: cc-by-4.0", "homepage"),
        ("homepage: unknown", "homepage: null", ""),
    ):
        recipe.write_text(recipe.read_text("utf-8").replace(placeholder, stated), encoding="utf-8")
        assert run_cli("build", recipe, "--out", folder, "--labels-only", "--force").returncode == 0
        done = run_cli("publish", folder, "my-name/tarn", "--dry-run")
        if left:
            said = f"the card of campaign has placeholders, `unknown` in {left}: state them in the recipe"
            assert (done.returncode, done.stderr.count("\n"), said in done.stderr) == (2, 1, True), done.stderr
        else:
            assert (done.returncode, done.stderr) == (0, "")


def test_the_same_arguments_change_nothing(work: Path, run_cli: RunCli) -> None:
    def content() -> dict[str, bytes]:
        return {str(path.relative_to(work)): path.read_bytes() for path in work.rglob("*") if path.is_file()}

    before = content()
    simulated = ("--out", work / "main", "--accuracy", 0.8, "--skip-rate", 0.01, "--force")
    for verb, arguments in (
        ("simulate", simulated),
        ("import", sorted((work / "main").glob("*.csv"))),
        ("assign", OVERLAP),
        ("adjudicate", []),
        ("validate", []),
        ("release", ["--out", work / "data", "--synthetic", "--force"]),
    ):
        run = run_cli("annotate", verb, work / "campaign", *arguments)
        assert (run.returncode, run.stderr) == (0, ""), verb
    assert content() == before
