"""Learned raters: features, folds, regressions, cross-fitting and uncertainty, without an encoder and without files."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, spearmanr
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import rbf_kernel

from fcconan.data import balanced_folds, leakage_groups
from fcconan.errors import InputError
from fcconan.judging.learned.cross_fitting import fit
from fcconan.judging.learned.features import (
    EMBEDDING,
    SURFACE,
    SURFACE_NAMES,
    Features,
    compute_features,
    surface_features,
)
from fcconan.judging.learned.folds import fold_numbers
from fcconan.judging.learned.rated_texts import RatedAspect, RatedTexts, make_rated_texts
from fcconan.judging.learned.rater import coverage, fit_novelty_detector, half_width
from fcconan.judging.learned.regression import ALPHAS, FEWEST, GAMMAS, Learner, fit_space
from fcconan.judging.learned.training_texts import (
    IN_SAMPLE,
    OUT_OF_FOLD,
    UNSEEN,
    hash_training_texts,
    minhash_signature,
)

ASPECTS = (RatedAspect("relevance", 1, 5), RatedAspect("tone", 1, 5, higher_is_better=False))


def simulated(n: int = 120, *, groups: int = 30, seed: int = 0, noise: float = 0.3) -> tuple[RatedTexts, Features]:
    """Replies with random features, of which two decide people's ratings."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((n, 6))
    signal = np.stack([values[:, 0], np.tanh(2 * values[:, 1])], axis=1)
    ratings = 3 + signal + noise * rng.standard_normal((n, 2))
    table = RatedTexts(
        reply_ids=tuple(f"re-{at}" for at in range(n)),
        messages=tuple(f"The Ombrey number {at % groups} keep our books." for at in range(n)),
        texts=tuple(f"They return all {at} of them." for at in range(n)),
        aspects=ASPECTS,
        ratings=ratings,
        systems=tuple("ab"[at % 2] for at in range(n)),
        rounds=tuple(f"round-{at % 3}" for at in range(n)),
        groups=np.arange(n) % groups,
    )
    return table, Features({EMBEDDING: values[:, :4], SURFACE: values[:, 4:]})


def test_surface_features_are_those_of_the_texts() -> None:
    found = dict(
        zip(SURFACE_NAMES, surface_features(["The Ombrey lie."], ['Do THE Ombrey lie? "No", 9 say!'])[0], strict=True)
    )
    assert found["log_characters"] == pytest.approx(math.log(32))
    assert found["log_words"] == pytest.approx(math.log(8))  # do the ombrey lie no 9 say
    assert found["log_sentences"] == pytest.approx(math.log(3))
    assert found["log_message_words"] == pytest.approx(math.log(4))
    assert found["shared_with_message"] == pytest.approx(3 / 7)
    assert found["overlap_with_message"] == pytest.approx(3 / 7)
    assert found["different_words"] == 1
    assert found["question_marks"] == found["exclamation_marks"] == found["commas"] == pytest.approx(math.log(2))
    assert found["quotation_marks"] == pytest.approx(math.log(3))
    assert found["share_of_digits"] == pytest.approx(1 / 31)
    assert found["share_of_capitals"] == pytest.approx(6 / 31)
    assert found["words_in_capitals"] == pytest.approx(1 / 7)
    assert (found["is_question"], found["starts_with_capital"], found["ends_with_mark"], found["has_address"]) == (
        1,
        1,
        1,
        0,
    )


def test_features_of_empty_texts_are_finite() -> None:
    assert np.isfinite(surface_features([""], [""])).all()


def test_embeddings_are_of_message_and_reply_with_product_and_difference() -> None:
    class Lengths:
        name, configuration = "lengths", {"kind": "lengths"}

        def encode(self, texts: list[str], *, role: str) -> np.ndarray:
            assert len(texts) == len(set(texts))  # each text once
            return np.array([[len(text), 1.0] for text in texts])

    found = compute_features(["abc", "abc"], ["a", "abc"], Lengths(), np.array([[np.nan], [2.0]]))  # type: ignore[arg-type]
    assert found.blocks[EMBEDDING].tolist() == [[3, 1, 1, 1, 3, 1, 2, 0], [3, 1, 3, 1, 9, 1, 0, 0]]
    assert found.widths == {"embedding": 8, "surface": len(SURFACE_NAMES), "ratings": 1}


