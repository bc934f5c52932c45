"""Active learning: the next queue of units, with likely positives and a random sample."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcconan.services.campaign_folders import CampaignFolder, CampaignResult, CampaignSeed, count_option, share_option
from fcconan.services.configuration import option

if TYPE_CHECKING:
    pass


class QueueOptions(CampaignSeed):
    """Options of `queue_units`: scores of units, the target, and the size of the queue."""

    scores: tuple[Path, ...] = option(
        (),
        help="Scores of a retriever or judge: a TREC run, or rows.",
        metavar="FILE",
        role="read",
    )
    queue_size: int = count_option("Units in the next queue.", 50)
    random_share: float = share_option(
        "Share of randomly drawn units; it adapts to the number of likely positives, up to one half.",
        0.2,
        rare=True,
    )
    positive: str | None = option(
        None, help="Target of the search: a label, or grades such as 'relevance>=4'.", metavar="LABEL|ASPECT>=GRADE"
    )
    target_recall: float = option(0.9, help="Share of positives to find.", gt=0, le=1)
    confidence: float = option(0.95, help="Confidence level of intervals, below 1.", rare=True, gt=0, lt=1)
    encoder: str | None = option(
        None,
        help="Encoder of features: tfidf, minilm, or a sentence-transformers model; default: that of `annotate new`.",
        metavar="NAME",
    )
    allow_pending: bool = option(False, help="Make a queue even if the last one has unanswered units.")
    status_only: bool = option(False, help="Print the state of the search and make no queue.")


@dataclass(frozen=True, repr=False)
class QueueResult(CampaignResult):
    """The state of the search, and the new queue. The main table has one row for each count and each estimate.

    Attributes:
        notes: Sentences about the scores, the new queue and pending answers.
    """

    notes: Sequence[str]

    def rows(self) -> list[dict[str, Any]]:
        """Returns the counts of units and the values of the estimate: columns `name` and `value`."""
        values = {**self.data["units"], **self.data["estimate"]}
        return [{"name": name, "value": value} for name, value in values.items()]


def queue_units(campaign: CampaignFolder, options: QueueOptions = QueueOptions()) -> QueueResult:
    """Makes the next queue of units: likely positives, ranked by a model of the labels so far, and a random sample.

    The random sample gives an estimate of the recall. No queue is made while answers to the last one are pending.

    Args:
        campaign: The folder of the campaign.
        options: The options.

    Returns:
        The counts of units (`data["units"]`), the estimate of the recall (`data["estimate"]`), and whether to continue
        (`data["decision"]`). The main table has the columns `name` and `value`.

    Raises:
        InputError: Scores cannot be read, the target is not a label or grade of the task, or no rater is active.

    Examples:
        >>> found = queue_units(answered, QueueOptions(status_only=True))
        >>> found.data["units"]["outside"], found.data["decision"]
        (6, 'all_judged')
    """
    from fcconan.annotation import (
        Campaign,
        Queue,
        build_problem,
        default_encoder,
        derived_seed,
        make_batch,
        queue_summary,
        read_positive,
        read_scores,
    )

    opened = Campaign(Path(campaign))
    wanted = read_positive(options.positive, opened.task)
    units = opened.units()
    scores = [score for path in options.scores for score in read_scores(path, units, wanted)]
    seed = derived_seed(opened.settings.seed, "queue", options.seed)
    how = {"target": options.target_recall, "confidence": options.confidence}
    made, notes = None, []
    with opened.changing():
        queue = Queue(opened, wanted)
        data = queue_summary(queue, None, **how)
        may_go_on = options.allow_pending or not queue.waiting
        if not options.status_only and may_go_on and (queue.left or queue.relieved):
            encoder, why = options.encoder, "from --encoder"
            if encoder is None:
                encoder, why = default_encoder(opened.settings.language)
            made = make_batch(
                opened,
                queue,
                build_problem(opened, scores, encoder),
                size=options.queue_size,
                random_share=options.random_share,
                seed=seed,
                while_open=options.allow_pending,
            )
            data = queue_summary(queue, made, **how)
            notes.append(f"Texts are compared by {encoder} ({why}).")
    n_items = len(opened.items())
    data["scores"] = [
        {"name": score.name, "missing": n_items - len(score.values), "unknown": score.n_unknown} for score in scores
    ]
    notes += _notes(data, None if made is None else made.round, opened.folder)
    return QueueResult(data, opened.settings.name, notes)


def _notes(data: dict[str, Any], new: str | None, folder: Path) -> list[str]:
    """Returns sentences about the scores, the new queue, and pending answers."""
    units = data["units"]
    notes = [
        f"{score['name']}: {score['missing']} units have no score and get the mean; "
        f"{score['unknown']} scores belong to no unit."
        for score in data["scores"]
        if score["missing"] or score["unknown"]
    ]
    if new is not None:
        counts = data["batch"]
        again = f", {counts['again']} from raters who left" if counts["again"] else ""
        notes.append(f"New round {new}: {counts['likely']} likely positives, {counts['drawn']} random units{again}.")
        if counts["answered"]:
            notes.append(f"{counts['answered']} of them have answers from other rounds and are not assigned.")
    elif units["waiting"]:
        notes.append(
            f"{units['waiting']} units have no answer yet, so no queue is made: import answers, or give "
            "--allow-pending."
        )
    if units["stuck"]:
        notes.append(
            f"{units['stuck']} units need another rater before the estimate is complete: add one with "
            f"`fcconan annotate raters {folder} --join PSEUDONYM`."
        )
    if units["outside_not_answered"]:
        notes.append(
            f"{units['outside_not_answered']} units were assigned before the first queue and have no answer yet: "
            "import their answers."
        )
    return notes
