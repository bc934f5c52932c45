"""What labels are worth, in tables, plots and pages: baselines, judged pairs only, HS and CNs, messages."""

import csv
import io
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser
from typer.testing import CliRunner

from fcconan.reporting.benchmark_names import label_notes, marked, reference_rows
from fcconan.reporting.benchmark_reports import write_report
from fcconan.reporting.benchmark_tables import (
    all_tables,
    answer_tables,
    as_latex,
    as_markdown,
    comparison_tables,
    comparisons_as_csv,
    leaderboard_table,
    partition_table,
    summary_table,
)
from fcconan.reporting.forest_plots import Dot, hollow_note
from fcconan.reporting.label_tables import (
    message_difference_table,
    shown_metric,
    side_by_side_table,
)
from fcconan.reporting.page import render
from fcconan.reporting.plots import figures
from fcconan.reporting.retrieval import drill_down, retrieval_page
from fcconan.retrieval import all_rows, all_rows_csv, score_rows
from fcconan.services import BenchResult
from tests.browsing import accessibility_problems, needs_chromium, visit
from tests.reporting.invented import (
    AWKWARD,
    BM25,
    LONGEST,
    POPULARITY,
    RANDOM,
    example_result,
    labelled_details,
    labelled_result,
)

pytestmark = pytest.mark.slow

POPULAR = "popularity (uses labels, ignores the message)"
LONG = "longest (ignores the message)"
VALUES = ("judged_only", "judged_only_intervals", "two_way_intervals", "message_auc")


def _page(result: dict[str, Any]) -> str:
    return render(retrieval_page(result, drill_down(result, labelled_details()), figures(result)))


def test_both_populations_stand_side_by_side_with_all_intervals() -> None:
    table = side_by_side_table(labelled_result(), "bronze")
    assert table is not None
    assert table.title == "NDCG@10 on bronze: all CNs and judged pairs only, with 95% intervals"
    assert table.columns == [
        "system", "all CNs", "all: over HS", "all: over HS and CNs", "judged only", "judged: over HS",
        "message AUC", "AUC: over HS and CNs", "pairs (CNs)",
    ]  # fmt: skip
    both, judged = "[0.125, 0.875]", "[0.500, 0.750]"
    assert table.rows == [
        [POPULAR, "0.250", "[0.188, 0.312]", both, "0.672", judged, "0.688", "[0.625, 0.750]", "15 (3)"],
        [BM25, "0.750", "[0.688, 0.812]", both, "0.641", judged, "0.562", "[0.500, 0.625]", "13 (3)"],
        [LONG, "0.250", "[0.188, 0.312]", both, "0.688", judged, "–", "–", "0 (0)"],
        [RANDOM, "0.250", "[0.188, 0.312]", "–", "0.625", judged, "0.500", "[0.438, 0.562]", "12 (3)"],
        [AWKWARD, "0.625", "[0.562, 0.688]", both, "0.656", judged, "0.625", "[0.562, 0.688]", "14 (3)"],
        ["(chance)", "–", "–", "–", "0.188", "–", "0.500", "–", "–"],
    ]


@pytest.mark.parametrize(
    ("kept", "columns"),
    [
        ("two_way_intervals", ["all CNs", "all: over HS", "all: over HS and CNs"]),
        ("judged_only", ["all CNs", "all: over HS", "judged only", "judged: over HS"]),
        ("message_auc", ["all CNs", "all: over HS", "message AUC", "AUC: over HS and CNs", "pairs (CNs)"]),
    ],
)
def test_values_that_no_system_has_leave_no_columns(kept: str, columns: list[str]) -> None:
    result = labelled_result()
    for system in result["systems"].values():
        for key in set(VALUES) - {kept}:
            system.pop(key, None)
    table = side_by_side_table(result, "gold")
    assert table is not None and table.columns == ["system", *columns]


def test_the_metric_and_partition_of_the_primary_comparison_are_shown() -> None:
    result = labelled_result()
    for primary, found in {
        "mrr@10@gold": ("mrr@10", "gold"),
        "average@all": ("ndcg@10", "bronze"),
        "bpref@gold": ("ndcg@10", "bronze"),
    }.items():
        result["settings"]["primary"] = primary
        assert shown_metric(result) == found
    result["settings"]["metrics"] = ["mrr@10"]
    assert shown_metric(result) == ("mrr@10", "bronze")


