"""`metrics`: text metrics of replies, as ratings that `correlate` and `rank` read."""

import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fcconan.data import (
    ABOUT_REPLY,
    UNKNOWN,
    RowSource,
    as_names,
    check_names,
    first_column,
    is_blank,
    read,
    reply_texts,
    short_hash,
    train_split,
)
from fcconan.errors import InputError
from fcconan.groups import AtLeastOne, Rows
from fcconan.parallel import open_workers
from fcconan.result import Pivot, Result
from fcconan.scoring.text import corpus, models, overlap

if TYPE_CHECKING:
    from pandas import DataFrame

PART = 512  # texts of one task of a worker
REASONS = {"text": "empty_text", "references": "no_reference", "hate_speech": "no_message"}
WITH_REFERENCE = ("text", "references")


class Metric(NamedTuple):
    """Metrics that are computed together.

    Attributes:
        names: Their names.
        score: Function of names and rows with one reference each, which returns for each name the value of each row, or
            the reason why there is none. It is a function of a module, so that workers can receive it.
        settings: Tokenisers and other settings, for the identity of a result; of METEOR a function.
        libraries: Packages whose version is part of the identity.
        needs: Columns that must not be empty; with `references`, the value of a reply is its best one.
        corpus: Function of names and rows, which returns the values of all replies of a system together; None for the
            mean.
        higher_is_better: Whether a high value is good; None if neither is.
    """

    names: tuple[str, ...]
    score: Callable[[Sequence[str], "DataFrame"], corpus.Scores]
    settings: str | Callable[[], str]
    libraries: tuple[str, ...] = ()
    needs: tuple[str, ...] = ("text",)
    corpus: Callable[[Sequence[str], "DataFrame"], dict[str, float | str]] | None = None
    higher_is_better: bool | None = True


_BLEU = "tok=white-space,smooth=method1,corpus=13a+exp"
_ROUGE = "measure=f,tok=a-z0-9,case=lc,stem=porter"
_REPETITION = "n=1-4,tok=white-space,window=1000,windows=sliding"
_BLEUS, _ROUGES = tuple(f"bleu-{n}" for n in (1, 2, 3, 4)), ("rouge-1", "rouge-2", "rouge-l")
_DISTINCT, _LENGTHS, _RATE = ("distinct-1", "distinct-2"), ("length-words", "length-characters"), ("repetition-rate",)
# Metrics without a model.
FAMILIES = (
    Metric(_BLEUS, overlap.bleu, _BLEU, ("nltk", "sacrebleu"), WITH_REFERENCE, overlap.corpus_bleu),
    Metric(_ROUGES, overlap.rouge, _ROUGE, ("rouge-score",), WITH_REFERENCE),
    Metric(("meteor",), overlap.meteor, overlap.meteor_settings, ("nltk",), WITH_REFERENCE),
    Metric(_DISTINCT, corpus.distinct, "tok=plain,corpus=pooled", corpus=corpus.corpus_distinct),
    Metric(_LENGTHS, corpus.length, "tok=white-space", needs=(), higher_is_better=None),
    Metric(_RATE, corpus.no_scores, _REPETITION, corpus=corpus.corpus_repetition, higher_is_better=False),
)
TEXT_METRICS = tuple(name for family in FAMILIES for name in family.names)
NOVELTY = "novelty"


