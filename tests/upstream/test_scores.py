"""What the verbs print about the released rows: the figures that the papers' data are known to give."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fcconan import Bootstrap, Rows, rank
from fcconan.oldcli import app
from tests.upstream import oracle

pytestmark = pytest.mark.upstream
Release = Callable[..., Path]
CSEVAL = "AmeyHengle/cs-eval/predictions/mistralai-Mistral-7B-Instruct-v0.3_remaining.csv"


def result(out: Path, *arguments: str) -> Any:
    done = CliRunner().invoke(app, [*arguments, "--json", str(out)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return json.loads(out.read_text(encoding="utf-8"))


def test_the_shares_of_judgelm_over_conan(release: Release) -> None:
    rows = Rows(split="tournament", filter={"corpus": ("conan",)})
    found = rank(release("cn-ranking"), rater=("judgelm-33b",), rows=rows, bootstrap=Bootstrap(resamples=0)).to_frame()
    shares = found[found["aspect"] == "share"].set_index("system")["value"]
    assert shares.round(2).to_dict() == oracle.JUDGELM_33B_SHARES


def spearman_and_kendall(found: Any) -> dict[tuple[str, str], tuple[float, int]]:
    return {
        (row["level"], row["coefficient"]): (round(row["value"], 3), row["n"])
        for row in found["rows"]
        if row["metric"] == "gpt-4" and row["coefficient"] != "pearson"
    }


def test_gpt_4_on_cseval_with_failures_as_numbers_and_without(release: Release, mirror: Path, tmp_path: Path) -> None:
    wide = ("people:relevance=relevance_score", "gpt-4:relevance=gpt-4_relevance_score")
    columns = [f"--wide-column={each}" for each in wide]
    as_released = ["--human", "people", "--level", "pooled", "--resamples", "0"]
    found = result(tmp_path / "a.json", "correlate", str(mirror / CSEVAL), *columns, *as_released)
    assert spearman_and_kendall(found) == {
        ("pooled", "spearman"): (0.581, 1901),
        ("pooled", "kendall_b"): (0.494, 1901),
    }

    chosen = ["--split", "test", "--aspect", "relevance", "--rater", "gpt-4", "--resamples", "0"]
    levels = ["--level", "pooled", "--level", "per_item"]
    found = result(tmp_path / "b.json", "correlate", str(release("cseval")), *chosen, *levels)
    assert spearman_and_kendall(found) == {
        ("pooled", "spearman"): (0.586, 1894),
        ("pooled", "kendall_b"): (0.499, 1894),
        ("per_item", "spearman"): (0.608, 507),
        ("per_item", "kendall_b"): (0.604, 507),
    }
    (row,) = [row for row in found["rows"] if (row["level"], row["coefficient"]) == ("per_item", "spearman")]
    assert (row["n_groups"], row["n_constant"]) == (131, 106)
    assert (row["n_rows_too_few"], row["n_missing"]) == (1387, 7)  # and 507 make up the 1901
