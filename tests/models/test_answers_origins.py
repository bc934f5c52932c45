from typing import Any

import pytest

from fcconan.models.answers.origins import Origins, find_origins
from fcconan.models.answers.rows import StoredAnswer

DAYS = ["2026-01-03T00:00:00.000+00:00", "2026-01-05T23:00:00.000+00:00", "2026-01-04T00:00:00.000+00:00"]


def stored(at: str | None, model: str | None = "stub-1", fingerprint: str | None = None) -> StoredAnswer:
    body: dict[str, Any] = {"model": model, "system_fingerprint": fingerprint}
    return StoredAnswer({name: value for name, value in body.items() if value is not None}, at)


def test_stored_and_new_answers_are_counted_with_their_dates() -> None:
    origins = Origins()
    assert (origins.dates(), origins.models, origins.stored("stub"), origins.change("stub")) == (None, [], None, None)
    for at in DAYS:
        origins.add("stub", stored(at))
    later = "2999-01-01T00:00:00.000+00:00"
    origins.add("stub", stored(later))
    origins.add("other", stored(None))
    assert origins.summary("stub") == {
        "answers": 4,
        "from_store": 3,
        "stored_first": DAYS[0],
        "stored_last": DAYS[1],
        "answered_by": [{"model": "stub-1", "system_fingerprint": None, "from_store": 3, "new": 1}],
    }
    assert origins.dates() == (DAYS[0], later)
    assert origins.stored("stub") == (
        "stub: 3 of 4 answers are from the store, of 2026-01-03 to 2026-01-05; --fresh repeats the requests"
    )
    assert (
        origins.stored("other")
        == "other: 1 of 1 answers are from the store, of an unknown date; --fresh repeats the requests"
    )
    assert [origins.change(name) for name in ("stub", "other")] == [None, None]


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        (
            [stored(DAYS[0]), stored("2999", "stub-2", "fp_1"), stored("2999", "stub-2", "fp_1")],
            "stub-1 (no fingerprint): 1 stored, 0 new; stub-2 (fp_1): 0 stored, 2 new",
        ),
        (
            [stored("2999", fingerprint=f"fp_{number}") for number in range(5)],
            "stub-1 (fp_0): 0 stored, 1 new; stub-1 (fp_1): 0 stored, 1 new; stub-1 (fp_2): 0 stored, 1 new; 2 more",
        ),
    ],
)
def test_another_model_or_fingerprint_is_reported_in_one_line(answers: list[StoredAnswer], told: str) -> None:
    origins = Origins()
    for each in answers:
        origins.add("stub", each)
    assert origins.change("stub") == (
        f"the endpoint reports several models for stub: {told}; they may be different checkpoints; --fresh repeats all "
        "requests with the current one"
    )


def test_models_without_a_store_have_no_origins() -> None:
    assert find_origins(object()) is None