def test_systems_that_use_labels_or_ignore_the_message_are_marked_in_every_table() -> None:
    result = labelled_result()
    result["systems"][BM25]["uses_labels"] = True
    assert marked(result, BM25) == "bm25 (uses labels; 2 of 3 HS)"
    assert marked(result, BM25, counts=False) == "bm25 (uses labels)"
    for table in (summary_table(result), leaderboard_table(result), partition_table(result, "gold")):
        names = [row[0] for row in table.rows]
        assert {POPULAR, LONG, RANDOM} <= set(names)
        grey = {table.rows[place][0] for place in reference_rows(result, table.rows)}
        assert grey == {POPULAR, LONG, "(chance)"}


def test_comparisons_have_the_interval_over_hs_and_cns_and_the_difference_on_judged_pairs() -> None:
    result = labelled_result()
    table = comparison_tables(result)["primary"]
    assert table.columns[5:9] == ["interval", "over HS and CNs", "a - b, judged only", "interval, judged only"]
    assert [row[6:9] for row in table.rows] == [
        *[["[-0.5000, 0.7500]", "0.0625", "[-0.2500, 0.3750]"]] * 2,
        ["–", "–", "–"],
    ]
    rows = list(csv.DictReader(io.StringIO(comparisons_as_csv(result))))
    names = ["two_way_low", "two_way_high", "judged_only", "judged_only_low", "judged_only_high"]
    assert list(rows[0])[-5:] == names
    assert [rows[0][name] for name in names] == ["-0.5", "0.75", "0.0625", "-0.25", "0.375"]
    assert [rows[2][name] for name in names] == [""] * 5
    assert [row["metric"] for row in rows] == ["ndcg@10"] * 3 + ["message_auc"] * 4
    area = rows[3]
    assert [area[name] for name in ("partition", "a", "b", "difference", "low", "p", "family")] == [
        "diamond", BM25, AWKWARD, "0.5", "", "", "",
    ]  # fmt: skip
    assert [area[name] for name in names] == ["0.25", "0.5", "", "", ""]


def test_differences_of_the_message_auc_are_those_of_the_primary_partition() -> None:
    result = labelled_result()
    table = message_difference_table(result)
    assert table is not None and table in all_tables(result)
    assert table.title == "Differences of message AUC on bronze, with 95% intervals over HS and CNs"
    assert table.columns == ["a", "b", "a - b", "over HS and CNs"]
    assert table.rows == [[BM25, AWKWARD, "0.438", "[0.250, 0.500]"]]
    result["settings"]["primary"] = "ndcg@10@silver"
    table = message_difference_table(result)
    assert table is not None and table.rows[0][2] == "–"
    assert message_difference_table(example_result()) is None


def test_csv_and_frame_have_every_value() -> None:
    result = labelled_result()
    result["systems"][BM25]["message_auc"]["bronze"]["value"] = 1 / 3
    rows = list(csv.DictReader(io.StringIO(all_rows_csv(result))))
    found = {(row["system"], row["partition"], row["metric"]): row for row in rows}
    popular = found[POPULARITY, "bronze", "mrr@10"]
    assert {key: popular[key] for key in list(popular)[-8:]} == {
        "two_way_low": "0.125", "two_way_high": "0.875", "judged_only": "0.671875", "judged_only_low": "0.5",
        "judged_only_high": "0.75", "judged_only_chance": "0.1875", "uses_labels": "1", "ignores_message": "1",
    }  # fmt: skip
    assert (found[RANDOM, "gold", "mrr@10"]["two_way_low"], found[LONGEST, "gold", "mrr@10"]["uses_labels"]) == (
        "",
        "0",
    )
    area = found[BM25, "bronze", "message_auc"]
    assert (area["value"], area["low"], area["chance"]) == ("0.3333333333333333", "", "0.5")
    assert (area["two_way_low"], area["two_way_high"]) == ("0.5", "0.625")
    assert len(rows) == 5 * 4 * (3 + 1)
    table = BenchResult(result).scores()
    assert len(table) == len(rows) and list(table.columns) == list(rows[0])


def test_bars_of_references_are_pale() -> None:
    title, svg = figures(labelled_result())["figure-2-mrr"]
    assert "Pale bars ignore the message." in title
    pale = {
        name for name, style in re.findall(r'id="figure-2-mrr-(bar-\d-\d)">\s*<path [^>]*style="([^"]*)"', svg)
        if "opacity: 0.45" in style
    }  # fmt: skip
    assert pale == {f"bar-{row}-{part}" for row in (0, 2) for part in range(4)}  # popularity and longest
    assert "Pale" not in figures(example_result())["figure-2-mrr"][0]


