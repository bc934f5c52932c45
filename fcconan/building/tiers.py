"""Agreement and tier of a pair, given its votes, its final label and its validation.

A tier rule is a YAML file (in `annotations/tier-rules/` or elsewhere) with tiers from the best to the broadest. Each
tier adds conditions to those of the broader tiers, so that tiers are nested. FC-CONAN (section 4.1) has four tiers. The
two rules of the catalogue differ in Diamond: on FC-CONAN, `released` gives 551 pairs and `strict` 530.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, field_validator

from fcconan.data import read_yaml, tier_rule_names, tier_rule_path
from fcconan.errors import InputError

Agreement = Literal["single", "unanimous", "majority", "adjudicated"]
Role = Literal["annotator", "validator"]
TierName = Literal["diamond", "gold", "silver", "bronze"]
ANNOTATOR: Role = "annotator"


def agreement(votes: Sequence[str], label: str) -> Agreement:
    """Returns the relation of the votes on a pair to its final label.

    Args:
        votes: Labels of the annotators, including `not_sure`; one or more.
        label: Final label.

    Returns:
        `single` (one vote), `unanimous` (all votes are the final label), `majority` (more than half are), or
        `adjudicated`.
    """
    backing = sum(vote == label for vote in votes)
    if len(votes) == 1:
        return "single"
    if backing == len(votes):
        return "unanimous"
    return "majority" if 2 * backing > len(votes) else "adjudicated"


@dataclass(frozen=True)
class JudgedPair:
    """The properties of a pair that a tier rule can test.

    Attributes:
        votes: Labels of the raters; one or more.
        label: Final label.
        valid: Whether validators confirmed the label.
        roles: Roles of the raters.
    """

    votes: Sequence[str]
    label: str
    valid: bool
    roles: frozenset[str] = frozenset({ANNOTATOR})


class Tier(BaseModel):
    """A tier with its conditions, which apply in addition to those of the broader tiers.

    Attributes:
        name: Name of the tier.
        min_votes: Minimum number of votes.
        agreement: Allowed relations of the votes to the final label.
        valid: `true` if validators must have confirmed the label; `any` adds no condition.
        roles: Allowed roles of the raters; a vote of another role excludes the pair.
        min_backing: Minimum share of votes for the final label.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: TierName
    min_votes: int | None = Field(None, ge=1, le=100, strict=True)
    agreement: Annotated[list[Agreement], Field(min_length=1)] | None = None
    valid: Literal[True, "any"] | None = None
    roles: Annotated[list[Role], Field(min_length=1)] | None = None
    min_backing: float | None = Field(None, gt=0, le=1, strict=True)

    def meets(self, pair: JudgedPair) -> bool:
        """Returns whether a pair meets the conditions of this tier."""
        backing = sum(vote == pair.label for vote in pair.votes)
        return (
            (self.min_votes is None or len(pair.votes) >= self.min_votes)
            and (self.agreement is None or agreement(pair.votes, pair.label) in self.agreement)
            and (self.valid is not True or pair.valid)
            and (self.roles is None or pair.roles <= set(self.roles))
            # Tolerance for rounding: 0.67 * 100 is 67.00000000000001.
            and (self.min_backing is None or backing >= self.min_backing * len(pair.votes) - 1e-9)
        )

    def in_words(self) -> str:
        """Returns the conditions in words, for cards."""
        words = []
        if self.min_votes is not None:
            words.append(f"{self.min_votes} or more vote{'s' if self.min_votes > 1 else ''}")
        if self.agreement is not None:
            words.append(f"agreement {' or '.join(self.agreement)}")
        if self.valid is True:
            words.append("label confirmed by a validator")
        if self.roles is not None:
            words.append(f"votes by {' or '.join(self.roles)} only")
        if self.min_backing is not None:
            words.append(f"{100 * self.min_backing:g}% or more of the votes for the label")
        return ", ".join(words) or "every labelled pair"


def _within(broader: Tier, tier: Tier) -> Tier:
    """Returns a tier with the conditions of a broader one added."""
    conditions: dict[str, Any] = broader.model_dump(exclude_none=True)
    for name, own in tier.model_dump(exclude_none=True).items():
        other = conditions.get(name, own)
        if isinstance(own, list):
            own = [each for each in own if each in other]
        elif name in ("min_votes", "min_backing"):
            own = max(own, other)
        if own != "any":
            conditions[name] = own
    return tier.model_copy(update=conditions)


class TierRule(BaseModel):
    """A tier rule: nested tiers from the best to the broadest.

    Attributes:
        meaning: Description in one sentence, for the card.
        tiers: Tiers. A pair outside of the last tier has no tier.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    meaning: str = Field(min_length=1)
    tiers: list[Tier] = Field(min_length=1)

    @field_validator("tiers")
    @classmethod
    def _best_first(cls, tiers: list[Tier]) -> list[Tier]:
        order = get_args(TierName)
        names = [tier.name for tier in tiers]
        if names != sorted(set(names), key=order.index):
            raise ValueError(
                f"the tiers are {', '.join(names)}: name each once and the best first ({', '.join(order)})"
            )
        for tier in accumulate(reversed(tiers), _within):
            if [] in (tier.agreement, tier.roles):
                raise ValueError(
                    f"no pair can be {tier.name}: its agreement or roles share no value with a broader tier: loosen one"
                )
        return tiers

    @cached_property
    def complete(self) -> list[Tier]:
        """The tiers with all of their conditions, the best first."""
        return [*accumulate(reversed(self.tiers), _within)][::-1]

    @property
    def names(self) -> list[str]:
        """The names of the tiers, the best first."""
        return [tier.name for tier in self.tiers]

    def best(self, pair: JudgedPair) -> str | None:
        """Returns the name of the best tier of a pair: it meets the conditions of this and all broader tiers.

        None if the pair does not meet the conditions of the broadest tier.
        """
        best = None
        for tier in reversed(self.tiers):
            if not tier.meets(pair):
                break
            best = tier.name
        return best


def load_tier_rule(name: str) -> TierRule:
    """Loads and checks a tier rule.

    Args:
        name: A rule of the catalogue, or the path of a file (it ends in `.yaml` or `.yml`).

    Raises:
        InputError: The rule is unknown, or does not match the schema; the message names file and key.
    """
    rule: TierRule = read_yaml(tier_rule_path(name), TierRule)
    return rule


TIER_RULES: Mapping[str, TierRule] = {name: load_tier_rule(name) for name in tier_rule_names()}


def tier(votes: Sequence[str], label: str, valid: bool, rule: str) -> str:
    """Returns the best tier of a pair.

    Args:
        votes: Labels of the annotators.
        label: Final label.
        valid: Whether a validator confirmed the label.
        rule: A key of `TIER_RULES`.

    Returns:
        `bronze` (not confirmed), `silver` (confirmed), `gold` (confirmed, two or more annotators), or `diamond`
        (depends on the rule).

    Raises:
        InputError: The pair has no tier under the rule.
    """
    best = TIER_RULES[rule].best(JudgedPair(votes, label, valid))
    if best is None:
        raise InputError(
            f"tier rule {rule!r} leaves pairs out, which only recipes of kind 'campaign' may do: loosen it"
        )
    return best
