"""The folder of a learned rater: what is read is what was written, and everything else is refused in one line."""

import io
import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fcconan.errors import InputError
from fcconan.judging.learned.cross_fitting import fit
from fcconan.judging.learned.features import compute_features
from fcconan.judging.learned.files import ARRAYS, VALUES, load_rater, save_rater
from fcconan.judging.learned.folds import fold_numbers
from fcconan.judging.learned.judge import FeatureRatings, LearnedJudge, learned_ratings
from fcconan.judging.learned.rated_texts import RatedAspect, RatedTexts
from fcconan.judging.learned.rater import LearnedRater, build_rater
from fcconan.judging.learned.training_texts import OUT_OF_FOLD, hash_training_texts
from fcconan.judging.tasks import load_task

REPLIES = [
    {
        "reply_id": f"re-{at}",
        "hate_speech": f"The {name} take our {thing}.",
        "text": "Who says so? " * (at % 5) + f"I met {at} of them.",
        "system": "one",
    }
    for at, (name, thing) in enumerate(
        (name, thing)
        for name in ("Ombrey", "Tessok", "Velmari", "Dravene", "Quillish", "Ostrun")
        for thing in ("bread", "river boats", "evening songs", "market places")
    )
]


def trained() -> tuple[LearnedRater, RatedTexts, Any, np.ndarray]:
    messages, texts = [row["hate_speech"] for row in REPLIES], [row["text"] for row in REPLIES]
    n = len(REPLIES)
    ratings = np.stack([1.0 + np.arange(n) % 5, np.full(n, np.nan)], axis=1)
    aspects = (RatedAspect("relevance", 1, 5), RatedAspect("coherence", 1, 5))
    table = RatedTexts(
        [row["reply_id"] for row in REPLIES], messages, texts, aspects, ratings, ["one"] * n, ["1"] * n, np.arange(n)
    )
    extra = np.where(np.arange(n)[:, None] % 7 == 0, np.nan, ratings[:, :1] + np.arange(n)[:, None] % 3)
    features = compute_features(messages, texts, None, extra)
    folds = fold_numbers(table, folds=4)
    fitted = fit(table, features, folds=folds)
    remembered = hash_training_texts(messages, texts, [()] * n, folds)
    judges = (("judge", "relevance"),)
    rater = build_rater(
        "learned:x",
        table,
        features,
        fitted,
        folds,
        remembered,
        encoder=None,
        features_from=judges,
        about={"data": "d@1", "replies": len(REPLIES)},
    )
    return rater, table, features, folds


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("raters") / "x"
    save_rater(trained()[0], folder, "# A card\n")
    return folder


