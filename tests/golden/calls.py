"""The calls of the record: the words of each command line, and the reader of its result."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from tests.golden import readers
from tests.golden.digests import dataset
from tests.golden.readers import Reader
from tests.golden.values import Row
from tests.golden.workplace import Workplace

KINDS = {
    "demo": "D10", "fc-conan": "D03", "cseval": "D05", "cn-ranking": "D06", "multi-aspect": "D07", "conan": "D08",
    "mt-conan": "D08", "kn-conan": "D08", "dialoconan": "D09",
}  # fmt: skip
UPSTREAM = tuple(KINDS)[1:]


class Call(NamedTuple):
    """One call. Calls of a part run in one process and folder."""

    name: str
    part: str
    run: Callable[[Workplace], Iterable[Row]]
    mirror: bool


CALLS: list[Call] = []


def add(name: str, part: str, run: Callable[[Workplace], Iterable[Row]]) -> None:
    """Adds a call that is a function; parts of upstream data start with `upstream`."""
    CALLS.append(Call(name, part, run, part.startswith("upstream")))


def command(name: str, part: str, line: str, read: Reader, *prepare: Callable[[Workplace], None]) -> None:
    """Adds a command; `@NAME` in its line is a dataset that is built."""

    def run(place: Workplace) -> Iterable[Row]:
        for each in prepare:
            each(place)
        return read(place.result(*place.words(line)), place)

    add(name, part, run)


def built(name: str, line: str, row: str) -> Callable[[Workplace], Iterable[Row]]:
    """Returns a call that builds a dataset folder by a command line and reads its columns."""

    def run(place: Workplace) -> Iterable[Row]:
        place.run(*place.words(line))
        return dataset(place / name, row)

    return run


# Datasets
for each, row in KINDS.items():
    add(
        f"build {each}",
        "demo data" if each == "demo" else "upstream data",
        built(each, f"build {each} --out {each}", row),
    )
for each, part in (("demo", "demo data"), ("fc-conan", "upstream data")):
    strict = f"build {each} --out {each}-strict --tier-rule strict"
    add(f"build {each} strict", part, built(f"{each}-strict", strict, "D04"))
    labels = f"build {each} --out {each}-labels --labels-only"
    add(f"build {each} labels-only", part, built(f"{each}-labels", labels, "D17"))
    hydrate = f"hydrate {each}-labels --out {each}-hydrated"
    add(f"hydrate {each}", part, built(f"{each}-hydrated", hydrate, "D17"))

# Retrieval
SYSTEMS = "--system tfidf --system bm25 --system sbert-minilm --system popularity --system longest"
OTHERS = {"random": "R25", "bm25-fast": "R27"}
LEARNED = {"supervised": "R04"}
SPARSE = "--no-cache --resamples 1000"
for each, start in (("demo", ""), ("fc-conan", "upstream ")):
    for protocol in ("sound", "paper"):
        line = f"bench @{each} {SYSTEMS} --protocol {protocol} {SPARSE}"
        command(f"bench {each} {protocol}", f"{start}bench {protocol}", line, readers.bench())
    line = f"bench @{each} --system bm25 --system popularity --system supervised --protocol cross-validated {SPARSE}"
    command(f"bench {each} cross-validated", f"{start}bench sound", line, readers.bench(LEARNED))
line = f"bench @demo --system tfidf --system bm25 --sparsity {SPARSE}"
command("bench demo sparsity", "demo bench sound", line, readers.bench())
line = f"bench @demo --system bm25 --system random --system bm25-fast {SPARSE}"
command("bench demo other systems", "demo bench paper", line, readers.bench(OTHERS))

# Scores
METRICS = {"bleu": "S20", "sacrebleu": "S20", "rouge": "S20", "meteor": "S20", "bert": "S22"}


def scored(place: Workplace) -> None:
    """Scores the demo by all metrics that need no model."""
    if not (place / "metrics.parquet").exists():
        place.run(*place.words("metrics @demo --out metrics.parquet"))


line = "metrics @demo --out metrics-demo.parquet"
command("metrics demo", "demo scores", line, readers.metrics(METRICS, "metrics-demo.parquet"))
command("correlate demo", "demo scores", "correlate @demo --resamples 1000", readers.correlate)
line = (
    "correlate @demo metrics.parquet --aspect relevance --rater rouge-l --rater simulated-judge --tests item "
    "--replies @demo --resamples 1000"
)
command("correlate demo tests", "demo scores", line, readers.correlate, scored)
line = "correlate @demo --coefficient pairwise_accuracy --coefficient pairwise_accuracy_calibrated --resamples 1000"
command("correlate demo pairwise accuracy", "demo scores", line, readers.correlate)
for each in ("ratings", "comparisons", "votes"):
    command(f"agree demo {each}", "demo scores", f"agree @demo --kind {each} --resamples 1000", readers.agree)
command("rank demo", "demo scores", "rank @demo --resamples 1000", readers.rank)
line = "rank @demo --filter rater_kind=human --majority --resamples 1000"
command("rank demo majority", "demo scores", line, readers.rank)
line = "rank @demo --between-raters bradley_terry --resamples 0"
command("rank demo between raters", "demo scores", line, readers.rank)
command("rank demo ratings", "demo scores", "leaderboard @demo --resamples 1000", readers.leaderboard)

CSEVAL, TEST = "upstream cseval", "--split test --resamples"
JUDGES = "--rater gpt-4 --rater rouge-l --aspect relevance"
line = "metrics @cseval --split dev --out metrics.parquet"
command("metrics cseval", CSEVAL, line, readers.metrics(METRICS, "metrics.parquet"))
command("correlate cseval", CSEVAL, f"correlate @cseval {TEST} 0", readers.correlate)
command("correlate cseval intervals", CSEVAL, f"correlate @cseval {TEST} 1000 {JUDGES} --tests item", readers.correlate)
line = f"correlate @cseval {TEST} 0 {JUDGES} --coefficient pairwise_accuracy --coefficient pairwise_accuracy_calibrated"
command("correlate cseval pairwise accuracy", CSEVAL, line, readers.correlate)
line = "correlate @cseval --split rankings --ranks preference_rank --resamples 1000"
command("correlate cseval ranks", CSEVAL, line, readers.correlate)
for each in ("agreement_round1", "agreement_round2"):
    command(f"agree cseval {each}", CSEVAL, f"agree @cseval --split {each} --resamples 1000", readers.agree)
line = f"leaderboard @cseval {TEST} 1000 --rater people --rater gpt-4"
command("rank cseval ratings", CSEVAL, line, readers.leaderboard)
line = f"judge audit --ratings @cseval/ratings/test-00000-of-00001.parquet --replies @cseval {TEST} 1000"
command("judge audit cseval", CSEVAL, line, readers.audit)

RANKING, VERDICTS = "upstream cn-ranking", "@cn-ranking/comparisons/{}-00000-of-00001.parquet"
for each in ("human", "human_majority", "judgelm"):
    command(f"rank cn-ranking {each}", RANKING, f"rank @cn-ranking --split {each} --resamples 1000", readers.rank)
for each in ("conan", "mt-conan"):
    line = f"rank @cn-ranking --split tournament --rater judgelm-33b --filter corpus={each} --resamples 1000"
    command(f"rank cn-ranking tournament {each}", RANKING, line, readers.rank)
line = "agree @cn-ranking --split human --kind comparisons --resamples 1000"
command("agree cn-ranking comparisons", RANKING, line, readers.agree)
line = "agree @cn-ranking --split features --kind ratings --resamples 1000"
command("agree cn-ranking ratings", RANKING, line, readers.agree)
command(
    "rank cn-ranking ratings", RANKING, "leaderboard @cn-ranking --split features --resamples 1000", readers.leaderboard
)
line = f"judge audit --comparisons {VERDICTS.format('human')} --comparisons {VERDICTS.format('judgelm')} "
line += "--replies @cn-ranking --split conan --resamples 1000"
command("judge audit cn-ranking", RANKING, line, readers.audit)
line = "metrics @cn-ranking --split conan --out metrics.parquet"
command("metrics cn-ranking", RANKING, line, readers.metrics(METRICS, "metrics.parquet"))

line = "agree @fc-conan --resamples 1000"
command("agree fc-conan", "upstream votes", line, readers.agree)
command("reproduce", "upstream reproduce", "reproduce --data-dir data", readers.reproduce)
