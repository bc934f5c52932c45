"""`Result`: its page, JSON, signature and printed form, seen on results of `fcconan.rank`."""

import json
import math
import re
from html import unescape
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import fcconan
from fcconan import Bootstrap, Result, Rows, rank
from fcconan.errors import InputError
from fcconan.latex import Paper

SYSTEMS = ("A & <b>B</b>", "costs $3 to $x^$", "Plain [7] [8]", "<script>alert(1)</script>")


def rows(systems: tuple[str, ...] = SYSTEMS) -> list[dict[str, Any]]:
    about = {"rater": "anna", "rater_kind": "human", "low": 1, "high": 5, "language": "en"}
    return [
        {**about, "reply_id": f"{number}-{item}", "item_id": item, "system": system, "aspect": aspect,
         "value": (3 * number + 2 * item + len(aspect) * item) % 5 + 1}
        for number, system in enumerate(systems) for item in range(7) for aspect in ("kind", "clear")
    ]  # fmt: skip


def test_the_page_needs_no_other_file_and_shows_every_system(tmp_path: Path) -> None:
    found = rank(rows(), bootstrap=Bootstrap(resamples=100))
    text = found.to_html(tmp_path / "one").read_text(encoding="utf-8")
    assert [file.name for file in (tmp_path / "one").iterdir()] == ["index.html"]
    addresses = re.findall(r"(?:(?:href|src|srcset|data)=|url\()[\"']?([^\"')]*)", text)
    assert addresses and all(address.startswith("#") for address in addresses) and "@import" not in text
    elements = {*re.findall(r"<(\w+)", text)}
    assert {"svg", "table", "code"} <= elements and not {"script", "b", "link", "img"} & elements
    cells = re.findall(r"<(?:td|text|li|code)\b[^>]*>(.*?)</(?:td|text|li|code)>", text, re.DOTALL)
    texts = [unescape(re.sub("<[^>]+>", "", cell)).strip() for cell in cells]
    assert {*found.notes, found.signature} <= {*texts}
    assert all(texts.count(system) >= 3 for system in SYSTEMS)  # in the plot, the main table, and differences
    again = rank(rows(), bootstrap=Bootstrap(resamples=100)).to_html(tmp_path / "two")
    assert again.read_bytes() == text.encode()


def test_json_has_null_for_what_is_missing_and_its_reason() -> None:
    few = [row for row in rows(("A", "B", "C")) if (row["system"], row["item_id"]) not in {("C", n) for n in range(6)}]
    found = rank(few, aspect=("kind",), bootstrap=Bootstrap(resamples=100))
    known = json.loads(found.to_json(), parse_constant=pytest.fail)
    assert list(known) == ["command", "signature", "identity", "notes", "tables"]
    assert (known["command"], known["signature"], known["notes"]) == ("rank", found.signature, found.notes)
    assert list(known["tables"]) == ["systems", "differences"]
    (of_c,) = (row for row in known["tables"]["systems"] if row["system"] == "C")
    assert (of_c["n"], of_c["low"], of_c["higher_is_better"]) == (1, None, True)
    reasons = {row["a"] + row["b"]: (row["p"] is None, row["reason"]) for row in known["tables"]["differences"]}
    assert reasons == {"BC": (True, "too_few_items"), "BA": (False, None), "CA": (True, "too_few_items")}


def test_the_signature_names_what_changes_values(tmp_path: Path) -> None:
    def signature(given: Any = None, *, baseline: tuple[str, ...] = (), filtered: bool = False, seed: int = 0) -> str:
        chosen = Rows(filter={"language": ("en",)} if filtered else {})
        return rank(given or rows(), baseline=baseline, rows=chosen, bootstrap=Bootstrap(50, seed=seed)).signature

    plain = signature()
    others = {signature(seed=1), signature(filtered=True), signature(baseline=SYSTEMS[:1]), signature(rows()[2:])}
    assert plain not in others and len(others) == 4
    assert plain == signature() == signature(iter(rows())) and plain.startswith(f"fcconan:{fcconan.__version__}|rank|")
    for name in "ab":
        (tmp_path / name).mkdir()
        pd.DataFrame(rows()).to_csv(tmp_path / name / "rows.csv", index=False)
    assert signature(tmp_path / "a" / "rows.csv") == signature(str(tmp_path / "b" / "rows.csv"))


