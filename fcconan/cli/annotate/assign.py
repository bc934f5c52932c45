"""`fcconan annotate assign`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcconan.cli import row_options
from fcconan.cli.options import seed_option
from fcconan.errors import InputError

if TYPE_CHECKING:
    from fcconan.annotation import Assignment, Campaign, Effort, Pace

NAME = "assign"
EXAMPLE = "Example: fcconan annotate assign my-campaign --blocks cn --twice 0.2 --thrice 0.05 --session-size 100"


def run(
    folder: Annotated[Path, typer.Argument(metavar="CAMPAIGN", help="The campaign's folder.")],
    round_name: Annotated[
        str, typer.Option("--round", help="The round's name; qualification gives the quiz to who is invited.")
    ] = "main",
    blocks: Annotated[
        str, typer.Option("--blocks", help="What goes to the same raters: cn or hs (all units of one), or units.")
    ] = "units",
    twice: Annotated[float, typer.Option("--twice", help="The share that two raters judge.")] = 0.0,
    thrice: Annotated[float, typer.Option("--thrice", help="The share that three raters judge.")] = 0.0,
    scatter: Annotated[
        bool, typer.Option("--scatter", help="Of blocks: the overlap is single units of all blocks, not whole blocks.")
    ] = False,
    all_raters: Annotated[bool, typer.Option("--all-raters", help="All raters judge all units of the round.")] = False,
    sample: Annotated[int | None, typer.Option("--sample", min=1, help="Draw so many units. Default: all.")] = None,
    without: Annotated[
        list[str] | None, typer.Option("--without", help="A round whose units are left out; repeat it.")
    ] = None,
    session_size: Annotated[
        int | None, typer.Option("--session-size", min=1, help="Units in one session at most. Default: one.")
    ] = None,
    anchors: Annotated[
        int, typer.Option("--anchors-per-session", min=0, help="Units with a known answer mixed into every session.")
    ] = 0,
    review: Annotated[
        str | None,
        typer.Option(
            "--review",
            help="A round: who alone is far off judges again and sees what others said; where raters differ and nobody "
            "stands alone, all do.",
        ),
    ] = None,
    more_than: Annotated[
        float | None,
        typer.Option("--more-than", min=0, help="How far apart grades are that are reviewed. Default: 2."),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Give open units of raters who left to others; nothing else changes.")
    ] = False,
    skipped: Annotated[
        bool, typer.Option("--skipped", help="Again: units that were skipped go to others, too.")
    ] = False,
    relieve: Annotated[
        bool, typer.Option("--relieve", help="Again: who has more to do hands the end of it to those with less.")
    ] = False,
    qualify: Annotated[
        bool, typer.Option("--qualify", help="Decide by the quiz which invited raters qualify.")
    ] = False,
    pass_mark: Annotated[float, typer.Option("--pass-mark", help="The share of right answers that is needed.")] = 0.8,
    within: Annotated[float, typer.Option("--within", help="How far from the right one a grade may be.")] = 0.0,
    seconds: Annotated[
        float | None,
        typer.Option("--seconds-per-unit", min=0, help="For the estimate of time. Default: as measured so far."),
    ] = None,
    pay: Annotated[float | None, typer.Option("--pay-per-hour", min=0, help="For the estimate of pay.")] = None,
    seed: Annotated[int | None, seed_option("Default: follows from the campaign's.")] = None,
    json_file: row_options.Json = None,
) -> None:
    """Assign units to raters, in rounds and sessions, with overlaps, anchors, a quiz, and an estimate of the cost."""
    from fcconan.annotation import (
        BLOCKS,
        QUALIFICATION,
        Campaign,
        Pace,
        Plan,
        make_round,
        measured_pace,
        quiz_round,
        reassign,
        review_cases,
    )
    from fcconan.cli.files import check_files
    from fcconan.cli.output import check_json_target, write_json

    if blocks not in BLOCKS:
        raise InputError(f"--blocks is {blocks!r}: give {', '.join(BLOCKS[:-1])} or {BLOCKS[-1]}")
    plan = Plan(
        blocks=blocks,
        twice=twice,
        thrice=thrice,
        scatter=scatter,
        all_raters=all_raters,
        sample=sample,
        without=tuple(without or ()),
        review=review,
        more_than=more_than,
        session_size=session_size,
        anchors_per_session=anchors,
        seed=seed,
    )
    quiz = round_name == QUALIFICATION
    _check_numbers(more_than=more_than, pass_mark=pass_mark, within=within, seconds_per_unit=seconds, pay_per_hour=pay)
    _check(plan, again=again, moving=skipped or relieve, qualify=qualify, quiz=quiz)
    check_files({"--json": json_file}, folders=[folder])
    check_json_target(json_file, folder)
    campaign, notes, reviewed = Campaign(folder), [], {}
    with campaign.changing():
        if qualify:
            result = _qualify(campaign, pass_mark, within)
        else:
            if again:
                moved = reassign(campaign, round_name, skipped=skipped, relieve=relieve, seed=seed)
                assignments = moved.assignments
                notes.append(f"{moved.moved} assignments are new, {moved.withdrawn} are withdrawn.")
                if moved.waiting:
                    notes.append(
                        f"{len(moved.waiting)} units of raters who left or skipped stay where they are: every active "
                        "rater has had them."
                    )
            elif quiz:
                assignments = quiz_round(campaign, session_size=session_size, seed=seed)
            else:
                assignments, new = make_round(campaign, round_name, plan)
                if not new:
                    notes.append(f"The round {round_name} is there already, made in the same way: nothing changed.")
                elif review is not None:
                    cases = review_cases(campaign, plan)
                    reviewed = {"reviewed": {"alone": cases.alone, "apart": cases.apart}}
                    notes.append(
                        f"{cases.alone} answers of one rater stand alone: that rater reviews them. On {cases.apart} "
                        "other questions raters are apart and nobody stands alone: all who answered review them."
                    )
            pace = Pace(seconds) if seconds is not None else measured_pace(campaign.answers().values())
            result = _summary(campaign, round_name, assignments, pace, pay, notes) | reviewed
    if json_file is not None:
        write_json(json_file, result)


def _check_numbers(**given: float | None) -> None:
    from math import isfinite

    for name, value in given.items():
        if value is not None and not isfinite(value):
            raise InputError(f"--{name.replace('_', '-')} is {value:g}: give a number")


def _check(plan: Any, *, again: bool, moving: bool, qualify: bool, quiz: bool) -> None:
    from dataclasses import replace

    from fcconan.annotation import Plan

    if moving and not again:
        raise InputError("--skipped and --relieve go with --again: give it, or leave them out")
    plain = Plan(seed=plan.seed, session_size=plan.session_size)
    if (again or qualify or quiz) and (plan != plain or (again and plan.session_size) or (again and qualify)):
        what = "--again" if again else "--qualify" if qualify else "the quiz"
        given = [
            f"--{name.replace('_', '-')}"
            for name in vars(Plan())
            if getattr(plan, name) != getattr(replace(plain, session_size=None), name)
        ]
        said = ", ".join(given) or "--qualify"
        raise InputError(f"{what} keeps the units and orders as they are and takes no {said}: leave that out")


def _qualify(campaign: "Campaign", pass_mark: float, within: float) -> dict[str, Any]:
    from dataclasses import asdict

    from fcconan.annotation import qualify
    from fcconan.cli.output import print_table

    results = qualify(campaign, pass_mark=pass_mark, within=within)
    rows = [(each.rater, each.right, each.known, f"{each.share:.3f}", each.open, each.state) for each in results]
    columns = ("rater", "right", "of", "share", "open", "state")
    print_table(f"Quiz of {campaign.settings.name}, pass mark {pass_mark:g}", columns, rows)
    return {
        "pass_mark": pass_mark,
        "within": within,
        "raters": [{**asdict(each), "share": each.share} for each in results],
    }


def _summary(
    campaign: "Campaign",
    round_name: str,
    assignments: "list[Assignment]",
    pace: "Pace",
    pay: float | None,
    notes: list[str],
) -> dict[str, Any]:
    from collections import Counter
    from dataclasses import asdict

    from fcconan.annotation import done_in, effort, items_of, spread_of
    from fcconan.cli.output import print_table

    units, done = campaign.units(), done_in(campaign, round_name)
    there = [each for each in assignments if not each.withdrawn]
    judged = items_of(assignments, units)
    # Who left and has nothing any more would be the rater with the smallest load.
    spread = spread_of({rater: ids for rater, ids in judged.items() if ids})
    total = Counter(each.rater for each in there)
    known = Counter(each.rater for each in there if units[each.unit_id].role == "anchor")
    to_do = Counter(each.rater for each in there if (each.rater, each.unit_id) not in done)
    sessions = {rater: len({each.session for each in there if each.rater == rater}) for rater in total}
    costs = effort({rater: total[rater] for rater in judged}, pace, pay)
    whole = effort({"all": len(there)}, pace, pay)["all"]
    rows = [
        {
            "rater": rater,
            "units": len(ids),
            "anchors": known[rater],
            "sessions": sessions.get(rater, 0),
            "open": to_do[rater],
            "hours": costs[rater].hours,
            "pay": costs[rater].pay,
        }
        for rater, ids in judged.items()
    ]
    if not there:
        notes.append(f"Nobody has anything to do in the round {round_name}.")
    else:
        several = ", ".join(f"{number} by {raters}" for raters, number in spread.by_raters.items())
        notes.append(f"{sum(spread.by_raters.values())} units, {spread.judgements} judgements: {several}.")
        notes.append(
            f"Raters have {spread.least} to {spread.most} units, a difference of {spread.most - spread.least}."
        )
    if spread.pairs and max(spread.by_raters, default=0) > 1:
        notes.append(
            f"{spread.sharing} of {spread.pairs} pairs of raters share units, {spread.fewest_shared} to "
            f"{spread.most_shared} each; shared units {'connect' if spread.connected else 'do not connect'} all raters."
        )
    notes.append(_cost(pace, whole))
    columns = [name for name in rows[0] if rows[0][name] is not None] if rows else ["rater"]
    cells = [[f"{row[name]:.2f}" if name in ("hours", "pay") else row[name] for name in columns] for row in rows]
    print_table(f"Round {round_name} of {campaign.settings.name}", columns, cells)
    for note in notes:
        typer.echo(note)
    return {
        "round": round_name,
        "raters": rows,
        "spread": asdict(spread) | {"by_raters": {str(key): value for key, value in spread.by_raters.items()}},
        "pace": asdict(pace),
        "effort": asdict(whole),
        "notes": notes,
    }


def _cost(pace: "Pace", whole: "Effort") -> str:
    if pace.seconds is None or whole.hours is None:
        return "No time was measured yet: give --seconds-per-unit for an estimate."
    how = f"measured on {pace.measured} units, {pace.pauses} pauses left out" if pace.measured else "as given"
    cost = "" if whole.pay is None else f", {whole.pay:.2f} of pay"
    return f"{pace.seconds:.1f} seconds a unit ({how}): {whole.hours:.1f} hours{cost}."
