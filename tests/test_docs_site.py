"""The documentation is built as `make docs` builds it: every link leads somewhere, and no page needs the network."""

import json
import os
import re
import subprocess
import sys
import zlib
from importlib import import_module
from pathlib import Path

import pytest

import fcconan

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs") / "site"
    pages = [ROOT / "docs" / f"{name}.md" for name in ("columns", "options")]
    committed = [page.read_text(encoding="utf-8") for page in pages]
    subprocess.run([sys.executable, "docs/make_reference.py"], cwd=ROOT, check=True)
    assert [page.read_text(encoding="utf-8") for page in pages] == committed, "commit both pages"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    return folder


def test_every_page_is_there_and_fetches_nothing(site: Path) -> None:
    docs = ROOT / "docs"
    for page in [*docs.rglob("*.md"), *docs.rglob("*.ipynb")]:
        assert (site / page.relative_to(docs).with_suffix(".html")).is_file(), page
    for path in site.rglob("*.html"):
        html = path.read_text(encoding="utf-8")
        assert "<h1" in html, path.name
        fetched = re.findall(r"<(?:script|img|iframe|source)\b[^>]*?\bsrc=\"?([^\s\">]+)", html)
        fetched += re.findall(r"<link\b[^>]*?\brel=\"(?:stylesheet|icon|preload)\"[^>]*?\bhref=\"([^\"]+)", html)
        assert fetched
        assert not [address for address in fetched if re.match(r"(?:https?:)?//", address)], path.name


def test_the_reference_has_every_public_name_under_its_package(site: Path) -> None:
    # An inventory: four lines of text, then compressed lines that begin with a name.
    inventory = zlib.decompress((site / "objects.inv").read_bytes().split(b"\n", 4)[4]).decode()
    known = {line.split(" ", 1)[0] for line in inventory.splitlines()}
    assert known >= {f"fcconan.{name}" for name in fcconan.__all__ if name[0] != "_"}
    for stub in (ROOT / "fcconan").glob("*/__init__.pyi"):
        package = f"fcconan.{stub.parent.name}"
        missing = {f"{package}.{name}" for name in import_module(package).__all__} - known
        assert not missing
    assert known >= {
        name
        for page in (ROOT / "docs" / "api").glob("*.md")
        for name in re.findall(r"^::: (fcconan\.\S+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    }


def test_a_tutorial_shows_code_outputs_and_plots_and_is_a_download(site: Path) -> None:
    for path in (ROOT / "docs" / "tutorials").glob("*.ipynb"):
        page = (site / "tutorials" / path.name).with_suffix(".html").read_text(encoding="utf-8")
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        outputs = [output for cell in cells for output in cell.get("outputs", [])]
        assert page.count('src="data:image/png;base64,') == sum("image/png" in each.get("data", {}) for each in outputs)
        assert page.count("<table>") >= sum("text/html" in each.get("data", {}) for each in outputs)
        assert re.search(r'<img alt="[^"]', page)
        assert f'<a href="{path.name}" download>' in page
        assert (site / "tutorials" / path.name).read_bytes() == path.read_bytes()