def test_a_long_table_is_shown_pivoted() -> None:
    long = rank(rows(("A", "B")), bootstrap=Bootstrap(resamples=100))
    shown = long.shown("systems")
    assert list(shown.columns) == ["rater", "system", "unified", "kind", "clear"]
    best = long.to_frame().iloc[0]
    assert shown.iloc[0, 1:3].tolist() == [
        best["system"],
        f"{best['value']:.3f} [{best['low']:.3f}, {best['high']:.3f}]",
    ]
    assert f"systems\n{shown.to_string(index=False)}\n\ndifferences\n" in str(long) and long.signature in str(long)
    many = str(rank(rows(tuple("ABCDEFG"))))
    assert "... 51 more rows in --json and --report" in many  # 3 measures of 21 pairs, without 12


def test_a_table_with_gaps_is_shown_with_dashes() -> None:
    table = pd.DataFrame({"name": ["x", None], "value": [1.0, None], "low": [0.5, None], "high": [1.5, None]})
    tables, identity = {"main": table, "none": table[:0]}, {"data": "x@1", "left": None}
    found = Result("made", tables, identity, ["A note."], intervals={"main": "value"})
    assert found.shown("main").to_numpy().tolist() == [["x", "1.000 [0.500, 1.500]"], ["–", "–"]]
    assert str(found).endswith(f"\n\nA note.\n\nfcconan:{fcconan.__version__}|made|data:x@1")
    assert "none" not in str(found) and found.to_frame() is table and found.to_frame("none").empty


def test_counts_are_shown_without_decimals() -> None:
    won = [{"item_id": f"i{n}", "system_a": "A", "system_b": "B", "verdict": "a"} for n in range(3)]
    assert rank(won, bootstrap=Bootstrap(resamples=0)).shown("systems")["wins"].tolist() == ["3", "0"]


@pytest.mark.parametrize(("p", "star"), [(0.05, "*"), (0.06, "")])
def test_the_table_of_a_paper(p: float, star: str) -> None:
    scores = pd.DataFrame(
        [
            ("A", "gold", 0.5, 0.25, 0.75),
            ("B_2", "gold", 0.25, 0.125, 0.375),
            ("random", "gold", 0.9, math.nan, math.nan),
            ("A", "silver", -0.5, -0.75, -0.25),
            ("B_2", "silver", math.nan, math.nan, math.nan),
        ],
        columns=["system", "tier", "value", "low", "high"],
    )
    differences = pd.DataFrame({"a": ["A"], "b": ["B_2"], "tier": ["gold"], "p_adjusted": [p]})
    paper = Paper("scores", "system", "tier", {}, "NDCG & more")
    tables = {"scores": scores, "differences": differences}
    lines = Result("bench", tables, {}, references=["random"], paper=paper).to_latex().splitlines()
    assert lines[5:14] == [
        r" & gold & silver \\",
        r"\midrule",
        r"A & \textbf{.500} & $-$.500 \\",
        r" & \scriptsize[.250, .750] & \scriptsize[$-$.750, $-$.250] \\[2pt]",
        rf"B\_2 & .250{star} & -- \\",
        r" & \scriptsize[.125, .375] & \\",
        r"\midrule",
        r"random & .900 & -- \\",
        r"\bottomrule",
    ]
    assert r"NDCG \& more" in lines[-2]


def test_a_result_without_a_table_for_papers_says_so() -> None:
    with pytest.raises(InputError, match="found no table for a paper in agree"):
        Result("agree", {}, {}).to_latex()


def test_the_page_shows_one_partition_at_a_time_with_references_below_a_line(tmp_path: Path) -> None:
    scores = pd.DataFrame(
        {"tier": ["gold", "silver", "gold"], "system": ["A", "A", "random"], "value": [0.5, 0.25, 0.1]}
    )
    result = Result(
        "bench",
        {"scores": scores},
        {},
        choice=("tier", "silver"),
        references=["random"],
        files={"a/b.csv": lambda: "x\n"},
    )
    page = result.to_html(tmp_path).read_text()
    assert '<option value="gold">gold</option><option value="silver" selected>silver</option>' in page
    # A term of docs/glossary.md.
    assert (
        '<th><abbr title="subset of pairs with equally well confirmed labels">tier</abbr></th><th>system</th>' in page
    )
    assert page.count('<tr data-choice="gold">') == page.count('<tr data-choice="gold" class="reference">') == 1
    assert (tmp_path / "a" / "b.csv").read_text() == "x\n"
