"""Mistakes in commands, names from elsewhere in messages, and `--debug`."""

import json
from pathlib import Path

import pytest

from tests import small
from tests.conftest import RunCli
from tests.models.server import Action, Server, use_key

# A colour, C1, a carriage return, a change of the direction, an invisible character.
HOSTILE = "a\x1b[31mb\x9b1mc\rd\u202ee\u200bf"
MISTAKES = {
    "build fc-conam --out out": "unknown recipe 'fc-conam': did you mean 'fc-conan'?",
    "build none.yaml --out out": "no recipe file at none.yaml: give a .yaml file",
    "build own.yaml --out out": "own.yaml, sumary: unknown key (found 'x')",
    "build lost.yaml --out out": "bronze.csv is missing: put the file there",
    "build demo --out out --tier-rule nonsense": "unknown tier rule 'nonsense': known are released, strict",
    "build demo": "--out",
    "hydrate labels --out out": "labels has no manifest.json: give a folder that `fcconan build` wrote",
    "judge rate replies.csv --task csevall --model m": "unknown task 'csevall': did you mean 'cseval'?",
    "judge rate replies.csv --task cseval --aspect kind --model m": "kind",
    "judge rate replies.csv --task cseval --model m --base-url localhost:8000": "found no http:// or https://",
    "judge rate replies.csv --task cseval --model m --prompt wrong.yaml": "wrong.yaml, 0.rule: unknown key",
    "judge rate nothing.csv --task cseval --model m": "nothing.csv",
    "generate replies.csv --model m --decoding hott": "unknown decoding 'hott'",
    "metrics replies.csv --metric length-words --out rows.txt": "rows.txt",
    "bench nowhere --system tfidf": "no dataset at nowhere: give a name, a folder, or owner/dataset on the Hub",
    "bench DEMO --system bm52": "bm52",
    "bench DEMO --suite wrong.yaml --system tfidf": "wrong.yaml, the file: Input should be a valid dictionary",
    "bench DEMO --system own_system:factory": "raised NameError: name 'unknown_word' is not defined",
    "rank replies.csv --json none/out.json": "there is no folder",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    use_key(monkeypatch)
    monkeypatch.chdir(tmp_path)
    small.write_small(tmp_path).rename("lost.yaml")
    Path("bronze.csv").unlink()
    files = {
        "replies.csv": "hate_speech,text,system\nEvery Tessok cheats.,Who saw it?,a\n",
        "own_system.py": "def factory():\n    return unknown_word\n",
        "wrong.yaml": "- {rule: user, content: '{{texts}}'}\n",
        "own.yaml": json.dumps(small.recipe_data(tmp_path) | {"sumary": "x"}),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("words", MISTAKES)
def test_a_mistake_is_one_line_and_writes_nothing(words: str, run_cli: RunCli, folder: Path, demo: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.glob("*.*")}
    done = run_cli(*words.replace("DEMO", str(demo)).split())
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert done.stderr.startswith("fcconan: ") and MISTAKES[words] in done.stderr
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


@pytest.mark.parametrize("debug", [(), ("--debug",)])
def test_debug_shows_the_traceback_of_ones_own_system(run_cli: RunCli, demo: Path, debug: tuple[str, ...]) -> None:
    done = run_cli("bench", demo, "--system", "own_system:factory", *debug)
    assert done.returncode == 2 and "NameError" in done.stderr.splitlines()[-1]
    assert ("return unknown_word" in done.stderr, done.stderr.count("\n") > 1) == (bool(debug), bool(debug))


@pytest.mark.parametrize("status", [200, 400, 500])
def test_names_and_answers_from_elsewhere_are_shown_in_safe_form(
    run_cli: RunCli, folder: Path, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fcconan.models.endpoint.PAUSES", ())
    text = folder.joinpath("replies.csv").read_text(encoding="utf-8").replace(",a\n", f',"{HOSTILE}"\n')
    folder.joinpath("replies.csv").write_text(text, encoding="utf-8", newline="")
    with Server() as server:
        server.behaviour = lambda body, number: Action(
            status, {"error": {"message": HOSTILE}} if status > 200 else None
        )
        options = f"--task cseval --aspect relevance --model m --base-url {server.url}"
        done = run_cli("judge", "rate", "replies.csv", *options.split(), "--out", "out.csv")
    shown = run_cli("metrics", "replies.csv", "--metric", "length-words")
    for said in (done, shown):
        printed = said.stdout + said.stderr
        assert printed and [each for each in printed if not each.isprintable() and each != "\n"] == []
    assert r"a\x1b[31mb" in shown.stdout and shown.returncode == 0, shown
    assert r"a\x1b[31mb" in done.stdout + done.stderr or status == 200