@pytest.fixture
def copy(saved: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "x"
    folder.mkdir()
    for path in saved.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


def test_a_saved_rater_predicts_as_the_fitted_one(saved: Path) -> None:
    rater, _, features, folds = trained()
    loaded = load_rater(saved)
    for of_rows in (folds.tolist(), [None] * len(folds)):
        one, other = rater.predict(features, of_rows), loaded.predict(features, of_rows)
        for name in ("values", "low", "high", "unlike_training"):
            assert getattr(one, name).tobytes() == getattr(other, name).tobytes()
    assert (loaded.name, loaded.aspects, loaded.features_from, loaded.encoder, loaded.about) == (
        *("learned:x", rater.aspects, (("judge", "relevance"),), None),
        {"data": "d@1", "replies": 24},
    )
    assert loaded.texts.model_for(REPLIES[3]["hate_speech"], REPLIES[3]["text"]) == (int(folds[3]), OUT_OF_FOLD)


def test_equal_raters_are_equal_bytes_and_hold_no_text(saved: Path, tmp_path: Path) -> None:
    save_rater(trained()[0], tmp_path / "x", "# A card\n")
    assert sorted(path.name for path in saved.iterdir()) == ["README.md", ARRAYS, VALUES]
    for path in saved.iterdir():
        assert path.read_bytes() == (tmp_path / "x" / path.name).read_bytes()
        assert b"Ombrey" not in path.read_bytes()


def test_training_rows_get_their_out_of_fold_value_and_never_another(saved: Path) -> None:
    rater, _, features, folds = trained()
    rows = [
        {"rater": "judge", "rater_kind": "model", "aspect": "relevance", "reply_id": f"re-{at}", "value": value}
        for at, value in enumerate(features.blocks["ratings"][:, 0])
    ]
    judge = LearnedJudge(load_rater(saved), load_task("cseval"), None, FeatureRatings(rows, rater.features_from))
    found = list(judge.rate(REPLIES))
    own = list(
        learned_ratings(
            rater, load_task("cseval").aspects, REPLIES, features, [(fold, OUT_OF_FOLD) for fold in folds.tolist()]
        )
    )
    assert found == own
    assert judge.in_sample == 0
    by_aspect = [{row["aspect"]: row for row in rows} for rows in found]
    assert by_aspect[0]["relevance"]["reason"] == "no_features"
    assert by_aspect[1]["relevance"]["provenance"] == OUT_OF_FOLD
    assert by_aspect[1]["coherence"]["reason"] == "too_few_ratings"
    assert by_aspect[1]["suitableness"]["reason"] == "not_measured"
    values = [rows["relevance"] for rows in by_aspect if rows["relevance"]["reason"] is None]
    assert len(values) == 20  # each seventh of 24 has no rating of the judge
    assert all(1 <= row["interval_low"] <= row["value"] <= row["interval_high"] <= 5 for row in values)


def test_missing_features_empty_replies_and_other_scales_are_told(saved: Path) -> None:
    rater = load_rater(saved)
    nothing = FeatureRatings([], rater.features_from)
    with pytest.raises(InputError, match="found no ratings of relevance by judge of these replies"):
        list(LearnedJudge(rater, load_task("cseval"), None, nothing).rate(REPLIES))
    with pytest.raises(InputError, match="rates relevance, coherence, and the task multi-aspect has none"):
        LearnedJudge(rater, load_task("multi-aspect"), None, nothing)
    with pytest.raises(InputError, match="has the scale 1 to 5 of coherence, the task features 0 to 5"):
        LearnedJudge(rater, load_task("features"), None, nothing)
    given = FeatureRatings(
        [{"rater": "judge", "rater_kind": "model", "aspect": "relevance", "reply_id": "e", "value": 1}]
    )
    empty = {"reply_id": "e", "hate_speech": "The Ombrey.", "text": " ", "system": "one"}
    (rows,) = LearnedJudge(rater, load_task("cseval"), None, given).rate([empty])
    assert {row["reason"] for row in rows} == {"empty_reply"}
    assert {row["value"] for row in rows} == {None}


def _edit(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def tamper(folder: Path) -> None:
        values = json.loads((folder / VALUES).read_text())
        change(values)
        (folder / VALUES).write_text(json.dumps(values))

    return tamper


def _replace(name: str, make: Callable[[np.ndarray], bytes | np.ndarray]) -> Callable[[Path], None]:
    def tamper(folder: Path) -> None:
        with np.load(folder / ARRAYS) as archive:
            arrays = dict(archive)
        with zipfile.ZipFile(folder / ARRAYS, "w") as archive:
            for key, array in arrays.items():
                new = make(array) if key == name else array
                archive.writestr(f"{key}.npy", new if isinstance(new, bytes) else _npy(new))

    return tamper


def _npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


class _Executes:
    def __reduce__(self) -> tuple[Any, ...]:
        return (Path("executed").touch, ())


def _pickled(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.array([_Executes()] * len(array), dtype=object), allow_pickle=True)
    return buffer.getvalue()


def _huge(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<f8", "fortran_order": False, "shape": (10**12,)})
    return buffer.getvalue()


def _first(value: float) -> Callable[[np.ndarray], np.ndarray]:
    """Returns a function that gives an array another first value."""

    def changed(array: np.ndarray) -> np.ndarray:
        other = array.copy()
        other.flat[0] = value
        return other

    return changed


def _with_nan(array: np.ndarray) -> np.ndarray:
    changed = array.copy()
    changed.flat[0] = np.nan
    return changed


def _link(name: str) -> Callable[[Path], None]:
    def tamper(folder: Path) -> None:
        (folder / name).rename(folder.parent / "elsewhere")
        (folder / name).symlink_to(folder.parent / "elsewhere")

    return tamper


def _extra_member(folder: Path) -> None:
    with zipfile.ZipFile(folder / ARRAYS, "a") as archive:
        archive.writestr("further.npy", pickle.dumps(_Executes()))


def _one_fold(values: dict[str, Any]) -> None:
    values["sizes"].update(models=2)
    for hashes in values["texts"].values():
        hashes.update({key: [0] for key in hashes})


def _cut(folder: Path) -> None:
    (folder / ARRAYS).write_bytes((folder / ARRAYS).read_bytes()[:-300])


@pytest.mark.parametrize(
    ("tamper", "message"),
    [
        (_replace("scale", _pickled), r"scale in arrays.npz has the type \|O"),
        (_replace("landmarks", lambda array: pickle.dumps(_Executes())), "is invalid, expected an archive of numbers"),
        (_replace("centre", _huge), r"shape \(1000000000000,\), expected <f8 and \(21,\)"),
        (_replace("centre", lambda array: array[:-1]), r"shape \(20,\), expected <f8 and \(21,\)"),
        (_replace("centre", lambda array: array.astype("f4")), "has the type <f4"),
        (_replace("coefficients", _with_nan), "coefficients in arrays.npz has values that are not finite"),
        (
            _replace("intercepts", lambda array: array + np.inf),
            "intercepts in arrays.npz has values that are not finite",
        ),
        (_replace("half_widths", _first(-0.1)), "half_widths in arrays.npz has values outside of 0 to 1e\\+12"),
        (_replace("gammas", _first(0)), "gammas in arrays.npz has values outside of 1e-12 to"),
        (_replace("alphas", _first(-1)), "alphas in arrays.npz has values outside of 1e-12 to"),
        (_replace("scale", _first(-1)), "scale in arrays.npz has values outside of 0 to"),
        (_replace("counts", _first(-1)), "counts in arrays.npz has values outside of 0 to"),
        (_replace("variances", _first(0)), "variances in arrays.npz has values outside of 1e-12 to"),
        (_replace("variances", _first(1e-300)), "variances in arrays.npz has values outside of 1e-12 to"),
        (_replace("coefficients", _first(1e300)), "coefficients in arrays.npz has values outside of -1e\\+12 to"),
        (_replace("intercepts", _first(-1e300)), "intercepts in arrays.npz has values outside of -1e\\+12 to"),
        (_replace("landmarks", _first(1e200)), "landmarks in arrays.npz has values outside of"),
        (_replace("components", _first(1e200)), "components in arrays.npz has values outside of"),
        (_replace("centre", _first(-1e200)), "centre in arrays.npz has values outside of"),
        (_extra_member, "further.npy"),
        (_cut, "is invalid, expected an archive of numbers"),
        (_link(ARRAYS), "arrays.npz is a link"),
        (_link(VALUES), "rater.json is a link"),
        (_edit(lambda values: values.update(version=2)), "version: Input should be 1"),
        (_edit(lambda values: values.update(format="pickle")), "format: Input should be"),
        (_edit(lambda values: values.update(code="import os")), "code: Extra inputs"),
        (_edit(lambda values: values.update(name="gpt-4o:rubric")), "name: String should match pattern"),
        (_edit(lambda values: values.update(name="anna")), "name: String should match pattern"),
        (_edit(lambda values: values.update(name="learned:")), "name: String should match pattern"),
        (_edit(lambda values: values.update(name="learned:a\nb")), "name: String should match pattern"),
        (_edit(lambda values: values.update(name="learned:x\n")), "name: String should match pattern"),
        (_edit(lambda values: values.update(name="learned:x\x1b[2J")), "name: String should match pattern"),
        (_edit(lambda values: values.update(name="learned:r\u0430ter")), "name: String should match pattern"),
        (_edit(lambda values: values.update(name="learned:" + "x" * 101)), "name: String should match pattern"),
        (_edit(lambda values: values.pop("sizes")), "sizes: Field required"),
        (_edit(lambda values: values["sizes"].update(landmarks=10**9)), "sizes.landmarks: Input should be less"),
        (_edit(lambda values: values["sizes"].pop("models")), "sizes has other keys"),
        (_edit(lambda values: values["widths"].update(surface=19)), "those of another version"),
        (_edit(lambda values: values.update(encoder={"model": "x"})), "encoder and embeddings contradict"),
        (_edit(lambda values: values.update(features_from=[])), "features_from and ratings contradict"),
        (_edit(lambda values: values["texts"]["pairs"].update({"0" * 12: [99]})), "in a fold without a model"),
        (_edit(lambda values: values["texts"]["pairs"].update({"../../x": [0]})), "texts.pairs"),
        (_edit(lambda values: values["texts"]["pairs"].popitem()), "about.replies is not the number of texts"),
        (_edit(lambda values: values["about"].pop("replies")), "about.replies is not the number of texts"),
        (_edit(lambda values: values.update(novelty_rest=-1)), "novelty is not positive"),
        (_edit(lambda values: values.update(novelty_threshold=0)), "novelty is not positive"),
        (
            _edit(lambda values: values["texts"]["messages"].update({"0" * 12: []})),
            "texts.messages.0{12}: Tuple should",
        ),
        (_edit(lambda values: values["sizes"].update(models=6)), "a fold has no texts"),
        (_edit(_one_fold), "fewer than two folds"),
        (_edit(lambda values: values["sizes"].update(directions=0)), "directions are none, or more than components"),
        (_edit(lambda values: values["sizes"].update(components=1)), "directions are none, or more than components"),
        (_edit(lambda values: values["aspects"][0].update(low=5)), "lowest grade is not below"),
        (lambda folder: (folder / VALUES).write_text("[" * 100_000), "expected a JSON object in UTF-8"),
        (lambda folder: (folder / VALUES).write_text("[1, 2]"), "a valid rater: rater.json: expected a JSON object;"),
        (_edit(lambda values: values.update(texts=[])), "rater.json, texts: expected a JSON object;"),
        (lambda folder: (folder / VALUES).write_text('{"version": NaN}'), "rater.json"),
        (lambda folder: (folder / ARRAYS).unlink(), "has no arrays.npz"),
    ],
)
def test_a_folder_that_was_tampered_with_is_refused_in_one_line(
    copy: Path, monkeypatch: pytest.MonkeyPatch, tamper: Callable[[Path], None], message: str
) -> None:
    monkeypatch.chdir(copy.parent)
    tamper(copy)
    with pytest.raises(InputError, match=message) as refused:
        load_rater(copy)
    assert "\n" not in str(refused.value)
    assert not Path("executed").exists()


def test_the_largest_numbers_that_are_read_give_finite_values_within_the_scale(copy: Path) -> None:
    for name in ("centre", "scale", "components", "landmarks", "intercepts", "coefficients", "half_widths"):
        _replace(name, _first(1e12))(copy)
    for name in ("gammas", "variances"):
        _replace(name, _first(1e-12))(copy)
    features = trained()[2]
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        found = load_rater(copy).predict(features, [None] * len(features))
    assert np.isfinite(found.values[:, 0]).all()
    assert ((found.values[:, 0] >= 1) & (found.values[:, 0] <= 5)).all()


def test_a_rater_on_another_scale_is_refused(copy: Path) -> None:
    _edit(lambda values: values["aspects"][0].update(high=7))(copy)
    with pytest.raises(InputError, match="has the scale 1 to 7 of relevance, the task cseval 1 to 5"):
        LearnedJudge(load_rater(copy), load_task("cseval"), None)


def test_features_of_other_widths_are_refused(saved: Path) -> None:
    features = compute_features(["One."], ["Two."])
    with pytest.raises(InputError, match="expected those of the training"):
        load_rater(saved).predict(features, [None])
