"""Building and restoring datasets from Python."""

import json
from pathlib import Path

from fcconan.data import recipe_names, task_names
from fcconan.services import (
    build,
    list_datasets,
)


def test_the_list_has_every_dataset_and_every_task() -> None:
    listed = list_datasets()
    assert listed.to_frame()["name"].tolist() == recipe_names()
    assert json.loads(listed.to_json()) == listed.rows()
    assert [task["name"] for task in listed.tasks] == task_names()


def test_a_build_has_folder_manifest_and_a_row_for_each_split(tmp_path: Path) -> None:
    built = build("demo", tmp_path / "demo", progress=False)
    assert built.folder == tmp_path / "demo"
    assert built.manifest == json.loads((tmp_path / "demo" / "manifest.json").read_text(encoding="utf-8"))
    assert built.to_dict() == {
        "out": str(tmp_path / "demo"),
        **{name: value for name, value in built.manifest.items() if name != "files"},
    }
    sizes = built.to_frame().set_index(["config", "split"])["rows"]
    assert sizes["bronze", "test"] == 24 * 60
    assert built.signature.endswith(f"|data:demo@{built.manifest['fingerprint']}")
