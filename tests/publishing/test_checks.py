"""Checks before any request: files, columns, card and loading."""

import itertools
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from fcconan.data import file_sha256, read_manifest, temporary_folder
from fcconan.errors import InputError
from fcconan.publishing.checks import check_loading, check_published_card
from fcconan.publishing.contents import Contents, read_contents
from fcconan.publishing.publication import HubFailure
from fcconan.publishing.restricted import check_no_text_in_card, find_restricted_columns
from tests import small
from tests.publishing.hub import Hub, publish
from tests.publishing.test_publish import leaked

GOLD = "gold/test-00000-of-00001.parquet"
TEXTS = ["counter_narrative", "hate_speech"]


def resigned(folder: Path, **changes: Any) -> Contents:
    """Writes a manifest with the hashes of changed files, to test the other checks."""
    manifest = read_manifest(folder) | changes
    for name, written in manifest["files"].items():
        written["sha256"] = file_sha256(folder / name)
    (folder / "manifest.json").write_text(json.dumps(manifest, ensure_ascii=False))
    return read_contents(folder)


def test_changed_files_are_refused(copied: Path) -> None:
    folder = copied / "labels"
    (folder / "notes.txt").write_text("mine")
    contents = read_contents(folder)
    assert contents.left_out == ["notes.txt"]
    assert "notes.txt" not in contents.hashes
    (folder / "README.md").write_text("Changed.")
    with pytest.raises(
        InputError, match=r"README\.md was changed or removed since it was built .*: build the folder again"
    ):
        read_contents(folder)
    (folder / "README.md").unlink()
    with pytest.raises(InputError, match=r"README\.md was changed or removed since it was built \(sha256 none"):
        read_contents(folder)
    manifest = read_manifest(folder)
    for name in ("../secret", "/etc/passwd", ".git/config", "manifest.json", "", "texts.csv", "gold/../x.parquet"):
        (folder / "manifest.json").write_text(
            json.dumps(manifest | {"files": {name: {"sha256": "0" * 64, "bytes": 0}}})
        )
        with pytest.raises(
            InputError, match=r"which is not a file of a build|is not a valid manifest of fcconan \(files\."
        ):
            read_contents(folder)


def test_restricted_columns_are_read_from_the_files(copied: Path) -> None:
    full, labels = copied / "full", copied / "labels"
    columns = find_restricted_columns(read_contents(full))
    assert columns == {
        **dict.fromkeys(("bronze", "diamond", "gold", "silver", "train"), TEXTS),
        "corpus": ["text"],
        "queries": ["text"],
    }
    assert find_restricted_columns(read_contents(labels)) == {}
    # The files contain text, although the manifest lists no restricted columns.
    assert find_restricted_columns(resigned(full, restricted_columns={})) == columns
    # The recipe in the catalogue overrides the manifest; a dataset of the user has no such recipe.
    assert find_restricted_columns(resigned(full, name="fc-conan", redistributable=True)) == columns
    assert find_restricted_columns(resigned(full, name="small", redistributable=True)) == {}
    with pytest.raises(InputError, match="is labels-only, but contains text"):
        find_restricted_columns(resigned(full, labels_only=True))


@pytest.mark.parametrize(
    "changes",
    [
        {"files": []},
        {"files": {"README.md": 3}},
        {"counts": {}},
        {"versions": None},
        {"name": 3},
        {"restricted_columns": ["text"]},
    ],
)
def test_invalid_manifests_are_refused(copied: Path, changes: dict[str, Any]) -> None:
    path = copied / "labels" / "manifest.json"
    path.write_text(json.dumps(read_manifest(copied / "labels") | changes))
    with pytest.raises(InputError, match=rf"is not a valid manifest of fcconan \({next(iter(changes))}"):
        read_contents(copied / "labels")


SENTENCE = "A sentence of more than eight words is something that somebody wrote."


@pytest.mark.parametrize("name", ["remark", "remark.a", "reason", "note"])
@pytest.mark.parametrize(
    "column",
    [
        pa.array([SENTENCE] * 6),
        pa.array([SENTENCE] * 6).dictionary_encode(),
        pa.array([SENTENCE.encode("utf-16-le")] * 6),
        pa.array([["short", SENTENCE]] * 6),
        pa.array([{"a": SENTENCE}] * 6),
        pa.array(["文" * 20] * 6),  # without spaces
    ],
)
def test_sentences_are_found_in_undeclared_columns(copied: Path, column: Any, name: str) -> None:
    folder = copied / "labels"
    # The Parquet paths of the columns `remark.a` and of the field `a` of `remark` are equal.
    table = pq.read_table(folder / GOLD).append_column("remark.a", pa.array(["short"] * 6))
    pq.write_table(table.append_column(name, column), folder / GOLD)
    with pytest.raises(InputError, match=rf"labels-only, but contains text \(gold: {name}\); gold: {name}, "):
        find_restricted_columns(resigned(folder))


def test_text_in_column_names_and_metadata_is_refused(copied: Path) -> None:
    folder = copied / "labels"
    table = pq.read_table(folder / GOLD)
    first = table.schema.field(0)
    for bad in (
        table.append_column(SENTENCE, pa.array([1] * 6)),
        table.append_column("record", pa.array([{SENTENCE: 1}] * 6)),
        table.replace_schema_metadata({"comment": SENTENCE}),
        table.replace_schema_metadata({"huggingface": json.dumps({"info": {"description": [SENTENCE]}})}),
        table.cast(table.schema.set(0, first.with_metadata({"comment": SENTENCE}))),
    ):
        pq.write_table(bad, folder / GOLD)
        with pytest.raises(
            InputError, match=r"may contain further data|column name cannot be published|type is struct"
        ):
            find_restricted_columns(resigned(folder))


