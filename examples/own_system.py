"""Build the demo, benchmark an own retriever, judge own replies, rank systems, correlate with people.

Usage: python examples/own_system.py REPLIES.csv MODEL BASE_URL
"""

import sys
from collections.abc import Mapping
from pathlib import Path

import fcconan
from fcconan import Bootstrap, Endpoint


class SharedWords:
    """Ranks counter-narratives by the number of words that they share with the message."""

    name = "shared-words"

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> dict[str, list[tuple[str, float]]]:
        words = {key: set(text.lower().split()) for key, text in {**queries, **corpus}.items()}
        scores = {query: [(cn, float(len(words[query] & words[cn]))) for cn in corpus] for query in queries}
        return {query: sorted(pairs, key=lambda pair: -pair[1])[:k] for query, pairs in scores.items()}


def main(replies: str, model: str, base_url: str) -> None:
    fcconan.build("demo", out="demo-data")
    benchmark = fcconan.bench("demo-data", system=["bm25", SharedWords()], bootstrap=Bootstrap(resamples=1000))
    endpoint = Endpoint(base_url=base_url)
    ratings = fcconan.rate(replies, "demo-data", model=model, task="cseval", endpoint=endpoint)
    comparisons = fcconan.compare(replies, "demo-data", model=model, endpoint=endpoint)
    ranking = fcconan.rank(comparisons, bootstrap=Bootstrap(resamples=1000))
    correlation = fcconan.correlate("demo-data", ratings, bootstrap=Bootstrap(resamples=1000))
    results = {"benchmark": benchmark, "ratings": ratings, "ranking": ranking, "correlation": correlation}
    for name, result in results.items():
        Path(f"{name}.json").write_text(result.to_json(), encoding="utf-8")
        print(result.to_frame().head(), result.signature, sep="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
