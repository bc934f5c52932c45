"""The transcribed tables of the four papers: their form, and arithmetic between their values."""

import copy
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from scipy import stats

FOLDER = Path(__file__).parents[2] / "benchmarks" / "published"
PAPERS = ("cseval", "fc-conan", "multi-aspect", "pairwise-ranking")
WITHOUT = {"needs_model", "not_released"}
DOCUMENT_KEYS = {"paper", "title", "authors", "venue", "year", "url", "sources", "names", "tables"}
TABLE_KEYS = {"id", "about", "columns", "rows", "without", "why", "without_rows", "remarks"}
# Papers print approximation signs, bounds, commas between thousands, percent signs and marks of significance.
NUMBER = re.compile(r"[≈~<>≤≥]?\s?(?P<number>[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:e[+-]?\d+)?)\s?(?:%|\*+|†)?")
LABEL = re.compile(r"[a-z0-9][a-z0-9_.+@/-]*")

Document = dict[str, Any]
Table = dict[str, list[float | None]]


def number(printed: str) -> float:
    """The number of a printed value, without signs of approximation, bounds, percent signs and stars."""
    found = NUMBER.fullmatch(printed)
    if found is None or not any(sign.isdigit() for sign in found["number"]):
        raise ValueError(f"{printed!r} is not a number")
    return float(found["number"].replace(",", ""))


def is_number(printed: str) -> bool:
    try:
        number(printed)
    except ValueError:
        return False
    return True


def _reason_problems(where: str, entry: Document) -> list[str]:
    if entry.get("without") not in WITHOUT or not entry.get("why"):
        return [f"{where}: `without` is {entry.get('without')!r} and `why` {entry.get('why')!r}"]
    return []


def _table_problems(table: Document) -> list[str]:
    where = table["id"]
    found = [f"{where}: unknown key {key}" for key in table.keys() - TABLE_KEYS]
    found += [f"{where}: no {key}" for key in ("about", "columns", "rows") if not table.get(key)]
    columns, rows, without_rows = table.get("columns", []), table.get("rows", {}), table.get("without_rows", {})
    if len(set(columns)) != len(columns):
        found.append(f"{where}: two columns of one name")
    found += [f"{where}: label {label!r}" for label in [*columns, *rows] if not LABEL.fullmatch(str(label))]
    for row, values in rows.items():
        if len(values) != len(columns):
            found.append(f"{where}, {row}: {len(values)} values for {len(columns)} columns")
        for value in values:
            if value is not None and not (isinstance(value, str) and is_number(value)):
                found.append(f"{where}, {row}: {value!r} is not a number in quotes")
    if "without" in table or "why" in table:
        found += _reason_problems(where, table)
    for row, entry in without_rows.items():
        found += _reason_problems(f"{where}, {row}", entry)
    return found + [f"{where}: no row {row}" for row in without_rows.keys() - rows.keys()]


def problems(document: Document) -> list[str]:
    """Lists the errors in a file of published values, one line each."""
    found = [f"unknown key {key}" for key in document.keys() - DOCUMENT_KEYS]
    found += [f"no {key}" for key in ("paper", "title", "authors", "year", "tables") if not document.get(key)]
    ids = [entry.get("id") for entry in document.get("tables", [])]
    found += [f"id {name!r} occurs twice or is empty" for name in set(ids) if ids.count(name) > 1 or not name]
    return found + [problem for table in document.get("tables", []) for problem in _table_problems(table)]


def load(paper: str) -> Document:
    document: Document = yaml.safe_load((FOLDER / f"{paper}.yaml").read_text(encoding="utf-8"))
    return document


def table(paper: str, name: str) -> Table:
    """The rows of a table as numbers."""
    (found,) = [entry for entry in load(paper)["tables"] if entry["id"] == name]
    return {
        row: [None if value is None else number(value) for value in values] for row, values in found["rows"].items()
    }


