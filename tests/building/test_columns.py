"""Columns are described: on cards and in the documentation."""

import runpy
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml
from datasets import get_dataset_default_config_name, load_dataset
from fcconan.building.card_columns import columns_in_markdown, default_table

from fcconan.building import Table, build, read_card
from fcconan.data import CONFIGS, PAIR, describe_column, describe_config, package_address
from fcconan.errors import InputError
from tests import small

ROOT = Path(__file__).resolve().parents[2]


def test_every_column_of_the_documentation_is_described() -> None:
    sections = runpy.run_path(str(ROOT / "docs" / "make_reference.py"))["SECTIONS"].values()
    columns = {
        (config, column) for each in sections for names in each for config in names.split() for column in each[names]
    }
    assert len(columns) > 300
    assert sorted(each for each in columns if not describe_column(*each)) == []
    assert {describe_config(config) for config, _ in columns} == set(CONFIGS.values())


def test_descriptions_hold_for_given_ids_unvalidated_pairs_and_rating_methods() -> None:
    assert describe_column("bronze", "valid") == (
        "whether a validator confirmed the final label; false, too, if no validator saw the pair (`n_validators` is "
        "then 0, if the dataset has this column)"
    )
    assert describe_column("replies", "reply_id") == (
        "id of the reply: an id of the source, or `re-` and a hash of its item, system, normalised text and, if "
        "present, `source_id`"
    )
    assert describe_column("replies", "strategy") == (
        "intended strategy of the reply, such as `informative` or `denouncing`"
    )
    for config in ("ratings", "votes"):
        assert describe_column(config, "strategy") == (
            "rating method of the judge, such as `rubric` or `g-eval`; empty for other raters"
        )


def test_the_demo_has_only_described_columns(demo: Path) -> None:
    card = (demo / "README.md").read_text(encoding="utf-8")
    for path in demo.glob("*/*.parquet"):
        for column in pq.read_schema(path).names:
            assert describe_column(path.parent.name, column) is not None
            assert f"| `{column}` | " in card
    assert "| `label` | string | label of the annotator: `appropriate`, `not_sure` or `not_appropriate` |" in card
    assert "| `bronze-qrels` | `qrels` |" in card


def test_without_a_config_gold_is_loaded(demo: Path, tmp_path: Path) -> None:
    assert get_dataset_default_config_name(str(demo)) == "gold"
    loaded = load_dataset(str(demo), split="test", cache_dir=str(tmp_path))
    assert loaded.num_rows == pq.read_metadata(demo / "gold/test-00000-of-00001.parquet").num_rows
    configs = yaml.safe_load((demo / "README.md").read_text(encoding="utf-8").split("---\n")[1])["configs"]
    assert [config["config_name"] for config in configs if config.get("default")] == ["gold"]


def table(config: str, **data: list[object]) -> Table:
    return Table(config, "test", {name: PAIR.kinds.get(name, "string") for name in data}, data, ("pair_id",))


def test_the_default_is_the_first_config_of_another_dataset() -> None:
    assert default_table([table("it"), table("en"), table("silver")]).config == "silver"
    assert default_table([table("it"), table("en")]).config == "it"


def test_equal_columns_are_listed_once_and_empty_or_further_ones_marked() -> None:
    pairs = [table(name, pair_id=["a"], tier=["gold"]) for name in ("diamond", "gold")]
    rest = table("train", pair_id=["b"], tier=[None], mood=["calm"])
    assert columns_in_markdown([*pairs, rest]).splitlines() == [
        "`diamond`, `gold`:",
        "",
        "| column | type | meaning |",
        "|---|---|---|",
        "| `pair_id` | string | id of the pair: `<hs_id>:<cn_id>` |",
        "| `tier` | string | best tier of the pair: `diamond`, `gold`, `silver` or `bronze` |",
        "",
        "`train`:",
        "",
        "| column | type | meaning |",
        "|---|---|---|",
        "| `pair_id` | string | id of the pair: `<hs_id>:<cn_id>` |",
        "| `tier` | string | empty in this config (best tier of the pair) |",
        "| `mood` | string | further column of the source file |",
    ]


def test_a_card_links_to_the_page_of_its_dataset_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = small.write_small(tmp_path / "upstream")

    def homepage_of(name: str) -> list[str]:
        build(name, tmp_path / "out" / Path(name).stem)
        lines = (tmp_path / "out" / Path(name).stem / "README.md").read_text(encoding="utf-8").splitlines()
        return [line for line in lines if line.startswith("Homepage")]

    monkeypatch.setattr("fcconan.building.cards.package_address", lambda label: f"https://example.org/{label}")
    text = recipe.read_text(encoding="utf-8")
    address = yaml.safe_load(text)["homepage"]
    assert homepage_of(str(recipe)) == [f"Homepage: <{address}>"]
    recipe.write_text(text.replace(f"homepage: {address}", "homepage: unknown"), encoding="utf-8")
    assert homepage_of(str(recipe)) == []
    assert homepage_of("demo") == ["Homepage: <https://example.org/Homepage>"]


def test_addresses_of_the_package_are_those_of_its_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    class Metadata:
        def get_all(self, name: str) -> list[str]:
            return ["Homepage, https://example.org/a, b"] if name == "Project-URL" else []

    monkeypatch.setattr("fcconan.data.content.metadata", lambda name: Metadata())
    assert package_address("Homepage") == "https://example.org/a, b"
    assert package_address("Issues") is None


@pytest.mark.parametrize("card", [b"---\nlicense: [\n---\n", b"# None", b"\xff"])
def test_a_card_that_cannot_be_read_is_an_error(tmp_path: Path, card: bytes) -> None:
    (tmp_path / "README.md").write_bytes(card)
    with pytest.raises(InputError, match=r"README\.md(: byte 0 is not UTF-8| has no YAML block)"):
        read_card(tmp_path)
