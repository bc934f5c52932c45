"""Training of a rater: fits the models, and writes its folder with card and out-of-fold ratings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import fcconan
from fcconan.data import LEARNED, RowWriter, short_hash
from fcconan.groups import Bootstrap
from fcconan.judging.learned.cross_fitting import Progress, fit
from fcconan.judging.learned.features import Features
from fcconan.judging.learned.files import rater_name, save_rater
from fcconan.judging.learned.judge import Row, learned_ratings
from fcconan.judging.learned.rated_texts import Floats, Ints, RatedTexts
from fcconan.judging.learned.rater import CONFIDENCE, LearnedRater, build_rater, coverage
from fcconan.judging.learned.training_texts import OUT_OF_FOLD, hash_training_texts
from fcconan.scoring import Scores, correlations

OUT_OF_FOLD_RATINGS = "out-of-fold.parquet"
BANNER = "Trained on these raters; no evidence for other raters, systems or topics."
RESAMPLES = 1_000
_HELD_OUT = {
    "group": "the message, in the same or other words",
    "system": "its system, but saw replies of other systems to the message",
    "round": "its round of annotation, but saw replies to the message in other rounds",
}


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Training data of a rater.

    Attributes:
        table: Rated texts.
        rows: Replies, length n.
        codes: Upstream codes of the HS of each row.
        features: Features of the rows.
        encoder: Name and configuration of the encoder; None without one.
        features_from: Raters and aspects whose ratings are features.
        population: Description of the data for signatures.
    """

    table: RatedTexts
    rows: Sequence[Row]
    codes: Sequence[Sequence[str]]
    features: Features
    encoder: Mapping[str, Any] | None
    features_from: Sequence[tuple[str, str]]
    population: str


def train_rater(
    data: TrainingData, out: Path, *, folds: Ints, fold_by: str, people: int, seed: int, progress: Progress
) -> dict[str, Any]:
    """Trains a rater and writes its folder.

    Args:
        data: Training data.
        out: Folder of the rater.
        folds: Fold of each row, shape (n,).
        fold_by: Unit of the folds: `group`, `system` or `round`.
        people: Number of people whose ratings are averaged.
        seed: Seed of landmarks, inner folds and intervals.
        progress: Function that receives the numbers of finished and of all fits.

    Returns:
        `about` of `rater.json`: description of the training data and results.

    Raises:
        InputError: The name of the folder is not valid as the name of a rater.
        OSError: The folder is not writable.
    """
    table = data.table
    fitted = fit(table, data.features, folds=folds, seed=seed, progress=progress)
    texts = hash_training_texts(table.messages, table.texts, data.codes, folds)
    name = rater_name(out)
    of_fold = [(fold, OUT_OF_FOLD) for fold in folds.tolist()]
    rater = build_rater(
        name, table, data.features, fitted, folds, texts, encoder=data.encoder, features_from=data.features_from
    )
    about = {
        "fcconan": fcconan.__version__,
        "data": data.population,
        "replies": len(table),
        "people": people,
        "leakage_groups": len(np.unique(table.groups)),
        "systems": _counts(table.systems),
        "rounds": _counts(table.rounds),
        "features": data.features.widths,
        "fold_by": fold_by,
        "folds": int(folds.max()) + 1,
        "seed": seed,
        "confidence": CONFIDENCE,
        "hyperparameters": [
            {"aspect": aspect.name, "gamma": float(gamma), "alpha": float(alpha)}
            for aspect, gamma, alpha in zip(table.aspects, fitted.of_all.gammas, fitted.of_all.alphas, strict=True)
        ],
        "rows": _scores(rater, table, fitted.predicted, folds, seed),
        "banner": BANNER,
    }
    about["signature"] = (
        f"fcconan:{fcconan.__version__}|rater:{name}|data:{data.population}|replies:{len(table)}|"
        f"encoder:{(data.encoder or {}).get('name', 'none')}|folds:{about['folds']}-{fold_by}|seed:{seed}|"
        f"predictions:{short_hash(np.round(fitted.predicted, 6).tobytes().hex())}"
    )
    rater = LearnedRater(**{**vars(rater), "about": about})

    def write_ratings(stage: Path) -> None:
        with RowWriter(stage / OUT_OF_FOLD_RATINGS, LEARNED.kinds) as writer:
            for ratings in learned_ratings(rater, table.aspects, data.rows, data.features, of_fold):
                writer.write(ratings)

    save_rater(rater, out, _card(rater), further=write_ratings)
    return about


