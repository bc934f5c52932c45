"""What counts as a quotation, at its limits."""

import pytest

from fcconan.build.quotations import quoted
from fcconan.publish.restricted import is_sentence

LONG = "The Ombrey never return a book to the library."  # nine words


@pytest.mark.parametrize(
    ("public", "text", "found"),
    [
        ("They say: ombrey NEVER return a book to the library!", LONG, True),  # eight of its words
        ("They say: never return a book to the library!", LONG, False),  # seven
        ("“Tessok cheat at **cards**”, they say.", "Tessok cheat at cards.", True),  # all four
        ("Tessok cheat daily.", "Tessok cheat daily.", False),  # three words may stand anywhere
        ("The Tessok cheat at cards.", "The Tessok cheat at cards, always.", False),  # not all of it
        ("Tessok cheat, at cards", "tessok\n cheat at\tcards", True),
        ("", LONG, False),
    ],
)
def test_eight_words_in_a_row_or_all_of_four_and_more(public: str, text: str, found: bool) -> None:
    assert quoted(public, ["Nobody knows the Velmari baker here at all.", text]) is found


def test_more_than_eight_words_are_a_sentence() -> None:
    assert [is_sentence(" ".join(["word"] * number)) for number in (8, 9)] == [False, True]
