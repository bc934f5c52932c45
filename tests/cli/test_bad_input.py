"""Bad input: exit code 2, one line on standard error, nothing on standard output, nothing written; and signals."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fcconan.building import build, load_recipe
from fcconan.data import recipe_names, task_names
from fcconan.errors import InputError
from fcconan.oldcli import app
from tests import small
from tests.conftest import RunCli

KNOWN = "cn-ranking, conan, cseval, demo, dialoconan, fc-conan, kn-conan, mt-conan, multi-aspect"
VERBS = {str(verb.name): str(verb.epilog) for verb in app.registered_commands}


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)


def _complaint(result: "subprocess.CompletedProcess[str]") -> str:
    """Checks that a run was refused as it should be, and returns the one line without its beginning."""
    assert (result.returncode, result.stdout) == (2, ""), result.stderr
    assert result.stderr.startswith("fcconan: ")
    assert result.stderr.endswith("\n")
    assert len(result.stderr.splitlines()) == 1
    return result.stderr.removeprefix("fcconan: ").removesuffix("\n")


def _content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("build", "Missing argument 'recipe'. See `fcconan build --help`."),
        ("build demo", "Missing option '--out'. See `fcconan build --help`."),
        ("build demo --out", "Option '--out' requires an argument."),
        ("build demo --out out --frob", "No such option: --frob"),
        ("build demo more --out out", "Got unexpected extra argument(s) (more). See `fcconan build --help`."),
        ("build demo --out out --jobs 0", "Invalid value for '--jobs': "),
        ("build demo --out out --jobs many", "Invalid value for '--jobs': "),
        ("build demo --out out --tier-rule nonsense", "unknown tier rule 'nonsense': known are released, strict"),
        ("build conan --out out --tier-rule strict", "recipe 'conan' has no tiers: leave --tier-rule out"),
        (
            "build fc-conam --out out",
            f"unknown recipe 'fc-conam': did you mean 'fc-conan'? known are {KNOWN}, or a .yaml file",
        ),
        ("build none.yaml --out out", f"no recipe file at none.yaml: give a .yaml file, or one of {KNOWN}"),
        ("build folder/pairs --out out", f"unknown recipe 'folder/pairs': known are {KNOWN}, or a .yaml file"),
        ("list more", "Got unexpected extra argument(s) (more). See `fcconan list --help`."),
        (
            "hydrate labels --out out",
            "labels has no manifest.json: give a folder that `fcconan build` wrote",
        ),
        (
            "list --json none/list.json",
            "none/list.json cannot be written: choose another --json file, in a folder that is there",
        ),
    ],
)
def test_a_wrong_command_is_refused(run_cli: RunCli, tmp_path: Path, arguments: str, message: str) -> None:
    assert _complaint(run_cli(*arguments.split())).startswith(message)
    assert list(tmp_path.iterdir()) == []


def test_a_recipe_file_with_an_unknown_key_is_refused(run_cli: RunCli, tmp_path: Path) -> None:
    small.write_files(tmp_path)
    recipe = small.write_recipe(tmp_path, {"sumary": "x", **small.recipe_data(tmp_path)})
    assert _complaint(run_cli("build", recipe, "--out", "out")) == (
        f"{recipe}, line 1: unknown key 'sumary'; did you mean 'summary'?"
    )
    assert not Path("out").exists()


def test_an_upstream_file_that_cannot_be_had_is_named_after_the_terms(run_cli: RunCli, tmp_path: Path) -> None:
    data = small.recipe_data(tmp_path)
    source = {"repository": "ombrey/books", "commit": "c" * 40, "path": "rows.csv", "sha256": "0" * 64}
    recipe = small.write_recipe(tmp_path, {**data, "sources": {"rows": source}})
    result = run_cli("build", recipe, "--out", "out", FCCONAN_CACHE=str(tmp_path / "cache"))
    assert (result.returncode, result.stdout) == (2, "")
    note, complaint = result.stderr.splitlines()
    assert note == "note: fetching from ombrey/books. Terms: A test."
    url = f"http://127.0.0.1:9/ombrey/books/{'c' * 40}/rows.csv"
    assert complaint == (
        f"fcconan: {url} cannot be fetched (ConnectionError): download it by hand, in a browser, and save it as "
        f"{tmp_path / 'cache' / 'ombrey' / 'books' / ('c' * 40) / 'rows.csv'}, or set FCCONAN_MIRROR to a folder that "
        "holds ombrey/books/rows.csv"
    )
    assert not Path("out").exists()


def test_out_that_is_a_file_or_in_one_is_refused(run_cli: RunCli, tmp_path: Path) -> None:
    Path("out").write_text("mine", encoding="utf-8")
    assert _complaint(run_cli("build", "demo", "--out", "out")) == (
        f"{tmp_path / 'out'} is not a folder: choose another one, or move it away"
    )
    assert _complaint(run_cli("build", "demo", "--out", "out/demo")) == (
        f"{tmp_path / 'out'} cannot be written to: choose another --out, or change its permissions"
    )
    assert _content(tmp_path) == {"out": b"mine"}


def test_out_that_is_a_link_is_refused(run_cli: RunCli, tmp_path: Path) -> None:
    Path("folder").mkdir()
    Path("out").symlink_to("folder")
    Path("dangling").symlink_to("nowhere")
    for name in ("folder/../out", "dangling"):
        assert _complaint(run_cli("build", "demo", "--out", name)) == (
            f"{tmp_path / Path(name).name} is a symbolic link: give its target folder"
        )
    assert list(Path("folder").iterdir()) == []
    assert not Path("nowhere").exists()


@pytest.mark.parametrize("out", ["", ".", "..", "/", "folder/..", "folder/../.."])
def test_out_that_is_or_holds_the_current_folder_is_refused(run_cli: RunCli, tmp_path: Path, out: str) -> None:
    Path("folder").mkdir()
    assert _complaint(run_cli("build", "demo", "--out", out)) == (
        f"{(tmp_path / out).resolve()} is or holds the current folder, which cannot be replaced: choose a folder "
        "below it"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize("spelling", ["//", "/{here}", "{links}/up/{name}"])
def test_the_current_folder_is_refused_however_it_is_spelt(
    run_cli: RunCli, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, spelling: str
) -> None:
    links = tmp_path_factory.mktemp("links")
    (links / "up").symlink_to(tmp_path.parent)
    out = spelling.format(here=tmp_path, links=links, name=tmp_path.name)
    assert _complaint(run_cli("build", "demo", "--out", out)) == (
        f"{out} is or holds the current folder, which cannot be replaced: choose a folder below it"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("out", ["", " "])
def test_an_empty_name_is_no_output_folder(tmp_path: Path, out: str) -> None:
    with pytest.raises(InputError, match=r"^--out is empty: name the folder to write$"):
        build("demo", out)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("build demo", "out/out.json"),
        ("build demo", "none/../out/deep/out.json"),
        ("build demo", "out"),
    ],
)
def test_json_in_the_folder_that_is_written_is_refused(
    run_cli: RunCli, tmp_path: Path, command: str, file: str
) -> None:
    assert _complaint(run_cli(*command.split(), "--out", "out", "--json", file)) == (
        f"{file} is in the folder out, which holds the release only: choose another --json file"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_mirror_that_is_no_folder_is_refused(run_cli: RunCli, tmp_path: Path) -> None:
    mirror = tmp_path / "mirror"
    assert _complaint(run_cli("build", "conan", "--out", "out", FCCONAN_MIRROR=str(mirror))) == (
        f"FCCONAN_MIRROR is {mirror}, which is not a folder: correct it, or unset it to fetch the files"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_local_file_that_is_a_folder_is_missing(run_cli: RunCli, tmp_path: Path) -> None:
    recipe = small.write_small(tmp_path / "recipe")
    pool = tmp_path / "recipe" / "pool.csv"
    pool.unlink()
    pool.mkdir()
    assert _complaint(run_cli("build", recipe, "--out", "out")) == (
        f"{pool} is missing: put the file there, or correct `path` in the recipe"
    )
    assert not Path("out").exists()


def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    # Permissions do not bind root, whom tests may run as: answer as the system would answer somebody else.
    recipe = small.write_small(tmp_path / "recipe")
    program = f"""
