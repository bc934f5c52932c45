"""Manifests from elsewhere: each command that reads one names the part that has another form."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from fcconan.data import parse_json, read_manifest
from fcconan.errors import InputError

COMMANDS = (
    "hydrate {} --out out",
    "publish {} me/x --dry-run",
)
DEEP = "[" * 100_000


def _changed(demo: Path, folder: Path, changes: dict[str, Any]) -> Path:
    """Copies the demo's folder and changes its manifest; a key with the value None is removed."""
    shutil.copytree(demo, folder)
    manifest = json.loads((demo / "manifest.json").read_text(encoding="utf-8")) | changes
    kept = {key: value for key, value in manifest.items() if value is not ...}
    (folder / "manifest.json").write_text(json.dumps(kept), encoding="utf-8")
    return folder


CASES: list[tuple[dict[str, Any], str]] = [
    ({"counts": []}, "(counts: "),
    ({"counts": {}}, "(counts: "),
    ({"counts": {"gold": 3}}, "(counts.gold: "),
    ({"counts": {"gold": {"test": "3"}}}, "(counts.gold.test: "),
    ({"counts": {"gold": {"test": -3}}}, "(counts.gold.test: "),
    ({"counts": {"gold": {"test": 1.5}}}, "(counts.gold.test: "),
    ({"counts": {"gold": {}}}, "(counts.gold: "),
    ({"counts": {"../gold": {"test": 3}}}, "(counts.../gold: "),
    ({"counts": {"gold": {"..": 3}}}, "(counts.gold...: "),
    ({"tier_rule": {"name": "released"}}, "(tier_rule: "),
    ({"tier_rule": ...}, "(tier_rule: "),
    ({"files": []}, "(files: "),
    ({"files": {}}, "(files: "),
    ({"files": {"README.md": {"sha256": "00", "bytes": 1}}}, "(files.README.md.sha256: "),
    ({"files": {"../README.md": {"sha256": "0" * 64, "bytes": 1}}}, "(files.../README.md: "),
    ({"aliases": {"other": "unknown"}}, "(the alias 'other' is of the config 'unknown', which has no counts)"),
    ({"aliases": ["other"]}, "(aliases: "),
    ({"name": 3}, "(name: "),
    ({"name": "two\nlines"}, "(name: "),
    ({"labels_only": "no"}, "(labels_only: "),
    ({"package": "fcconan"}, "(package: "),
    ({"fingerprint": None}, "(fingerprint: "),
    ({"versions": ["1.0.0"]}, "(versions: "),
    ({"restricted_columns": {"gold": "text"}}, "(restricted_columns.gold: "),
    ({"notes": "one"}, "(notes: "),
]


@pytest.mark.parametrize(("changes", "part"), CASES)
def test_a_manifest_of_another_form_names_the_part(
    demo: Path, tmp_path: Path, changes: dict[str, Any], part: str
) -> None:
    folder = _changed(demo, tmp_path / "d", changes)
    with pytest.raises(InputError) as error:
        read_manifest(folder)
    message = str(error.value)
    assert message.startswith(f"{folder / 'manifest.json'} is not a valid manifest of fcconan ({part[1:]}")
    assert message.endswith("): build the folder again")
    assert "\n" not in message


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("changes", [{"counts": {"gold": 3}}, {"tier_rule": {"a": 1}}, {"files": []}])
def test_every_command_refuses_it_in_one_line(
    run_cli: Any, demo: Path, tmp_path: Path, command: str, changes: dict[str, Any]
) -> None:
    folder = _changed(demo, tmp_path / "d", changes)
    done = run_cli(*command.format(folder).split())
    assert done.returncode == 2
    assert done.stderr.startswith(f"fcconan: {folder / 'manifest.json'} is not a valid manifest of fcconan (")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_a_deeply_nested_manifest_is_refused_in_one_line(run_cli: Any, tmp_path: Path, command: str) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "manifest.json").write_text(DEEP)
    done = run_cli(*command.format(tmp_path / "d").split())
    assert done.returncode == 2
    assert "its arrays and objects are nested too deeply" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_newer_manifest_may_have_further_keys(demo: Path, tmp_path: Path) -> None:
    folder = _changed(demo, tmp_path / "d", {"further": {"key": [1]}})
    assert read_manifest(folder)["further"] == {"key": [1]}


def test_json_that_is_nested_deeply_is_a_value_error() -> None:
    assert parse_json('{"a": [1, null]}') == {"a": [1, None]}
    for text in (DEEP, '{"a":' * 100_000):
        with pytest.raises(ValueError, match="nested too deeply"):
            parse_json(text)
