"""Addresses: what is accepted, what is shown, and that no form of a secret is left in a text."""

import base64
import json
from html import escape
from pathlib import Path
from urllib.parse import quote

import pytest

from fcconan.data.addresses import (
    Address,
    environment_secrets,
    mask_secrets,
    parse_address,
    without_secrets,
)
from fcconan.errors import InputError

EXAMPLE = "https://api.example/v1"
USER, PASSWORD = "ombrey-user", "tarn-lamp-9"
KEY = 'sk-"tarn/lamps+9=\\x'


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("https://one.example/v1", Address("https://one.example/v1")),
        ("  http://One.example:8000/V1/ \n", Address("http://one.example:8000/V1")),
        ("http://my_service:80", Address("http://my_service:80")),
        ("http://[::1]:8000/v1", Address("http://[::1]:8000/v1")),
        ("http://[fe80::1%25eth0]/v1", Address("http://[fe80::1%25eth0]/v1")),
        ("http://bücher.example/v1", Address("http://bücher.example/v1")),
        ("http://one.example./v1", Address("http://one.example./v1")),
        ("http://u:p%40ss@one.example/v1", Address("http://one.example/v1", "u", "p@ss")),
        ("http://only-a-key@one.example/%40x", Address("http://one.example/%40x", "only-a-key", "")),
    ],
)
def test_an_address_is_split_into_the_part_that_may_be_shown_and_the_login(text: str, address: Address) -> None:
    assert parse_address(text, "--base-url", example=EXAMPLE) == address


@pytest.mark.parametrize(
    ("text", "shown", "problem"),
    [
        ("htp://U:P@host/v1", "htp://host/v1", "expected http:// or https:// at its start"),
        ("http:/U:P@host/v1", "http:/host/v1", "its host or port"),
        ("http:U:P@host/v1", "http:host/v1", "its host or port"),
        ("U:P@host/v1", "host/v1", "expected http:// or https:// at its start"),
        ("//U:P@host", "//host", "expected http:// or https:// at its start"),
        ("http://U:P@P@host", "http://host", "unescaped `@` or `:`"),
        ("http://U:P:P@host", "http://host", "unescaped `@` or `:`"),
        ("http://U:P@host:port/", "http://host:***", "its host or port is malformed"),
        ("http://U:P", "http://U:***", "its host or port is malformed"),
        ("http://U:P@host:99999/v1", "http://host:99999/v1", "its host or port is malformed"),
        ("http://U:P@host:0/v1", "http://host:0/v1", "its host or port"),
        ("http://U:x/P@host/v1", "http://host/v1", "its host or port is malformed"),
        ("http://U:12/P@host/v1", "http://host/v1", "an `@` after the host"),
        ("http://U:x#P@host/v1", "http://host/v1", "its host or port is malformed"),
        ("http://U:x?P@host/v1", "http://host/v1", "its host or port is malformed"),
        ("http://U%3AP%40host/v1", "http://host/v1", "its host or port"),
        ("http://U:P%40host/v1", "http://host/v1", "its host or port is malformed"),
        ("http://U:P\uff20host/v1", "http://host/v1", "its host or port is malformed"),
        ("http://U:P@ho\nst/v1", "http://ho\\nst/v1", "white space or control characters"),
        ("http://U:P@ho st/v1", "http://ho st/v1", "white space or control characters"),
        ("http://U:P@ho\u202est/v1", "http://ho\\u202est/v1", "white space or control characters"),
        ("http://U:P%0a@host", "http://host", "a control character"),
        ("http://U:P@exa_mple..com/v1", "http://exa_mple..com/v1", "its host or port"),
        ("http://a\u2024b\u0378.com", "http://a\u2024b\\u0378.com", "white space or control characters"),
        ("http://U:P@[::1/v1", "http://[::1/v1", "its host or port is malformed"),
        ("http://[::zz]/v1", "http://[::zz]/v1", "its"),
        ("http://U:P@host/v1?api_key=P", "http://host/v1?***", "it has a `?` or `#`"),
        ("http://host/v1#P", "http://host/v1#***", "it has a `?` or `#`"),
        ("http://", "http:", "its host or port"),
        ("P@", "", "expected http"),
        ("", "", "it is empty"),
    ],
)
def test_a_wrong_address_is_one_line_without_its_secrets(text: str, shown: str, problem: str) -> None:
    text = text.replace("U", USER).replace("P", PASSWORD)
    shown = shown.replace("U", USER)
    with pytest.raises(InputError) as caught:
        parse_address(text, "--base-url", example=EXAMPLE)
    said = str(caught.value)
    assert said.startswith(f"--base-url: '{shown}' is not an address (")
    assert problem in said
    assert (PASSWORD in said, "\n" in said) == (False, False)
    assert said.endswith(f"give one such as {EXAMPLE}")


