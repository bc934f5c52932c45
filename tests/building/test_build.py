"""`build` and `list`: dataset folders, their cards and manifests, and mistakes in recipes and files."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml
from datasets import get_dataset_config_names, get_dataset_default_config_name, load_dataset

import fcconan
from fcconan.building import dataset_folder, read_card
from fcconan.data import PAIR, REPLY, VOTE, describe_column, file_sha256, read_manifest, recipe_names, without_text
from fcconan.errors import InputError
from tests import small


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def rows(folder: Path, config: str, split: str = "test") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(folder / config / f"{split}-00000-of-00001.parquet").to_pylist()
    return found


@pytest.fixture
def recipe(tmp_path: Path) -> str:
    return str(small.write_small(tmp_path / "upstream"))


def test_the_folder_has_tables_card_and_manifest(tmp_path: Path, recipe: str) -> None:
    found = fcconan.build(recipe, out=tmp_path / "out")
    files = contents(tmp_path / "out")
    splits = {f"{row.config}/{row.split}-00000-of-00001.parquet": row.rows for row in found.to_frame().itertuples()}
    assert files.keys() == {*splits, "README.md", "manifest.json"}
    assert splits["gold/test-00000-of-00001.parquet"] == 6
    manifest = read_manifest(tmp_path / "out")
    assert manifest["files"].keys() == files.keys() - {"manifest.json"}
    assert all(file_sha256(tmp_path / "out" / name) == about["sha256"] for name, about in manifest["files"].items())
    assert manifest["restricted_columns"]["corpus"] == ["text"]
    assert {source["name"] for source in manifest["sources"]} == {*small.NESTED, "pool", "queries", "train"}
    assert found.signature.endswith(f"|build|data:small@{manifest['fingerprint']}|tier_rule:released")
    fcconan.build(recipe, out=tmp_path / "out")  # replaces it
    assert contents(tmp_path / "out") == files


def test_a_changed_row_changes_the_version_of_its_config(tmp_path: Path, recipe: str) -> None:
    fcconan.build(recipe, out=tmp_path / "before")
    train = [{"source_id": key, "hate_speech": hs, "counter_narrative": cn} for key, hs, cn in small.TRAIN]
    train[0]["counter_narrative"] += " Come and listen."
    small.write_csv(tmp_path / "upstream" / "train.csv", train)
    small.write_recipe(tmp_path / "upstream")
    fcconan.build(recipe, out=tmp_path / "after")
    before, after = (read_manifest(tmp_path / name) for name in ("before", "after"))
    assert {name for name in before["versions"] if after["versions"][name] != before["versions"][name]} == {"train"}
    assert before["fingerprint"] != after["fingerprint"]


def test_a_labels_only_folder_has_no_text(tmp_path: Path, recipe: str) -> None:
    fcconan.build(recipe, out=tmp_path / "out", labels_only=True)
    texts = {*small.HS, *small.CN, *(text for row in small.TRAIN for text in row[1:])}
    for name, content in contents(tmp_path / "out").items():
        assert not any(text.encode() in content for text in texts if len(text) >= 20), name
    assert "counter_narrative" not in rows(tmp_path / "out", "gold")[0]
    text = Path(recipe).read_text(encoding="utf-8")
    Path(recipe).write_text(text.replace("motivation: ", f"motivation: As in “{small.HS[0]}”, ", 1), encoding="utf-8")
    with pytest.raises(InputError, match="quotes a text"):
        fcconan.build(recipe, out=tmp_path / "quoting", labels_only=True)


def test_the_card(tmp_path: Path, recipe: str) -> None:
    fcconan.build(recipe, out=tmp_path / "out")
    text = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    # Bronze: 10 pairs, 4 appropriate, 7 confirmed; of the training pairs no validator saw any.
    # Gold: 6 pairs, 3 HS; words per CN: 11, 1, 1, 13 for the four texts of HS 0, then 1, then 11.
    assert "| `gold` | `test` | 6 | 3 | 6 | 0 | 0 | 3 | 4 | 2.00 | 6.33 |" in text
    assert "| `bronze` | `test` | 10 | 4 | 7 | 3 | 0 | 3 | 4 |" in text
    assert "| `train` | `train` | 2 | 2 | 0 | 0 | 2 |" in text
    for heading in ("Motivation", "Composition", "Collection", "Tiers", "Agreement", "Uses and misuse", "Terms"):
        assert f"\n## {heading}\n" in text
    assert all(mark not in text for mark in ("{%", "object at 0x"))
    card = read_card(tmp_path / "out")
    assert (card["title"], card["license"], card["homepage"]) == ("Small", "apache-2.0", "https://example.org/small")
    assert card["pretty_name"] == "Small (synthetic)"
    assert card["citation"] == "@misc{small, title = {{Small}}}"
    assert text.count("```bibtex\n") == 2
    assert f"author = {{{{The fcconan maintainers}}}},\n  version = {{{fcconan.__version__}}}," in text
    configs = {config["config_name"]: config for config in card["configs"]}
    assert configs["gold-corpus"]["data_files"] == configs["corpus"]["data_files"]
    assert configs["gold-corpus"]["version"] == read_manifest(tmp_path / "out")["versions"]["corpus"]
    assert [name for name, config in configs.items() if config.get("default")] == ["gold"]


@pytest.mark.slow
def test_datasets_loads_every_config(demo: Path, tmp_path: Path) -> None:
    fcconan.build("demo", out=tmp_path / "labels", labels_only=True)
    manifest = read_manifest(demo)
    assert {*get_dataset_config_names(str(demo))} == {*manifest["versions"]}
    assert get_dataset_default_config_name(str(demo)) == "gold"
    columns = {"gold": PAIR.kinds, "replies": REPLY.kinds, "votes": VOTE.kinds}
    for folder, kept in ((demo, dict), (tmp_path / "labels", without_text)):
        for config in manifest["versions"]:
            loaded = load_dataset(str(folder), config, cache_dir=str(tmp_path / "cache"))
            counts = manifest["counts"][manifest["aliases"].get(config, config)]
            assert {split: part.num_rows for split, part in loaded.items()} == counts
            if config in columns:
                assert [*loaded["test"].features] == [*kept(columns[config])]


def test_datasets_loads_tiers_without_votes(tmp_path: Path) -> None:
    path = tmp_path / "bronze.csv"
    lines = ["hate_speech,counter_narrative,label,valid", "Ombrey steal books.,The list shows none missing.,1,1"]
    path.write_text("\n".join([*lines, "Tessok cheat.,The list shows none missing.,0,1"]), encoding="utf-8")
    sources = {"bronze": small.pinned(path, lines[0].split(","))}
    base = small.recipe_data(tmp_path / "nothing") | {"expect_by_tier_rule": {}, "sources": sources}
    expect = {"rows": {}, "optional_splits": ["test"]}
    fcconan.build(str(small.write_recipe(tmp_path, base | {"expect": expect})), out=tmp_path / "out")
    assert "gold" not in get_dataset_config_names(str(tmp_path / "out"))
    loaded = load_dataset(str(tmp_path / "out"), split="test", cache_dir=str(tmp_path / "cache"))
    assert list(loaded["label"]) == ["appropriate", "not_appropriate"]


def test_the_demo(demo: Path) -> None:
    pairs = rows(demo, "bronze")
    assert (len({pair["hs_id"] for pair in pairs}), len({pair["cn_id"] for pair in pairs})) == (24, 60)
    assert {pair["n_votes"] for pair in pairs} == {1, 2, 3}
    counts = {tier: len(rows(demo, tier)) for tier in ("diamond", "gold", "silver", "bronze")}
    assert counts == {"diamond": 747, "gold": 973, "silver": 1301, "bronze": 1440}
    train = rows(demo, "train", "train")
    assert not {pair["hs_id"] for pair in train} & {pair["hs_id"] for pair in pairs}
    missing = [row for row in rows(demo, "ratings") if row["value"] is None]
    assert {(row["rater"], row["reason"]) for row in missing} == {("simulated-judge", "parse_failed")}
    invalid = [row for row in rows(demo, "comparisons") if row["verdict"] == "invalid"]
    assert {(row["rater"], row["reason"]) for row in invalid} == {("simulated-judge", "no_scores")}
    assert "**Synthetic data.**" in (demo / "README.md").read_text(encoding="utf-8")
    for path in demo.glob("*/*.parquet"):
        assert all(describe_column(path.parent.name, column) for column in pq.read_schema(path).names)


def test_a_dataset_of_the_catalogue_is_built_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = dataset_folder("demo")
    assert read_manifest(folder)["name"] == "demo"
    assert capsys.readouterr().err.startswith("note: building demo into ")
    assert dataset_folder("demo") == folder
    assert capsys.readouterr().err == ""
    assert dataset_folder(tmp_path) == tmp_path


def test_list() -> None:
    found = fcconan.list_datasets()
    table = found.to_frame().set_index("name")
    assert [*table.index] == recipe_names()
    assert table.loc["fc-conan", ["languages", "redistributable", "rows"]].tolist() == ["en", False, 4897]
    assert {"appropriateness", "cseval", "pairwise"} <= {*found.tables["tasks"]["name"]}
    splits = found.tables["splits"].set_index(["name", "config", "split"])["rows"]
    assert splits["fc-conan", "gold", "test"] == 663


def _changed(recipe: str, change: Callable[[dict[str, Any]], object]) -> None:
    data = yaml.safe_load(Path(recipe).read_text(encoding="utf-8"))
    change(data)
    Path(recipe).write_text(yaml.safe_dump(data), encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data.pop("title"), "title"),
        (lambda data: data.update(sumary="x"), "sumary: unknown key"),
        (lambda data: data["sources"]["gold"].update(sha256="0" * 64), "gold.csv has sha256"),
        (lambda data: data["sources"]["gold"].update(path="gone.csv"), "gone.csv is missing"),
        (lambda data: data["sources"].pop("bronze"), "recipe 'small' has no file 'bronze', which kind 'exhaustive'"),
        (lambda data: data["sources"]["bronze"]["columns"].pop("label"), "bronze.csv has no 'label': map a column"),
        (
            lambda data: data["sources"]["bronze"]["columns"].update(label="lable"),
            "bronze.csv has 0 columns 'lable', expected one: did you mean 'label'?",
        ),
        (
            lambda data: data["expect"]["rows"]["gold"].update(test=7),
            "gold/test rows: found 6, expected 7; correct `ex",
        ),
        (lambda data: data["expect"]["facts"].update(pool=9), "pool: found 3, expected 9"),
        (lambda data: data.update(tier_rule="strickt"), "unknown tier rule 'strickt'"),
    ],
)
def test_mistakes_in_a_recipe(
    tmp_path: Path, recipe: str, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    _changed(recipe, change)
    with pytest.raises(InputError) as caught:
        fcconan.build(recipe, out=tmp_path / "out")
    assert message in str(caught.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("separator", "encoding"), [(";", "cp1252"), ("\t", "utf-16")])
def test_files_of_spreadsheets_give_the_same_tables(tmp_path: Path, recipe: str, separator: str, encoding: str) -> None:
    fcconan.build(recipe, out=tmp_path / "out")
    for path in (tmp_path / "upstream").glob("*.csv"):
        cells = list(csv.reader(path.read_text("utf-8").splitlines()))
        with path.open("w", newline="", encoding=encoding) as file:
            csv.writer(file, delimiter=separator).writerows(cells)
    small.write_recipe(tmp_path / "upstream")
    fcconan.build(recipe, out=tmp_path / "sheets")
    found, expected = (contents(tmp_path / name) for name in ("sheets", "out"))
    assert all(found[name] == content for name, content in expected.items() if name.endswith(".parquet"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"hate_speech;more\nOne;two;three\n", "queries.csv cannot be read (row 2 has 3 cells, the header 2"),
        (b"hate_speech\nOmbrey \x81\n", "queries.csv cannot be read ('charmap' codec"),
        (b"hate_speech,more\nOmbrey,1\n ,2\n", "queries.csv, row 3: hate_speech is empty (1 empty texts, expected 0)"),
    ],
)
def test_mistakes_in_a_file(tmp_path: Path, recipe: str, content: bytes, message: str) -> None:
    (tmp_path / "upstream" / "queries.csv").write_bytes(content)
    small.write_recipe(tmp_path / "upstream")
    with pytest.raises(InputError) as caught:
        fcconan.build(recipe, out=tmp_path / "out")
    assert message in str(caught.value)


def test_mistakes_in_options(tmp_path: Path, recipe: str) -> None:
    with pytest.raises(InputError, match="did you mean 'demo'"):
        fcconan.build("demmo", out=tmp_path / "out")
    with pytest.raises(InputError, match="unknown tier rule 'mine': known are released, strict"):
        fcconan.build(recipe, out=tmp_path / "out", tier_rule="mine")
    with pytest.raises(InputError, match="recipe 'mt-conan' has no tiers: leave --tier-rule out"):
        fcconan.build("mt-conan", out=tmp_path / "out", tier_rule="strict")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work", encoding="utf-8")
    with pytest.raises(InputError, match=r"has files but no manifest\.json, expected a new folder or a dataset"):
        fcconan.build(recipe, out=tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.txt"]


HS, CN = {"hs-1": "The Ombrey never read."}, {"cn-1": "They do.", "cn-2": "Go away.", "cn-3": "Lists differ."}
CAMPAIGN = {  # file -> header and rows
    "hs": ["hs_id,text,hs_type", *(f"{key},{text},books" for key, text in HS.items())],
    "cn": ["cn_id,text,age", *(f"{key},{text},30" for key, text in CN.items())],
    "pairs": [
        "pair_id,label,valid,n_validators,reason",
        "hs-1:cn-1,appropriate,1,1,",
        "hs-1:cn-2,not_appropriate,,0,",  # no validator saw it
        "hs-1:cn-3,,,0,unresolved",
    ],
    "votes": [
        "pair_id,rater,role,round,label",
        "hs-1:cn-1,anna,annotator,main,appropriate",
        "hs-1:cn-1,ben,annotator,main,appropriate",
        "hs-1:cn-2,anna,annotator,main,not_appropriate",
        "hs-1:cn-3,anna,annotator,main,not_sure",
    ],
    "replies": [
        "reply_id,item_id,hs_id,hate_speech,text,system,references",
        'r1,i1,hs-1,The Ombrey never read.,They do.,kite,"[""Lists differ.""]"',
        "r2,i1,hs-1,The Ombrey never read.,Go away.,lark,",
    ],
    "ratings": [
        "reply_id,rater,role,round,aspect,value",
        "r1,anna,annotator,main,tone,4",
        "r1,ben,annotator,main,tone,5",
        "r2,anna,annotator,main,tone,",
    ],
    "grades": ["reply_id,valid,n_validators", "r1,1,2"],
    "comparisons": [
        "reply_a,reply_b,rater,role,round,verdict,reason",
        "r1,r2,anna,annotator,main,a,",
        "r1,r2,ben,annotator,main,invalid,skipped",
    ],
    "labels": ["reply_a,reply_b,verdict,reason,decided,valid,n_validators", "r1,r2,a,,majority,,0"],
}  # fmt: skip


def _campaign(folder: Path, **parts: Any) -> Path:
    sources = {}
    for name, lines in CAMPAIGN.items():
        path = folder / f"{name}.csv"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        sources[name] = small.pinned(path, lines[0].split(","))
    base = small.recipe_data(folder / "nothing") | {"kind": "campaign", "expect_by_tier_rule": {}, "sources": sources}
    expect = {"rows": {}, "optional_splits": ["test", "left_out"]}
    base |= {"aspects": {"tone": {"low": 1, "high": 5}}, "expect": expect}
    return small.write_recipe(folder, base | parts)


def test_a_campaign(tmp_path: Path) -> None:
    found = fcconan.build(str(_campaign(tmp_path)), out=tmp_path / "out")
    bronze = rows(tmp_path / "out", "bronze")
    assert [(row["tier"], row["valid"], row["n_validators"], row["hs_type"], row["age"]) for row in bronze] == [
        ("diamond", True, 1, "books", 30),
        ("bronze", None, 0, "books", 30),
    ]
    assert [row["rater"] for row in rows(tmp_path / "out", "votes", "left_out")] == ["anna"]
    assert len(rows(tmp_path / "out", "corpus")) == 3
    ratings = rows(tmp_path / "out", "ratings")
    assert [(row["value"], row["reason"]) for row in ratings] == [(4, None), (5, None), (None, "not_rated")]
    (grade,) = rows(tmp_path / "out", "grades")
    assert (grade["value"], grade["n_votes"], grade["valid"]) == (4.5, 2, True)
    (label,) = rows(tmp_path / "out", "labels")
    assert (label["verdict"], label["n_votes"], label["agreement"], label["valid"]) == ("a", 1, "single", None)
    assert [row["verdict"] for row in rows(tmp_path / "out", "comparisons")] == ["a", "invalid"]
    assert rows(tmp_path / "out", "replies")[0]["references"] == ["Lists differ."]
    assert "Validators were shown 1 of the 2 labels, and confirmed 1." in found.notes
    facts = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))["facts"]
    assert {
        "judged": 3,
        "left_out": 1,
        "left_out_unresolved": 1,
        "silver_valid": 1,
        "labelled": 1,
    }.items() <= facts.items()


def test_a_campaign_with_its_own_tier_rule(tmp_path: Path) -> None:
    rule = {"meaning": "A test.", "tiers": [{"name": "gold", "min_votes": 2}]}
    recipe = str(_campaign(tmp_path, own_tier_rule=rule))
    found = fcconan.build(recipe, out=tmp_path / "out")
    assert [row["pair_id"] for row in rows(tmp_path / "out", "gold")] == ["hs-1:cn-1"]
    assert "Tiers, each a subset of the next: `gold`: 2 or more votes. A test." in found.notes
    with pytest.raises(InputError, match="has a tier rule of its own: leave --tier-rule out"):
        fcconan.build(recipe, out=tmp_path / "out", tier_rule="strict")
    rule["tiers"] = [{"name": "gold", "min_votes": 9}]
    with pytest.raises(InputError, match="none of the 3 judged pairs of small is in a tier"):
        fcconan.build(str(_campaign(tmp_path, own_tier_rule=rule)), out=tmp_path / "none")
