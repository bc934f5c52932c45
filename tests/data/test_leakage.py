"""Which messages are one message in other words, by hand on invented peoples."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from fcconan.data import LeakageIndex, leakage, message_codes, message_leakage_keys, simplify_text
from tests.kinship_table import code_table


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The place of a table of codes that takes that of the package's."""
    path = tmp_path / leakage.TABLE
    path.parent.mkdir(parents=True)
    monkeypatch.setattr(leakage, "content_folder", lambda: tmp_path)
    leakage._table.cache_clear()
    yield path
    leakage._table.cache_clear()


def sha(text: str) -> str:
    return hashlib.sha256(text.replace(" ", "").encode()).hexdigest()[:12]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Ombrey,  NEVER return\ta book!", "theombreyneverreturnabook"),
        ("the ombrey never-return a book", "theombreyneverreturnabook"),
        ("\uff34essok", "tessok"),  # a letter of full width
        (" ?! ", "?!"),  # no letter: the text itself
    ],
)
def test_letters_alone_tell_messages_apart(text: str, expected: str) -> None:
    assert simplify_text(text) == expected


def test_kin_of_a_message_without_a_code() -> None:
    found = message_leakage_keys("The Ombrey lie!", ["Do they?", "NA"])
    message, first, second = sha("the ombrey lie"), sha("do they"), sha("na")
    assert found == {f"hs:{message}", f"cn:{first}", f"cn:{second}", f"written:{first}", f"written:{second}"}


def test_a_code_or_a_judgement_says_that_a_shared_cn_tells_nothing() -> None:
    expected = {f"hs:{sha('the ombrey lie')}", f"cn:{sha('no')}"}
    assert message_leakage_keys("The Ombrey lie!", ["No."], judged=True) == expected
    assert message_leakage_keys("The Ombrey lie!", ["No."], codes=["zoo:7"]) == expected | {"code:zoo:7"}
    assert message_leakage_keys("", ["No."]) == {f"cn:{sha('no')}"}


def test_codes_of_rows() -> None:
    decoded = {
        "hs_code": "HS0033",
        "language": "fr",
        "subtopic_code": "ST0001",
        "source_id": "FRT1ST0001HS0033CN000021",
    }
    assert message_codes(decoded) == ("conan-fr:HS0033",)
    written = {"source_id": "ITT1ST0012HS0037CN001687P1"}
    assert message_codes(written) == ("conan-it:HS0037",)
    assert message_codes(written, judged=True) == ()  # the id of the CN that a message was combined with
    assert message_codes({"hs_code": "7", "source_id": "x"}, dataset="zoo") == ("zoo:7",)
    assert message_codes({"hs_code": 7}, dataset="mine.csv") == message_codes({"hs_code": "7"}, dataset="yours.jsonl")
    assert message_codes({"hs_code": None, "source_id": "12"}) == ()


def test_codes_are_known_from_the_text(table: Path) -> None:
    table.write_text(
        f"message,code\n{sha('the ombrey lie')},conan-en:HS0001\n{sha('the ombrey lie')},conan-fr:HS0002\n"
    )
    assert leakage.known_codes("the OMBREY lie...") == ("conan-en:HS0001", "conan-fr:HS0002")
    assert leakage.known_codes("The Ombrey lied.") == ()
    assert {"code:conan-en:HS0001", "code:conan-fr:HS0002"} <= message_leakage_keys("The Ombrey lie")


def test_the_table_follows_from_the_rows(table: Path) -> None:
    table.write_text("message,code\n")
    rows = [
        {"hate_speech": text, "counter_narrative": reply, "source_id": f"ENT1ST0001HS{code}CN000001{form}"}
        for text, reply, code, form in [
            ("The Ombrey lie", "Why?", "0001", ""),
            ("Ombrey are liars", "Why?", "0001", "P1"),
            ("The Tessok cheat", "Why?", "0002", ""),
            ("The Tessok cheat", "Since when?", "0002", ""),
        ]
    ]
    copies = [
        {"hate_speech": "the ombrey lie.", "counter_narrative": "Since when?"},  # known: no vote
        {"hate_speech": "The Tessok all cheat", "counter_narrative": "why"},  # one vote for 1, one for 2
        {"hate_speech": "The Tessok all cheat", "counter_narrative": "Since when?"},  # two for 2
        {"hate_speech": "The Dravene sing", "counter_narrative": "Let them"},  # no CN of the rows: no code
    ]
    expected = sorted(
        [
            f"{sha('the ombrey lie')},conan-en:HS0001",
            f"{sha('ombrey are liars')},conan-en:HS0001",
            f"{sha('the tessok cheat')},conan-en:HS0002",
            f"{sha('the tessok all cheat')},conan-en:HS0002",
        ]
    )
    assert code_table(rows, copies) == "\n".join(["message,code", *expected, ""])


def test_kin_by_codes() -> None:
    pairs = [
        message_leakage_keys("The Ombrey lie", ["Why?"], codes=["c:1"]),
        message_leakage_keys("Ombrey are liars", ["Why?"], codes=["c:1"]),
        message_leakage_keys("Liars, all Ombrey", ["Who says so?"], codes=["c:1"]),
        message_leakage_keys("The Tessok cheat", ["Why?"], codes=["c:2"]),  # a CN of the Ombrey's
        message_leakage_keys("The Tessok cheat", ["Not at cards."], codes=["c:2"]),
        message_leakage_keys("The Dravene sing", ["Well, too."], codes=["c:3"]),
    ]
    known = LeakageIndex(pairs)
    assert known.groups == (0, 0, 0, 1, 1, 2)
    assert known.of(message_leakage_keys("Liars all, Ombrey", ["Another CN"], codes=["c:1"])) == {0, 1, 2, 3}
    assert known.of(message_leakage_keys("The tessok cheat!", codes=["c:2"])) == {0, 1, 3, 4}
    assert known.of(message_leakage_keys("The Dravene sing", codes=["c:3"])) == {5}
    assert known.of(message_leakage_keys("The Quillish sweep", ["Well too"], codes=["c:4"])) == {5}  # its own CN
    assert known.of(message_leakage_keys("The Quillish sweep", codes=["c:4"])) == set()


