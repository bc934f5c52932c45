"""What people have to know of a tournament, in words."""

from collections.abc import Iterable, Mapping
from typing import Any

from fcconan.data import counted

LONGEST = 10  # names in a note
MAJORITY = "majority"  # the rater of `majority_votes`; a release may hold `majority-released` beside it


def tournament_notes(result: Mapping[str, Any]) -> list[str]:
    """Says what is left out of a ranking, what is pooled in it, and what makes it unfair or uncertain.

    Args:
        result: What `fcconan.scoring.tournament.ranking.rank_systems` makes, but for its notes.
    """
    return [*_left_out(result), *_pairs(result), *_pooled(result), *_verdicts(result), *_intervals(result)]


def _left_out(result: Mapping[str, Any]) -> list[str]:
    total = counted(result["n_verdicts"], "verdict")
    return [
        f"{result[name]} of {total} {'is' if result[name] == 1 else 'are'} {what} and "
        f"{'counts' if result[name] == 1 else 'count'} for no system."
        for name, what in (("invalid", "invalid"), ("unresolved", "unresolved (no majority)"))
        if result[name]
    ]


def _pairs(result: Mapping[str, Any]) -> list[str]:
    missing, systems = result["missing_pairs"], len(result["systems"])
    fewest, most = result["fewest_per_pair"], result["most_per_pair"]
    pairs = systems * (systems - 1) // 2
    notes = []
    if len(result["groups"]) > 1:
        notes.append(
            f"{len(missing)} of {counted(pairs, 'pair')} of systems never met, and no comparisons connect these "
            f"groups: {_groups(result['groups'])}. Shares are unfair and there are no strengths: rank each group by "
            "itself, or compare systems of different groups."
        )
    elif missing:
        named = _names(f"{a} and {b}" for a, b in missing)
        notes.append(
            f"{len(missing)} of {counted(pairs, 'pair')} of systems never met ({named}): shares are unfair; compare "
            "strengths."
        )
    elif fewest < most:
        notes.append(f"Pairs of systems met {fewest} to {most} times: shares depend on whom a system met.")
    by_rater = result["missing_by_rater"]
    if any(len(own) > len(missing) for own in by_rater.values()):
        named = _names(f"{rater} {len(own)}" for rater, own in by_rater.items())
        notes.append(
            f"Raters left out different pairs of systems (of {pairs}: {named}): rank each by itself with --rater."
        )
    by_corpus = result["missing_by_corpus"]
    if any(len(own) > len(missing) for own in by_corpus.values()):
        named = _names(f"{corpus} {len(own)}" for corpus, own in by_corpus.items())
        notes.append(
            f"Corpora lack different pairs of systems (of {pairs}: {named}), so shares depend on the corpus: rank each "
            f"by itself, as in --filter corpus={next(iter(by_corpus))}."
        )
    if len(result["separated"]) > 1:
        notes.append(
            "No system of a later one of these groups won a point from an earlier one: "
            f"{_groups(result['separated'])}. How far their strengths are apart is the regularisation's doing."
        )
    return notes


def _pooled(result: Mapping[str, Any]) -> list[str]:
    kinds, corpora, majority = result["rater_kinds"], result["corpora"], result["settings"]["majority"]
    notes = []
    if len(kinds) > 1:
        several = len(set(kinds.values())) > 1 and "human" in kinds.values()
        majorities = [name for name in kinds if _is_majority(name)]
        choice = f"choose {'one ' if majorities else ''}with --rater" + (
            " or --filter rater_kind=human" if several and not majorities else ""
        )
        who = f"{counted(len(kinds), 'rater')} ({_who(kinds)})"
        if majorities:
            choice += ", for a majority is made of the verdicts of others"
        elif not majority:
            choice += ", or take --majority"
        notes.append(
            f"The majority is that of {who}: {choice}."
            if majority
            else f"The verdicts of {who} count together: {choice}."
        )
    if len(corpora) > 1:
        named = _names(f"{corpus}: {counted(n, 'item')}" for corpus, n in corpora.items())
        notes.append(
            f"{len(corpora)} corpora count together ({named}): choose one, as in --filter corpus={next(iter(corpora))}."
        )
    return notes


def _who(kinds: Mapping[str, str | None]) -> str:
    """Counts people and names the others; a majority is none of them."""
    if majorities := [name for name in kinds if _is_majority(name)]:
        others = {name: kind for name, kind in kinds.items() if name not in majorities}
        return "; ".join([*([_who(others)] if others else []), "majorities: " + _names(majorities)])
    people = sum(kind == "human" for kind in kinds.values())
    parts = [f"people: {people}"] if people else []
    for kind, title in (("model", "models: "), ("metric", "metrics: "), (None, "of unknown kind: ")):
        if names := [name for name, own in kinds.items() if own == kind]:
            parts.append(("" if kind is None and len(names) == len(kinds) else title) + _names(names))
    return "; ".join(parts)


def _is_majority(rater: str) -> bool:
    """Whether a rater is the majority of others, by the names that this package gives to them."""
    return rater == MAJORITY or rater.startswith(f"{MAJORITY}-")


def _verdicts(result: Mapping[str, Any]) -> list[str]:
    notes = []
    if both := result["n_both_orders"]:
        flipped = result["n_flipped"]
        notes.append(
            f"{counted(both, 'verdict')} {'was' if both == 1 else 'were'} given in both orders; {flipped} of them "
            f"{'disagrees and is a tie' if flipped == 1 else 'disagree and are ties'}."
        )
    if repeated := result["n_repeated"]:
        repeat = "repeats a verdict and counts" if repeated == 1 else "repeat a verdict and count"
        notes.append(f"{counted(repeated, 'row')} {repeat} once.")
    controlled = result.get("length_controlled") or {}
    if controlled.get("weight") is not None:
        notes.append(
            "A positive weight of length means that longer replies are preferred: one that is longer by the scale "
            "gains tanh(1) = 0.76 of the weight in log odds."
        )
    return notes


def _intervals(result: Mapping[str, Any]) -> list[str]:
    lost = result["n_disconnected_resamples"]
    if result["n_items"] == 1:
        return ["One item cannot be resampled: there are no intervals."]
    if not lost:
        return []
    does, leave = ("does", "leave it out") if lost == 1 else ("do", "leave them out")
    return [f"{counted(lost, 'resample')} {does} not connect all systems; the intervals of strengths {leave}."]


def _groups(groups: Iterable[Iterable[str]]) -> str:
    return "; ".join(", ".join(group) for group in groups)


def _names(names: Iterable[str]) -> str:
    every = list(names)
    return ", ".join(every[:LONGEST]) + (", ..." if len(every) > LONGEST else "")
