"""Loading from the Hub with `load_dataset`: by name, at a tag, streaming, and with restricted access."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fcconan import publish
from tests import small
from tests.publishing.hub import OWNER, READER, Hub, connect, environment

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
out["now"] = list(load_dataset("my-name/small", "train", split="train")["cn_id"])
out["then"] = list(load_dataset("my-name/small", "train", split="train", revision=first)["cn_id"])
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
        rows = load_dataset(f"my-name/{name}", "gold", split="test", token=token, streaming=streaming)
        said = next(iter(rows))["counter_narrative"]
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    out.setdefault(f"{name} {who}", []).append(said)
print(json.dumps(out))
"""


@pytest.fixture(scope="module")
def loaded(server: Hub, built: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    server.reset()
    home = tmp_path_factory.mktemp("readers")

    with pytest.MonkeyPatch.context() as patch:
        connect(patch, server)
        first = publish(str(built / "other"), "my-name/small")
        publish(str(built / "labels"), "my-name/small")
        publish(str(built / "full"), "my-name/private", may_redistribute=True, private=True)
        publish(str(built / "full"), "my-name/gated", may_redistribute=True, gated="manual")
    server.repos["my-name/gated"].readers.add("a-reader")
    done = subprocess.run(
        [sys.executable, "-c", LOAD, first.identity["tag"], OWNER, READER],
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
    now, then = loaded["now"], loaded["then"]
    assert len(now) == len(then) == 2
    assert [a == b for a, b in zip(now, then, strict=True)].count(False) == 1


def test_streaming_loads_the_rows_without_text(loaded: dict[str, Any]) -> None:
    assert len({row["pair_id"] for row in loaded["streamed"]}) == len(loaded["streamed"]) == small.ROWS["gold"]
    assert not {"hate_speech", "counter_narrative"} & loaded["streamed"][0].keys()


def test_private_and_gated_datasets_load_for_authorised_readers_only(loaded: dict[str, Any]) -> None:
    for who in ("private owner", "gated owner", "gated reader"):
        assert loaded[who][0] in small.CN
    for who in ("private nobody", "private reader", "gated nobody"):
        for said in loaded[who]:
            assert said.split(":")[0] in ("DatasetNotFoundError", "RepositoryNotFoundError")
            assert ("is a gated dataset" in said) == ("gated" in who)
    assert len(loaded["gated nobody"]) == 2
