"""Agreement and tier of a pair, from its votes, its final label and its validity.

FC-CONAN (section 4.1) names four tiers. Two named rules tell which pairs are Diamond and differ only there: on
FC-CONAN, `released` gives 551 pairs and `strict` 530.
"""

from collections.abc import Callable, Sequence

TierRule = Callable[[Sequence[str], str], bool]


def agreement(votes: Sequence[str], label: str) -> str:
    """Returns how the votes on a pair relate to its final label.

    Args:
        votes: The labels that the annotators gave, `not_sure` among them; one or more.
        label: The final label.

    Returns:
        `single` (one vote), `unanimous` (all say the final label), `majority` (more than half do), or `adjudicated`.
    """
    if len(votes) == 1:
        return "single"
    backing = sum(vote == label for vote in votes)
    if backing == len(votes):
        return "unanimous"
    return "majority" if 2 * backing > len(votes) else "adjudicated"


def _released(votes: Sequence[str], label: str) -> bool:
    """Diamond: the final label has a strict majority of two or more votes, as in the release of FC-CONAN."""
    return agreement(votes, label) in ("unanimous", "majority")


def _strict(votes: Sequence[str], label: str) -> bool:
    """Diamond: two or more votes, all of them the final label, as the paper on FC-CONAN says."""
    return agreement(votes, label) == "unanimous"


TIER_RULES: dict[str, TierRule] = {"released": _released, "strict": _strict}


def tier(votes: Sequence[str], label: str, valid: bool, rule: str) -> str:
    """Returns the best tier that a pair belongs to; the tiers are nested.

    Args:
        votes: The labels that the annotators gave.
        label: The final label.
        valid: Whether the validator confirmed it.
        rule: A key of `TIER_RULES`.

    Returns:
        `bronze` (not confirmed), `silver` (confirmed), `gold` (and two or more annotators), or `diamond` (by the rule).
    """
    if not valid:
        return "bronze"
    if len(votes) < 2:
        return "silver"
    return "diamond" if TIER_RULES[rule](votes, label) else "gold"
