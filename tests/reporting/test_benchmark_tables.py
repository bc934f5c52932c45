"""The tables, cell by cell, and what each format has to escape."""

import csv
import io
from typing import Any

from fcconan.reporting.benchmark_tables import (
    agreement_table,
    all_tables,
    answer_tables,
    as_latex,
    as_markdown,
    bracket_table,
    comparison_tables,
    comparisons_as_csv,
    leaderboard_table,
    partition_table,
    summary_table,
    terminal_tables,
)
from fcconan.reporting.tables import format_number, latex
from fcconan.retrieval.benchmark_statistics import ranked_systems
from fcconan.retrieval.label_columns import all_rows_csv
from tests.reporting.invented import AWKWARD, BM25, FAILED, METRICS, PARTITIONS, RANDOM, VALUES, example_result


def test_systems_are_in_the_order_of_their_averages_and_those_without_one_are_last() -> None:
    result = example_result()
    assert ranked_systems(result) == [BM25, RANDOM, AWKWARD]
    result["systems"][RANDOM]["summary"] = {**result["systems"][RANDOM]["summary"], "avg": -0.1}
    assert ranked_systems(result) == [BM25, RANDOM, AWKWARD]


def test_figures_have_four_decimals_and_the_variation_two() -> None:
    assert format_number(0.32832, 4) == "0.3283"
    assert format_number(None) == "–"
    title, columns, rows = summary_table(example_result())
    assert title == "Invented & made up, protocol sound: averages over 4 partitions of Hit ratio@10, MRR@10, NDCG@10"
    assert columns == ["system", *(part for name in ("avg", "min", "max", "CV%") for part in (name, "95% interval"))]
    assert [[cell.replace(", ", ",_") for cell in row] for row in rows] == [
        [
            "bm25 (2 of 3 HS)",  # the others' averages are of all three
            *"0.4688 [0.4062,_0.5312] 0.2500 [0.1875,_0.3125] 0.7500 [0.6875,_0.8125] 46.06 [46.00,_46.13]".split(),
        ],
        "random 0.1406 [0.0781,_0.2031] 0.0625 [0.0000,_0.1250] 0.2500 [0.1875,_0.3125] 56.29 [56.23,_56.35]".split(),
        [AWKWARD, *["–"] * 8],
        ["(chance)", "0.0750", "–", "0.0500", "–", "0.1000", "–", "33.33", "–"],
        ["gpt_4 (failed)", *["–"] * 8],
    ]


def test_a_column_without_any_interval_has_none_beside_it() -> None:
    result = example_result()
    for system in result["systems"].values():
        system["summary_intervals"] = {"avg": system["summary_intervals"]["avg"]}
    assert summary_table(result).columns == ["system", "avg", "95% interval", "min", "max", "CV%"]


def test_the_terminal_gets_the_tables_of_the_report() -> None:
    result = example_result()
    summary, *others = all_tables(result, every_test=False)
    assert terminal_tables(result) == [*others, summary] and summary == summary_table(result)


def test_the_summary_is_the_last_thing_on_a_terminal() -> None:
    result = example_result()
    result["sparsity"] = {
        "partition": "bronze",
        "seeds": 2,
        "without_positive": "left out",
        "fractions": [
            {
                "fraction": 0.5,
                "positives": 1,
                "queries_with_positive": 1.0,
                "metrics": {
                    "mrr@10": {
                        "systems": {name: {"mean": 0.5, "sd": 0.25} for name in result["systems"]},
                        "chance": 0.125,
                        "tau": {"mean": None, "low": None, "high": None},
                    }
                },
            }
        ],
    }
    titles = [table.title for table in terminal_tables(result)]
    assert titles[1].startswith("Sparse labels: bronze")
    assert titles[-1] == summary_table(result).title


def test_systems_that_all_failed_leave_a_summary_and_chance() -> None:
    result = example_result()
    result["systems"], result["comparisons"], result["order_agreement"] = {}, [], []
    *others, summary = terminal_tables(result)
    assert [row[0] for row in summary.rows] == ["(chance)", "gpt_4 (failed)"]
    assert [table.title.partition(":")[0] for table in others] == PARTITIONS
    assert [[row[0] for row in table.rows] for table in others] == [["(chance)"]] * 4


def test_a_partition_shows_intervals_judged_share_chance_and_failures() -> None:
    title, columns, rows = partition_table(example_result(), "gold")
    assert title == "gold: 2 appropriate of 3 judged pairs, 3 HS, 1 without an appropriate CN"
    assert columns == ["system", "Hit ratio@10", "MRR@10", "NDCG@10", "judged@10", "failed HS"]
    assert rows == [
        ["bm25", *["0.2500 [0.1875, 0.3125]"] * 3, "0.50", "1"],
        ["random", *["0.0625 [0.0000, 0.1250]"] * 3, "0.50", "0"],
        [AWKWARD, "–", "–", "–", "0.50", "0"],
        ["(chance)", "0.1000", "0.0500", "–", "–", "–"],
    ]