def test_no_group_is_split_over_folds_and_folds_are_of_about_equal_size() -> None:
    keys = [key for key, number in zip("abcdefgh", (9, 7, 5, 4, 4, 3, 2, 2), strict=True) for _ in range(number)]
    folds = balanced_folds(keys, 4, seed=3)
    assert all(
        len({int(fold) for key, fold in zip(keys, folds, strict=True) if key == each}) == 1 for each in "abcdefgh"
    )
    assert sorted(np.bincount(folds).tolist()) == [8, 9, 9, 10]  # 9, 7 + 2, 5 + 3, 4 + 4 + 2


def test_systems_and_rounds_are_folds_of_their_own() -> None:
    table, _ = simulated(12, groups=3)
    by_system = fold_numbers(table, by="system", folds=10)
    assert {(name, int(fold)) for name, fold in zip(table.systems, by_system, strict=True)} in (
        {("a", 0), ("b", 1)},
        {("a", 1), ("b", 0)},
    )
    with pytest.raises(InputError, match="--fold-by round needs two or more rounds, found unknown"):
        fold_numbers(replace(table, rounds=("unknown",) * 12), by="round")


def test_messages_in_other_words_are_one_group_and_replies_join_none() -> None:
    groups = leakage_groups(["The Tessok sing all night.", "the tessok sing all nights!", "The Velmari are rude."])
    assert groups[0] == groups[1] != groups[2]
    assert leakage_groups(["One.", "Two things."], [("x:1",), ("x:1",)]).tolist() == [0, 0]


def test_rounds_come_from_their_column_or_from_the_splits_that_hold_the_row() -> None:
    rows: list[dict[str, Any]] = [
        {"reply_id": "a", "round": 2},
        {"reply_id": "b", "also_in": ["dev", "agreement_round1"]},
        {"reply_id": "c"},
    ]
    table = make_rated_texts(rows, ASPECTS, np.zeros((3, 2)), np.arange(3))
    assert table.rounds == ("2", "agreement_round1", "unknown")


def test_components_are_those_of_scikit_learn() -> None:
    _, features = simulated(40)
    space = fit_space(features)
    oracle = PCA(svd_solver="full").fit(space.scaled(features))
    ours, theirs = space.components, oracle.components_.T
    assert np.abs((ours * theirs).sum(axis=0)) == pytest.approx(np.ones(6))
    assert space.points(features).var(axis=0) == pytest.approx(oracle.explained_variance_ * 39 / 40)


def test_wide_features_have_the_same_components_as_their_transpose() -> None:
    rng = np.random.default_rng(0)
    space = fit_space(Features({EMBEDDING: rng.standard_normal((9, 30))}))
    assert space.components.shape == (30, 8)  # centred rows span one dimension less
    assert space.components.T @ space.components == pytest.approx(np.eye(8), abs=1e-9)


def test_models_are_ridge_regressions_of_scikit_learn_on_the_landmarks_kernel() -> None:
    table, features = simulated(80)
    table.ratings[::7, 1] = np.nan  # other rows, so other matrices
    space = fit_space(features, seed=4)
    points = space.points(features)
    rows = np.arange(80) < 60
    models = Learner(space, points, table.ratings, table.groups).fit(rows)
    predicted = models.predict(space, points)
    assert models.counts.tolist() == [60, 51]
    for aspect in range(2):
        gamma, used = float(models.gammas[aspect]), rows & ~np.isnan(table.ratings[:, aspect])
        values, vectors = np.linalg.eigh(rbf_kernel(space.landmarks, gamma=gamma))
        inverse_root = vectors @ np.diag(1 / np.sqrt(np.maximum(values, 1e-9))) @ vectors.T
        mapped = rbf_kernel(points, space.landmarks, gamma=gamma) @ inverse_root
        oracle = Ridge(alpha=float(models.alphas[aspect])).fit(mapped[used], table.ratings[used, aspect])
        assert predicted[:, aspect] == pytest.approx(oracle.predict(mapped), abs=1e-6)


def test_kernel_and_penalty_are_the_best_of_a_grouped_cross_validation() -> None:
    table, features = simulated(60)
    space = fit_space(features)
    points = space.points(features)
    models = Learner(space, points, table.ratings, table.groups, seed=2).fit(np.ones(60, dtype=np.bool_))
    inner = balanced_folds(table.groups.tolist(), 5, seed=2)
    for aspect in range(2):
        scores = {}
        for gamma in GAMMAS:
            mapped = space.kernel(points, gamma) @ space.whitening(gamma)
            for alpha in ALPHAS:
                found = np.zeros(60)
                for fold in range(5):
                    held = inner == fold
                    ridge = Ridge(alpha=alpha).fit(mapped[~held], table.ratings[~held, aspect])
                    found[held] = ridge.predict(mapped[held])
                scores[gamma, alpha] = spearmanr(found, table.ratings[:, aspect])[0]
        assert scores[models.gammas[aspect], models.alphas[aspect]] == pytest.approx(max(scores.values()))