def complete(paper: str, name: str) -> dict[str, list[float]]:
    """The rows of a table without empty cells."""
    rows = table(paper, name)
    assert all(value is not None for values in rows.values() for value in values)
    return {row: [value for value in values if value is not None] for row, values in rows.items()}


def single(paper: str, name: str) -> dict[str, float]:
    """A table of one column."""
    return {row: value for row, (value,) in complete(paper, name).items()}


def test_every_paper_has_a_file() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.yaml")) == sorted(PAPERS)


@pytest.mark.parametrize("paper", PAPERS)
def test_form(paper: str) -> None:
    document = load(paper)
    assert problems(document) == []
    assert document["paper"] == paper
    assert isinstance(document["year"], int)


def test_the_check_of_the_form_finds_errors() -> None:
    good: Document = {
        "paper": "invented",
        "title": "Ombrey and Tessok",
        "authors": "Quillish",
        "year": 2025,
        "tables": [
            {
                "id": "Table 1",
                "about": "counts",
                "columns": ["a", "b"],
                "rows": {"x": ["1,234", None], "y": [".5", "≈2%"]},
            }
        ],
    }
    assert problems(good) == []

    def broken(**changes: Any) -> list[str]:
        bad = copy.deepcopy(good)
        bad["tables"][0].update(changes)
        return problems(bad)

    assert broken(rows={"x": ["1"]}) == ["Table 1, x: 1 values for 2 columns"]
    assert broken(rows={"x": ["1", "two"]}) == ["Table 1, x: 'two' is not a number in quotes"]
    assert broken(rows={"x": ["1", 0.5]}) == ["Table 1, x: 0.5 is not a number in quotes"]
    assert broken(rows={"x": ["1", "."]}) == ["Table 1, x: '.' is not a number in quotes"]
    assert broken(columns=["a", "a"]) == ["Table 1: two columns of one name"]
    assert broken(columns=["a", "B c"]) == ["Table 1: label 'B c'"]
    assert broken(about="") == ["Table 1: no about"]
    assert broken(note="x") == ["Table 1: unknown key note"]
    assert broken(without="lost", why="x") == ["Table 1: `without` is 'lost' and `why` 'x'"]
    assert broken(without="needs_model") == ["Table 1: `without` is 'needs_model' and `why` None"]
    assert broken(why="x") == ["Table 1: `without` is None and `why` 'x'"]
    assert broken(without_rows={"z": {"without": "not_released", "why": "x"}}) == ["Table 1: no row z"]
    assert broken(without_rows={"x": {"without": "not_released"}}) == [
        "Table 1, x: `without` is 'not_released' and `why` None"
    ]
    assert broken(id="") == ["id '' occurs twice or is empty"]
    assert problems({**good, "year": None}) == ["no year"]


@pytest.mark.parametrize(
    ("printed", "value"),
    [
        ("0.2203", 0.2203),
        (".50", 0.5),
        ("4,078", 4078),
        ("≈11.49%", 11.49),
        (">63", 63),
        ("1e-5", 1e-5),
        ("-.05*", -0.05),
    ],
)
def test_a_printed_value_is_a_number(printed: str, value: float) -> None:
    assert number(printed) == value


@pytest.mark.parametrize("printed", ["", "-", "1,23", "1.2.3", "nan", "0.5 (0.1)", "%"])
def test_other_texts_are_not_numbers(printed: str) -> None:
    assert not is_number(printed)


def test_fc_conan_counts_add_up() -> None:
    totals = {tier: total for tier, (total, _, _) in complete("fc-conan", "Table 1").items()}
    assert totals == {"diamond": 551, "gold": 663, "silver": 3580, "bronze": 3997}
    for name in ("Table 2", "Table 3"):
        assert {tier: sum(counts) for tier, counts in complete("fc-conan", name).items()} == totals
    assert {tier: a + b for tier, (_, a, b) in complete("fc-conan", "Table 1").items()} == totals
    selection, annotation = single("fc-conan", "text 3 selection"), single("fc-conan", "text 3 annotation")
    assert selection["hate_speech"] * selection["counter_narratives"] == selection["combinations"]
    assert annotation["labelled_appropriate"] + annotation["labelled_not_appropriate"] == annotation["labelled_pairs"]
    validation = single("fc-conan", "text 3 validation")
    assert validation["validators"] * validation["pairs_per_validator"] == validation["pairs_given"]
    assert validation["pairs_given"] - validation["pairs_skipped"] == totals["bronze"]


