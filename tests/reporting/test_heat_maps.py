"""Heat maps, and the pages that have them."""

import re
from itertools import pairwise
from typing import Any

import pytest

from fcconan.reporting.correlations import judge_table
from fcconan.reporting.elements import asset
from fcconan.reporting.heat_maps import (
    HeatCell,
    HeatMap,
    agreement_maps,
    correlation_maps,
    ground,
    heat_maps,
)
from fcconan.reporting.page import render
from fcconan.reporting.scores import agreement_page, correlation_page

EVIL_NAME = '"><img src=x onerror="window.evil = 4">'
Row = dict[str, Any]
Colour = tuple[float, float, float]


@pytest.mark.parametrize(
    ("value", "ends", "expected"),
    [
        (0.0, (-1.0, 1.0), "mid"),
        (0.04, (-1.0, 1.0), "mid"),
        (-0.04, (-1.0, 1.0), "mid"),
        (0.25, (-1.0, 1.0), "high3"),
        (-0.25, (-1.0, 1.0), "low3"),
        (-7.0, (-1.0, 1.0), "low10"),
        (50.0, (0.0, 100.0), "mid"),
        (75.0, (0.0, 100.0), "high5"),
        (0.0, (0.0, 1.0), "low10"),
    ],
)
def test_a_ground_is_the_nearest_step(value: float, ends: tuple[float, float], expected: str) -> None:
    assert ground(value, *ends) == expected


def _linear(colour: str) -> Colour:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts)
    return red, green, blue


def _luminance(colour: str) -> float:
    red, green, blue = _linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _oklab(colour: str) -> Colour:
    """Ottosson (2020), https://bottosson.github.io/posts/oklab/."""
    red, green, blue = _linear(colour)
    long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue) ** (1 / 3)
    middle = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue) ** (1 / 3)
    short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )


def test_steps_are_equally_far_apart_and_ink_is_readable_on_each() -> None:
    light, dark = asset("heat.css").split("@media screen and (prefers-color-scheme: dark)")
    inks = re.findall(r"--ink: (#[0-9a-f]{6})", asset("page.css"))
    for rules, ink in zip((light, dark), inks[:2], strict=True):
        grounds = dict(re.findall(r"\.heat \.(\w+) { background: (#[0-9a-f]{6})", rules))
        assert len(grounds) == 21
        for colour in grounds.values():
            darker, lighter = sorted((_luminance(colour), _luminance(ink)))
            assert (lighter + 0.05) / (darker + 0.05) > 4.5  # WCAG 2.2, 1.4.3
        for side in ("low", "high"):
            scale = [grounds["mid"], *(grounds[f"{side}{step}"] for step in range(1, 11))]
            apart = [
                sum((one - other) ** 2 for one, other in zip(_oklab(a), _oklab(b), strict=True)) ** 0.5
                for a, b in pairwise(scale)
            ]
            mean = sum(apart) / len(apart)
            assert all(abs(each - mean) < 0.15 * mean for each in apart)  # 8 bits a channel are this coarse


def correlation(metric: str, aspect: str, value: float | None, level: str = "pooled", **more: Any) -> Row:
    """A row of `fcconan correlate`."""
    ends = (None, None) if value is None else (value - 0.125, value + 0.125)
    return {
        "metric": metric,
        "aspect": aspect,
        "level": level,
        "coefficient": "spearman",
        "value": value,
        "low": ends[0],
        "high": ends[1],
        "n": 9,
        "n_groups": 1,
        "n_constant": 0,
        "n_rows_too_few": 0,
        "n_missing": 2,
        "chance": 0.0,
        "ceiling": None,
        "reason": "too_few" if value is None else None,
        **more,
    }


ROWS = [
    correlation("weak", "tone", 0.25, level="per_item", n_groups=3, n_constant=1),
    correlation("weak", "tone", -0.5),
    correlation("weak", "relevance", 0.25, n_missing=3),
    correlation("gone", "tone", 0.75),
    correlation("gone", "relevance", None),
    correlation(EVIL_NAME, "tone", 0.5),
    correlation(EVIL_NAME, "relevance", 0.25, ceiling=0.625),
    correlation("weak", "tone", 0.25, coefficient="pairwise_accuracy"),
]


