"""The primary comparison of a benchmark, its exploratory tests, and the baseline."""

import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from fcconan.errors import InputError
from fcconan.models.client import EndpointError
from fcconan.retrieval.benchmark import bench
from fcconan.retrieval.benchmark_settings import BenchmarkSettings, choose_primary, read_primary
from fcconan.retrieval.collections import Collection, load_collection
from fcconan.retrieval.lexical import BM25, BM25Fast, Random, TfIdf
from fcconan.retrieval.systems import Retriever
from fcconan.retrieval.trec import read_qrels
from fcconan.scoring import Ranking
from tests.conftest import RunCli

Floats = npt.NDArray[np.float64]


@pytest.fixture(scope="module")
def collection(demo: Path) -> Collection:
    return load_collection(str(demo))


class Oracle:
    """Ranks by the labels of Bronze; equal ones by id."""

    name = "oracle"

    def __init__(self, collection: Collection) -> None:
        self.labels = collection.qrels("bronze")

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> dict[str, Ranking]:
        found = {}
        for query in queries:
            judged = self.labels.get(query, {})
            best = sorted(corpus, key=lambda key: (-judged.get(key, 0), key))[:k]
            found[query] = [(key, float(-place)) for place, key in enumerate(best)]
        return found


class Down:
    """A system whose endpoint cannot be reached."""

    name = "down"

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> dict[str, Ranking]:
        raise EndpointError("connection", "the endpoint cannot be reached")