import sys
from fcconan import oldcli as cli
from fcconan.data import sources
def refuse(path):
    raise PermissionError(13, "Permission denied", str(path))
sources.file_sha256 = refuse
sys.argv[1:] = ["build", {str(recipe)!r}, "--out", "out", "--jobs", "1"]
cli.main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert _complaint(done) == (
        f"{tmp_path / 'recipe' / 'bronze.csv'}: Permission denied: check the path and its permissions"
    )
    assert not Path("out").exists()


def test_the_release_of_another_dataset_is_refused_and_left_alone(run_cli: RunCli, tmp_path: Path) -> None:
    recipe = small.write_small(tmp_path / "recipe")
    build(str(recipe), "out")
    build("demo", "labels", labels_only=True)
    before = _content(tmp_path)
    for verb in (["build", "demo"], ["build", "demo", "--labels-only"]):
        assert _complaint(run_cli(*verb, "--out", "out")) == (
            f"{tmp_path / 'out'} holds the dataset 'small', not 'demo': choose another --out, or remove it"
        )
    assert _content(tmp_path) == before


@pytest.mark.skipif(sys.platform != "linux", reason="other systems allow no such name")
@pytest.mark.parametrize("labels_only", [False, True])
def test_a_folder_whose_name_is_no_unicode_gets_the_same_bytes(tmp_path: Path, labels_only: bool) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9/o\xff"))
    for folder in (tmp_path / "plain", odd, odd):  # the last one replaces a release
        result = build("demo", folder, labels_only=labels_only)
        assert result.folder == folder
        assert _content(folder) == _content(tmp_path / "plain")
    assert "gold/test-00000-of-00001.parquet" in _content(odd)
    assert [os.fsencode(path.name) for path in odd.parent.iterdir()] == [b"o\xff"]  # no stage


