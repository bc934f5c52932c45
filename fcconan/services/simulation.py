"""Simulated raters: filled-in sheets to try a campaign, or an estimate of its cost, agreement, tiers and errors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from fcconan.data import count_noun, tier_rule_names
from fcconan.errors import InputError
from fcconan.services.assignment import MOST_RATERS
from fcconan.services.campaign_folders import (
    MOST_GRADES,
    CampaignFolder,
    CampaignResult,
    CampaignSeed,
    EffortOptions,
    check_outside,
    count_option,
    file_option,
    share_option,
)
from fcconan.services.configuration import option, output

if TYPE_CHECKING:
    from fcconan.annotation import AnnotatorModel, AnnotatorModels, Campaign, GroundTruth, Panel, Role

MOST_REPETITIONS = 1_000_000
TEAMS = (3, 6, 9)
OVERLAPS = ("2=0,3=0", "2=0.2,3=0.05", "2=1,3=0", "2=0,3=1")
ESTIMATE = "Estimate"


class SimulateOptions(CampaignSeed, EffortOptions):
    """How simulated raters answer, and which campaigns are estimated."""

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
    estimate: bool = option(False, help="Estimate cost, agreement, tiers and label errors instead of writing answers.")
    team_size: tuple[Annotated[int, Field(ge=1, le=MOST_RATERS)], ...] = option(
        (),
        help="Size of a team to estimate; default: 3, 6 and 9.",
        group=ESTIMATE,
        metavar="N",
    )
    overlap_plan: tuple[str, ...] = option(
        (),
        help="Overlap to estimate, such as 2=0.2,3=0.05.",
        group=ESTIMATE,
        rare=True,
        metavar="2=SHARE[,3=SHARE]",
    )
    repetitions: int | None = count_option(
        "Simulated campaigns of each kind; default: 100.", most=MOST_REPETITIONS, group=ESTIMATE, rare=True
    )
    validators_per_label: int = count_option(
        "Validators of each label in the estimate; 0 for no validation.",
        4,
        least=0,
        most=MOST_RATERS,
        group=ESTIMATE,
        rare=True,
    )
    tier_rule: str | None = option(
        None,
        help="Rule of the tiers of pairs; default: released.",
        group=ESTIMATE,
        rare=True,
        metavar="released|strict|FILE.yaml",
        complete=tier_rule_names,
        role="read",
    )


@dataclass(frozen=True, repr=False)
class SimulateResult(CampaignResult):
    """How often each simulated rater was right; or, with `estimate`, the measures of each team and overlap.

    Attributes:
        written: Whether anything was written; not where all sheets were there already, or nothing was to be written.
        out: The folder of the sheets; None for an estimate.
        measures: The names of the measures that are shown: cost and agreement, then labels.
        notes: Sentences about the simulated teams and the pace.
    """

    written: bool
    out: Path | None
    measures: tuple[Sequence[str], Sequence[str]]
    notes: Sequence[str]

    def rows(self) -> list[Mapping[str, Any]]:
        """Returns the shares of each rater, or the mean of each measure by team and overlap."""
        if self.out is not None:
            return list(self.data["raters"])
        return [
            {name: value for name, value in row.items() if name != "measures"}
            | {name: measure["mean"] for name, measure in row["measures"].items()}
            for row in self.data["designs"]
        ]


def simulate(
    campaign: CampaignFolder,
    out: Annotated[Path | str | None, output("Folder for filled-in sheets and truth.jsonl.")] = None,
    options: SimulateOptions = SimulateOptions(),
) -> SimulateResult:
    """Fills in sheets with simulated answers, or estimates the cost and the results of a campaign.

    Args:
        campaign: The folder of the campaign.
        out: The folder to write; None with `estimate`.
        options: The options.

    Returns:
        Without `estimate`, one row for each simulated rater: `units`, `skipped`, `not_sure`, and the share of correct
        labels (`right`) or the mean distance from the true grade (`off`). With `estimate`, one row for each team size
        and overlap, with the means of the measures over the simulated campaigns, such as `judgements`, `hours`, `pay`
        (in the currency of `pay_per_hour`) and `alpha`; `data["designs"]` also has their 95 % ranges.

    Raises:
        InputError: Options contradict each other, a file cannot be read, or a sheet exists with other content.

    Examples:
        >>> simulate(campaign, folder / "sheets", SimulateOptions(accuracy=1)).to_frame()["right"].tolist()
        [1.0, 1.0]
        >>> teams = SimulateOptions(estimate=True, team_size=(3,), overlap_plan=("2=0.5",), repetitions=2)
        >>> simulate(campaign, options=teams).to_frame()["judgements"].tolist()  # of four pairs, two are judged twice
        [6.0]
    """
    from fcconan.annotation import POSITIVE_RATE, Campaign

    if options.estimate == (out is not None):
        raise InputError("give --out FOLDER for filled-in sheets, or --estimate for an estimate")
    if not options.estimate:
        options.refuse("team_size", "overlap_plan", "repetitions", why="only for --estimate")
    if options.truth is not None:
        options.refuse("estimate", "positive_rate", why="--truth gives the right answers, which would be drawn")
    rate = POSITIVE_RATE if options.positive_rate is None else options.positive_rate
    opened = Campaign(Path(campaign))
    described = _described(options)
    if out is None:
        return _estimated(opened, described, rate, options)
    return _filled_in(opened, described, rate, Path(out), options)


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


def _filled_in(
    campaign: "Campaign", described: "AnnotatorModels", rate: float, out: Path, options: SimulateOptions
) -> SimulateResult:
    from fcconan.annotation import (
        annotator_models,
        count_correct,
        derived_seed,
        make_sheets,
        read_ground_truth,
        sample_ground_truth,
        simulate_answers,
        write,
    )

    check_outside(campaign.folder, out)
    truth: GroundTruth
    truth = (
        sample_ground_truth(campaign, positive_rate=rate)
        if options.truth is None
        else read_ground_truth(options.truth, campaign)
    )
    seed = derived_seed(campaign.settings.seed, f"simulate {options.round}", options.seed)
    found = simulate_answers(campaign, options.round, annotator_models(campaign, described), truth, seed=seed)
    files = make_sheets(found, options.round, truth)
    written = write(out, files)
    rows = count_correct(campaign, found, truth, options.round)
    data = {"round": options.round, "seed": seed, "raters": rows, "files": sorted(files)}
    sheet = out / f"{options.round}-{rows[0]['rater']}.csv"
    note = f"{count_noun(len(files) - 1, 'sheet')}, such as {sheet}; the right answers are in {out / 'truth.jsonl'}."
    return SimulateResult(data, campaign.settings.name, written, out, ((), ()), [note])


def _estimated(
    campaign: "Campaign", described: "AnnotatorModels", rate: float, options: SimulateOptions
) -> SimulateResult:
    from fcconan.annotation import Pace, derived_seed, measured_pace, simulate_campaigns, simulated_pace

    panels, notes = _panels(campaign, described, rate, options)
    seconds = options.seconds_per_unit
    known = Pace(seconds) if seconds is not None else measured_pace(campaign.answers().values())
    how = "given" if seconds is not None else "measured" if known.seconds is not None else "simulated"
    repetitions = options.repetitions or 100
    seed = derived_seed(campaign.settings.seed, "plan", options.seed)
    shares = [_shares(each) for each in options.overlap_plan or OVERLAPS]
    rows: list[dict[str, Any]] = []
    for number, panel in panels.items():
        pace = known if known.seconds is not None else simulated_pace(panel)
        for overlap in shares:
            if any(share > 0 and raters > number for raters, share in overlap.items()):
                raise InputError(f"--team-size {number} cannot judge units by {max(overlap)} raters: give larger teams")
            found = simulate_campaigns(
                campaign, panel, number, overlap, pace, options.pay_per_hour, repetitions=repetitions, seed=seed
            )
            design = {"raters": number, "twice": overlap[2], "thrice": overlap[3], "seconds": pace.seconds}
            rows.append(design | {"measures": found})
    # With tiers, the broadest one holds all labels.
    has_tiers = campaign.task.unit == "pair"
    names = [
        name
        for name in rows[0]["measures"]
        if not (has_tiers and name.endswith(" all")) and any(row["measures"][name]["mean"] is not None for row in rows)
    ]
    labels = [name for name in names if name.partition(" ")[0] in ("size", "error")]
    paces = " or ".join(dict.fromkeys(f"{row['seconds'] or 0:.1f}" for row in rows))
    notes.append(f"{repetitions} campaigns of each kind; {paces} seconds a unit ({how}).")
    data = {"repetitions": repetitions, "seed": seed, "seconds_are": how, "designs": rows}
    shown = ([name for name in names if name not in labels], labels)
    return SimulateResult(data, campaign.settings.name, False, None, shown, notes)


def _panels(
    campaign: "Campaign", described: "AnnotatorModels", rate: float, options: SimulateOptions
) -> "tuple[dict[int, Panel], list[str]]":
    """Returns the simulated raters by team size, and sentences about them."""
    from fcconan.annotation import Panel
    from fcconan.building import load_tier_rule

    rule = load_tier_rule(options.tier_rule or "released") if campaign.task.unit == "pair" else None
    n_validators = options.validators_per_label
    staff, notes = _people(campaign, described, "validator", n_validators)
    panels = {}
    for size in dict.fromkeys(options.team_size or TEAMS):
        team, said = _people(campaign, described, "annotator", size)
        panels[size] = Panel(team, staff, n_validators, rate, rule)
        notes += said
    return panels, notes


def _people(
    campaign: "Campaign", described: "AnnotatorModels", role: "Role", size: int
) -> "tuple[list[AnnotatorModel], list[str]]":
    """Returns each rater who is known by name once and others up to the size, and a sentence about them."""
    from fcconan.annotation import check_names, known_raters

    named = known_raters(campaign, described, role)
    found = [described.of(name, role) for name in named] + [described.of("", role)] * (size - len(named))
    for behaviour in found:
        check_names(campaign.task, f"a simulated {role}", behaviour)
    key = "validators" if role == "validator" and described.validators.model_fields_set else "default"
    people = [*named, f"{size - len(named)} as in `{key}`"] if size > len(named) else named
    drawn = ", not all of them in each simulated campaign" if size < len(named) else ""
    return found, [f"{size} {role}{'s' * (size > 1)}: {', '.join(people)}{drawn}."] if size else []


def _shares(text: str) -> dict[int, float]:
    """Reads an overlap such as `2=0.2,3=0.05`, or `0.2:0.05` as version 0.1 wrote it."""
    try:
        if "=" in text:
            pairs = [part.split("=") for part in text.split(",")]
            found = {2: 0.0, 3: 0.0} | {int(raters): float(share) for raters, share in pairs}
        else:
            twice, _, thrice = text.partition(":")
            found = {2: float(twice), 3: float(thrice or 0)}
    except ValueError as error:
        raise InputError(f"--overlap-plan {text}: expected shares such as 2=0.2,3=0.05") from error
    if found.keys() != {2, 3} or not (min(found.values()) >= 0 and sum(found.values()) <= 1):
        raise InputError(f"--overlap-plan {text}: give shares from 0 that make no more than 1, for 2 and 3 raters")
    return found
