import json
import os
import resource
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from fcconan.building import build, check_card
from fcconan.data import atomic, file_sha256, read_manifest
from fcconan.data.atomic import mark
from fcconan.errors import InputError
from tests import small


def contents(folder: Path) -> dict[str, bytes]:
    """Returns every file of a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def recipe(tmp_path: Path) -> str:
    return str(small.write_small(tmp_path / "upstream"))


def test_layout_and_manifest(tmp_path: Path, recipe: str) -> None:
    result = build(recipe, tmp_path / "out")
    files = contents(tmp_path / "out")
    expected = {f"{tier}/test-00000-of-00001.parquet" for tier in small.ROWS}
    expected |= {f"{tier}-qrels/test-00000-of-00001.parquet" for tier in ("diamond", "gold", "silver")}
    expected |= {f"{name}/test-00000-of-00001.parquet" for name in ("corpus", "queries", "qrels", "votes")}
    expected |= {f"train/{split}-00000-of-00001.parquet" for split in ("train", "shared_cn")}
    assert files.keys() == expected | {"README.md", "manifest.json"}
    manifest = json.loads(files["manifest.json"])
    assert manifest == result.manifest
    assert manifest["files"].keys() == files.keys() - {"manifest.json"}
    for name, about in manifest["files"].items():
        path = tmp_path / "out" / name
        assert (about["sha256"], about["bytes"]) == (file_sha256(path), path.stat().st_size)
    assert manifest["counts"]["gold"] == {"test": 6}
    assert manifest["restricted_columns"]["corpus"] == ["text"]
    assert manifest["tier_rule"] == "released"
    assert {source["name"] for source in manifest["sources"]} == {*small.NESTED, "pool", "queries", "train"}
    assert all(len(source["sha256"]) == 64 for source in manifest["sources"])


def test_a_rebuild_has_the_same_bytes(tmp_path: Path, recipe: str) -> None:
    build(recipe, tmp_path / "one")
    build(recipe, tmp_path / "two")
    first = contents(tmp_path / "one")
    assert first == contents(tmp_path / "two")
    build(recipe, tmp_path / "two")
    assert first == contents(tmp_path / "two")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two", "upstream"]


def test_a_changed_row_changes_the_versions_of_what_holds_it_and_no_other(tmp_path: Path, recipe: str) -> None:
    before = build(recipe, tmp_path / "out").manifest
    rows = [{"source_id": key, "hate_speech": hs, "counter_narrative": cn} for key, hs, cn in small.TRAIN]
    rows[0]["counter_narrative"] += " Come and listen."
    small.write_csv(tmp_path / "upstream" / "train.csv", rows)
    small.write_recipe(tmp_path / "upstream")
    after = build(recipe, tmp_path / "out").manifest
    changed = {name for name, version in before["versions"].items() if after["versions"][name] != version}
    assert changed == {"train"}
    assert before["fingerprint"] != after["fingerprint"]


def test_aliases_serve_the_files_and_the_version_of_their_config(tmp_path: Path, recipe: str) -> None:
    manifest = build(recipe, tmp_path / "out").manifest
    card = yaml.safe_load((tmp_path / "out" / "README.md").read_text(encoding="utf-8").split("---\n")[1])
    configs = {config["config_name"]: config for config in card["configs"]}
    assert "default" not in configs
    assert configs["gold-corpus"]["data_files"] == configs["corpus"]["data_files"]
    assert configs["gold-corpus"]["version"] == manifest["versions"]["corpus"]
    assert configs["bronze-qrels"]["data_files"] == [{"split": "test", "path": "qrels/test-*.parquet"}]


def test_labels_only_holds_no_text(tmp_path: Path, recipe: str) -> None:
    build(recipe, tmp_path / "out", labels_only=True)
    texts = {*small.HS, *small.CN, *(text for row in small.TRAIN for text in row[1:])}
    long_texts = [text.encode() for text in texts if len(text) >= 20]
    assert len(long_texts) == 9
    for name, content in contents(tmp_path / "out").items():
        assert not any(text in content for text in long_texts), name
        if name.endswith(".parquet"):
            cells = pq.read_table(tmp_path / "out" / name).to_pydict()
            assert not texts & {value for values in cells.values() for value in values if isinstance(value, str)}, name


def test_labels_only_quotes_no_text_on_its_card(tmp_path: Path, recipe: str) -> None:
    quoting = Path(recipe).with_name("quoting.yaml")
    told = Path(recipe).read_text(encoding="utf-8").replace("motivation: ", f"motivation: As in “{small.HS[0]}”, ", 1)
    quoting.write_text(told, encoding="utf-8")
    build(str(quoting), tmp_path / "full")
    with pytest.raises(InputError, match="the card, a name or a column of small quotes a text"):
        build(str(quoting), tmp_path / "labels", labels_only=True)
    assert not (tmp_path / "labels").exists()


def test_the_card_says_what_it_must(tmp_path: Path, recipe: str) -> None:
    build(recipe, tmp_path / "out")
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    check_card(card)
    # gold: 6 pairs, 3 HS; words per CN: 11, 1, 1, 13 for the four texts of HS 0, then 1, then 11.
    words = [len(small.CN[cn].split()) for cn in (0, 1, 2, 3, 2, 0)]
    assert words == [11, 1, 1, 13, 1, 11]
    assert "| `gold` | `test` | 6 | 3 | 3 | 4 | 2.00 | 6.33 |" in card
    for heading in (
        "Motivation",
        "Composition",
        "Collection",
        "Tiers",
        "Agreement",
        "Uses and misuse",
        "Terms",
        "Citation",
    ):
        assert f"\n## {heading}\n" in card
    assert "**Content notice.**" in card
    assert "**Synthetic data.**" in card


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("license: apache-2.0", "license: apache", "license is 'apache', expected one of"),
        ("- text-retrieval", "- retrieval", "task_categories is 'retrieval'"),
        ("pretty_name: Small (synthetic)", "pretty_name: ''", "lacks 'pretty_name'"),
        ("## Motivation", "## {{ motivation }}", "holds '{{', a leftover"),
        ("## Motivation", "TODO", "holds 'TODO', a leftover"),
        ("config_name: diamond\n  data_files", "config_name: default\n  data_files", "a config is named 'default'"),
        ("---\npretty_name", "pretty_name", "no YAML block"),
    ],
)
def test_a_bad_card_is_refused(tmp_path: Path, recipe: str, old: str, new: str, message: str) -> None:
    build(recipe, tmp_path / "out")
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert old in card
    with pytest.raises(InputError, match=message):
        check_card(card.replace(old, new, 1))


def test_foreign_files_are_never_overwritten(tmp_path: Path, recipe: str) -> None:
    out = tmp_path / "out"
    build(recipe, out)
    (out / "gold" / "notes.txt").write_text("mine", encoding="utf-8")
    before = contents(out)
    with pytest.raises(InputError, match=r"other files \(such as gold/notes\.txt\)"):
        build(recipe, out)
    assert contents(out) == before


def _without_train(tmp_path: Path) -> str:
    """Writes a recipe of the same name that makes fewer configs."""
    data = small.recipe_data(tmp_path / "upstream")
    del data["sources"]["train"], data["expect"]["rows"]["train"]
    path = tmp_path / "upstream" / "without-train.yaml"
    path.write_text(yaml.safe_dump(data), encoding="utf-8")
    return str(path)


def test_an_older_release_with_other_configs_is_replaced_as_a_whole(tmp_path: Path, recipe: str) -> None:
    build(recipe, tmp_path / "out")
    build(_without_train(tmp_path), tmp_path / "out")
    build(_without_train(tmp_path), tmp_path / "fresh")
    assert contents(tmp_path / "out") == contents(tmp_path / "fresh")
    assert not (tmp_path / "out" / "train").exists()


def test_the_release_of_another_dataset_is_not_replaced(tmp_path: Path, recipe: str) -> None:
    build("demo", tmp_path / "out")
    before = contents(tmp_path / "out")
    with pytest.raises(InputError, match="holds the dataset 'demo', not 'small': choose another --out, or remove it"):
        build(recipe, tmp_path / "out")
    assert contents(tmp_path / "out") == before


def test_without_an_atomic_exchange_the_old_folder_is_moved_aside(
    tmp_path: Path, recipe: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(recipe, tmp_path / "out", tier_rule="strict")
    build(recipe, tmp_path / "fresh")
    monkeypatch.setattr(atomic, "exchange", lambda first, second: False)
    build(recipe, tmp_path / "out")
    assert contents(tmp_path / "out") == contents(tmp_path / "fresh")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fresh", "out", "upstream"]


def test_without_an_atomic_exchange_a_failure_puts_the_old_folder_back(
    tmp_path: Path, recipe: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(recipe, tmp_path / "out", tier_rule="strict")
    before = contents(tmp_path / "out")
    rename = Path.rename

    def failing(path: Path, target: Path) -> Path:
        if target == tmp_path / "out" and not path.name.endswith("-old"):
            raise OSError(28, "No space left on device")
        return rename(path, target)

    monkeypatch.setattr(atomic, "exchange", lambda first, second: False)
    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(InputError, match=r"cannot be written \(No space left on device\): free space"):
        build(recipe, tmp_path / "out")
    assert contents(tmp_path / "out") == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "upstream"]


def test_an_old_folder_that_a_killed_build_had_moved_aside_is_put_back(tmp_path: Path, recipe: str) -> None:
    build(recipe, tmp_path / "out", tier_rule="strict")
    before = contents(tmp_path / "out")
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    aside = mark(".out.").replace(f"-{os.getpid()}-", f"-{ended.pid}-") + "x-old"
    (tmp_path / "out").rename(tmp_path / aside)
    atomic.remove_stale(tmp_path / "out")
    assert contents(tmp_path / "out") == before


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can exchange two folders in one step")
def test_folders_are_exchanged_in_one_step(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    (tmp_path / "one" / "file").write_text("1", encoding="utf-8")
    assert atomic.exchange(tmp_path / "one", tmp_path / "two")
    assert contents(tmp_path) == {"two/file": b"1"}
    assert not atomic.exchange(tmp_path / "one", tmp_path / "missing")


@pytest.mark.long
def test_the_folder_is_there_at_every_moment_of_a_rebuild(tmp_path: Path, recipe: str) -> None:
    out = tmp_path / "out"
    build(recipe, out)
    program = f"""
