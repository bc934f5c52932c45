"""The calls of the record: command lines and functions, each with its reader."""

import hashlib
import json
import os
import shlex
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import yaml

import fcconan.data
from tests.golden import answers, campaigns
from tests.golden.digests import digest, rows_of, split_file
from tests.golden.readers import READERS
from tests.golden.values import Row
from tests.golden.workplace import Workplace
from tests.models.server import KEY, Action, Server, completion

TABLE = Path(__file__).with_name("calls.yaml")
MOST = 40  # different messages of a call; more have one digest
# Rows of SCOPE.md of messages, by what the command line contains.
MESSAGES = {
    "--logprobs": "J03", "judge rate": "J02", "judge compare": "J07", "judge calibrate": "J11", "judge rubric": "J15",
    "--decoding": "G07", "--examples": "G02", "--background": "G03", "generate": "G01", "embeddings": "R29",
    "bench": "R30",
}  # fmt: skip


class Call(NamedTuple):
    """One call. Calls of a part run in one process and folder."""

    name: str
    part: str
    run: Callable[[Workplace], Iterable[Row]]

    @property
    def mirror(self) -> bool:
        """Whether the call reads upstream files."""
        return self.part.startswith("upstream")


def command(line: str, place: Workplace) -> Iterator[Row]:
    """Runs a command line and reads its result."""
    words = place.words(line)
    found = place.result(*words) if "hydrate" not in words and "build" not in words else place.run(*words)
    yield from _reader(words)(found, place, words)


def _reader(words: list[str]) -> Any:
    return READERS[words[0] if words[0] in READERS else " ".join(words[:2])]


def messages(line: str, place: Workplace) -> Iterator[Row]:
    """Runs a command line against a stub of an endpoint; yields the hashes of the messages that the stub receives."""
    words = place.words(line)
    store = place / f"answers-{hashlib.sha256(line.encode()).hexdigest()[:12]}"
    settings = {"OPENAI_API_KEY": KEY, "NO_PROXY": "127.0.0.1", "FCCONAN_CACHE": str(store)}
    with Server(_said) as server, mock.patch.dict(os.environ, settings):
        found = place.result(*words, "--base-url", server.url)
    row = next(row for part, row in MESSAGES.items() if part in line)
    hashes = sorted({_hash(body["messages"]) for body in server.bodies if "messages" in body})
    yield Row("different messages", {}, len(hashes), row)
    for each in hashes if len(hashes) <= MOST else [digest(hashes)]:
        yield Row("messages", {"sha256": each}, "sent", row)
    if row == "G07":
        fields = ("temperature", "top_p", "max_tokens")
        yield from (Row(field, {}, server.bodies[0].get(field), row) for field in fields)
    yield from (each._replace(row=row) for each in _reader(words)(found, place, words))


def _said(body: dict[str, Any], _: int) -> Action:
    answer = answers.ANSWERS.get(body["model"])
    text = answer(body) if callable(answer) else answer
    whole = text and completion(body, text)
    if whole and body.get("logprobs"):
        others = [{"token": str(grade), "logprob": -0.5 * grade} for grade in (2, 3, 4)]
        whole["choices"][0]["logprobs"] = {"content": [{**others[0], "top_logprobs": others}]}
    return Action(body=whole)


def _hash(sent: list[dict[str, str]]) -> str:
    shown = [{"role": each["role"], "content": each["content"]} for each in sent]
    return hashlib.sha256(json.dumps(shown, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:16]


def leakage(place: Workplace, name: str, config: str, split: str) -> Iterator[Row]:
    """Groups the messages of a split by leakage."""
    rows = rows_of(split_file(place / place.dataset(name), config, split))
    groups = fcconan.data.leakage_groups([row.get("hate_speech") or row["text"] for row in rows]).tolist()
    yield Row("leakage groups", {}, len({*groups}), "D22")
    yield Row("digest of leakage groups", {}, digest(groups), "D22")


FUNCTIONS: dict[str, Callable[..., Iterable[Row]]] = {
    "campaign": campaigns.of_the_demo, "leakage": leakage, "queued": campaigns.queued, "released": answers.released,
    "replayed": campaigns.replayed_votes, "sampled": campaigns.sampled, "simulated": campaigns.simulated,
}  # fmt: skip


def function(line: str, place: Workplace) -> Iterable[Row]:
    """Runs a function of this module by a line `:NAME ARGUMENT ...`."""
    name, *arguments = shlex.split(line.removeprefix(":"))
    return FUNCTIONS[name](place, *arguments)


def calls() -> Iterator[Call]:
    """Yields the calls of the table."""
    for part, lines in yaml.safe_load(TABLE.read_text(encoding="utf-8")).items():
        for name, line in lines.items():
            run = function if line.startswith(":") else messages if name.startswith("messages") else command
            yield Call(name, part, partial(run, line))


CALLS = [*calls()]
