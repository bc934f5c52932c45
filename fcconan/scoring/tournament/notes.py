"""Notes on the limits of a tournament."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fcconan.data import count_noun

MAX_NAMES = 10  # largest number of names in a note
MAJORITY = "majority"  # rater of `majority_votes`; releases may have others, such as `majority-released`
KINDS = {"human": "people", "model": "models", "metric": "metrics", None: "of unknown kind"}
MAJORITIES = "majorities"


def tournament_notes(result: Mapping[str, Any]) -> list[str]:
    """Returns notes on omitted verdicts, on pooling, and on causes of bias or uncertainty in a ranking.

    Args:
        result: Result of `rank_systems` without its notes.
    """
    return [*_left_out(result), *_pairs(result), *_pooled(result), *_verdicts(result), *_intervals(result)]


def _left_out(result: Mapping[str, Any]) -> Iterator[str]:
    total = count_noun(result["n_verdicts"], "verdict")
    for name, label in (("invalid", "invalid"), ("unresolved", "unresolved (no majority)")):
        if number := result[name]:
            are, count = _inflect(number, "is", "are"), _inflect(number, "counts", "count")
            yield f"{number} of {total} {are} {label} and {count} for no system."


def _pairs(result: Mapping[str, Any]) -> Iterator[str]:
    missing, systems = result["missing_pairs"], len(result["systems"])
    fewest, most = result["fewest_per_pair"], result["most_per_pair"]
    pairs = systems * (systems - 1) // 2
    never_met = f"{len(missing)} of {count_noun(pairs, 'pair')} of systems never met"
    if len(result["groups"]) > 1:
        yield (
            f"{never_met}, and no comparisons connect these groups: {_groups(result['groups'])}. Shares are unfair and "
            "there are no strengths: rank each group by itself, or compare systems of different groups."
        )
    elif missing:
        yield f"{never_met} ({_names(' and '.join(pair) for pair in missing)}): shares are unfair; compare strengths."
    elif fewest < most:
        yield f"Pairs of systems met {fewest} to {most} times: shares depend on whom a system met."
    for key, start, option in (
        ("missing_by_rater", "Raters left out", "--rater"),
        ("missing_by_corpus", "Corpora lack", "--filter corpus=NAME"),
    ):
        if any(len(own) > len(missing) for own in result[key].values()):
            named = _names(f"{name} {len(own)}" for name, own in result[key].items())
            yield f"{start} different pairs of systems (of {pairs}: {named}): rank each by itself with {option}."
    if len(result["separated"]) > 1:
        yield (
            "No system of a later one of these groups won a point from an earlier one: "
            f"{_groups(result['separated'])}. Distances between their strengths depend on the regularisation alone."
        )


def _pooled(result: Mapping[str, Any]) -> Iterator[str]:
    kinds, corpora, majority = result["rater_kinds"], result["corpora"], result["settings"]["majority"]
    if len(kinds) > 1:
        raters = _by_kind(kinds)
        mixed = len(set(kinds.values())) > 1 and "human" in kinds.values()
        choice = "choose with --rater" + (" or --filter rater_kind=human" if mixed else "")
        if MAJORITIES in raters:
            choice = "choose one with --rater, because a majority consists of verdicts of the others"
        elif not majority:
            choice += ", or take --majority"
        who = f"{count_noun(len(kinds), 'rater')} ({_describe_raters(raters)})"
        yield (
            f"The majority is that of {who}: {choice}."
            if majority
            else (f"The verdicts of {who} count together: {choice}.")
        )
    if len(corpora) > 1:
        named = _names(f"{corpus}: {count_noun(n, 'item')}" for corpus, n in corpora.items())
        yield (
            f"{len(corpora)} corpora count together ({named}): choose one, as in --filter corpus={next(iter(corpora))}."
        )


def _by_kind(kinds: Mapping[str, str | None]) -> dict[str, list[str]]:
    """Groups raters: people, models, metrics, raters of unknown kind, and majorities."""
    found: dict[str, list[str]] = {title: [] for title in (*KINDS.values(), MAJORITIES)}
    for name, kind in kinds.items():
        is_majority = name == MAJORITY or name.startswith(f"{MAJORITY}-")
        found[MAJORITIES if is_majority else KINDS[kind]].append(name)
    return {title: names for title, names in found.items() if names}


def _describe_raters(raters: Mapping[str, list[str]]) -> str:
    """Returns the number of people and the names of other raters."""
    if set(raters) == {KINDS[None]}:
        return _names(raters[KINDS[None]])
    return "; ".join(
        f"{title}: {len(names) if title == KINDS['human'] else _names(names)}" for title, names in raters.items()
    )


def _verdicts(result: Mapping[str, Any]) -> Iterator[str]:
    if both := result["n_both_orders"]:
        flipped = result["n_flipped"]
        yield (
            f"{count_noun(both, 'verdict')} {_inflect(both, 'was', 'were')} given in both orders; {flipped} of them "
            f"{_inflect(flipped, 'disagrees and is a tie', 'disagree and are ties')}."
        )
    if repeated := result["n_repeated"]:
        repeat = _inflect(repeated, "repeats a verdict and counts", "repeat a verdict and count")
        yield f"{count_noun(repeated, 'row')} {repeat} once."


def _intervals(result: Mapping[str, Any]) -> Iterator[str]:
    lost = result["n_disconnected_resamples"]
    if result["n_items"] == 1:
        yield "One item cannot be resampled: there are no intervals."
    elif lost:
        does, leave = _inflect(lost, "does", "do"), _inflect(lost, "leave it out", "leave them out")
        yield f"{count_noun(lost, 'resample')} {does} not connect all systems; the intervals of strengths {leave}."


def _inflect(number: int, one: str, several: str) -> str:
    return one if number == 1 else several


def _groups(groups: Iterable[Iterable[str]]) -> str:
    return "; ".join(", ".join(group) for group in groups)


def _names(names: Iterable[str]) -> str:
    every = list(names)
    return ", ".join(every[:MAX_NAMES]) + (", ..." if len(every) > MAX_NAMES else "")
