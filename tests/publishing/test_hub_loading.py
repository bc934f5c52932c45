"""Loading from the Hub with `load_dataset`: by name, at a tag, streaming, and with restricted access."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import small
from tests.publishing.hub import OWNER, READER, Hub, connect, environment, publish

pytestmark = pytest.mark.long

# One process for all: `datasets` takes seconds to import and reads the Hub's address once.
LOAD = """
import json, sys
from datasets import disable_progress_bars, load_dataset
disable_progress_bars()
first, owner, reader = sys.argv[1:]
out = {}
gold = load_dataset("my-name/small", "gold", split="test", streaming=True)
out["streamed"] = list(gold)
out["now"] = load_dataset("my-name/ratings", "ratings", split="test").to_list()
out["then"] = load_dataset("my-name/ratings", "ratings", split="test", revision=first).to_list()
for name, who, token, streaming in (
    # Unauthorised readers come first, because loaded files are in a cache that all share.
    ("private", "nobody", False, True),
    ("private", "reader", reader, False),
    ("gated", "nobody", False, False),
    ("gated", "nobody", False, True),
    ("private", "owner", owner, True),
    ("gated", "owner", owner, True),
    ("gated", "reader", reader, False),
):
    try:
        rows = load_dataset(f"my-name/{name}", "replies", split="test", token=token, streaming=streaming)
        said = next(iter(rows))["text"]
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    out.setdefault(f"{name} {who}", []).append(said)
print(json.dumps(out))
"""


@pytest.fixture(scope="module")
def loaded(server: Hub, built: Path, _no_downloads: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    server.reset()
    home = tmp_path_factory.mktemp("readers")

    def rated(*values: float | None) -> Path:
        rows = [
            {"reply_id": f"re-{number}", "rater": "judge", "aspect": "tone", "value": value}
            for number, value in enumerate(values)
        ]
        path = home / "ratings.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    replies = home / "replies.jsonl"
    replies.write_text(json.dumps({"reply_id": "re-1", "system": "a", "text": small.CN[0]}) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        connect(patch, server)
        patch.setenv("FCCONAN_CACHE", str(_no_downloads))
        patch.setattr("fcconan.publishing.checks.check_loading", lambda contents: None)
        publish(built / "labels", "my-name/small")
        first = publish(rated(1, 2), "my-name/ratings")
        publish(rated(1, None, 3), "my-name/ratings")
        publish(replies, "my-name/private", may_redistribute=True, private=True)
        publish(replies, "my-name/gated", may_redistribute=True, gated="manual")
    server.repos["my-name/gated"].readers.add("a-reader")
    done = subprocess.run(
        [sys.executable, "-c", LOAD, first.plan.tag, OWNER, READER],
        env=environment(server, home / "hub", token=None),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Ignoring" not in done.stderr, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_a_tag_loads_the_older_content(loaded: dict[str, Any]) -> None:
    row = {"reply_id": "re-0", "rater": "judge", "aspect": "tone", "value": 1.0}
    assert loaded["then"] == [row, row | {"reply_id": "re-1", "value": 2.0}]
    assert loaded["now"] == [
        row,
        row | {"reply_id": "re-1", "value": None},
        row | {"reply_id": "re-2", "value": 3.0},
    ]


def test_streaming_loads_the_rows_without_text(loaded: dict[str, Any]) -> None:
    assert len({row["pair_id"] for row in loaded["streamed"]}) == len(loaded["streamed"]) == small.ROWS["gold"]
    assert not {"hate_speech", "counter_narrative"} & loaded["streamed"][0].keys()


def test_private_and_gated_datasets_load_for_authorised_readers_only(loaded: dict[str, Any]) -> None:
    for who in ("private owner", "gated owner", "gated reader"):
        assert loaded[who] == [small.CN[0]]
    for who in ("private nobody", "private reader", "gated nobody"):
        for said in loaded[who]:
            assert said.split(":")[0] in ("DatasetNotFoundError", "RepositoryNotFoundError")
            assert ("is a gated dataset" in said) == ("gated" in who)
    assert len(loaded["gated nobody"]) == 2
