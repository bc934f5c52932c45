"""Arithmetic between the printed values of the four papers, on which remarks in `benchmarks/published` rest."""

from decimal import Decimal
from fnmatch import fnmatchcase
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from fcconan.reproduction import load_paper, paper_names, parse_printed

ASPECTS = ("relevance", "aggressiveness", "coherence", "suitableness")
RATED = ("opposition", "relatedness", "specificity", "toxicity", "fluency")
SYSTEMS = ("dialogpt", "chatgpt", "vicuna")


def table(paper: str, name: str) -> dict[str, list[float | None]]:
    """The rows of a table as numbers."""
    rows = load_paper(paper).table(name).rows
    return {row: [None if each is None else parse_printed(each).value for each in cells] for row, cells in rows.items()}


def complete(paper: str, name: str) -> dict[str, list[float]]:
    """The rows of a table without empty cells."""
    rows = table(paper, name)
    assert all(value is not None for values in rows.values() for value in values)
    return {row: [value for value in values if value is not None] for row, values in rows.items()}


def single(paper: str, name: str) -> dict[str, float]:
    """A table of one column."""
    return {row: value for row, (value,) in complete(paper, name).items()}


def exact(name: str) -> dict[tuple[str, str], Decimal]:
    """The values of a table of the multi-aspect paper."""
    rows = load_paper("multi-aspect").printed(name)
    return {(row, column): Decimal(each.replace(",", "")) for row, own in rows.items() for column, each in own.items()}


def note(name: str, row: str, column: str) -> str:
    """The remarks about a value of the multi-aspect paper."""
    remarks = load_paper("multi-aspect").table(name).remarks
    return "; ".join(each.note for each in remarks if each.applies_to(row, column))


@pytest.mark.parametrize("paper", paper_names())
def test_rows_are_complete_and_remarks_name_rows_and_columns(paper: str) -> None:
    for each in load_paper(paper).tables:
        assert {len(cells) for cells in each.rows.values()} == {len(set(each.columns))}
        for remark in each.remarks:
            for names, known in ((remark.rows, each.rows), (remark.columns, each.columns)):
                assert [name for name in names if not any(fnmatchcase(other, name) for other in known)] == []
            assert bool(remark.note) or bool(remark.source or remark.command)


def test_averages_of_table_1_follow_from_its_cells() -> None:
    rows = load_paper("cseval").printed("Table 1")
    checked = 0
    for row, cells in rows.items():
        if len(cells) < 10 or row == "gpt-4-minus-best-other":
            continue
        for name in ("spearman", "kendall"):
            mean = np.mean([float(cells[f"{aspect}/{name}"]) for aspect in ASPECTS])
            # The printed average uses unrounded values: each of the four may differ by half a unit.
            assert float(cells[f"average/{name}"]) == pytest.approx(mean, abs=0.001 + 1e-9)
            checked += 1
    assert checked == 2 * 20


def test_differences_in_the_last_row_of_table_1() -> None:
    rows = load_paper("cseval").printed("Table 1")
    off = {}
    for column, printed in rows["gpt-4-minus-best-other"].items():
        best = max(float(cells[column]) for row, cells in rows.items() if row[:5] != "gpt-4" and column in cells)
        difference = float(rows["gpt-4"][column]) - best
        if abs(difference - float(printed)) > 0.001 + 1e-9:  # each of the two is rounded
            off[column] = round(difference, 3)
    assert off == {"coherence/spearman": 0.018, "suitableness/spearman": 0.043}


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


def test_table_2_equals_table_g_1() -> None:
    whole = exact("Table G.1")
    assert len(exact("Table 2")) == 84
    assert {key: whole[key] for key in exact("Table 2")} == exact("Table 2")
    notes = {note("Table 2", *key) for key in exact("Table 2")}
    assert notes == {"the scores of the crowd workers were not released; equal to Table G.1"}


def test_table_a_1_equals_the_means_of_tables_i_1_and_i_3() -> None:
    means, people, whole = exact("Table A.1"), exact("Table I.1"), exact("Table I.3")
    for (system, column), value in means.items():
        assert whole[system, f"{column}/mean"] == value
        remark = note("Table A.1", system, column)
        if column == "aspect-average":
            mean = sum((means[system, aspect] for aspect in RATED), Decimal(0)) / 5
            assert abs(mean - value) <= Decimal("0.005")
            assert remark.endswith("; equal to Table I.3; follows from the five aspects")
        else:
            assert people[f"{system}/human", column] == value
            assert remark.endswith("; equal to Table I.3; equal to Table I.1")