def metrics(
    *sources: RowSource,
    metric: tuple[str, ...] = (),
    novelty_against: RowSource | None = None,
    bertscore: str | None = None,
    bartscore: str | None = None,
    unieval: str | None = None,
    question: dict[str, str] | None = None,
    toxicity: str | None = None,
    toxic_label: tuple[str, ...] = ("toxic",),
    device: str | None = None,
    batch_size: AtLeastOne = 32,
    jobs: AtLeastOne = 1,
    scheduler: str | None = None,
    rows: Rows = Rows(),
) -> Result:
    """Compute text metrics of replies, as ratings that correlate and rank read.

    Replies have the column text, and optionally references (a list, or a single one) and hate_speech. Of several
    references the best one counts; BLEU of a system uses all at once. A model is a folder or a name on the Hub. An
    undefined value is missing, with a reason, and is left out of means.

    Args:
        sources: Files, dataset folders, or names of datasets with replies.
        metric: Metrics without a model: bleu-1 to bleu-4, rouge-1, rouge-2, rouge-l, meteor, distinct-1, distinct-2,
            length-words, length-characters, repetition-rate, novelty; default: all, if no model is given.
        novelty_against: Training CNs of the systems, for novelty: a file, or a dataset with the split train.
        bertscore: Encoder of BERTScore.
        bartscore: Sequence-to-sequence model of BARTScore.
        unieval: Sequence-to-sequence model that answers questions by Yes or No.
        question: Questions to it by name, with the fields {text}, {reference} and {message}.
        toxicity: Text classifier.
        toxic_label: Its labels that mean toxic.
        device: Device of models, such as cpu or cuda.
        batch_size: Texts that a model reads together.
        jobs: Processes on this machine.
        scheduler: Address of a Dask scheduler whose workers compute.
        rows: Which rows are read.

    Returns:
        `systems`: one row for each system and metric, with `value`, `higher_is_better`, `n`, `n_missing` and `reason`.
        `ratings`, the rows of `--out`: one row for each reply and metric, with `reply_id`, `rater` (the metric),
        `rater_kind`, `aspect` (`score`, or `precision`, `recall` and `f`), `value`, `higher_is_better`, `reason`,
        `item_id`, `hs_id` and `system`.

    Raises:
        InputError: A source or a model cannot be read, a metric is unknown or lacks its column, or a reply is there
            twice.

    Examples:
        >>> replies = [{"system": "A", "hate_speech": "They keep our books.", "text": "They return them every month."}]
        >>> metrics(replies, metric=("length-words",)).to_frame()[["system", "metric", "value"]].values.tolist()
        [['A', 'length-words', 5.0]]
    """
    table, _, name = read("replies", *sources, rows=rows)
    table = reply_texts(table, name)
    has_references = table["references"].map(bool).any()
    wanted = check_names("metric", metric, (*TEXT_METRICS, NOVELTY))
    given = (bertscore, bartscore, unieval, toxicity)
    loaded = [*_models(*given, question or {}, as_names(toxic_label), device, batch_size)]
    if not (wanted or loaded):
        wanted = tuple(
            each for family in FAMILIES for each in family.names if has_references or "references" not in family.needs
        )
    chosen = [family._replace(names=tuple(each for each in family.names if each in wanted)) for family in FAMILIES]
    chosen = [family for family in chosen if family.names]
    if novelty_against is not None:
        texts, against = _training(novelty_against)
        compare = partial(corpus.novelty, corpus.training_words(texts))
        chosen.append(Metric((NOVELTY,), compare, f"tok=plain,against={against}", higher_is_better=None))
    elif NOVELTY in wanted:
        raise InputError("novelty needs the CNs that were trained on: give them with --novelty-against")
    chosen += [each for each, _ in loaded]
    for each in chosen:
        if lost := [need for need in each.needs if not table[need].map(bool).any()]:
            raise InputError(f"{each.names[0]} needs {lost[0]}, and no reply has any: give --rename.{lost[0]} COLUMN")
    systems = dict(iter(table.groupby("system")))
    parts = [own[start : start + PART] for own in systems.values() for start in range(0, len(own), PART)]
    whole = [(each, own) for own in systems.values() for each in chosen if each.corpus]
    identity: dict[str, Any] = {"data": name, "references": "best" if has_references else None}
    with open_workers(jobs, scheduler=scheduler) as run:
        pooled, found = run(pooled_values, whole), run(partial(_scores, chosen), parts)  # workers begin
        for each in chosen:
            settings = each.settings if isinstance(each.settings, str) else each.settings()
            identity["+".join(each.names)] = ",".join([settings, *(f"{of}={version(of)}" for of in each.libraries)])
        scored = _joined([*found], chosen, table)
        tables = {"systems": _systems(scored, {key: own for each in pooled for key, own in each.items()})}
    tables["ratings"] = _ratings(scored)
    notes = [*_notes(tables["ratings"], table, {model.name: model for _, model in loaded})]
    return Result(
        "metrics", tables, identity, notes, pivots={"systems": Pivot(("system",), ("metric",))}, out="ratings"
    )


