import pkgutil
from pathlib import Path
from typing import get_args

import pytest

from fcconan.building import kinds
from fcconan.building.recipes import Rater, Recipe, load_recipe
from fcconan.building.tiers import Agreement, TierName
from fcconan.data import content_folder, recipe_names
from fcconan.data.schemas import AGREEMENTS, RATER_KINDS, TIERS
from fcconan.errors import InputError

SHA256 = "ab" * 32
TINY = f"""\
name: tiny
kind: pairs
title: Tiny
summary: Two pairs about the Ombrey.
languages: [en]
homepage: https://example.org/tiny
card_licence: apache-2.0
task_categories: [text-retrieval]
annotations_creators: [machine-generated]
language_creators: [expert-generated]
citation: none
card:
  motivation: A test.
  composition: A test.
  collection: A test.
  uses: A test.
  misuse: A test.
  sensitive: A test.
  terms: A test.
sources:
  main:
    path: main.csv
    sha256: {SHA256}
    columns: {{hate_speech: hs}}
expect:
  rows:
    pairs: {{train: 2}}
"""


def _write(folder: Path, content: str) -> Path:
    path = folder / "tiny.yaml"
    path.write_text(content, encoding="utf-8")
    return path


def _error(folder: Path, content: str) -> str:
    """Returns the message with which a recipe is refused, without the path that it begins with."""
    path = _write(folder, content)
    with pytest.raises(InputError) as caught:
        load_recipe(str(path))
    return str(caught.value).removeprefix(str(path))


def test_the_tiny_recipe_loads(tmp_path: Path) -> None:
    recipe = load_recipe(str(_write(tmp_path, TINY)))
    assert recipe.sources["main"].columns == {"hate_speech": "hs"}
    assert recipe.expect.rows == {"pairs": {"train": 2}}
    assert recipe.folder == tmp_path.resolve()


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_of_the_catalogue_loads(name: str) -> None:
    recipe = load_recipe(name)
    assert recipe.name == name
    assert recipe.folder == content_folder() / "builders"


def test_the_catalogue_holds_these_recipes() -> None:
    assert recipe_names() == [
        "cn-ranking",
        "conan",
        "cseval",
        "demo",
        "dialoconan",
        "fc-conan",
        "kn-conan",
        "mt-conan",
        "multi-aspect",
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("    columns:", "    colums: {}\n    columns:", "sources.main.colums: unknown key"),
        ("title: Tiny\n", "", "title: Field required"),
        (f"    sha256: {SHA256}\n", "", "sources.main: sha256 is missing: every file is pinned"),
        ("[en]", "[en, eng]", "languages.1: not a code of ISO 639-1, such as 'en' (found 'eng')"),
        ("apache-2.0", "wtfpl", "card_licence: Input should be '"),
        ("text-retrieval", "text-mining", "task_categories.0: Input should be '"),
        ("kind: pairs", "kind: pears", "kind: Input should be '"),
        (
            "expect:",
            "pairs:\n- {config: a, source: main}\n- {config: a, split: train, source: main}\nexpect:",
            "pairs: a/train occurs twice; give one of them another config or split",
        ),
        (
            "expect:",
            "extra_columns:\n  label: string\nexpect:",
            "extra_columns: 'label' is a column of every dataset; choose another name",
        ),
        (
            "expect:",
            "extra_columns:\n  target: string\nexpect:",
            "extra_columns: 'target' is not mapped; add it to the `columns` of a source",
        ),
    ],
)
def test_a_wrong_key_or_value_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert _error(tmp_path, TINY.replace(old, new)).startswith(f", {message}")


def test_an_optional_file_without_a_hash_says_why(tmp_path: Path) -> None:
    optional = TINY.replace(f"    sha256: {SHA256}\n", "    optional: true\n    note: never released\n")
    recipe = load_recipe(str(_write(tmp_path, optional)))
    assert recipe.sources["main"].sha256 is None
    assert recipe.sources["main"].note == "never released"


@pytest.mark.parametrize(
    ("name", "hint"),
    [("fc-conam", "did you mean 'fc-conan'? "), ("FC-CONAN", "did you mean 'fc-conan'? "), ("12345", "")],
)
def test_an_unknown_recipe_is_refused_and_the_nearest_named(name: str, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        load_recipe(name)
    assert str(caught.value) == f"unknown recipe {name!r}: {hint}known are {', '.join(recipe_names())}, or a .yaml file"


@pytest.mark.parametrize("name", ["none.yaml", "none.yml", "folder.yaml"])
def test_a_recipe_file_that_is_not_there_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.yaml").mkdir()
    with pytest.raises(InputError) as caught:
        load_recipe(str(tmp_path / name))
    assert str(caught.value) == (
        f"no recipe file at {tmp_path / name}: give a .yaml file, or one of {', '.join(recipe_names())}"
    )


def test_what_the_rules_allow_is_accepted(tmp_path: Path) -> None:
    more = (
        "pairs:\n- {config: a, source: main}\n- {config: a, split: test, source: main}\n- {config: b, source: main}\n"
        "expect_by_tier_rule:\n  strict:\n    rows: {pairs: {train: 1}}\n"
        "extra_columns:\n  target: string\n"
    )
    changed = TINY.replace("{hate_speech: hs}", "{hate_speech: hs, target: to}").replace("[en]", "[zu, 'no', nb]")
    recipe = load_recipe(str(_write(tmp_path, changed + more)))
    assert [(entry.config, entry.split) for entry in recipe.pairs] == [("a", "train"), ("a", "test"), ("b", "train")]
    assert recipe.expect_by_tier_rule["strict"].rows == {"pairs": {"train": 1}}
    assert recipe.extra_columns == {"target": "string"}
    assert recipe.languages == ["zu", "no", "nb"]


@pytest.mark.parametrize("name", ["pairs.csv", "folder/pairs", "./tiny", "tiny.yaml.bak"])
def test_a_path_that_is_no_recipe_file_is_refused(name: str) -> None:
    with pytest.raises(InputError) as caught:
        load_recipe(name)
    assert str(caught.value).startswith(f"unknown recipe {name!r}: ")
    assert str(caught.value).endswith(", or a .yaml file")


def test_the_words_of_a_recipe_are_those_of_modules_and_schemas() -> None:
    modules = {module.name for module in pkgutil.iter_modules(kinds.__path__)}
    assert set(get_args(Recipe.model_fields["kind"].annotation)) == modules
    assert get_args(Rater.model_fields["kind"].annotation) == RATER_KINDS
    assert (get_args(Agreement), get_args(TierName)) == (AGREEMENTS, TIERS)