def test_fc_conan_refused_pairs_are_those_of_tables_2_and_3() -> None:
    rows = complete("fc-conan", "text 4.2 validity")
    assert [pairs for pairs, _, _ in rows.values()] == complete("fc-conan", "Table 3")["bronze"]
    assert sum(refused for _, refused, _ in rows.values()) == complete("fc-conan", "Table 2")["bronze"][1]
    for pairs, refused, percent in rows.values():
        # Cut off, not rounded: 379 of 3296 are 11.4988 %, printed 11.49.
        assert int(10_000 * refused / pairs) / 100 == percent


def test_fc_conan_table_4_is_ordered_and_its_parts_were_rounded_first() -> None:
    rows = complete("fc-conan", "Table 4")
    assert len(rows) == single("fc-conan", "text 4.3 pool")["systems"]
    assert all(high[0] > low[0] for high, low in pairwise(rows.values()))
    for average, least, most, variation in rows.values():
        assert least < average < most
        # The mean of four values with one decimal is a multiple of 0.025.
        assert variation / 0.025 == pytest.approx(round(variation / 0.025), abs=1e-6)


def test_fc_conan_groups_are_means_of_table_4() -> None:
    rows, groups = complete("fc-conan", "Table 4"), table("fc-conan", "text 4.3 groups")
    members = {
        "embeddings": ("sbert-mpnet", "sbert-minilm", "text-embedding-3-large", "sbert-roberta-large"),
        "rerankers": ("rr50-1", "rr50-2", "rr25-2"),
        "gpt-4o_and_rr25-1": ("gpt-4o", "rr25-1"),
    }
    means = {
        group: [sum(rows[name][column] for name in names) / len(names) for column in (0, 3)]
        for group, names in members.items()
    }
    assert means == {
        "embeddings": [pytest.approx(0.317875), pytest.approx(46.80625)],
        "rerankers": [pytest.approx(0.237833, abs=1e-6), pytest.approx(69.233333, abs=1e-6)],
        "gpt-4o_and_rr25-1": [pytest.approx(0.21595), pytest.approx(89.525)],
    }
    # The paper cuts some and rounds others: .317875 is printed .32, .237833 is printed .23.
    assert {group: groups[group] for group in members} == {
        "embeddings": [0.32, 46],
        "rerankers": [0.23, 69],
        "gpt-4o_and_rr25-1": [0.21, 89],
    }
    for name in ("tfidf", "bm25"):
        average, bound = groups[name]
        assert average == round(rows[name][0], 2)
        assert bound is not None
        assert rows[name][3] > bound
    assert groups["random"] == [rows["random"][0], None]


def test_ranking_counts_add_up() -> None:
    splits, sizes = table("pairwise-ranking", "text 3.2"), complete("pairwise-ranking", "Table 2")
    for corpus, (pairs, hate_speech, _, replies, _) in sizes.items():
        assert sum(size or 0 for size in splits[corpus][:3]) == pairs
        assert round(pairs / hate_speech, 2) == replies
    full, people = single("pairwise-ranking", "text 4.1 tournaments"), single("pairwise-ranking", "text 4.1 people")
    system_pairs = full["systems"] * (full["systems"] - 1) / 2
    assert full["items"] == (splits["conan"][2] or 0) + (splits["mt-conan"][2] or 0)
    assert full["comparisons"] == system_pairs * full["items"]
    assert people["comparisons"] == system_pairs * 2 * people["items_per_corpus"]
    assert people["by_all_annotators"] == 2 * people["by_all_annotators_per_corpus"]
    assert people["by_one_annotator"] == people["comparisons"] - people["by_all_annotators"]
    assert people["by_one_annotator"] == people["annotators"] * people["alone_per_annotator"]
    features = single("pairwise-ranking", "text 4.2")
    assert features["replies"] == features["items"] * features["systems"]
    kappas = single("pairwise-ranking", "Table B.1").values()
    assert round(sum(kappas) / len(kappas), 2) == features["mean_kappa"]


