"""The site: what it recognises, what it writes, what it never overwrites, and that no text reaches it uninvited."""

import csv
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from fcconan.errors import InputError
from fcconan.reporting.folders import free_name, safe_names
from fcconan.reporting.page import Page
from fcconan.reporting.site.inputs import find_inputs
from fcconan.reporting.site.pages import make_pages
from fcconan.reporting.site.write import check_site, write_site
from fcconan.reporting.tables import DisplayTable
from tests.conftest import run_here
from tests.reporting.invented import CORPUS, EVIL, QUERIES
from tests.reporting.results import STRONG, write_results
from tests.small import CN, HS

NAMES = ["retrieval", "judges", "agreement", "leaderboard", "metrics", "tournament", "reproduction", "dataset-small"]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_results(tmp_path_factory.mktemp("made") / "results")


@pytest.fixture(scope="module")
def site(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site") / "site"
    done = run_here("report", results, "--out", out, "--title", f"Ours {EVIL}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"Open {out / 'index.html'}"
    return out


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def all(self, tag: str, name: str) -> list[str]:
        return [attributes[name] or "" for found, attributes in self.tags if found == tag and name in attributes]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def a_page(name: str = "one", **more: Any) -> Page:
    from markupsafe import Markup

    return Page(name=name, title=name, body=Markup("<h2>Body</h2>"), **more)


def test_every_kind_is_recognised_by_what_it_holds(results: Path, tmp_path: Path) -> None:
    found = find_inputs([results])
    assert [(each.kind, each.path.name) for each in found] == [
        ("bench", "bench"),
        ("correlate", "correlate.json"),
        ("agree", "agree.json"),
        ("leaderboard", "leaderboard.json"),
        ("metrics", "metrics.json"),
        ("rank", "rank.json"),
        ("reproduce", "reproduce.json"),
        ("dataset", "small"),
    ]
    (tmp_path / "any name.json").write_bytes((results / "rank.json").read_bytes())
    said: list[str] = []
    file = results / "bench" / "results.json"  # the same as in the folder, without rankings
    again = find_inputs([tmp_path / "any name.json", file, results / "bench", results], on_skip=said.append)
    assert [(each.kind, each.path.name) for each in again][:1] == [("bench", "bench")]
    assert [each.path.name for each in again if each.kind == "rank"] == ["any name.json"]
    assert len(again) == len(found)
    assert said == [
        f"{results / 'unrelated.json'} is left out: it holds nothing that a report shows",
        f"{file} holds the same result as {results / 'bench'}: it is shown once",
        f"{results / 'rank.json'} holds the same result as {tmp_path / 'any name.json'}: it is shown once",
    ]


def test_results_of_one_dataset_are_told_apart(results: Path, tmp_path: Path) -> None:
    paper = json.loads((results / "bench" / "results.json").read_text()) | {"protocol": "paper"}
    seeds = json.loads((results / "rank.json").read_text()) | {"signature": "another"}
    (tmp_path / "paper.json").write_text(json.dumps(paper), encoding="utf-8")
    (tmp_path / "seeds.json").write_text(json.dumps(seeds), encoding="utf-8")
    names = [results / "bench", tmp_path / "paper.json", results / "rank.json", tmp_path / "seeds.json"]
    labels = [page.label for page in make_pages(find_inputs(names), texts=False)]
    assert labels == [
        "Retrieval: invented, sound",
        "Retrieval: invented, paper",
        "Tournament (rank)",
        "Tournament (seeds)",
    ]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("other.json", '{"rows": []}', "other.json holds nothing that a report shows: give a folder of `bench"),
        ("broken.json", "{", "broken.json is not JSON"),
        ("broken.json", '{"win_matrix": [NaN]}', "broken.json is not JSON (NaN is not a number)"),
        ("notes.txt", "mine", "notes.txt holds nothing that a report shows"),
        ("folder/campaign.yaml", "x: 1", "folder is a running campaign: give the dataset"),
        ("folder/notes.txt", "mine", "folder holds nothing that a report shows"),
        ("folder/manifest.json", "[]", "folder holds nothing that a report shows"),
        (
            "rank.json",
            '{"win_matrix": 1, "systems": []}',
            "rank.json is not a result of `fcconan rank` of this version",
        ),
        (None, "", "none is not there: give a folder of"),
    ],
)
def test_what_is_nothing_of_ours_is_told_in_a_line(tmp_path: Path, name: str | None, content: str, said: str) -> None:
    path = tmp_path / (name or "none")
    if name is not None:
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")
    given = path.parent if path.parent != tmp_path else path
    done = run_here("report", given, "--out", tmp_path / "site")
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "site").exists()


