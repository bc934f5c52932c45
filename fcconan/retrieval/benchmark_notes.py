"""Notes on the results of a benchmark, and messages about failed systems."""

from collections.abc import Mapping

from fcconan.retrieval.benchmark_settings import Benchmark
from fcconan.retrieval.label_runs import learning_notes
from fcconan.retrieval.systems import Rankings
from fcconan.scoring import PAPER

MIN_QUOTATION = 16  # shortest prefix of a text, in characters, that counts as a quotation


def collect_notes(benchmark: Benchmark) -> list[str]:
    """Returns the notes on the protocol of a benchmark and on its systems."""
    collection, settings = benchmark.collection, benchmark.settings
    if settings.protocol == PAPER:
        lines = [
            f"The catalogue is {collection.population}: CNs that fit no HS are left out, which raises the scores of "
            "every system. All queries count; a query without a positive scores 0. For results to report, use protocol "
            "sound."
        ]
    else:
        lines = [
            "Unjudged CNs count as wrong; 'unjudged right' counts those among the first k as right. Queries without a "
            "positive are left out; their number is reported."
        ]
    if collection.train_left_out:
        lines.append(
            f"{collection.train_left_out} of {collection.train_left_out + len(collection.train)} training pairs were "
            "left out: their HS equals or paraphrases an evaluated HS, or their CN answers such an HS."
        )
    lines += learning_notes(benchmark)
    for name, one in benchmark.systems.items():
        if one.n_seeds > 1:
            lines.append(
                f"{name}: scores are means over {one.n_seeds} seeds; the run file and the rankings in a report are "
                "those of the first seed."
            )
        lines += _coverage_notes(name, one.found, list(collection.queries), settings.deepest)
    return lines


def _coverage_notes(name: str, found: Rankings, queries: list[str], deepest: int) -> list[str]:
    """Returns notes on HS without a ranking, and on rankings shorter than the largest cutoff."""
    lines = []
    if found.failures:
        lines.append(
            f"{name} failed on {len(found.failures)} of {len(queries)} HS; its scores leave them out, 'failures as "
            "zero' counts them as 0."
        )
    lengths = [len(found.get(query, ())) for query in queries if query not in found.failures]
    n_empty, n_short = lengths.count(0), sum(0 < length < deepest for length in lengths)
    if n_empty:
        lines.append(f"{name} ranked nothing for {n_empty} of {len(queries)} HS, which count as 0.")
    if n_short:
        lines.append(
            f"{name} ranked fewer than {deepest} CNs for {n_short} of {len(queries)} HS; missing CNs count as not "
            "found."
        )
    n_rising = sum(bool(ranking) and ranking[0][1] < ranking[-1][1] for ranking in found.values())
    if n_rising > len(found) / 2:
        lines.append(
            f"{name}: in {n_rising} of {len(found)} rankings the first CN has a lower score than the last. CNs are "
            "ranked by score, highest first: return similarities, not distances."
        )
    return lines


def remove_texts(message: str, *texts: Mapping[str, str]) -> str:
    """Cuts an error message where it quotes an HS or a CN, and appends the id of that text.

    Results, and reports without texts, must not contain texts of the dataset.

    Args:
        message: The message of a system.
        *texts: HS and CNs by id.
    """
    message = " ".join(message.split())
    for key, text in ((key, text) for part in texts for key, text in part.items()):
        start = message.find(quoted) if len(quoted := " ".join(text.split())[:MIN_QUOTATION]) == MIN_QUOTATION else -1
        if start >= 0:
            message = f"{message[:start]}{key} …"
    return message


def describe_failures(found: Rankings, n_queries: int) -> str:
    """Returns a message with the number of failures of a system, and the first failure."""
    reason = next(iter(found.failures.values()))
    n_failed = len(found.failures)
    first = "; the first" if n_failed > 1 else ""
    return f"failed on {n_failed} of {n_queries} HS{first}: {reason}"
