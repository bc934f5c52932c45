"""Messages: no user name, password or key, and no character that acts on a terminal."""

import pytest

from fcconan.data import one_line, printable, without_secrets


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("at https://me:pw@x.org/y?sig=z ok", "at https://***@x.org/y?sig=*** ok"),
        ("at http://me:p/w@x.org:80, ok", "at http://***@x.org:80, ok"),
        ("at http://me:p@w@x.org/y", "at http://***@x.org/y"),
        ("at http://only-a-key@x.org", "at http://***@x.org"),
        ("https://x.org/?api_key=abc&page=2&X-Token=d", "https://x.org/?api_key=***&page=2&X-Token=***"),
        ("Illegal header value b'Bearer tarn-lamp-9'", "Illegal header value b'Bearer ***'"),
        ("Incorrect key: sk-tarn_lamp-0123456789", "Incorrect key: ***"),
        ("the key moonlit-key of the environment", "the key *** of the environment"),
        # No secrets:
        ("https://x.org/@ombrey/post and me@x.org", "https://x.org/@ombrey/post and me@x.org"),
        ("http://x.org:8000/@ombrey", "http://x.org:8000/@ombrey"),
        ("fcconan:0.2|rank|data:rows.csv@1f2e3d4c5b6a", "fcconan:0.2|rank|data:rows.csv@1f2e3d4c5b6a"),
        ("https://x.org/watch?v=abc none", "https://x.org/watch?v=abc none"),
    ],
)
def test_secrets_are_masked(text: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "moonlit-key")
    monkeypatch.setenv("MY_TOKEN", "none")  # a word, which stays
    assert without_secrets(text) == shown


def test_an_error_is_one_short_line() -> None:
    assert one_line(ValueError("two\n  lines at http://me:pw@x.org")) == "two lines at http://***@x.org"
    assert (one_line(KeyError()), one_line("a" * 500, 10)) == ("KeyError", "a" * 10)


def test_characters_that_act_on_a_terminal_are_written_out() -> None:
    assert printable("a\x1b[31mb\rc\u202ed\u200be") == "a\\x1b[31mb\\rc\\u202ed\\u200be"
    assert printable("\tf é 日本\n1\u202f000") == "\tf é 日本\n1\u202f000"