def test_notes_say_what_baselines_and_values_mean_and_their_limits() -> None:
    result = labelled_result()
    references, judged, message, limits = label_notes(result)
    assert references == (
        f"References: {POPULAR}, {LONG}. A system that scores no higher has not shown that it reads the message."
    )
    assert judged.startswith("Judged only: ") and message.startswith("Message AUC: ")
    assert limits == (
        "Limits: if annotators were assigned by CN, generic replies cannot be distinguished from lenient annotators; "
        "popularity cannot rank a CN without a judgement."
    )
    text = as_markdown(result)
    assert all(note in text for note in (references, judged, message, limits))
    assert text.index(references) < text.index("Unjudged CNs count as wrong.")
    result["systems"][BM25]["uses_labels"] = True  # which reads the message, too
    assert label_notes(result)[-1] == limits


def test_the_answer_has_both_populations_and_reports_have_every_table() -> None:
    result = labelled_result()
    side = side_by_side_table(result, "bronze")
    assert answer_tables(result) == [leaderboard_table(result), side, comparison_tables(result)["primary"]]
    tables = all_tables(result)
    assert [table for table in tables if table == side] == [side]
    assert "AUC: over HS and CNs" in as_latex(result)


def test_the_page_has_a_part_on_labels_and_references_in_grey() -> None:
    text = _page(labelled_result())
    assert '<section id="labels"><h2>Labels and messages</h2>' in text and 'href="#labels"' in text
    part = text[text.index('<section id="labels">') : text.index('<section id="plots">')]
    assert "Message AUC on bronze, with 95% intervals over HS and CNs; hollow dots ignore the message" in part
    assert part.count("all CNs and judged pairs only, with 95% intervals</summary>") == 4
    assert part.count("Differences of message AUC on bronze, with 95% intervals over HS and CNs</summary>") == 1
    assert part.index("NDCG@10 on bronze: all CNs") < part.index("NDCG@10 on diamond: all CNs")
    rows = re.findall(r'<div class="dot-row( grey)?" data-row="([^"]*)"', part)
    assert rows == [
        (" grey", POPULARITY),
        ("", "tf_idf &amp; 50%|$x$ &lt;b&gt;"),
        ("", BM25),
        ("", RANDOM),
        (" grey", LONGEST),
    ]
    assert part.count(f'<tr class="grey"><th scope="row">{POPULAR}</th>') == 4  # the partitions
    leaderboard = text[text.index('id="leaderboard"') : text.index('<section id="labels">')]
    assert leaderboard.count(f'<tr class="grey"><th scope="row">{LONG}</th>') == 5
    assert leaderboard.count('<tr class="grey"><th scope="row">(chance)</th>') == 5
    assert "NDCG@10 on gold, with 95% intervals; hollow dots ignore the message" in leaderboard


def test_results_of_earlier_versions_are_as_they_were() -> None:
    result = example_result()
    assert label_notes(result) == [] and side_by_side_table(result, "gold") is None
    assert list(all_rows(result)) == list(score_rows(result))
    assert "judged_only" not in comparisons_as_csv(result)
    text = _page(result)
    assert 'id="labels"' not in text and "ignores the message" not in text


def test_the_command_prints_notes_and_both_populations() -> None:
    from typer import Typer

    from fcconan.oldcli.bench import print_benchmark

    app = Typer()
    app.command()(lambda: print_benchmark(BenchResult(labelled_result()), verbose=False))
    output = CliRunner().invoke(app).output
    assert f"- References: {POPULAR}" in output and "judged: over HS" in output
    assert output.index("- References") < output.index("- Unjudged CNs count as wrong.")


def test_hollow_dots_are_published_figures_or_references() -> None:
    own, printed, reference = Dot("a", 0.5), Dot("p (published)", 0.5, is_grey=True), Dot("b", 0.5, is_grey=True)
    assert hollow_note([own]) == ""
    assert hollow_note([own, printed]) == "; hollow dots are published values"
    assert hollow_note([reference, own]) == "; hollow dots ignore the message"
    assert hollow_note([reference, printed]) == "; hollow dots are published values or ignore the message"


@pytest.mark.long
@needs_chromium
def test_the_page_is_accessible_in_both_themes_and_fits_a_telephone(browser: Browser, tmp_path: Path) -> None:
    path, *_ = write_report(tmp_path / "report", labelled_result(), labelled_details())
    for theme in ("light", "dark"):
        with visit(browser, path, theme=theme) as page:
            page.evaluate("document.querySelectorAll('#labels details').forEach(part => part.open = true)")
            assert accessibility_problems(page) == [], theme
            page.set_viewport_size({"width": 390, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") == 390
            reference = page.locator(f'#labels tr.grey th:has-text("{POPULAR}")').first
            assert reference.evaluate("cell => getComputedStyle(cell).fontStyle") == "italic"