from fcconan.building import build
for rule in ["strict", "released"] * 3:
    build({recipe!r}, {str(out)!r}, tier_rule=rule)
"""
    process = subprocess.Popen([sys.executable, "-c", program])
    looks = 0
    while process.poll() is None:
        assert (out / "manifest.json").exists()
        looks += 1
    assert process.returncode == 0
    assert looks > 1000


def test_a_disk_without_room_leaves_the_old_folder_and_nothing_else(tmp_path: Path, recipe: str) -> None:
    out = tmp_path / "out"
    build(recipe, out, tier_rule="strict")
    before = contents(out)
    arguments = ["build", recipe, "--out", str(out)]
    program = f"import sys; sys.argv[1:] = {arguments!r}; from fcconan.oldcli import main; main()"

    def no_room() -> None:
        # The kernel refuses to write more than this into one file, as a full disk does.
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    done = subprocess.run(
        [sys.executable, "-B", "-c", program], capture_output=True, text=True, preexec_fn=no_room, check=False
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "cannot be written (File too large): free space" in done.stderr
    assert contents(out) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "upstream"]


def test_a_killed_build_leaves_the_old_folder_and_the_next_one_clears_up(tmp_path: Path, recipe: str) -> None:
    out = tmp_path / "out"
    build(recipe, out, tier_rule="strict")
    before = contents(out)
    program = textwrap.dedent(
        f"""
        import time
        from pathlib import Path
        from fcconan import build
        from fcconan.building import releases
        content, written = releases.table_bytes, []
        def slowly(table):
            if written:
                time.sleep(60)
            written.append(table)
            return content(table)
        releases.table_bytes = slowly
        build({recipe!r}, {str(out)!r})
        """
    )
    process = subprocess.Popen([sys.executable, "-c", program])
    try:
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob(".out.*/*/*.parquet")):
            assert time.monotonic() < deadline, "the build wrote nothing"
            time.sleep(0.05)
    finally:
        process.kill()
        process.wait()
    assert contents(out) == before
    assert len(list(tmp_path.glob(".out.*"))) == 1
    build(recipe, out)
    assert list(tmp_path.glob(".out.*")) == []
    assert contents(out) != before


def test_an_interrupted_build_leaves_nothing(tmp_path: Path, recipe: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pq, "write_table", interrupt)
    with pytest.raises(KeyboardInterrupt):
        build(recipe, tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["upstream"]


def test_an_output_path_that_is_no_folder_is_refused_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    (tmp_path / "link").symlink_to(tmp_path)
    for name in ("file", "link"):
        with pytest.raises(InputError, match="is not a folder" if name == "file" else "is a symbolic link"):
            build("fc-conan", tmp_path / name)
    with pytest.raises(InputError, match="cannot be written to"):
        build("fc-conan", tmp_path / "file" / "below")


def test_a_folder_without_permission_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Permissions do not bind root, whom tests may run as: ask as the system would answer somebody else.
    monkeypatch.setattr(os, "access", lambda path, mode: not (Path(path) == tmp_path and mode == os.W_OK))
    with pytest.raises(InputError, match="cannot be written to: choose another --out, or change its permissions"):
        build("demo", tmp_path / "out")


def test_a_tier_rule_needs_tiers(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="recipe 'conan' has no tiers"):
        build("conan", tmp_path / "out", tier_rule="strict")
    with pytest.raises(InputError, match="unknown tier rule 'loose': known are released, strict"):
        build("demo", tmp_path / "out", tier_rule="loose")


def test_manifest_of_another_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"format": 99, "files": {}}', encoding="utf-8")
    with pytest.raises(InputError, match="is not a valid manifest of fcconan"):
        read_manifest(tmp_path)


def test_files_that_appear_during_the_build_are_not_overwritten(
    tmp_path: Path, recipe: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    build(recipe, out)
    write = pq.write_table

    def writing_meanwhile(*arguments: object, **options: object) -> None:
        (out / "notes.txt").write_text("mine", encoding="utf-8")
        write(*arguments, **options)

    monkeypatch.setattr(pq, "write_table", writing_meanwhile)
    with pytest.raises(InputError, match=r"other files \(such as notes\.txt\)"):
        build(recipe, out)
    assert (out / "notes.txt").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("rule", ["released", "strict"])
def test_the_demo_builds_under_both_tier_rules(tmp_path: Path, rule: str) -> None:
    manifest = build("demo", tmp_path / "out", tier_rule=rule).manifest
    assert manifest["counts"]["diamond"]["test"] == {"released": 747, "strict": 657}[rule]
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o755
