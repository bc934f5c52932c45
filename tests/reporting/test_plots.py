"""The plots: valid, accessible, the same bytes everywhere, and bars as high as their figures."""

import functools
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from fcconan.reporting.benchmark_reports import write_report
from fcconan.reporting.plots import COLOURS, NAMES, Plots, figures, line_of, themed
from tests.reporting.invented import AWKWARD, BM25, PARTITIONS, RANDOM, VALUES, example_details, example_result

WITHOUT_STUDY = NAMES[:2]
SVG = "{http://www.w3.org/2000/svg}"
ORDER = [BM25, RANDOM, AWKWARD]
WRITE = """
import sys
from pathlib import Path
from fcconan.reporting import write_report
from tests.reporting.invented import example_details, example_result
write_report(Path(sys.argv[1]), example_result(), example_details())
"""


@functools.cache
def plots() -> Plots:
    return figures(example_result())


def drawn(name: str) -> ET.Element:
    return ET.fromstring(plots()[name][1])


def by_id(root: ET.Element, identifier: str) -> ET.Element | None:
    return next((element for element in root.iter() if element.get("id") == identifier), None)


def texts(root: ET.Element) -> list[str]:
    return ["".join(element.itertext()).strip() for element in root.iter(f"{SVG}text")]


def points(element: ET.Element) -> list[tuple[float, float]]:
    path = element.find(f".//{SVG}path")
    assert path is not None
    return [(float(x), float(y)) for x, y in re.findall(r"[ML] (\S+) (\S+)", path.get("d", ""))]


def height(element: ET.Element) -> float:
    ys = [y for _, y in points(element)]
    return max(ys) - min(ys)


def test_every_plot_is_there_and_is_named_for_people_who_do_not_see_it() -> None:
    assert tuple(plots()) == WITHOUT_STUDY == ("figure-1-hit-ratio", "figure-2-mrr")
    for name, (caption, svg) in plots().items():
        root = ET.fromstring(svg)
        assert root.tag == f"{SVG}svg"
        assert root.get("role") == "img"
        assert root.get("aria-label") == caption
        assert f"{root.findtext(f'{SVG}title')}. {root.findtext(f'{SVG}desc')}" == caption
        assert caption.startswith(("Hit ratio@10", "MRR@10")), name


def test_the_paper_s_figures_have_their_metrics() -> None:
    assert plots()["figure-1-hit-ratio"][0] == (
        "Hit ratio@10 of every system on every partition. Whiskers are 95% intervals, dashed lines chance. "
        "On a part only: bm25 (2 of 3 HS). Failed: gpt_4."
    )
    assert plots()["figure-2-mrr"][0].startswith("MRR@10 of every system on every partition.")
    result = example_result()
    result["settings"]["metrics"] = ["ndcg@10"]
    assert figures(result) == {}


def test_bars_are_as_high_as_their_figures_and_a_missing_one_is_a_dash() -> None:
    root = drawn("figure-1-hit-ratio")
    unit = height(by_id(root, "figure-1-hit-ratio-bar-0-0") or root) / 0.5
    for row, system in enumerate(ORDER):
        for column in range(len(PARTITIONS)):
            value = VALUES[system][column]
            bar = by_id(root, f"figure-1-hit-ratio-bar-{row}-{column}")
            if value is None:
                assert bar is None
            else:
                assert bar is not None
                assert height(bar) / unit == pytest.approx(value, abs=1e-5)
                whisker = by_id(root, f"figure-1-hit-ratio-interval-{row}-{column}")
                assert whisker is not None
                assert height(whisker) / unit == pytest.approx(0.125, abs=1e-5)
                chance = by_id(root, f"figure-1-hit-ratio-chance-{column}")
                assert chance is not None
                floor = max(y for _, y in points(bar))
                assert (floor - points(chance)[0][1]) / unit == pytest.approx(0.1, abs=1e-5)
    assert texts(root).count("–") == 1


def test_lines_of_many_systems_are_told_apart() -> None:
    assert len({line_of(place) for place in range(32)}) == 32
    assert [line_of(place)[0] for place in range(8)] == list(COLOURS)


