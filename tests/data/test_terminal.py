"""Text for a terminal: what is written out, what stays, and the streams that do it."""

import io
import unicodedata

import pytest

from fcconan.data.terminal import Terminal, printable, printable_name


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


def _of(category: str) -> list[int]:
    return [number for number in range(0x110000) if unicodedata.category(chr(number)) == category]


def test_every_control_and_separator_of_unicode_is_written_out() -> None:
    left = {
        number for kind in ("Cc", "Zl", "Zp", "Cs") for number in _of(kind) if printable(chr(number)) == chr(number)
    }
    assert left == {ord("\t"), ord("\n")}


def test_every_format_character_is_written_out_but_for_visible_signs_of_scripts() -> None:
    left = [number for number in _of("Cf") if printable(chr(number)) == chr(number)]
    names = [unicodedata.name(chr(number)) for number in left]
    visible = ("ARABIC", "SYRIAC ABBREVIATION", "KAITHI", "EGYPTIAN")
    assert [name for name in names if not name.startswith(visible)] == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31mb", r"a\x1b[31mb"),
        ("\x9b31m", r"\x9b31m"),
        ("good\rbad", r"good\x0dbad"),
        ("one\r\ntwo\tthree", "one\ntwo\tthree"),
        ("a\u202eb\u2066c\u2069d", r"a\u202eb\u2066c\u2069d"),
        ("\u200e\u200f\u061c", r"\u200e\u200f\u061c"),
        ("a\u2028b\u2029c\x85d", r"a\u2028b\u2029c\x85d"),
        ("a\u200bb\u2060c\ufeffd\xade", r"a\u200bb\u2060c\ufeffd\xade"),
        ("a\U000e0041b", r"a\U000e0041b"),
        ("a\u3164b\u115fc\u034fd", r"a\u3164b\u115fc\u034fd"),
        ("sys\u200dtem \u200c", r"sys\u200dtem \u200c"),
        ("\u0645\u06cc\u200d\u200d\u0645", r"\u200d\u200d".join(("\u0645\u06cc", "\u0645"))),
        ("a\ud800", r"a\ud800"),
        # Text of people stays: Persian with a joiner, an emoji of three, a flag, accents, CJK, a narrow space.
        *(
            (text, text)
            for text in (
                "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
                "\U0001f469\u200d\U0001f52c",
                "\u2764\ufe0f",
                "e\u0301 ß 日本\u3000語 1\u202f000",
            )
        ),
    ],
)
def test_what_hides_or_acts_is_written_out_and_the_rest_stays(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert printable(shown) == shown
    stream = io.StringIO()
    print(text, file=Terminal(stream, ()))
    assert stream.getvalue() == shown + "\n"


def test_a_name_stays_on_its_line() -> None:
    assert printable_name("a\nb\tc\u202ed") == r"a\x0ab\x09c\u202ed"


def test_a_stream_masks_secrets() -> None:
    stream = io.StringIO()
    terminal = Terminal(stream, ["tarn-lamp-9"])
    terminal.writelines(["key tarn-lamp-9 ", "at http://me:pw@host/x\n"])
    assert stream.getvalue() == "key *** at http://host/x\n"
    assert terminal.cleaned("tarn-lamp-9\x1b") == r"***\x1b"


@pytest.mark.parametrize("name", ["buffer", "reconfigure", "detach"])
def test_there_is_no_way_around_a_stream(name: str) -> None:
    assert not hasattr(Terminal(io.TextIOWrapper(io.BytesIO()), ()), name)


@pytest.mark.parametrize(
    ("stream", "text", "shown"),
    [
        (Tty(), "\r 10%|\x1b#", "\r 10%|\\x1b#"),
        (Tty(), "\n\n\x1b[A\x1b[A", "\n\n\x1b[A\x1b[A"),
        (Tty(), "a\rb", "a\\x0db"),
        (Tty(), "x\x1b[A", "x\\x1b[A"),
        (io.StringIO(), "\r10%", "\\x0d10%"),
        (io.StringIO(), "\x1b[A", "\\x1b[A"),
    ],
)
def test_progress_bars_move_on_a_terminal_only(stream: io.StringIO, text: str, shown: str) -> None:
    assert Terminal(stream, ()).write(text) == len(text)
    assert stream.getvalue() == shown
