"""`judge train`: raters that learn from people's ratings, and their ratings of other replies.

The folder of a rater has `rater.json` (aspects with scales, encoder, data, versions, and hashes of the training texts),
`training.npz` (features and mean ratings) and `out-of-fold.parquet`. The regression is fitted again when a rater is
loaded, which takes a second for 1,500 replies: so no object has to be stored, and loading executes no code. Embeddings
reveal much of a text: share the folder only as you may share the training texts. Raters of the catalogue
(`annotations/raters/`) are trained on first use and stay in the cache, as their data have no licence to pass them on.
"""

import json
import sys
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from cyclopts import Parameter, validators

import fcconan
from fcconan.data import (
    ABOUT_REPLY,
    LEARNED,
    RowSource,
    cache_folder,
    check_names,
    content_folder,
    is_blank,
    leakage_groups,
    message_codes,
    message_leakage_keys,
    read_together,
    recipe_path,
    short_hash,
)
from fcconan.errors import InputError
from fcconan.groups import Bootstrap, Rows
from fcconan.judging.features import SURFACE, compute_features
from fcconan.result import Result
from fcconan.retrieval import MINILM
from fcconan.scoring import PEOPLE, Floats, checked, correlate

if TYPE_CHECKING:
    from pandas import DataFrame

RATER, TRAINING, OUT_OF_FOLD = "rater.json", "training.npz", "out-of-fold.parquet"
NO_ENCODER = "none"
# Chosen by `benchmarks/rater_design.py`: kernel exp(-gamma d²), with a mean d² of about 2; penalty of the ridge
# regression; weight of the surface features next to embeddings.
GAMMA, ALPHA, SURFACE_WEIGHT = 0.3, 1.0, 0.7
FAR = 0.99  # a reply is far if its distance is above this quantile of the distances of training replies to other folds
SCALE = ["low", "high", "higher_is_better"]
AtLeastTwo = Annotated[int, Parameter(validator=validators.Number(gte=2))]


