"""Heat maps, and the pages that have them."""

import re
from itertools import pairwise
from typing import Any

import pytest

from fcconan.reporting.elements import asset
from fcconan.reporting.heat_maps import (
    HeatCell,
    HeatMap,
    difference_map,
    ground,
    heat_maps,
)
from tests.reporting.invented import AWKWARD, BM25, RANDOM, example_result

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


def test_differences_have_both_signs_and_marks_after_correction() -> None:
    found = difference_map(example_result())
    assert found is not None and found.ends == ("−0.500", "0", "0.500")
    shown = {
        (row, column): cell.text for row, cells in found.rows for column, cell in zip(found.columns, cells, strict=True)
    }
    assert (shown[BM25, AWKWARD], shown[AWKWARD, BM25]) == ("+0.125*", "-0.125*")
    assert (shown[BM25, RANDOM], shown[RANDOM, BM25]) == ("+0.500", "-0.500")
    assert (shown[AWKWARD, RANDOM], shown[BM25, BM25]) == ("", "–")
    assert difference_map({**example_result(), "comparisons": []}) is None


def test_names_are_no_markup() -> None:
    one = HeatMap(EVIL_NAME, EVIL_NAME, [EVIL_NAME], [(EVIL_NAME, [HeatCell(EVIL_NAME, EVIL_NAME)])], ("", "", ""), {})
    assert "<img" not in str(heat_maps([one]))
