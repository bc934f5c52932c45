"""Suites of generators: what their files may say, and which steps are done again."""

from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from fcconan.data.content import content_folder
from fcconan.data.files import RowWriter
from fcconan.errors import InputError
from fcconan.generation.items import GENERATED, Item
from fcconan.generation.suites.rows import complete_replies, join_judgements, model_raters
from fcconan.generation.suites.steps import StepCache, cache_key, content_hash
from fcconan.generation.suites.suite import LoadedSuite, MetricsConfig, suite_path, with_content_hashes
from fcconan.judging.comparison.judge import COMPARISON_COLUMNS
from fcconan.judging.rating import RATED
from fcconan.scoring import REFERENCE_COMBINATIONS

SUITE = {
    "name": "invented",
    "dataset": "messages.jsonl",
    "systems": {"gold": {"strategy": "reference"}, "m": {"model": "m"}},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "messages.jsonl").write_text('{"hate_speech": "The Ombrey never return a book."}\n')
    return tmp_path


def _write(folder: Path, **changes: Any) -> Path:
    path = folder / "suite.yaml"
    path.write_text(yaml.safe_dump({**SUITE, **changes}, sort_keys=False), encoding="utf-8")
    return path


def test_paths_are_relative_to_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    for name in ("pool.csv", "own.yaml", "answers.jsonl", "theirs.csv"):
        (folder / name).touch()
    (folder / "tiny").mkdir()
    system = {
        "model": "local:tiny",
        "task": "own.yaml",
        "format": "zephyr",
        "pool": "pool.csv:train",
        "encoder": "minilm",
        "judge": "replay:answers.jsonl",
    }
    loaded = LoadedSuite(_write(folder, systems={"a": system, "b": {"from": "theirs.csv"}}))
    assert loaded.dataset == folder / "messages.jsonl"
    assert loaded.options(loaded.suite.systems["a"]) == {
        "model": f"local:{folder}/tiny",
        "task": f"{folder}/own.yaml",
        "format": "zephyr",
        "pool": f"{folder}/pool.csv:train",
        "encoder": "minilm",
        "judge": f"replay:{folder}/answers.jsonl",
    }
    assert loaded.options(loaded.suite.systems["b"]) == {"from": f"{folder}/theirs.csv"}
    read = {path.name for path in loaded.read()}
    assert read == {"suite.yaml", "messages.jsonl", "tiny", "own.yaml", "pool.csv", "answers.jsonl", "theirs.csv"}


def test_a_dataset_may_be_a_name(folder: Path) -> None:
    assert LoadedSuite(_write(folder, dataset="demo")).dataset is None


@pytest.mark.parametrize(
    ("changes", "line", "complaint"),
    [
        ({"systems": {"a": {"modle": "m"}}}, 5, "unknown key 'systems.a.modle'; did you mean 'model'?"),
        ({"metrics": ["rouge-l", "beauty"]}, 8, "there is no metric 'beauty'"),
        ({"metrics": {"metric": ["novelty"]}}, 8, "novelty needs the CNs of the training data"),
        ({"metrics": {"several": "least"}}, 9, "Input should be 'max', 'mean' or 'joint'"),
        ({"metrics": {"question": ["a=b"]}}, 8, "`unieval` and `question` go together"),
        ({"dataset": "nowhere"}, 2, "nowhere does not exist"),
        ({"systems": {"a": {"model": "m", "pool": "nowhere.csv"}}}, 6, "nowhere.csv does not exist"),
        ({"systems": {"a/b": {"model": "m"}}}, 3, "the system 'a/b' is also the name of a file"),
        ({"systems": {"a": {"model": "m"}, "A": {"model": "m"}}}, 3, "only in capital letters"),
        ({"systems": {"a": {"model": "m", "system": "b"}}}, 4, "are options of `from`"),
        ({"systems": {}}, 3, "at least 1 item"),
        ({"comparisons": [{"protocol": "choice"}]}, 9, "comparisons.0.model: Field required"),
        ({"limit": 0}, 8, "greater than or equal to 1"),
    ],
)
def test_what_is_refused(folder: Path, changes: dict[str, Any], line: int, complaint: str) -> None:
    path = _write(folder, **changes)
    with pytest.raises(InputError) as refused:
        LoadedSuite(path)
    assert str(refused.value).startswith(f"{path}, line {line}: "), refused.value
    assert complaint in str(refused.value)


