"""Rows, runs and results as datasets: read, typed, without text, and loadable."""

import csv
import datetime
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fcconan.building.builds import build
from fcconan.data.ids import make_hs_id
from fcconan.data.manifest import read_manifest
from fcconan.errors import InputError
from fcconan.publishing import rows as publish_rows
from fcconan.publishing.checks import check_loading, check_published_card
from fcconan.publishing.contents import Contents
from fcconan.publishing.known_texts import KnownTexts
from fcconan.publishing.options import PublishingOptions
from fcconan.publishing.restricted import find_restricted_columns
from tests import small
from tests.conftest import RunCli
from tests.publishing.hub import Hub, publish

ROW = dict[str, Any]


@contextmanager
def stage_rows(source: Path, **options: Any) -> Iterator[Contents]:
    """Stages rows without known texts of source datasets."""
    with publish_rows.stage_rows(source, KnownTexts(()), PublishingOptions(**options)) as (contents, _):
        yield contents


def table(contents: Contents, config: str) -> list[ROW]:
    rows: list[ROW] = pq.read_table(contents.path(f"{config}/test-00000-of-00001.parquet")).to_pylist()
    return rows


def write(path: Path, rows: list[ROW]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_ratings_become_a_dataset_that_loads(ratings: Path) -> None:
    with stage_rows(ratings, licence="cc-by-4.0") as contents:
        check_published_card(contents)
        check_loading(contents)
        assert find_restricted_columns(contents) == {}
        rater = {"rater": "judge-1", "rater_kind": "model", "aspect": "relevance", "low": 1.0, "high": 5.0}
        assert table(contents, "ratings") == [
            {"reply_id": "re-1", "value": 4.0, **rater},
            {"reply_id": "re-2", "value": None, **rater},
        ]
        card = contents.path("README.md").read_text()
        assert "pretty_name: my ratings\n" in card
        assert "The licence of the rows is `cc-by-4.0`." in card
        assert "- machine-generated\n" in card
        assert read_manifest(contents.folder)["counts"] == {"ratings": {"test": 2}}
    assert not contents.folder.exists()


def test_rows_are_published(ratings: Path, hub: Hub) -> None:
    publication = publish(ratings, "my-name/ratings", title="My ratings")
    repo = hub.repos["my-name/ratings"]
    assert set(repo.files) == {
        ".gitattributes",
        "README.md",
        "manifest.json",
        "ratings/test-00000-of-00001.parquet",
    }
    assert repo.commits[-1].title == f"Publish My ratings {publication.plan.tag}"
    with pytest.raises(
        InputError, match="not 'rows:Others': publish to another repository, or use the earlier --title"
    ):
        publish(ratings, "my-name/ratings", title="Others")


def test_the_card_distinguishes_computed_and_given_ids(ratings: Path) -> None:
    with stage_rows(ratings) as contents:
        assert (
            "\nIds of a prefix (`hs-`, `cn-`, `it-`, `re-`) and a hash were computed from the texts, and equal those "
            "of every dataset\nwith the same texts. Other ids are those of the source.\n"
        ) in contents.path("README.md").read_text()


def test_the_digest_depends_on_the_rows_only(ratings: Path) -> None:
    def digest() -> str:
        with stage_rows(ratings) as contents:
            return contents.digest

    first = digest()
    assert digest() == first
    ratings.write_text(ratings.read_text().replace("4.0", "3.0"))
    assert digest() != first


def test_labels_only_leaves_out_texts_and_retains_ids(replies: Path, hub: Hub, unloaded: None) -> None:
    with stage_rows(replies) as contents:
        # An unknown column of strings counts as text, because no schema declares `rude` as a label.
        assert find_restricted_columns(contents) == {"replies": ["hate_speech", "references", "remark", "text"]}
        assert table(contents, "replies")[1]["references"] == [small.CN[0]]
    with stage_rows(replies, labels_only=True) as contents:
        assert find_restricted_columns(contents) == {}
        assert table(contents, "replies") == [
            {"reply_id": f"re-{number}", "system": "system-a", "seed": number, "hs_id": make_hs_id(small.HS[number])}
            for number in (0, 1)
        ]
        assert contents.notes == ["Left out as text: replies: hate_speech, text, references, remark."]
        assert "(labels only)" in contents.path("README.md").read_text()
    with pytest.raises(
        InputError,
        match=r"give --labels-only, which leaves texts out, and --drop-column for other columns; or",
    ):
        publish(replies, "my-name/replies")
    publish(replies, "my-name/replies", labels_only=True)
    for body in hub.received():
        for text in (small.CN[3], small.HS[0], "rude"):
            assert text.encode() not in body


def test_texts_of_a_redistributable_dataset_are_published(
    replies: Path, built: Path, tmp_path: Path, hub: Hub, unloaded: None
) -> None:
    recipe = small.write_recipe(
        built / "upstream", small.recipe_data(built / "upstream") | {"redistributable": True, "name": "free"}
    )
    free = build(str(recipe), tmp_path / "free").folder
    with pytest.raises(InputError, match="contains text that must not be redistributed"):
        publish(replies, "my-name/replies", about=built / "full")
    # `remark` is an unknown column.
    with pytest.raises(InputError, match=r"texts that are not in .*free \(replies: remark\)"):
        publish(replies, "my-name/replies", about=free)
    publication = publish(replies, "my-name/replies", about=free, drop_columns=["remark"])
    assert publication.plan.restricted == {}
    sent = hub.repos["my-name/replies"].files["replies/test-00000-of-00001.parquet"]
    assert "remark" not in pq.read_table(pa.BufferReader(sent)).column_names
    card = hub.repos["my-name/replies"].files["README.md"].decode()
    assert f"the dataset `free` with the fingerprint `{read_manifest(free)['fingerprint']}`" in card
    # Texts that are not in the dataset: another message, a new reply, a prompt, and a judge's explanation.
    known = {"reply_id": "re-1", "system": "a", "hate_speech": small.HS[0], "text": small.CN[0]}
    rating = {"reply_id": "re-1", "rater": "judge", "aspect": "tone", "value": 1}
    for rows, column in (
        ([known | {"hate_speech": "Nobody of that dataset said this."}], "replies: hate_speech"),
        ([known | {"text": "No, and that is that."}], "replies: text"),
        ([known | {"references": [small.CN[0], "No."]}], "replies: references"),
        ([known | {"prompt": "Answer the following message."}], "replies: prompt"),
        ([rating | {"explanation": "It says no."}], "ratings: explanation"),
    ):
        path = write(tmp_path / "other.jsonl", rows)
        with pytest.raises(InputError, match=rf"texts that are not in .*free \({column}\)"):
            publish(path, "my-name/other", about=free)
        publish(path, "my-name/other", about=free, drop_columns=[column.split()[1]], dry_run=True)


BOARD = {"system": "a", "rater": "people", "aspect": "tone", "value": 3.5, "scale": "[1, 5]", "n": 2}
SENTENCE = "The Ombrey never return a book that the library lent to them."


@pytest.mark.parametrize("column", ["reason", "note", "remark", "rater"])
def test_a_sentence_is_restricted_text_in_every_column(tmp_path: Path, hub: Hub, column: str) -> None:
    rating = {"reply_id": "re-1", "rater": "ann", "rater_kind": "human", "aspect": "tone", "value": 1}
    path = write(tmp_path / "ratings.jsonl", [rating | {column: SENTENCE}])
    with pytest.raises(InputError, match=rf"contains text that must not be redistributed \(ratings: {column}\)"):
        publish(path, "my-name/ratings")
    assert hub.log == []


def test_text_outside_of_cells_is_refused_or_withheld(tmp_path: Path, ratings: Path) -> None:
    rating = {"reply_id": "re-1", "rater": "ann", "aspect": "tone", "value": 1}
    for name in (SENTENCE, " "):
        with (
            pytest.raises(InputError, match="a column name cannot be published"),
            stage_rows(write(tmp_path / "wide.jsonl", [rating | {name: 1}]), labels_only=True),
        ):
            pass
    result = tmp_path / "result.json"
    result.write_text(json.dumps({"signature": f"metric:mrr|{SENTENCE}|data:{SENTENCE}|seed:0", "rows": [BOARD]}))
    with stage_rows(result) as contents:
        assert contents.manifest["signatures"] == ["metric:mrr|withheld|withheld|seed:0"]
        assert "- `metric:mrr|withheld|withheld|seed:0`\n" in contents.path("README.md").read_text()
        assert SENTENCE not in contents.path("README.md").read_text()
    for title in ("Mine\n\n## Terms", "\x1b[1mNone`", SENTENCE, "{{title}}"):
        with pytest.raises(InputError, match="--title cannot be published"), stage_rows(ratings, title=title):
            pass


def test_cells_of_all_types_are_read(tmp_path: Path) -> None:
    row = {"reply_id": "re-1", "rater": "j", "aspect": "a", "value": 1.0}
    path = tmp_path / "ratings.parquet"
    day = datetime.date(2026, 1, 2)
    pq.write_table(pa.Table.from_pylist([row | {"day": day, "of": {"day": day}, "raw": b"x"}]), path)
    with stage_rows(path) as contents:
        assert table(contents, "ratings") == [
            row | {"day": '"2026-01-02"', "of": '{"day": "2026-01-02"}', "raw": "\"b'x'\""}
        ]
        assert find_restricted_columns(contents) == {"ratings": ["day", "of", "raw"]}
    with stage_rows(write(tmp_path / "a.jsonl", [{"reply_id": "r", "system": "s", "hate_speech": 3}])) as contents:
        assert table(contents, "replies")[0]["hs_id"] == make_hs_id("3")


def test_runs_and_results_become_tables(tmp_path: Path) -> None:
    folder = tmp_path / "all" / "report"
    (folder / "runs").mkdir(parents=True)
    (folder / "qrels").mkdir()
    (folder / "runs" / "bm25.trec").write_text("hs-1 Q0 cn-2 2 1.5 bm25\nhs-1 Q0 cn-1 1 2.5 bm25\n")
    (folder / "runs" / "tfidf.trec").write_text("hs-1 Q0 cn-1 1 0.5 tfidf\n")
    (folder / "qrels" / "gold.trec").write_text("hs-1 0 cn-1 1\n")
    (folder / "report.html").write_text("<p>")
    (folder / ".saved").mkdir()
    (folder / ".saved" / "results.csv").write_text("system,partition,metric,value\nold,gold,mrr,0\n")
    (folder / "settings.json").write_text('{"k": 10}')
    with (folder / "results.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows(
            [["system", "partition", "metric", "value", "n_queries"], ["bm25", "gold", "mrr", "0.25", "1"]]
        )
    board = BOARD | {"scale": [1, 5]}
    (folder / "board.json").write_text(json.dumps({"signature": "metric:board|seed:0", "rows": [board]}))
    ranked = {"name": "a", "points": 2, "share": 1.0}
    noted = ranked | {"note": "it won everything"}
    (folder / "rank.json").write_text(json.dumps({"signature": "metric:rank|seed:0", "systems": [noted], "invalid": 0}))
    with stage_rows(folder.parent) as contents:
        check_published_card(contents)
        check_loading(contents)
        assert find_restricted_columns(contents) == {}
        assert table(contents, "rankings") == [
            {"query_id": "hs-1", "corpus_id": "cn-1", "rank": 1, "score": 2.5, "system": "bm25"},
            {"query_id": "hs-1", "corpus_id": "cn-2", "rank": 2, "score": 1.5, "system": "bm25"},
            {"query_id": "hs-1", "corpus_id": "cn-1", "rank": 1, "score": 0.5, "system": "tfidf"},
        ]
        assert table(contents, "results") == [
            {"system": "bm25", "partition": "gold", "metric": "mrr", "value": 0.25, "n_queries": 1}
        ]
        assert table(contents, "leaderboard") == [BOARD]
        assert table(contents, "tournament") == [ranked | {"points": 2.0}]  # without the note
        assert contents.left_out == [
            "report/.saved/results.csv",
            "report/qrels/gold.trec",
            "report/report.html",
            "report/settings.json",
        ]
        assert "- `metric:board|seed:0`\n- `metric:rank|seed:0`" in contents.path("README.md").read_text()


def test_the_result_of_a_benchmark_becomes_rows(run_cli: RunCli, tmp_path: Path, built: Path) -> None:
    made = tmp_path / "bench.json"
    done = run_cli(
        "bench",
        built / "full",
        "--system",
        "random",
        "--cutoff",
        3,
        "--metric",
        "mrr@3",
        "--resamples",
        100,
        "--json",
        made,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(made.read_text())
    with stage_rows(made) as contents:
        rows = table(contents, "results")
        system = result["systems"]["random"]
        partitions = system["partitions"]
        assert {(row["system"], row["partition"]) for row in rows} == {("random", name) for name in partitions}
        for row in rows:
            part = row["partition"]
            of_message = row["metric"] == "message_auc"
            assert row["value"] == (system["message_auc"][part]["value"] if of_message else partitions[part]["mrr@3"])
            assert row["judged_only"] == (None if of_message else system["judged_only"][part]["mrr@3"])
        assert f"- `{result['signature']}`" in contents.path("README.md").read_text()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("rows.jsonl", "", "has no rows to publish"),
        ("rows.jsonl", '{"a": 1}\n', "has an unknown kind of rows"),
        ("rows.xlsx", "x", "is not a file of rows, run or result"),
        ("result.json", "{}", "has no result with rows"),
        ("result.json", "{", "cannot be read"),
        ("result.json", '{"rows": [{"system": "\\ud800"}]}', "cannot be read"),
        ("result.json", '{"protocol": 1, "systems": {"a": {}}}', "is not a result of `fcconan bench`"),
        (
            "rows.jsonl",
            f'{{"reply_id": "r", "rater": "j", "aspect": "a", "value": 1{"0" * 400}}}\n',
            "value holds '100000'",
        ),
        ("run.trec", "hs-1 cn-1\n", "expected 6"),
        (
            "rows.jsonl",
            '{"reply_id": "r", "rater": "j", "aspect": "a", "value": "good"}\n',
            "column value holds 'go'\\.\\.\\. \\(4 characters",
        ),
        ("rows.jsonl", '{"system_a": "a", "system_b": "b", "verdict": "A"}\n', "verdict is 'A', expected one of"),
        ("rows.jsonl", '{"reply_id": "r", "system": "s", "flags": 3}\n', "column flags holds .*, expected strings"),
    ],
)
def test_files_without_valid_rows_are_refused(tmp_path: Path, name: str, content: str, said: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(InputError, match=said), stage_rows(path):
        pass


def test_invalid_sources_and_options_are_refused(tmp_path: Path, built: Path, ratings: Path) -> None:
    with pytest.raises(InputError, match=r"there is no .*nowhere"):
        publish(tmp_path / "nowhere", "my-name/x")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"has no manifest\.json, and no file of rows"):
        publish(tmp_path / "empty", "my-name/x")
    with pytest.raises(InputError, match="leave --about, --title and --drop-column out"):
        publish(built / "labels", "my-name/x", title="Mine")
    with pytest.raises(
        InputError,
        match=(
            r"was built with its texts: publish the output of "
            r"`fcconan build PATH/recipe\.yaml --labels-only --out FOLDER`$"
        ),
    ):
        publish(built / "full", "my-name/x", labels_only=True)
    with pytest.raises(InputError, match="--language 'English'"):
        publish(ratings, "my-name/x", language="English")
    with pytest.raises(InputError, match="the card's license is 'mine', expected one of"):
        publish(ratings, "my-name/x", licence="mine")