def test_quotations_in_the_card_of_a_gated_dataset_are_refused(copied: Path) -> None:
    folder = copied / "full"
    columns = find_restricted_columns(read_contents(folder))
    check_no_text_in_card(read_contents(folder), columns)
    card = (folder / "README.md").read_text()
    marked = (f'"{small.HS[1]}"', f"**{small.HS[1]}**", f"({small.HS[1].rstrip('.')}!)")
    for quoted in (
        *marked,
        small.HS[1],
        small.HS[1].upper(),
        small.CN[0],
        " ".join(small.CN[3].split()[2:11]) + " and so on",
    ):
        (folder / "README.md").write_text(card + f"\n> {quoted}\n")
        with pytest.raises(InputError, match=r"README\.md quotes a restricted text"):
            check_no_text_in_card(resigned(folder), columns)
    (folder / "README.md").write_text(card + "\nEvery Tessok is welcome.\n")
    check_no_text_in_card(resigned(folder), columns)
    with pytest.raises(InputError, match=r"manifest\.json quotes a restricted text"):
        check_no_text_in_card(resigned(folder, notes=[f"such as {small.CN[0]}"]), columns)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "## Uses and misuse\n\nA test.\n\nA test.\n",
            "## Uses and misuse\n",
            "the section 'Uses and misuse' is missing or empty",
        ),
        ("## Citation", "## Quotation", "the section 'Citation' is missing or empty"),
        ("path: gold/test-*.parquet", "path: golden/test-*.parquet", "its configs differ from those"),
        ("num_examples: 6", "num_examples: 7", "its counts differ from those of the manifest"),
        ("- config_name: gold\n  data_files", "- config_name: golden\n  data_files", "its configs differ from those"),
        ("path: queries/test-*.parquet", "path: corpus/test-*.parquet", "its configs differ from those"),
        ("  version: 1.", "  version: 2.", "its configs differ from those of the manifest"),
    ],
)
def test_invalid_cards_are_refused(copied: Path, old: str, new: str, said: str) -> None:
    folder = copied / "labels"
    check_published_card(read_contents(folder))
    card = (folder / "README.md").read_text()
    assert old in card
    (folder / "README.md").write_text(card.replace(old, new))
    with pytest.raises(InputError, match=said):
        check_published_card(resigned(folder))


def test_a_folder_that_loads_with_other_counts_is_refused(copied: Path, hub: Hub) -> None:
    folder = copied / "labels"
    manifest = read_manifest(folder)
    kept = {"versions", "aliases", "restricted_columns"}
    few = {name: value for name, value in manifest.items() if name not in kept} | {"counts": {"gold": {"test": 6}}}
    check_loading(Contents(folder, few, {}))
    with pytest.raises(InputError, match=r"config 'gold' of .* loads as \{'test': 6\} rows, the manifest has"):
        check_loading(Contents(folder, few | {"counts": {"gold": {"test": 5}}}, {}))
    (folder / GOLD).write_bytes((folder / "diamond/test-00000-of-00001.parquet").read_bytes())
    with pytest.raises(InputError, match=r"config 'gold' of .* cannot be loaded \(NonMatchingSplitsSizesError"):
        check_loading(Contents(folder, few, {}))
    # Correct hashes do not help, and no request is sent.
    resigned(folder)
    with pytest.raises(InputError, match="cannot be loaded"):
        publish(folder, "my-name/small")
    assert hub.log == []


CHOICES = list(
    itertools.product(
        (True, False), (True, False), (True, False), (None, "auto", "manual"), (None, "public", "private", "auto")
    )
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(CHOICES), st.booleans(), st.sampled_from([None, "drop", 403, "lose"]))
def test_restricted_text_never_reaches_a_public_repository(
    hub: Hub,
    unloaded: None,
    built: Path,
    choice: tuple[bool, bool, bool, str | None, str | None],
    obedient: bool,
    fault: int | str | None,
) -> None:
    labels_only, may, private, gated, there = choice
    hub.reset()
    hub.ignores_settings = not obedient
    if there is not None:
        hub.add_repo("my-name/small", private=there == "private", gated="auto" if there == "auto" else False)
    if fault is not None:
        hub.break_next("/settings$|repos/create$", fault)
    try:
        publish(
            built / ("labels" if labels_only else "full"),
            "my-name/small",
            may_redistribute=may,
            private=private,
            gated=gated,
        )
    except (InputError, HubFailure):
        # Without text, only faults of the Hub cause errors.
        assert not labels_only or fault is not None or not obedient
    repo = hub.repos.get("my-name/small")
    if leaked(hub):
        assert repo is not None
        assert may
        assert not labels_only
        assert repo.private or repo.gated
        # Access was restricted before the first upload.
        sent = [request.line for request in hub.log]
        closing = [at for at, line in enumerate(sent) if line.endswith(("/settings", "repos/create"))]
        assert all(at < sent.index("POST /api/datasets/my-name/small/preupload/main") for at in closing)


def test_stale_temporary_folders_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("fcconan.data.atomic._is_running", lambda process: process != 7)
    with temporary_folder("some-") as ours:
        killed = tmp_path / ours.name.replace(f"-{os.getpid()}-", "-7-")
        (killed / "gold").mkdir(parents=True)
        with temporary_folder("some-") as another:
            assert not killed.exists()
            assert ours.is_dir()
            assert another.is_dir()
    assert list(tmp_path.iterdir()) == []