def test_rules_for_several_references_are_those_of_the_metrics() -> None:
    assert get_args(MetricsConfig.model_fields["several"].annotation) == REFERENCE_COMBINATIONS


def test_suites_of_the_catalogue_have_names(folder: Path) -> None:
    path = suite_path("generation")
    assert path == content_folder() / "benchmarks" / "generation.yaml"
    assert list(LoadedSuite(path).suite.systems) == ["gold", "tfidf", "bm25"]
    with pytest.raises(InputError, match="there is no suite nothing"):
        suite_path("nothing")


def test_a_file_that_changes_is_another_option(folder: Path) -> None:
    pool = folder / "pool.csv"
    pool.write_text("a\n1\n")
    options = {"pool": f"{pool}:train", "title": "A", "task": "brief"}
    before = with_content_hashes(options)
    assert before == {"pool": [[":train", content_hash(pool)]], "task": ["brief"]}
    assert with_content_hashes({**options, "title": "B"}) == before
    pool.write_text("a\n2\n")
    assert with_content_hashes(options) != before


def test_a_file_that_changes_in_a_folder_is_another_option(folder: Path) -> None:
    made = folder / "made"
    (made / "train").mkdir(parents=True)
    (made / "manifest.json").write_text("{}")
    rows = made / "train" / "rows.parquet"
    for options in ({"pool": f"{made}:train"}, {"bertscore": str(made)}, {"toxicity": f"{made}:hate+insult"}):
        rows.write_bytes(b"one")
        before = with_content_hashes(options)
        assert str(made) not in str(before)
        assert with_content_hashes(options) == before
        rows.write_bytes(b"two")  # and the manifest stays as it is
        assert with_content_hashes(options) != before
    assert with_content_hashes({"toxicity": f"{made}:hate"}) != with_content_hashes({"toxicity": f"{made}:insult"})
    assert with_content_hashes({"toxicity": "owner/model:hate"}) == {"toxicity": ["owner/model:hate"]}
    # What changes a model's answers is known from its configuration.
    assert with_content_hashes({"model": f"local:{made}", "judge": "replay:a.csv"}) == {
        "model": [f"local:{made}"],
        "judge": ["replay:a.csv"],
    }
    before = with_content_hashes({"pool": str(made)})
    rows.rename(rows.with_name("other.parquet"))
    assert with_content_hashes({"pool": str(made)}) != before


def test_a_step_is_kept_while_nothing_of_it_changes(folder: Path) -> None:
    out, file = folder / "out", folder / "out" / "a.csv"
    about = {"suite": {"name": "invented"}}
    steps = StepCache(out, about)
    assert not steps.is_reusable("a", "1")
    steps.begin([file])
    file.write_text("x")
    steps.end("a", "1", [file])
    again = StepCache(out, about)
    assert (again.is_reusable("a", "1"), again.is_reusable("a", "2"), again.is_reusable("b", "1")) == (
        True,
        False,
        False,
    )
    file.write_text("y")  # somebody was there
    assert not StepCache(out, about).is_reusable("a", "1")
    file.write_text("x")
    again.begin([file])
    again.end("a", "1", [], complete=False)
    assert not file.exists()
    assert not StepCache(out, about).is_reusable("a", "1")


