"""Ratings from rows to arrays: who gave which reply what, with every missing value counted by its reason."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fcconan.data import RATER_KINDS, cell_number, id_of, is_missing, required_id
from fcconan.errors import InputError
from fcconan.scoring.score_table import Floats, ScoreTable, by_id, joined, learn, lengths
from fcconan.scoring.significance.intervals import means

Row = Mapping[str, Any]
HUMAN = "human"
# What is written where the aspect of a metric would stand, if it speaks of the reply as a whole.
WHOLE = ("score", "quality", "")
NO_REASON = "no_value"
# How files write whether it is so.
TRUTHS = {"true": True, "yes": True, "1": True, "1.0": True, "false": False, "no": False, "0": False, "0.0": False}
Scale = tuple[float, float]


class RatedReplies:
    """Ratings of replies by people, models and metrics, and what is known about the replies.

    Args:
        ratings: Rows with `reply_id`, `rater`, `rater_kind` (`human`, `model` or `metric`), `aspect` and `value`, and
            where they are there `low`, `high`, `higher_is_better` and `reason`. The kind is `human` where it is not
            stated. They may tell what `replies` tells, too.
        replies: Rows with `reply_id`, and where they are there `item_id`, `system`, `hs_id` and `text`; None where only
            the ratings tell of them. A reply may have several rows if they do not contradict each other.
        partial: Whether ratings that name item and system themselves may rate replies that are not among `replies`.

    Attributes:
        replies: Ids of the rated replies, in the order in which the ratings name them.
        items: The item of each; the reply's own id where it is not known.
        systems: The system of each; `unknown` where it is not known.
        lengths: Words of each; None where there are no texts. nan for a reply without one.
        knows_items: Whether the items are known.
        knows_systems: Whether the systems are known.
        missing: How many ratings of each (rater, aspect) have no value, by the `reason` of the row, or `no_value`
            where it states none.

    Raises:
        InputError: There are no ratings; or a row has no reply, rater or aspect, its value is no number, infinite or
            outside the scale that it or another rating of the aspect by this rater states, its `higher_is_better` is
            neither true nor false, its rater is of another kind than before or has rated the reply before; or a rater
            rated one aspect on two scales, or says both that a high rating of it is praise and that it is not; or the
            ratings name a reply that is not among the replies, or two rows say different things of a reply.
    """

    def __init__(self, ratings: Iterable[Row], replies: Iterable[Row] | None = None, *, partial: bool = False) -> None:
        self._values: dict[tuple[str, str, str], dict[str, float]] = {}
        self._scales: dict[tuple[str, str, str], set[Scale]] = {}
        # The lowest and the highest value of rows without a scale, with their places.
        self._unscaled: dict[tuple[str, str, str], tuple[tuple[float, str], tuple[float, str]]] = {}
        self._praise: dict[tuple[str, str, str], tuple[bool, str]] = {}  # and the place of the row that says so
        self._kinds: dict[str, str] = {}
        self._says_kinds = False
        self.missing: dict[tuple[str, str], Counter[str]] = {}
        told: dict[str, dict[str, str]] = {}
        for number, row in enumerate(ratings, start=1):
            self._read(row, number, told)
        if not told:
            raise InputError("there are no ratings: give rows with reply_id, rater, aspect and value")
        self._check_scales()
        self.replies = list(told)
        if replies is not None:
            known = by_id(replies)
            unknown = [reply for reply in self.replies if reply not in known]
            if lost := [reply for reply in unknown if not (partial and {"item_id", "system"} <= told[reply].keys())]:
                raise InputError(
                    f"the replies lack {len(lost)} of {len(self.replies)} rated ones (such as {lost[0]}): give the "
                    "replies that were rated"
                )
            told = {reply: joined(reply, known[reply], own) if reply in known else own for reply, own in told.items()}
        about = list(told.values())
        self.knows_items, self.knows_systems = (all(key in row for row in about) for key in ("item_id", "system"))
        self.items = [row.get("item_id", reply) for reply, row in told.items()]
        self.systems = [row.get("system", "unknown") for row in about]
        self.lengths = lengths(about)
        self._place = {reply: position for position, reply in enumerate(self.replies)}

    def _read(self, row: Row, number: int, told: dict[str, dict[str, str]]) -> None:
        """Takes a rating in, and what it tells about its reply."""
        place = str(getattr(row, "place", f"rating {number}"))
        reply, rater, aspect = (required_id(row, column, place) for column in ("reply_id", "rater", "aspect"))
        learn(told.setdefault(reply, {}), row, reply, place)
        stated = id_of(row, "rater_kind", place)
        self._says_kinds |= stated is not None
        kind = stated or HUMAN
        if kind not in RATER_KINDS:
            raise InputError(f"{place}: rater_kind is {kind!r}, expected {', '.join(RATER_KINDS)}; mend that row")
        if self._kinds.setdefault(rater, kind) != kind:
            raise InputError(
                f"{place}: {rater} is a rater of the kind {kind}, but before of the kind {self._kinds[rater]}; write "
                "one rater_kind for each rater, human being what is taken where there is none"
            )
        key = (kind, rater, aspect)
        given = self._values.setdefault(key, {})
        if reply in given:
            raise InputError(
                f"{place}: {rater} has rated {aspect} of the reply {reply} before, expected one rating; remove one of "
                "them"
            )
        value, scale = _number(row, "value", place), _scale(row, place)
        if scale is not None:
            self._scales.setdefault(key, set()).add(scale)
            if value is not None and not scale[0] <= value <= scale[1]:
                raise InputError(
                    f"{place}: {rater} rated {aspect} {value:g}, expected {scale[0]:g} to {scale[1]:g}; leave the "
                    "value empty and give the reason out_of_scale"
                )
        elif value is not None:
            lowest, highest = self._unscaled.get(key, ((value, place), (value, place)))
            self._unscaled[key] = min(lowest, (value, place)), max(highest, (value, place))
        if (praise := _praise(row, place)) is not None:
            before, first = self._praise.setdefault(key, (praise, place))
            if before != praise:
                raise InputError(
                    f"{place}: higher_is_better of {aspect} by {rater} is {praise}, but in {first} {before}; write one "
                    "of them into all rows"
                )
        if value is None:
            reason = NO_REASON if is_missing(row.get("reason")) else str(row["reason"])
            self.missing.setdefault((rater, aspect), Counter())[reason] += 1
        given[reply] = math.nan if value is None else value

    def _check_scales(self) -> None:
        for key, scales in self._scales.items():
            _, rater, aspect = key
            if len(scales) > 1:
                shown = _shown(scales)
                raise InputError(f"{rater} rated {aspect} on different scales, {shown}: bring the ratings to one scale")
            [(low, high)] = scales
            for value, place in self._unscaled.get(key, ()):
                if not low <= value <= high:
                    raise InputError(
                        f"{place}: {rater} rated {aspect} {value:g}, expected {low:g} to {high:g}, as other rows of "
                        f"{rater} say; mend that row, or leave the value empty and give the reason out_of_scale"
                    )

    def people(self, aspect: str, names: Sequence[str] | None = None) -> tuple[list[str], Floats]:
        """Returns the people who rated an aspect, and their ratings, shape (people, replies); nan is missing.

        Args:
            aspect: What was rated.
            names: These raters, of whatever kind; None for all people.

        Raises:
            InputError: Their scales differ, or whether a high rating is praise.
        """
        keys = [
            key for key in self._values if key[2] == aspect and (key[0] == HUMAN if names is None else key[1] in names)
        ]
        scales = {scale for key in keys for scale in self._scales.get(key, ())}
        if len(scales) > 1:
            whose = "; ".join(f"{_shown([scale])}: {self._named(keys, scale)}" for scale in sorted(scales))
            raise InputError(
                f"{aspect} was rated on different scales, {_shown(scales)}: bring the ratings to one scale, or choose "
                f"raters of one ({whose})"
            )
        said = {self._praise[key][0]: key[1] for key in keys if key in self._praise}
        if len(said) > 1:
            raise InputError(
                f"a high {aspect} is praise by {said[True]} and not by {said[False]} (higher_is_better): turn the "
                "ratings of one round, or choose raters"
            )
        return [rater for _, rater, _ in keys], self._array(keys)

    def _named(self, keys: Sequence[tuple[str, str, str]], scale: Scale) -> str:
        """Names a few of those who rated on a scale."""
        names = [key[1] for key in keys if scale in self._scales.get(key, ())]
        return ", ".join([*names[:3], *(["..."] if len(names) > 3 else [])])

    def scale(self, aspect: str, names: Sequence[str]) -> Scale | None:
        """Returns the scale on which raters rated an aspect; None where the rows do not say."""
        scales = {
            scale
            for (_, rater, rated), known in self._scales.items()
            for scale in known
            if rated == aspect and rater in names
        }
        return scales.pop() if len(scales) == 1 else None

    def scaled_aspects(self) -> list[str]:
        """Returns what was rated on a scale, in the order of the ratings: by people, or by all without any."""
        people = self.raters((HUMAN,)) or self.raters()
        return list(dict.fromkeys(aspect for _, rater, aspect in self._scales if rater in people))

    def higher_is_better(self, aspect: str, names: Sequence[str]) -> bool:
        """Tells whether a high rating of an aspect by these raters is praise; it is where the rows do not say."""
        said = self._praise.items()
        return all(praise for (_, rater, rated), (praise, _) in said if rated == aspect and rater in names)

    def aspects(self, kinds: Iterable[str] = (HUMAN,), names: Sequence[str] | None = None) -> list[str]:
        """Returns what raters of these kinds, or with these names, rated, in the order of the ratings."""
        wanted = set(kinds)
        return list(
            dict.fromkeys(
                aspect for kind, rater, aspect in self._values if (kind in wanted if names is None else rater in names)
            )
        )

    def raters(self, kinds: Iterable[str] | None = None) -> list[str]:
        """Returns the raters of these kinds, or all, in the order of the ratings."""
        wanted = None if kinds is None else set(kinds)
        return list(dict.fromkeys(rater for kind, rater, _ in self._values if wanted is None or kind in wanted))

    def table(
        self,
        *,
        people: Sequence[str] | None = None,
        aspects: Sequence[str] | None = None,
        metrics: Sequence[str] | None = None,
    ) -> ScoreTable:
        """Sets what models and metrics say beside the mean of people's ratings.

        A reply has people's mean if one of them rated it. A metric none of whose aspects people rated, such as one with
        a `score`, stands beside every aspect; of a judge who rates some of theirs, other aspects are left out.

        Args:
            people: The raters who count as people; None for those of kind `human`.
            aspects: What people rated; None for all of it.
            metrics: The others; None for all raters who are no people.

        Raises:
            InputError: There are no such ratings, or people's scales differ.
        """
        self._check_known("rater", [*(people or ()), *(metrics or ())], self.raters())
        rated = self.aspects(names=people)
        self._check_known("aspect", aspects or (), rated)
        chosen = list(aspects) if aspects is not None else rated
        if not chosen:
            raise InputError(
                f"no rating is by people, only by {', '.join(self.raters()) or 'nobody'}: name those who stand for "
                "people with --human"
            )
        names: list[list[str]] = []
        values: list[Floats] = []
        for aspect in chosen:
            who, given = self.people(aspect, people)
            names.append(who)
            values.append(given)
        judges = {rater for _, rater, aspect in self._values if aspect in rated}
        keys = [
            key
            for key in self._values
            if (key[0] != HUMAN if people is None else key[1] not in people)
            and (metrics is None or key[1] in metrics)
            and (key[2] in chosen or key[1] not in judges)
        ]
        if not keys:
            cure = "give these ratings, too"
            if people is None and not self._says_kinds:
                cure = (
                    "no row has a rater_kind, so all of them count as people: name the people with --human NAME, or "
                    "write a column rater_kind"
                )
            raise InputError(
                f"there are no ratings of {', '.join(chosen)} by models or metrics: known raters are "
                f"{', '.join(self.raters())}; {cure}, or compare people with `fcconan agree`"
            )
        everyone = list(dict.fromkeys(name for each in names for name in each))
        return ScoreTable(
            metrics=tuple(_metric_name(key, chosen) for key in keys),
            aspects=tuple(chosen),
            metric_values=self._array(keys),
            human_values=np.stack([means(given, axis=0) for given in values]),
            items=self.items,
            systems=self.systems,
            lengths=self.lengths,
            annotators=self._by_annotator(everyone, names, values) if len(everyone) > 1 else None,
            about=tuple(aspect if aspect in chosen else None for _, _, aspect in keys),
        )

    def missing_in(self, table: ScoreTable, people: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Returns how many of the ratings that a table is made of have no value: rows by rater, aspect and reason.

        Args:
            table: What `table` made.
            people: As given to `table`.
        """
        about = set(zip(table.metrics, table.about or (None,) * len(table.metrics), strict=True))
        found: list[dict[str, Any]] = []
        for kind, rater, aspect in self._values:
            if kind == HUMAN if people is None else rater in people:
                there = aspect in table.aspects
            else:
                name = _metric_name((kind, rater, aspect), table.aspects)
                there = (name, aspect if aspect in table.aspects else None) in about
            reasons = self.missing.get((rater, aspect), Counter()) if there else Counter()
            found += [{"rater": rater, "aspect": aspect, "reason": reason, "n": n} for reason, n in reasons.items()]
        return sorted(found, key=lambda row: (row["rater"], row["aspect"], row["reason"]))

    def on_one_scale(self, table: ScoreTable, people: Sequence[str] | None = None) -> ScoreTable:
        """Returns the part of a table that `table` made whose metrics are on people's scale.

        Args:
            table: What `table` made.
            people: As given to `table`.

        Raises:
            InputError: None is.
        """
        about = table.about or (None,) * len(table.metrics)
        who = self.raters((HUMAN,)) if people is None else people
        scales = {aspect: self.scale(aspect, who) for aspect in table.aspects}
        same = [
            place
            for place, (name, aspect) in enumerate(zip(table.metrics, about, strict=True))
            if aspect is not None and scales[aspect] is not None and self.scale(aspect, [name]) == scales[aspect]
        ]
        if not same:
            raise InputError("no judge has people's scale, low to high: errors need one; leave --errors out")
        return replace(
            table,
            metrics=tuple(table.metrics[place] for place in same),
            metric_values=table.metric_values[same],
            about=tuple(about[place] for place in same),
        )

    def _by_annotator(self, everyone: list[str], names: list[list[str]], values: list[Floats]) -> Floats:
        whole = np.full((len(everyone), len(names), len(self.replies)), np.nan)
        for aspect, (who, given) in enumerate(zip(names, values, strict=True)):
            for name, row in zip(who, given, strict=True):
                whole[everyone.index(name), aspect] = row
        return whole

    def _array(self, keys: Sequence[tuple[str, str, str]]) -> Floats:
        array = np.full((len(keys), len(self.replies)), np.nan)
        for row, key in zip(array, keys, strict=True):
            given = self._values[key]
            row[[self._place[reply] for reply in given]] = list(given.values())
        return array

    @staticmethod
    def _check_known(what: str, names: Iterable[str], known: Sequence[str]) -> None:
        for name in names:
            if name not in known:
                raise InputError(f"there is no {what} {name!r}: known are {', '.join(known) or 'none'}")


