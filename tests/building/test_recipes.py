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
# Messages name lines of this file, counted from 1: `card` stands on line 12, `sources` on 20, `expect` on 25.
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


def _write(folder: Path, content: str | bytes) -> Path:
    path = folder / "tiny.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def _error(folder: Path, content: str | bytes) -> str:
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
        ("summary:", "sumary:", ", line 4: unknown key 'sumary'; did you mean 'summary'? (and 1 more)"),
        ("citation:", "zzz: 1\ncitation:", ", line 11: unknown key 'zzz'; remove it"),
        ("  terms:", "  mis_use: x\n  terms:", ", line 19: unknown key 'card.mis_use'; did you mean 'misuse'?"),
        (
            "    columns:",
            "    colums: {}\n    columns:",
            ", line 24: unknown key 'sources.main.colums'; did you mean 'columns'?",
        ),
        (
            "expect:",
            "expect_by_tier_rule:\n  strict:\n    rows: {}\n    fact: {}\nexpect:",
            ", line 28: unknown key 'expect_by_tier_rule.strict.fact'; did you mean 'facts'?",
        ),
        ("  rows:", "  fact: {}\n  rows:", ", line 26: unknown key 'expect.fact'; did you mean 'facts'?"),
    ],
)
def test_an_unknown_key_is_named_with_its_line_and_the_nearest(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert _error(tmp_path, TINY.replace(old, new)) == message


@pytest.mark.parametrize(
    ("removed", "message"),
    [
        ("title: Tiny\n", ", line 1: title: Field required"),
        ("  uses: A test.\n", ", line 12: card.uses: Field required"),
        ("    path: main.csv\n", ", line 21: sources.main.path: Field required"),
        ("  rows:\n    pairs: {train: 2}\n", ", line 25: expect: Input should be a valid dictionary"),
    ],
)
def test_a_missing_key_is_named_with_the_line_of_its_block(tmp_path: Path, removed: str, message: str) -> None:
    assert _error(tmp_path, TINY.replace(removed, "")).startswith(message)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Tiny", "5", ", line 3: title: Input should be a valid string (found 5)"),
        (
            "languages: [en]",
            "languages: en",
            ", line 5: languages: expected a list, such as `languages: [en]` (found 'en')",
        ),
        (
            "[text-retrieval]",
            "[]",
            ", line 8: task_categories: List should have at least 1 item after validation, not 0",
        ),
        (
            "train: 2",
            "train: two",
            ", line 27: expect.rows.pairs.train: Input should be a valid integer, "
            "unable to parse string as an integer (found 'two')",
        ),
        (
            "name: tiny",
            "name: Tiny Set",
            ", line 1: name: String should match pattern '^[a-z0-9]+(-[a-z0-9]+)*$' (found 'Tiny Set')",
        ),
        (
            SHA256,
            "AB" * 32,
            f", line 23: sources.main.sha256: String should match pattern '^[0-9a-f]{{64}}$' (found '{'AB' * 32}')",
        ),
        (
            SHA256,
            SHA256[1:],
            f", line 23: sources.main.sha256: String should match pattern '^[0-9a-f]{{64}}$' (found '{SHA256[1:]}')",
        ),
        (
            f"    sha256: {SHA256}\n",
            "",
            ", line 21: sources.main: sha256 is missing: every file is pinned "
            "(an optional one may say in `note` why it is not)",
        ),
        (
            f"    sha256: {SHA256}\n",
            "    optional: true\n",
            ", line 21: sources.main: sha256 is missing: every file is pinned "
            "(an optional one may say in `note` why it is not)",
        ),
        (
            "    path:",
            "    repository: ombrey/books\n    path:",
            ", line 21: sources.main: repository and commit go together",
        ),
        (
            "    path:",
            "    repository: ombrey/books\n    commit: main\n    path:",
            ", line 23: sources.main.commit: String should match pattern '^[0-9a-f]{40}$' (found 'main')",
        ),
        *(
            (
                "[en]",
                f"[en, {code}]",
                f", line 5: languages.1: not a code of ISO 639-1, such as 'en' (found '{code}')",
            )
            for code in ("ombrey", "eng", "EN", "xx", "pt-BR")
        ),
        (
            "[en]",
            "\n- en\n- fr\n- enn",
            ", line 8: languages.2: not a code of ISO 639-1, such as 'en' (found 'enn')",
        ),
        ("[en]", "[no]", ", line 5: languages.0: Input should be a valid string (found False)"),  # YAML's `no`
        (
            "expect:",
            "pairs:\n- {config: a, source: main}\n- {config: a, split: train, source: main}\nexpect:",
            ", line 25: pairs: a/train occurs twice; give one of them another config or split",
        ),
        (
            "expect:",
            "extra_columns:\n  label: string\nexpect:",
            ", line 25: extra_columns: 'label' is a column of every dataset; choose another name",
        ),
        (
            "expect:",
            "extra_columns:\n  target: string\nexpect:",
            ", line 25: extra_columns: 'target' is not mapped; add it to the `columns` of a source",
        ),
        (
            "expect:",
            "extra_columns:\n  target: words\nexpect:",
            ", line 26: extra_columns.target: Input should be 'string', 'text', 'int' or 'float' (found 'words')",
        ),
    ],
)
def test_a_value_of_another_form_is_refused_with_its_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert _error(tmp_path, TINY.replace(old, new)) == message


