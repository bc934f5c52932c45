"""Dawid and Skene's method: against a small case by hand, another implementation, and planted errors."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import pytest

from fcconan.annotation.adjudication import resolve
from fcconan.annotation.dawid_skene import DawidSkene, posterior_labels
from fcconan.errors import InputError

Votes = dict[str, dict[str, str]]
LABELS = ("no", "yes")


def plain_em(
    votes: Mapping[str, Mapping[str, str]], labels: Sequence[str], said: Sequence[str], smoothing: float, rounds: int
) -> dict[str, dict[str, float]]:
    """The method as its paper writes it: sums and products, one at a time, without logarithms."""
    raters = {rater for given in votes.values() for rater in given}
    belief = {}
    for unit, given in votes.items():
        backing = [sum(vote == label for vote in given.values()) for label in labels]
        total = [sum(vote == label for g in votes.values() for vote in g.values()) for label in labels]
        share = backing if sum(backing) else total
        belief[unit] = {label: n / sum(share) for label, n in zip(labels, share, strict=True)}
    for _ in range(rounds):
        mass = {label: smoothing + sum(belief[unit][label] for unit in votes) for label in labels}
        share_of = {label: mass[label] / sum(mass.values()) for label in labels}
        matrix = {}
        for rater in raters:
            for label in labels:
                row = dict.fromkeys(said, smoothing)
                for unit, given in votes.items():
                    if rater in given:
                        row[given[rater]] += belief[unit][label]
                matrix[rater, label] = {each: n / sum(row.values()) for each, n in row.items()}
        for unit, given in votes.items():
            joint = {
                label: share_of[label] * math.prod(matrix[rater, label][vote] for rater, vote in given.items())
                for label in labels
            }
            belief[unit] = {label: n / sum(joint.values()) for label, n in joint.items()}
    return belief


def log_posterior(votes: Votes, found: DawidSkene, smoothing: float = 1.0) -> float:
    """The logarithm of the probability of votes and, up to a constant, of shares and matrices."""
    heights = [
        math.log(
            sum(
                share * math.prod(found.confusion[who][label][vote] for who, vote in given.items())
                for label, share in found.shares.items()
            )
        )
        for given in votes.values()
    ]
    cells = [
        *found.shares.values(),
        *(p for matrix in found.confusion.values() for row in matrix.values() for p in row.values()),
    ]
    return sum(heights) + (smoothing * sum(map(math.log, cells)) if smoothing else 0.0)


def planted(
    seed: int, accuracies: Sequence[float], *, units: int = 300, rate: float = 0.3, votes: int = 3, unsure: float = 0.0
) -> tuple[Votes, dict[str, str]]:
    """Votes of raters with these accuracies, and what is right."""
    generator = np.random.default_rng(seed)
    found: Votes = {}
    truth = {}
    for number in range(units):
        right = int(generator.random() < rate)
        given = {}
        for rater in sorted(generator.choice(len(accuracies), votes, replace=False)):
            said = right if generator.random() < accuracies[rater] else 1 - right
            given[f"rater-{rater}"] = "not_sure" if generator.random() < unsure else LABELS[said]
        found[f"unit-{number}"], truth[f"unit-{number}"] = given, LABELS[right]
    return found, truth


def test_one_iteration_by_hand() -> None:
    # Start: u1 (0, 1), u2 (0, 1), u3 (1, 0), u4 (1/2, 1/2), so each label has 2 of 4 units.
    votes = {
        "u1": {"p": "yes", "q": "yes"},
        "u2": {"p": "yes", "q": "yes"},
        "u3": {"p": "no", "q": "no"},
        "u4": {"p": "yes", "q": "no"},
    }
    found = posterior_labels(votes, LABELS, smoothing=0, iterations=1)
    # no: mass 1.5, yes: 2.5. p says yes: where no 0.5 of 1.5, where yes 1 of 1. q says no: no 1 of 1, yes 0.5 of 2.5.
    # u4: no 3/8 * 1/3 * 1 = 1/8, yes 5/8 * 1 * 1/5 = 1/8. u1: no 0 (q never says yes there).
    assert found.posteriors["u4"] == pytest.approx({"no": 0.5, "yes": 0.5})
    assert found.posteriors["u1"] == pytest.approx({"no": 0.0, "yes": 1.0})
    assert found.posteriors["u3"] == pytest.approx({"no": 1.0, "yes": 0.0})
    assert found.shares == pytest.approx({"no": 0.375, "yes": 0.625})
    assert found.confusion["p"]["no"] == pytest.approx({"no": 2 / 3, "yes": 1 / 3})
    assert found.confusion["q"]["yes"] == pytest.approx({"no": 0.2, "yes": 0.8})
    # u1 and u2 yes: 5/8 * 1 * 4/5 each; u3: 3/8 * 2/3 * 1; u4: 1/8 + 1/8.
    assert log_posterior(votes, found, smoothing=0) == pytest.approx(2 * math.log(0.5) + 2 * math.log(0.25))
    assert (found.label("u4"), found.label("u1")) == (None, "yes")


def test_smoothing_adds_votes_to_every_cell_and_label() -> None:
    votes = {"u1": {"p": "yes"}, "u2": {"p": "yes"}, "u3": {"p": "no"}}
    found = posterior_labels(votes, LABELS, smoothing=1, iterations=0)
    # Started from the votes: no 1 of 3 units, yes 2; with one vote more in each cell.
    assert found.shares == pytest.approx({"no": 2 / 5, "yes": 3 / 5})
    assert found.confusion["p"]["no"] == pytest.approx({"no": 2 / 3, "yes": 1 / 3})
    assert found.confusion["p"]["yes"] == pytest.approx({"no": 1 / 4, "yes": 3 / 4})


@pytest.mark.parametrize(("smoothing", "unsure"), [(0.0, 0.0), (1.0, 0.0), (0.5, 0.2), (1.0, 0.9)])
def test_equals_another_implementation(smoothing: float, unsure: float) -> None:
    votes, _ = planted(4, [0.9, 0.8, 0.6, 0.7], units=60, votes=2, unsure=unsure)
    said = [*LABELS, *(["not_sure"] if unsure else [])]
    found = posterior_labels(votes, LABELS, smoothing=smoothing, iterations=10)
    other = plain_em(votes, LABELS, said, smoothing, 10)
    for unit, row in found.posteriors.items():
        assert row == pytest.approx(other[unit], abs=1e-9)


def test_the_posterior_never_falls_and_ends_where_it_stays() -> None:
    votes, _ = planted(1, [0.9, 0.8, 0.6, 0.55], units=80, unsure=0.1)
    heights = [log_posterior(votes, posterior_labels(votes, LABELS, iterations=number)) for number in range(25)]
    assert all(after >= before - 1e-9 for before, after in pairwise(heights))
    end = posterior_labels(votes, LABELS)
    assert log_posterior(votes, end) > heights[3] + 1e-3
    other = plain_em(votes, LABELS, [*LABELS, "not_sure"], 1.0, 500)
    for unit, row in end.posteriors.items():
        assert row == pytest.approx(other[unit], abs=1e-4)


@pytest.mark.parametrize(
    "accuracies",
    [
        [0.95, 0.95, 0.95, 0.95, 0.6, 0.55, 0.6, 0.55],
        [0.9, 0.9, 0.9, 0.9, 0.3, 0.35],  # two say the contrary more often than not
    ],
)
@pytest.mark.parametrize("seed", range(5))
def test_makes_half_the_errors_of_the_majority_where_raters_differ(accuracies: list[float], seed: int) -> None:
    votes, truth = planted(seed, accuracies, units=600, votes=5)
    found = posterior_labels(votes, LABELS)
    majority = {unit: resolve([*given.values()])[0] for unit, given in votes.items()}
    assert None not in majority.values()  # five votes, two labels
    by_majority = np.mean([majority[unit] != right for unit, right in truth.items()])
    by_method = np.mean([found.label(unit) != right for unit, right in truth.items()])
    assert by_majority > 0.06
    assert by_method <= by_majority / 2


def test_equals_the_majority_nearly_where_raters_are_alike() -> None:
    votes, truth = planted(0, [0.85] * 6, units=600)
    found = posterior_labels(votes, LABELS)
    majority = {unit: resolve([*given.values()])[0] for unit, given in votes.items()}
    wrong = [np.mean([label(unit) != right for unit, right in truth.items()]) for label in (found.label, majority.get)]
    assert wrong[0] == pytest.approx(wrong[1], abs=0.02)


def test_confusion_matrices_and_shares_are_those_planted() -> None:
    accuracies = [0.95, 0.9, 0.6, 0.8]
    votes, _ = planted(0, accuracies, units=3000, votes=4, unsure=0.1)
    found = posterior_labels(votes, LABELS)
    assert found.shares["yes"] == pytest.approx(0.3, abs=0.03)
    for rater, accuracy in enumerate(accuracies):
        for label in LABELS:
            row = found.confusion[f"rater-{rater}"][label]
            assert row["not_sure"] == pytest.approx(0.1, abs=0.03)
            assert row[label] == pytest.approx(0.9 * accuracy, abs=0.04)
            assert sum(row.values()) == pytest.approx(1)


def test_doubts_tell_something_and_are_no_label() -> None:
    # Who is not sure is so on what is right: "yes", as 40 other units show.
    votes: Votes = {f"yes-{number}": {"p": "yes", "q": "yes", "r": "not_sure"} for number in range(40)}
    votes |= {f"no-{number}": {"p": "no", "q": "no", "r": "no"} for number in range(40)}
    votes["last"] = {"r": "not_sure"}
    found = posterior_labels(votes, LABELS)
    assert [*found.posteriors["last"]] == [*LABELS]
    # Where yes, r says not_sure 41 of 41 times: (41 + 1) / (41 + 3); where no (0 + 1) / (40 + 3); shares 42, 41 of 83.
    expected = 42 * 42 / 44 / (42 * 42 / 44 + 41 / 43)
    assert found.posteriors["last"]["yes"] == pytest.approx(expected, abs=2e-3)
    assert (found.label("last"), found.label("last", at_least=0.99)) == ("yes", None)


def test_labels_do_not_change_places() -> None:
    # All but one rater say the contrary of "what is right"; the labels go by what most votes say.
    votes, truth = planted(3, [0.1, 0.1, 0.1, 0.9], votes=4, rate=0.5)
    found = posterior_labels(votes, LABELS)
    agreeing = np.mean([found.label(unit) == right for unit, right in truth.items()])
    assert agreeing < 0.1
    assert found.confusion["rater-0"]["yes"]["yes"] > 0.8
    assert found.confusion["rater-3"]["yes"]["yes"] < 0.2


def test_places_are_mended_where_iterations_exchange_them() -> None:
    from fcconan.annotation.dawid_skene import _Model

    each = np.arange(3)
    exchanged = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    order = _Model(each, np.zeros(3, np.int64), each, (3, 1, 3, 3), 1.0).best_order(exchanged)
    assert exchanged[:, order].tolist() == np.eye(3).tolist()


def test_labels_that_the_iterations_exchange_are_put_back() -> None:
    votes = {
        "u1": {"p": "no", "r": "yes", "s": "yes"},
        "u2": {"p": "not_sure", "q": "not_sure", "r": "yes", "s": "no"},
        "u3": {"p": "not_sure", "q": "no", "r": "yes", "s": "no"},
        "u4": {"p": "no", "r": "yes", "s": "yes"},
    }
    found = posterior_labels(votes, LABELS)
    given = [(unit, vote) for unit, said in votes.items() for vote in said.values() if vote in LABELS]
    right = sum(found.posteriors[unit][vote] for unit, vote in given)
    assert right > len(given) / 2 + 0.1  # with the labels exchanged, less than half of the votes would be right


def test_three_labels_and_the_order_of_votes_does_not_matter() -> None:
    right = {f"u{number}": "abc"[number % 3] for number in range(30)}
    votes: Votes = {unit: {"p": label, "q": label} for unit, label in right.items()}
    votes |= {"u1": {"q": "b"}, "u2": {"p": "c", "r": "a"}, "nobody": {}}
    found = posterior_labels(votes, ["a", "b", "c"])
    again = posterior_labels(dict(reversed(votes.items())), ["a", "b", "c"])
    assert {unit: found.label(unit) for unit in right} == right
    assert "nobody" not in found.posteriors
    for unit in found.posteriors:
        assert found.posteriors[unit] == pytest.approx(again.posteriors[unit], abs=1e-9)


def test_unanimous_raters_stay_so() -> None:
    found = posterior_labels({f"u{number}": {"p": "yes", "q": "yes"} for number in range(5)}, LABELS)
    assert {found.label(f"u{number}") for number in range(5)} == {"yes"}


@pytest.mark.parametrize(
    ("votes", "labels", "message"),
    [({}, LABELS, "no votes"), ({"u": {}}, LABELS, "no votes"), ({"u": {"p": "yes"}}, ["yes"], "two or more")],
)
def test_bad_input(votes: Votes, labels: Sequence[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        posterior_labels(votes, labels)
