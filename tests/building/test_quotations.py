"""What counts as a quotation, at its limits."""

import pytest

from fcconan.building import Texts

LONG = "The Ombrey never return a book to the library."  # nine words


@pytest.mark.parametrize(
    ("public", "text", "found"),
    [
        ("They say: ombrey NEVER return a book to the library!", LONG, True),  # eight of its words
        ("They say: never return a book to the library!", LONG, False),  # seven
        ("“Tessok cheat at **cards**”, they say.", "Tessok cheat at cards.", True),  # all four
        ("They say that Tessok cheat daily.", "Tessok cheat daily.", False),  # three words may be in any sentence
        ("They say:\n> Tessok cheat daily!\n", "Tessok cheat daily.", True),  # a line of its own
        ("They say tessok_cheat_daily.", "Tessok cheat daily.", True),
        ("They say tessok%20cheat&nbsp;at\\u0020cards.", "Tessok cheat at cards.", True),
        ("They say tessok%20cheat%20at%20cards.", "Tessok cheat at cards.", True),
        ("They say tessok&nbsp;cheat&nbsp;at&nbsp;cards.", "Tessok cheat at cards.", True),
        ("They say tessok\\u0020cheat\\u0020at\\u0020cards.", "Tessok cheat at cards.", True),
        ("They say te\u200bssok\u2060cheat\u00adatcards.", "Tessok cheat at cards.", True),
        ("| Ｔｅｓｓｏｋ+cheat+at+cards |", "Tessok cheat at cards.", True),
        ("The Tessok cheat at cards.", "The Tessok cheat at cards, always.", False),  # not all of it
        ("Tessok cheat, at cards", "tessok\n cheat at\tcards", True),
        ("", LONG, False),
    ],
)
def test_eight_words_in_a_row_or_all_of_four_and_more(public: str, text: str, found: bool) -> None:
    assert Texts(["Nobody knows the Velmari baker here at all.", text]).quoted_in(public) is found