def _counts(names: Sequence[str]) -> dict[str, int]:
    return {name: names.count(name) for name in sorted(set(names))}


def _scores(rater: LearnedRater, table: RatedTexts, predicted: Floats, folds: Ints, seed: int) -> list[dict[str, Any]]:
    """Returns the out-of-fold agreement with people and the coverage for each aspect."""
    names = [aspect.name for aspect in table.aspects]
    item = np.unique(table.groups, return_inverse=True)[1]
    metrics, none = [(rater.name, name) for name in names], np.zeros((0, len(names), len(item)))
    scores = Scores(metrics, predicted.T, names, table.ratings.T, item, np.zeros_like(item), none)
    found = correlations(scores, ("pooled",), ("spearman",), Bootstrap(resamples=RESAMPLES, seed=seed))
    by_aspect = found.astype(object).where(found.notna(), None).set_index("aspect").to_dict("index")
    rows = []
    for at, name in enumerate(names):
        errors = table.ratings[:, at] - predicted[:, at]
        covered, total = coverage(errors, folds)
        known = errors[~np.isnan(errors)]
        rows.append(
            {
                "aspect": name,
                **{key: by_aspect[name][key] for key in ("coefficient", "value", "low", "high", "n")},
                "mean_absolute_error": float(np.abs(known).mean()) if len(known) else None,
                "half_width": None if np.isnan(rater.half_widths[at]) else float(rater.half_widths[at]),
                "coverage": covered / total if total else None,
                "n_coverage": total,
            }
        )
    return rows


def _card(rater: LearnedRater) -> str:
    about = rater.about
    lines = [
        "---",
        "library_name: fcconan",
        "---",
        "",
        f"# Learned rater {rater.name}",
        "",
        f"**{BANNER}**",
        "",
        f"Predicts the mean rating of people for replies to hate speech. Written by fcconan {about['fcconan']}; used "
        "with `fcconan judge rate --model learned:FOLDER`.",
        "",
        f"- Data: {about['data']}: {about['replies']} replies, {about['leakage_groups']} leakage groups of HS",
        f"- Raters: {about['people']} ({'mean of each reply' if about['people'] > 1 else 'as in the data'})",
        f"- Systems: {', '.join(f'{name} ({number})' for name, number in about['systems'].items())}",
        f"- Rounds: {', '.join(f'{name} ({number})' for name, number in about['rounds'].items())}",
        f"- Encoder: {(rater.encoder or {}).get('name', 'none')}",
        f"- Features from ratings: {', '.join(f'{name} ({aspect})' for name, aspect in rater.features_from) or 'none'}",
        f"- Folds: {about['folds']} by {about['fold_by']}; seed {about['seed']}",
        "",
        "## Out-of-fold agreement with people (Spearman, 95% interval over leakage groups of HS)",
        "",
        "| aspect | scale | Spearman | interval | replies | mean absolute error | half-width | coverage |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for aspect, row in zip(rater.aspects, about["rows"], strict=True):
        lines.append(
            f"| {aspect.name} | {aspect.low:g}-{aspect.high:g} | {_number(row['value'])} | {_number(row['low'])}-"
            f"{_number(row['high'])} | {row['n']} | {_number(row['mean_absolute_error'])} | "
            f"{_number(row['half_width'])} | {_number(row['coverage'])} |"
        )
    return "\n".join(
        [
            *lines,
            "",
            f"Half-width: half the length of the {about['confidence']:.0%} prediction interval. Coverage: share of "
            "ratings in the interval, with the half-width of the other folds.",
            "",
            f"`out_of_fold` of a training reply: the model did not see {_HELD_OUT[about['fold_by']]}. "
            f"{rater.texts.shared_replies} of {len(rater.texts.replies)} different reply texts have rows in several "
            "folds, so that the models of these rows saw the text in a row of another fold. `out_of_fold` of another "
            "reply: the model saw neither the message nor the text of the reply.",
            "",
            "The folder contains numbers, names and hashes of texts, but no texts. The hashes reveal whether a known "
            f"text was used. `{OUT_OF_FOLD_RATINGS}` has the out-of-fold rating of each training reply.",
            "",
        ]
    )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
