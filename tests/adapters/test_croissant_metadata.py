import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from fcconan.building.croissant_metadata import croissant
from fcconan.building.releases import table_path
from fcconan.data.manifest import read_manifest
from fcconan.errors import InputError
from tests.conftest import RunCli

ADDRESS = "https://huggingface.co/datasets/our-group/demo/resolve/v1"


@pytest.fixture(scope="module")
def described(demo: Path) -> dict[str, Any]:
    return croissant(demo, ADDRESS)


@pytest.mark.filterwarnings("ignore::DeprecationWarning:rdflib.*", "ignore::DeprecationWarning:mlcroissant.*")
def test_the_real_reader_finds_it_valid_and_reads_our_rows(demo: Path, tmp_path: Path, run_cli: RunCli) -> None:
    import mlcroissant

    done = run_cli("croissant", demo, "--json", tmp_path / "demo.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{tmp_path / 'demo.json'} describes 15 record sets in 15 files.\n"
    dataset = mlcroissant.Dataset(tmp_path / "demo.json")
    assert not dataset.metadata.ctx.issues.errors
    # The date of publication, which nobody knows before it.
    assert [warning for warning in dataset.metadata.ctx.issues.warnings if "datePublished" not in warning] == []
    assert len(dataset.metadata.record_sets) == 15
    for config, split in (("train", "train"), ("replies", "test"), ("ratings", "test")):  # columns of all types
        rows = dataset.records(f"{config}/{split}")
        found = [{key.rpartition("/")[2]: plain(value) for key, value in row.items()} for row in rows]
        assert found == pq.read_table(demo / table_path(config, split)).to_pylist()


def plain(value: Any) -> Any:
    """What the reader gives, without its types: text is bytes there, numbers are NumPy's."""
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, bytes):
        return value.decode()
    return value.item() if hasattr(value, "item") else value


def test_files_are_named_with_their_addresses_and_hashes(demo: Path, described: dict[str, Any]) -> None:
    files = {name: written for name, written in read_manifest(demo)["files"].items() if name != "README.md"}
    assert {
        each["@id"]: (each["contentUrl"], each["sha256"], each["contentSize"]) for each in described["distribution"]
    } == {name: (f"{ADDRESS}/{name}", each["sha256"], f"{each['bytes']} B") for name, each in files.items()}
    assert croissant(demo)["distribution"][0]["contentUrl"] == "bronze/test-00000-of-00001.parquet"


def test_it_says_what_the_card_says(demo: Path, described: dict[str, Any]) -> None:
    assert described["url"] == "https://huggingface.co/datasets/our-group/demo"
    assert "url" not in croissant(demo)  # the package has no public address
    assert described["license"] == "https://spdx.org/licenses/Apache-2.0"
    assert described["citeAs"].startswith("@misc{fcconan-demo,")
    assert described["version"] == f"0.1.0+{read_manifest(demo)['fingerprint']}"
    assert described["rai:personalSensitiveInformation"].startswith("The messages are mild")
    assert "rai:dataUseCases" in described
    assert "datePublished" not in described
    corpus = next(records for records in described["recordSet"] if records["@id"] == "corpus/test")
    assert corpus["description"] == (
        "Split test of config corpus: 60 rows; also served as diamond-corpus, gold-corpus, silver-corpus, "
        "bronze-corpus."
    )


def test_a_file_in_the_release_is_refused(demo: Path, run_cli: RunCli) -> None:
    done = run_cli("croissant", demo, "--json", demo / "croissant.json")
    assert done.returncode == 2
    assert "holds the release only" in done.stderr
    assert not (demo / "croissant.json").exists()


def test_a_licence_without_an_address_is_given_in_words(demo: Path, tmp_path: Path) -> None:
    for name in ("README.md", "manifest.json"):
        (tmp_path / name).write_bytes((demo / name).read_bytes())
    (tmp_path / "queries").symlink_to(demo / "queries")
    manifest = json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))
    one = {"counts": {"queries": {"test": 24}}, "aliases": {}}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest | one), encoding="utf-8")
    card = (tmp_path / "README.md").read_text(encoding="utf-8")
    (tmp_path / "README.md").write_text(card.replace("license: apache-2.0", "license: other"), encoding="utf-8")
    assert croissant(tmp_path)["license"] == "Apache-2.0, like the package."


@pytest.mark.parametrize("card", [b"---\nlicense: [\n---\n", b"# None", b"\xff"])
def test_a_card_that_cannot_be_read_is_said(demo: Path, tmp_path: Path, card: bytes) -> None:
    (tmp_path / "manifest.json").write_bytes((demo / "manifest.json").read_bytes())
    (tmp_path / "README.md").write_bytes(card)
    with pytest.raises(InputError, match=r"README\.md(: byte 0 is not UTF-8| has no YAML block)"):
        croissant(tmp_path)
