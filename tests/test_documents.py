"""The documents agree with the recipes, the public names and the files of the project."""

import re
from pathlib import Path

import pytest
import yaml

import fcconan
from fcconan.building import load_recipe
from fcconan.data import VOTE_LABELS, content_folder, read_yaml, recipe_names
from tests.documented.blocks import GENERATED, pages

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = pages()
DATASETS = (ROOT / "docs" / "datasets.md").read_text(encoding="utf-8")


def test_the_catalogue_lists_every_dataset_with_its_sizes_and_terms() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| .+ \| (.+) \| (yes|no) \|$", DATASETS, re.MULTILINE)
    assert sorted(name for name, _, _ in rows) == recipe_names()
    for name, sizes, terms in rows:
        recipe = load_recipe(name)
        stated = {int(number) for number in re.findall(r"\d+", re.sub(r"\d+B", "", sizes))}
        assert stated, name
        assert stated <= {count for splits in recipe.expect.rows.values() for count in splits.values()}, name
        assert (terms == "yes") == recipe.redistributable, name


@pytest.mark.parametrize("name", recipe_names())
def test_every_dataset_is_described_with_every_config(name: str) -> None:
    section = re.search(rf"^## .*`{name}`.*?(?=^## |\Z)", DATASETS, re.MULTILINE | re.DOTALL)
    assert section is not None
    if name != "demo":  # described by reference to fc-conan
        for config in load_recipe(name).expect.rows:
            assert f"`{config}`" in section.group(), config


def anchors(text: str) -> set[str]:
    """The anchors of a document's headings, as GitHub and MkDocs both make them of plain words."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_somewhere(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)", text):
        path = (ROOT / document).parent / target if target else ROOT / document
        if path in {ROOT / page for page in GENERATED}:
            continue  # its links are checked in the site
        assert path.exists(), target
        assert not anchor or anchor in anchors(path.read_text(encoding="utf-8")), f"{target}#{anchor}"


def test_every_page_is_in_the_site_and_every_module_of_the_reference_is_there() -> None:
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    listed = sorted(re.findall(r"[\w/-]+\.(?:md|ipynb)", str(site["nav"])))
    docs = ROOT / "docs"
    written = {path.relative_to(docs).as_posix() for path in (*docs.rglob("*.md"), *docs.rglob("*.ipynb"))}
    assert listed == sorted(written | {page.removeprefix("docs/") for page in GENERATED})
    assert site["strict"] and site["theme"]["font"] is False  # no page fetches anything
    for path in (ROOT / "docs" / "api").glob("*.md"):
        for name in re.findall(r"^::: (\S+)$", path.read_text(encoding="utf-8"), re.MULTILINE):
            assert (ROOT / name.replace(".", "/")).is_dir() or (ROOT / f"{name.replace('.', '/')}.py").is_file(), name


def test_the_reference_has_a_page_per_package() -> None:
    packages = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "api").glob("*.md")}
    index = packages.pop("index")
    assert set(packages) == {path.parent.name for path in (ROOT / "fcconan").glob("*/__init__.pyi")}
    for name, page in packages.items():
        # `members: true` shows exactly the names of the package's `__init__.pyi`.
        assert f"\n::: fcconan.{name}\n    options:\n      members: true\n" in page, name
        assert f"[{name}]({name}.md)" in index
    named = {*re.findall(r"`(\w+)`", index)}
    assert not [name for name in fcconan.__all__ if name not in named and name[0] != "_"]


@pytest.mark.parametrize("document", [*DOCUMENTS, "docs/api/index.md"])
def test_pages_import_from_packages(document: str) -> None:
    modules = re.findall(
        r"^\s*(?:from|import) (fcconan[.\w]*)", (ROOT / document).read_text(encoding="utf-8"), re.MULTILINE
    )
    assert all(name.count(".") < 2 or name.startswith("fcconan.retrieval.adapters.") for name in modules), modules


def test_the_readme_is_short_and_contributing_is_one_page() -> None:
    lengths = {
        name: len((ROOT / name).read_text(encoding="utf-8").splitlines()) for name in ("README.md", "CONTRIBUTING.md")
    }
    assert lengths["README.md"] <= 150
    assert lengths["CONTRIBUTING.md"] <= 170


def test_the_readme_cites_the_package_and_fc_conan() -> None:
    (cited,) = re.findall(r"```bibtex\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    dataset, _, package = cited.partition("@software")
    assert dataset == load_recipe("fc-conan").citation
    stated = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert f"author = {{{{{stated['authors'][0]['name']}}}}}" in package
    assert stated["version"] == fcconan.__version__
    assert f"version = {{{fcconan.__version__}}}" in package


def test_people_and_code_know_the_same_labels() -> None:
    folder = content_folder() / "annotations" / "appropriateness"
    task = read_yaml(folder / "task.yaml")
    assert (task["name"], task["unit"]) == ("appropriateness", "pair")
    assert tuple(label["name"] for label in task["labels"]) == VOTE_LABELS
    guidelines = (folder / "guidelines.md").read_text(encoding="utf-8")
    assert all(f"`{label}`" in guidelines for label in VOTE_LABELS)


CHECKLISTS = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Checklists")[2].partition("\n## ")[0]


def test_checklists_name_files_that_exist() -> None:
    packages = {path.parent.name for path in (ROOT / "fcconan").glob("*/__init__.py")}
    spans = {span.replace("test_NAME", "__init__").replace("NAME", "__init__") for span in spans_of_paths(CHECKLISTS)}
    paths = {f"fcconan/{span}" if span.split("/")[0] in packages else span for span in spans}
    assert len(paths) > 15
    assert sorted(path for path in paths if not (ROOT / path).exists()) == []


def spans_of_paths(text: str) -> set[str]:
    """The paths in the inline code of a document."""
    return set(re.findall(r"`([\w.]+/[\w./]*)`", text))


def test_checklists_name_code_that_exists() -> None:
    files = [path for folder in ("fcconan", "tests") for path in (ROOT / folder).rglob("*.py")]
    code = {word for path in files for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))}
    spans = re.findall(r"`(_?[A-Za-z]\w+(?:\.\w+)?)(?:\([^`]*\))?(?: -> \w+)?`", CHECKLISTS)
    names = {name for span in spans for name in re.sub(r"\.(py|md|yaml)$", "", span).split(".")}
    assert len(names) > 15
    assert sorted(names - code - {"guidelines"}) == []