def test_predictions_of_a_group_ignore_its_ratings() -> None:
    table, features = simulated()
    folds = fold_numbers(table, folds=5)
    flipped = table.ratings.copy()
    own = folds == folds[0]
    flipped[own] = 6 - flipped[own]
    before, after = (
        fit(replace(table, ratings=each), features, folds=folds).predicted for each in (table.ratings, flipped)
    )
    assert (before[own] == after[own]).all()
    assert (before[~own] != after[~own]).all()


def test_signal_is_found_and_permuted_ratings_are_not() -> None:
    table, features = simulated(300, groups=100)
    folds = fold_numbers(table)
    found = fit(table, features, folds=folds).predicted
    shuffled = table.ratings[np.random.default_rng(1).permutation(300)]
    chance = fit(replace(table, ratings=shuffled), features, folds=folds).predicted
    for aspect in range(2):
        assert spearmanr(found[:, aspect], table.ratings[:, aspect])[0] > 0.75
        assert abs(spearmanr(chance[:, aspect], shuffled[:, aspect])[0]) < 0.2


def test_too_few_ratings_give_no_prediction() -> None:
    table, features = simulated()
    few = np.where(np.arange(120)[:, None] < FEWEST - 1, table.ratings, np.nan)
    predicted = fit(replace(table, ratings=few), features, folds=fold_numbers(table, folds=4)).predicted
    assert np.isnan(predicted).all()


def test_equal_data_and_seed_give_equal_models() -> None:
    table, features = simulated()
    folds = fold_numbers(table, folds=4)
    one, other = (fit(table, features, folds=folds, seed=7) for _ in range(2))
    assert one.of_all.coefficients.tobytes() == other.of_all.coefficients.tobytes()
    assert one.predicted.tobytes() == other.predicted.tobytes()


def test_half_width_is_the_conformal_quantile() -> None:
    errors = np.array([3.0, -1.0, 2.0, np.nan, -4.0])
    assert half_width(errors, 0.5) == 3.0  # ceil(5 * .5) = 3rd of 1, 2, 3, 4
    assert half_width(errors, 0.8) == 4.0
    assert math.isnan(half_width(errors, 0.9))  # ceil(5 * .9) = 5th of four


def test_intervals_cover_what_they_promise() -> None:
    table, features = simulated(400, groups=200, noise=1.0)
    folds = fold_numbers(table)
    fitted = fit(table, features, folds=folds)
    fresh, others = simulated(2000, groups=1000, seed=9, noise=1.0)
    predicted = fitted.of_all.predict(fitted.space, fitted.space.points(others))
    for aspect in range(2):
        errors = table.ratings[:, aspect] - fitted.predicted[:, aspect]
        covered, total = coverage(errors, folds)
        assert total == 400
        assert binom.ppf(0.001, 400, 0.9) <= covered <= binom.ppf(0.999, 400, 0.9)
        inside = np.abs(fresh.ratings[:, aspect] - predicted[:, aspect]) <= half_width(errors)
        assert 0.86 <= inside.mean() <= 0.94  # the half-width itself varies with 400 errors by 1.5 %


def test_unlike_replies_are_flagged_and_about_one_in_a_hundred_of_the_others() -> None:
    table, features = simulated(1000, groups=500)
    space = fit_space(features)
    novelty = fit_novelty_detector(space.scaled(features), space.points(features), fold_numbers(table))
    _, others = simulated(1000, groups=500, seed=5)
    far = Features({name: values + 5 for name, values in others.blocks.items()})
    shares = [
        (novelty.scores(space.scaled(each), space.points(each)) > novelty.threshold).mean() for each in (others, far)
    ]
    assert 0.001 <= shares[0] <= 0.03
    assert shares[1] == 1


MESSAGE = "The Dravene take all the good places at the river, and we are left with none of them."


