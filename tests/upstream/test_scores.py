"""What the verbs print about the released rows: the figures that the papers' data are known to give."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fcconan import Bootstrap, Result, Rows, correlate, rank
from tests.upstream import oracle

pytestmark = pytest.mark.upstream
Release = Callable[..., Path]
CSEVAL = "AmeyHengle/cs-eval/predictions/mistralai-Mistral-7B-Instruct-v0.3_remaining.csv"


def test_the_shares_of_judgelm_over_conan(release: Release) -> None:
    rows = Rows(split="tournament", filter={"corpus": ("conan",)})
    found = rank(release("cn-ranking"), rater=("judgelm-33b",), rows=rows, bootstrap=Bootstrap(resamples=0)).to_frame()
    shares = found[found["aspect"] == "share"].set_index("system")["value"]
    assert shares.round(2).to_dict() == oracle.JUDGELM_33B_SHARES


def spearman_and_kendall(found: Result) -> dict[tuple[str, str], tuple[float, int]]:
    return {
        (row["level"], row["coefficient"]): (round(row["value"], 3), row["n"])
        for row in found.to_frame().to_dict("records")
        if row["metric"] == "gpt-4" and row["coefficient"] != "pearson"
    }


def test_gpt_4_on_cseval_with_failures_as_numbers_and_without(release: Release, mirror: Path) -> None:
    options: Any = {"rater": ("gpt-4",), "aspect": ("relevance",), "bootstrap": Bootstrap(resamples=0)}
    released = pd.read_csv(mirror / CSEVAL)
    raters = {"people": "relevance_score", "gpt-4": "gpt-4_relevance_score"}
    wide = [
        pd.DataFrame({"reply_id": released.index, "rater": name, "aspect": "relevance", "value": released[column]})
        for name, column in raters.items()
    ]
    assert spearman_and_kendall(correlate(*wide, human=("people",), level=("pooled",), **options)) == {
        ("pooled", "spearman"): (0.581, 1901),
        ("pooled", "kendall_b"): (0.494, 1901),
    }
    found = correlate(
        release("cseval"), level=("pooled", "per_item"), rows=Rows(split="test"), include_dependent=True, **options
    )
    assert spearman_and_kendall(found) == {
        ("pooled", "spearman"): (0.586, 1894),
        ("pooled", "kendall_b"): (0.499, 1894),
        ("per_item", "spearman"): (0.608, 507),
        ("per_item", "kendall_b"): (0.604, 507),
    }
    row = found.to_frame().set_index(["level", "coefficient"]).loc[("per_item", "spearman")]
    assert (row["n_groups"], row["n_missing"]) == (131, 7)