def test_ratings_by_metrics_retain_item_and_system(tmp_path: Path) -> None:
    rating = {"reply_id": "re-1", "rater": "bleu-4", "rater_kind": "metric", "aspect": "score", "value": 0.5}
    told = {"item_id": "it-1", "hs_id": "hs-1", "system": "lamp", "remark": "short"}
    with stage_rows(write(tmp_path / "metrics.jsonl", [rating | told]), labels_only=True) as contents:
        (row,) = table(contents, "ratings")
    assert {name: row.get(name) for name in told} == told | {"remark": None}


def test_unknown_columns_of_results_are_text(tmp_path: Path) -> None:
    row = {
        "system": "bm25",
        "partition": "gold",
        "metric": "mrr@10",
        "value": 0.5,
        "low": 0.25,
        "message": "The Ombrey",
    }
    with stage_rows(write(tmp_path / "mine.jsonl", [row]), labels_only=True) as contents:
        (found,) = table(contents, "results")
    assert found == {name: value for name, value in row.items() if name != "message"}


def test_types_of_unknown_columns_are_inferred(tmp_path: Path) -> None:
    rating = {"reply_id": "re-1", "rater": "anna", "aspect": "score", "value": 0.5}
    cells = {"late": True, "seen": 3, "share": 0.5}
    with stage_rows(write(tmp_path / "mine.jsonl", [rating | cells])) as contents:
        schema = pq.read_schema(contents.path(contents.tables[0]))
    assert [str(schema.field(name).type) for name in cells] == ["bool", "int32", "double"]


def test_response_caches_and_datasets_next_to_rows_are_left_out(tmp_path: Path, ratings: Path, built: Path) -> None:
    folder = tmp_path / "results"
    shutil.copytree(built / "full", folder / "dataset")
    shutil.copy(ratings, folder / ratings.name)
    (folder / "journal.jsonl").write_text('{"key": "0"}\n')
    with stage_rows(folder) as contents:
        assert {path.split("/")[0] for path in contents.tables} == {"ratings"}
        assert {"journal.jsonl", "dataset/manifest.json"} <= set(contents.left_out)
