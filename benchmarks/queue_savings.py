"""Savings of `fcconan annotate queue` on FC-CONAN: the judgements that find 50, 80, 90 and 95 % of the positives.

- queue: the default queue by tier, without random units, and without scores. The baseline is the order of the
  similarity alone.
- held-out: on random halves of the HS, the queue with constants fitted to the labels of the other HS, compared with the
  default constants, which were chosen on all labels.
- stopping: judgements and recall when the queue reports that a target is reached, and how often an interval is ever
  wrong, on FC-CONAN and on simulated labels.
- tiers: the default queue on all four tiers; with `--encoder FOLDER`, with this encoder instead of MiniLM, and
  with the scores of both.

Savings are relative to the mean of random orders. The scores are the similarity of HS and CN, and the sum of
this similarity and of the one propagated through the training pairs; neither uses labels of the pairs.

Run it with `python benchmarks/queue_savings.py FOLDER [--json FILE] [--seeds N] [--part NAME] [--encoder FOLDER]`,
where FOLDER is the output of `fcconan build fc-conan`.
"""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from queue_replay import Model, needed, needed_at_random, replay

from fcconan.annotation.queue_model import (
    EXPLORE,
    Problem,
    before_learning,
    likeness,
    predict,
    standardised,
)
from fcconan.data import make_cn_id, make_hs_id
from fcconan.errors import InputError
from fcconan.retrieval import MINILM, SentenceEncoder, TrainingPair
from fcconan.scoring import Floats

SHARES = (0.5, 0.8, 0.9, 0.95)
TARGETS = (0.8, 0.9, 0.95)
TIERS = ("bronze", "silver", "gold")  # Silver is Bronze without unconfirmed labels
EXPLORED = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8)
Truths = npt.NDArray[np.bool_]
Row = dict[str, Any]


class Pairs:
    """The pairs of FC-CONAN as inputs of the queue's model.

    Attributes:
        problem: All pairs of Bronze, with both scores.
        positive: Labels of the pairs.
        tier: Narrowest tier of each pair.
    """

    def __init__(self, folder: Path, encoder_name: str = MINILM) -> None:
        rows, training_pairs = read_pairs(folder)
        queries = {row["hs_id"]: row["hate_speech"] for row in rows}
        corpus = {row["cn_id"]: row["counter_narrative"] for row in rows}
        place = [{name: at for at, name in enumerate(texts)} for texts in (queries, corpus)]
        hs = np.array([place[0][row["hs_id"]] for row in rows])
        cn = np.array([place[1][row["cn_id"]] for row in rows])
        encoder = SentenceEncoder(encoder_name)
        vectors = [encoder.encode(list(texts.values()), role="document") for texts in (queries, corpus)]
        direct = vectors[0] @ vectors[1].T
        spread = propagated(*vectors, encoder, training_pairs)
        likenesses = likeness(vectors[0]), likeness(vectors[1])
        self.problem = Problem(hs, cn, *likenesses, standardised(np.stack([direct[hs, cn], spread[hs, cn]], axis=1)))
        self.positive = np.array([row["label"] == "appropriate" for row in rows])
        self.tier = np.array([row["tier"] for row in rows])

    def within(self, tier: str) -> Truths:
        """Returns a mask of the pairs in a tier."""
        narrower = ("diamond", "gold", "silver", "bronze")
        found: Truths = np.isin(self.tier, narrower[: narrower.index(tier) + 1])
        return found


def read_pairs(folder: Path) -> tuple[list[Row], list[TrainingPair]]:
    """Returns the rows of Bronze, and the training pairs, which share no HS or CN with them.

    Raises:
        InputError: The training pairs are missing, or share an HS or a CN with Bronze.
    """
    rows = pd.read_parquet(folder / "bronze").to_dict("records")
    # Without shared_cn-*: it has the CNs without a positive in Bronze, and would reveal labels.
    train = [
        row
        for file in sorted((folder / "train").glob("train-*.parquet"))
        for row in pd.read_parquet(file).to_dict("records")
    ]
    for text, id_of in (("hate_speech", make_hs_id), ("counter_narrative", make_cn_id)):
        shared = {id_of(row[text]) for row in train} & {id_of(row[text]) for row in rows}
        if shared or not train:
            raise InputError(f"{folder}: {len(train)} training pairs share {len(shared)} of {text} with Bronze")
    return rows, [TrainingPair(row["hate_speech"], row["counter_narrative"]) for row in train]


def propagated(hs: Floats, cn: Floats, encoder: SentenceEncoder, pairs: Sequence[TrainingPair]) -> Floats:
    """Returns the sum of two z-scores: similarity, and similarity of the CNs to those of similar training messages."""
    answers: dict[str, list[str]] = {}
    for pair in dict.fromkeys(pairs):
        answers.setdefault(pair.hate_speech, []).append(pair.counter_narrative)
    known = encoder.encode(list(answers), role="query").astype(np.float64)
    written = encoder.encode([text for texts in answers.values() for text in texts], role="document")
    ends = np.cumsum([len(texts) for texts in answers.values()])[:-1]
    means = np.array([part.mean(axis=0) for part in np.split(written.astype(np.float64), ends)])
    weights = np.exp((hs @ known.T - 1) / 0.05)
    through = (weights / weights.sum(axis=1, keepdims=True)) @ means @ cn.T
    parts = [hs.astype(np.float64) @ cn.T, through]
    return sum((part - part.mean(axis=1, keepdims=True)) / part.std(axis=1, keepdims=True) for part in parts)