def test_there_is_a_page_for_everything_and_the_overview_leads_to_all(site: Path) -> None:
    assert sorted(path.stem for path in site.glob("*.html")) == sorted(["index", *NAMES])
    for name in ["index", *NAMES]:
        tags = Tags((site / f"{name}.html").read_text(encoding="utf-8"))
        links = [link for link in tags.all("a", "href") if not link.startswith(("#", "downloads/"))]
        assert [link for link in links if link.endswith(".html")][: len(NAMES) + 1] == [
            f"{page}.html" for page in ["index", *NAMES]
        ]
        assert tags.all("a", "aria-current") == ["page"]
    overview = (site / "index.html").read_text(encoding="utf-8")
    assert re.findall(r'<th scope="row">([^<]*)</th>', overview)[:3] == [
        "bm25 (2 of 3 HS)",
        "random",
        "tf_idf &amp; 50%|$x$ &lt;b&gt;",
    ]
    assert STRONG in overview


def test_every_page_keeps_to_the_rules_of_all_pages(site: Path) -> None:
    for path in site.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        tags = Tags(text)
        counts = [[tag for tag, _ in tags.tags].count(name) for name in ("h1", "main", "header", "footer")]
        assert counts == [1] * 4, path
        assert tags.all("html", "lang") == ["en"]
        assert "default-src 'none'" in text
        ids = [attributes["id"] for _, attributes in tags.tags if "id" in attributes]
        assert len(ids) == len(set(ids)), path
        wanted = [link[1:] for link in tags.all("a", "href") if link.startswith("#")]
        assert set(wanted) <= set(ids), path
        heads = [int(tag[1]) for tag, _ in tags.tags if re.fullmatch("h[1-6]", tag)]
        assert all(after <= before + 1 for before, after in itertools.pairwise(heads)), path
        assert not [name for _, attributes in tags.tags for name in attributes if name.startswith("on")], path
        assert not {"img", "iframe", "link", "object", "base", "form"} & {tag for tag, _ in tags.tags}, path
        assert [tag for tag, _ in tags.tags].count("script") == 1 + text.count("<script type="), path
        assert set(tags.all("script", "type")) <= {"application/json"}, path


def test_links_to_files_lead_to_files(site: Path) -> None:
    for path in site.glob("*.html"):
        for link in Tags(path.read_text(encoding="utf-8")).all("a", "href"):
            assert link.startswith("#") or (site / link).is_file(), (path.name, link)


def test_downloads_are_inputs_tables_and_runs(site: Path, results: Path) -> None:
    found = contents(site / "downloads")
    assert {*json.loads(found["contents.json"]), "downloads/contents.json"} == {*contents(site)}
    assert found["tournament/rank.json"] == (results / "rank.json").read_bytes()
    assert found["retrieval/runs/bm25.trec"] == (results / "bench" / "runs" / "bm25.trec").read_bytes()
    assert found["retrieval/results.csv"] == (results / "bench" / "results.csv").read_bytes()
    assert "dataset-small/manifest.json" in found
    tables = [name for name in found if name.startswith("tournament/tables/")]
    rows = list(csv.reader(found[sorted(tables)[0]].decode().splitlines()))
    assert rows[0][:3] == ["system", "points", "share %"]
    assert len(rows) == 4
    assert not [name for name in found if re.search(r"chance-0|-of-\d", name)]  # names hold no figures


