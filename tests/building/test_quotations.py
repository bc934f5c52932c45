"""What counts as a quotation, at its limits."""

import pytest

from fcconan.building import find_quotation

LONG = "The Ombrey never return a book to the library."  # nine words


@pytest.mark.parametrize(
    ("public", "text", "found"),
    [
        ("They say: NEVER return a book to the library!", LONG, True),  # seven of its words
        ("They say that they never return a book to the school.", LONG, False),  # six
        ("“Tessok cheat at **cards**”, they say.", "Tessok cheat at cards.", True),  # all four
        ("The Tessok cheat at cards.", "The Tessok cheat at cards, always.", False),  # not all of it
        ("They say that Tessok cheat daily.", "Tessok cheat daily.", False),  # three words may be in any sentence
        ("They say:\n> Tessok cheat daily!\n", "Tessok cheat daily.", True),  # a clause of its own
        ("They say that tessok_cheat_daily.", "Tessok cheat daily.", True),
        ("See https://example.org/TessokCheatDaily.csv", "Tessok cheat daily.", True),
        ("| Ｔｅｓｓｏｋ cheat at\ncards |", "Tessok cheat at cards.", True),
        ("Evidence?", "Evidence.", False),  # one word
        ("", LONG, False),
    ],
)
def test_seven_words_in_a_row_or_all_of_a_shorter_text(public: str, text: str, found: bool) -> None:
    assert (find_quotation([public], ["The Velmari bake bread here.", text]) is not None) is found