@pytest.mark.parametrize(
    ("old", "new", "line", "where", "known"),
    [
        ("apache-2.0", "wtfpl", 7, "card_licence", "'cc-by-4.0'"),
        ("text-retrieval", "text-mining", 8, "task_categories.0", "'text-ranking'"),
        ("[machine-generated]", "[robots]", 9, "annotations_creators.0", "'crowdsourced'"),
        ("[expert-generated]", "[robots]", 10, "language_creators.0", "'found'"),
        ("kind: pairs", "kind: pears", 2, "kind", "'pairs'"),
    ],
)
def test_a_word_beside_the_vocabulary_is_refused(
    tmp_path: Path, old: str, new: str, line: int, where: str, known: str
) -> None:
    message = _error(tmp_path, TINY.replace(old, new))
    assert message.startswith(f", line {line}: {where}: Input should be '")
    assert known in message
    assert message.endswith(f"(found '{new.strip('[]').split()[-1]}')")


def test_an_optional_file_without_a_hash_says_why(tmp_path: Path) -> None:
    optional = TINY.replace(f"    sha256: {SHA256}\n", "    optional: true\n    note: never released\n")
    recipe = load_recipe(str(_write(tmp_path, optional)))
    assert recipe.sources["main"].sha256 is None
    assert recipe.sources["main"].note == "never released"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (TINY + "title: Again\n", ", line 28: key 'title' occurs twice; remove one of them"),
        (
            TINY.replace("  uses:", "  motivation: B\n  uses:"),
            ", line 16: key 'motivation' occurs twice; remove one of them",
        ),
        (
            TINY.replace("title: Tiny", "title: [Tiny"),
            ", line 4: not valid YAML (expected ',' or ']', but got ':'); correct the line",
        ),
        (
            TINY.replace("  uses:", "\tuses:"),
            ", line 16: not valid YAML (found character '\\t' that cannot start any token); correct the line",
        ),
        (
            TINY.replace("{train: 2}", "*nothing"),
            ", line 27: not valid YAML (found undefined alias 'nothing'); correct the line",
        ),
        ("", ", line 1: found no mapping, expected `key: value` lines at the top level"),
        ("- name: tiny\n", ", line 1: found no mapping, expected `key: value` lines at the top level"),
        ("tiny\n", ", line 1: found no mapping, expected `key: value` lines at the top level"),
        (
            "name: tiny\n---\nname: tiny\n",
            ", line 2: not valid YAML (but found another document); correct the line",
        ),
        (b"name: caf\xe9\n", ": byte 9 is not UTF-8; save the file as UTF-8"),
    ],
)
def test_what_is_no_yaml_mapping_is_refused_with_its_line(tmp_path: Path, content: str | bytes, message: str) -> None:
    assert _error(tmp_path, content) == message


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Tiny", "Ti\x07ny", ", line 3: not valid YAML (character U+0007 is not allowed); correct the line"),
        ("Tiny", "2025-13-01", ", line 3: '2025-13-01' is not a valid timestamp; put it in quotes if it is text"),
        ("Tiny", "!!int seven", ", line 3: 'seven' is not a valid int; put it in quotes if it is text"),
        ("Tiny", "!!bool maybe", ", line 3: 'maybe' is not a valid bool; put it in quotes if it is text"),
        (
            "Tiny",
            "!people x",
            ", line 3: not valid YAML (could not determine a constructor for the tag '!people'); correct the line",
        ),
        ("title:", "? [a]\n:", ", line 3: found a block as a key, expected a plain word"),
        ("[en]", "&a [*a]", ": nested too deeply, or an anchor that holds itself; write it out"),
    ],
)
def test_yaml_that_cannot_become_plain_data_is_refused_with_its_line(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert _error(tmp_path, TINY.replace(old, new)) == message


def test_a_byte_order_mark_and_crlf_are_accepted(tmp_path: Path) -> None:
    recipe = load_recipe(str(_write(tmp_path, "\ufeff" + TINY.replace("\n", "\r\n"))))
    assert recipe.title == "Tiny"


def test_anchors_are_followed_and_an_error_names_the_line_of_the_anchor(tmp_path: Path) -> None:
    second = f"  more:\n    path: more.csv\n    sha256: {SHA256}\n    columns: *shared\n"
    anchored = TINY.replace("columns: {", "columns: &shared {").replace("expect:\n", f"{second}expect:\n")
    recipe = load_recipe(str(_write(tmp_path, anchored)))
    assert recipe.sources["more"].columns == {"hate_speech": "hs"}
    assert _error(tmp_path, anchored.replace("hs}", "5}")) == (
        ", line 24: sources.main.columns.hate_speech: Input should be a valid string (found 5) (and 1 more)"
    )


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