def test_no_two_pages_have_the_same_heading(site: Path) -> None:
    headings = [re.findall(r"<h1>(.*?)</h1>", page.read_text())[0] for page in site.glob("*.html")]
    assert len({*headings}) == len(headings)


def test_downloads_hold_no_text_of_a_message(site: Path) -> None:
    held = b"".join(contents(site / "downloads").values())
    for text in (QUERIES["q1"], CORPUS["c1"], HS[0], CN[0]):
        assert text.encode() not in held


def test_without_texts_no_byte_of_one_is_anywhere(results: Path, site: Path, tmp_path: Path) -> None:
    out = tmp_path / "site"
    write_site(out, make_pages(find_inputs([results / "bench", results / "small"]), texts=False), texts=False)
    given, left_out = (b"".join(contents(folder).values()) for folder in (site, out))
    for text in (QUERIES["q1"], QUERIES["q3"], CORPUS["c1"], CORPUS["c3"], HS[0], HS[1], CN[0], CN[3]):
        assert json.dumps(text)[1:-1].encode() in given, text
        assert " ".join(text.split()[:3]).encode() not in left_out, text
    assert (out / "index.html").read_text().count("The pages contain ids and labels, no texts.") == 1
    assert 'id="show-texts"' not in (out / "retrieval.html").read_text()


def test_rankings_of_another_benchmark_are_refused(results: Path, tmp_path: Path) -> None:
    rankings = json.loads((results / "bench" / "rankings.json").read_text())
    for part in ("systems", "partitions"):
        folder = shutil.copytree(results / "bench", tmp_path / part)
        (folder / "rankings.json").write_text(json.dumps(rankings | {part: rankings[part][1:]}))
        with pytest.raises(InputError, match=rf"results.json and rankings.json of different {part}: write"):
            make_pages(find_inputs([folder]), texts=True)
    folder = shutil.copytree(results / "bench", tmp_path / "signature")
    (folder / "rankings.json").write_text(json.dumps(rankings | {"signature": f"{rankings['signature']}1"}))
    with pytest.raises(InputError, match=r"results.json and rankings.json of different signatures: write"):
        make_pages(find_inputs([folder]), texts=True)


def test_the_same_input_gives_the_same_bytes_and_takes_the_place_of_the_last_site(
    results: Path, site: Path, tmp_path: Path
) -> None:
    out = tmp_path / "site"
    write_site(out, [a_page(), a_page("index"), a_page("One")])
    assert sorted(path.name for path in out.glob("*.html")) == ["index-2.html", "index.html", "one-2.html", "one.html"]
    assert run_here("report", results, "--out", out, "--title", f"Ours {EVIL}").returncode == 0
    assert contents(out) == contents(site)
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_every_page_has_a_day_and_the_overview_says_who_leads(site: Path, results: Path) -> None:
    days = {path.stem: re.findall(r"<time datetime=\"([^\"]*)\"", path.read_text()) for path in site.glob("*.html")}
    written = datetime.fromtimestamp((results / "rank.json").stat().st_mtime, tz=UTC).date().isoformat()
    assert days == {name: [written] for name in ("index", *NAMES)}
    overview = (site / "index.html").read_text(encoding="utf-8")
    assert "Retrieval: invented, sound: bm25 leads with an average of 0.4688" in overview
    assert overview.count('class="main-plot"') == 1


def test_files_of_the_user_are_never_removed(tmp_path: Path) -> None:
    out = tmp_path / "site"
    out.mkdir()
    (out / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"site holds files but no downloads/contents.json \(such as notes.txt\)"):
        write_site(out, [a_page()])
    (out / "notes.txt").rename(tmp_path / "notes.txt")
    write_site(out, [a_page()])
    (tmp_path / "notes.txt").rename(out / "downloads" / "notes.txt")
    with pytest.raises(InputError, match=r"holds other files \(such as downloads/notes.txt\): move them away"):
        check_site(out)
    assert (out / "downloads" / "notes.txt").read_text() == "mine"
    (out / "downloads" / "contents.json").write_text("{")
    with pytest.raises(InputError, match=r"contents.json cannot be read"):
        check_site(out)


