"""The values of the CSEval paper, recomputed from `cseval`."""

from collections.abc import Iterator

import numpy as np

from fcconan.building import unified_score
from fcconan.groups import Bootstrap
from fcconan.reproduction.cseval_correlations import (
    ASPECTS,
    PAPER,
    REPLACED,
    count_rows_of_table_1,
    load_released_scores,
    recompute_table_1,
    recompute_table_5,
    recompute_table_6,
)
from fcconan.reproduction.datasets import Datasets
from fcconan.reproduction.published import load_paper
from fcconan.reproduction.values import Key, RecomputedValue
from fcconan.scoring import PAPER as AS_PUBLISHED, SOUND, Floats, agree, ranking_scores

LEVELS = ("interval", "ordinal")
RANKERS = ("rank-rater-1", "rank-rater-2", "rank-rater-3")
SPLITS = ("dev", "test", "agreement_round1", "agreement_round2", "rankings")


def recompute(data: Datasets) -> dict[Key, RecomputedValue]:
    """Recomputes every value whose data were released.

    Args:
        data: Datasets; `cseval` is used.

    Returns:
        Values by table, row and column.

    Raises:
        InputError: The dataset cannot be built, or an upstream file is unavailable.
    """
    table = load_released_scores()
    return {
        **dict(recompute_table_1(data, table)),
        **dict(_recompute_table_2(data)),
        **dict(recompute_table_5(data, table)),
        **recompute_table_6(),
        **dict(_recompute_sizes(data)),
        **dict(_recompute_agreement(data)),
    }


def _recompute_table_2(data: Datasets) -> Iterator[tuple[Key, RecomputedValue]]:
    """Yields the values of Table 2: NDCG of the rankings by the unified score (equation 2 of the paper)."""
    ratings, replies = data.rows("cseval", "ratings", "rankings"), data.rows("cseval", "replies", "rankings")
    positions = {reply["reply_id"]: position for position, reply in enumerate(replies)}

    def values(rater: str, aspect: str) -> Floats:
        found = np.full(len(replies), np.nan)
        for row in ratings:
            if (row["rater"], row["aspect"]) == (rater, aspect) and row["value"] is not None:
                found[positions[row["reply_id"]]] = row["value"]
        return found

    judges = load_paper(PAPER).names["released_judges"]
    aspects = {judge: {aspect: values(judge, aspect) for aspect in ASPECTS} for judge in dict.fromkeys(judges.values())}
    complete = np.stack([_unify(scores) for scores in aspects.values()])
    filled = ({name: np.nan_to_num(each, nan=REPLACED) for name, each in scores.items()} for scores in aspects.values())
    imputed = np.stack([_unify(scores) for scores in filled])
    groups = np.unique([str(reply["item_id"]) for reply in replies], return_inverse=True)[1]
    none, options = np.zeros((0, len(replies))), Bootstrap(resamples=0)
    analysed = values("rank-analysis-file", "rank_as_analysed")
    people = np.stack([values(rater, "preference_rank") for rater in RANKERS])
    published = ranking_scores([*aspects], imputed, analysed, groups, none, options, [AS_PUBLISHED])
    sound = ranking_scores([*aspects], complete, people.mean(axis=0), groups, none, options, [SOUND])
    for row, as_published, as_sound in zip(judges, published.itertuples(), sound.itertuples(), strict=True):
        note = (
            f"{as_published.n_groups} groups; the gain is the rank in the analysis file, and failures count as 3; "
            f"chance {as_published.chance:.3f}; the closest of many variants, none of which gives all six values; "
            f"sound (mean rank of the raters, the best has the highest gain) {as_sound.value:.3f} on "
            f"{as_sound.n_groups} complete groups, chance {as_sound.chance:.3f}"
        )
        yield ("Table 2", row, "ndcg"), RecomputedValue(as_published.value, note, by_chance=True)


def _unify(aspects: dict[str, Floats]) -> Floats:
    rows = zip(*(aspects[aspect].tolist() for aspect in ASPECTS), strict=True)
    return np.array([unified_score(**dict(zip(ASPECTS, row, strict=True))) for row in rows])


def _recompute_sizes(data: Datasets) -> Iterator[tuple[Key, RecomputedValue]]:
    """Yields the counts in the running text."""
    replies = {split: data.rows("cseval", "replies", split) for split in SPLITS}
    systems = {reply["system"] for split in SPLITS for reply in replies[split]} - {"unknown"}
    yield ("text 3.1", "systems", "count"), RecomputedValue(len(systems))
    yield ("text 4", "validation-replies", "count"), RecomputedValue(len(replies["dev"]))
    raters = {row["rater"] for row in data.rows("cseval", "ratings", "agreement_round1")}
    yield ("text A.1", "annotators-round-1", "count"), RecomputedValue(len(raters))
    for number in (1, 2):
        yield (
            ("text A.1", f"examples-round-{number}", "count"),
            RecomputedValue(len(replies[f"agreement_round{number}"])),
        )
    ranked, n_rows = replies["rankings"], count_rows_of_table_1(data)
    yield ("text 7", "data-points", "value"), RecomputedValue(len(ranked))
    rankers = {row["rater"] for row in data.rows("cseval", "ratings", "rankings")}
    people = sum(rater.startswith("rank-rater-") for rater in rankers)
    yield ("text 7", "annotators", "value"), RecomputedValue(people)
    yield ("text 7", "percent-of-test-set", "value"), RecomputedValue(100 * len(ranked) / n_rows)
    plan = {row: cells["value"].value for row, cells in load_paper(PAPER).parsed("text D").items()}
    sizes = len(range(int(plan["first-size"]), n_rows + 1, int(plan["step"])))
    note = f"from the first size and the step, up to the {n_rows} rows of Table 1"
    yield ("text D", "sizes", "value"), RecomputedValue(sizes, note, from_print=True)
    yield ("text D", "trials", "value"), RecomputedValue(sizes * plan["seeds"], "sizes times seeds", from_print=True)


def _recompute_agreement(data: Datasets) -> Iterator[tuple[Key, RecomputedValue]]:
    """Yields Krippendorff's alpha of each round, averaged over the aspects."""
    for number in (1, 2):
        split = f"agreement_round{number}"
        found = agree(
            data.rows("cseval", "ratings", split),
            aspect=ASPECTS,
            coefficient=("krippendorff_interval", "krippendorff_ordinal"),
            bootstrap=Bootstrap(resamples=0),
        ).to_frame()
        interval, ordinal = (found["value"][found["coefficient"] == f"krippendorff_{level}"].mean() for level in LEVELS)
        n = len(data.rows("cseval", "replies", split))
        note = f"interval level, all {n} rows, missing ratings left out; ordinal {ordinal:.3f}"
        yield ("text 3.4", f"alpha-round-{number}", "value"), RecomputedValue(interval, note)
