"""`fcconan judge rate` with the released outputs of Llama 3, from an endpoint and from a file: the ratings are
those that a direct parse of the outputs gives.
"""

import csv
import json
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from fcconan.data.files import read_rows
from fcconan.parsing import Parsed, parse_rating
from tests.cli.judging import aspect_of, texts_of
from tests.conftest import RunCli
from tests.models.server import Body, Server, says, use_key
from tests.upstream import oracle

pytestmark = pytest.mark.upstream

FILE = "AmeyHengle/cs-eval/predictions/human_eval/meta-llama-Llama-3-8b-chat-hf.csv"
KEYS = {
    "relevance": "Relevance",
    "coherence": "Argument Coherence",
    "aggressiveness": "Aggressiveness",
    "suitableness": "Choose or Not",
}
REPLIES, FEWER = 310, 120  # the file has all; fewer go through the endpoint
Key = tuple[str, str, str]


@pytest.fixture
def file(mirror: Path) -> Path:
    return mirror / FILE


@pytest.fixture
def outputs(file: Path) -> dict[Key, str]:
    """The raw outputs, by HS, CS and aspect, in the order in which a judge gives its ratings."""
    rows = oracle.read_csv(file)
    found = {
        (row["hatespeech"], row["predicted_counterspeech"], aspect): row[
            f"prediction_meta-llama/Llama-3-8b-chat-hf_{aspect}_score"
        ]
        for row in rows
        for aspect in KEYS
    }
    assert (len(rows), len(found)) == (REPLIES, 4 * REPLIES)
    return found


def parsed(outputs: dict[Key, str]) -> list[Parsed]:
    return [
        parse_rating(output, scale=(1, 3 if aspect == "suitableness" else 5), key=KEYS[aspect])
        for (_, _, aspect), output in outputs.items()
    ]


def check(ratings: Path, outputs: dict[Key, str], rater: str) -> None:
    rows = list(read_rows(ratings))
    direct = parsed(outputs)
    assert [row["aspect"] for row in rows] == [aspect for _, _, aspect in outputs]
    assert [(row["value"], row["reason"]) for row in rows] == [(each.value, each.reason) for each in direct]
    assert {row["rater"] for row in rows} == {rater}
    assert len({row["reply_id"] for row in rows}) == len(outputs) / len(KEYS)


def test_a_direct_parse_reads_the_released_outputs(outputs: dict[Key, str], file: Path) -> None:
    """Against the numbers that upstream's rule took out of them: -1 for none, and 1 for the 1 of a numbered list."""
    direct = parsed(outputs)
    assert Counter(each.reason for each in direct) == {None: 1212, "refusal": 22, "unreadable": 6}
    theirs = [
        float(row[f"prediction_meta-llama/Llama-3-8b-chat-hf_{aspect}_score_cleaned"])
        for row in oracle.read_csv(file)
        for aspect in KEYS
    ]
    both = list(zip(theirs, direct, strict=True))
    assert [each.value for each in direct if each.value is not None] == [
        number for number, each in both if each.value is not None
    ]
    assert Counter(number for number, each in both if each.value is None) == {-1.0: 23, 1.0: 5}


@pytest.mark.long
def test_an_endpoint_that_says_them_gives_the_same_ratings_at_any_concurrency(
    outputs: dict[Key, str], file: Path, run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_key(monkeypatch)

    def recorded(body: Body) -> str:
        texts = texts_of(body)
        return outputs[texts["hate_speech"], texts["counter_narrative"], aspect_of(body)]

    written = []
    first = dict(islice(outputs.items(), FEWER * len(KEYS)))
    with Server(says(recorded)) as server:
        for concurrency in (1, 32):
            out, summary = (tmp_path / f"{concurrency}.{suffix}" for suffix in ("parquet", "json"))
            done = run_cli(
                *("judge", "rate", file, "--rename", "text=predicted_counterspeech", "--rename"),
                *("references=counterspeech", "--task", "cseval", "--model", "llama", "--base-url", server.url),
                *("--response-cache", tmp_path / f"journal-{concurrency}", "--concurrency", concurrency),
                *("--out", out, "--json", summary, "--limit", FEWER),
            )
            assert (done.returncode, done.stderr) == (0, "")
            check(out, first, "llama:rubric")
            written.append((out.read_bytes(), json.loads(summary.read_text(encoding="utf-8"))["rows"]))
            assert len(server.requests) == len(first)
            server.requests.clear()
    assert written[0] == written[1]


def test_a_file_that_says_them_gives_the_same_ratings(
    outputs: dict[Key, str], file: Path, run_cli: RunCli, tmp_path: Path
) -> None:
    recorded = tmp_path / "llama.csv"
    with recorded.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["hate_speech", "counter_narrative", "aspect", "output"])
        writer.writerows([*key, output] for key, output in outputs.items())
    out = tmp_path / "ratings.parquet"
    done = run_cli(
        *("judge", "rate", file, "--rename", "text=predicted_counterspeech", "--task", "cseval"),
        *("--model", f"replay:{recorded}", "--out", out),
    )
    assert (done.returncode, done.stderr) == (0, "")
    check(out, outputs, "replay:llama:rubric")
