"""Tables, plots and page of a made-up result."""

import csv
import json
import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from fcconan.report import write_report
from fcconan.report.plots import figures
from fcconan.report.tables import as_csv, as_latex, as_markdown, latex, metric_title, summary_table
from tests.report.example import EVIL, METRICS, details, result


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_report(tmp_path / "report", result(), details())
    return tmp_path / "report"


def test_the_summary_is_ordered_and_shows_chance_and_failed_systems() -> None:
    table = summary_table(result())
    assert table.columns == ["system", "avg", "95% interval", "min", "max", "CV%"]
    assert table.rows == [
        ["alpha", "0.5000", "0.4000 to 0.6000", "0.5000", "0.5000", "12.35"],
        ["beta_1", "0.2500", "0.1500 to 0.3500", "0.2500", "0.2500", "12.35"],
        ["gamma", "–", "–", "–", "–", "–"],
        ["(chance)", "0.1000", "–", "0.1000", "0.1000", "0.00"],
        ["delta (failed)", "–", "–", "–", "–", "–"],
    ]


def test_csv_holds_plain_numbers() -> None:
    rows = list(csv.DictReader(as_csv(result()).splitlines()))
    assert len(rows) == 3 * 2 * 4
    assert rows[0] == {
        "system": "alpha", "partition": "gold", "metric": "hit_rate@10", "value": "0.5", "low": "0.4", "high": "0.6",
        "unjudged_right": "0.5", "chance": "0.1", "n_queries": "2", "n_failed": "0",
    }  # fmt: skip
    assert rows[-1]["value"] == ""


def test_latex_and_markdown_escape_what_they_must() -> None:
    assert latex("a_b & 5% {x} \\ ~^#$") == (
        r"a\_b \& 5\% \{x\} \textbackslash{} \textasciitilde{}\textasciicircum{}\#\$"
    )
    text = as_latex(result())
    assert text.count(r"\begin{tabular}") == text.count(r"\bottomrule") == 7
    assert "beta\\_1 & 0.2500 & 0.1500 to 0.3500 & 0.2500 & 0.2500 & 12.35 \\\\" in text
    assert "| beta_1 | 0.2500 | 0.1500 to 0.3500 | 0.2500 | 0.2500 | 12.35 |" in as_markdown(result())
    assert metric_title("hit_rate@10") == "Hit ratio@10"


def test_plots_are_the_papers_figures_with_intervals_as_xml() -> None:
    plots = figures(result())
    assert list(plots) == ["figure-1-hit-ratio", "figure-2-mrr", "averages", "differences"]
    for title, svg in plots.values():
        root = ET.fromstring(svg)
        assert root.get("role") == "img"
        assert root.get("aria-label") == title
        text = "".join(root.itertext())
        assert "alpha" in text
        assert "beta_1" in text


def test_bars_are_as_high_as_their_figures() -> None:
    root = ET.fromstring(figures(result())["figure-2-mrr"][1])
    names = {"svg": "http://www.w3.org/2000/svg"}
    heights = []
    for path in root.iterfind(".//svg:g/svg:path", names):
        style = path.get("style", "")
        if path.get("clip-path") and "fill: #0072b2" in style:
            numbers = [
                float(part) for part in path.get("d", "").replace("M", " ").replace("L", " ").split() if part != "z"
            ]
            heights.append(max(numbers[1::2]) - min(numbers[1::2]))
    assert len(heights) == 3  # one bar a system, of the first partition
    assert heights[0] / heights[1] == pytest.approx(0.5 / 0.25, rel=1e-3)
    assert heights[2] == pytest.approx(0, abs=1e-6)


def test_reports_have_the_same_bytes_whatever_the_hash_seed(folder: Path, tmp_path: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom fcconan.report import write_report\n"
        "from tests.report.example import details, result\nwrite_report(Path(sys.argv[1]), result(), details())\n"
    )
    root = Path(__file__).parents[2]
    other = tmp_path / "other"
    subprocess.run(
        [sys.executable, "-c", code, str(other)],
        check=True,
        cwd=root,
        env={**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": str(root)},
    )
    files = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(other) for path in other.rglob("*") if path.is_file())
    for name in files:
        assert (folder / name).read_bytes() == (other / name).read_bytes()


class Page(HTMLParser):
    """Collects what a page would load, its script data and its visible text."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.tags: list[str] = []
        self.data = ""
        self.inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.tags.append(tag)
        for name in ("src", "href", "srcset", "data", "action", "xlink:href"):
            value = named.get(name) or ""
            if value and not value.startswith("#"):
                self.loads.append(value)
        if tag == "script" and named.get("type") == "application/json":
            self.inside = "data"

    def handle_endtag(self, tag: str) -> None:
        if tag == "script":
            self.inside = ""

    def handle_data(self, data: str) -> None:
        if self.inside == "data":
            self.data += data


def test_the_page_loads_nothing_and_texts_stay_texts(folder: Path) -> None:
    html = (folder / "report.html").read_text()
    page = Page()
    page.feed(html)
    assert page.loads == []
    assert "url(http" not in html
    assert "default-src &#39;none&#39;" in html or "default-src 'none'" in html
    data = json.loads(page.data)
    assert data["queries"]["q1"] == EVIL
    assert data["corpus"]["c2"] == EVIL
    assert "img" not in page.tags
    assert "A note with &lt;angles&gt;." in html
    assert "Example &amp; co" in html
    assert "do not publish this page" in html


def test_without_texts_the_page_holds_ids_only(tmp_path: Path) -> None:
    write_report(tmp_path / "report", result(), details(), texts=False)
    html = (tmp_path / "report" / "report.html").read_text()
    assert "Velmari" not in html
    assert "Bread" not in html
    assert "do not publish" not in html
    assert '"q2":""' in html


def test_a_report_replaces_an_earlier_one_and_leaves_nothing_else(folder: Path) -> None:
    (folder / "runs" / "old.trec").write_text("old")
    before = (folder / "report.html").read_bytes()
    write_report(folder, result(), details())
    assert not (folder / "runs" / "old.trec").exists()
    assert (folder / "report.html").read_bytes() == before
    assert [path.name for path in folder.parent.iterdir()] == ["report"]
    assert (folder / "runs" / "alpha.trec").read_text().splitlines()[0] == "q1 Q0 c1 1 0.0 alpha"
    assert (folder / "qrels" / "gold.trec").read_text() == "q1 0 c1 1\nq1 0 c2 0\nq2 0 c2 1\n"
    assert METRICS[0] in (folder / "results.csv").read_text()
