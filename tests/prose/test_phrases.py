"""Avoided phrases are in no file, except for the named exceptions."""

import pytest

from tests.prose.phrases import EXCEPTIONS, all_hits, find_hits
from tests.prose.texts import ROOT, Text, sentences


def test_no_file_has_an_avoided_phrase() -> None:
    found = [f"{hit.path}:{hit.line}: {hit.phrase!r} in ...{hit.excerpt}..." for hit in all_hits()]
    assert found == []


def test_exceptions_name_existing_files_and_a_reason() -> None:
    assert all((ROOT / path).exists() and reason for path, _, reason in EXCEPTIONS)


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("A file that is no folder.", ["is no X"]),
        ("There is no folder; it is no longer there.", []),
        ("Returns what was drawn.", ["what"]),
        ("What is it? Give what to do.", []),
        ("Lists who judged it.", []),
        ("The names of who judged it.", ["who judged it"]),
        ("See Figure 2; the figures differ.", ["figure"]),
    ],
)
def test_a_phrase_is_found_where_it_is_meant(text: str, phrases: list[str]) -> None:
    assert [hit.phrase for hit in find_hits(Text("a.md", 1, text))] == phrases


def test_descriptions_of_arguments_are_complete_phrases() -> None:
    text = "Draws.\n\n    Args:\n        seed: Of the draws.\n        folds: Number of folds.\n"
    assert [(hit.phrase, hit.line) for hit in find_hits(Text("a.py", 10, text, True))] == [("argument: Of", 13)]


def test_sentences_end_at_stops_items_and_cells() -> None:
    page = "One. Two is e.g. here: three\n\n- four\n- five\n\n| six | seven |\n\n```bash\nrun. This\n```\nEight!"
    assert sentences(page) == ["One.", "Two is e.g. here: three", "four", "five", "six", "seven", "Eight!"]
