"""The parts of the golden record: which commands run, and what of their outputs is recorded."""

from collections.abc import Callable
from typing import Any, NamedTuple

from tests.golden.annotation import replayed_votes, whole_campaign
from tests.golden.judging import judged
from tests.golden.tables import dataset, digest, tables
from tests.golden.workplace import Workplace

Outputs = dict[str, Any]
UPSTREAM = ("fc-conan", "cseval", "cn-ranking", "multi-aspect", "conan", "mt-conan", "kn-conan", "dialoconan")


class Part(NamedTuple):
    """One part: how its outputs are computed, and whether it reads upstream files."""

    compute: Callable[[Workplace], Outputs]
    mirror: bool = False


def _systems(*names: str) -> list[str]:
    return [part for name in names for part in ("--system", name)]


def demo_data(place: Workplace) -> Outputs:
    """The demo dataset, its labels-only folder, and what hydration makes of that."""
    demo = place.dataset("demo")
    place.run("build", "demo", "--out", "demo-strict", "--tier-rule", "strict")
    place.run("build", "demo", "--out", "demo-labels", "--labels-only")
    place.run("hydrate", "demo-labels", "--out", "demo-hydrated")
    full, hydrated = dataset(place / demo), dataset(place / "demo-hydrated")
    unequal = [name for name in full["tables"] if hydrated["tables"].get(name) != full["tables"][name]]
    return {
        "full": full,
        "strict tables": tables(place / "demo-strict"),
        "labels-only": dataset(place / "demo-labels"),
        "hydrated": {
            "tables_unlike_the_full_build": unequal,
            "manifest_equal": hydrated["manifest"] == full["manifest"],
        },
    }


def demo_bench(place: Workplace) -> Outputs:
    """Retrieval under both protocols."""
    command = ("bench", place.dataset("demo"), *_systems("random", "tfidf", "bm25", "bm25-fast", "sbert-minilm"))
    options = ("--no-cache", "--resamples", "1000")
    return {protocol: place.result(*command, *options, "--protocol", protocol) for protocol in ("sound", "paper")}


def demo_scores(place: Workplace) -> Outputs:
    """Scores of judges, systems and raters."""
    demo, fewer = place.dataset("demo"), ("--resamples", "1000")
    human = ("--filter", "rater_kind=human")
    outputs = {"metrics": place.result("metrics", demo, "--out", "metrics.parquet")}
    outputs["metrics rows"] = digest(place / "metrics.parquet", digits=10)
    correlate = ("correlate", demo, "metrics.parquet", "--aspect", "relevance", "--replies", demo, "--resamples", "200")
    pair = ("--rater", "rouge-l", "--rater", "simulated-judge", "--tests", "item")
    more = ("--error-metrics", "--partial", "length")
    return outputs | {
        "rank": place.result("rank", demo, *fewer),
        "rank by majority": place.result("rank", demo, *human, "--majority", *fewer),
        "rank at equal length": place.result("rank", demo, "--length-control", "--replies", demo, *fewer),
        "rank between raters": place.result("rank", demo, "--between-raters", "bradley_terry", "--resamples", "200"),
        "correlate": place.result("correlate", demo, "--resamples", "500"),
        "correlate with tests": place.result(*correlate, *pair, *more),
        "agree on ratings": place.result("agree", demo, "--kind", "ratings", *fewer),
        "agree on comparisons": place.result("agree", demo, "--kind", "comparisons", *fewer),
        "agree on votes": place.result("agree", demo, "--kind", "votes", *fewer),
        "leaderboard": place.result("leaderboard", demo, *fewer),
    }


def upstream_data(place: Workplace) -> Outputs:
    """Every recipe of upstream files, and the labels-only folder of the one with tiers."""
    outputs = {name: dataset(place / place.dataset(name)) for name in UPSTREAM}
    place.run("build", "fc-conan", "--out", "fc-conan-strict", "--tier-rule", "strict")
    place.run("build", "fc-conan", "--out", "fc-conan-labels", "--labels-only")
    outputs["fc-conan strict tables"] = tables(place / "fc-conan-strict")
    outputs["fc-conan labels-only tables"] = tables(place / "fc-conan-labels")
    return outputs


def fc_conan_bench(protocol: str) -> Callable[[Workplace], Outputs]:
    """Retrieval on FC-CONAN by the systems that run offline."""

    def compute(place: Workplace) -> Outputs:
        systems = _systems("random", "tfidf", "bm25", "bm25-fast", "sbert-minilm", "pair-propagation", "minilm+bm25")
        options = ("--protocol", protocol, "--no-cache", "--resamples", "1000")
        return {protocol: place.result("bench", place.dataset("fc-conan"), *systems, *options)}

    return compute