def test_five_signs_of_table_i_1_are_wrong() -> None:
    rows, wrong = exact("Table I.1"), {}
    for row, column in rows:
        aspect, _, difference = column.partition("/")
        if not difference:
            continue
        expected = rows[row, aspect] - rows[f"{row.split('/')[0]}/human", aspect]
        remark = note("Table I.1", row, column).split("; ")[1]
        if rows[row, column] == expected:
            assert remark == "follows from the means"
        else:
            assert rows[row, column] == -expected
            assert remark == f"wrong sign: the means give +{expected}"
            wrong[row, aspect] = expected
    assert wrong == {
        ("chatgpt/prometheus-13b", "toxicity"): Decimal("0.33"),
        ("chatgpt/prometheus-13b", "overall"): Decimal("0.46"),
        ("vicuna/prometheus-13b", "relatedness"): Decimal("0.46"),
        ("vicuna/prometheus-13b", "toxicity"): Decimal("0.14"),
        ("vicuna/prometheus-13b", "overall"): Decimal("0.75"),
    }


def test_totals_of_tables_i_2_and_i_3_follow_from_the_systems() -> None:
    errors = exact("Table I.2")
    for (row, column), value in errors.items():
        if row.startswith("all/"):
            mean = sum((errors[f"{system}/{row[4:]}", column] for system in SYSTEMS), Decimal(0)) / 3
            assert abs(mean - value) <= Decimal("0.0101")
            assert note("Table I.2", row, column).endswith("; follows from the three systems")
    whole = exact("Table I.3")
    for name in (*RATED, "aspect-average", "overall"):
        means = [whole[system, f"{name}/mean"] for system in SYSTEMS]
        assert abs(sum(means, Decimal(0)) / 3 - whole["all", f"{name}/mean"]) <= Decimal("0.0101")
        squares = [whole[system, f"{name}/std"] ** 2 + mean**2 for system, mean in zip(SYSTEMS, means, strict=True)]
        deviation = (sum(squares, Decimal(0)) / 3 - (sum(means, Decimal(0)) / 3) ** 2).sqrt()
        assert abs(deviation - whole["all", f"{name}/std"]) <= Decimal("0.0101")
        for kind in ("mean", "std"):
            assert note("Table I.3", "all", f"{name}/{kind}").endswith("; follows from the three systems")


def test_one_percentage_of_table_e_1_is_impossible_with_13_workers() -> None:
    rows = {row: value for (row, _), value in exact("Table E.1").items()}
    shares = {round(Decimal(100 * workers) / 13, 1): workers for workers in range(14)}
    unknown = {row for row, value in rows.items() if value not in shares}
    assert unknown == {"age/18-25", "ethnicity/hispanic-latino"}
    assert sum(value for row, value in rows.items() if row.startswith("ethnicity/")) == 110
    about = "no other data about the crowd workers are released; "
    assert note("Table E.1", "age/18-25", "percent") == f"{about}2 of 13, truncated"
    assert note("Table E.1", "ethnicity/hispanic-latino", "percent") == (
        f"{about}not a share of 13 workers; the answers add up to 110.0, "
        "and the other answers leave 3 of 13, which is 23.1"
    )
    for row in rows.keys() - unknown:
        assert note("Table E.1", row, "percent") == f"{about}{shares[rows[row]]} of 13"


def test_rows_that_are_likely_copies() -> None:
    rows = exact("Table G.4")
    columns = {column for _, column in rows}
    cells = [(each.id, row, column) for each, row, column, _ in load_paper("multi-aspect").cells()]
    copies = {key: note(*key) for key in cells if "likely a copy" in note(*key)}
    assert set(copies) == {
        ("Table G.4", f"{judge}-overall", column) for judge in ("gpt-4", "chatgpt") for column in columns
    }
    assert all(rows["gpt-4-overall", column] == rows["chatgpt-overall", column] for column in columns)
    assert copies["Table G.4", "gpt-4-overall", "overall/kendall"].endswith(
        "; the row equals chatgpt-overall; one of them is likely a copy, if the inferred labels of the rows are right"
    )
    near = {key[:2] for key in cells if "all values are within 0.02 of" in note(*key)}
    assert near == {
        (table, f"vicuna/{judge}") for table in ("Table I.1", "Table I.2") for judge in ("gpt-4", "chatgpt")
    }
    for name in ("Table I.1", "Table I.2"):
        values = exact(name)
        gaps = [
            abs(value - values["vicuna/chatgpt", key[1]]) for key, value in values.items() if key[0] == "vicuna/gpt-4"
        ]
        assert max(gaps) == Decimal("0.02")


def test_payment() -> None:
    pay = {row: value for (row, _), value in exact("text E").items()}
    assert pay["pay-per-task"] * 60 / pay["minutes-per-task"] == pay["pay-per-hour"]
    remark = note("text E", "pay-per-hour", "value")
    assert remark.endswith("; follows from the pay and duration of a task")