def _models(
    bertscore: str | None,
    bartscore: str | None,
    unieval: str | None,
    toxicity: str | None,
    question: Mapping[str, str],
    labels: Sequence[str],
    device: str | None,
    size: int,
) -> Iterator[tuple[Metric, models.ScoringModel]]:
    """Yields the metrics by models, with their models."""
    library = ("transformers",)
    if bertscore is not None:
        model = models.load(bertscore, "encoder", device)
        settings = f"{model.settings},layer={models.best_layer(model)},idf=no,rescaled=no"
        names = tuple(f"bertscore-{field}" for field in models.FIELDS)
        yield Metric(names, partial(models.bertscore, model, size), settings, library, WITH_REFERENCE), model
    if bartscore is not None:
        model = models.load(bartscore, "sequence-to-sequence", device)
        names = tuple(f"bartscore-{field}" for field in models.FIELDS)
        yield Metric(names, partial(models.bartscore, model, size), model.settings, library, WITH_REFERENCE), model
    if toxicity is not None:
        model = models.load(toxicity, "classifier", device)
        check_names("label", labels, [*map(str, model.config.id2label.values())])
        score, settings = partial(models.toxicity, model, size, labels), f"{model.settings},labels={'+'.join(labels)}"
        yield Metric(("toxicity",), score, settings, library, higher_is_better=False), model
    if (unieval is None) != (not question):
        raise InputError("one of --unieval and --question.NAME is missing: give a model and its questions")
    for name, asked in question.items() if unieval else ():
        fields = {field for _, field, _, _ in string.Formatter().parse(asked) if field is not None}
        if not {"text"} <= fields <= {*models.COLUMNS}:
            raise InputError(
                f"the question {name} has the fields {', '.join(sorted(fields)) or 'none'}, expected {{text}}, and "
                "{reference} and {message} where needed: name these, and double other braces"
            )
        model = models.load(str(unieval), "sequence-to-sequence", device)
        needs = tuple(column for field, column in models.COLUMNS.items() if field in fields)
        settings = f"{model.settings},question={short_hash(asked)},answers=Yes/No"
        yield Metric((name,), partial(models.unieval, model, size, asked), settings, library, needs), model


def _training(source: RowSource) -> tuple[list[str], str]:
    """Returns training CNs, of a dataset those of the split train, and their name with a hash.

    Raises:
        InputError: The source cannot be read, or has no column of CNs.
    """
    frame, _, name = read(("pairs", "train"), source, rows=Rows(split=train_split(source)))
    column = first_column(dict.fromkeys(frame), "counter_narrative") or "text"
    if column not in frame:
        raise InputError(f"{name} has no column counter_narrative or text, only {', '.join(frame)}: rename that of CNs")
    return [*frame[column].dropna().astype(str)], name


def _scores(chosen: Sequence[Metric], rows: "DataFrame") -> "DataFrame":
    """Returns value and reason of each row by each metric, with the index of the rows."""
    import pandas as pd

    parts = []
    for metric in chosen:
        units = rows.explode("references") if "references" in metric.needs else rows
        reasons = np.full(len(units), None, dtype=object)
        for need in reversed(metric.needs):
            reasons[units[need].map(is_blank).to_numpy()] = REASONS[need]
        ready = pd.isna(reasons)
        found = metric.score(metric.names, units[ready]) if ready.any() else {}
        for name in metric.names:
            cells = pd.Series(reasons, index=units.index, dtype=object)
            cells[ready] = found.get(name, [])
            values = pd.to_numeric(cells, errors="coerce").astype(float).replace([np.inf, -np.inf], np.nan)
            why = cells.where([isinstance(cell, str) for cell in cells], "not_finite").where(values.isna(), None)
            best = values.groupby(level=0).max()
            why = why.groupby(level=0).first().where(best.isna(), None)
            parts.append(pd.DataFrame({"metric": name, "value": best, "reason": why}))
    return pd.concat(parts)


