"""`fcconan metrics`: the figures of score_texts by system, written as ratings that other verbs read."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcconan.building.builds import build
from fcconan.data.files import read_rows
from fcconan.scoring.text.bertscore import BertScore
from fcconan.scoring.text.evaluation import REFERENCE_METRICS, TEXT_METRICS, score_texts
from fcconan.scoring.text.seq2seq import Question
from tests.cli.judging import fcconan
from tests.cli.scored import write_rows
from tests.scoring.test_text_models import bart, classifier, encoder  # noqa: F401  fixtures

HS = "The Ombrey never return a book."
TEXTS = {
    ("r1", "A"): ("The library says that the Ombrey return books early.", "The library says they return books early."),
    ("r2", "A"): ("", "Ask the Ombrey library."),
    ("r3", "B"): ("Ask the Ombrey library!", "Ask the Ombrey library."),
    ("r4", "B"): ("No.", ""),
}
ROWS = [
    {"reply_id": reply, "item_id": f"i{reply[1]}", "system": system, "hate_speech": HS, "text": text, "references": own}
    for (reply, system), (text, own) in TEXTS.items()
]
# By hand: A's first text shares library, says, return, books, early and one "the"; B's first is its reference.
LCS, LONG, SHORT = 6, 9, 7


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _scores(*options: object, rows: list[dict[str, Any]] | None = None) -> tuple[list[dict[str, Any]], Any]:
    write_rows(Path("x.csv"), ROWS if rows is None else rows)
    done = fcconan("metrics", "x.csv", "--out", "scores.jsonl", "--json", "result.json", "--force", *options)
    assert (done.status, done.stderr) == (0, ""), done
    return list(read_rows(Path("scores.jsonl"))), json.loads(Path("result.json").read_text(encoding="utf-8"))


@pytest.mark.long
def test_processes_write_the_bytes_that_one_process_writes() -> None:
    found = {}
    for jobs in (1, 2):
        _, result = _scores("--jobs", jobs)
        found[jobs] = (Path("scores.jsonl").read_bytes(), result)
    assert found[1] == found[2]


def test_shards_are_together_the_whole_and_name_no_value_of_a_system() -> None:
    rows = [row | {"reply_id": f"{row['reply_id']}-{n}", "item_id": f"i{n}"} for n in range(9) for row in ROWS]
    whole, _ = _scores(rows=rows)
    parts = []
    for number in (1, 2, 3):
        ratings, result = _scores("--shard", f"{number}/3", rows=rows)
        parts.append(ratings)
        assert {(row["value"], row["reason"]) for row in result["rows"]} == {(None, "shard")}
        assert all(f"/shard:{number}-of-3" in row["signature"] for row in result["rows"])
        assert "--shard" in result["notes"][-1]
    items = [{row["item_id"] for row in part} for part in parts]
    assert all(items)
    assert sum(map(len, items)) == 9
    key = json.dumps
    assert sorted(map(key, [row for part in parts for row in part])) == sorted(map(key, whole))


def test_ratings_of_every_reply_and_values_of_every_system() -> None:
    ratings, result = _scores("--metric", "rouge-l", "--metric", "length-words")
    precision, recall = LCS / LONG, LCS / SHORT
    expected = 2 * precision * recall / (precision + recall)
    assert [(row["reply_id"], row["rater"], row["aspect"], row["value"], row["reason"]) for row in ratings] == [
        ("r1", "rouge-l", "score", pytest.approx(expected, abs=1e-12), None),
        ("r2", "rouge-l", "score", None, "empty_text"),
        ("r1", "length-words", "score", 9.0, None),
        ("r2", "length-words", "score", 0.0, None),
        ("r3", "rouge-l", "score", 1.0, None),
        ("r4", "rouge-l", "score", None, "no_reference"),
        ("r3", "length-words", "score", 4.0, None),
        ("r4", "length-words", "score", 1.0, None),
    ]
    assert {(row["rater_kind"], row["system"], row["item_id"]) for row in ratings if row["reply_id"] == "r3"} == {
        ("metric", "B", "i3")
    }
    assert {row["rater"]: row["higher_is_better"] for row in ratings} == {"rouge-l": True, "length-words": None}
    found = {(row["metric"], row["system"]): row for row in result["rows"]}
    assert found["rouge-l", "A"]["value"] == pytest.approx(expected, abs=1e-12)
    assert found["rouge-l", "A"]["missing"] == {"empty_text": 1}
    assert found["rouge-l", "B"]["missing"] == {"no_reference": 1}
    assert (found["rouge-l", "B"]["n"], found["rouge-l", "B"]["n_missing"]) == (2, 1)
    assert found["rouge-l", "B"]["n_empty_references"] == 0  # an empty cell is no reference
    assert found["length-words", "A"]["value"] == 4.5
    assert found["length-words", "A"]["signature"].endswith(f"|data:{result['data']}")
    assert result["data"].startswith("x.csv@")


def test_values_say_how_many_replies_they_leave_out() -> None:
    write_rows(Path("x.csv"), ROWS)
    done = fcconan("metrics", "x.csv", "--out", "scores.csv", "--metric", "rouge-l", "--metric", "length-words")
    precision, recall = LCS / LONG, LCS / SHORT
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in done.stdout.splitlines()]
    assert ["A", f"{2 * precision * recall / (precision + recall):.4f} (without 1)", "4.5000", "2"] in cells
    assert ["B", "1.0000 (without 1)", "2.5000", "2"] in cells


def test_no_file_of_a_model_that_is_read_is_replaced() -> None:
    write_rows(Path("x.csv"), ROWS)
    Path("model").mkdir()
    Path("model/config.json").write_text("{}", encoding="utf-8")
    for option, name in (("--bertscore", "model"), ("--bartscore", "model"), ("--toxicity", "model:rude")):
        done = fcconan("metrics", "x.csv", "--out", "scores.csv", option, name, "--json", "model/config.json")
        assert done.complaint == "model/config.json is in the folder model, which is read: choose another --json"
    assert Path("model/config.json").read_text(encoding="utf-8") == "{}"


def test_all_that_need_no_model_are_the_default() -> None:
    ratings, result = _scores()
    assert list(dict.fromkeys(row["metric"] for row in result["rows"])) == list(TEXT_METRICS)
    assert {row["rater"] for row in ratings} == set(TEXT_METRICS) - {
        "repetition-rate"
    }  # which single texts do not have
    whole = {(row["metric"], row["system"]): row["value"] for row in result["rows"]}
    own = [row for row in ROWS if row["system"] == "B"]
    library = score_texts([str(row["text"]) for row in own], [["Ask the Ombrey library."], []])
    assert whole["bleu-4", "B"] == pytest.approx(library["bleu-4"].corpus.value, abs=1e-12)
    bare, _ = _scores(rows=[{**row, "references": ""} for row in ROWS])
    assert {row["rater"] for row in bare} == set(TEXT_METRICS) - {*REFERENCE_METRICS, "repetition-rate"}


def test_several_references_and_their_mean() -> None:
    rows = [{**ROWS[2], "references": json.dumps(["Ask the Ombrey library.", "zebra"])}]
    assert _scores("--metric", "rouge-1", rows=rows)[0][0]["value"] == 1.0
    assert _scores("--metric", "rouge-1", "--multi-reference", "mean", rows=rows)[0][0]["value"] == 0.5


def test_novelty_against_a_file_and_a_dataset(demo: Path) -> None:
    write_rows(Path("train.csv"), [{"counter_narrative": "Ask the Ombrey"}, {"counter_narrative": ""}])
    ratings, _ = _scores("--metric", "novelty", "--novelty-against", "train.csv")
    # r3: ask, the, ombrey, library shares three of four words.
    assert [(row["rater"], row["value"]) for row in ratings if row["reply_id"] == "r3"] == [("novelty", 0.25)]
    assert "training:" in _scores("--metric", "novelty", "--novelty-against", demo)[1]["rows"][0]["signature"]
    assert set(TEXT_METRICS) < {row["metric"] for row in _scores("--novelty-against", "train.csv")[1]["rows"]}


def test_novelty_against_a_part_of_a_dataset_that_has_several() -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    def part(folder: str, split: str, **columns: list[Any]) -> None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(columns), Path(folder, f"{split}-00000-of-00001.parquet"))

    part("d/one-pairs", "train", hate_speech=[HS], counter_narrative=["Ask the Ombrey"])
    part("d/one-pairs", "test", hate_speech=[HS], counter_narrative=["Ask the Ombrey library"])
    part("d/two-pairs", "train", hate_speech=[HS], counter_narrative=["Ask the library!"])
    part("d/replies", "test", text=["Ask the Ombrey library"])
    part("e/turns", "train", role=["hs", "cn"], text=["Ask the Ombrey library", "Ask the Ombrey"])
    expected = {"d:one-pairs": 0.25, "d:two-pairs": 0.25, "e": 0.25, "e:turns": 0.25}
    signatures = set()
    for train, value in expected.items():
        ratings, result = _scores("--metric", "novelty", "--novelty-against", train)
        assert [row["value"] for row in ratings if row["reply_id"] == "r3"] == [value], train
        signatures.add(result["rows"][0]["signature"])
    assert len(signatures) == 2  # d:one-pairs and e hold the same CNs
    refused = {
        "d": "d has a split train in one-pairs, two-pairs: choose one, such as --novelty-against d:one-pairs",
        "d:pairs": "d has no pairs, only one-pairs, replies, two-pairs: give files or a dataset with pairs",
        "d:replies": "d/replies has no split 'train': it has test",
        "d/two-pairs": "d/two-pairs is the config two-pairs of a dataset, not its folder: give d",
        "x.csv:pairs": "x.csv is a file and has no config 'pairs': give --novelty-against x.csv",
        "none": "none is neither a dataset folder nor a file of rows: give a folder that `fcconan build` wrote, or a "
        "file that ends in .parquet, .jsonl, .csv, .tsv",
    }
    Path("scores.jsonl").unlink()
    for train, message in refused.items():
        assert fcconan("metrics", "x.csv", "--out", "scores.jsonl", "--novelty-against", train).complaint == message
    assert not Path("scores.jsonl").exists()
    done = fcconan("metrics", "x.csv", "--out", "scores.csv", "--metric", "novelty", "--novelty-against", "demo:train")
    assert (done.status, "training:" in done.stdout) == (0, True)


def test_several_references_at_once_in_bleu() -> None:
    rows = [{**ROWS[2], "text": "a b c", "references": json.dumps(["a b", "c d e"])}]
    # Each of the three words is in a reference, and one reference has three words; alone, the first has two of them.
    options = ("--metric", "bleu-1", "--metric", "rouge-1", "--multi-reference", "joint")
    ratings, result = _scores(*options, rows=rows)
    bleu, rouge = (line["signature_of_ratings"] for line in result["rows"])
    assert bleu.startswith("bleu-1|refs:joint|tok:white-space|") and bleu.endswith(f"|data:{result['data']}")
    assert rouge.startswith("rouge-1|refs:max|")
    shown = fcconan("metrics", "x.csv", "--out", "scores.csv", *options).stdout.splitlines()[-3:]
    assert shown == [f"ratings:{bleu}", *(line["signature"] for line in result["rows"])]
    assert [row["value"] for row in ratings] == pytest.approx([1.0, 0.8], abs=1e-12)
    assert _scores("--metric", "bleu-1", rows=rows)[0][0]["value"] == pytest.approx(2 / 3, abs=1e-12)


def test_letters_that_rouge_leaves_out_are_noted() -> None:
    texts = ["книга", "Perché no?", "Why “not” ✊?"]
    rows = [{**ROWS[2], "reply_id": f"r{n}", "text": text, "references": "Why not?"} for n, text in enumerate(texts)]
    note = "ROUGE leaves out all letters but a to z, and 2 replies or their references hold others"
    [found] = _scores("--metric", "rouge-1", rows=rows)[1]["notes"]
    assert found.startswith(note)
    assert note in fcconan("metrics", "x.csv", "--out", "scores.csv").stdout
    assert _scores("--metric", "bleu-1", rows=rows)[1]["notes"] == []
    assert _scores("--metric", "rouge-1", rows=rows[2:])[1]["notes"] == []


def test_the_demo_is_scored_and_correlated(demo: Path) -> None:
    done = fcconan("metrics", demo, "--metric", "rouge-l", "--out", "scores.csv")
    assert done.status == 0, done
    assert "Written: scores.csv" in done.stdout
    done = fcconan(
        "correlate",
        demo,
        "scores.csv",
        "--rater",
        "rouge-l",
        "--resamples",
        0,
        "--json",
        "c.json",
        "--level",
        "pooled",
    )
    assert done.status == 0, done
    rows = json.loads(Path("c.json").read_text(encoding="utf-8"))["tables"]["correlations"]
    assert {(row["metric"], row["n"]) for row in rows} == {("rouge-l", 96)}


def test_models(
    encoder: Path,  # noqa: F811
    bart: Path,  # noqa: F811
    classifier: Callable[..., Path],  # noqa: F811
) -> None:
    models = ["--bertscore", encoder, "--bartscore", bart, "--toxicity", f"{classifier()}:rude+threat"]
    ratings, result = _scores(*models, "--device", "cpu", "--batch-size", 2)
    assert list(dict.fromkeys((row["rater"], row["aspect"]) for row in ratings)) == [
        *(("bertscore", field) for field in ("precision", "recall", "f")),
        *(("bartscore", field) for field in ("precision", "recall", "f")),
        ("toxicity", "score"),
    ]
    expected = score_texts(
        ["Ask the Ombrey library!"], [["Ask the Ombrey library."]], [BertScore(encoder, device="cpu")]
    )
    found = next(row["value"] for row in ratings if (row["reply_id"], row["aspect"]) == ("r3", "f"))
    assert found == pytest.approx(expected["bertscore-f"].values[0], abs=1e-6)
    toxic = next(row for row in ratings if (row["reply_id"], row["rater"]) == ("r1", "toxicity"))
    assert (0 < toxic["value"] < 1, toxic["higher_is_better"]) == (True, False)
    assert "labels:rude+threat" in result["rows"][-1]["signature"]
    asked = [
        *("--question", "books=is this Yes or No? {text}"),
        *("--question", "message=does {text} answer {message}?"),
    ]
    ratings, result = _scores("--unieval", bart, *asked, "--device", "cpu")
    own = Question(bart, "is this Yes or No? {text}", name="books", device="cpu")
    found = next(row["value"] for row in ratings if (row["reply_id"], row["rater"]) == ("r3", "books"))
    assert found == pytest.approx(score_texts(["Ask the Ombrey library!"], metrics=[own])["books"].values[0], abs=1e-6)
    assert {row["rater"] for row in ratings} == {"books", "message"}
    refused = fcconan("metrics", "x.csv", "--out", "y.csv", "--toxicity", classifier())
    assert "has the labels kind, rude, threat, not toxic: give the labels that mean toxic" in refused.complaint


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (ROWS, ["--metric", "bleu-9"], "there is no metric 'bleu-9': choose from bleu-1, bleu-2"),
        (ROWS, ["--metric", "novelty"], "novelty needs the CNs that were trained on: give them with --novelty-against"),
        (ROWS, ["--novelty-against", "none.csv"], "there is no file none.csv: check the path"),
        (
            ROWS,
            ["--novelty-against", "x.jsonl"],
            "x.jsonl, row 1 has no column text or counter_narrative, but a: rename that of the CNs",
        ),
        (
            ROWS,
            ["--multi-reference", "median"],
            "Invalid value for '--multi-reference': 'median' is not one of 'max', 'mean', 'joint'.",
        ),
        (ROWS, ["--unieval", "model"], "one of --unieval and --question is missing: give a model and its question"),
        (ROWS, ["--question", "a={text}"], "one of --unieval and --question is missing"),
        (
            ROWS,
            ["--unieval", "model", "--question", "{text}?"],
            "Invalid value for '--question': found '{text}?', expected NAME=QUESTION.",
        ),
        (ROWS, ["--bertscore", "none/here/model"], "no model folder at none/here/model: give a folder, or a name"),
        (ROWS, ["--rename", "text=reply"], "x.csv has no column 'reply', but reply_id, item_id, system, hate_speech"),
        (
            ROWS,
            ["--rename", "tekst=text"],
            "Invalid value for '--rename': rows have no column 'tekst': did you mean 'text'? choose NAME among ",
        ),
        (ROWS, ["--split", "test"], "x.csv is a file and has no splits: leave --split out"),
        (ROWS, ["--json", "x.csv"], "x.csv is read, and --json would destroy it: choose another --json"),
        (ROWS, ["--json", "scores.csv"], "scores.csv is named by --out and --json: give each a file of its own"),
        (ROWS, ["--batch-size", "0"], "Invalid value for '--batch-size'"),
        ([*ROWS, ROWS[0]], [], "x.csv, row 5: the reply r1 is a duplicate; remove one, or"),
        (
            [{"reply_id": "r1", "value": 1}],
            [],
            "x.csv has no columns 'text', 'hate_speech', but reply_id, value: name the column with",
        ),
        (
            [{**row, "references": ""} for row in ROWS],
            ["--metric", "bleu-1"],
            "bleu-1 needs references: give a list of references for each reply",
        ),
    ],
)
def test_bad_input_is_refused(rows: list[dict[str, Any]], options: list[str], message: str) -> None:
    write_rows(Path("x.csv"), rows)
    Path("x.jsonl").write_text('{"a": 1}\n', encoding="utf-8")
    assert fcconan("metrics", "x.csv", "--out", "scores.csv", *options).complaint.startswith(message)
    assert sorted(path.name for path in Path().iterdir()) == ["x.csv", "x.jsonl"]


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("scores.txt", "scores.txt has an unknown suffix: expected a name that ends in .parquet, .jsonl, .csv, .tsv"),
        ("none/scores.csv", "none/scores.csv cannot be written: choose another file, in an existing folder"),
        ("x.csv", "x.csv is read, and --out would destroy it: choose another --out"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused(out: str, message: str) -> None:
    write_rows(Path("x.csv"), ROWS)
    assert fcconan("metrics", "x.csv", "--out", out).complaint == message


def test_a_dataset_without_texts_and_an_empty_file_are_refused() -> None:
    folder = build("demo", Path("demo"), labels_only=True).folder
    assert "has no columns 'text'" in fcconan("metrics", folder, "--out", "s.csv").complaint
    assert "which holds the release only" in fcconan("metrics", folder, "--out", folder / "s.csv").complaint
    Path("x.csv").touch()
    assert fcconan("metrics", "x.csv", "--out", "s.csv").complaint == "x.csv has no rows: give replies to judge"
    assert not Path("s.csv").exists()