@pytest.mark.skipif(sys.platform != "linux", reason="other systems allow no such name")
@pytest.mark.parametrize(
    ("number", "code", "said"),
    [
        (
            signal.SIGINT,
            130,
            "fcconan: interrupted; no file is incomplete: run the command again to continue\n",
        ),
        (
            signal.SIGTERM,
            143,
            "fcconan: interrupted; no file is incomplete: run the command again to continue\n",
        ),
    ],
    ids=["SIGINT", "SIGTERM"],
)
def test_a_signal_while_the_folder_is_written_leaves_the_old_one_and_no_stage(
    tmp_path: Path, number: int, code: int, said: str
) -> None:
    recipe = small.write_small(tmp_path / "recipe")
    build(str(recipe), "out", tier_rule="strict")
    before = _content(tmp_path)
    program = f"""
import sys, time
from fcconan import oldcli as cli
from fcconan.building import releases
content, written = releases.table_bytes, []
def slowly(table):
    if written:
        print("writing", flush=True)
        time.sleep(60)
    written.append(table)
    return content(table)
releases.table_bytes = slowly
sys.argv[1:] = ["build", {str(recipe)!r}, "--out", "out"]
cli.main()
"""
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "writing\n"
            assert len(list(tmp_path.glob(".out.*/*/*.parquet"))) == 1
            process.send_signal(number)
            output, errors = process.communicate(timeout=20)
        finally:
            process.kill()
    assert (process.returncode, output, errors) == (code, "", said)
    assert _content(tmp_path) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "recipe"]


def test_out_with_foreign_files_is_refused_and_left_alone(run_cli: RunCli, tmp_path: Path) -> None:
    Path("out/deep").mkdir(parents=True)
    Path("out/deep/notes.txt").write_text("mine", encoding="utf-8")
    assert _complaint(run_cli("build", "demo", "--out", "out")) == (
        f"{tmp_path / 'out'} holds files but no manifest.json (such as deep/notes.txt): choose an empty or new folder"
    )
    assert _content(tmp_path) == {"out/deep/notes.txt": b"mine"}


def test_an_older_release_with_a_foreign_file_is_refused_and_left_alone(run_cli: RunCli, tmp_path: Path) -> None:
    recipe = small.write_small(tmp_path / "recipe")
    build(str(recipe), "out")
    Path("out/notes.txt").write_text("mine", encoding="utf-8")
    before = _content(tmp_path)
    assert "out/manifest.json" in before
    assert _complaint(run_cli("build", recipe, "--out", "out", "--tier-rule", "strict")) == (
        f"{tmp_path / 'out'} holds other files (such as notes.txt): move them away, or choose another folder"
    )
    assert _content(tmp_path) == before


ANOTHER_FORMAT = "labels/manifest.json is not a valid manifest of fcconan ("


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        (b"{", "labels/manifest.json cannot be read ("),
        (b"", "labels/manifest.json cannot be read ("),
        (b"\xff", "labels/manifest.json cannot be read ("),
        (b"[" * 100_000, "labels/manifest.json cannot be read (its arrays and objects are nested too deeply"),
        (b"[]", ANOTHER_FORMAT),
        (b'{"format": 2, "files": {}}', f"{ANOTHER_FORMAT}format: Input should be 1, found 2)"),
        (b'{"name": "demo", "labels_only": true, "tier_rule": null, "counts": {}, "files": {}}', ANOTHER_FORMAT),
    ],
)
def test_a_broken_manifest_is_refused(run_cli: RunCli, manifest: bytes, message: str) -> None:
    Path("labels").mkdir()
    Path("labels/manifest.json").write_bytes(manifest)
    complaint = _complaint(run_cli("hydrate", "labels", "--out", "out"))
    assert complaint.startswith(message)
    assert complaint.endswith("build the folder again")
    assert not Path("out").exists()