def only(problem: Problem, chosen: Truths) -> Problem:
    """Returns a part of the units, with all rows and columns."""
    return problem._replace(rows=problem.rows[chosen], columns=problem.columns[chosen], scores=problem.scores[chosen])


def by_score(problem: Problem, labels: Floats) -> Floats:
    """Predicts labels by the mean score, without learning."""
    found: Floats = problem.scores.mean(axis=1)
    return found


def costs(problem: Problem, positive: Truths, seeds: int, *, model: Model = predict, **settings: Any) -> Row:
    """Returns judgements and savings: means, and the range of 95 % of the seeds."""
    orders = (replay(problem, positive, seed=seed, until=SHARES[-1], model=model, **settings) for seed in range(seeds))
    random = [needed_at_random(len(positive), int(positive.sum()), share) for share in SHARES]
    table = np.array([[needed(each.order, positive, share) for share in SHARES] for each in orders])
    saved = 100 * (1 - table / random)
    low, high = np.percentile(saved, [2.5, 97.5], axis=0)
    return {
        "judged": table.mean(axis=0).round(1).tolist(),
        "random": np.round(random, 1).tolist(),
        "saved": saved.mean(axis=0).round(2).tolist(),
        "low": low.round(2).tolist(),
        "high": high.round(2).tolist(),
    }


def measure_queue(pairs: Pairs, seeds: int) -> list[Row]:
    """Measures the queue, its variants and the baselines."""
    similarity = pairs.problem._replace(scores=pairs.problem.scores[:, :1])
    nothing = pairs.problem._replace(scores=pairs.problem.scores[:, :0])
    cases: list[tuple[str, str, Problem, dict[str, Any]]] = [
        ("order of similarity", "bronze", similarity, {"model": by_score, "random_share": 0.0, "explore": 0.0}),
        *((f"queue, {tier}", tier, pairs.problem, {}) for tier in TIERS),
        ("no scores", "bronze", nothing, {}),
        ("random share 0.0", "bronze", pairs.problem, {"random_share": 0.0}),
    ]
    found = []
    for name, tier, problem, settings in cases:
        within = pairs.within(tier)
        found.append({"case": name, **costs(only(problem, within), pairs.positive[within], seeds, **settings)})
    return found


def measure_tiers(pairs: Pairs, seeds: int) -> list[Row]:
    """Measures the queue on all four tiers."""
    parts = {tier: pairs.within(tier) for tier in ("bronze", "silver", "gold", "diamond")}
    return [
        {"case": tier, **costs(only(pairs.problem, part), pairs.positive[part], seeds)} for tier, part in parts.items()
    ]


def terms_of(problem: Problem) -> list[Floats]:
    """Returns the terms of the covariance of the queue's model between all units, the noise last."""
    rows, columns = problem.rows, problem.columns
    same_row, same_column = (np.equal.outer(each, each).astype(float) for each in (rows, columns))
    rows_alike = problem.row_likeness[np.ix_(rows, rows)]
    return [
        np.ones_like(same_row),
        (1 + same_row + rows_alike) * problem.column_likeness[np.ix_(columns, columns)],
        same_row + same_column + rows_alike * same_column + problem.scores @ problem.scores.T,
        np.eye(len(rows)),
    ]


def half(pairs: Pairs, seed: int) -> Truths:
    """Returns a mask of the pairs of 22 of the 45 HS."""
    found: Truths = np.isin(pairs.problem.rows, np.random.default_rng([seed, 1]).permutation(45)[:22])
    return found


def fitted(problem: Problem, positive: Truths) -> Model:
    """Returns the queue's model with maximum-likelihood constants; the search starts from other values than its own."""
    from scipy.linalg import cho_factor, cho_solve
    from scipy.optimize import minimize

    terms = terms_of(problem)
    rest = positive - before_learning(problem, positive.astype(float))

    def unlikely(logs: Floats) -> tuple[float, Floats]:
        weights = np.exp(logs)
        factor = cho_factor(sum(weight * term for weight, term in zip(weights, terms, strict=True)), lower=True)
        solved, inverse = cho_solve(factor, rest), cho_solve(factor, terms[3])
        slopes = [
            weight * ((inverse * term).sum() - solved @ term @ solved) / 2
            for weight, term in zip(weights, terms, strict=True)
        ]
        return float(rest @ solved / 2 + np.log(np.diag(factor[0])).sum()), np.array(slopes)

    best = minimize(
        unlikely, np.log([0.1] * 4), jac=True, method="L-BFGS-B", options={"maxiter": 15}, bounds=[(-12, 1)] * 4
    )
    return partial(predict, weights=tuple(np.exp(best.x)))