def run(collection: Collection, *systems: Retriever, **settings: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    return bench(collection, systems, BenchmarkSettings(**{"resamples": 200, **settings}).resolve(collection))


def five(collection: Collection) -> list[Retriever]:
    return [Oracle(collection), Random(seeds=3), BM25(), TfIdf(), BM25Fast()]


def family(result: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    return [row for row in result["comparisons"] if row["family"] == name]


# Adjusted p values


def _series(details: Mapping[str, Any], row: Mapping[str, Any]) -> Floats:
    """Returns the differences of a comparison for each HS, from the scores of the report; nan if undefined."""
    a, b = (details["per_query"][row[side]][row["partition"]][row["metric"]].values() for side in "ab")
    return np.array([np.nan if None in pair else pair[0] - pair[1] for pair in zip(a, b, strict=True)])


def _step_down(rows: list[dict[str, Any]], details: Mapping[str, Any], resamples: int) -> list[float]:
    """Returns the adjusted p values of a family by a loop over resamples and single tests."""
    differences = [_series(details, row) for row in rows]
    norms = [np.sqrt(np.nansum(one**2)) or 1.0 for one in differences]
    observed = [abs(np.nansum(one)) / norm for one, norm in zip(differences, norms, strict=True)]
    signs = np.random.default_rng(0).integers(2, size=(resamples, len(differences[0]))) * 2.0 - 1.0
    order = sorted(range(len(rows)), key=lambda test: -observed[test])
    at_least = dict.fromkeys(order, 0)
    for draw in signs:
        largest = 0.0
        for test in reversed(order):
            largest = max(largest, abs(np.nansum(draw * differences[test])) / norms[test])
            at_least[test] += largest >= observed[test] - 1e-9
    adjusted = itertools.accumulate(((at_least[test] + 1) / (resamples + 1) for test in order), max)
    found = dict(zip(order, adjusted, strict=True))
    return [found[test] for test in range(len(rows))]


def test_every_family_is_adjusted_over_itself(collection: Collection) -> None:
    result, details = run(collection, *five(collection), metrics=("ndcg@10", "hit_rate@10"))
    assert [(one["name"], one["n_tests"]) for one in result["families"]] == [("primary", 10), ("exploratory", 70)]
    for one in result["families"]:
        rows = family(result, one["name"])
        assert len(rows) == one["n_tests"]
        expected = _step_down(rows, details, 200)
        assert [row["p_corrected"] for row in rows] == pytest.approx(expected, abs=1e-9)
    assert {(row["metric"], row["partition"]) for row in family(result, "primary")} == {("ndcg@10", "silver")}


def test_an_oracle_differs_from_random_however_many_tests_there_are(collection: Collection) -> None:
    eight = [*five(collection), BM25("bm25-b", b=0.3), BM25("bm25-c", b=0.9), BM25("bm25-d", k1=2.0)]
    result, _ = run(collection, *eight, resamples=2_000)
    assert [one["n_tests"] for one in result["families"]] == [28, 868]
    found = {name: [row for row in family(result, name) if row["a"] == "oracle"] for name in ("primary", "exploratory")}
    # Holm's floor over the 896 tests would be .45.
    (first,) = (row for row in found["primary"] if row["b"] == "random")
    assert first["p_corrected"] == pytest.approx(1 / 2_001, abs=1e-9)
    assert min(row["p_corrected"] for row in found["exploratory"]) <= 0.001


def test_one_pair_on_one_metric_and_partition_needs_no_correction(collection: Collection) -> None:
    alone = replace(collection, partitions={"gold": collection.partitions["gold"]})
    result, _ = run(alone, BM25(), Random(seeds=2), metrics=("mrr@10",))
    (row,) = result["comparisons"]
    assert row["p_corrected"] == row["p"]
    assert row["family"] == "primary"
    assert [one["name"] for one in result["families"]] == ["primary"]


# What a reader is told


def test_families_are_in_the_result_the_signature_and_the_notes(collection: Collection) -> None:
    result, _ = run(collection, BM25(), TfIdf(), Random(seeds=2), metrics=("ndcg@10",))
    assert result["families"] == [
        {
            "name": "primary",
            "tests": "all pairs of systems, ndcg@10, silver",
            "n_tests": 3,
            "floor": 1 / 201,
            "correction": "max-t",
            "units": 24,
        },
        {
            "name": "exploratory",
            "tests": "all pairs of systems, all other metrics and partitions",
            "n_tests": 9,
            "floor": 1 / 201,
            "correction": "max-t",
            "units": 24,
        },
    ]
    part = "|primary:ndcg@10@silver|pairs:all|family:primary-and-exploratory|tests:3+9|floor:0.00498|correction:max-t"
    assert result["signature"].endswith(part)
    assert result["settings"]["primary"] == "ndcg@10@silver"
    assert result["settings"]["baseline"] is None
    assert result["notes"][-1] == (
        "Primary comparison: ndcg@10 on silver (the broadest tier whose labels are all confirmed by validators). All "
        "other tests are exploratory: they suggest hypotheses and confirm none. To declare another primary comparison "
        "before you see results, use --primary METRIC@PARTITION."
    )


def test_one_system_has_no_families(collection: Collection) -> None:
    result, _ = run(collection, BM25())
    assert (result["families"], result["comparisons"]) == ([], [])
    assert "primary" not in result["signature"]
    assert not any("Primary" in note for note in result["notes"])


@pytest.mark.parametrize(("n_queries", "floor"), [(1, 1.0), (4, 0.125), (5, 0.0625)])
def test_a_family_that_can_find_nothing_is_told(collection: Collection, n_queries: int, floor: float) -> None:
    labels = collection.qrels("bronze")
    kept = [query for query in collection.queries if any(labels[query].values())][:n_queries]
    few = replace(
        collection,
        queries={query: collection.queries[query] for query in kept},
        partitions={"bronze": lambda: {query: labels[query] for query in kept}},
    )
    result, _ = run(few, Oracle(collection), Random(seeds=2), metrics=("ndcg@10",))
    assert result["families"][0]["floor"] == floor
    assert result["notes"][-1] == (
        f"No test of the primary family can be significant: its smallest corrected p is {floor:.3g} with {n_queries} "
        f"paired unit{'s' * (n_queries > 1)}; 6 units or more are needed, more --resamples do not help."
    )
    assert result["signature"].endswith(f"|floor:{floor:.3g}|correction:max-t")


def test_a_family_without_an_hs_that_two_systems_share_is_noted(collection: Collection) -> None:
    none = replace(collection, partitions={"gold": lambda: {query: {} for query in collection.queries}})
    result, _ = run(none, BM25(), TfIdf(), metrics=("ndcg@10",))
    assert [(one["n_tests"], one["floor"]) for one in result["families"]] == [(0, None)]
    assert result["notes"][-1] == "The primary family has no test: no HS has scores of two systems."
    assert result["comparisons"][0]["p_corrected"] is None


# The primary comparison


def _edited(demo: Path, folder: Path, edit: Callable[[str, pa.Table], pa.Table]) -> Collection:
    """The demo with the tables of its tiers changed."""
    copy = folder / "edited"
    for path in demo.rglob("*"):
        target = copy / path.relative_to(demo)
        if path.is_dir():
            target.mkdir(parents=True)
        elif path.parent.name in ("diamond", "gold", "silver", "bronze"):
            pq.write_table(edit(path.parent.name, pq.read_table(path)), target)
        else:
            target.write_bytes(path.read_bytes())
    return load_collection(str(copy))


def _valid(column: list[bool | None]) -> Callable[[pa.Table], pa.Table]:
    def edit(table: pa.Table) -> pa.Table:
        values = column + [True] * (table.num_rows - len(column))
        return table.set_column(table.schema.get_field_index("valid"), "valid", pa.array(values, pa.bool_()))

    return edit


CONFIRMED = "the broadest tier whose labels are all confirmed by validators"
UNKNOWN = "the partition with the most labels; no partition is known to have confirmed labels only"
EDITS: dict[str, tuple[Callable[[str, pa.Table], pa.Table], str, str]] = {
    "as built": (lambda tier, table: table, "silver", CONFIRMED),
    "all confirmed": (lambda tier, table: _valid([])(table), "bronze", CONFIRMED),
    "one of silver is not": (
        lambda tier, table: _valid([False])(table) if tier == "silver" else table,
        "gold",
        CONFIRMED,
    ),
    "one of silver is unknown": (
        lambda tier, table: _valid([None])(table) if tier == "silver" else table,
        "gold",
        CONFIRMED,
    ),
    "one of every tier is not": (lambda tier, table: _valid([False])(table), "bronze", UNKNOWN),
    "no such column": (lambda tier, table: table.drop_columns("valid"), "bronze", UNKNOWN),
}


@pytest.mark.parametrize(("edit", "partition", "why"), EDITS.values(), ids=EDITS.keys())
def test_the_default_is_the_broadest_partition_with_confirmed_labels_only(
    demo: Path, tmp_path: Path, edit: Callable[[str, pa.Table], pa.Table], partition: str, why: str
) -> None:
    edited = _edited(demo, tmp_path, edit)
    qrels = {name: edited.qrels(name) for name in edited.partitions}
    found = choose_primary(edited, BenchmarkSettings().resolve(edited), qrels)
    assert (found.metric, found.partition, found.why) == ("ndcg@10", partition, why)


def test_the_default_among_chosen_and_added_partitions(collection: Collection, tmp_path: Path) -> None:
    def default(chosen: Collection, **settings: Any) -> tuple[str, str]:
        qrels = {name: chosen.qrels(name) for name in chosen.partitions}
        found = choose_primary(chosen, BenchmarkSettings(**settings).resolve(chosen), qrels)
        return str(found), found.why

    bronze, diamond = (replace(collection, partitions={n: collection.partitions[n]}) for n in ("bronze", "diamond"))
    assert default(bronze) == ("ndcg@10@bronze", "the only partition")
    assert default(diamond) == ("ndcg@10@diamond", CONFIRMED)
    # Judgements of a file are not known to be confirmed, also under the name of a tier.
    query, key = next(iter(collection.queries)), next(iter(collection.corpus))
    (tmp_path / "mine.txt").write_text(f"{query} 0 {key} 1\n")
    assert default(collection.with_partition("silver", partial(read_qrels, tmp_path / "mine.txt"))) == (
        "ndcg@10@gold",
        CONFIRMED,
    )
    assert default(collection.with_partition("mine", partial(read_qrels, tmp_path / "mine.txt"))) == (
        "ndcg@10@silver",
        CONFIRMED,
    )
    # The metric: NDCG at the cutoff of the run, another NDCG, or the first metric.
    assert default(collection, k=5, metrics=("ndcg", "ndcg@10"))[0] == "ndcg@5@silver"
    assert default(collection, metrics=("mrr", "ndcg@3", "ndcg@10"))[0] == "ndcg@10@silver"
    assert default(collection, metrics=("mrr", "ndcg@3"))[0] == "ndcg@3@silver"
    assert default(collection, metrics=("map@5", "mrr"))[0] == "map@5@silver"


@pytest.mark.parametrize(
    ("text", "protocol", "found"),
    [
        ("mrr@10@gold", "sound", "mrr@10@gold"),
        ("MRR@gold", "sound", "mrr@10@gold"),
        ("ndcg@5@a@b", "sound", "ndcg@5@a@b"),
        ("ndcg@5@5", "sound", "ndcg@5@5"),  # a partition that is called 5
        ("average@all", "paper", "average@all"),
        ("average@gold", "paper", "average@gold"),
    ],
)
def test_a_declared_primary_comparison_is_read(collection: Collection, text: str, protocol: str, found: str) -> None:
    names = ["gold", "a@b", "b", "5"]
    settings = BenchmarkSettings(protocol, metrics=("mrr", "ndcg@5")).resolve(collection)
    assert str(read_primary(text, settings, names)) == found


@pytest.mark.parametrize(
    ("text", "protocol", "message"),
    [
        ("ndcg@10", "sound", "'ndcg@10' is not in this run, which has hit_rate@10, mrr@10, ndcg@10, map@10, "),
        ("ndcg@10@Gold", "sound", "accuracy@10 on diamond, gold, silver, bronze: give METRIC@PARTITION, such as"),
        ("gold", "sound", "'gold' is not in this run"),
        ("@gold", "sound", "unknown metric ''"),
        ("ndcg@3@gold", "sound", "'ndcg@3@gold' is not in this run"),
        ("ndgc@10@gold", "sound", "unknown metric 'ndgc'"),
        ("ndcg@0@gold", "sound", "cutoff '0': give a positive whole number"),
        ("average@all", "sound", "'average@all' is not in this run"),
        ("ndcg@10@all", "paper", "map@10, average on diamond, gold, silver, bronze, all: give"),
    ],
)
def test_a_primary_comparison_that_the_run_lacks(
    collection: Collection, text: str, protocol: str, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        BenchmarkSettings(protocol, primary=text).resolve(collection)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_averages_of_the_paper_may_be_the_primary_comparison(collection: Collection) -> None:
    result, _ = run(collection.pool(), BM25(), TfIdf(), protocol="paper", primary="average@all")
    (row,) = family(result, "primary")
    assert (row["metric"], row["partition"], row["p_corrected"]) == ("average", "all", row["p"])
    assert result["families"][0]["tests"] == "all pairs of systems, average, all"
    found = {(row["partition"], row["metric"]): row["difference"] for row in result["comparisons"]}
    parts, metrics = list(result["partitions"]), result["settings"]["summarised"]
    for part, inside in [("all", parts), *((part, [part]) for part in parts)]:
        mean = np.mean([found[each, metric] for each in inside for metric in metrics])
        assert found[part, "average"] == pytest.approx(mean, abs=1e-9)
    assert len(family(result, "exploratory")) == 4 * 4 + 4
    assert "(as declared)" in result["notes"][-1]


# The baseline


def test_a_baseline_is_compared_with_every_other_system(collection: Collection) -> None:
    result, _ = run(collection, BM25(), TfIdf(), Random(seeds=2), metrics=("ndcg@10",), baseline="tfidf")
    whole, _ = run(collection, BM25(), TfIdf(), Random(seeds=2), metrics=("ndcg@10",))
    assert {(row["a"], row["b"]) for row in result["comparisons"]} == {("bm25", "tfidf"), ("random", "tfidf")}
    assert [(one["tests"], one["n_tests"]) for one in result["families"]] == [
        ("tfidf against every other system, ndcg@10, silver", 2),
        ("tfidf against every other system, all other metrics and partitions", 6),
    ]
    # Differences are those of the system less the baseline.
    (one,) = (row for row in family(result, "primary") if row["a"] == "random")
    (same,) = (row for row in family(whole, "primary") if {row["a"], row["b"]} == {"random", "tfidf"})
    assert (one["difference"], one["p"]) == (-same["difference"], same["p"])
    assert "|pairs:against-tfidf|" in result["signature"]
    assert result["settings"]["baseline"] == "tfidf"
    assert result["notes"][-1] == "Only comparisons with tfidf are tested (--baseline)."


def test_a_baseline_that_fails_leaves_nothing_to_compare(collection: Collection) -> None:
    result, _ = run(collection, BM25(), TfIdf(), Down(), baseline="down")
    assert (result["comparisons"], result["families"]) == ([], [])
    assert result["notes"][-1] == "The baseline down failed: no systems are compared."


# The command


@pytest.mark.parametrize(
    ("option", "message"),
    [("--primary", "primary comparison '' is not in this run"), ("--baseline", "unknown baseline system ''")],
)
def test_an_empty_option_is_not_the_default(run_cli: RunCli, demo: Path, option: str, message: str) -> None:
    result = run_cli("bench", demo, "--system", "bm25", "--system", "tfidf", option, "")
    assert (result.returncode, message in result.stderr) == (2, True)


def test_each_family_has_its_own_floor_in_the_signature(collection: Collection) -> None:
    kept = list(collection.queries)[:9]
    few = {query: collection.qrels("bronze")[query] for query in kept[:4]}
    many = {query: collection.qrels("bronze")[query] for query in kept}
    data = replace(
        collection,
        queries={query: collection.queries[query] for query in kept},
        partitions={"few": lambda: few, "many": lambda: many},
    )
    result, _ = run(data, Oracle(collection), Random(seeds=2), metrics=("ndcg@10",), primary="ndcg@few")
    assert [family["floor"] for family in result["families"]] == [0.125, pytest.approx(1 / 201)]
    assert "|tests:1+1|floor:0.125+0.00498|" in result["signature"]
    assert min(row["p_corrected"] for row in family(result, "primary")) >= 0.125


@pytest.mark.parametrize(
    ("configuration", "why"),
    [
        ({"weights": np.arange(2000)}, "ndarray"),
        ({"weight": float("nan")}, "Out of range"),
        ({(1, 2): 3}, "keys must be"),
        ("weights", "it is a str"),
    ],
)
def test_a_configuration_that_results_cannot_hold_is_refused(
    collection: Collection, configuration: Any, why: str
) -> None:
    """The text of a long array leaves out its middle: two of them would share a checkpoint."""
    system = Oracle(collection)
    vars(system)["configuration"] = configuration
    with pytest.raises(InputError, match=rf"`configuration` of the system oracle is not a JSON-able dict .*{why}"):
        run(collection, system, BM25())


def test_an_unknown_baseline_is_refused_before_anything_is_ranked(run_cli: RunCli, demo: Path, tmp_path: Path) -> None:
    result = run_cli("bench", demo, "--system", "bm25", "--baseline", "bm52", "--json", tmp_path / "r.json")
    assert result.returncode == 2
    assert result.stderr == "fcconan: unknown baseline system 'bm52': did you mean 'bm25'? known are bm25\n"
    assert not (tmp_path / "r.json").exists()


def test_options_suite_and_what_a_terminal_shows(run_cli: RunCli, demo: Path, tmp_path: Path) -> None:
    suite = tmp_path / "suite.yaml"
    systems = {"one": {"kind": "bm25"}, "two": {"kind": "tfidf"}, "three": {"kind": "bm25", "b": 0.1}}
    suite.write_text(yaml.safe_dump({"name": "mine", "primary": "mrr@gold", "systems": systems}))
    arguments = ["bench", demo, "--suite", suite, *(part for name in systems for part in ("--system", name))]
    arguments += ["--resamples", "200", "--json", tmp_path / "r.json"]
    result = run_cli(*arguments, "--verbose")
    assert result.returncode == 0, result.stderr
    written = json.loads((tmp_path / "r.json").read_text())
    assert written["settings"]["primary"] == "mrr@10@gold"
    assert result.stdout.split("\n")[0].endswith("and primary metric MRR@10@gold")
    assert (
        "Primary comparison (all pairs of systems, mrr@10, gold): paired randomisation tests, p corrected by max-T for "
        "3 tests, at least 0.005"
    ) in " ".join(result.stdout.split())
    result = run_cli(*arguments, "--primary", "ndcg@10@bronze", "--baseline", "two")
    assert result.returncode == 0, result.stderr
    written = json.loads((tmp_path / "r.json").read_text())
    assert {(row["a"], row["b"]) for row in family(written, "primary")} == {("one", "two"), ("three", "two")}
    assert written["settings"]["primary"] == "ndcg@10@bronze"
    suite.write_text(yaml.safe_dump({"name": "mine", "primary": "mrr@copper", "systems": systems}))
    result = run_cli(*arguments)
    assert result.returncode == 2
    assert result.stderr == (
        "fcconan: primary comparison 'mrr@copper' is not in this run, which has hit_rate@10, mrr@10, ndcg@10, map@10, "
        "precision@10, recall@10, f1@10, accuracy@10 on diamond, gold, silver, bronze: give METRIC@PARTITION, such as "
        "ndcg@10@silver (--primary, or `primary:` in the suite), or add the metric with --metric\n"
    )
