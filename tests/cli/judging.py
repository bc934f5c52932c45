"""A judge at a loopback endpoint: reads what `fcconan judge` shows it, and answers by counting words."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fcconan.judging import load_task
from tests.conftest import run_here
from tests.models.server import Action, Body, completion

ASPECTS = {aspect.title: aspect for aspect in load_task("cseval").aspects}


def recorded() -> str:
    """Writes the same answer for every reply to `recorded.csv`; returns the name of this model."""
    names = dict.fromkeys(aspect.name for task in ("cseval", "multi-aspect") for aspect in load_task(task).aspects)
    rows = "".join(f'{name},"{{""{name}"": 2}}"\n' for name in names)
    Path("recorded.csv").write_text(f"aspect,output\n{rows}", encoding="utf-8")
    return "replay:recorded.csv"


def texts_of(body: Body) -> dict[str, str]:
    """The texts that a request to rate shows, by their names."""
    content = body["messages"][-1]["content"]
    texts: dict[str, str] = json.JSONDecoder().raw_decode(content, content.index("Texts:\n") + len("Texts:\n"))[0]
    return texts


def aspect_of(body: Body) -> str:
    """The name of the aspect of `cseval` that a request asks about."""
    found = re.search(r"^Aspect: (.*)$", body["messages"][-1]["content"], re.MULTILINE)
    assert found is not None
    return ASPECTS[found[1]].name


def grade(text: str, aspect: str) -> int:
    """The grade that this judge gives: from the lowest to the highest, and round again with every further word."""
    return 1 + len(text.split()) % {each.name: each.high for each in ASPECTS.values()}[aspect]


def rated(body: Body) -> str:
    """The answer to a request to rate."""
    aspect = aspect_of(body)
    return json.dumps({aspect: grade(texts_of(body)["counter_narrative"], aspect)})


def longer(body: Body) -> str:
    """The answer to a request to compare: the reply with more words."""
    shown: dict[str, Any] = json.loads(body["messages"][-1]["content"])
    a, b = (len(shown[name].split()) for name in "ab")
    return json.dumps({"better": "a" if a > b else "b" if b > a else "tie"})


def judge(body: Body, number: int) -> Action:
    """The behaviour of the endpoint."""
    asked = body["messages"][-1]["content"]
    return Action(body=completion(body, rated(body) if "Texts:\n" in asked else longer(body)))


@dataclass(frozen=True)
class Done:
    """What came of a command."""

    status: int
    stdout: str
    stderr: str

    @property
    def complaint(self) -> str:
        """The one line of a command that was refused, without its beginning."""
        assert (self.status, self.stdout) == (2, ""), self
        assert self.stderr.startswith("fcconan: ") and self.stderr.count("\n") == 1, self
        return self.stderr.removeprefix("fcconan: ").removesuffix("\n")


def fcconan(*arguments: object) -> Done:
    """Runs the command line to its end in this process."""
    done = run_here(*arguments)
    return Done(done.returncode, done.stdout, done.stderr)
