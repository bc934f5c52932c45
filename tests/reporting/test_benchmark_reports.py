"""The page as bytes, without a browser, and the folder that it is written to."""

import base64
import functools
import hashlib
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from fcconan.errors import InputError
from fcconan.reporting.benchmark_reports import check_report, write_report
from fcconan.reporting.elements import script_json
from fcconan.reporting.folders import safe_names
from fcconan.reporting.page import render
from fcconan.reporting.plots import Plots, figures
from fcconan.reporting.retrieval import drill_down, retrieval_page
from tests.reporting.invented import AWKWARD, BM25, EVIL, FAILED, QUERIES, RANDOM, example_details, example_result

LOADING = {"src", "href", "xlink:href", "data", "action", "formaction", "poster", "srcset", "background"}


class Page(HTMLParser):
    """Collects tags with attributes, text by element, and the elements that are open at each text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.scripts: dict[str, str] = {}
        self._open = ""
        self._id = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open, self._id = tag, dict(attrs).get("id") or ""

    def handle_data(self, data: str) -> None:
        self.texts.append((self._open, data))
        if self._open == "script":
            self.scripts[self._id] = self.scripts.get(self._id, "") + data

    def handle_endtag(self, tag: str) -> None:
        self._open = ""


def page(change: Callable[[dict[str, Any]], None] = lambda result: None, *, texts: bool = True) -> str:
    result = example_result()
    change(result)
    return rendered(result, example_details(), texts=texts)


def rendered(result: dict[str, Any], details: dict[str, Any], *, texts: bool = True) -> str:
    return render(retrieval_page(result, drill_down(result, details, texts=texts), plots()))


@functools.cache
def plots() -> Plots:
    return figures(example_result())  # drawn once: what the tests change stands elsewhere on the page


def test_the_page_loads_nothing_and_forbids_itself_to() -> None:
    text = page()
    parsed = Page(text)
    for tag, attributes in parsed.tags:
        assert tag not in {"link", "iframe", "object", "embed", "base", "form", "img", "image", "video", "audio"}
        for name in LOADING & attributes.keys():
            assert (attributes[name] or "").startswith("#"), (tag, name, attributes[name])
        assert not [name for name in attributes if name.startswith("on")], (tag, attributes)
    elements = "".join(text.split(f"<script>{parsed.scripts['']}</script>"))
    assert set(re.findall(r"url\((.)", elements)) == {"#"}
    assert "@import" not in text
    policy = next(a["content"] for tag, a in parsed.tags if tag == "meta" and "http-equiv" in a)
    digest = base64.b64encode(hashlib.sha256(parsed.scripts[""].encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
    assert set(re.findall(r"https?://[^\"' <>)]+", elements)) == {  # names of XML, never loaded
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }


def test_the_data_is_read_back_and_no_text_ends_its_element() -> None:
    parsed = Page(page())
    data = json.loads(parsed.scripts["data"])
    assert data["systems"] == [BM25, RANDOM, AWKWARD]
    assert data["queries"] == QUERIES
    assert data["queries"]["q2"] == EVIL
    assert data["corpus"]["c2"] == EVIL
    assert data["order"] == ["q1", "q2", "q3"]
    runs = {
        name: {query: [data["ids"][place] for place in run] for query, run in zip(data["order"], own, strict=True)}
        for name, own in data["runs"].items()
    }
    assert runs == {
        name: {query: run.get(query, []) for query in QUERIES} for name, run in example_details()["runs"].items()
    }
    assert data["labels"]["gold"] == {"q1": {"c1": 1, "c2": 0}, "q2": {"c3": 1}}
    assert data["values"][AWKWARD]["gold"]["mrr@10"] == [0.5, 1.0, None]
    assert data["failures"] == {BM25: {"q3": "the endpoint answered 500"}, RANDOM: {}, AWKWARD: {}}
    assert data["seeded"] == [RANDOM]
    assert [tag for tag, _ in parsed.tags].count("script") == 2


def test_json_in_a_script_has_no_character_that_html_or_old_javascript_reads() -> None:
    text = script_json({"a": "</script><!--&\u2028\u2029é"})
    assert text == '{"a":"\\u003c/script\\u003e\\u003c!--\\u0026\\u2028\\u2029é"}'
    assert json.loads(text) == {"a": "</script><!--&\u2028\u2029é"}


def test_names_and_reasons_are_text_wherever_they_stand() -> None:
    def spoil(result: dict[str, Any]) -> None:
        result["failed"] = result["problems"] = {"<img src=x onerror=alert(1)>": EVIL}
        result["notes"] = [EVIL]
        result["dataset"]["title"] = EVIL
        result["signature"] = EVIL
        result["systems"][BM25]["configuration"] = {EVIL: EVIL}
        result["systems"][BM25]["diagnostics"] = {"answer": EVIL}

    parsed = Page(page(spoil))
    tags = [tag for tag, _ in parsed.tags]
    assert "img" not in tags
    assert "b" not in tags
    assert tags.count("script") == 2
    evil = EVIL.replace("\u2028", r"\u2028")  # written out, as on a terminal
    assert ("h1", f"Retrieval: {evil}") in parsed.texts
    assert ("strong", "<img src=x onerror=alert(1)>") in parsed.texts
    assert ("code", evil) in parsed.texts


def test_problems_of_all_systems_stand_at_the_head_of_the_page() -> None:
    parsed = Page(page())
    at = parsed.texts.index(("strong", FAILED))
    assert parsed.texts[at + 1][1] == " failed: 401: no key | <none>"
    at = parsed.texts.index(("strong", BM25))
    assert parsed.texts[at + 1][1] == " failed on 1 of 3 HS: the endpoint answered 500"


def test_a_page_of_systems_that_all_failed(tmp_path: Path) -> None:
    result, details = example_result(), example_details()
    result["systems"], result["comparisons"], result["order_agreement"] = {}, [], []
    for part in ("runs", "scores", "per_query"):
        details[part] = {}
    write_report(tmp_path / "report", result, details)
    cells = [text for tag, text in Page((tmp_path / "report" / "report.html").read_text()).texts if tag == "th"]
    assert cells.count("gpt_4 (failed)") == 1
    assert not (tmp_path / "report" / "runs").exists()


def test_tables_and_plots_are_there_without_javascript() -> None:
    parsed = Page(page())
    cells = [text for tag, text in parsed.texts if tag in ("th", "td")]
    assert "0.7500 [0.6875, 0.8125]" in cells
    assert AWKWARD in cells
    assert [attributes["role"] for tag, attributes in parsed.tags if tag == "svg"] == [
        "img"
    ] * 2  # differences are a heat map, and the averages are drawn by the page itself


def test_ids_occur_once_and_labels_lead_to_them() -> None:
    tags = Page(page()).tags
    ids = [attributes["id"] for _, attributes in tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    wanted = [(a.get("href") or "#")[1:] for tag, a in tags if tag == "a"]
    assert len(wanted) == 6
    assert set(wanted) <= set(ids)


@pytest.mark.parametrize(
    ("synthetic", "redistributable", "texts", "notice", "warning"),
    [
        (False, False, True, True, True),
        (False, True, True, True, False),
        (True, True, True, False, False),
        (False, False, False, False, False),
    ],
)
def test_content_notice(synthetic: bool, redistributable: bool, texts: bool, notice: bool, warning: bool) -> None:
    def change(result: dict[str, Any]) -> None:
        result["dataset"] |= {"synthetic": synthetic, "redistributable": redistributable}

    text = page(change, texts=texts)
    assert ("This page contains hate speech" in text) == notice
    assert ("may not be redistributed" in text) == warning
    assert ('id="show-texts"' in text) == texts


def test_without_texts_the_page_has_ids_only() -> None:
    text = page(texts=False)
    data = json.loads(Page(text).scripts["data"])
    assert data["queries"] == {"q1": "", "q2": "", "q3": ""}
    assert data["corpus"] == {}
    assert [data["ids"][place] for place in data["runs"][BM25][0]] == ["c1", "c2", "c3"]
    assert "Tessok" not in text


def test_only_texts_that_a_list_shows_are_in_the_page() -> None:
    details = example_details()
    details["corpus"]["c9"] = "The Ostrun were never asked."
    details["labels"]["gold"] = {"q1": {"c9": 1, "c1": 1}}
    result = example_result()
    text = rendered(result, details)
    assert "Ostrun" not in text
    assert json.loads(Page(text).scripts["data"])["labels"]["gold"] == {"q1": {"c1": 1}}


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_report_is_written_whole_and_with_the_same_bytes(tmp_path: Path) -> None:
    paths = write_report(tmp_path / "a" / "report", example_result(), example_details())
    assert [path.relative_to(tmp_path / "a" / "report").as_posix() for path in paths] == [
        "report.html",
        "report.md",
        "tables.tex",
        "results.csv",
        "comparisons.csv",
        "results.json",
        "rankings.json",
        "figure-1-hit-ratio.svg",
        "figure-2-mrr.svg",
        "runs/bm25.trec",
        "runs/random.trec",
        "qrels/diamond.trec",
        "qrels/gold.trec",
        "qrels/silver.trec",
        "qrels/bronze.trec",
    ]
    found = contents(tmp_path / "a" / "report")
    assert sorted(found) == sorted(path.relative_to(tmp_path / "a" / "report").as_posix() for path in paths)
    assert found["runs/bm25.trec"].splitlines()[0] == b"q1 Q0 c1 1 -0.0 bm25"
    assert found["qrels/gold.trec"] == b"q1 0 c1 1\nq1 0 c2 0\nq2 0 c3 1\n"
    write_report(tmp_path / "b", example_result(), example_details())
    assert contents(tmp_path / "b") == found
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["report"]


def test_a_report_takes_the_place_of_an_earlier_one(tmp_path: Path) -> None:
    folder = tmp_path / "report"
    write_report(folder, example_result(), example_details())
    result, details = example_result(), example_details()
    result["comparisons"] = []
    del details["scores"][RANDOM]
    write_report(folder, result, details)
    assert not (folder / "differences.svg").exists()
    assert [path.name for path in (folder / "runs").iterdir()] == ["bm25.trec"]


def test_files_of_the_user_are_never_removed(tmp_path: Path) -> None:
    folder = tmp_path / "report"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"report holds files but no report.html \(such as notes.txt\)"):
        write_report(folder, example_result(), example_details())
    (folder / "notes.txt").rename(tmp_path / "notes.txt")
    write_report(folder, example_result(), example_details())
    (tmp_path / "notes.txt").rename(folder / "runs" / "notes.txt")
    with pytest.raises(InputError, match=r"holds other files \(such as runs/notes.txt\): move them away"):
        write_report(folder, example_result(), example_details())
    assert (folder / "runs" / "notes.txt").read_text() == "mine"


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "report").write_text("mine")
    with pytest.raises(InputError, match="report is not a folder: choose another one"):
        check_report(tmp_path / "report")
    with pytest.raises(InputError, match=r"below cannot be written \(.*\): choose another folder"):
        write_report(tmp_path / "report" / "below", example_result(), example_details())
    assert (tmp_path / "report").read_text() == "mine"


def test_a_failure_leaves_the_earlier_report_as_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "report"
    write_report(folder, example_result(), example_details())
    before = contents(folder)
    details = example_details()
    details["scores"] = {"a b": {"q1": [("c1", 1.0)]}}
    with pytest.raises(InputError, match="white space"):
        write_report(folder, example_result(), details)
    assert contents(folder) == before
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


def test_two_systems_never_share_a_run_file(tmp_path: Path) -> None:
    details = example_details()
    details["scores"] = {name: {"q1": [("c1", 1.0)]} for name in ("a/b", "a:b", "A_B")}
    write_report(tmp_path / "report", example_result(), details)
    found = contents(tmp_path / "report")
    assert {name: text.split()[-1] for name, text in found.items() if name.startswith("runs/")} == {
        "runs/a_b.trec": b"a/b",
        "runs/a_b-2.trec": b"a:b",
        "runs/A_B-3.trec": b"A_B",
    }


def test_names_of_files_are_unique_short_and_safe() -> None:
    names = ["s" * 10_000, "s" * 9_999, "a/b", "Run", "run", "RUN"]
    assert list(safe_names(names, "runs", ".trec").values()) == [
        f"runs/{'s' * 100}.trec",
        f"runs/{'s' * 100}-2.trec",
        *("runs/a_b.trec", "runs/Run.trec", "runs/run-2.trec", "runs/RUN-3.trec"),
    ]
