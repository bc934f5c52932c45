"""The table `annotations/generation/kin/conan.csv`: how it follows from the upstream files."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from fcconan.data import message_codes, short_hash, simplify_text


def code_table(rows: Iterable[Mapping[str, Any]], copies: Iterable[Mapping[str, Any]]) -> str:
    """Returns the table of the package: a hash and a code on every line.

    Args:
        rows: Those of all parts of `conan`.
        copies: Pairs of CONAN without its ids, in some of whose messages mistakes were mended (`conan-pairs` of
            `cn-ranking`). Such a message has the code under which its CNs stand most often in CONAN.
    """
    codes: dict[str, set[str]] = defaultdict(set)
    of_reply: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        codes[simplify_text(row["hate_speech"])].update(message_codes(row))
        of_reply[simplify_text(row["counter_narrative"])].update(message_codes(row))
    votes: dict[str, Counter[str]] = defaultdict(Counter)
    for row in copies:
        message = simplify_text(row["hate_speech"])
        if message not in codes:
            votes[message].update(of_reply.get(simplify_text(row["counter_narrative"]), ()))
    for message, counts in votes.items():
        most = max(counts.values(), default=0)
        codes[message] = {code for code, count in counts.items() if count == most}
    lines = {f"{short_hash(message)},{code}" for message, found in codes.items() for code in found}
    return "\n".join(("message,code", *sorted(lines), ""))
