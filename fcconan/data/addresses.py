"""Addresses of endpoints, proxies and hubs: one parser, and one form without secrets for display."""

import base64
import ipaddress
import json
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from html.entities import codepoint2name
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from fcconan.errors import InputError

OPENAI_URL = "https://api.openai.com/v1"
HUB = "https://huggingface.co"
MASK = "***"
SHORTEST_SECRET = 8  # characters; a shorter key is a word such as `none`, which may occur in any text

_SEPARATORS = "@＠﹫"  # the last two become `@` where an address is normalised
_HOST = re.compile(r"[\w-]+(?:\.[\w-]+)*\.?")  # an underscore as in names of local services
_SECRET_VARIABLE = re.compile(r"(?:^|_)(?:API_?KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
_ADDRESS_VARIABLES = ("OPENAI_BASE_URL", "FCCONAN_RAW_URL", "HF_ENDPOINT")
# The user name of an address ends at its last `@`. A password may hold an unescaped slash; a port may not.
_USER = re.compile(
    r"(:(?:\\?/){1,2}|(?<![:\w])//)(?:[^\s/?#'\"<>]*|[^\s/?#'\"<>]*:(?!\d{1,5}[/?#])[^\s'\"<>]*)(?:[@＠﹫]|%40)",
    re.IGNORECASE,
)
_SECRET_PARAMETER = re.compile(
    r"([?&;#][\w.-]*(?:key|token|secret|sig|signature|passw(?:or)?d|pwd|auth|credentials?)=)[^\s&;#'\"<>]+",
    re.IGNORECASE,
)
_WELL_KNOWN_KEY = re.compile(r"\b(?:sk|pk|hf|gsk|xai|ghp|glpat)[-_][\w-]{16,}")


@dataclass(frozen=True)
class Address:
    """An http or https address.

    Attributes:
        url: The address without user name and password, for connections, messages and records.
        user: The user name, decoded; None for an address without one.
        password: The password, decoded.
    """

    url: str
    user: str | None = field(default=None, repr=False)
    password: str = field(default="", repr=False)

    @property
    def with_login(self) -> str:
        """The address with user name and password, for libraries that accept them in no other way."""
        if self.user is None:
            return self.url
        login = quote(self.user, safe="") + (f":{quote(self.password, safe='')}" if self.password else "")
        return self.url.replace("://", f"://{login}@", 1)

    @property
    def authorization(self) -> str | None:
        """The header that carries user name and password (RFC 7617); None for an address without them."""
        if self.user is None:
            return None
        pair = f"{self.user}:{self.password}"
        encoding = "latin-1" if all(ord(each) < 256 for each in pair) else "utf-8"  # latin-1 as in aiohttp and requests
        return f"Basic {base64.b64encode(pair.encode(encoding)).decode()}"

    @property
    def secrets(self) -> tuple[str, ...]:
        """Strings that must not appear in any output."""
        if self.user is None or self.authorization is None:
            return ()
        pair = self.authorization.removeprefix("Basic ")
        return (pair, f"{self.user}:{self.password}", self.password) if self.password else (pair, self.user)


def parse_address(text: str, name: str, *, example: str) -> Address:
    """Parses an address that a user gave.

    Args:
        text: The address. White space around it and slashes at its end are ignored.
        name: The option or variable that holds it, for messages.
        example: A valid address, for messages.

    Raises:
        InputError: The address is not valid. The message contains no secret of it.
    """
    text = text.strip().rstrip("/")
    problem = _problem(text)
    if problem is not None:
        raise InputError(f"{name}: {display_address(text)!r} is not an address ({problem}): give one such as {example}")
    parts = urlsplit(text)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    place = host if parts.port is None else f"{host}:{parts.port}"
    user = None if parts.username is None else unquote(parts.username)
    return Address(urlunsplit((parts.scheme, place, parts.path, "", "")), user, unquote(parts.password or ""))


def endpoint_address(base_url: str | None) -> Address:
    """Returns the address of an OpenAI-compatible endpoint: the given one, `$OPENAI_BASE_URL`, or that of OpenAI.

    Raises:
        InputError: The address is not valid.
    """
    name = "--base-url" if base_url else "OPENAI_BASE_URL"
    given = base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL
    return parse_address(given, name, example=OPENAI_URL)


def hub_address() -> Address:
    """Returns the address of the Hugging Face Hub: `$HF_ENDPOINT`, or the public one.

    Raises:
        InputError: The value of the variable is not a valid address.
    """
    return parse_address(os.environ.get("HF_ENDPOINT") or HUB, "HF_ENDPOINT", example=HUB)


def display_address(text: str) -> str:
    """Returns an address, valid or not, without user name, password, query and fragment.

    The user name ends at the last `@`, also at one that is percent-encoded. Without any, a port that is not a number
    may be a password.
    """
    scheme = re.match(r"https?:/*|[a-z][\w+.-]*:/+|//", text, re.IGNORECASE)
    start = scheme[0] if scheme else ""
    rest = re.split(f"[{_SEPARATORS}]|%40", text[len(start) :], flags=re.IGNORECASE)[-1]
    rest, mark, _ = re.match(r"([^?#]*)([?#]?)(.*)", rest, re.DOTALL).groups()  # type: ignore[union-attr]
    place, slash, path = rest.partition("/")
    if not place.startswith("["):
        host, colon, port = place.partition(":")
        place = host + colon + (port if port.isdecimal() else MASK if port else "")
    return _WELL_KNOWN_KEY.sub(MASK, start + place + slash + path) + (mark + MASK if mark else "")


def _problem(text: str) -> str | None:
    """Returns the fault of an address without quoting any part of it; None for a valid address."""
    if not text or any(character.isspace() or not character.isprintable() for character in text):
        return "it is empty, or has white space or control characters"
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
        is_host = bool(ipaddress.IPv6Address(host) if ":" in host else _HOST.fullmatch(host))
    except ValueError:
        return "its host or port is malformed"
    if parts.scheme not in ("http", "https"):
        return "expected http:// or https:// at its start"
    if not is_host or port == 0:
        return "its host or port is malformed or missing"
    if "?" in text or "#" in text:
        return "it has a `?` or `#`"
    if any(each in parts.path for each in _SEPARATORS):
        return "it has an `@` after the host; write %40 in a path, and %2F for a slash in a password"
    user = parts.netloc.rpartition("@")[0]
    if "@" in user or user.count(":") > 1 or not unquote(user).isprintable():
        return "its user name or password has an unescaped `@` or `:`, or a control character; write %40 or %3A"
    return None


def environment_secrets() -> tuple[str, ...]:
    """Returns the keys, tokens and passwords of the environment and the stored token of the Hub, longest first."""
    found = {value.strip() for name, value in os.environ.items() if _SECRET_VARIABLE.search(name)}
    home = os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface"
    with suppress(OSError, ValueError):
        found.add(Path(os.environ.get("HF_TOKEN_PATH") or Path(home, "token")).read_text(encoding="utf-8").strip())
    for name, text in os.environ.items():
        if name not in _ADDRESS_VARIABLES and not name.lower().endswith("_proxy"):
            continue
        user = re.search(r"//([^\s/]*)@", text)
        if user is not None:
            _, _, password = user[1].partition(":")
            found |= {password, unquote(password)} if password else {user[1]}
    return tuple(sorted((each for each in found if len(each) >= SHORTEST_SECRET), key=len, reverse=True))


def without_secrets(text: str, secrets: Iterable[str] = ()) -> str:
    """Returns a text without the given secrets and without user names, passwords and keys in its addresses.

    Args:
        text: Any text, such as the message of a library's error.
        secrets: Keys, tokens and passwords, which are masked in each form that `mask_secrets` knows.
    """
    if "//" in text or "@" in text or "=" in text:
        text = _SECRET_PARAMETER.sub(rf"\1{MASK}", _USER.sub(r"\1", text))
    given = text.encode("utf-8", "surrogatepass")
    found = mask_secrets(given, secrets)
    return text if found is given else found.decode("utf-8", "surrogatepass")


def one_line(error: object, most: int = 200) -> str:
    """Returns the text of an error on one line, short and without secrets; its type where it has no text."""
    text = " ".join(without_secrets(str(error), environment_secrets()).split())
    return text[:most] or type(error).__name__


def mask_secrets(raw: bytes, secrets: Iterable[str]) -> bytes:
    """Returns external bytes with `***` in place of every secret of at least 8 characters.

    A secret is found as it is, escaped as in JSON or Python (once or several times), percent-encoded, and as in HTML.

    Args:
        raw: The body of a response, or any text in UTF-8. JSON in UTF-16 or UTF-32 becomes UTF-8.
        secrets: Keys, tokens and passwords.
    """
    known = [each for each in secrets if len(each) >= SHORTEST_SECRET]
    if not known:
        return raw
    if b"\0" in raw:  # valid JSON in UTF-8 has none
        raw = raw.decode(json.detect_encoding(raw), "replace").encode("utf-8", "replace")
    may_be_escaped = b"\\" in raw or b"%" in raw or b"&" in raw
    for secret in known:
        literal = secret.encode("utf-8", "surrogateescape")
        if literal in raw:
            raw = raw.replace(literal, MASK.encode())
        if may_be_escaped:
            raw = _escaped(secret).sub(MASK.encode(), raw)
    return raw


@lru_cache(maxsize=64)
def _escaped(secret: str) -> re.Pattern[bytes]:
    return re.compile(b"".join(_forms(character) for character in secret))


def _forms(character: str) -> bytes:
    """Returns a pattern of the forms in which a character is written."""
    plain = character.encode("utf-8", "surrogateescape")
    wide = character.encode("utf-16-be", "surrogatepass")
    units = [wide[at : at + 2].hex() for at in range(0, len(wide), 2)]
    forms = [
        "".join(f"(?i:%(?:25)*{byte:02x})" for byte in plain).encode(),
        "".join(rf"(?i:\\+u{unit})" for unit in units).encode(),
        "".join(rf"(?i:\\+x{byte:02x})" for byte in plain).encode(),
    ]
    number = ord(character)
    forms += [rf"&#0*{number};".encode(), rf"(?i:&#x0*{number:x};)".encode()]
    name = "apos" if character == "'" else codepoint2name.get(number)  # HTML 4 has no `apos`
    if name is not None:
        forms.append(f"&{name};".encode())
    if len(units) == 1 and units[0] < "0100":
        forms.append(rf"(?i:\\+x{units[0][2:]})".encode())
    if character in "\"'\\/":
        forms.append(rb"\\+" + re.escape(plain))
    forms.append(re.escape(plain))  # last, because a backslash may begin one of the others
    return b"(?:" + b"|".join(forms) + b")"
