"""`fcconan finetune` as a user runs it."""

import json
from pathlib import Path

import pytest

from tests.conftest import RunCli
from tests.models.tiny_chat import tiny_chat

FAST = (
    "--prompt",
    "message",
    "--max-epochs",
    1,
    "--train-batch-size",
    8,
    "--validation",
    0.2,
    "--lr-schedule",
    "constant",
)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_chat(tmp_path_factory.mktemp("tiny") / "tiny")


def test_a_model_is_tuned_and_reported(run_cli: RunCli, tiny: Path, demo: Path, tmp_path: Path) -> None:
    out, json_file = tmp_path / "tuned", tmp_path / "what.json"
    arguments = ["finetune", demo, "--base-model", f"local:{tiny}", "--out", out, *FAST, "--json", json_file]
    rates = ["--learning-rate", "1e-2", "--learning-rate", "1e-4"]
    done = run_cli(*arguments, *rates, "--drop-duplicates", "--verbose")
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(json_file.read_text())
    assert report == json.loads((out / "training.json").read_text())
    assert report["data"]["drop_duplicates"] is True
    assert report["data"]["left_out"] == {"duplicate": 44 - 18}  # the training part has 18 messages
    assert sum(part["pairs"] for part in report["parts"].values()) == 18
    assert [run["learning_rate"] for run in report["runs"]] == [1e-2, 1e-4]
    assert report["settings"]["rank"] == 16
    for said in ("Left out: 26 duplicate", "chosen", f"Written to {out}.", f"--model local:{out} --prompt message"):
        assert said in done.stdout
    assert f"{report['before']['perplexity']:.3f}" in done.stdout
    assert f"{report['after']['perplexity']:.3f}" in done.stdout

    same = run_cli(*arguments, *rates, "--drop-duplicates")
    assert (same.returncode, same.stderr) == (0, "")
    assert "It was trained already, and nothing was done." in same.stdout
    assert json.loads(json_file.read_text()) == report

    again = run_cli(*arguments, *rates)
    assert (again.returncode, again.stderr) == (
        2,
        f"fcconan: {out} is there and not empty: choose another --out, or remove it\n",
    )


def test_a_dry_run_counts_and_writes_nothing(run_cli: RunCli, tiny: Path, demo: Path, tmp_path: Path) -> None:
    json_file = tmp_path / "what.json"
    arguments = [
        "finetune",
        demo,
        "--base-model",
        tiny,
        "--out",
        tmp_path / "tuned",
        *FAST,
        "--dry-run",
        "--json",
        json_file,
    ]
    done = run_cli(*arguments, "--max-length", 180)
    assert (done.returncode, done.stderr) == (0, "")
    plan = json.loads(json_file.read_text())["dry_run"]
    train, validation = plan["parts"]["train"], plan["parts"]["validation"]
    too_long = train["left_out"]["too_long"] + validation["left_out"].get("too_long", 0)
    assert train["pairs"] + validation["pairs"] + too_long == 44
    assert train["longest"] <= 180
    assert plan["steps_an_epoch"] == -(-train["pairs"] // 8)
    assert plan["steps_at_most"] == 9 * plan["steps_an_epoch"]  # nine learning rates, one epoch each
    assert f"Left out: {too_long} too_long" in done.stdout
    assert list(tmp_path.iterdir()) == [json_file]


def test_bad_input_is_one_line(run_cli: RunCli, tiny: Path, demo: Path, tmp_path: Path) -> None:
    bare = tiny_chat(tmp_path / "bare", template=None)
    empty = tmp_path / "empty.jsonl"
    empty.write_text('{"hate_speech": "The Ombrey steal.", "counter_narrative": ""}\n')
    for options, said in (
        (["--base-model", "nobody/nothing"], "the model nobody/nothing cannot be loaded"),
        (["--base-model", bare], "bare has no chat template: name a format with --prompt-format (dialogpt, "),
        (["--base-model", tiny, "--preset", "gpt"], "there is no preset 'gpt': choose one of pairwise-qlora"),
        (["--base-model", tiny, "--tuning", "qlora", "--device", "cpu"], "method qlora holds the model in 4 bit"),
        (["--base-model", tiny, "--prompt", "poem"], "unknown prompt 'poem'"),
        (["--base-model", tiny, "--prompt-format", "poem"], "unknown format 'poem'"),
        (["--base-model", tiny, "--validation", "2"], "a share of 2.0 for validation"),
        (["--base-model", tiny, "--validation", "dev"], "has no split 'dev'"),
        (["--base-model", tiny, "--evaluation", demo, "--subset", "bronze"], "training pairs have a message of"),
        (
            ["--base-model", tiny, "--evaluation", f"{demo}:gold:test", "--subset", "bronze"],
            f"have a message of {demo}:gold:test, a paraphrase of one",
        ),
        (["--base-model", tiny, "--evaluation", f"{demo}:gold:dev"], "has no split 'dev'"),
        (["--base-model", tiny, "--evaluation", f"{demo}:poems"], "poems"),
        (["--base-model", tiny, "--max-length", 20], "pairs fits 20 tokens"),
        (["--base-model", tiny, "--rename", "reply"], "'--rename': found 'reply', expected NAME=COLUMN"),
        (["--base-model", tiny, "--json", tmp_path / "tuned" / "a.json"], "choose another --json file"),
    ):
        done = run_cli("finetune", demo, "--out", tmp_path / "tuned", *FAST[:-2], *options)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr
        assert done.stderr.startswith("fcconan: ")
        assert done.stderr.count("\n") == 1
    done = run_cli("finetune", empty, "--out", tmp_path / "tuned", "--base-model", tiny)
    assert done.stderr == (
        f"fcconan: {empty} has 1 pairs without a message or without a CN ({empty}, row 1): fill or remove those rows\n"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bare", "empty.jsonl"]


def test_all_pairs_that_are_refused_are_listed(run_cli: RunCli, tiny: Path, demo: Path, tmp_path: Path) -> None:
    listed = tmp_path / "refused.json"
    arguments = ("--out", tmp_path / "tuned", "--base-model", tiny, "--json", listed)
    done = run_cli("finetune", demo, *arguments, "--subset", "bronze", "--evaluation", demo)
    assert done.returncode == 2
    number = int(done.stderr.split()[1])
    pairs = json.loads(listed.read_text())["refused"]
    assert len(pairs) == number > 5
    assert f" and {number - 5} more, which --json FILE lists): take them out" in done.stderr
    shown = done.stderr.partition("a CN of it (")[2].partition(" and ")[0].split(", ")
    assert shown == [pair["pair_id"] for pair in pairs[:5]]
    assert all(pair["hate_speech"] and pair["counter_narrative"] for pair in pairs)

    empty = tmp_path / "empty.jsonl"
    empty.write_text('{"hate_speech": "The Ombrey steal.", "counter_narrative": ""}\n' * 7)
    done = run_cli("finetune", empty, *arguments)
    assert done.returncode == 2
    assert f"has 7 pairs without a message or without a CN ({empty}, row 1; " in done.stderr
    assert f"{empty}, row 5 and 2 more, which --json FILE lists): fill or remove" in done.stderr
    assert json.loads(listed.read_text()) == {"refused": [{"row": f"{empty}, row {n}"} for n in range(1, 8)]}
