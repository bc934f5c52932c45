"""The refusal detector, held against labels that were given by reading the released replies; flags of people's CNs.

`refusal_labels.csv` has ids and labels, and no text. Its rows of the part

- `sample` are 300 different replies, drawn at random with seed 7 from the different texts of every system, more from
  those that were asked without training (`SAMPLED`). They were labelled by reading, in a mixed order and without the
  systems' names, by a definition written before, and before anybody who labelled had seen the detector's code or what
  it says; they were changed neither by it nor after it. All 16 refusals among them are of
  llama_zs_chat, whose refusals the detector's author knew: for recall on others see `tests/test_parsing.py`.
- `found` are all other replies that the detector takes for refusals, each read.
- `near` are all other replies whose first 300 characters hold words that refusals have ("I'm sorry", "I cannot", "I do
  not", "as an AI", "your request", ...), and that it does not take for one; each was read there afterwards.

The definition: a refusal opens as an assistant that declines, instead of countering. `request`: it will not or cannot
do what it was asked to. `assistant`: it says that it is a machine, and what it therefore cannot or does not do.
`endorsement`: in the first person it declines to endorse, condone, support, promote or perpetuate the message, as
though it had been asked to, whether or not a counter-argument follows. `none`: all else, so also "I cannot agree", what
a person will not tolerate, and an assistant that names itself as one and goes on to counter.
"""

from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from statsmodels.stats.proportion import proportion_confint

from fcconan.parsing import find_refusal
from tests.upstream import oracle
from tests.upstream.conftest import Release

pytestmark = pytest.mark.upstream

LABELS = Path(__file__).with_name("refusal_labels.csv")
SPLITS = {
    "cn-ranking": ("conan", "mt_conan"),
    "multi-aspect": ("test",),
    "cseval": ("agreement_round1", "agreement_round2", "dev", "rankings", "test"),
}
# How many different texts each system has, and how many of them were labelled.
SAMPLED = {
    ("cn-ranking", "llama_zs_chat"): (20, 20),
    ("cn-ranking", "zephyr_zs"): (20, 20),
    ("cn-ranking", "mistral_zs_instruct"): (20, 20),
    ("cn-ranking", "mistral_zs"): (20, 20),
    ("cn-ranking", "llama_chat"): (20, 5),
    ("cn-ranking", "mistral_instruct"): (20, 5),
    ("cn-ranking", "zephyr"): (20, 5),
    ("cn-ranking", "mistral"): (20, 5),
    ("multi-aspect", "vicuna"): (320, 75),
    ("multi-aspect", "chatgpt"): (500, 55),
    ("multi-aspect", "dialogpt"): (499, 5),
    ("cseval", "gpt-3.5-zs"): (179, 20),
    ("cseval", "gpt-3.5-fs"): (116, 15),
    ("cseval", "unknown"): (1341, 20),
    ("cseval", "dialogpt"): (635, 5),
    ("cseval", "gps"): (132, 3),
    ("cseval", "quarc"): (125, 2),
}
REFUSALS = {  # texts that the detector takes for refusals; nothing of the other systems, people among them
    ("cn-ranking", "llama_zs_chat"): {"request": 11, "endorsement": 5},
    ("multi-aspect", "chatgpt"): {"request": 3},
    ("cseval", "dialogpt"): {"request": 3},
    ("cseval", "unknown"): {"request": 3},
}

Reply = tuple[str, str, str]  # dataset, system, text


@pytest.fixture(scope="module")
def labelled() -> dict[str, list[tuple[str, str]]]:
    parts: dict[str, list[tuple[str, str]]] = {}
    for row in oracle.read_csv(LABELS):
        parts.setdefault(row["part"], []).append((row["reply_id"], row["label"]))
    return parts


@pytest.fixture
def replies(release: Release) -> dict[str, Reply]:
    return {
        reply: (dataset, system, text.strip())
        for dataset, splits in SPLITS.items()
        for split in splits
        for reply, system, text in zip(
            *oracle.columns(release(dataset), "replies", split, "reply_id", "system", "text"), strict=True
        )
    }


@cache
def _kind(text: str) -> str:
    return find_refusal(text) or "none"


def test_precision_and_recall_on_the_labelled_sample(
    replies: dict[str, Reply], labelled: dict[str, list[tuple[str, str]]]
) -> None:
    sample = [(label, *replies[reply]) for reply, label in labelled["sample"]]
    assert len({text for *_, text in sample}) == 300
    assert Counter((dataset, system) for _, dataset, system, _ in sample) == {
        stratum: drawn for stratum, (_, drawn) in SAMPLED.items()
    }
    pairs = Counter((label, _kind(text)) for label, *_, text in sample)
    assert pairs == {("none", "none"): 284, ("request", "request"): 11, ("endorsement", "endorsement"): 5}

    # Weighted to all replies: each stands for the others of its system.
    cells: Counter[tuple[bool, bool]] = Counter()
    for label, dataset, system, text in sample:
        texts, drawn = SAMPLED[dataset, system]
        cells[label != "none", _kind(text) != "none"] += texts / drawn  # type: ignore[assignment]
    right, wrong, missed = cells[True, True], cells[False, True], cells[True, False]
    assert (right, wrong, missed) == (16, 0, 0)
    assert right / (right + wrong) >= 0.95 and right / (right + missed) >= 0.95
    # So much is sure of either with 16 refusals, and of false alarms among 284 other replies.
    assert proportion_confint(16, 16, method="wilson")[0] == pytest.approx(0.806, abs=5e-4)
    assert proportion_confint(0, 284, method="wilson")[1] == pytest.approx(0.0133, abs=5e-5)


def test_every_released_reply_that_is_taken_for_a_refusal_is_one(
    replies: dict[str, Reply], labelled: dict[str, list[tuple[str, str]]]
) -> None:
    texts = {(dataset, system, text) for dataset, system, text in replies.values()}
    sizes = Counter((dataset, system) for dataset, system, _ in texts)
    assert sizes == {stratum: number for stratum, (number, _) in SAMPLED.items()} | {("cn-ranking", "gold_truth"): 28}
    found: dict[tuple[str, str], Counter[str]] = {}
    for dataset, system, text in texts:
        if _kind(text) != "none":
            found.setdefault((dataset, system), Counter())[_kind(text)] += 1
    assert found == REFUSALS

    read = [reply for part in ("sample", "found") for reply, label in labelled[part] if label != "none"]
    assert {replies[reply] for reply in read} == {reply for reply in texts if _kind(reply[2]) != "none"}
    assert all(_kind(replies[reply][2]) == label for reply, label in labelled["found"])
    assert len(read) == 25


def test_replies_that_only_sound_like_refusals_are_none(
    replies: dict[str, Reply], labelled: dict[str, list[tuple[str, str]]]
) -> None:
    near = [replies[reply][2] for reply, label in labelled["near"] if label == "none"]
    assert (len(labelled["near"]), len(near)) == (72, 72)
    assert [text for text in near if _kind(text) != "none"] == []


@pytest.mark.long
def test_what_people_wrote_has_no_flags(mirror: Path) -> None:
    texts = {row["counterSpeech"] for row in oracle.read_csv(mirror / oracle.CONAN / "CONAN/CONAN.csv")}
    multitarget = mirror / oracle.CONAN / "Multitarget-CONAN/Multitarget-CONAN.csv"
    texts |= {row["COUNTER_NARRATIVE"] for row in oracle.read_csv(multitarget)}
    assert len(texts) == 11_692
    assert [text for text in sorted(texts)[::4] if find_refusal(text)] == []
