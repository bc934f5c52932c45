"""Simulated raters: filled-in sheets to try a campaign."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from fcconan.data import count_noun
from fcconan.services.campaign_folders import (
    MOST_GRADES,
    CampaignFolder,
    CampaignResult,
    CampaignSeed,
    check_outside,
    file_option,
    share_option,
)
from fcconan.services.configuration import option, output

if TYPE_CHECKING:
    from fcconan.annotation import AnnotatorModels


class SimulateOptions(CampaignSeed):
    """How simulated raters answer."""

    round: str = option("main", help="Round of the campaign.", metavar="NAME")
    truth: Path | None = file_option(
        "Ground truth: rows of unit_id and label, or aspect and value; default: it is drawn."
    )
    positive_rate: float | None = share_option("Share of appropriate pairs without --truth; default: 0.17.", rare=True)
    annotator_model: Path | None = file_option(
        "YAML file with the simulated behaviour of raters: default, validators, raters."
    )
    accuracy: float | None = share_option("Share of correct labels of simulated raters; default: 0.9.")
    not_sure_rate: float | None = share_option("Share of not_sure answers of simulated raters.", rare=True)
    skip_rate: float | None = share_option("Share of units that simulated raters skip.", rare=True)
    noise: float | None = option(
        None,
        help="Standard deviation of simulated grades; default: 0.7.",
        rare=True,
        metavar="GRADES",
        ge=0,
        le=MOST_GRADES,
    )
    bias: dict[str, Annotated[float, Field(ge=-MOST_GRADES, le=MOST_GRADES)]] = option(
        {},
        help="Bias of simulated raters towards a label or in an aspect.",
        rare=True,
        metavar="LABEL=SHARE|ASPECT=SHIFT",
    )


@dataclass(frozen=True, repr=False)
class SimulateResult(CampaignResult):
    """How often each simulated rater was right.

    Attributes:
        written: Whether anything was written; not where all sheets were there already.
        notes: Sentences about the sheets.
    """

    table: ClassVar[str] = "raters"
    written: bool
    notes: Sequence[str]


def simulate(
    campaign: CampaignFolder,
    out: Annotated[Path | str, output("Folder for filled-in sheets and truth.jsonl.")],
    options: SimulateOptions = SimulateOptions(),
) -> SimulateResult:
    """Fills in sheets with simulated answers.

    Args:
        campaign: The folder of the campaign.
        out: The folder to write.
        options: The options.

    Returns:
        One row for each simulated rater: `units`, `skipped`, `not_sure`, and the share of correct labels (`right`) or
        the mean distance from the true grade (`off`).

    Raises:
        InputError: Options contradict each other, a file cannot be read, or a sheet exists with other content.

    Examples:
        >>> simulate(campaign, folder / "sheets", SimulateOptions(accuracy=1)).to_frame()["right"].tolist()
        [1.0, 1.0]
    """
    from fcconan.annotation import (
        POSITIVE_RATE,
        Campaign,
        annotator_models,
        count_correct,
        derived_seed,
        make_sheets,
        read_ground_truth,
        sample_ground_truth,
        simulate_answers,
        write,
    )

    if options.truth is not None:
        options.refuse("positive_rate", why="--truth gives the right answers, which would be drawn")
    rate = POSITIVE_RATE if options.positive_rate is None else options.positive_rate
    opened, out = Campaign(Path(campaign)), Path(out)
    described = _described(options)
    check_outside(opened.folder, out)
    truth = (
        sample_ground_truth(opened, positive_rate=rate)
        if options.truth is None
        else read_ground_truth(options.truth, opened)
    )
    seed = derived_seed(opened.settings.seed, f"simulate {options.round}", options.seed)
    found = simulate_answers(opened, options.round, annotator_models(opened, described), truth, seed=seed)
    files = make_sheets(found, options.round, truth)
    written = write(out, files)
    rows = count_correct(opened, found, truth, options.round)
    data = {"round": options.round, "seed": seed, "raters": rows, "files": sorted(files)}
    sheet = out / f"{options.round}-{rows[0]['rater']}.csv"
    note = f"{count_noun(len(files) - 1, 'sheet')}, such as {sheet}; the right answers are in {out / 'truth.jsonl'}."
    return SimulateResult(data, opened.settings.name, written, [note])


def _described(options: SimulateOptions) -> "AnnotatorModels":
    """Returns how raters answer: by the file, and by options for all of them."""
    from fcconan.annotation import AnnotatorModels, read_annotator_models

    described = AnnotatorModels() if options.annotator_model is None else read_annotator_models(options.annotator_model)
    everybody = {
        "accuracy": options.accuracy,
        "not_sure": options.not_sure_rate,
        "skip": options.skip_rate,
        "noise": options.noise,
        "bias": options.bias or None,
    }
    given = {name: value for name, value in everybody.items() if value is not None}
    return described.model_copy(update={"default": described.default.model_copy(update=given)})
