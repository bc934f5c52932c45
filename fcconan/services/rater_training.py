"""Training of raters that learn from people's ratings."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fcconan.errors import InputError
from fcconan.groups import Rows
from fcconan.services.configuration import option, output
from fcconan.services.locations import dataset_folder
from fcconan.services.model_results import Progress
from fcconan.services.options import LARGEST_SEED, PartSelection
from fcconan.services.results import Result
from fcconan.services.rows import REPLIES, Source, listed, names_of, open_rows, rows_argument

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray
    from pandas import DataFrame

    from fcconan.data import Table
    from fcconan.judging import FeatureRatings, RatedAspect, Row
    from fcconan.retrieval import Encoder

NO_ENCODER = "none"
_FEATURES_FROM = "Ratings of judges or metrics that are further features of a learned rater."
FEATURES_FROM = rows_argument("--features-from", _FEATURES_FROM, many=True)
RARE_FEATURES_FROM = rows_argument("--features-from", _FEATURES_FROM, many=True, rare=True)


class TrainRaterOptions(PartSelection):
    """Options of `train_rater`: aspects, features and cross-fitting."""

    aspect: tuple[str, ...] = option((), help="Aspects to learn; default: all that people rated.")
    encoder: str = option(
        "minilm",
        help="Encoder of the texts: minilm (packaged), a sentence-transformers model, or none.",
        metavar="NAME",
        role="model",
    )
    feature_rater: tuple[str, ...] = option((), help="Raters of --features-from to use; default: all.", metavar="NAME")
    folds: int = option(10, help="Folds of the cross-fitting.", rare=True, ge=2, le=1000)
    fold_by: Literal["group", "system", "round"] = option(
        "group", help="Replies that are held out together: those of a leakage group of HS, a system, or a round."
    )
    seed: int = option(0, help="Seed of folds and landmarks.", ge=0, le=LARGEST_SEED)
    limit: int | None = option(None, help="Use only the first replies.", short="-n", ge=2)
    device: str | None = option(None, help="Device of local models, such as cpu or cuda.", rare=True, metavar="NAME")


@dataclass(frozen=True, repr=False)
class TrainRaterResult(Result):
    """A trained rater (`about` in `rater.json`). The main table has its out-of-fold agreement with people.

    Attributes:
        folder: The folder of the rater.
        notes: Sentences about the data.
    """

    folder: Path
    notes: tuple[str, ...] = ()

    def source_rows(self) -> Any:
        """Returns the file of the out-of-fold ratings."""
        from fcconan.judging import OUT_OF_FOLD_RATINGS

        return self.folder / OUT_OF_FOLD_RATINGS


def train_rater(
    replies: Annotated[Source, REPLIES],
    options: TrainRaterOptions = TrainRaterOptions(),
    *,
    out: Annotated[Path | str, output("Folder to write the rater to.")],
    ratings: Annotated[
        Source | None, rows_argument("--ratings", "People's ratings; default: the ratings of the dataset.")
    ] = None,
    features_from: Annotated[Source | None, FEATURES_FROM] = None,
    progress: Progress | None = None,
) -> TrainRaterResult:
    """Trains a rater on people's mean ratings, and evaluates it by cross-fitting.

    The rater predicts the ratings of each training reply out of fold: by a fit without this reply.

    Args:
        replies: Rows of replies: files, folders, names, data frames, datasets or mappings.
        options: The options.
        out: The folder to write; it must be new or empty.
        ratings: Rows of people's ratings; by default those of the datasets among the replies.
        features_from: Rows of ratings by judges or metrics, which become features.
        progress: Function that receives the number of finished fits and of all fits.

    Returns:
        The training report, as in `rater.json` of the folder. The main table has the out-of-fold agreement with
        people: one row for each `aspect` and `coefficient`, with `value`, the interval `low` and `high`, the number of
        replies `n`, and, in grades, `mean_absolute_error` and `half_width` of the prediction intervals, whose
        `coverage` is a share of `n_coverage` ratings.

    Raises:
        InputError: A source cannot be read, people rated too few replies, or the folder is not empty.

    Examples:
        >>> options = TrainRaterOptions(encoder="none", aspect=("relevance",), folds=5)
        >>> result = train_rater("demo", options, out="rater")
        >>> result.data["replies"], result.data["folds"], [row["aspect"] for row in result.rows()]
        (96, 5, ['relevance'])
    """
    import numpy as np

    from fcconan.data import leakage_groups, message_codes
    from fcconan.judging import (
        TrainingData,
        check_number_of_ratings,
        compute_features,
        fold_numbers,
        make_rated_texts,
        rater_name,
        train_rater as train,
    )

    if features_from is None:
        options.refuse("feature_rater", why="only for --features-from RATINGS")
    folder = Path(out)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} is there and not empty: choose another --out, or remove it")
    rater_name(folder)
    encoder = encoder_of(options.encoder, options.device)
    table = open_rows("replies", replies, options)
    rows = [dict(row) for row in table][: options.limit]
    people, aspects = _people(table, replies, ratings, options)
    used, values = _rated_rows(rows, people, aspects)
    if len(used) < 2:
        raise InputError(
            f"found {len(used)} replies with a text and a rating by people in {names_of(replies)}, expected two or "
            "more: give the ratings with --ratings, or another --split"
        )
    codes = [message_codes(row) for row in used]
    groups = leakage_groups([row.get("hate_speech") or "" for row in used], codes)
    rated = make_rated_texts(used, aspects, values, groups)
    check_number_of_ratings(rated)
    folds = fold_numbers(rated, by=options.fold_by, folds=options.folds, seed=options.seed)
    judges = extra = None
    if features_from is not None:
        judges = _feature_ratings(features_from, options)
        judges.check(rated.reply_ids)
        extra = judges.values(rated.reply_ids)
    features = compute_features(rated.messages, rated.texts, encoder, extra)
    data = TrainingData(
        rated,
        used,
        codes,
        features,
        encoder=None if encoder is None else saved_encoder(encoder),
        features_from=() if judges is None else judges.columns,
        population=table.population,
    )
    about = train(
        data,
        folder,
        folds=folds,
        fold_by=options.fold_by,
        people=people["rater"].nunique() - 1,  # without their mean
        seed=options.seed,
        progress=progress or (lambda done, total: None),
    )
    notes = [about["banner"]]
    if left_out := len(rows) - len(used):
        notes.append(f"{left_out} of {len(rows)} replies are left out: they have no text or no rating by people.")
    if extra is not None and (lacking := int(np.isnan(extra).any(axis=1).sum())):
        notes.append(f"{lacking} of {len(used)} replies lack a rating of --features-from, which counts as its mean.")
    return TrainRaterResult({"out": str(out), **about}, folder, tuple(notes))


def _rated_rows(
    rows: "list[Row]", people: "DataFrame", aspects: "list[RatedAspect]"
) -> "tuple[list[Row], NDArray[float64]]":
    """Returns the replies that have a text and a rating by people, and people's mean ratings, shape (n, aspects)."""
    import numpy as np

    from fcconan.scoring import PEOPLE

    means = people[people["rater"] == PEOPLE].pivot(index="reply_id", columns="aspect", values="value")
    with_text = [row for row in rows if row["reply_id"] in means.index and (row.get("text") or "").strip()]
    wanted = {"index": [row["reply_id"] for row in with_text], "columns": [aspect.name for aspect in aspects]}
    values = means.reindex(**wanted).to_numpy(dtype=float)
    kept = np.flatnonzero(~np.isnan(values).all(axis=1))
    return [with_text[at] for at in kept], values[kept]


