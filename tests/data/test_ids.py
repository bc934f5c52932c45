import hashlib

import pytest
from hypothesis import given, strategies as st

from fcconan.data import ids as identity


def test_ids_are_the_head_of_the_sha256_of_the_normalised_text() -> None:
    expected = hashlib.sha256(b"The Ombrey sing.").hexdigest()[:12]
    assert identity.make_hs_id("  The Ombrey\n\t sing. ") == f"hs-{expected}"
    assert identity.make_cn_id("The Ombrey sing.") == f"cn-{expected}"
    assert identity.make_pair_id("hs-1", "cn-2") == "hs-1:cn-2"


def test_normalisation_composes_and_folds_white_space_only() -> None:
    assert identity.normalise("O\u0308ryn\u00a0 sang\u2003twice") == "\u00d6ryn sang twice"
    assert identity.normalise("ÖRYN") == "ÖRYN"
    assert identity.NORMALISATION_VERSION == 1


@given(st.text())
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = identity.normalise(text)
    assert identity.normalise(once) == once
    assert identity.make_hs_id(once) == identity.make_hs_id(text)


def test_an_item_does_not_depend_on_the_order_of_its_references() -> None:
    assert identity.make_item_id("hs-1", ["cn-b", "cn-a"]) == identity.make_item_id("hs-1", ["cn-a", "cn-b"])
    assert identity.make_item_id("hs-1", ["cn-a"]) != identity.make_item_id("hs-1", [])
    assert identity.make_item_id("hs-1", ["cn-a"]) != identity.make_item_id("hs-2", ["cn-a"])


def test_replies_differ_by_item_system_text_and_record() -> None:
    ids = {
        identity.make_reply_id("it-1", "a", "text"),
        identity.make_reply_id("it-2", "a", "text"),
        identity.make_reply_id("it-1", "b", "text"),
        identity.make_reply_id("it-1", "a", "other"),
        identity.make_reply_id("it-1", "a", "text", "record"),
    }
    assert len(ids) == 5
    assert identity.make_reply_id("it-1", "a", " text ") == identity.make_reply_id("it-1", "a", "text")


@pytest.mark.parametrize(
    ("text", "blank"),
    [
        ("", True),
        (None, True),
        (" \t\n\u00a0\u2028", True),
        ("\u200b\u2060\ufeff\u00ad\u200e\u202e", True),
        ("\u200ba", False),
        (".", False),
        ("\U0001f600\ufe0f", False),
        ("\u0301", False),  # an accent alone is drawn on a dotted circle
    ],
)
def test_a_text_without_visible_characters_is_blank(text: str | None, blank: bool) -> None:
    assert identity.is_blank(text) is blank