def test_correlations_are_cells_that_hold_the_number_and_say_the_rest() -> None:
    pooled, accuracy, per_item = correlation_maps(ROWS)
    assert (pooled.title, pooled.columns, pooled.ends) == (
        "spearman with people, pooled",
        ["tone", "relevance"],
        ("−1", "0", "1"),
    )
    # By their means: gone .75 of what it has, then .375, then -.125.
    assert [name for name, _ in pooled.rows] == ["gone", EVIL_NAME, "weak"]
    gone, _, weak = (cells for _, cells in pooled.rows)
    assert weak[0] == ("-0.50", "weak, tone: -0.500 [-0.625, -0.375], rows 9, missing 2", "low5")
    assert gone[1] == ("– too few", "gone, relevance: – (too_few), rows 9, missing 2", "none")
    assert (accuracy.choices, accuracy.ends) == (
        {"level": "pooled", "coefficient": "pairwise_accuracy"},
        ("0", "0.5", "1"),
    )
    assert [cell.ground for cell in accuracy.rows[0][1]] == ["low5", "none"]  # of 0 to 1; the other is not computed
    assert per_item.rows[0][1][0].about.endswith("rows 9, missing 2, groups 3, of these constant 1")


def test_judges_stand_by_their_mean_over_all_aspects() -> None:
    table = judge_table(ROWS)
    assert table is not None and table.title == "Judges and metrics by their mean spearman with people (pooled)"
    assert table.columns == ["judge or metric", "mean", "tone", "relevance", "rows", "missing"]
    assert table.rows == [
        [EVIL_NAME, "0.375", "0.500 [0.375, 0.625]", "0.250 [0.125, 0.375]", "9", "2"],
        ["weak", "-0.125", "-0.500 [-0.625, -0.375]", "0.250 [0.125, 0.375]", "9", "2 to 3"],
        ["gone", "–", "0.750 [0.625, 0.875]", "– (too_few)", "9", "2"],
        ["(chance)", "–", "0.000", "0.000", "–", "–"],
        ["(one person)", "–", "–", "0.625", "–", "–"],
    ]
    assert judge_table([]) is None
    ceilings = {"weak": -0.25, "gone": -0.0625}
    found = judge_table([row | {"ceiling": ceilings.get(row["metric"])} for row in ROWS])
    assert found is not None and found.rows[-1][2] == "-0.250 to -0.062"


def _agreed(raters: list[str], value: float | None, coefficient: str = "cohen", level: str = "pair") -> Row:
    counts = {"n": 8, "n_items": 8, "n_missing": 0, "low": None, "high": None}
    why = None if value is not None else "no_variation"
    return (
        {"aspect": "tone", "coefficient": coefficient, "level": level, "raters": raters, "value": value}
        | counts
        | {"reason": why}
    )


def test_agreement_is_a_map_of_raters_by_raters() -> None:
    rows = [
        _agreed(["ann", "ben"], 0.5),
        _agreed(["ann", "cleo"], None),
        _agreed(["ann", "ben", "cleo"], 0.4, level="overall"),
    ]
    (found,) = agreement_maps([*rows, _agreed(["ben", "cleo"], -0.25)])
    assert [(name, [cell.text for cell in cells]) for name, cells in found.rows] == [
        ("ann", ["–", "0.50", "– no variation"]),
        ("ben", ["0.50", "–", "-0.25"]),
        ("cleo", ["– no variation", "-0.25", "–"]),
    ]
    page = agreement_page({"rows": rows, "notes": [], "signature": {"tone": "s|1"}})
    assert 'class="heat-maps"' in render(page)
    without = agreement_page({"rows": rows[:1], "notes": [], "signature": {"tone": "s|1"}})
    assert 'class="heat-maps"' not in render(without)  # two raters are one figure


def test_names_are_no_markup() -> None:
    text = render(correlation_page({"rows": ROWS, "signature": EVIL_NAME}))
    assert "<img" not in text and "&lt;img src=x" in text
    one = HeatMap(EVIL_NAME, EVIL_NAME, [EVIL_NAME], [(EVIL_NAME, [HeatCell(EVIL_NAME, EVIL_NAME)])], ("", "", ""), {})
    assert "<img" not in str(heat_maps([one]))