@pytest.mark.parametrize(("user", "password"), [("u", "p"), ("u", "pé"), ("u", "p☃"), ("u", "")])
def test_the_login_becomes_the_header_of_rfc_7617_and_is_found_as_a_secret(user: str, password: str) -> None:
    text = f"http://{quote(user)}{':' if password else ''}{quote(password)}@host/v1"
    address = parse_address(text, "x", example=EXAMPLE)
    pair = f"{user}:{password}"
    encoded = base64.b64encode(pair.encode("utf-8" if "☃" in pair else "latin-1")).decode()
    assert address.authorization == f"Basic {encoded}"
    assert {encoded, password or user} <= set(address.secrets)
    assert address.with_login == text
    assert parse_address(address.with_login, "x", example=EXAMPLE) == address


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("at https://me:pw@x.org/y?sig=z ok", "at https://x.org/y?sig=*** ok"),
        ("at http://me:p/w@x.org:80, ok", "at http://x.org:80, ok"),
        ("at http://me:p@w@x.org/y", "at http://x.org/y"),
        ("at http:/me:pw@x.org/y", "at http:/x.org/y"),
        ("at http://me:pw%40x.org/y", "at http://x.org/y"),
        (r"at http:\/\/me:pw@x.org\/y", r"at http:\/\/x.org\/y"),
        ("'//me:pw@x.org'", "'//x.org'"),
        ("https://x.org/?api_key=abc&page=2&X-Token=d", "https://x.org/?api_key=***&page=2&X-Token=***"),
        # Not secrets:
        ("https://x.org/@ombrey/post and me@x.org", "https://x.org/@ombrey/post and me@x.org"),
        ("http://x.org:8000/@ombrey", "http://x.org:8000/@ombrey"),
        ("a//b and c@d", "a//b and c@d"),
        ("https://x.org/watch?v=abc", "https://x.org/watch?v=abc"),
    ],
)
def test_addresses_in_a_text_are_shown_without_logins_and_keys(text: str, shown: str) -> None:
    assert without_secrets(text) == shown


def _hex(text: str, form: str) -> str:
    return "".join(form.format(ord(character)) for character in text)


@pytest.mark.parametrize(
    "written",
    [
        KEY,
        json.dumps(KEY)[1:-1],
        json.dumps(json.dumps(KEY)[1:-1])[1:-1],
        KEY.replace("/", "\\/").replace('"', '\\"'),
        quote(KEY, safe=""),
        quote(KEY),
        quote(quote(KEY, safe=""), safe=""),
        _hex(KEY, "%{:02x}"),
        _hex(KEY, "\\u{:04x}"),
        _hex(KEY, "\\u{:04X}"),
        _hex(KEY, "\\\\u{:04x}"),
        _hex(KEY, "\\x{:02x}"),
        repr(KEY)[1:-1],
        escape(KEY),
        _hex(KEY, "&#x{:x};"),
        _hex(KEY, "&#X{:04X};"),
        "".join(f"&#{ord(each)};" for each in KEY),
    ],
)
def test_a_secret_is_masked_in_every_form(written: str) -> None:
    assert mask_secrets(f"a {written} b".encode(), [KEY]) == b"a *** b"
    assert without_secrets(f"a {written} b", [KEY]) == "a *** b"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32-be"])
def test_json_in_another_encoding_holds_no_secret_either(encoding: str) -> None:
    raw = mask_secrets(json.dumps({"a": "tarn-lamp-9"}).encode(encoding), ["tarn-lamp-9"])
    assert json.loads(raw) == {"a": "***"}


@pytest.mark.parametrize("secret", ["x", "none", "EMPTY", "sk-none"])
def test_a_short_key_is_a_word_and_stays(secret: str) -> None:
    assert (
        mask_secrets(f"there is none; EMPTY x {secret}".encode(), [secret])
        == f"there is none; EMPTY x {secret}".encode()
    )


def test_bytes_without_a_secret_are_the_same_object() -> None:
    raw = b'{"a": "\\u00e4 50% \xff"}'
    assert mask_secrets(raw, ["tarn-lamp-9"]) is raw


def test_the_secrets_of_the_environment_are_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in {
        "OPENAI_API_KEY": "key-of-openai",
        "MY_TOKEN": "my-own-token",
        "MY_PASSWORD": "short",
        "TOKENIZERS_PARALLELISM": "not-a-secret",
        "https_proxy": "http://me:proxy%40word@proxy.example",
        "HF_ENDPOINT": "https://hub-user-name@hub.example",
        "HF_HOME": str(tmp_path),
    }.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "token").write_text("hf_stored_token\n")
    found = environment_secrets()
    assert {"key-of-openai", "my-own-token", "proxy%40word", "proxy@word", "hub-user-name", "hf_stored_token"} <= set(
        found
    )
    assert not {"short", "not-a-secret"} & set(found)
