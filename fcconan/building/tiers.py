"""Agreement and tier of a pair, from its votes, its final label and its validity, by a declared rule.

A tier rule is a YAML file (`annotations/tier-rules/`, or one's own): tiers from the best to the broadest, each with the
conditions that it adds. FC-CONAN (section 4.1) names four tiers. The two rules of the catalogue differ in what Diamond
is: on FC-CONAN, `released` gives 551 pairs and `strict` 530.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import pairwise, product
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from fcconan.data import Location, YamlFile, explain, tier_rule_names, tier_rule_path
from fcconan.errors import InputError

Agreement = Literal["single", "unanimous", "majority", "adjudicated"]
Role = Literal["annotator", "validator"]
ANNOTATOR: Role = "annotator"
FURTHER_VOTES = 6  # an example with few votes is looked for among pairs with up to so many more than a rule names
ROLES = [frozenset({"annotator"}), frozenset({"validator"}), frozenset({"annotator", "validator"})]
EXAMPLE_LABELS = ("appropriate", "not_sure")  # the final label, and what the votes against it say


def agreement(votes: Sequence[str], label: str) -> Agreement:
    """Returns how the votes on a pair relate to its final label.

    Args:
        votes: The labels that the annotators gave, `not_sure` among them; one or more.
        label: The final label.

    Returns:
        `single` (one vote), `unanimous` (all say the final label), `majority` (more than half do), or `adjudicated`.
    """
    return _agreement(len(votes), sum(vote == label for vote in votes))


def _agreement(n_votes: int, backing: int) -> Agreement:
    if n_votes == 1:
        return "single"
    if backing == n_votes:
        return "unanimous"
    return "majority" if 2 * backing > n_votes else "adjudicated"


@dataclass(frozen=True)
class Judged:
    """What a tier rule may ask about a pair.

    Attributes:
        votes: The labels that the raters gave; one or more.
        label: The final label.
        valid: Whether it was confirmed.
        roles: Of the raters who voted.
    """

    votes: Sequence[str]
    label: str
    valid: bool
    roles: frozenset[str] = frozenset({ANNOTATOR})

    def __str__(self) -> str:
        """The pair in words, as messages about a rule show it."""
        counts = {vote: self.votes.count(vote) for vote in dict.fromkeys(self.votes)}
        return _in_words(counts, self.label, self.valid, self.roles)


def _in_words(counts: Mapping[str, int], label: str, valid: bool, roles: frozenset[str]) -> str:
    by = "" if roles == {ANNOTATOR} else f" by {' and '.join(sorted(roles))}"
    votes = ", ".join(f"{count} x {vote}" for vote, count in counts.items() if count)
    return f"votes {votes}{by}, label {label}, {'valid' if valid else 'not valid'}"


@dataclass(frozen=True)
class _Case:
    """What a tier rule sees of a pair; the votes as numbers, so that a case may have any number of them."""

    n_votes: int
    backing: int
    valid: bool
    roles: frozenset[str]

    def __str__(self) -> str:
        label, other = EXAMPLE_LABELS
        counts = {label: self.backing, other: self.n_votes - self.backing}
        return _in_words(counts, label, self.valid, self.roles)


class Tier(BaseModel):
    """One tier and its conditions; all of them must hold. One that is not given is that of the next broader tier.

    Attributes:
        name: Of the tier.
        min_votes: The least number of votes.
        agreement: Which relations of the votes to the final label there may be.
        valid: `true` if the label must be confirmed, `any` if not.
        roles: Which roles the raters who voted may have; a vote by anybody else keeps the pair out.
        min_backing: The least share of the votes that say the final label.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Literal["diamond", "gold", "silver", "bronze"]
    min_votes: int | None = Field(None, ge=1, le=100, strict=True)
    agreement: Annotated[list[Agreement], Field(min_length=1)] | None = None
    valid: Literal[True, "any"] | None = None
    roles: Annotated[list[Role], Field(min_length=1)] | None = None
    min_backing: float | None = Field(None, gt=0, le=1, strict=True)

    def meets(self, pair: Judged) -> bool:
        """Whether a pair meets the conditions that are given."""
        backing = sum(vote == pair.label for vote in pair.votes)
        return self._admits(_Case(len(pair.votes), backing, pair.valid, pair.roles))

    def _admits(self, case: _Case) -> bool:
        return (
            (self.min_votes is None or case.n_votes >= self.min_votes)
            and (self.agreement is None or _agreement(case.n_votes, case.backing) in self.agreement)
            and (self.valid is not True or case.valid)
            and (self.roles is None or case.roles <= set(self.roles))
            # A share such as 0.67 of 100 votes is 67.00000000000001 to a computer.
            and (self.min_backing is None or case.backing >= self.min_backing * case.n_votes - 1e-9)
        )

    def in_words(self) -> str:
        """Returns the conditions as a card lists them."""
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