def test_kin_is_handed_on_from_text_to_code_to_text() -> None:
    pairs = [
        message_leakage_keys("The Ombrey lie", ["a"], codes=["x:1"]),
        message_leakage_keys("The Ombrey lie", ["b"], codes=["y:9"]),
        message_leakage_keys("Ombrey are liars", ["c"], codes=["y:9"]),
        message_leakage_keys("The Tessok cheat", ["d"], codes=["y:8"]),
    ]
    assert LeakageIndex(pairs).groups == (0, 0, 0, 1)
    assert LeakageIndex(pairs).of(message_leakage_keys("What Ombrey say is false", codes=["x:1"])) == {0, 1, 2}


def test_without_codes_a_cn_that_people_wrote_for_both_makes_messages_one() -> None:
    pairs = [
        message_leakage_keys("The Ombrey lie", ["Why?"]),
        message_leakage_keys("Ombrey are liars", ["Why?"]),
        message_leakage_keys("Ombrey are liars", ["Who says so?"]),
        message_leakage_keys("The Tessok cheat", ["Not at cards."]),
    ]
    known = LeakageIndex(pairs)
    assert known.groups == (0, 0, 0, 1)
    assert known.of(message_leakage_keys("The Ombrey lie")) == {0, 1, 2}
    # One side has a code, the other one has none: the CN tells here, too.
    assert known.of(message_leakage_keys("What Ombrey say is false", ["Why?"], codes=["c:1"])) == {0, 1, 2}
    coded = [message_leakage_keys("Ombrey are liars", [reply], codes=["c:1"]) for reply in ("Why?", "Who says so?")]
    assert LeakageIndex(coded).of(message_leakage_keys("The Ombrey lie", ["Why?"])) == {0, 1}


def test_a_cn_that_was_judged_to_fit_two_messages_does_not_make_them_one() -> None:
    pairs = [
        message_leakage_keys("The Ombrey lie", ["Why?"], judged=True),
        message_leakage_keys("The Tessok cheat", ["Why?"], judged=True),
        message_leakage_keys("The Tessok cheat", ["Not at cards."], judged=True),
    ]
    known = LeakageIndex(pairs)
    assert known.groups == (0, 1, 1)
    assert known.of(message_leakage_keys("The Ombrey lie", ["Why?"], judged=True)) == {0, 1}


BOOKS, LATE = "The Ombrey never return books", "No Tessok is ever on time"


@pytest.mark.parametrize(
    ("message", "near"),
    [
        ("The Ombrey never returned a book", True),  # 19 of 23 and 27 runs of three letters: 19 of 31 are in both
        ("The Ombrey never return their books", True),  # 21 of 23 and 28: 21 of 30
        ("The Ombry never return books!", True),  # 20 of 23 and 22: 20 of 25
        ("The Ombrey never write books", False),  # 16 of 23 and 22: 16 of 29
        ("Books are never returned by the Ombrey", False),
        ("", False),
    ],
)
def test_a_message_of_which_two_thirds_are_the_same_is_kin(message: str, near: bool) -> None:
    def runs(text: str) -> set[str]:
        letters = "".join(each for each in text.lower() if each.isalpha())
        return {letters[place : place + 3] for place in range(len(letters) - 2)}

    both, either = runs(BOOKS) & runs(message), runs(BOOKS) | runs(message)
    assert near == (len(both) >= len(either) * 2 / 3)
    pairs = [
        message_leakage_keys(BOOKS, ["Why?"], codes=["c:1"]),
        message_leakage_keys(LATE, ["Who waits?"], codes=["c:2"]),
    ]
    known = LeakageIndex(pairs, [BOOKS, LATE])
    assert known.of(message_leakage_keys(message, codes=["c:9"]), message) == ({0} if near else set())
    assert known.of(message_leakage_keys(message, codes=["c:9"])) == set()
    both_asked = LeakageIndex(
        [*pairs, message_leakage_keys(message, ["Since when?"], codes=["c:9"])], [BOOKS, LATE, message]
    )
    assert both_asked.groups == ((0, 1, 0) if near else (0, 1, 2))


def test_near_copies_hand_kin_on_and_their_cns_with_them() -> None:
    messages = [BOOKS, "The Ombrey never return any books", "The Ombrey never ever return any books", LATE, LATE]
    pairs = [message_leakage_keys(text, [f"Reply {place}."]) for place, text in enumerate(messages)]
    pairs[4] = message_leakage_keys(LATE, ["Reply 1."], judged=True)
    known = LeakageIndex(pairs, messages)
    assert known.groups == (0, 0, 0, 1, 1)
    asked = "The Ombry never return books"
    assert known.of(message_leakage_keys(asked), asked) == {0, 1, 2, 4}
    assert LeakageIndex([], []).of(message_leakage_keys(asked), asked) == set()
    assert LeakageIndex(pairs[:1], [""]).of(message_leakage_keys("?"), "?") == set()