def _feature_ratings(sources: Source, options: TrainRaterOptions) -> "FeatureRatings":
    """Returns the ratings that are features.

    Raises:
        InputError: There are none.
    """
    from fcconan.judging import FeatureRatings

    found = FeatureRatings(_of_raters(ratings_of(sources, options.split), options.feature_rater))
    if not found.columns:
        raise InputError("--features-from holds no ratings by models or metrics: give ratings of judges")
    return found


def _of_raters(ratings: "Table", raters: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """Yields the ratings of some raters, or all of them.

    Raises:
        InputError: A rater has no ratings; raised at the end.
    """
    lacking = dict.fromkeys(raters)
    for row in ratings:
        lacking.pop(str(row["rater"]), None)
        if not raters or row["rater"] in raters:
            yield row
    if lacking:
        raise InputError(f"--features-from holds no ratings by {', '.join(lacking)}: check --feature-rater")


def encoder_of(name: str, device: str | None) -> "Encoder | None":
    """Returns the encoder of a name; None for `none`.

    Raises:
        InputError: The model is unknown.
    """
    from fcconan.retrieval import MINILM, SentenceEncoder

    if name == NO_ENCODER:
        return None
    if name != MINILM and "/" not in name and not Path(name).is_dir():  # a request to the Hub would take long
        raise InputError(
            f"--encoder {name} is neither {MINILM}, {NO_ENCODER} nor a folder: give one of these, or a "
            "sentence-transformers model as owner/model"
        )
    return SentenceEncoder(name, device=device)


def saved_encoder(encoder: "Encoder") -> dict[str, Any]:
    """Returns the record of an encoder in the folder of a rater: its name, and the hash of local weights."""
    from fcconan.models import locate_model

    source = getattr(encoder, "source", "")
    weights = locate_model(source, None)[2] if Path(source).is_dir() else None
    return {"name": encoder.name, **encoder.configuration, "weights": weights}


def encoder_name(saved: Mapping[str, Any]) -> str:
    """Returns the name under which an encoder is loaded again.

    Raises:
        InputError: It was a folder, which raters do not name.
    """
    from fcconan.retrieval import MINILM, SentenceEncoder

    if saved.get("weights") is None:
        return str(saved.get("model"))
    if saved == saved_encoder(SentenceEncoder(MINILM)):
        return MINILM
    raise InputError(
        f"the rater was trained with the encoder {saved.get('name')} of a folder: name the folder with --encoder"
    )


def ratings_of(sources: Source, split: str | None) -> "Table":
    """Opens rows of ratings.

    Args:
        sources: Files, folders, names or rows.
        split: The split of folders and names; files and rows have none.

    Raises:
        InputError: A source cannot be opened.
    """
    from fcconan.data import SUFFIXES, open_table

    given = listed(sources)
    has_splits = any(isinstance(each, str | PathLike) and Path(each).suffix not in SUFFIXES for each in given)
    return open_table("ratings", given, split=split if has_splits else None, locate=dataset_folder)


def _people(
    replies: "Table", sources: Source, ratings: Source | None, options: TrainRaterOptions
) -> "tuple[DataFrame, list[RatedAspect]]":
    """Returns the ratings of people and the aspects to learn.

    Raises:
        InputError: There are none, or their scale is not known.
    """
    from fcconan.data import SUFFIXES, read
    from fcconan.judging import RatedAspect
    from fcconan.scoring import checked

    given: list[Any] = [*replies.folders] if ratings is None else listed(ratings)
    if not given:
        raise InputError(
            f"{names_of(sources)} is not the folder of a dataset and has no ratings: give them with --ratings"
        )
    has_splits = any(isinstance(each, str | PathLike) and Path(each).suffix not in SUFFIXES for each in given)
    table, *_ = read("ratings", *given, rows=Rows(split=options.split if has_splits else None))
    people, _ = checked(table, needs_systems=False)
    people = people[people["of_people"]]
    known = [*people["aspect"].unique()]
    if unknown := [name for name in options.aspect if name not in known]:
        raise InputError(f"people did not rate {unknown[0]}: choose --aspect among {', '.join(known)}")
    aspects = []
    for name in options.aspect or known:
        low, high, is_better = people.loc[people["aspect"] == name, ["low", "high", "higher_is_better"]].iloc[-1]
        if low != low:
            raise InputError(f"the ratings of {name} state no scale: give columns low and high with the end grades")
        aspects.append(RatedAspect(name, low, high, bool(is_better)))
    return people, aspects
