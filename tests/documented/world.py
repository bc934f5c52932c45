"""What the pages take for granted: endpoints and models that answer, files of the reader, and what cannot be run."""

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from fcconan.data import recipe_names
from tests.conftest import MIRROR
from tests.models.server import Action, Body, completion, embeddings
from tests.models.tiny_chat import tiny_chat
from tests.retrieval.tiny import tiny_bart, tiny_bert

ENDPOINT = "http://127.0.0.1:8000/v1"  # as pages write it
MODEL = "path/to/model"
REPLIES = (
    "Which of them did you ask?",
    "The library counts its books every year, and none was missing.",
    "My neighbours helped us with the roof before we had even asked.",
    "Nobody chooses where they are born; judge what people do.",
)
HS = "The Ombrey never return a book.\nEvery Tessok cheats at cards.\nThe Dravene ruin each feast.\n"
CNS = "Which of them did you ask?\nThe library counts its books every year.\nThey cooked for the last feast.\n"
# What pages call the reader's own files, where they only say what is in them.
FILES: Mapping[str, Mapping[str, str]] = {
    "docs/campaigns.md": {
        "hs.txt": HS,
        "cns.txt": CNS,
        "cns.csv": "counter_narrative\n" + CNS,
        "pairs.csv": "hate_speech,counter_narrative\nThe Ombrey never return a book.,Which of them did you ask?\n",
        "quiz.csv": "hate_speech,text,relevance,coherence,aggressiveness,suitableness\n"
        "No Tessok ever laughs.,Mine told the joke that I tell now.,5,5,1,3\n",
    },
}
# What stands on this machine under the names that models have on the Hub: a folder goes before the Hub.
ON_THE_HUB = ("microsoft/DialoGPT-medium", "mistralai/Mistral-7B-v0.1", "MingZhong/unieval-dialog")
# What is added to a line, so that tiny models do what large ones would, without a GPU and in seconds.
ADDED: Mapping[str, Sequence[str]] = {
    r" --preset pairwise-qlora ": ("--preset", "pairwise-lora", "--learning-rate", "1e-4", "--max-steps", "1"),
    r" --preset dialogpt ": ("--max-steps", "1"),
}
# Lines that are parsed only where FCCONAN_MIRROR is not set: the demo cannot stand in for what they read.
OF_UPSTREAM = (
    r"^fcconan reproduce\b",
    r" --corpus conan ",
    r"^fcconan correlate (?:cseval|mistralai)",
    r"^fcconan finetune data/conan/en/",
)
# Lines that take minutes; `make check` parses them, and `make check-all` runs them.
LONG = (r"^fcconan reproduce\b",)
PAIRS = 60  # of the datasets of upstream that models are tuned on, of 5003 and 14979
_UPSTREAM = "|".join(name for name in recipe_names() if name != "demo")
_BUILDS_UPSTREAM = re.compile(rf"\bfcconan build (?:{_UPSTREAM}) ")


def parsed_only(line: str, *, long: bool) -> bool:
    """Returns whether a command is parsed, with all its options, and not run."""
    patterns = (*(() if long else LONG), *(() if os.environ.get("FCCONAN_MIRROR") else OF_UPSTREAM))
    return any(re.search(pattern, line) for pattern in patterns)


def stand_in(line: str) -> str:
    """Returns a command as it is run where upstream's files are not there: the demo is built in the place of others."""
    return line if os.environ.get("FCCONAN_MIRROR") else _BUILDS_UPSTREAM.sub("fcconan build demo ", line)


def added(line: str) -> list[str]:
    """Returns the options that are added to a command."""
    return [word for pattern, words in ADDED.items() if re.search(pattern, line) for word in words]


def fewer_pairs(folder: Path) -> None:
    """Leaves the first pairs of a dataset's training part, which is then trained on in seconds."""
    for path in folder.glob("*/train-*.parquet"):
        pq.write_table(pq.read_table(path)[:PAIRS], path)


def answer(body: Body, number: int) -> Action:
    """The behaviour of the endpoint: a value of the form that the request asks for, or a reply in prose."""
    if "input" in body:
        return Action(body=embeddings(body))
    asked = json.dumps(body["messages"])
    wanted = body.get("response_format")
    named = re.findall(r'\{"(\w+)": GRADE\}', asked.replace("\\", ""))
    if wanted:
        text = json.dumps(_value(wanted["json_schema"]["schema"], asked))
    elif named:  # a prompt of the page's own, which says in words what it wants
        text = json.dumps({named[-1]: 1 + _draw(asked, 5)})
    else:
        text = REPLIES[_draw(asked, len(REPLIES))]
    return Action(body=completion(body, text))


def _draw(asked: str, choices: int) -> int:
    return int.from_bytes(hashlib.sha256(asked.encode()).digest()[:4]) % choices


def _value(schema: Mapping[str, Any], asked: str) -> Any:
    """Returns a value that a schema allows, drawn by what was asked."""
    if "enum" in schema:
        return schema["enum"][_draw(asked, len(schema["enum"]))]
    match schema.get("type"):
        case "object":
            return {name: _value(each, f"{asked}/{name}") for name, each in schema["properties"].items()}
        case "array":
            return [_value(schema["items"], f"{asked}/{place}") for place in range(schema.get("minItems", 2))]
        case "integer" | "number":
            low, high = schema.get("minimum", 1), schema.get("maximum", 5)
            return low + _draw(asked, int(high - low) + 1)
        case "string":
            return f"Weigh what the reply answers, part {_draw(asked, 100)}."
    raise AssertionError(f"a schema that this endpoint does not know: {schema}")


def prepare(page: str, text: str, folder: Path, model: Callable[[], Path]) -> None:
    """Puts into a folder what a page calls the reader's own, and tiny models in the place of those it names."""
    if MODEL in text:
        place = folder / MODEL
        place.parent.mkdir(parents=True)
        place.symlink_to(model())
    for name in ON_THE_HUB:
        if f"-model {name} " in text:
            tiny_chat(folder / name)
        if f"--unieval {name} " in text:
            tiny_bart(folder / name, tiny_bert(folder / "tiny-bert"))
    for name, content in FILES.get(page, {}).items():
        (folder / name).write_text(content, encoding="utf-8")
    if MIRROR is not None:
        for path in Path(MIRROR).glob("AmeyHengle/cs-eval/predictions/*.csv"):
            if path.name in text:
                (folder / path.name).symlink_to(path)
