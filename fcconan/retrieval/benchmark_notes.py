"""Notes on a benchmark, and lines on systems that failed."""

from collections.abc import Mapping

from fcconan.retrieval.benchmark_settings import Benchmark
from fcconan.retrieval.label_runs import learning_notes
from fcconan.retrieval.systems import Rankings
from fcconan.scoring import PAPER

QUOTED = 16  # letters in which a line is taken to quote a text


def notes(benchmark: Benchmark) -> list[str]:
    """Returns the notes on a benchmark: on its protocol, and on every system that needs one."""
    collection, settings = benchmark.collection, benchmark.settings
    if settings.protocol == PAPER:
        said = [
            f"The catalogue is {collection.population}: CNs that fit no HS are left out, which flatters every "
            "system. All queries count; one without a positive scores 0. Use protocol sound for what should be "
            "reported."
        ]
    else:
        said = [
            "Unjudged CNs count as wrong; 'unjudged right' counts those among the first k as right. Queries without a "
            "positive are left out and counted."
        ]
    if collection.train_left_out:
        said.append(
            f"{collection.train_left_out} of {collection.train_left_out + len(collection.train)} training pairs were "
            "left out: their HS says what an evaluated HS says, in the same or other words, or their CN answers one "
            "that does."
        )
    said += learning_notes(benchmark)
    for name, one in benchmark.systems.items():
        if one.configuration.get("kind") == "pair-propagation":
            said.append(
                f"{name}: the form of this system (equal-weight blend of standardised direct and propagated "
                "similarity) was known to do well on FC-CONAN before it was fixed, so its figures on FC-CONAN are "
                "optimistic by an unknown amount; its temperature was chosen inside the training pairs. There, "
                "cross-validated on sparse labels, direct similarity alone does better, because sparse labels reward "
                "it (see 'resolved')."
            )
        if one.n_seeds > 1:
            said.append(
                f"{name}: figures are means over {one.n_seeds} seeds; the run file and the lists of a report are those "
                "of the first seed."
            )
        said += _gaps(name, one.found, list(collection.queries), settings.deepest)
    return said


def _gaps(name: str, found: Rankings, queries: list[str], deepest: int) -> list[str]:
    """Says in how far a run is less than a ranking for every HS, as deep as the figures look."""
    said = []
    if found.failures:
        said.append(
            f"{name} failed on {len(found.failures)} of {len(queries)} HS; its figures leave them out, 'failures as "
            "zero' counts them as 0."
        )
    lengths = [len(found.get(query, ())) for query in queries if query not in found.failures]
    n_empty, n_short = lengths.count(0), sum(0 < length < deepest for length in lengths)
    if n_empty:
        said.append(f"{name} ranked nothing for {n_empty} of {len(queries)} HS, which count as 0.")
    if n_short:
        said.append(
            f"{name} ranked fewer than {deepest} CNs for {n_short} of {len(queries)} HS; a CN that it left out counts "
            "as not found."
        )
    n_kept = found.diagnostics.get("kept_first_stage_order")
    if n_kept:
        said.append(
            f"{name}: {n_kept} calls failed or could not be read; what they asked about stayed in the order of the "
            "first stage."
        )
    return said


def without_texts(said: str, *texts: Mapping[str, str]) -> str:
    """Returns what a system said of its failure, cut where it quotes an HS or a CN, with the id of that text.

    The line goes where no text may: into results, and into reports without texts.
    """
    said = " ".join(said.split())
    for key, text in ((key, text) for part in texts for key, text in part.items()):
        start = said.find(quoted) if len(quoted := " ".join(text.split())[:QUOTED]) == QUOTED else -1
        if start >= 0:
            said = f"{said[:start]}{key} …"
    return said


def problem(found: Rankings, n_queries: int) -> str:
    """Returns a line on a system's failures: how many, and the first of them."""
    query, reason = next(iter(found.failures.items()))
    n_failed = len(found.failures)
    first = "; the first" if n_failed > 1 else ""
    return f"failed on {n_failed} of {n_queries} HS{first}: {found.explained.get(query, reason)}"
