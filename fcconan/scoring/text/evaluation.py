"""Scores of replies by text metrics, each with a signature, and as rows of ratings and summaries.

Only the named models are downloaded. A text without a value has nan and a reason; it is left out of the mean and
counted.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from fcconan.data import reply_metadata
from fcconan.errors import InputError
from fcconan.parallel import Workers
from fcconan.scoring.arrays import Row
from fcconan.scoring.names import check_names
from fcconan.scoring.text.corpus import Distinct, Length, RepetitionRate
from fcconan.scoring.text.overlap import Bleu, Meteor, Rouge
from fcconan.scoring.text.scores import (
    REFERENCE_COMBINATIONS,
    Metric,
    Reason,
    Several,
    TextScores,
    Unit,
    UnitScores,
    mean,
)

_FAMILIES: Mapping[str, Callable[[list[str]], Metric]] = {
    "bleu": lambda ends: Bleu([int(end) for end in ends]),
    "rouge": Rouge,
    "meteor": lambda ends: Meteor(),
    "distinct": lambda ends: Distinct([int(end) for end in ends]),
    "length": lambda ends: Length(),
    "repetition-rate": lambda ends: RepetitionRate(),
}
REFERENCE_METRICS = ("bleu-1", "bleu-2", "bleu-3", "bleu-4", "rouge-1", "rouge-2", "rouge-l", "meteor")
TEXT_METRICS = (*REFERENCE_METRICS, "distinct-1", "distinct-2", "length-words", "length-characters", "repetition-rate")


_PART_SIZE = 512
_NOT_SCORABLE = ("empty_text", "no_reference", "no_message")  # texts with these reasons are not part of corpus values


@dataclass(frozen=True)
class _Texts:
    """Validated texts to score."""

    texts: list[str]
    references: list[list[str]] | None
    messages: list[str] | None
    n_empty_references: int

    def part(self, start: int) -> "_Texts":
        """Returns the texts of one task of a worker."""
        place = slice(start, start + _PART_SIZE)
        return _Texts(
            self.texts[place],
            None if self.references is None else self.references[place],
            None if self.messages is None else self.messages[place],
            0,
        )


_MetricScores = tuple[list[TextScores], tuple[int, ...]]  # the series of a metric, and its counts


def score_texts(
    replies: Sequence[str],
    references: Sequence[Sequence[str]] | None = None,
    metrics: Sequence[str | Metric] | None = None,
    *,
    messages: Sequence[str] | None = None,
    several: Several = "max",
    batch_size: int = 32,
    progress: bool | None = None,
    workers: Workers | None = None,
) -> dict[str, TextScores]:
    """Scores replies by metrics.

    Args:
        replies: Texts of the replies. Empty texts have a length and no other value.
        references: A list of references for each reply, which may be empty. Empty references are left out.
        metrics: Names of `TEXT_METRICS`, or metrics with settings, such as `Bleu`, `BertScore(model)` or
            `Novelty(training)`. By default all of `TEXT_METRICS`; without references, those that need none.
        messages: The messages (HS) that the replies answer, for metrics that need them.
        several: Combination of the values for several references of a reply: their `max` or `mean`. `joint` is
            BLEU's own definition: counts are clipped at the largest of any reference, and the brevity penalty uses the
            reference with the nearest length. Other metrics use the `max`, as in their libraries, and signatures state
            this. BLEU of the corpus always uses all references at once.
        batch_size: Number of texts that a model reads together; it changes values by rounding only.
        progress: Whether to show progress bars; None if standard error is a terminal.
        workers: Workers that score parts of the replies; None to score them in this process. Values of metrics without
            a model are the same; those of models differ by rounding.

    Returns:
        Name of the series -> scores; some metrics have several series.

    Raises:
        InputError: The texts, references or messages are not strings or differ in number; or a metric is unknown, needs
            missing references or messages, or has the name of another one.

    Examples:
        >>> score_texts(["They do pay."], [["They do pay.", "No."]], ["rouge-l"])["rouge-l"].values.tolist()
        [1.0]
    """
    systems = {"": (replies, references, messages)}
    return score_systems(systems, metrics, several=several, batch_size=batch_size, progress=progress, workers=workers)[
        ""
    ]


def score_systems(
    systems: Mapping[str, tuple[Any, Any, Any]],
    metrics: Sequence[str | Metric] | None = None,
    *,
    several: Several = "max",
    batch_size: int = 32,
    progress: bool | None = None,
    workers: Workers | None = None,
) -> dict[str, dict[str, TextScores]]:
    """Scores the replies of several systems; see `score_texts`.

    Workers compute the values of texts. This process computes the values of systems.

    Args:
        systems: System -> its replies, references and messages.
        metrics: See `score_texts`.
        several: See `score_texts`.
        batch_size: See `score_texts`.
        progress: See `score_texts`.
        workers: See `score_texts`.

    Raises:
        InputError: See `score_texts`.
    """
    checked = {system: _check_texts(*given) for system, given in systems.items()}
    check_names("combination of references", [several], REFERENCE_COMBINATIONS)
    if batch_size < 1:
        raise InputError(f"batch_size is {batch_size}: give 1 or more")
    if metrics is None:
        has_references = any(texts.references is not None for texts in checked.values())
        metrics = [name for name in TEXT_METRICS if has_references or name not in REFERENCE_METRICS]
    chosen = _select_metrics(metrics)
    for metric, wanted in chosen:
        if metric.needs_reference and any(texts.references is None for texts in checked.values()):
            raise InputError(f"{wanted[0]} needs references: give a list of references for each reply")
        if metric.needs_message and any(texts.messages is None for texts in checked.values()):
            raise InputError(f"{wanted[0]} needs the messages that are answered: give one for each reply (messages)")
    score = partial(_apply_metrics, several=several, batch_size=batch_size, progress=progress)
    shared = [metric for metric, _ in chosen if metric.independent] if workers is not None else []
    starts = [(system, start) for system in checked for start in range(0, len(checked[system].texts), _PART_SIZE)]
    parts: dict[str, list[list[_MetricScores]]] = {system: [] for system in checked}
    if workers is not None and shared:
        tasks = (checked[system].part(start) for system, start in starts)
        measured = dict(workers.map(partial(score, shared), tasks))
        for number, (system, _) in enumerate(starts):
            parts[system].append(measured[number])
    found: dict[str, dict[str, TextScores]] = {}
    for system, texts in checked.items():
        by_name: dict[str, TextScores] = {}
        for metric, _ in chosen:
            pieces = [part[shared.index(metric)] for part in parts[system]] if metric in shared else []
            whole = _merge_parts(metric, pieces or score([metric], texts), texts)
            by_name.update((scores.name, scores) for scores in whole)
        found[system] = {name: by_name[name] for _, wanted in chosen for name in wanted}
    return found


def _check_texts(replies: Any, references: Any, messages: Any) -> _Texts:
    texts = _check_strings(replies, "replies")
    kept: list[list[str]] | None = None
    empty = 0
    if references is not None:
        lists = [
            _check_strings(own, f"references of reply {place}")
            for place, own in enumerate(_as_list(references, "references", len(texts)), start=1)
        ]
        kept = [[reference for reference in own if reference.strip()] for own in lists]
        empty = sum(map(len, lists)) - sum(map(len, kept))
    answered = None if messages is None else _check_strings(messages, "messages", len(texts))
    return _Texts(texts, kept, answered, empty)


def _check_strings(given: Any, name: str, n_replies: int | None = None) -> list[str]:
    texts = _as_list(given, name, n_replies)
    for place, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            raise InputError(f"number {place} of {name} is a {type(text).__name__}: give strings only")
    return texts


def _as_list(given: Any, name: str, n_replies: int | None) -> list[Any]:
    """Returns a list, with one entry for each reply if `n_replies` is given."""
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise InputError(f"found a {type(given).__name__} as {name}: give a list")
    found = list(given)
    if n_replies not in (None, len(found)):
        raise InputError(f"found {n_replies} replies and {len(found)} {name}: give one entry (or list) for each reply")
    return found


def _select_metrics(metrics: Sequence[str | Metric]) -> list[tuple[Metric, list[str]]]:
    """Returns metrics with the names of their requested series; names of a family share one metric."""
    if isinstance(metrics, str) or not metrics:
        raise InputError(f"metrics is {metrics!r}: give a list of metrics, at least one")
    families: dict[str, list[str]] = {}
    series: list[tuple[Metric | str, list[str]]] = []  # metrics and families, in the order of their names
    for metric in dict.fromkeys(metrics):
        if isinstance(metric, Metric):
            series.append((metric, list(metric.names)))
        else:
            check_names("metric", [metric], TEXT_METRICS)
            family = next(each for each in _FAMILIES if metric == each or metric.startswith(f"{each}-"))
            if family not in families:
                families[family] = []
                series.append((family, families[family]))
            families[family].append(metric)
    counts = Counter(name for _, names in series for name in names)
    repeated = sorted(name for name, count in counts.items() if count > 1)
    if repeated:
        raise InputError(f"two metrics are called {repeated[0]}: score them in two calls, or give one another name")
    return [
        (_FAMILIES[each]([name.removeprefix(f"{each}-") for name in names]) if isinstance(each, str) else each, names)
        for each, names in series
    ]


def _apply_metrics(
    metrics: Sequence[Metric], texts: _Texts, *, several: Several, batch_size: int, progress: bool | None
) -> list[_MetricScores]:
    """Applies metrics to texts, without their values of the corpus."""
    return [
        _apply_metric(metric, texts, several if several != "joint" or metric.joins else "max", batch_size, progress)
        for metric in metrics
    ]


def _apply_metric(
    metric: Metric, texts: _Texts, several: Several, batch_size: int, progress: bool | None
) -> _MetricScores:
    """Applies one metric to units, and combines their values into those of texts."""
    units: list[Unit] = []
    owners: list[int] = []
    reasons: list[Reason | None] = []
    for place, text in enumerate(texts.texts):
        message = texts.messages[place] if metric.needs_message and texts.messages is not None else ""
        own = texts.references[place] if metric.needs_reference and texts.references is not None else [""]
        reason: Reason | None = None
        if not text.strip() and not metric.takes_empty:
            reason = "empty_text"
        elif not own:
            reason = "no_reference"
        elif metric.needs_message and not message.strip():
            reason = "no_message"
        reasons.append(reason)
        if reason is not None:
            continue
        others = tuple(own[1:]) if several == "joint" else ()
        new = [Unit(text, reference, message, others) for reference in (own[:1] if several == "joint" else own)]
        units += new
        owners += [place] * len(new)
    found = []
    for series in metric.score(units, batch_size=batch_size, progress=progress):
        if np.shape(series.values) != (len(units),):
            raise InputError(
                f"the metric {series.name} gave {np.size(series.values)} values for {len(units)} texts, expected one "
                "each: correct the metric"
            )
        found.append(_combine_units(series, owners, reasons, several if metric.needs_reference else None))
    return found, metric.counts(*_scorable_texts(texts, reasons))


def _scorable_texts(texts: _Texts, reasons: Sequence[Reason | None]) -> tuple[list[str], list[list[str]]]:
    """Returns the texts that may have a value, and their references."""
    kept = [place for place, reason in enumerate(reasons) if reason not in _NOT_SCORABLE]
    references = texts.references or [[] for _ in texts.texts]
    return [texts.texts[place] for place in kept], [references[place] for place in kept]


def _merge_parts(metric: Metric, parts: Sequence[_MetricScores], texts: _Texts) -> Iterator[TextScores]:
    """Yields the series of all texts from those of their parts, with the values of the corpus."""
    sums = tuple(map(sum, zip(*(counts for _, counts in parts if counts), strict=True)))
    for pieces in zip(*(series for series, _ in parts), strict=True):
        first = pieces[0]
        values = np.concatenate([piece.values for piece in pieces])
        reasons = tuple(reason for piece in pieces for reason in piece.reasons)
        series = UnitScores(first.name, values, first.signature, first.higher_is_better, counts=sums)
        corpus = metric.corpus(series, *_scorable_texts(texts, reasons))
        yield replace(
            first,
            values=values,
            reasons=reasons,
            corpus=corpus or replace(mean(values), signature=f"{first.signature}|corpus:mean"),
            n_missing=sum(piece.n_missing for piece in pieces),
            n_truncated=sum(piece.n_truncated for piece in pieces),
            n_empty_references=texts.n_empty_references if metric.needs_reference else 0,
        )


def _combine_units(
    series: UnitScores, owners: Sequence[int], given: Sequence[Reason | None], several: Several | None
) -> TextScores:
    """Combines values of units into values of texts; a text has a value if one of its units has one."""
    values = np.full(len(given), np.nan)
    reasons = list(given)
    own: dict[int, list[int]] = {}
    for unit, owner in enumerate(owners):
        own.setdefault(owner, []).append(unit)
    for place, units in own.items():
        there = [unit for unit in units if np.isfinite(series.values[unit])]
        if there:
            values[place] = (np.mean if several == "mean" else np.max)(series.values[there])
        else:
            reasons[place] = series.reasons.get(units[0], "not_finite")
    name, _, rest = series.signature.partition("|")
    signature = series.signature if several is None else f"{name}|refs:{several}|{rest}"
    return TextScores(
        name=series.name,
        values=values,
        reasons=tuple(reasons),
        signature=signature,
        corpus=mean(values),
        higher_is_better=series.higher_is_better,
        n_missing=sum(reason is not None for reason in reasons),
        n_truncated=len({owners[unit] for unit in series.truncated}),
        n_empty_references=0,
    )


FIELDS = ("precision", "recall", "f")  # a metric with these series is one rater with three aspects
WHOLE = "score"


def rating_rows(replies: Sequence[Row], scores: Mapping[str, TextScores]) -> Iterator[dict[str, Any]]:
    """Yields a rating for each reply and series, except series with values of whole systems only.

    Args:
        replies: Rows with `reply_id` and `system`, and optionally `item_id` and `hs_id`.
        scores: Name of the series -> its scores of these replies.
    """
    for name, series in scores.items():
        if "corpus_only" in series.reasons:
            continue
        rater, aspect = _rater_and_aspect(name)
        for row, value, reason in zip(replies, series.values.tolist(), series.reasons, strict=True):
            yield {
                "reply_id": row["reply_id"],
                "rater": rater,
                "rater_kind": "metric",
                "aspect": aspect,
                "value": None if reason else value,
                "higher_is_better": series.higher_is_better,
                "reason": reason,
                **reply_metadata(row),
                "system": row["system"],
            }


def summary_rows(
    system: str, scores: Mapping[str, TextScores], population: str, *, is_portion: bool = False
) -> Iterator[dict[str, Any]]:
    """Yields the value of a system for each series, with counts of texts without a value.

    Args:
        system: Name of the system.
        scores: Name of the series -> its scores of the system's texts.
        population: Source of the texts, for signatures.
        is_portion: Whether these are only some of the system's texts; the value is then missing, with a reason.
    """
    for name, series in scores.items():
        missing = Counter(reason for reason in series.reasons if reason is not None)
        yield {
            "metric": name,
            "system": system,
            "value": None if is_portion else series.corpus.value,
            "reason": "shard" if is_portion else series.corpus.reason,
            "higher_is_better": series.higher_is_better,
            "n": len(series.values),
            "n_missing": series.n_missing,
            "n_truncated": series.n_truncated,
            "n_empty_references": series.n_empty_references,
            "missing": dict(sorted(missing.items())),
            "signature": f"{series.corpus.signature}|data:{population}",
            "signature_of_ratings": f"{series.signature}|data:{population}",
        }


def summary_signatures(row: Row) -> Iterator[str]:
    """Yields the signature of a system's value, after that of the ratings if the value is not their mean.

    Args:
        row: Row of `summary_rows`.
    """
    if row["signature"] not in (own := row["signature_of_ratings"], own.replace("|data:", "|corpus:mean|data:")):
        yield f"ratings:{own}"
    yield row["signature"]


def _rater_and_aspect(name: str) -> tuple[str, str]:
    """Returns the rater and the aspect of a series, such as `bertscore` and `recall` for `bertscore-recall`."""
    rater, _, field = name.rpartition("-")
    return (rater, field) if rater and field in FIELDS else (name, WHOLE)