def test_the_report_of_a_benchmark_stays(results: Path) -> None:
    with pytest.raises(InputError, match=r"bench holds files but no downloads"):
        check_site(results / "bench")


def test_names_that_differ_in_case_only_get_numbers() -> None:
    taken: set[str] = set()
    assert [free_name(name, taken) for name in ("Run", "run", "RUN")] == ["Run", "run-2", "RUN-3"]


def test_a_failure_leaves_the_last_site_as_it_was(tmp_path: Path) -> None:
    out = tmp_path / "site"
    write_site(out, [a_page()])
    before = contents(out)
    with pytest.raises(InputError, match="cannot be written"):
        write_site(out, [a_page(files={"a" * 300: "too long a name"})])
    assert contents(out) == before
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_a_site_that_a_killed_process_had_moved_aside_comes_back(tmp_path: Path) -> None:
    from fcconan.data.atomic import mark

    out = tmp_path / "site"
    write_site(out, [a_page()])
    before = contents(out)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    aside = tmp_path / (mark(".site.").replace(f"-{os.getpid()}-", f"-{gone.pid}-") + "x-old")
    out.rename(aside)
    with pytest.raises(InputError, match="cannot be written"):
        write_site(out, [a_page(files={"a" * 300: "too long a name"})])
    assert contents(out) == before
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_a_site_never_takes_the_place_of_its_input(results: Path) -> None:
    for out in (results, results / "bench", results / "bench" / "site", results.parent):
        done = run_here("report", results / "bench", results / "rank.json", "--out", out)
        assert done.returncode == 2
        assert "choose another --out" in done.stderr or "choose an empty or new folder" in done.stderr
    assert (results / "bench" / "report.html").is_file()


def test_words_of_the_overview_are_set_flush_left_and_figures_right(tmp_path: Path) -> None:
    write_site(
        tmp_path / "site", [a_page(headline=DisplayTable("Few", ["a", "b", "c"], [["x", "1.5 [1, 2]", "pairs"]]))]
    )
    overview = (tmp_path / "site" / "index.html").read_text()
    assert '<td>1.5 [1, 2]</td><td class="text">pairs</td>' in overview


def test_tables_are_cut_in_the_overview_and_whole_on_their_page(tmp_path: Path) -> None:
    table = DisplayTable("Many", ["a", "b", "c", "d", "e"], [[str(row), *"wxyz"] for row in range(11)])
    write_site(tmp_path / "site", [a_page(headline=table, tables=[table])])
    overview = (tmp_path / "site" / "index.html").read_text()
    assert overview.count('<th scope="row">') == 8
    assert "3 rows and 2 columns more on the page." in overview
    assert "<td>z</td>" not in overview
    rows = (tmp_path / "site" / "downloads" / "one" / "tables" / "01-many.csv").read_text().splitlines()
    assert rows == ["a,b,c,d,e", *(f"{row},w,x,y,z" for row in range(11))]


def test_results_in_folders_of_one_name_are_told_apart_by_the_folders_around_them(
    results: Path, tmp_path: Path
) -> None:
    folders = [shutil.copytree(results / "bench", tmp_path / name / "bench") for name in ("one", "two")]
    for file in ("results.json", "rankings.json"):
        changed = json.loads((folders[1] / file).read_text()) | {"signature": "another"}
        (folders[1] / file).write_text(json.dumps(changed))
    labels = [page.label.rpartition(" (")[2] for page in make_pages(find_inputs(folders), texts=False)]
    assert labels == ["one/bench)", "two/bench)"]


def test_a_name_of_any_length_is_a_files_name() -> None:
    names = ["s" * 10_000, "s" * 9_999, "a/b"]
    assert list(safe_names(names, "runs", ".trec").values()) == [
        f"runs/{'s' * 100}.trec",
        f"runs/{'s' * 100}-2.trec",
        "runs/a_b.trec",
    ]