def cseval(place: Workplace) -> Outputs:
    """Judges and metrics against people on CSEval's released replies."""
    folder, test, some = place.dataset("cseval"), ("--split", "test"), ("--resamples", "200")
    judges = ("--rater", "gpt-4", "--rater", "rouge-l", "--aspect", "relevance")
    outputs = {"metrics": place.result("metrics", folder, "--split", "dev", "--out", "metrics.parquet")}
    outputs["metrics rows"] = digest(place / "metrics.parquet", digits=10)
    ratings = f"{folder}/ratings/test-00000-of-00001.parquet"
    outputs["audit"] = place.result("judge", "audit", "--ratings", ratings, "--replies", folder, *test, *some)
    rounds = {
        f"agree {name}": ("agree", folder, "--split", name, *some) for name in ("agreement_round1", "agreement_round2")
    }
    return outputs | {
        "correlate": place.result("correlate", folder, *test, "--resamples", "0"),
        "correlate with intervals": place.result("correlate", folder, *test, *judges, *some),
        "correlate with tests": place.result("correlate", folder, *test, *judges, *some, "--tests", "item"),
        "leaderboard": place.result("leaderboard", folder, *test, "--rater", "people", "--rater", "gpt-4", *some),
        **{name: place.result(*command) for name, command in rounds.items()},
    }


def cn_ranking(place: Workplace) -> Outputs:
    """Tournaments of people and of JudgeLM, and their agreement."""
    folder, some = place.dataset("cn-ranking"), ("--resamples", "1000")
    human = f"{folder}/comparisons/human-00000-of-00001.parquet"
    judge = f"{folder}/comparisons/judgelm-00000-of-00001.parquet"
    outputs = {
        f"rank {split}": place.result("rank", folder, "--split", split, *some)
        for split in ("human", "human_majority", "judgelm")
    }
    for corpus in ("conan", "mt-conan"):
        chosen = (
            "--split",
            "tournament",
            "--rater",
            "judgelm-33b",
            "--filter",
            f"corpus={corpus}",
            "--resamples",
            "100",
        )
        outputs[f"rank tournament {corpus}"] = place.result("rank", folder, *chosen)
    outputs["agree on comparisons"] = place.result("agree", folder, "--split", "human", "--kind", "comparisons", *some)
    outputs["agree on features"] = place.result("agree", folder, "--split", "features", "--kind", "ratings", *some)
    outputs["leaderboard"] = place.result("leaderboard", folder, "--split", "features", *some)
    audit = ("judge", "audit", "--comparisons", human, "--comparisons", judge, "--replies", folder, "--split", "conan")
    outputs["audit"] = place.result(*audit, *some)
    outputs["metrics"] = place.result("metrics", folder, "--split", "conan", "--out", "metrics.parquet")
    outputs["metrics rows"] = digest(place / "metrics.parquet", digits=10)
    return outputs


def fc_conan_scores(place: Workplace) -> Outputs:
    """Agreement on FC-CONAN's votes, and the votes played through a campaign."""
    folder = place.dataset("fc-conan")
    return {"agree": place.result("agree", folder, "--resamples", "1000"), **replayed_votes(place)}


def reproduced(place: Workplace) -> Outputs:
    """Every printed value of the four papers next to the recomputed one."""
    return {"ledger": place.result("reproduce", "--data-dir", "data")}


# The longest first, so that no core waits at the end.
PARTS: dict[str, Part] = {
    "fc-conan-bench-paper": Part(fc_conan_bench("paper"), mirror=True),
    "reproduce": Part(reproduced, mirror=True),
    "fc-conan-bench-sound": Part(fc_conan_bench("sound"), mirror=True),
    "campaign": Part(whole_campaign, mirror=True),
    "upstream-data": Part(upstream_data, mirror=True),
    "cseval": Part(cseval, mirror=True),
    "cn-ranking": Part(cn_ranking, mirror=True),
    "fc-conan-votes": Part(fc_conan_scores, mirror=True),
    "demo-bench": Part(demo_bench),
    "demo-scores": Part(demo_scores),
    "demo-data": Part(demo_data),
    "demo-judge": Part(judged),
}
DEMO = [name for name, part in PARTS.items() if not part.mirror]


def compute(part: str, place: Workplace) -> Outputs:
    """Runs a part in a folder and returns its outputs by name."""
    return PARTS[part].compute(place)