def pooled_values(task: tuple[Metric, "DataFrame"]) -> dict[tuple[str, str], float | str]:
    """Returns the values of all replies of a system together, by system and metric."""
    metric, rows = task
    there = np.logical_and.reduce(
        [
            rows[need].map(lambda cell: not is_blank(cell) if isinstance(cell, str) else bool(cell))
            for need in metric.needs
        ]
    )
    assert metric.corpus is not None
    return {(rows["system"].iloc[0], name): value for name, value in metric.corpus(metric.names, rows[there]).items()}


def _joined(parts: Sequence["DataFrame"], chosen: Sequence[Metric], table: "DataFrame") -> "DataFrame":
    """Returns values with the columns of their replies, by system and metric."""
    import pandas as pd

    better = {name: family.higher_is_better for family in chosen for name in family.names}
    scored = pd.concat(parts).join(table[["reply_id", *ABOUT_REPLY]])
    scored["higher_is_better"] = scored["metric"].map(better).astype(object)
    scored["metric"] = pd.Categorical(scored["metric"], [*better])
    scored = scored.sort_values(["system", "metric"], kind="stable", ignore_index=True)
    return scored.astype({"metric": object})


def _systems(scored: "DataFrame", pooled: Mapping[tuple[str, str], float | str]) -> "DataFrame":
    """Returns the value of each system by each metric: that of all its replies together, or else the mean."""
    import pandas as pd

    rows = []
    for key, own in scored.groupby(["metric", "system"], sort=False):
        mean = own["value"].mean() if own["value"].notna().any() else "no_values"
        value = pooled.get(key[::-1], mean)
        rows.append(
            {
                **dict(zip(("metric", "system"), key, strict=True)),
                "value": np.nan if isinstance(value, str) else value,
                "higher_is_better": own["higher_is_better"].iloc[0],
                "n": len(own),
                "n_missing": int(own["value"].isna().sum()),
                "reason": value if isinstance(value, str) else None,
            }
        )
    return pd.DataFrame(rows)


def _ratings(scored: "DataFrame") -> "DataFrame":
    """Returns values of replies as ratings; a metric whose name ends in a field is a rater with several aspects."""
    alone = scored["metric"][scored["reason"] == "corpus_only"].unique()
    found = scored[~scored["metric"].isin(alone)].reset_index(drop=True)
    names = found["metric"].str.extract(f"^(.+?)(?:-({'|'.join(models.FIELDS)}))?$")
    found["rater"], found["rater_kind"], found["aspect"] = names[0], "metric", names[1].fillna("score")
    for column in ("item_id", "hs_id"):
        found[column] = found[column].where(found[column] != UNKNOWN, None)
    columns = ["reply_id", "rater", "rater_kind", "aspect", "value", "higher_is_better", "reason", *ABOUT_REPLY]
    return found[columns]


def _notes(ratings: "DataFrame", table: "DataFrame", loaded: Mapping[str, models.ScoringModel]) -> Iterator[str]:
    """Yields a sentence for each reason of missing values, and for each model that does not read texts to the end."""
    for reason, own in ratings[ratings["value"].isna()].groupby("reason", sort=False):
        raters = ", ".join(own["rater"].unique())
        yield f"{own['reply_id'].nunique()} replies have no value by {raters}: {reason}."
    texts = [*{*table["text"], *(each for own in table["references"] for each in own)}]
    for name, model in loaded.items():
        if model.limit and (n := sum(len(tokens) > model.limit for tokens in model.encode(texts, whole=True))):
            yield f"{name} reads {model.limit} tokens: {n} of {len(texts)} replies and references are cut."