def test_unjudged_right_stands_beside_unjudged_wrong_where_every_system_has_it() -> None:
    result = example_result()
    assert bracket_table(result, "bronze") is None
    for name in (BM25, RANDOM, AWKWARD):
        result["systems"][name]["unjudged_right"] = {"bronze": {"mrr@10": 0.875}}
    table = bracket_table(result, "bronze")
    assert table is not None
    assert table.columns == ["system", "MRR@10"]
    assert table.rows == [["bm25", "0.750 / 0.875"], ["random", "0.250 / 0.875"], [AWKWARD, "0.625 / 0.875"]]


def test_comparisons_show_p_and_corrected_p() -> None:
    (table,) = comparison_tables(example_result()).values()
    assert table.title == (
        "Primary comparison (all pairs of systems, ndcg@10, bronze): paired randomisation tests, p corrected by max-T "
        "for 2 tests, at least 0.25"
    )
    assert table.columns[-2:] == ["p", "p (max-T)"]
    assert table.rows == [
        ["bronze", "NDCG@10", "bm25", AWKWARD, "0.1250", "[-0.1250, 0.3750]", "0.0006", "0.0018"],
        ["bronze", "NDCG@10", "bm25", "random", "0.5000", "[0.2500, 0.7500]", "0.0200", "0.0600"],
        ["bronze", "NDCG@10", AWKWARD, "random", "–", "–", "–", "–"],
    ]
    # The primary comparison is shown whole, whatever partitions are asked for.
    assert comparison_tables(example_result(), only=("gold",))["primary"] == table


def test_markdown_and_latex_leave_most_comparisons_to_the_csv() -> None:
    result = example_result()
    explored = {**result["comparisons"][0], "family": "exploratory"}
    result["comparisons"] += [{**explored, "metric": "mrr@10"}, {**explored, "partition": "gold", "difference": -0.5}]
    result["families"].append(
        {"name": "exploratory", "tests": "the rest", "n_tests": 2, "floor": 0.001, "correction": "max-t"}
    )
    primary, whole = comparison_tables(result).values()
    assert [row[0] for row in primary.rows] == ["bronze"] * 3
    start = "Exploratory comparisons (the rest): paired randomisation tests, p corrected by max-T for 2 tests"
    assert whole.title == f"{start}, at least 0.001"
    shown = [table for table in all_tables(result, every_test=False) if table.columns[-1] == "p (max-T)"]
    assert shown[0] == primary == terminal_tables(result)[0]
    result["settings"]["primary"] = "ndcg@10@bronze"
    assert answer_tables(result) == [leaderboard_table(result), primary]
    assert answer_tables({**result, "comparisons": []}) == [leaderboard_table(result)]
    assert shown[1].title == f"{start}, at least 0.001; 1 of 2 are shown"
    assert [row[:2] for row in shown[1].rows] == [["bronze", "MRR@10"]]
    rows = list(csv.reader(io.StringIO(comparisons_as_csv(result))))
    assert rows[0] == ["partition", "metric", "a", "b", "difference", "low", "high", "p", "p_corrected", "family"]
    assert rows[1] == ["bronze", "ndcg@10", BM25, AWKWARD, "0.125", "-0.125", "0.375", "0.0006", "0.0018", "primary"]
    assert rows[3] == ["bronze", "ndcg@10", AWKWARD, RANDOM, "", "", "", "", "", "primary"]
    assert rows[5] == [
        "gold", "ndcg@10", BM25, AWKWARD, "-0.5", "-0.125", "0.375", "0.0006", "0.0018", "exploratory",
    ]  # fmt: skip


def test_seeds_and_failures_have_tables_and_columns_of_their_own() -> None:
    result = example_result()
    tables = {table.title: table for table in all_tables(result)}
    assert tables["Mean and standard deviation over seeds"].rows == [["random", "bronze", *["0.2500 ± 0.0312"] * 3]]
    assert tables["Failed HS counted as 0"].rows == [["bm25", "gold", *["0.1875"] * 3]]
    titles = [table.title for table in terminal_tables(result)]
    assert {"Mean and standard deviation over seeds", "Failed HS counted as 0"} <= set(titles)
    rows = {
        (row["system"], row["partition"]): (row["failures_as_zero"], row["sd_over_seeds"])
        for row in csv.DictReader(io.StringIO(all_rows_csv(result)))
    }
    assert rows[BM25, "gold"] == ("0.1875", "")
    assert rows[RANDOM, "bronze"] == ("", "0.03125")
    assert rows[AWKWARD, "bronze"] == ("", "")


def test_agreement_of_orders() -> None:
    assert agreement_table(example_result()).rows == [["diamond", "gold", "MRR@10", "0.33", "[-1.00, 1.00]"]]


def test_csv_is_read_back_as_the_figures_it_was_made_from() -> None:
    rows = list(csv.DictReader(io.StringIO(all_rows_csv(example_result()))))
    figures = [row for row in rows if row["partition"]]
    assert [(row["system"], row["partition"], row["metric"]) for row in figures] == [
        (name, part, metric) for name in (BM25, RANDOM, AWKWARD) for part in PARTITIONS for metric in METRICS
    ]
    for row in figures:
        value = VALUES[row["system"]][PARTITIONS.index(row["partition"])]
        found = [row["value"], row["low"], row["high"]]
        if value is None:
            assert found == ["", "", ""]
        else:
            assert [float(text) for text in found] == [value, value - 0.0625, value + 0.0625]
    assert figures == rows
    assert FAILED not in {row["system"] for row in rows}


