"""Learned raters from files to correlations: training, out-of-fold ratings, new replies, and what is refused."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fcconan import correlate
from fcconan.errors import InputError
from fcconan.services import (
    RateOptions,
    TrainRaterOptions,
    build,
    rate,
    train_rater,
)

QUICK = TrainRaterOptions(encoder="none", folds=4)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "demo"
    build("demo", folder)
    return folder


@pytest.fixture(scope="module")
def folder(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("raters") / "quick"
    train_rater(demo, QUICK, out=out)
    return out


def options(folder: Path, **more: Any) -> RateOptions:
    return RateOptions(model=(f"learned:{folder}",), task="cseval", **more)


HONEST = "Most of the Quillish I know keep their promises, and one of them helped my family last year."
POOLED: Any = {"level": ("pooled",), "coefficient": ("spearman",), "rater": ("learned:quick",)}


def test_training_rows_get_the_out_of_fold_ratings_of_the_folder(demo: Path, folder: Path) -> None:
    stored = pd.read_parquet(folder / "out-of-fold.parquet")
    rated = pd.DataFrame(rate(demo, options(folder)).ratings())
    rated = rated[rated.aspect.isin(stored.aspect.unique())].reset_index(drop=True)
    assert len(stored) == 96 * 3  # relevance, aggressiveness and suitableness
    assert stored.provenance.unique().tolist() == ["out_of_fold"]
    for column in ("reply_id", "rater", "rater_kind", "aspect", "provenance", "unlike_training"):
        assert rated[column].tolist() == stored[column].tolist()
    for column in ("value", "interval_low", "interval_high", "low", "high"):
        assert rated[column].tolist() == pytest.approx(stored[column].tolist())


def test_the_result_has_the_correlation_that_correlate_finds(demo: Path, tmp_path: Path) -> None:
    result = train_rater(demo, QUICK, out=tmp_path / "quick")
    found = correlate(demo, result.source_rows(), **POOLED).to_frame().set_index("aspect")["value"].to_dict()
    # The ratings of the folder are clipped to the scale, which may tie the lowest ones.
    assert found == pytest.approx({row["aspect"]: row["value"] for row in result.rows()}, abs=0.01)
    card = (tmp_path / "quick" / "README.md").read_text()
    assert "no evidence for other raters" in card
    # 23: counted with pandas, by the number of folds of each text.
    assert "the model did not see the message, in the same or other words. 23 of 43 different reply texts" in card
    assert result.notes[0] == "Trained on these raters; no evidence for other raters, systems or topics."


def test_the_same_training_writes_the_same_bytes(demo: Path, folder: Path, tmp_path: Path) -> None:
    train_rater(demo, QUICK, out=tmp_path / "quick")
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["README.md", "arrays.npz", "out-of-fold.parquet", "rater.json"]
    for name in names:
        assert (tmp_path / "quick" / name).read_bytes() == (folder / name).read_bytes()


def test_ratings_that_are_in_sample_are_refused(demo: Path, folder: Path) -> None:
    stored = pd.read_parquet(folder / "out-of-fold.parquet")
    stored.loc[:2, "provenance"] = "in_sample"
    stored.loc[0, "value"] = None
    with pytest.raises(InputError, match="found 2 ratings by learned:quick of replies that it was trained on"):
        correlate(demo, stored, **POOLED)


def test_new_replies_are_rated_by_the_model_of_all_rows(demo: Path, folder: Path) -> None:
    known = pd.read_parquet(next((demo / "replies").glob("*"))).iloc[5]
    message = " ".join(reversed(known.hate_speech.split()))  # other letters in a row, about equal features
    replies = [
        {"reply_id": "new", "hate_speech": message, "text": f"Now {known.text}"},
        {"reply_id": "odd", "hate_speech": "The Quillish.", "text": "!!! 777 ??? HTTP://X " * 40},
        {"reply_id": "none", "hate_speech": "The Quillish.", "text": ""},
    ]
    result = rate(replies, options(folder, aspect=("relevance",)))
    new, odd, none = result.ratings()
    assert (new["provenance"], new["unlike_training"]) == ("unseen", False)
    assert 1 <= new["interval_low"] <= new["value"] <= new["interval_high"] <= 5
    assert odd["unlike_training"] is True
    assert (none["value"], none["reason"], none["interval_low"]) == (None, "empty_reply", None)
    assert result.notes[1] == "learned:quick: replies unlike its training data (column unlike_training): 1."


def test_ratings_of_judges_are_features_and_are_needed_again(demo: Path, tmp_path: Path) -> None:
    result = train_rater(
        demo,
        TrainRaterOptions(encoder="none", folds=4, aspect=("relevance",), feature_rater=("simulated-judge",)),
        out=tmp_path / "with-judge",
        features_from=demo,
    )
    alone = train_rater(demo, TrainRaterOptions(encoder="none", folds=4, aspect=("relevance",)), out=tmp_path / "alone")
    assert result.rows()[0]["value"] > alone.rows()[0]["value"] + 0.3  # the simulated judge follows people
    rating = options(tmp_path / "with-judge", aspect=("relevance",))
    with pytest.raises(InputError, match="needs the ratings of simulated-judge: give them with --features-from"):
        rate(demo, rating)
    rated = rate(demo, rating, features_from=demo).ratings()
    stored = pd.read_parquet(tmp_path / "with-judge" / "out-of-fold.parquet")
    assert [row["value"] for row in rated] == pytest.approx(stored.value.tolist(), nan_ok=True)


def test_an_encoder_is_loaded_again_and_must_be_the_same(demo: Path, tmp_path: Path) -> None:
    from tests.retrieval.tiny import tiny_encoder

    one, other = (str(tiny_encoder(tmp_path / name)) for name in ("one", "other"))
    (Path(other) / "more.json").write_text("{}")  # other content, so another hash
    train_rater(demo, TrainRaterOptions(encoder=one, folds=4, limit=40), out=tmp_path / "rater")
    assert str(tmp_path) not in (tmp_path / "rater" / "rater.json").read_text()
    rated = rate(demo, options(tmp_path / "rater", encoder=one, limit=3)).ratings()
    assert {row["provenance"] for row in rated} == {"out_of_fold"}
    with pytest.raises(InputError, match="give the encoder of the training with --encoder"):
        rate(demo, options(tmp_path / "rater", encoder=other))
    with pytest.raises(InputError, match="name the folder with --encoder"):
        rate(demo, options(tmp_path / "rater"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fold_by": "round"}, "--fold-by round needs two or more rounds, found unknown"),
        ({"aspect": ("empathy",)}, "people did not rate empathy: choose --aspect among relevance"),
        ({"encoder": "nosuch"}, "--encoder nosuch is neither minilm, none nor a folder: give one of these"),
        ({"feature_rater": ("x",)}, "only for --features-from RATINGS"),
        (
            {"limit": 9},
            r"rating by people \(relevance 9, aggressiveness 9, suitableness 9\), expected 10 or more of one aspect",
        ),
    ],
)
def test_options_that_do_not_fit_are_refused_before_anything_is_written(
    demo: Path, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        train_rater(demo, TrainRaterOptions(**{"encoder": "none", **change}), out=tmp_path / "rater")
    assert not (tmp_path / "rater").exists()


def test_other_wrong_uses_are_refused(demo: Path, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is there and not empty"):
        train_rater(demo, QUICK, out=folder)
    with pytest.raises(InputError, match="is not the folder of a dataset and has no ratings"):
        train_rater([{"hate_speech": "The Ombrey.", "text": "No."}], QUICK, out=tmp_path / "rater")
    with pytest.raises(InputError, match="holds no ratings by unknown-rater"):
        train_rater(
            demo,
            TrainRaterOptions(encoder="none", feature_rater=("unknown-rater",)),
            out=tmp_path / "rater",
            features_from=demo,
        )
    with pytest.raises(InputError, match="--features-from is for a learned rater"):
        rate(demo, RateOptions(model=("m",), task="cseval"), features_from=demo)
    with pytest.raises(InputError, match="only for --model learned:FOLDER"):
        rate(demo, RateOptions(model=("m",), task="cseval", encoder="minilm"))
    with pytest.raises(InputError, match="a learned rater computes its ratings and asks no model"):
        rate(demo, options(folder, samples=3))
    with pytest.raises(InputError, match="--model learned: names no folder: give learned:FOLDER"):
        rate(demo, RateOptions(model=("learned:",), task="cseval"))
    with pytest.raises(InputError, match=r"has no rater\.json: give a folder of `fcconan judge train`"):
        rate(demo, options(tmp_path))


@pytest.mark.parametrize("name", ["two words", "r\u0430ter", "x" * 101, "a:b", "x\n"])
def test_a_folder_whose_name_cannot_be_that_of_a_rater_is_refused(demo: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="is the name of the rater, expected 1 to 100 of A-Z"):
        train_rater(demo, QUICK, out=tmp_path / name)
    assert not (tmp_path / name).exists()


def test_ten_ratings_of_one_aspect_are_enough_and_replies_to_one_message_are_not(demo: Path, tmp_path: Path) -> None:
    one_aspect = TrainRaterOptions(encoder="none", folds=2, limit=10)
    assert train_rater(demo, one_aspect, out=tmp_path / "rater").data["replies"] == 10
    replies = [
        {"reply_id": f"re-{at}", "hate_speech": "The Ombrey.", "text": f"Says {at}.", "system": f"s{at % 2}"}
        for at in range(12)
    ]
    ratings = [
        {"reply_id": f"re-{at}", "rater": "anna", "aspect": "tone", "value": at % 5, "low": 0, "high": 4}
        for at in range(12)
    ]
    with pytest.raises(InputError, match="found ratings of replies to one HS or its near-duplicates"):
        train_rater(
            replies, TrainRaterOptions(encoder="none", fold_by="system"), out=tmp_path / "other", ratings=ratings
        )


def test_systems_may_be_held_out(demo: Path, tmp_path: Path) -> None:
    result = train_rater(demo, TrainRaterOptions(encoder="none", fold_by="system"), out=tmp_path / "rater")
    assert (result.data["folds"], result.data["fold_by"]) == (4, "system")
    known = pd.read_parquet(next((demo / "replies").glob("*"))).hate_speech[0]
    message = {"hate_speech": known, "text": HONEST}
    (rating,) = rate([message], options(tmp_path / "rater", aspect=("relevance",))).ratings()
    assert rating["provenance"] == "in_sample"  # each model saw the message with another system's reply