def measure_held_out(pairs: Pairs, seeds: int) -> list[Row]:
    """Measures the queue on random halves of the HS, with constants fitted to the other half."""

    def others(seed: int) -> tuple[Problem, Truths]:
        left = ~half(pairs, seed)
        return only(pairs.problem, left), pairs.positive[left]

    def unchanged(problem: Problem, positive: Truths, seed: int) -> Row:
        return costs(problem, positive, 1)

    def covariance(problem: Problem, positive: Truths, seed: int) -> Row:
        return costs(problem, positive, 1, model=fitted(*others(seed)))

    def exploration(problem: Problem, positive: Truths, seed: int) -> Row:
        """Uses the weight with the highest savings on the others, for 90 % of the positives."""
        best = max(EXPLORED, key=lambda weight: costs(*others(seed), 2, explore=weight)["saved"][2])
        return costs(problem, positive, 1, explore=best)

    return [
        over_halves(pairs, seeds, "queue, covariance by the others, 22 HS", covariance),
        over_halves(pairs, seeds, "queue, exploration by the others, 22 HS", exploration),
        over_halves(pairs, seeds, f"queue, as it is ({EXPLORE}), 22 HS", unchanged),
    ]


def over_halves(pairs: Pairs, seeds: int, name: str, play: Callable[[Problem, Truths, int], Row]) -> Row:
    """Returns judgements and savings on random halves of the HS."""
    rows = []
    for seed in range(seeds):
        chosen = half(pairs, seed)
        rows.append(play(only(pairs.problem, chosen), pairs.positive[chosen], seed))
    saved = np.array([row["saved"] for row in rows])
    low, high = np.percentile(saved, [2.5, 97.5], axis=0)
    judged, random = (np.mean([row[key] for row in rows], axis=0).round(1).tolist() for key in ("judged", "random"))
    return {
        "case": name,
        "judged": judged,
        "random": random,
        "low": low.round(2).tolist(),
        "high": high.round(2).tolist(),
        "saved": saved.mean(axis=0).round(2).tolist(),
    }


def measure_stopping(pairs: Pairs, seeds: int) -> list[Row]:
    """Measures when the queue stops, and how often its intervals are ever wrong."""
    full = predict(pairs.problem, pairs.positive.astype(float))

    def drawn(seed: int) -> Truths:
        found: Truths = np.random.default_rng([seed, 2]).random(len(full)) < np.clip(full, 0, 1)
        return found

    cases: dict[str, Callable[[int], Truths]] = {"FC-CONAN": lambda seed: pairs.positive, "drawn labels": drawn}
    rows = []
    for name, truth in cases.items():
        ends: dict[tuple[float, str], list[tuple[int, float]]] = {}
        wrong = 0
        for seed in range(seeds):
            positive = truth(seed)
            played = replay(pairs.problem, positive, seed=seed, estimates=True)
            total = int(positive.sum())
            wrong += any(not each["low"] <= total - each["found"] <= each["high"] for each in played.estimates)
            for target in TARGETS:
                for state, bound in (("reached", "recall_low"), ("probably_reached", "recall_likely")):
                    end = next(each for each in played.estimates if not each["left"] or (each[bound] or 0) >= target)
                    where_it_ends = len(positive) - end["left"], end["found"] / total
                    ends.setdefault((target, state), []).append(where_it_ends)
        for (target, state), where in ends.items():
            judged, recall = np.array(where).T
            row = {"labels": name, "target": target, "state": state}
            row |= {"judged": round(float(judged.mean()), 1), "recall": round(float(recall.mean()), 4)}
            row |= {"least_recall": round(float(recall.min()), 4), "missed": int((recall < target).sum())}
            rows.append(row | {"replays": seeds, "intervals_ever_wrong": wrong})
    return rows


PARTS: Mapping[str, Callable[[Pairs, int], list[Row]]] = {
    "queue": measure_queue,
    "held-out": measure_held_out,
    "stopping": measure_stopping,
    "tiers": measure_tiers,
}


def main() -> None:
    """Run the requested parts, print tables and write JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--part", choices=list(PARTS), action="append")
    parser.add_argument("--encoder")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    pairs = Pairs(arguments.folder)
    found: dict[str, Any] = {"seeds": arguments.seeds}
    if arguments.encoder:
        other = Pairs(arguments.folder, arguments.encoder)
        scores = np.hstack([pairs.problem.scores, other.problem.scores]) / 2**0.5  # the mean of two kernels
        found |= {"tiers, encoder": measure_tiers(other, arguments.seeds)}
        other.problem = other.problem._replace(scores=scores)
        found |= {"tiers, scores of both": measure_tiers(other, arguments.seeds)}
    for part in arguments.part or PARTS:
        found[part] = PARTS[part](pairs, arguments.seeds)
        print(f"{part}\n{pd.DataFrame(found[part]).to_string(index=False)}\n")
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