def test_a_model_that_did_not_see_the_texts_rates_them() -> None:
    texts = hash_training_texts(
        [MESSAGE, MESSAGE, "Quillish songs are noise.", "Ostrun bakers cheat."],
        ["Who told you?", "I met them.", "Who told you?", "Not mine."],
        [(), (), ("c:7",), ()],
        np.array([1, 1, 2, 0]),
    )
    assert texts.model_for(MESSAGE.upper(), "I  met them") == (1, OUT_OF_FOLD)
    assert texts.model_for(MESSAGE, "A new reply.") == (1, OUT_OF_FOLD)
    assert texts.model_for(MESSAGE.replace("river", "rivers"), "A new reply.") == (1, OUT_OF_FOLD)
    assert texts.model_for("Translated songs.", "A new reply.", ["c:7"]) == (2, OUT_OF_FOLD)
    assert texts.model_for("Something else entirely.", "Not mine!") == (0, OUT_OF_FOLD)
    assert texts.model_for("Ostrun bakers cheat!", "Not mine, either.") == (0, OUT_OF_FOLD)
    assert texts.model_for("Something else entirely.", "Who told you?") == (None, IN_SAMPLE)
    assert texts.model_for("Something else entirely.", "A new reply.") == (None, UNSEEN)
    assert texts.model_for("", "") == (None, UNSEEN)


def test_a_training_message_with_a_training_reply_of_another_fold_is_in_sample() -> None:
    texts = hash_training_texts(
        [MESSAGE, "Quillish songs are noise.", "Ostrun bakers cheat.", "Tessok drive too fast."],
        ["Who told you?", "Who told you?", "I met them.", "Not mine."],
        [(), ("c:7",), (), ()],
        np.array([1, 2, 2, 0]),
    )
    assert texts.model_for(MESSAGE, "Not mine.") == (None, IN_SAMPLE)  # model 1 saw the reply, model 0 the message
    assert texts.model_for(MESSAGE.replace("river", "rivers"), "I met them.") == (None, IN_SAMPLE)
    assert texts.model_for("Translated songs.", "Not mine.", ["c:7"]) == (None, IN_SAMPLE)
    assert texts.model_for("Ostrun bakers cheat.", "Who told you?") == (None, IN_SAMPLE)
    assert texts.model_for("Quillish songs are noise.", "I met them.") == (2, OUT_OF_FOLD)  # both are of fold 2 only
    assert texts.model_for(MESSAGE, "Who told you?") == (1, OUT_OF_FOLD)  # a training row: its message was held out
    assert texts.shared_replies == 1


def test_each_training_row_is_remembered() -> None:
    texts = hash_training_texts([MESSAGE] * 3, ["One.", "ONE", "Two."], [()] * 3, np.array([0, 0, 1]))
    assert sorted(texts.pairs.values()) == [(0, 0), (1,)]
    assert texts.model_for(MESSAGE, "one") == (0, OUT_OF_FOLD)


def test_a_message_in_several_folds_was_seen_by_each_model() -> None:
    texts = hash_training_texts([MESSAGE, MESSAGE], ["One.", "Two."], [(), ()], np.array([0, 1]))
    assert texts.model_for(MESSAGE, "Two.") == (1, OUT_OF_FOLD)  # the row itself was held out
    assert texts.model_for(MESSAGE, "Three.") == (None, IN_SAMPLE)


def test_signatures_estimate_the_share_of_common_runs() -> None:
    rng = np.random.default_rng(0)
    letters = "abcdefghij"
    for _ in range(20):
        one = "".join(rng.choice(list(letters), 60))
        other = one[: rng.integers(20, 60)] + "".join(rng.choice(list(letters), 20))
        runs = [{text[at : at + 3] for at in range(len(text) - 2)} for text in (one, other)]
        exact = len(runs[0] & runs[1]) / len(runs[0] | runs[1])
        estimate = float((minhash_signature(one) == minhash_signature(other)).mean())
        assert estimate == pytest.approx(exact, abs=0.16)  # four standard deviations


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"texts": ("a",)}, "different lengths"),
        ({"ratings": np.zeros((120, 3))}, r"shape \(120, 3\), expected \(120, 2\)"),
        ({"ratings": np.full((120, 2), np.inf)}, "infinite"),
        ({"reply_ids": ("re-1",) * 120}, "occurs twice"),
    ],
)
def test_a_table_that_contradicts_itself_is_refused(change: dict[str, object], message: str) -> None:
    table, _ = simulated()
    with pytest.raises(InputError, match=message):
        replace(table, **change)  # type: ignore[arg-type]