def test_csv_keeps_every_digit() -> None:
    result = example_result()
    result["systems"][BM25]["partitions"]["diamond"]["mrr@10"] = 1 / 3
    rows = csv.DictReader(io.StringIO(all_rows_csv(result)))
    assert next(row for row in rows if row["metric"] == "mrr@10")["value"] == "0.3333333333333333"


def test_markdown_keeps_every_row_in_its_cells() -> None:
    lines = as_markdown(example_result()).split("\n")
    assert lines[0] == "# Invented &amp; made up: retrieval, protocol sound"
    assert "- gpt_4 failed: 401: no key \\| &lt;none&gt;" in lines
    assert "- bm25 failed on 1 of 3 HS: the endpoint answered 500" in lines
    assert "| tf_idf &amp; 50%\\|$x$ &lt;b&gt; | – | – | – | 0.50 | 0 |" in lines
    assert lines[lines.index("| partition | metric | a | b | a - b | interval | p | p (max-T) |") + 1] == (
        "|---|---|---|---|---:|---:|---:|---:|"
    )
    assert lines[-2] == "Signature: fcconan:0\\|protocol:sound\\|data:invented-0123"


def test_markdown_of_a_text_with_lines_is_one_line() -> None:
    result = example_result()
    result["problems"] = {FAILED: "failed: first line\n\n# second line *bold* `code` \\ [a](b)"}
    assert "- gpt_4 failed: first line # second line \\*bold\\* \\`code\\` \\\\ [a]\\(b)" in as_markdown(result).split(
        "\n"
    )


def test_latex_escapes_every_special_character() -> None:
    assert latex('50% & $x$ #1 a_b {c} ~ ^ \\ – ± <|>\n"q"') == (
        r"50\% \& \$x\$ \#1 a\_b \{c\} \textasciitilde{} \textasciicircum{} \textbackslash{} -- $\pm$ "
        r"\textless{}\textbar{}\textgreater{} \textquotedbl{}q\textquotedbl{}"
    )


def test_latex_rows_have_minus_signs_and_as_many_cells_as_columns() -> None:
    text = as_latex(example_result())
    assert (
        r"bronze & NDCG@10 & bm25 & tf\_idf \& 50\%\textbar{}\$x\$ \textless{}b\textgreater{} & 0.1250 & "
        r"[$-$0.1250, 0.3750] & 0.0006 & 0.0018 \\"
    ) in text.split("\n")
    assert "\\begin{tabular}{lrrrrrrrr}\n\\toprule\nsystem & avg & 95\\% interval" in text
    assert "\\begin{tabular}{llllrrrr}\n\\toprule\npartition & metric" in text
    assert text.count("\\begin{tabular}") == text.count("\\end{tabular}") == text.count("\\bottomrule") == 9
    assert "longtable}" not in text.replace("% \\usepackage{longtable}", "")


def test_a_name_in_brackets_is_not_an_argument_of_the_row_before() -> None:
    result = example_result()
    result["failed"] = {"[b] rr25-1": "no key"}
    assert "{}[b] rr25-1 (failed) & --" in as_latex(result)


def test_a_table_longer_than_a_page_runs_over_pages() -> None:
    result: dict[str, Any] = example_result()
    result["comparisons"] = result["comparisons"] * 14
    text = as_latex(result)
    assert text.count("\\begin{longtable}{llllrrrr}") == text.count("\\end{longtable}") == text.count("\\endhead") == 1
    assert text.count("\\begin{tabular}") == 8
    head = text[text.index("\\begin{longtable}") : text.index("\\endfoot")].split("\n")
    assert head[1].startswith("\\caption{") and head[1].endswith("} \\\\")
    assert head[5:] == ["\\endfirsthead", *head[2:5], "\\endhead", "\\bottomrule", ""]  # the caption stands once


def test_a_result_with_one_partition_and_nothing_to_compare() -> None:
    result = example_result()
    result["partitions"] = {"test": result["partitions"]["gold"]}
    for system in result["systems"].values():
        system.pop("spread", None)
        system.pop("failures_as_zero", None)
        system["partitions"] = {"test": system["partitions"]["gold"]}
        del system["intervals"]
    result["chance"]["partitions"] = {"test": result["chance"]["partitions"]["gold"]}
    result["comparisons"] = result["order_agreement"] = []
    tables = terminal_tables(result)
    assert [table.title.partition(":")[0] for table in tables] == ["test", "Invented & made up, protocol sound"]
    assert tables[1].title.startswith("Invented & made up, protocol sound: averages over 1 partition of Hit")
    assert tables[0].rows[0] == ["bm25", "0.2500", "0.2500", "0.2500", "0.50", "1"]