def _metric_name(key: tuple[str, str, str], aspects: Sequence[str]) -> str:
    """A metric with several values for a reply, such as precision and recall, is as many metrics."""
    _, rater, aspect = key
    return rater if aspect in aspects or aspect in WHOLE else f"{rater}:{aspect}"


def _number(row: Row, column: str, place: str) -> float | None:
    value = row.get(column)
    if value is None or value == "":
        return None
    found = cell_number(value)
    if found is None or math.isinf(found):
        raise InputError(f"{place}: {column} is {value!r}, expected a number, or nothing where it is missing")
    return None if math.isnan(found) else found  # nan is how some tools write what is missing


def _praise(row: Row, place: str) -> bool | None:
    """Whether a high rating is praise; None where the row does not say."""
    said = row.get("higher_is_better")
    if is_missing(said) or str(said).strip() == "":
        return None
    found = TRUTHS.get(str(said).strip().lower())
    if found is None:
        raise InputError(f"{place}: higher_is_better is {said!r}, expected true or false; mend that row")
    return found


def _scale(row: Row, place: str) -> Scale | None:
    low, high = _number(row, "low", place), _number(row, "high", place)
    if low is None or high is None:
        return None
    if not low < high:
        raise InputError(f"{place}: the scale is {low:g} to {high:g}, expected the lowest grade first")
    return low, high


def _shown(scales: Iterable[Scale]) -> str:
    return " and ".join(f"{low:g} to {high:g}" for low, high in sorted(scales))