def _are_shares(printed: list[float], comparisons: int) -> bool:
    """Whether the printed percentages are whole or half points of so many comparisons."""
    parts = 2 * comparisons
    return all(abs(100 * round(share * parts / 100) / parts - share) < 0.00501 for share in printed)


def test_ranking_table_4_shares_and_ranks() -> None:
    rows = complete("pairwise-ranking", "Table 4")
    by_people, people, by_judge, judge = map(list, zip(*rows.values(), strict=True))
    assert sorted(by_people) == sorted(by_judge) == list(range(1, 10))
    assert sum(people) == pytest.approx(99.99)
    assert sum(judge) == pytest.approx(100)
    # Both columns are stated over 720 comparisons. People's shares are half points of 358, the judge's fit no count.
    assert [n for n in range(50, 721) if _are_shares(people, n)] == [358, 716]
    assert not any(_are_shares(judge, n) for n in range(50, 721))
    assert stats.rankdata([-share for share in people]).tolist() == by_people
    # The judge's column ranks the reference third, but its share has rank 6.
    in_order = dict(zip(rows, stats.rankdata([-share for share in judge]).tolist(), strict=True))
    assert rows["gold_truth"][2:] == [3, 8.98]
    assert in_order["gold_truth"] == 6
    without = [system for system in rows if system != "gold_truth"]
    assert sorted(without, key=in_order.__getitem__) == sorted(without, key=lambda system: rows[system][2])


def test_ranking_correlation_with_people_follows_from_the_misplaced_row_alone() -> None:
    by_people, people, by_judge, judge = zip(*complete("pairwise-ranking", "Table 4").values(), strict=True)
    printed = single("pairwise-ranking", "text 6.1 people")["judgelm-33b"]
    assert round(stats.spearmanr(by_people, by_judge).statistic, 2) == printed == 0.88
    assert stats.spearmanr(people, judge).statistic == pytest.approx(0.70)
    assert single("pairwise-ranking", "text abstract") == {"judgelm_human": printed}
    pearson = stats.pearsonr(people, judge)
    stated = complete("pairwise-ranking", "text 6.1 pearson")["judgelm-33b"]
    assert [round(pearson.statistic, 2), round(pearson.pvalue, 2)] == stated


def test_ranking_correlations_of_metrics_follow_from_the_released_metrics() -> None:
    metrics = complete("pairwise-ranking", "released metrics both")
    systems = sorted(metrics)
    rouge, bleu = ([metrics[system][column] for system in systems] for column in (0, 1))
    bertscore = [single("pairwise-ranking", "released BERTScore both")[system] for system in systems]
    people = [complete("pairwise-ranking", "Table 4")[system][1] for system in systems]
    stated = single("pairwise-ranking", "text 6.1 metrics")
    assert round(stats.spearmanr(rouge, bertscore).statistic, 2) == stated["rouge-l_bertscore"]
    with_people = single("pairwise-ranking", "text 6.1 people")
    assert round(stats.spearmanr(bertscore, people).statistic, 2) == with_people["bertscore"]
    # BLEU is 0 for all systems but the reference. Ties broken by name give the printed value; mean ranks give .55.
    broken = [stats.rankdata(values, method="ordinal") for values in (rouge, bleu)]
    assert round(stats.spearmanr(*broken).statistic, 2) == stated["rouge-l_bleu"]
    assert stats.spearmanr(rouge, bleu).statistic == pytest.approx(0.547723, abs=1e-6)
