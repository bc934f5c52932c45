"""Retrieval datasets: folders of `fcconan build`, of BEIR, and with the configs of MTEB."""

import json
import re
import shutil
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

import fcconan
from fcconan.building.releases import table_path
from fcconan.errors import InputError
from fcconan.retrieval.collections import Collection, load_collection
from fcconan.retrieval.systems import TrainingPair
from fcconan.retrieval.trec import read_qrels

TIERS = ["diamond", "gold", "silver", "bronze"]
HS = {"q1": "The Ombrey never return a book.", "q2": "Every Tessok cheats at cards.", "q3": "Nobody needs the Velmari."}
CN = {
    "d1": "Ombrey readers return books early.",
    "d2": "Cards were banned in Tessok towns.",
    "d3": "Velmari bakers feed the towns.",
}


def table(folder: Path, config: str, split: str = "test") -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(folder / table_path(config, split)).to_pylist()
    return rows


def complaint(call: Callable[[], object]) -> str:
    with pytest.raises(InputError) as caught:
        call()
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    return message


def write_table(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path)


def write_lines(path: Path, rows: Iterable[object]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def beir(tmp_path: Path) -> Path:
    """A BEIR folder with three queries, of which the first is evaluated."""
    folder = tmp_path / "Tessok-facts"
    (folder / "qrels").mkdir(parents=True)
    write_lines(folder / "queries.jsonl", ({"_id": key, "text": text, "metadata": {}} for key, text in HS.items()))
    write_lines(folder / "corpus.jsonl", ({"_id": key, "title": "", "text": text} for key, text in CN.items()))
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\n", encoding="utf-8")
    return folder


def write_hub(folder: Path, tables: dict[tuple[str, str], list[dict[str, Any]]]) -> Path:
    """Writes a folder as on the Hub: parquet files, and a README that declares them; config and split to rows."""
    configs: dict[str, list[dict[str, str]]] = {}
    for (config, split), rows in tables.items():
        path = f"{config}/{split}.parquet"
        write_table(folder / path, rows)
        configs.setdefault(config, []).append({"split": split, "path": path})
    declared = [{"config_name": config, "data_files": files} for config, files in configs.items()]
    (folder / "README.md").write_text(f"---\n{yaml.safe_dump({'configs': declared})}---\n", encoding="utf-8")
    return folder


def hub_tables() -> dict[tuple[str, str], list[dict[str, Any]]]:
    return {
        ("corpus", "test"): [
            {"_id": "d1", "title": "Libraries", "text": CN["d1"]},
            {"_id": "d2", "title": "", "text": CN["d2"]},
        ],
        ("queries", "test"): [{"_id": key, "text": HS[key]} for key in ("q1", "q2")],
        ("qrels", "test"): [
            {"query-id": "q1", "corpus-id": "d1", "score": 2},
            {"query-id": "q2", "corpus-id": "d1", "score": 0},
        ],
    }


def test_a_release_folder_is_read_as_it_was_written(demo: Path) -> None:
    collection = load_collection(str(demo))
    manifest = json.loads((demo / "manifest.json").read_text(encoding="utf-8"))
    assert (collection.name, collection.title) == ("demo", manifest["title"])
    assert collection.fingerprint == manifest["fingerprint"]
    assert (collection.synthetic, collection.redistributable) == (True, True)
    assert collection.population == "the full catalogue"
    assert list(collection.queries.items()) == [(row["_id"], row["text"]) for row in table(demo, "queries")]
    assert list(collection.corpus.items()) == [(row["_id"], row["text"]) for row in table(demo, "corpus")]
    assert (len(collection.queries), len(collection.corpus)) == (24, 60)
    train = table(demo, "train", "train")
    assert collection.train == tuple(TrainingPair(row["hate_speech"], row["counter_narrative"]) for row in train)
    assert list(collection.partitions) == TIERS


def test_judgements_of_every_tier_are_its_pairs(demo: Path) -> None:
    collection = load_collection(str(demo))
    for tier in TIERS:
        expected: dict[str, dict[str, int]] = {}
        for row in table(demo, tier):
            expected.setdefault(row["hs_id"], {})[row["cn_id"]] = int(row["label"] == "appropriate")
        assert collection.qrels(tier) == expected
    with pytest.raises(KeyError, match="platinum"):
        collection.qrels("platinum")


def test_the_pool_is_what_has_a_positive_in_bronze(demo: Path) -> None:
    collection = load_collection(str(demo))
    positive = {row["cn_id"] for row in table(demo, "bronze") if row["label"] == "appropriate"}
    pool = collection.pool()
    assert list(pool.corpus.items()) == [(key, text) for key, text in collection.corpus.items() if key in positive]
    assert 0 < len(pool.corpus) < len(collection.corpus)
    assert pool.population == f"the {len(positive)} CNs with a positive in bronze"
    assert (pool.queries, pool.train) == (collection.queries, collection.train)
    assert pool.qrels("bronze") == collection.qrels("bronze")


def test_the_pool_needs_tiers_and_a_positive() -> None:
    def collection(*tiers: str, score: int = 1) -> Collection:
        partitions = {tier: lambda: {"q1": {"d2": score}} for tier in tiers}
        return Collection("mine", "Mine", "0", HS, CN, (), partitions)

    assert collection(*TIERS).pool().corpus == {"d2": CN["d2"]}
    assert complaint(collection("gold", "silver", "bronze").pool) == (
        "mine has no partition 'diamond', and protocol paper is defined on diamond, gold, silver, bronze: "
        "use --protocol sound"
    )
    assert complaint(collection(*TIERS, score=0).pool) == "mine has no positive in bronze: there is nothing to retrieve"


def test_a_tier_that_is_an_alias_reads_the_qrels_that_it_names(demo: Path) -> None:
    manifest = json.loads((demo / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["aliases"]["bronze-qrels"] == "qrels"
    assert not (demo / "bronze-qrels").exists()
    judged = {(row["query-id"], row["corpus-id"]): row["score"] for row in table(demo, "qrels")}
    bronze = load_collection(str(demo)).qrels("bronze")
    assert {(query, key): value for query, of in bronze.items() for key, value in of.items()} == judged


def test_labels_without_texts_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "labels"
    fcconan.build("demo", folder, fcconan.BuildOptions(labels_only=True))
    expected = f"{folder} holds labels without texts: `fcconan hydrate {folder} --out DIR` adds the texts"
    assert complaint(lambda: load_collection(str(folder))) == expected


def changed(demo: Path, folder: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """Returns a copy of the demo dataset with another manifest."""
    shutil.copytree(demo, folder)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    change(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return folder


def test_a_release_of_another_kind_is_refused(demo: Path, tmp_path: Path) -> None:
    def change(manifest: dict[str, Any]) -> None:
        manifest["counts"].pop("queries")
        manifest["aliases"] = {}

    folder = changed(demo, tmp_path / "other", change)
    assert complaint(lambda: load_collection(str(folder))) == (
        f"{folder} has 60 CNs to retrieve, 0 queries and 3 sets of qrels: give a dataset with all three, such as "
        "fc-conan or demo"
    )


def test_a_release_without_tiers_has_one_partition(demo: Path, tmp_path: Path) -> None:
    def change(manifest: dict[str, Any]) -> None:
        manifest["aliases"] = {}
        for tier in TIERS:
            manifest["counts"].pop(f"{tier}-qrels", None)

    collection = load_collection(str(changed(demo, tmp_path / "plain", change)))
    assert list(collection.partitions) == ["test"]
    assert collection.qrels("test") == load_collection(str(demo)).qrels("bronze")


def test_a_release_with_a_missing_or_torn_file_is_bad_input(demo: Path, tmp_path: Path) -> None:
    folder = changed(demo, tmp_path / "torn", lambda manifest: None)
    path = folder / table_path("corpus", "test")
    path.write_bytes(path.read_bytes()[:-20])
    message = complaint(lambda: load_collection(str(folder)))
    assert message.startswith(f"{path} cannot be read (")
    assert message.endswith("): get or build this Parquet file again")
    path.unlink()
    assert complaint(lambda: load_collection(str(folder))).startswith(f"{path} cannot be read (")


def test_an_empty_catalogue_and_no_queries_are_refused(demo: Path, tmp_path: Path) -> None:
    folder = changed(demo, tmp_path / "empty", lambda manifest: None)
    path = folder / table_path("corpus", "test")
    pq.write_table(pq.read_table(path).slice(0, 0), path)
    assert complaint(lambda: load_collection(str(folder))) == (
        f"{folder} has 0 CNs to retrieve, 24 queries and 4 sets of qrels: give a dataset with all three, such as "
        "fc-conan or demo"
    )
    shutil.copy(demo / table_path("corpus", "test"), path)
    path = folder / table_path("queries", "test")
    pq.write_table(pq.read_table(path).slice(0, 0), path)
    assert complaint(lambda: load_collection(str(folder))) == (
        f"{folder} has 60 CNs to retrieve, 0 queries and 4 sets of qrels: give a dataset with all three, such as "
        "fc-conan or demo"
    )


def test_training_pairs_that_share_a_cn_come_in_on_request_and_in_upstream_order(demo: Path, tmp_path: Path) -> None:
    def change(manifest: dict[str, Any]) -> None:
        manifest["counts"]["train"] = {"train": 2, "shared_cn": 2}

    folder = changed(demo, tmp_path / "shared", change)
    for split, indices in (("train", (0, 3)), ("shared_cn", (2, 1))):
        rows = [
            {"original_index": index, "hate_speech": f"hs {index}", "counter_narrative": f"cn {index}"}
            for index in indices
        ]
        write_table(folder / table_path("train", split), rows)
    pairs = [TrainingPair(f"hs {index}", f"cn {index}") for index in range(4)]
    assert load_collection(str(folder)).train == (pairs[0], pairs[3])
    assert load_collection(str(folder), shared_cn=True).train == tuple(pairs)


def test_a_release_without_training_pairs_is_read(demo: Path, tmp_path: Path) -> None:
    folder = changed(demo, tmp_path / "none", lambda manifest: manifest["counts"].pop("train"))
    assert load_collection(str(folder)).train == ()


def test_training_pairs_of_evaluated_messages_in_other_words_are_left_out(
    demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, french, far = CN["d1"], CN["d2"], "Ostrun sailors mend their own nets."
    pairs = [
        TrainingPair("the ombrey never return a book", ours),  # the same but for case and full stop
        TrainingPair("Those Ombrey never return a book!", "The shelves are full, ask the librarian."),  # a near copy
        TrainingPair("Libraries lose all that people across the river borrow.", ours),  # has a CN of the first
        TrainingPair("Book thieves, that is what they are.", french),  # has the code of the query, as the table says
        TrainingPair("The Ostrun sink every boat.", far),
    ]
    of = {"the ombrey never return a book": ("conan-en:HS1",), "book thieves that is what they are": ("conan-en:HS1",)}
    monkeypatch.setattr("fcconan.data.leakage.known_codes", lambda text: of.get(" ".join(words(text)), ()))
    folder = changed(demo, tmp_path / "kin", lambda manifest: manifest["counts"].__setitem__("train", {"train": 5}))
    write_table(folder / table_path("train", "train"), [pair._asdict() for pair in pairs])
    write_table(folder / table_path("queries", "test"), [{"_id": "q1", "text": HS["q1"]}])
    for path in folder.glob("*qrels/*"):
        path.unlink()  # no judgement is read
    collection = load_collection(str(folder))
    assert (collection.train, collection.train_left_out) == (tuple(pairs), 0)
    kinless = collection.without_leakage()
    assert (kinless.train, kinless.train_left_out) == ((pairs[4],), 4)
    assert (kinless.queries, kinless.corpus) == (collection.queries, collection.corpus)


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def test_a_beir_folder_is_read(beir: Path) -> None:
    write_lines(
        beir / "corpus.jsonl",
        [
            {"_id": "d1", "title": "Libraries", "text": CN["d1"]},
            {"_id": "d2", "title": None, "text": CN["d2"]},
            {"_id": 3, "text": ""},
        ],
    )
    collection = load_collection(str(beir))
    assert (collection.name, collection.title) == ("Tessok-facts", "Tessok-facts")
    assert collection.corpus == {"d1": f"Libraries {CN['d1']}", "d2": CN["d2"], "3": ""}
    assert collection.queries == {"q1": HS["q1"]}  # the others are not judged
    assert collection.train == ()
    assert list(collection.partitions) == ["test"]
    assert collection.qrels("test") == {"q1": {"d1": 1, "d2": 0}}
    assert (collection.synthetic, collection.redistributable) == (False, False)
    assert collection.population == "the full catalogue"


def test_the_fingerprint_of_a_beir_folder_changes_with_its_content(beir: Path) -> None:
    before = load_collection(str(beir)).fingerprint
    assert load_collection(str(beir)).fingerprint == before
    seen = {before}
    for name in ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv"):
        path = beir / name
        path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
        seen.add(load_collection(str(beir)).fingerprint)
    assert len(seen) == 4


def test_beir_trains_on_queries_that_are_not_evaluated(beir: Path) -> None:
    (beir / "qrels" / "train.tsv").write_text(
        "query-id\tcorpus-id\tscore\nq2\td2\t1\nq2\td3\t0\nq3\td3\t2\nq1\td3\t1\nq9\td3\t1\n", encoding="utf-8"
    )
    expected = [TrainingPair(HS["q2"], CN["d2"]), TrainingPair(HS["q3"], CN["d3"])]
    collection = load_collection(str(beir))
    assert list(collection.train) == expected
    assert list(collection.partitions) == ["test"]


def test_beir_training_judgements_of_an_unknown_cn_are_bad_input(beir: Path) -> None:
    path = beir / "qrels" / "train.tsv"
    path.write_text("q2\td9\t1\n", encoding="utf-8")
    assert complaint(lambda: load_collection(str(beir))) == (
        "the qrels of train judge 'd9', which the catalogue does not have (query 'q2'): correct them"
    )


def test_beir_partitions_other_than_train_are_evaluated_where_there_is_no_test(beir: Path) -> None:
    (beir / "qrels" / "test.tsv").rename(beir / "qrels" / "dev.tsv")
    (beir / "qrels" / "hard.tsv").write_text("q3\td3\t1\n", encoding="utf-8")
    (beir / "qrels" / "train.tsv").write_text("q2\td2\t1\nq3\td3\t1\n", encoding="utf-8")
    collection = load_collection(str(beir))
    assert list(collection.partitions) == ["dev", "hard"]
    assert list(collection.queries) == ["q1", "q3"]
    assert collection.train == (TrainingPair(HS["q2"], CN["d2"]),)
    assert collection.qrels("hard") == {"q3": {"d3": 1}}


def test_beir_without_judgements_is_refused(beir: Path) -> None:
    (beir / "qrels" / "test.tsv").rename(beir / "qrels" / "train.tsv")
    expected = f"{beir / 'qrels'} has no .tsv file for evaluation: add the file qrels/test.tsv of BEIR"
    assert complaint(lambda: load_collection(str(beir))) == expected


def test_beir_judgements_name_queries_and_cns_of_the_dataset(beir: Path) -> None:
    (beir / "qrels" / "test.tsv").write_text("q1\td1\t1\nq7\td1\t1\n", encoding="utf-8")
    expected = "the qrels of test judge query 'q7', which the dataset does not have: correct them"
    assert complaint(lambda: load_collection(str(beir))) == expected
    (beir / "qrels" / "test.tsv").write_text("q1\td1\t1\nq1\td9\t0\n", encoding="utf-8")
    assert complaint(lambda: load_collection(str(beir))) == (
        "the qrels of test judge 'd9', which the catalogue does not have (query 'q1'): correct them"
    )


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl"])
@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (
            '{"_id": "d1", "text": "again"}\n{"_id": "x", "text": "once more"}',
            "row 3: the id 'x' occurs twice: use unique ids",
        ),
        ('{"_id": "d7"}', "row 2: found _id; expected _id, and strings as text and title: correct the row"),
        ('{"text": "Ombrey"}', "row 2: found text; expected _id, and strings as text and title: correct the row"),
        (
            '{"_id": "d7", "text": "Ombrey"',
            "line 3: not JSON (Expecting ',' delimiter: line 2 column 1 (char 31)); correct the line",
        ),
        ('["d7", "Ombrey"]', 'line 3: found ["d7", "Ombrey"], expected a JSON object'),
        (
            '{"_id": "d7", "text": 7}',
            "row 2: found _id, text; expected _id, and strings as text and title: correct the row",
        ),
        (
            '{"_id": "d7", "text": null}',
            "row 2: found _id, text; expected _id, and strings as text and title: correct the row",
        ),
        (
            '{"_id": "d7", "text": "", "title": ["Ombrey"]}',
            "row 2: found _id, text, title; expected _id, and strings as text and title: correct the row",
        ),
    ],
)
def test_a_bad_line_of_beir_is_named(beir: Path, name: str, line: str, problem: str) -> None:
    path = beir / name
    path.write_text(f'{{"_id": "x", "text": "y"}}\n\n{line}\n', encoding="utf-8")
    assert complaint(lambda: load_collection(str(beir))) == f"{path}, {problem}"


def test_beir_reads_lines_as_json_has_them(beir: Path) -> None:
    text = "one\u2028two\u0085three\u000cfour"
    write_lines(beir / "queries.jsonl", [{"_id": "q1", "text": text}])
    assert load_collection(str(beir)).queries == {"q1": text}


def test_beir_without_queries_or_catalogue_is_refused(beir: Path) -> None:
    (beir / "corpus.jsonl").write_text("\n", encoding="utf-8")
    expected = "the qrels of test judge 'd1', which the catalogue does not have (query 'q1'): correct them"
    assert complaint(lambda: load_collection(str(beir))) == expected
    (beir / "queries.jsonl").unlink()
    expected = f"{beir / 'queries.jsonl'} cannot be read (No such file or directory): check the path"
    assert complaint(lambda: load_collection(str(beir))) == expected


def test_more_judgements_may_be_added(beir: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.qrels"
    path.write_text("q1 0 d3 1\n", encoding="utf-8")
    collection = load_collection(str(beir))
    more = collection.with_partition("mine", partial(read_qrels, path))
    assert list(more.partitions) == ["test", "mine"]
    assert more.qrels("mine") == {"q1": {"d3": 1}}
    assert more.qrels("test") == {"q1": {"d1": 1, "d2": 0}}
    assert list(collection.partitions) == ["test"]
    path.write_text("q2 0 d3 1\n", encoding="utf-8")
    assert complaint(lambda: more.qrels("mine")) == (
        "the qrels of mine judge query 'q2', which the dataset does not have: correct them"
    )


def test_a_folder_as_on_the_hub_is_read(tmp_path: Path) -> None:
    tables = hub_tables()
    tables["train", "train"] = [
        {"hate_speech": HS["q3"], "counter_narrative": CN["d3"]},
        {"hate_speech": HS["q3"], "counter_narrative": None},
    ]
    folder = write_hub(tmp_path / "hub", tables)
    collection = load_collection(str(folder))
    assert collection.name == "hub"
    assert collection.queries == {"q1": HS["q1"], "q2": HS["q2"]}
    assert collection.corpus == {"d1": f"Libraries {CN['d1']}", "d2": CN["d2"]}
    assert list(collection.partitions) == ["test"]
    assert collection.qrels("test") == {"q1": {"d1": 2}, "q2": {"d1": 0}}
    assert collection.train == (TrainingPair(HS["q3"], CN["d3"]),)


def test_tiers_on_the_hub_come_in_their_order_and_the_fingerprint_follows_them(tmp_path: Path) -> None:
    plain = load_collection(str(write_hub(tmp_path / "plain", hub_tables())))
    tables = hub_tables()
    for tier in ("silver", "diamond", "extra"):
        tables[f"{tier}-qrels", "test"] = [{"query-id": "q1", "corpus-id": "d2", "score": len(tier)}]
    collection = load_collection(str(write_hub(tmp_path / "tiers", tables)))
    assert list(collection.partitions) == ["diamond", "silver", "extra"]
    assert [collection.qrels(tier) for tier in collection.partitions] == [
        {"q1": {"d2": 7}},
        {"q1": {"d2": 6}},
        {"q1": {"d2": 5}},
    ]
    assert collection.fingerprint != plain.fingerprint
    assert load_collection(str(tmp_path / "plain")).fingerprint == plain.fingerprint


def test_a_dataset_on_the_hub_of_another_layout_is_refused(tmp_path: Path) -> None:
    tables = hub_tables()
    del tables["queries", "test"]
    folder = write_hub(tmp_path / "hub", tables)
    assert complaint(lambda: load_collection(str(folder))) == (
        f"{folder} has the configs corpus, qrels: a retrieval dataset has corpus, queries and qrels"
    )


def test_a_folder_of_the_same_name_and_a_changed_one_are_read_anew(tmp_path: Path) -> None:
    tables = hub_tables()
    assert load_collection(str(write_hub(tmp_path / "a" / "hub", tables))).queries["q1"] == HS["q1"]
    tables["queries", "test"][0]["text"] = "The Ostrun hide the moon."
    assert load_collection(str(write_hub(tmp_path / "b" / "hub", tables))).queries["q1"] == "The Ostrun hide the moon."
    assert load_collection(str(write_hub(tmp_path / "a" / "hub", tables))).queries["q1"] == "The Ostrun hide the moon."


@pytest.mark.parametrize("config", ["queries", "corpus"])
def test_ids_on_the_hub_are_unique(tmp_path: Path, config: str) -> None:
    tables = hub_tables()
    tables[config, "test"] = [*tables[config, "test"], tables[config, "test"][0]]
    folder = write_hub(tmp_path / "hub", tables)
    first = tables[config, "test"][0]["_id"]
    assert complaint(lambda: load_collection(str(folder))) == (
        f"{folder}, {config}, row 3: the id {first!r} occurs twice: use unique ids"
    )


def test_a_missing_column_on_the_hub_is_bad_input(tmp_path: Path) -> None:
    tables = hub_tables()
    tables["corpus", "test"] = [{"id": "d1", "text": CN["d1"]}]
    folder = write_hub(tmp_path / "hub", tables)
    message = complaint(lambda: load_collection(str(folder)))
    assert (
        message
        == f"{folder}, corpus, row 1: found id, text; expected _id, and strings as text and title: correct the row"
    )
    tables = hub_tables()
    tables["qrels", "test"] = [{"query": "q1", "corpus-id": "d1", "score": 1}]
    folder = write_hub(tmp_path / "other", tables)
    message = complaint(lambda: load_collection(str(folder)))
    assert message == (
        f"{folder} has no column 'query-id': corpus and queries have _id and text, qrels query-id, corpus-id and score"
    )


def test_what_is_not_there_is_not_looked_for_on_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for dataset in (str(tmp_path / "none"), "./none", "none", "a/b/c", "~/none"):
        assert complaint(lambda dataset=dataset: load_collection(dataset)) == (  # type: ignore[misc]
            f"no dataset at {dataset}: give a folder with manifest.json (of `fcconan build`), corpus.jsonl (BEIR), a "
            "README.md that declares configs, or the folders corpus and queries; or a name on the Hub such as "
            "owner/dataset"
        )
    (tmp_path / "file").write_text("x", encoding="utf-8")
    assert complaint(lambda: load_collection("file")) == "file is a file: give the folder of a dataset"


def test_a_name_that_the_hub_does_not_give_is_one_line() -> None:
    message = complaint(lambda: load_collection("ostrun/nothing"))
    assert message.startswith("there is no folder ostrun/nothing here, and the Hub cannot be reached")
    assert message.endswith("check the path, or the network")


@pytest.mark.parametrize(
    "readme", [None, "# Photographs\n", "---\nlicense: mit\n---\n\nconfigs: none\n", "\nconfigs: none\n"]
)
def test_a_folder_that_is_no_dataset_is_not_walked_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, readme: str | None
) -> None:
    import datasets

    monkeypatch.setattr(datasets, "get_dataset_config_names", lambda *_: pytest.fail("the folder is walked through"))
    (tmp_path / "corpus").mkdir()  # one of the two alone
    if readme is not None:
        (tmp_path / "README.md").write_text(readme, encoding="utf-8")
    assert complaint(lambda: load_collection(str(tmp_path))) == (
        f"no dataset at {tmp_path}: give a folder with manifest.json (of `fcconan build`), corpus.jsonl (BEIR), a "
        "README.md that declares configs, or the folders corpus and queries; or a name on the Hub such as "
        "owner/dataset"
    )


def test_folders_of_a_dataset_that_declares_nothing_are_tried(tmp_path: Path) -> None:
    for name in ("corpus", "queries"):
        (tmp_path / name).mkdir()
    message = complaint(lambda: load_collection(str(tmp_path)))
    assert message.startswith(f"{tmp_path} cannot be loaded as a dataset (")
