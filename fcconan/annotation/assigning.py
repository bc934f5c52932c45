"""`annotate assign`: units of a round to raters, and the qualification test."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from fcconan.annotation.campaigns import MAIN, QUALIFICATION, RATERS, VALIDATION, Campaign, Key
from fcconan.annotation.ordering import derived_seed, in_order, last_places
from fcconan.annotation.progress import next_step
from fcconan.annotation.rounds import (
    active_annotators,
    assigned_elsewhere,
    completed_assignments,
    recorded_options,
    review_round,
    write_round,
)
from fcconan.data import as_names, read_file, write_whole
from fcconan.errors import InputError
from fcconan.groups import AtLeastOne, NotNegative, Share
from fcconan.result import Result

if TYPE_CHECKING:
    from pandas import DataFrame

ROUNDING = 1e-9  # 0.7 * 10 questions may exceed 7


def assign(
    campaign: Path,
    *,
    round: str = MAIN,
    overlap: dict[str, float] = {},  # noqa: B006 - it is not changed
    all_raters: bool = False,
    sample_size: AtLeastOne | None = None,
    session_size: AtLeastOne | None = None,
    exclude_round: tuple[str, ...] = (),
    gold_per_session: Annotated[int, NotNegative] = 0,
    review: str | None = None,
    max_distance: Annotated[float | None, NotNegative] = None,
    qualify: bool = False,
    pass_mark: Share = 0.8,
    tolerance: Annotated[float, NotNegative] = 0.0,
    seed: Annotated[int | None, NotNegative] = None,
) -> Result:
    """Assign units to raters, in rounds and sessions, with overlaps and gold questions.

    Raters are the active annotators of `raters.csv` in the campaign. Each has a random order. Loads differ by at most
    one unit, or more if raters had units in other rounds, and shared units connect all raters. No rater gets a unit or
    gold question of another round again, except in a review. A second call for a round passes open units of raters who
    left to raters who have not had them, and changes nothing else.

    Args:
        campaign: Folder of the campaign.
        round: Name of the round; `qualification` gives the qualification test to invited raters.
        overlap: Share of units that several raters judge, as in `--overlap.2 0.2 --overlap.3 0.05`; one rater judges
            each of the others.
        all_raters: Assign all units of the round to all raters.
        sample_size: Number of units to draw; default: all.
        session_size: Largest number of units in a session; default: one session.
        exclude_round: Rounds whose units are left out.
        gold_per_session: Gold questions in each session.
        review: Round whose outlying or conflicting answers are judged again: by the one rater who differs from all
            others, else by all raters of the unit. They see the other answers without names.
        max_distance: Largest distance of grades that are not reviewed; default: 2.
        qualify: Decide by the qualification test which invited raters become active.
        pass_mark: Share of the qualification test that must be right.
        tolerance: Largest distance from the known grade that counts as right in the qualification test.
        seed: Seed of all random choices; default: derived from the seed of the campaign.

    Returns:
        `raters`: one row for each rater of the round, with `units`, `gold`, `sessions` and `open` (units without an
        answer). `overlap`: numbers of `units` by number of `raters`. With `qualify` instead `qualification`: one row
        for each rater with `known`, `right`, `open`, `share` and `state`.

    Raises:
        InputError: Options exclude each other, differ from those of the existing round, or need more units or raters.

    Examples:
        >>> assign(campaign, round="second", sample_size=3).to_frame()[["rater", "units"]].values.tolist()
        [['velmari-3', 3]]
    """
    opened = Campaign(campaign)
    identity = {"campaign": opened.settings.name, "round": QUALIFICATION if qualify else round}
    asked: dict[str, Any] = {
        "overlap": {str(number): share for number, share in overlap.items()},
        "all_raters": all_raters,
        "sample_size": sample_size,
        "session_size": session_size,
        "exclude_round": [*as_names(exclude_round)],
        "gold_per_session": gold_per_session,
        "review": review,
        "max_distance": max_distance,
        "seed": seed,
    }
    given = {name: value for name, value in asked.items() if value or (value == 0 and name in ("max_distance", "seed"))}
    notes: list[str] = []
    with opened.changing():
        if qualify:
            tables = {"qualification": _qualified(opened, pass_mark, tolerance)}
            return Result("annotate assign", tables, identity, [next_step(opened)])
        if round == QUALIFICATION:
            if wrong := [name.replace("_", "-") for name in given.keys() - {"session_size", "seed"}]:
                raise InputError(
                    f"found --{min(wrong)} for the qualification test, which has --session-size and --seed only: leave "
                    "it out"
                )
            _test(opened, session_size, seed)
        elif round in opened.rounds() and round != VALIDATION:
            made = recorded_options(opened, round)
            other = [f"{key} {made.get(key)} (now {value})" for key, value in given.items() if made.get(key) != value]
            if other:
                raise InputError(
                    f"{opened.folder} has a round {round}, made with {', '.join(other)}: leave these options out, or "
                    "give another --round"
                )
            notes = _passed_on(opened, round, seed)
        else:
            notes = _make(opened, round, asked)
        return Result("annotate assign", _work(opened, round), identity, [*notes, next_step(opened)])


def _make(campaign: Campaign, name: str, asked: Mapping[str, Any]) -> list[str]:
    """Makes a round and writes it; returns a note on units that it leaves out."""
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) or name == VALIDATION or name.startswith("queue-"):
        raise InputError(
            f"found the round {name!r}, expected small letters, digits and hyphens, and none that `annotate validate` "
            "(validation) or `annotate queue` (queue-1) makes: give another --round"
        )
    if len(chosen := [each for each in ("overlap", "all_raters", "review") if asked[each]]) > 1:
        options = " and ".join("--" + each.replace("_", "-") for each in chosen)
        raise InputError(f"found {options}, expected one of them: leave the other out")
    raters = active_annotators(campaign)
    seed = derived_seed(campaign.settings.seed, f"assign {name}", asked["seed"])
    if asked["review"]:
        size, most = asked["session_size"], asked["max_distance"]
        assignments, shown = review_round(campaign, asked["review"], most, session_size=size, seed=seed)
        write_round(campaign, name, assignments, asked, shown)
        return []
    forbidden, generator = assigned_elsewhere(campaign, name), np.random.default_rng(seed)
    left_out = {each.unit_id for other in asked["exclude_round"] for each in campaign.assignments(other)}
    items = [each.unit_id for each in campaign.items() if each.unit_id not in left_out]
    permitted = permissions(items, raters, forbidden)
    size, overlap = asked["sample_size"], asked["overlap"]
    notes = []
    if asked["all_raters"]:
        overlap = {len(raters): 1.0}
        if had := sum(len(free) < len(raters) for free in permitted.values()):
            notes.append(f"{had} units are left out, as a rater had them in another round.")
        permitted = {unit: free for unit, free in permitted.items() if len(free) == len(raters)}
    if size is not None:
        available = [unit for unit, free in permitted.items() if free]
        if size > len(available):
            raise InputError(
                f"--sample-size is {size}, expected 1 to {len(available)}, the number of available units: draw fewer"
            )
        permitted = {unit: permitted[unit] for unit in generator.choice(available, size=size, replace=False).tolist()}
    if not permitted:
        raise InputError(f"the round {name} has no units: exclude fewer rounds")
    dealt = deal(numbers_of_raters(permitted, overlap, generator), permitted, generator)
    ordered = in_order(
        {rater: [unit for unit, chosen in dealt.items() if rater in chosen] for rater in raters},
        seed=seed,
        session_size=asked["session_size"],
        gold=[unit.unit_id for unit in campaign.units_of("anchor")],
        gold_per_session=asked["gold_per_session"],
        swap=campaign.task.unit == "comparison",
        seen=forbidden,
    )
    write_round(campaign, name, (each for rows in ordered.values() for each in rows), asked)
    return notes


def permissions(unit_ids: Iterable[str], raters: Sequence[str], forbidden: Collection[Key]) -> dict[str, list[str]]:
    """Returns the raters who may judge each unit."""
    return {unit: [rater for rater in raters if (rater, unit) not in forbidden] for unit in unit_ids}


def numbers_of_raters(
    permitted: Mapping[str, Sequence[str]], overlap: Mapping[Any, float], generator: np.random.Generator
) -> dict[str, int]:
    """Draws the units that several raters judge; returns the number of raters of each unit.

    Args:
        permitted: Unit -> raters who may judge it.
        overlap: Number of raters -> share of the units, rounded to whole units; one rater judges the rest.
        generator: Source of randomness.

    Raises:
        InputError: The overlap is not valid, or too few raters may judge the units.
    """
    shares = {int(number): share for number, share in overlap.items()}
    if any(number < 1 or share < 0 for number, share in shares.items()) or sum(shares.values()) > 1 + ROUNDING:
        found = ", ".join(f"{share:g} by {number}" for number, share in shares.items())
        raise InputError(f"found the overlap {found}, expected shares with a sum of at most 1: give smaller shares")
    wanted: dict[str, int] = {}
    remaining = generator.permutation([*permitted]).tolist()
    for raters, share in [*sorted(shares.items(), reverse=True), (1, 1.0)]:
        able = [unit for unit in remaining if len(permitted[unit]) >= raters]
        number = min(round(share * len(permitted)), len(remaining))
        if len(able) < number:
            raise InputError(
                f"{number} units need {raters} active raters who have not had them, but only {len(able)} have so many: "
                "add raters, lower the overlap, or exclude units that raters had with --exclude-round"
            )
        wanted |= dict.fromkeys(able[:number], raters)
        remaining = [unit for unit in remaining if unit not in wanted]
    return wanted


def deal(
    wanted: Mapping[str, int],
    permitted: Mapping[str, Sequence[str]],
    generator: np.random.Generator,
    load: Mapping[str, int] | None = None,
) -> dict[str, list[str]]:
    """Deals units to raters in turn.

    Units of several raters come first. Each goes to the permitted raters with the fewest units so far; of these, to
    raters who share no unit yet, not even through others, so that few shared units connect all raters.

    Args:
        wanted: Unit -> number of raters.
        permitted: Unit -> raters who may judge it; if they are fewer, all of them do.
        generator: Source of randomness.
        load: Rater -> number of units before.

    Returns:
        Unit -> raters.
    """
    loads, dealt = Counter(load), dict[str, list[str]]()
    team = {rater: rater for free in permitted.values() for rater in free}  # raters whom shared units connect
    order = generator.permutation(sorted(wanted)).tolist()
    for unit in sorted(order, key=lambda unit: (-wanted[unit], len(permitted[unit]))):
        chosen: list[str] = []
        tie = dict(zip(permitted[unit], generator.random(len(permitted[unit])).tolist(), strict=True))
        while len(chosen) < wanted[unit] and tie:
            near = {team[rater] for rater in chosen}
            rater = min(tie, key=lambda each: (loads[each], team[each] in near, tie[each]))
            del tie[rater]
            chosen.append(rater)
            loads[rater] += 1
        if len(chosen) > 1:
            joined = {team[rater] for rater in chosen}
            team = {rater: min(joined) if own in joined else own for rater, own in team.items()}
        dealt[unit] = chosen
    return dealt


def _passed_on(campaign: Campaign, name: str, seed: int | None) -> list[str]:
    """Passes open units of raters who left to others, at the end of their orders; returns a note on the rest."""
    before, made = campaign.assignments(name), recorded_options(campaign, name)
    done, active = completed_assignments(campaign, name), campaign.active("annotator")
    still = [each for each in before if not each.withdrawn and each.key not in done]
    left = {each for each in still if each.rater not in active}
    items = {each.unit_id for each in campaign.items()}
    # Only the rater can judge an answer again, and gold questions stay with the rater.
    moving = Counter(each.unit_id for each in left if each.unit_id in items and not made.get("review"))
    forbidden = {each.key for each in before} | assigned_elsewhere(campaign, name)
    seed = derived_seed(campaign.settings.seed, f"assign {name} {len(before)}", seed)
    load = Counter(each.rater for each in still)
    dealt = deal(moving, permissions(moving, active, forbidden), np.random.default_rng(seed), load)
    waiting = moving - Counter({unit: len(takers) for unit, takers in dealt.items()})
    note = f"{waiting.total()} units of raters who left stay with them: every active annotator has had these units."
    notes = [note] * bool(waiting)
    kept = []
    for each in before:
        stays = each not in left or waiting[each.unit_id] > 0
        waiting[each.unit_id] -= each in left
        kept.append(each if stays else replace(each, withdrawn=True))
    ordered = in_order(
        {rater: [unit for unit, takers in dealt.items() if rater in takers] for rater in active},
        seed=seed,
        session_size=made.get("session_size"),
        swap=campaign.task.unit == "comparison",
        ends=last_places(before),
    )
    campaign.write(f"rounds/{name}.jsonl", [*kept, *(each for rows in ordered.values() for each in rows)])
    return notes


def _test(campaign: Campaign, session_size: int | None, seed: int | None) -> None:
    """Assigns the qualification test to invited raters who do not have it."""
    before = campaign.assignments(QUALIFICATION) if QUALIFICATION in campaign.rounds() else []
    quiz, had = [unit.unit_id for unit in campaign.units_of("quiz")], {each.rater for each in before}
    new = [name for name, each in campaign.raters().items() if each.state == "invited" and name not in had]
    if not quiz or not (new or before):
        raise InputError(
            f"found {len(quiz)} questions of a qualification test and {len(new)} invited raters in {campaign.folder}, "
            f"expected some: give --qualification to `fcconan annotate new`, and the state invited in {RATERS}"
        )
    ordered = in_order(
        dict.fromkeys(new, quiz),
        seed=derived_seed(campaign.settings.seed, f"assign {QUALIFICATION}", seed),
        session_size=session_size,
        swap=campaign.task.unit == "comparison",
    )
    campaign.write(f"rounds/{QUALIFICATION}.jsonl", [*before, *(each for rows in ordered.values() for each in rows)])


def _qualified(campaign: Campaign, pass_mark: float, tolerance: float) -> "DataFrame":
    """Marks the qualification test, and writes which invited raters become active or fail.

    Skipped questions count as wrong. Raters stay invited until all questions are answered.
    """
    from pandas import DataFrame

    units = campaign.units()
    answers = {(each.key, each.aspect): each.value for each in campaign.answers(QUALIFICATION).values()}
    rows = []
    for each in campaign.assignments(QUALIFICATION):
        for aspect, true in (units[each.unit_id].known or {}).items():
            said = answers.get((each.key, aspect))
            near = isinstance(said, int | float) and abs(said - true) <= tolerance + ROUNDING
            is_open = (each.key, aspect) not in answers
            rows.append({"rater": each.rater, "known": 1, "right": near or said == true, "open": is_open})
    table = DataFrame(rows).groupby("rater", sort=False).sum().reset_index()
    table["share"] = table["right"] / table["known"]
    decided = (table["share"] >= pass_mark - ROUNDING).map({True: "active", False: "failed"})
    states = {name: each.state for name, each in campaign.raters().items()}
    before = table["rater"].map(states)
    table["state"] = before.where((before != "invited") | (table["open"] > 0), decided)
    states |= dict(zip(table["rater"], table["state"], strict=True))
    # People may have columns of their own in the file.
    path = campaign.folder / RATERS
    raters = read_file(path)
    write_whole(path, raters.assign(state=raters["rater"].str.strip().map(states)).to_csv(index=False))
    return table


def _work(campaign: Campaign, name: str) -> dict[str, "DataFrame"]:
    """Returns the work of each rater in a round, and the numbers of units by number of raters."""
    from pandas import DataFrame

    units, done = campaign.units(), completed_assignments(campaign, name)
    rows = [
        (each.rater, each.session, each.unit_id, units[each.unit_id].role == "anchor", each.key not in done)
        for each in campaign.assignments(name)
        if not each.withdrawn
    ]
    table = DataFrame(rows, columns=["rater", "session", "unit", "gold", "open"])
    judged = table[~table["gold"].astype(bool)]
    raters = table.groupby("rater", sort=False).agg(
        units=("gold", lambda gold: (~gold).sum()),
        gold=("gold", "sum"),
        sessions=("session", "nunique"),
        open=("open", "sum"),
    )
    overlap = judged.groupby("unit").size().value_counts().sort_index().rename_axis("raters")
    return {"raters": raters.reset_index(), "overlap": overlap.reset_index(name="units")}