def test_no_flipped_bit_lets_a_step_pass_for_another(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, file = folder / "out", folder / "out" / "a.csv"
    about = {"suite": {"name": "invented"}}
    steps = StepCache(out, about)
    steps.begin([file])
    file.write_text("x")
    steps.end("a", "1", [file], complete=False)
    checkpoint = out / "checkpoints" / "a.json"
    for complete in (False, True):  # an incomplete step stays incomplete, and a complete one is kept or done again
        steps.end("a", "1", [file], complete=complete)
        content = checkpoint.read_bytes()
        capsys.readouterr()
        bits = range(0, 8 * len(content), 13)
        for bit in bits:
            damaged = bytearray(content)
            damaged[bit // 8] ^= 1 << bit % 8
            checkpoint.write_bytes(damaged)
            assert not StepCache(out, about).is_reusable("a", "1")
        assert capsys.readouterr().err.count("note: ") == len(bits)
        checkpoint.write_bytes(content)
        assert StepCache(out, about).is_reusable("a", "1") == complete
        (out / "suite.json").write_text("damaged")  # the record is for people; a step passes without it
        assert StepCache(out, about).is_reusable("a", "1") == complete


def test_a_step_that_is_no_longer_there_leaves_nothing(folder: Path) -> None:
    out, about = folder / "out", {"suite": {"name": "invented"}}
    steps = StepCache(out, about)
    for name in ("a", "b"):
        steps.begin([out / name])
        (out / name).write_text(name)
        steps.end(name, "1", [out / name])
    again = StepCache(out, about)
    again.reuse("a")
    again.finish()
    assert ((out / "a").exists(), (out / "b").exists()) == (True, False)
    assert (StepCache(out, about).is_reusable("a", "1"), StepCache(out, about).is_reusable("b", "1")) == (True, False)


def test_another_suite_has_another_folder(folder: Path) -> None:
    StepCache(folder / "out", {"suite": {"name": "invented"}}).write()
    with pytest.raises(InputError, match="holds the results of the suite invented"):
        StepCache(folder / "out", {"suite": {"name": "other"}})


def test_keys_tell_options_apart() -> None:
    assert cache_key(a=1, b=2) == cache_key(b=2, a=1) != cache_key(a=1, b=3)


def _rows(path: Path, columns: dict[str, str], **row: Any) -> Path:
    with RowWriter(path, columns) as writer:
        writer.write([{**dict.fromkeys(columns), **row}])
    return path


def test_the_first_reply_to_an_item_counts(tmp_path: Path) -> None:
    path = tmp_path / "theirs.parquet"
    with RowWriter(path, GENERATED) as writer:
        writer.write(
            [{**dict.fromkeys(GENERATED), "item_id": "i", "system": "x", "text": text} for text in ("One.", "Two.")]
        )
    rows = list(complete_replies("ours", [Item("i", "hs-1", "The Ombrey never return a book.")], path))
    assert [(row["item_id"], row["system"], row["text"]) for row in rows] == [("i", "ours", "One.")]


def test_two_judges_of_one_name_are_refused(tmp_path: Path) -> None:
    rated = {"reply_id": "re-1", "aspect": "relevance", "rater_kind": "model", "value": 1.0}
    parts = [_rows(tmp_path / f"{n}.parquet", RATED, rater="j", **rated) for n in (1, 2)]
    with pytest.raises(InputError, match="two entries of ratings have the rater j and the aspect relevance: give"):
        join_judgements("ratings", parts, tmp_path / "all.parquet")
    other = _rows(tmp_path / "3.parquet", RATED, rater="lexical", **{**rated, "rater_kind": "metric"})
    join_judgements("ratings", [parts[0], other], tmp_path / "all.parquet")
    assert model_raters(tmp_path / "all.parquet") == ["j"]
    assert model_raters(other) == ["lexical"]
    said = {"item_id": "i", "system_a": "a", "system_b": "b", "rater": "j", "verdict": "a"}
    both = [_rows(tmp_path / f"c{n}.parquet", COMPARISON_COLUMNS, **said) for n in (1, 2)]
    with pytest.raises(InputError, match="two entries of comparisons have the rater j: give"):
        join_judgements("comparisons", both, tmp_path / "all.parquet")