def test_a_manifest_that_is_a_folder_is_refused(run_cli: RunCli) -> None:
    Path("labels/manifest.json").mkdir(parents=True)
    assert _complaint(run_cli("hydrate", "labels", "--out", "out")) == (
        "labels/manifest.json cannot be read ([Errno 21] Is a directory: 'labels/manifest.json'): check its "
        "permissions, or build the folder again"
    )


ELSEWHERE = "cannot be written: choose another --json file, in a folder that is there"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("folder", f"folder {ELSEWHERE}"),
        (".", f". {ELSEWHERE}"),
        ("/", f"/ {ELSEWHERE}"),
        ("file/list.json", f"file/list.json {ELSEWHERE}"),
        ("x" * 300, "x" * 300 + ": File name too long: check the path and its permissions"),
    ],
)
def test_json_that_cannot_be_written_is_refused(run_cli: RunCli, tmp_path: Path, path: str, message: str) -> None:
    Path("folder").mkdir()
    Path("file").write_text("mine", encoding="utf-8")
    assert _complaint(run_cli("list", "--json", path)) == message
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "folder"]
    assert _content(tmp_path) == {"file": b"mine"}


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_ends_with_an_example_of_it(run_cli: RunCli, verb: str) -> None:
    result = run_cli(verb, "--help")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith(f"Usage: fcconan {verb} [OPTIONS]")
    assert VERBS[verb].startswith(f"Example: fcconan {verb}")
    assert " ".join(result.stdout.split()).endswith(VERBS[verb])


def test_list_writes_for_programs_what_the_recipes_say(run_cli: RunCli, tmp_path: Path) -> None:
    result = run_cli("list", "--json", "list.json")
    assert (result.returncode, result.stderr) == (0, "")
    recipes = [load_recipe(name) for name in recipe_names()]
    assert json.loads(Path("list.json").read_text(encoding="utf-8")) == [
        {
            "name": recipe.name,
            "title": recipe.title,
            "kind": recipe.kind,
            "languages": recipe.languages,
            "synthetic": recipe.synthetic,
            "redistributable": recipe.redistributable,
            "rows": recipe.expect.rows,
            "summary": recipe.summary.strip(),
            "terms": recipe.card.terms.strip(),
        }
        for recipe in recipes
    ]
    assert [entry.name for entry in tmp_path.iterdir()] == ["list.json"]


def test_a_pipe_gets_whole_rows_without_escape_codes(run_process: RunCli) -> None:
    result = run_process("list")
    assert (result.returncode, result.stderr) == (0, "")
    assert "\x1b" not in result.stdout
    rows = [line.split("│")[1:-1] for line in result.stdout.splitlines() if line.startswith("│")]
    assert [row[0].strip() for row in rows] == [*recipe_names(), *task_names()]
    cells = {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows}
    assert cells["demo"] == ["en", "votes/test", "2898", "yes", "fcconan demo (synthetic)"]
    assert cells["grounded"][:2] == [
        "reply",
        "relatedness 1.00-5.00, opposition 1.00-5.00, specificity 1.00-5.00, toxicity 1.00-5.00, fluency 1.00-5.00",
    ]
    assert cells["pairwise"][:2] == ["comparison", "a, b, tie"]


def test_a_result_that_cannot_be_printed_is_one_line() -> None:
    command = f'"{sys.executable}" -m fcconan list > /dev/full'
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "fcconan: the result cannot be printed or written (No space left on device)\n"


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = f'"{sys.executable}" -m fcconan list | head -c 1'
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert (len(done.stdout), done.stderr) == (1, "")


def test_a_bad_json_target_is_noticed_before_the_work(run_cli: RunCli, tmp_path: Path) -> None:
    done = run_cli("build", "demo", "--out", "out", "--json", "nowhere/out.json")
    assert (
        _complaint(done) == "nowhere/out.json cannot be written: choose another --json file, in a folder that is there"
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("arguments", ["list", "build demo --out out"])
def test_a_deleted_current_folder_is_named(run_cli: RunCli, tmp_path: Path, arguments: str) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    try:
        complaint = _complaint(run_cli(*arguments.split()))
    finally:
        os.chdir(tmp_path)
    assert complaint == "the current folder was deleted: change to another folder and run the command again"