class TierRule(BaseModel):
    """A tier rule: nested tiers from the best to the broadest.

    Attributes:
        meaning: A sentence for the card.
        tiers: The tiers. A pair that is not in the last one is in none.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    meaning: str = Field(min_length=1)
    tiers: list[Tier] = Field(min_length=1)

    @field_validator("tiers")
    @classmethod
    def _best_first_and_nested(cls, tiers: list[Tier]) -> list[Tier]:
        order = list(Tier.model_fields["name"].annotation.__args__)  # type: ignore[union-attr]
        names = [tier.name for tier in tiers]
        if names != sorted(set(names), key=order.index):
            raise ValueError(
                f"the tiers are {', '.join(names)}: name each once and the best first ({', '.join(order)})"
            )
        complete = inherited(tiers)
        cases = list(_cases(tiers))
        for tier, broader in pairwise(complete):
            for case in cases:
                if tier._admits(case) and not broader._admits(case):
                    raise ValueError(_not_nested(tier, broader, case))
        for tier in complete:
            if not any(tier._admits(case) for case in cases):
                raise ValueError(f"no pair can be {tier.name}, which asks for {tier.in_words()}: loosen a condition")
        return tiers

    @cached_property
    def complete(self) -> list[Tier]:
        """The tiers with every condition that holds for them, the best first."""
        return inherited(self.tiers)

    @property
    def names(self) -> list[str]:
        """The names of the tiers, the best first."""
        return [tier.name for tier in self.tiers]

    def best(self, pair: Judged, name: str = "a pair") -> str | None:
        """Returns the best tier that a pair belongs to: it meets the conditions of that tier and of all broader ones.

        Args:
            pair: The pair.
            name: What a message calls it.

        Returns:
            The tier's name; None if the pair is in no tier.

        Raises:
            InputError: The pair meets the conditions of a tier and not those of a broader one.
        """
        best = None
        for tier, broader in zip(reversed(self.complete), [None, *reversed(self.complete)], strict=False):
            if not tier.meets(pair):
                continue
            if broader is not None and best != broader.name:
                raise InputError(f"{name}: {_not_nested(tier, broader, pair)}")
            best = tier.name
        return best


class _Catalogue(Mapping[str, TierRule]):
    """The rules of the catalogue by name, read when they are first used."""

    def __getitem__(self, name: str) -> TierRule:
        return _read(name)

    def __iter__(self) -> Iterator[str]:
        return iter(tier_rule_names())

    def __len__(self) -> int:
        return len(tier_rule_names())


TIER_RULES: Mapping[str, TierRule] = _Catalogue()


@cache  # a build asks for its rule once a pair: the folder of the rules is listed the first time only
def _read(name: str) -> TierRule:
    if name not in tier_rule_names():
        raise KeyError(name)
    return load_tier_rule(name)


def load_tier_rule(name: str) -> TierRule:
    """Loads and checks a tier rule.

    Args:
        name: A rule of the catalogue, or the path of a file of one's own (it ends in `.yaml` or `.yml`).

    Raises:
        InputError: There is no such rule, or it does not follow the schema, is not nested, or has a tier that no pair
            can reach; the message names file and line.
    """
    file = YamlFile(tier_rule_path(name))
    try:
        return TierRule.model_validate(file.data)
    except ValidationError as error:
        raise InputError(explain(file, error, whole="the tier rule", known_keys=tier_rule_keys)) from error


def tier_rule_keys(location: Location) -> list[str]:
    """Returns the keys that are known at a place of a tier rule."""
    return list((Tier if "tiers" in location[:-1] else TierRule).model_fields)


def tier(votes: Sequence[str], label: str, valid: bool, rule: str) -> str:
    """Returns the best tier that a pair belongs to; the tiers are nested.

    Args:
        votes: The labels that the annotators gave.
        label: The final label.
        valid: Whether the validator confirmed it.
        rule: A key of `TIER_RULES`.

    Returns:
        Under the rules of the catalogue `bronze` (not confirmed), `silver` (confirmed), `gold` (and two or more
        annotators), or `diamond` (by the rule).

    Raises:
        InputError: The rule leaves the pair out.
    """
    best = TIER_RULES[rule].best(Judged(votes, label, valid))
    if best is None:
        raise InputError(
            f"tier rule {rule!r} leaves pairs out, which only recipes of kind 'campaign' may do: loosen it"
        )
    return best


def inherited(tiers: Sequence[Tier]) -> list[Tier]:
    """Returns tiers, the best first, in which a condition that was not given is that of the next broader tier."""
    complete: list[Tier] = []
    conditions: dict[str, Any] = {}
    for each in reversed(tiers):
        given = each.model_dump(exclude_none=True)
        conditions = {**conditions, **given}
        complete.insert(0, each.model_copy(update=conditions))
    return complete


def _cases(tiers: Sequence[Tier]) -> Iterator[_Case]:
    """Yields cases among which there is one of every kind that the tiers can tell apart, those with few votes first.

    With as many votes as any tier asks for, nothing matters but the share of them that back the label: whether it is
    above, at or below every share that is named, a half and all. One share stands for each of these; with fewer votes,
    all shares are tried.
    """
    most = max([2, *(tier.min_votes for tier in tiers if tier.min_votes)])
    counts = [(n, backing) for n in range(1, most + FURTHER_VOTES) for backing in range(n, -1, -1)]
    named = {Fraction(repr(tier.min_backing)) for tier in tiers if tier.min_backing is not None}
    bounds = sorted({Fraction(0), Fraction(1, 2), Fraction(1), *named})
    for share in [*bounds, *(_between(low, high) for low, high in pairwise(bounds))]:
        times = -(-most // share.denominator)
        counts.append((times * share.denominator, times * share.numerator))
    for n_votes, backing in counts:
        for confirmed, by in product((True, False), ROLES):
            if len(by) <= n_votes:
                yield _Case(n_votes, backing, confirmed, by)


def _between(low: Fraction, high: Fraction) -> Fraction:
    """Returns a fraction between two others, with a small denominator."""
    largest = 1
    while not low < (found := ((low + high) / 2).limit_denominator(largest)) < high:
        largest += 1 + largest // 4
    return found


def _not_nested(tier: Tier, broader: Tier, pair: Judged | _Case) -> str:
    return (
        f"not nested: {pair} is {tier.name} ({tier.in_words()}) but not {broader.name} ({broader.in_words()}); every "
        f"{tier.name} pair must be {broader.name}, too: tighten {tier.name} or loosen {broader.name}"
    )