def test_sparsity_curves_have_bands_and_begin_with_the_fewest_positives() -> None:
    def entry(fraction: float, positives: int, value: float | None) -> dict[str, Any]:
        ends = {"mean": value, "sd": None, "low": value and value / 2, "high": value and value * 2}
        systems = {BM25: ends, RANDOM: {**ends, "mean": None}, AWKWARD: ends}
        return {
            "fraction": fraction,
            "positives": positives,
            "metrics": {"ndcg@10": {"systems": systems, "chance": 0.05}},
        }

    result = example_result()
    result["sparsity"] = {"partition": "bronze", "seeds": 9, "fractions": [entry(1.0, 8, 0.4), entry(0.25, 2, 0.2)]}
    found = figures(result)
    assert tuple(found) == NAMES
    title, svg = found["sparsity"]
    assert title.startswith("NDCG@10 on bronze with positives removed at random. Lines are means over 9 removals")
    root = ET.fromstring(svg)
    curve = by_id(root, "sparsity-curve-0")
    assert curve is not None
    (left, low), (right, high) = points(curve)[:2]
    assert left < right
    assert low > high  # few positives stand left, and the axis grows upwards
    assert by_id(root, "sparsity-band-0") is not None
    assert by_id(root, "sparsity-curve-1") is None  # the system without a figure
    assert by_id(root, "sparsity-curve-2") is not None
    assert [text for text in texts(root) if text.endswith("%")] == ["25%", "100%"]


def test_ink_and_grid_of_a_page_are_its_own() -> None:
    svg = plots()["figure-2-mrr"][1]
    assert "#1d2430" in svg
    inked = themed(svg)
    assert "#1d2430" not in inked
    assert inked.count("var(--ink)") == svg.count("#1d2430")
    assert inked.count("var(--line)") == svg.count("#d9dee6") > 0


def test_text_is_text_and_a_name_is_not_a_formula() -> None:
    for name in WITHOUT_STUDY:
        assert AWKWARD in texts(drawn(name))


def test_a_long_name_is_cut_beside_the_axis() -> None:
    result = example_result()
    result["systems"]["x" * 80] = result["systems"].pop(BM25)
    result["comparisons"] = []
    found = figures(result)
    assert "x" * 29 + "…" in texts(ET.fromstring(found["figure-2-mrr"][1]))


@pytest.mark.parametrize(
    ("name", "drawn_as"),
    [("検索 🙂", "検索 🙂"), ("a\x1b[31mb", r"a\x1b[31mb"), ("a\udcffb", r"a\udcffb"), ("a\uffffb", "a\ufffdb")],
)
def test_a_name_that_a_font_or_xml_does_not_have_is_drawn_all_the_same(name: str, drawn_as: str) -> None:
    result = example_result()
    for part in (*result["systems"].values(), result["chance"]):
        part["partitions"][name] = part["partitions"].pop("bronze")
    result["partitions"][name] = result["partitions"].pop("bronze")
    result["systems"][name] = result["systems"].pop(BM25)
    result["failed"] = {name: "no key"}
    for test in result["comparisons"]:
        test.update({key: name for key in ("a", "b") if test[key] == BM25}, partition=name)
    found = {plot: ET.fromstring(svg.encode()) for plot, (_, svg) in figures(result).items()}
    assert tuple(found) == WITHOUT_STUDY
    assert texts(found["figure-2-mrr"]).count(drawn_as) == 2  # system and partition
    assert found["figure-2-mrr"].findtext(f"{SVG}desc", "").endswith(f"Failed: {drawn_as}.")


def test_ids_of_plots_on_one_page_are_apart_and_every_reference_is_to_the_own_plot() -> None:
    seen: set[str] = set()
    for _, svg in plots().values():
        ids = [found for element in ET.fromstring(svg).iter() if (found := element.get("id"))]
        assert len(ids) == len(set(ids)) > 20
        assert not seen & set(ids)
        references = set(re.findall(r'href="#([^"]+)"', svg)) | set(re.findall(r"url\(#([^)]+)\)", svg))
        assert references
        assert references <= set(ids)
        seen |= set(ids)


def test_nothing_is_loaded_and_no_date_is_named() -> None:
    for _, svg in plots().values():
        assert "<metadata" not in svg
        assert "<dc:date" not in svg
        assert not re.search(r'(?:src|href)="(?!#)', svg)
        assert "@import" not in svg


@pytest.mark.long
def test_the_bytes_are_the_same_whatever_the_hash_seed_and_the_user_s_own_style(tmp_path: Path) -> None:
    import matplotlib as mpl

    with mpl.rc_context({"font.size": 20, "axes.grid": True, "svg.fonttype": "path"}):
        assert figures(example_result()) == plots()
        assert mpl.rcParams["font.size"] == 20
    write_report(tmp_path / "here", example_result(), example_details())
    subprocess.run(
        [sys.executable, "-c", WRITE, str(tmp_path / "there")],
        env=os.environ | {"PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        check=True,
    )
    here, there = (
        {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for folder in (tmp_path / "here", tmp_path / "there")
    )
    assert here == there
    assert len(here) == 15
