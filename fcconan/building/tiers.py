"""Agreement and tier of a pair, given its votes, its final label and its validation.

A tier rule is a YAML file (in `annotations/tier-rules/` or elsewhere) with tiers from the best to the broadest. Each
tier adds conditions to those of the broader tiers, so that tiers are nested. FC-CONAN (section 4.1) has four tiers. The
two rules of the catalogue differ in Diamond: on FC-CONAN, `released` gives 551 pairs and `strict` 530.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, takewhile
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, field_validator

from fcconan.data import catalogue_entry, content_folder, read_yaml

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


class Tier(BaseModel):
    """A tier with its conditions, which apply in addition to those of the broader tiers.

    Attributes:
        name: Name of the tier.
        min_votes: Minimum number of votes.
        agreement: Allowed relations of the votes to the final label.
        valid: `true` if validators must have confirmed the label (pairs that no validator saw: see `unseen_is_valid` of
            the rule).
        roles: Allowed roles of the raters; a vote of another role excludes the pair.
        min_backing: Minimum share of votes for the final label.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: TierName
    min_votes: int | None = Field(None, ge=1, le=100, strict=True)
    agreement: Annotated[list[Agreement], Field(min_length=1)] | None = None
    valid: Literal[True] | None = None
    roles: Annotated[list[Role], Field(min_length=1)] | None = None
    min_backing: float | None = Field(None, gt=0, le=1, strict=True)

    def meets(self, votes: Sequence[str], label: str, valid: bool | None, roles: Collection[str]) -> bool:
        """Returns whether a pair meets the conditions of this tier.

        Args:
            votes: Labels of the raters; one or more.
            label: Final label.
            valid: Whether validators confirmed the label.
            roles: Roles of the raters.
        """
        backing = sum(vote == label for vote in votes)
        return (
            (self.min_votes is None or len(votes) >= self.min_votes)
            and (self.agreement is None or agreement(votes, label) in self.agreement)
            and (self.valid is None or valid is True)
            and (self.roles is None or {*roles} <= {*self.roles})
            # Tolerance for rounding: 0.67 * 100 is 67.00000000000001.
            and (self.min_backing is None or backing >= self.min_backing * len(votes) - 1e-9)
        )

    def in_words(self) -> str:
        """Returns the conditions in words, for cards."""
        words = []
        if self.min_votes is not None:
            words.append(f"{self.min_votes} or more vote{'s' if self.min_votes > 1 else ''}")
        if self.agreement is not None:
            words.append(f"agreement {' or '.join(self.agreement)}")
        if self.valid:
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
        conditions[name] = own
    return tier.model_copy(update=conditions)


class TierRule(BaseModel):
    """A tier rule: nested tiers from the best to the broadest.

    Attributes:
        meaning: Description in one sentence, for the card.
        unseen_is_valid: Whether `valid: true` holds for pairs that no validator saw, whose `valid` is null.
        tiers: Tiers. A pair outside of the last tier has no tier.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    meaning: str = Field(min_length=1)
    unseen_is_valid: bool = Field(False, strict=True)
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

    def best(
        self, votes: Sequence[str], label: str, valid: bool | None, roles: Collection[str] = (ANNOTATOR,)
    ) -> str | None:
        """Returns the name of the best tier of a pair: it meets the conditions of this and all broader tiers.

        Args:
            votes: Labels of the raters; one or more.
            label: Final label.
            valid: Whether validators confirmed the label; None if no validator saw the pair.
            roles: Roles of the raters.

        Returns:
            The name; None if the pair does not meet the conditions of the broadest tier.
        """
        seen = self.unseen_is_valid if valid is None else valid
        met = takewhile(lambda tier: tier.meets(votes, label, seen, roles), reversed(self.tiers))
        return next((tier.name for tier in reversed([*met])), None)


_FILES = {path.stem: path for path in sorted((content_folder() / "annotations" / "tier-rules").glob("*.yaml"))}


def load_tier_rule(name: str) -> TierRule:
    """Loads and checks a tier rule.

    Args:
        name: A rule of the catalogue, or the path of a file (it ends in `.yaml` or `.yml`).

    Raises:
        InputError: The rule is unknown, or does not match the schema; the message names file and line.
    """
    rule: TierRule = read_yaml(catalogue_entry("tier rule", name, _FILES), TierRule)
    return rule


TIER_RULES: Mapping[str, TierRule] = {name: load_tier_rule(name) for name in _FILES}