def train_rater(
    *sources: RowSource,
    out: Path,
    replies: RowSource | None = None,
    encoder: str = MINILM,
    folds: AtLeastTwo = 5,
    rows: Rows = Rows(),
    bootstrap: Bootstrap = Bootstrap(),
) -> Result:
    """Train a rater on people's ratings.

    The rater is a kernel ridge regression of people's mean ratings on embeddings of message and reply (with their
    product and difference, as in InferSent: Conneau et al., 2017, section 3.1), their cosine, and bounded surface
    features of the reply, such as its length and loops. Features of other replies are clipped to the range of the
    training. The values are out of fold: each reply is rated by a regression on the other folds, and messages of one
    leakage group are in one fold, while equal replies may be in several. Replies with a message or a text of the
    training are left out when others are rated. A rater learns its people, systems and topics.

    Args:
        sources: Files, dataset folders, or names of datasets with ratings of people: reply_id, rater, aspect and value,
            or one column for each aspect; low, high, higher_is_better and rater_kind are optional.
        out: Folder for the rater.
        replies: The rated replies with hate_speech and text; default: those of the sources.
        encoder: Encoder of the texts: minilm (packaged), a sentence-transformers model or its folder, or none.
        folds: Number of folds.
        rows: Which rows are read.
        bootstrap: Resamples of leakage groups.

    Returns:
        `aspects`: one row for each aspect, with Spearman's correlation with people's mean ratings out of fold (`value`,
        `low`, `high`), the `mean_absolute_error` in points of the scale, and `n` replies. The folder has the ratings
        out of fold as `out-of-fold.parquet`, for `correlate` and `rank --predicted-by`.

    Raises:
        InputError: A source cannot be read, the rated replies have no texts or too few different messages, or the
            encoder is not available.

    Examples:
        >>> result = train_rater("demo", encoder="none", out=Path("rater"), bootstrap=Bootstrap(resamples=0))
        >>> result.to_frame()[["aspect", "n"]].values.tolist()
        [['relevance', 96], ['aggressiveness', 96], ['suitableness', 96]]
    """
    import pandas as pd
    from sklearn.model_selection import GroupKFold

    out = Path(out)
    about = ("replies", sources if replies is None else (replies,), Rows(rename=rows.rename))
    (table, _, data), (texts, _, named) = read_together(("ratings", sources, rows), about)
    ratings, _ = checked(table, needs_systems=False)
    people = ratings[ratings["rater"] == PEOPLE].dropna(subset="value")
    if lost := sorted({"hate_speech", "text"} - {*texts}):
        raise InputError(f"{named} has no column {', '.join(lost)}: give the rated replies with --replies")
    texts = texts[texts["reply_id"].isin(people["reply_id"]) & ~texts["text"].map(is_blank)]
    texts = texts.drop_duplicates("reply_id").reset_index(drop=True)
    if texts.empty:
        raise InputError(f"found no reply in {named} that people rated: give the rated replies with --replies")
    aspects = people.groupby("aspect", sort=False)[SCALE].first().reset_index()
    means = people.pivot(index="reply_id", columns="aspect", values="value")
    means = means.reindex(index=texts["reply_id"], columns=aspects["aspect"])
    features = _features(texts, encoder)
    groups = leakage_groups([*texts["hate_speech"].fillna("")], [message_codes(row) for row in _records(texts)])
    predicted = np.full(means.shape, np.nan)
    for place, aspect in enumerate(means):
        there = means[aspect].notna().to_numpy()
        if (found := len(np.unique(groups[there]))) < folds:
            raise InputError(
                f"found replies to {found} different messages with {aspect}, expected {folds} or more: give more "
                "ratings, fewer --folds, or leave the aspect out with --filter.aspect"
            )
        own, values = features[there], means[aspect][there].to_numpy()
        for rest, held in GroupKFold(folds).split(own, groups=groups[there]):
            predicted[np.flatnonzero(there)[held], place] = _predicted(own[rest], values[rest], own[held])
    apart = np.concatenate(
        [_distances(features[rest], features[held]) for rest, held in GroupKFold(folds).split(features, groups=groups)]
    )
    rater = f"learned:{out.absolute().name}"
    rated = _ratings(texts, predicted, aspects, rater)
    rated = rated[rated["value"].notna()]
    both = pd.concat([people.assign(rater_kind="human"), rated]).drop(columns="system")
    both["item_id"] = both["reply_id"].map(dict(zip(texts["reply_id"], groups, strict=True)))
    both = both.dropna(subset="item_id")
    tested = correlate(both, level=("pooled",), coefficient=("spearman",), bootstrap=bootstrap).to_frame()
    error = both.groupby(["aspect", "reply_id"])["value"].agg(np.ptp).groupby("aspect").mean()
    tested["mean_absolute_error"] = tested["aspect"].map(error)
    out.mkdir(parents=True, exist_ok=True)
    packages = ("scikit-learn", *(("sentence-transformers",) if encoder != NO_ENCODER else ()))
    saved = {
        "name": rater,
        "data": data,
        "encoder": encoder,
        "aspects": json.loads(aspects.to_json(orient="records")),
        "versions": {"fcconan": fcconan.__version__, **{name: version(name) for name in packages}},
        "far": float(np.quantile(apart, FAR)),
        "seen": sorted(set().union(*_keys(texts))),
    }
    np.savez_compressed(out / TRAINING, features=features, means=means.to_numpy())
    rated.to_parquet(out / OUT_OF_FOLD, index=False)
    (out / RATER).write_text(json.dumps(saved, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    identity = {"data": data, "replies": None if replies is None else named, "encoder": encoder, "folds": folds}
    columns = ["aspect", "value", "low", "high", "mean_absolute_error", "n", "reason"]
    return Result(
        "judge train",
        {"aspects": tested[columns]},
        identity | (vars(bootstrap) if bootstrap.resamples else {"resamples": 0}),
        [f"Rate other replies: fcconan judge rate REPLIES --model {quote(f'learned:{out}')} --out RATINGS.csv"],
        intervals={"aspects": "value"},
    )


def find_rater(name: str | Path) -> Path:
    """Returns the folder of a learned rater; a rater of the catalogue is trained on first use.

    Args:
        name: A folder of `judge train`, or a name in the catalogue.

    Raises:
        InputError: The name is neither, or the rater cannot be trained.
    """
    import yaml

    raters = {path.stem: path for path in sorted((content_folder() / "annotations" / "raters").glob("*.yaml"))}
    folder = Path(name)
    if not (folder / RATER).is_file() and (file := raters.get(str(name))):
        text = file.read_text(encoding="utf-8")
        entry = yaml.safe_load(text)
        version = short_hash(fcconan.__version__, text, recipe_path(entry["data"]).read_text(encoding="utf-8"))
        folder = cache_folder() / "raters" / version / file.stem
        if not (folder / RATER).is_file():
            print(
                f"note: training {name} on {entry['data']} into {folder}, for this and later commands", file=sys.stderr
            )
            rows = Rows(entry["split"], filter={each: tuple(values) for each, values in entry["filter"].items()})
            train_rater(
                entry["data"], out=folder, encoder=entry["encoder"], rows=rows, bootstrap=Bootstrap(resamples=0)
            )
    if not (folder / RATER).is_file():
        raise InputError(
            f"found no {RATER} in {folder}, expected the folder of `fcconan judge train`, or {' or '.join(raters)}: "
            "check the path"
        )
    return folder


def rate_learned(
    folder: str | Path, replies: "DataFrame", aspects: Iterable[str] = ()
) -> tuple["DataFrame", tuple[str, ...]]:
    """Rates replies by a learned rater. Replies are left out if the rater was trained on their message or text.

    Args:
        folder: Folder of the rater, or its name in the catalogue.
        replies: Replies with reply_id, hate_speech and text; item_id, hs_id and system are optional.
        aspects: Aspects to rate; default: all of the rater.

    Returns:
        One rating for each reply and aspect, in the columns of a Rating, within the scale of the aspect. `distance` is
        the cosine distance of the reply to the nearest one of the training; of a rater without encoder it is the
        Euclidean distance of standardised surface features. `explanation` marks where this distance is above the 99 %
        quantile of the training replies out of fold. And notes.

    Raises:
        InputError: The folder is not that of a rater, an aspect is unknown, the encoder is not available, or the rater
            was trained on all of the replies.
    """
    import pandas as pd

    folder = find_rater(folder)
    saved = json.loads((folder / RATER).read_text(encoding="utf-8"))
    scales = pd.DataFrame(saved["aspects"])
    chosen = check_names("aspect", aspects, [*scales["aspect"]]) or tuple(scales["aspect"])
    trained = {*saved["seen"]}
    seen = np.array([not keys.isdisjoint(trained) for keys in _keys(replies)], dtype=bool)
    notes: tuple[str, ...] = ()
    if seen.any():
        notes = (f"{seen.sum()} of {len(seen)} replies are left out: {saved['name']} was trained on message or text.",)
    if seen.all():
        raise InputError(
            f"{saved['name']} was trained on message or text of all replies: give others, or use its ratings out of "
            f"fold, {folder / OUT_OF_FOLD}"
        )
    rest = replies[~seen].reset_index(drop=True)
    there = ~rest["text"].map(is_blank).to_numpy()
    values, distance = np.full((len(rest), len(chosen)), np.nan), np.full(len(rest), np.nan)
    with np.load(folder / TRAINING) as arrays:
        training, means = arrays["features"], arrays["means"]
    if there.any():
        features = _features(rest[there], saved["encoder"])
        for place, aspect in enumerate(chosen):
            known = means[:, [*scales["aspect"]].index(aspect)]
            own = ~np.isnan(known)
            values[there, place] = _predicted(training[own], known[own], features)
        distance[there] = _distances(training, features)
    far = distance > saved["far"]
    if far.any():
        notes += (f"{far.sum()} of {len(rest)} replies resemble no reply that {saved['name']} was trained on.",)
    rated = _ratings(rest, values, scales.set_index("aspect").loc[[*chosen]].reset_index(), saved["name"])
    rated["reason"] = rated["reason"].mask(rated["value"].isna(), "empty_reply")
    rated["explanation"] = ["resembles no reply of the training" if each else None for each in far for _ in chosen]
    return rated.assign(distance=np.repeat(distance, len(chosen))), notes


def _records(replies: "DataFrame") -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = replies.astype(object).where(replies.notna(), None).to_dict("records")
    return rows


def _keys(replies: "DataFrame") -> list[frozenset[str]]:
    """Returns hashes of message and reply, and known codes of the message, which its paraphrases share."""
    return [
        message_leakage_keys(row["hate_speech"] or "", [row["text"] or ""], codes=message_codes(row), judged=True)
        for row in _records(replies)
    ]


def _features(replies: "DataFrame", encoder: str) -> Floats:
    return compute_features(
        [row["hate_speech"] or "" for row in _records(replies)],
        [*replies["text"]],
        None if encoder == NO_ENCODER else encoder,
    )


def _embedded(features: Floats) -> int:
    """Returns the number of features from embeddings: four blocks, which come first."""
    return (len(features[0]) - len(SURFACE)) // 4 * 4


def _predicted(training: Floats, values: Floats, asked: Floats) -> Floats:
    """Returns predictions by a regression; features are clipped to the range of the training, to not extrapolate."""
    within = asked.clip(training.min(axis=0), training.max(axis=0))
    found: Floats = _regression(training).fit(training, values).predict(within)
    return found


def _distances(training: Floats, asked: Floats) -> Floats:
    """Returns the distance of each reply to the nearest one of the training."""
    from sklearn.metrics import pairwise_distances_argmin_min

    if size := _embedded(training) // 4:
        parts, metric = [each[:, size : 2 * size] for each in (asked, training)], "cosine"
    else:
        centre, deviation = training.mean(axis=0), training.std(axis=0)
        parts = [(each - centre) / np.where(deviation > 0, deviation, 1) for each in (asked, training)]
        metric = "euclidean"
    found: Floats = pairwise_distances_argmin_min(*parts, metric=metric)[1]
    return found


def _regression(features: Floats) -> Any:
    """Returns a regression, which scales embeddings and surface features with weights of their own."""
    from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    width = _embedded(features)
    blocks = [("surface", StandardScaler(), slice(width, None))]
    weights = {"surface": (SURFACE_WEIGHT if width else 1) / (len(features[0]) - width) ** 0.5}
    if width:
        blocks.append(("embeddings", StandardScaler(), slice(0, width)))
        weights["embeddings"] = width**-0.5
    ridge = KernelRidge(kernel="rbf", gamma=GAMMA, alpha=ALPHA)
    centred = TransformedTargetRegressor(ridge, transformer=StandardScaler(with_std=False))
    return make_pipeline(ColumnTransformer(blocks, transformer_weights=weights), centred)


def _ratings(replies: "DataFrame", values: Floats, aspects: "DataFrame", rater: str) -> "DataFrame":
    """Returns ratings within the scales as rows, in the columns of `LEARNED` that a learned rater knows.

    Args:
        replies: The replies, length n.
        values: Ratings, shape (n, m).
        aspects: The m aspects with their scales.
        rater: Name of the rater.
    """
    about = replies.reindex(columns=["reply_id", *ABOUT_REPLY])
    found = about.merge(aspects, how="cross").assign(rater=rater, rater_kind="model", reason=None)
    found["value"] = values.ravel()
    found["value"] = found["value"].clip(found["low"].astype(float), found["high"].astype(float))
    return found[[name for name in LEARNED.kinds if name in found]]
