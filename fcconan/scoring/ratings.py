"""Ratings of replies as arrays, with counts of missing values by reason."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

import numpy as np

from fcconan.data import RATER_KINDS, SUFFIXES, cell_number, is_missing, optional_id, required_id
from fcconan.errors import InputError
from fcconan.scoring.arrays import Floats, Row
from fcconan.scoring.intervals import means
from fcconan.scoring.names import check_names
from fcconan.scoring.reply_metadata import ReplyMetadata, record_kind, row_place
from fcconan.scoring.score_table import ScoreTable

HUMAN = "human"
# Aspects of a metric that rates the reply as a whole.
WHOLE_REPLY = ("score", "quality", "")
NO_REASON = "no_value"
# Spellings of truth values in files.
TRUTHS = {"true": True, "yes": True, "1": True, "1.0": True, "false": False, "no": False, "0": False, "0.0": False}
Scale = tuple[float, float]


@dataclass
class _AspectRatings:
    """The ratings of one aspect by one rater.

    Attributes:
        kind: Kind of the rater.
        rater: The rater.
        aspect: The aspect.
        values: Position of the reply -> value; nan is missing.
        missing: Reason -> number of ratings without a value.
        scales: The scales that rows state.
        lowest: The lowest value with the location of its row.
        highest: The highest value with the location of its row.
        direction: Whether a high value is good, with the location of the first row that states it.
        files: Names of the sources of the rows, without empty cells.
        empty: Positions of replies whose cells have neither a value nor a reason, as in files with a column for each
            rater.
    """

    kind: str
    rater: str
    aspect: str
    values: dict[int, float] = field(default_factory=dict)
    missing: Counter[str] = field(default_factory=Counter)
    scales: set[Scale] = field(default_factory=set)
    lowest: tuple[float, str] = (math.inf, "")
    highest: tuple[float, str] = (-math.inf, "")
    direction: tuple[bool, str] | None = None
    files: set[str] = field(default_factory=set)
    empty: set[int] = field(default_factory=set)

    def add(self, position: int, row: Row, place: str) -> None:
        """Adds the rating of a reply."""
        value, low, high = _number(row, "value", place), _number(row, "low", place), _number(row, "high", place)
        if value is None:
            self.missing[NO_REASON if is_missing(row.get("reason")) else str(row["reason"])] += 1
            self.values[position] = math.nan
        else:
            self.lowest, self.highest = min(self.lowest, (value, place)), max(self.highest, (value, place))
            self.values[position] = value
        if value is None and is_missing(row.get("reason")):
            self.empty.add(position)
        else:
            self.files.add(place.partition(", row ")[0])
        if low is not None and high is not None:
            if not low < high:
                raise InputError(f"{place}: the scale is {low:g} to {high:g}, expected the lowest grade first")
            self.scales.add((low, high))
        if (is_better := _higher_is_better(row, place)) is not None:
            before, first = self.direction = self.direction or (is_better, place)
            if before != is_better:
                raise InputError(
                    f"{place}: higher_is_better of {self.aspect} by {self.rater} is {is_better}, but in {first} "
                    f"{before}; write one of them into all rows"
                )

    @property
    def scale(self) -> Scale | None:
        """The scale; None where no row states one."""
        return next(iter(self.scales), None)

    def check(self) -> None:
        """Checks that there is one scale, and that it holds all values."""
        if len(self.scales) > 1:
            raise InputError(
                f"{self.rater} rated {self.aspect} on different scales, {_format_scales(self.scales)}: bring the "
                "ratings to one scale"
            )
        for low, high in self.scales:
            for value, place in (self.lowest, self.highest):
                if math.isfinite(value) and not low <= value <= high:
                    raise InputError(
                        f"{place}: {self.rater} rated {self.aspect} {value:g}, expected {low:g} to {high:g}; leave "
                        "the value empty and give the reason out_of_scale"
                    )


class Ratings:
    """Ratings of replies by people, models and metrics, with the metadata of the replies.

    Args:
        ratings: Rows with `reply_id`, `rater`, `aspect` and `value`. Optional columns are `rater_kind` (`human`, the
            default, `model` or `metric`), `low` and `high` (the scale), `higher_is_better`, `reason`,
            `selection_probability`, and the columns of `replies`.
        replies: Rows with `reply_id`, and optionally `item_id`, `system`, `hs_id` and `text`; None if only the ratings
            have metadata. A reply may have several rows if they do not contradict each other.
        partial: Whether ratings with an item and a system may rate replies that are not in `replies`.

    Attributes:
        replies: Ids of the rated replies, in the order of the ratings.
        items: Item of each reply; the reply's id if the item is unknown.
        systems: System of each reply; `unknown` if it is unknown.
        knows_items: Whether the items of all replies are known.
        knows_systems: Whether the systems of all replies are known.
        missing: (rater, aspect) -> reason -> number of ratings without a value; the reason is `no_value` if the row
            has none.
        probabilities: Selection probability of each reply, from the column `selection_probability`; shape (replies,),
            nan if no row of the reply has one. None without such a column.

    Raises:
        InputError: There are no ratings, or the ratings are invalid. A row is invalid if it lacks a reply, rater or
            aspect; if its value is not a finite number within the scale; if its `higher_is_better` is neither true nor
            false; or if it contradicts another row in the rater's kind, the scale or direction of an aspect, or a
            reply's metadata. A rater may rate an aspect of a reply once, and every rated reply must be known.
    """

    def __init__(self, ratings: Iterable[Row], replies: Iterable[Row] | None = None, *, partial: bool = False) -> None:
        self._series: dict[tuple[str, str], _AspectRatings] = {}
        self._kinds: dict[str, str] = {}
        self._states_kinds = False
        metadata, positions, selected = ReplyMetadata(), dict[str, int](), dict[int, float]()
        for number, row in enumerate(ratings, start=1):
            place = row_place(row, "rating", number)
            reply = metadata.add(row, place)
            position = positions.setdefault(reply, len(positions))
            series = self._series_of(row, place)
            if position in series.values:
                cure = ", or give one judge another --rater-name" if series.kind == "model" else ""
                raise InputError(
                    f"{place}: {series.rater} has rated {series.aspect} of the reply {reply} before, expected one "
                    f"rating; remove one of them{cure}"
                )
            series.add(position, row, place)
            _record_probability(selected, position, row, place)
        if not positions:
            raise InputError("there are no ratings: give rows with reply_id, rater, aspect and value")
        for series in self._series.values():
            series.check()
        if replies is not None:
            metadata.complete(ReplyMetadata(replies), partial=partial)
        self.replies = [*metadata.facts]
        self.knows_items, self.knows_systems = metadata.know("item_id"), metadata.know("system")
        self.items = [own.get("item_id", reply) for reply, own in metadata.facts.items()]
        self.systems = [own.get("system", "unknown") for own in metadata.facts.values()]
        self.probabilities = np.array([selected.get(at, np.nan) for at in range(len(positions))]) if selected else None
        self.missing = {key: series.missing for key, series in self._series.items() if series.missing}

    def _series_of(self, row: Row, place: str) -> _AspectRatings:
        """Returns the series of a row's rater and aspect, which is new for the first of its rows."""
        rater, aspect = required_id(row, "rater", place), required_id(row, "aspect", place)
        stated = optional_id(row, "rater_kind", place)
        self._states_kinds |= stated is not None
        record_kind(self._kinds, rater, stated or HUMAN, place)
        if (rater, aspect) not in self._series:
            self._series[rater, aspect] = _AspectRatings(self._kinds[rater], rater, aspect)
        return self._series[rater, aspect]

    def _rated(self, aspect: str, names: Sequence[str] | None) -> list[_AspectRatings]:
        """Returns the ratings of an aspect by these raters; None for all people."""
        return [
            series
            for series in self._series.values()
            if series.aspect == aspect and (series.kind == HUMAN if names is None else series.rater in names)
        ]

    def people(self, aspect: str, names: Sequence[str] | None = None) -> tuple[list[str], Floats]:
        """Returns the people who rated an aspect, and their ratings, shape (people, replies); nan is missing.

        Args:
            aspect: The aspect.
            names: Names of the raters, of any kind; None for all people.

        Raises:
            InputError: The raters' scales or directions (`higher_is_better`) differ.
        """
        found = self._rated(aspect, names)
        raters: dict[Scale, list[str]] = {}
        for series in found:
            for scale in series.scales:
                raters.setdefault(scale, []).append(series.rater)
        if len(raters) > 1:
            whose = "; ".join(
                f"{_format_scales([scale])}: {_first_names(names)}" for scale, names in sorted(raters.items())
            )
            raise InputError(
                f"{aspect} was rated on different scales, {_format_scales(raters)}: bring the ratings to one scale, or "
                f"choose raters of one ({whose})"
            )
        directions = {series.direction[0]: series.rater for series in found if series.direction}
        if len(directions) > 1:
            raise InputError(
                f"higher_is_better of {aspect} is true for {directions[True]} and false for {directions[False]}: "
                "reverse the ratings of one of them, or choose raters"
            )
        return [series.rater for series in found], self._array(found)

    def scale(self, aspect: str, names: Sequence[str]) -> Scale | None:
        """Returns the scale on which raters rated an aspect; None if the rows do not state one."""
        scales = {series.scale for series in self._rated(aspect, names)} - {None}
        return scales.pop() if len(scales) == 1 else None

    def higher_is_better(self, aspect: str, names: Sequence[str]) -> bool:
        """Returns whether a high rating of an aspect by these raters is good; true if the rows do not state it."""
        return all(series.direction[0] for series in self._rated(aspect, names) if series.direction)

    def aspects(self, *, names: Sequence[str] | None = None) -> list[str]:
        """Returns the aspects that the named raters, or all people, rated, in the order of the ratings."""
        wanted = self.raters((HUMAN,)) if names is None else names
        return list(dict.fromkeys(series.aspect for series in self._series.values() if series.rater in wanted))

    def raters(self, kinds: Iterable[str] = RATER_KINDS) -> list[str]:
        """Returns the raters of these kinds, in the order of the ratings."""
        return [rater for rater, kind in self._kinds.items() if kind in kinds]

    def replies_of(self, names: Iterable[str], aspects: Sequence[str] | None = None) -> dict[str, None]:
        """Returns the ids of the replies with a value by these raters, or a reason why there is none.

        Args:
            names: Names of the raters.
            aspects: Aspects of the rows; None for all.
        """
        wanted = {*names}
        return {
            self.replies[position]: None
            for series in self._series.values()
            if series.rater in wanted and (aspects is None or series.aspect in aspects)
            for position in series.values
            if position not in series.empty
        }

    def files_of(self, names: Iterable[str]) -> list[str]:
        """Returns the names of the files with such rows, sorted; rows in memory are not named."""
        wanted = {*names}
        files = {name for series in self._series.values() if series.rater in wanted for name in series.files}
        return sorted(name for name in files if PurePath(name).suffix in SUFFIXES)

    def table(
        self,
        *,
        people: Sequence[str] | None = None,
        aspects: Sequence[str] | None = None,
        metrics: Sequence[str] | None = None,
    ) -> ScoreTable:
        """Merges the values of models and metrics with the mean of people's ratings.

        The mean includes the people who rated the reply. A metric whose aspects people did not rate, such as `score`,
        is compared with every aspect. If a judge rated aspects that people rated, its other aspects are left out.

        Args:
            people: Names of the raters who count as people; None for those of kind `human`.
            aspects: Aspects that people rated; None for all.
            metrics: Names of models and metrics; None for all raters except people.

        Returns:
            The table, whose rows are the rated replies.

        Raises:
            InputError: There are no matching ratings, or people's scales differ.
        """
        check_names("rater", [*(people or ()), *(metrics or ())], self.raters())
        rated = self.aspects(names=people)
        chosen = list(check_names("aspect", rated if aspects is None else aspects, rated))
        if not chosen:
            raise InputError(
                f"no rating is by people, only by {', '.join(self.raters())}: name those who represent people "
                "with --human"
            )
        given = [self.people(aspect, people) for aspect in chosen]
        judges = {series.rater for series in self._series.values() if series.aspect in rated}
        others = [
            series
            for series in self._series.values()
            if not _is_person(series, people)
            and (metrics is None or series.rater in metrics)
            and (series.aspect in chosen or series.rater not in judges)
        ]
        if not others:
            cure = "give these ratings, too"
            if people is None and not self._states_kinds:
                cure = (
                    "no row has a rater_kind, so all of them count as people: name the people with --human NAME, or "
                    "write a column rater_kind"
                )
            raise InputError(
                f"there are no ratings of {', '.join(chosen)} by models or metrics: known raters are "
                f"{', '.join(self.raters())}; {cure}, or compare people with `fcconan agree`"
            )
        return ScoreTable(
            metrics=tuple(_metric_name(series, chosen) for series in others),
            aspects=tuple(chosen),
            metric_values=self._array(others),
            human_values=np.stack([means(values, axis=0) for _, values in given]),
            items=self.items,
            systems=self.systems,
            annotators=self._by_annotator(given),
            about=tuple(series.aspect if series.aspect in chosen else None for series in others),
        )

    def missing_in(self, table: ScoreTable, people: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Counts the missing values among the ratings of a table, by rater, aspect and reason.

        Args:
            table: Result of `table`.
            people: See `table`.
        """
        about = set(zip(table.metrics, table.aspect_of, strict=True))
        found: list[dict[str, Any]] = []
        for series in self._series.values():
            aspect = series.aspect if series.aspect in table.aspects else None
            if _is_person(series, people):
                counted = aspect is not None
            else:
                counted = (_metric_name(series, table.aspects), aspect) in about
            reasons = series.missing if counted else Counter[str]()
            found += [
                {"rater": series.rater, "aspect": series.aspect, "reason": reason, "n": n}
                for reason, n in reasons.items()
            ]
        return sorted(found, key=lambda row: (row["rater"], row["aspect"], row["reason"]))

    def _by_annotator(self, given: Sequence[tuple[list[str], Floats]]) -> Floats | None:
        """Returns the ratings of each person, shape (people, aspects, replies); None for fewer than two people."""
        everyone = list(dict.fromkeys(name for names, _ in given for name in names))
        if len(everyone) < 2:
            return None
        whole = np.full((len(everyone), len(given), len(self.replies)), np.nan)
        for aspect, (names, values) in enumerate(given):
            whole[[everyone.index(name) for name in names], aspect] = values
        return whole

    def _array(self, chosen: Sequence[_AspectRatings]) -> Floats:
        array = np.full((len(chosen), len(self.replies)), np.nan)
        for row, series in zip(array, chosen, strict=True):
            row[list(series.values)] = list(series.values.values())
        return array


def _is_person(series: _AspectRatings, people: Sequence[str] | None) -> bool:
    return series.kind == HUMAN if people is None else series.rater in people


def _metric_name(series: _AspectRatings, aspects: Sequence[str]) -> str:
    """Returns a name that includes the aspect if a metric has several values, such as precision and recall."""
    whole = series.aspect in aspects or series.aspect in WHOLE_REPLY
    return series.rater if whole else f"{series.rater}:{series.aspect}"


def _number(row: Row, column: str, place: str) -> float | None:
    value = row.get(column)
    if value is None or value == "":
        return None
    found = value if type(value) is float else cell_number(value)
    if found is None or math.isinf(found):
        raise InputError(f"{place}: {column} is {value!r}, expected a number, or nothing where it is missing")
    return None if math.isnan(found) else found  # some tools write nan for a missing value


def _record_probability(selected: dict[int, float], position: int, row: Row, place: str) -> None:
    """Records the selection probability of a reply, if the row has one."""
    value = _number(row, "selection_probability", place)
    if value is None:
        return
    if not 0 < value <= 1:
        raise InputError(f"{place}: selection_probability is {value:g}, expected above 0 and at most 1")
    if selected.setdefault(position, value) != value:
        raise InputError(
            f"{place}: selection_probability is {value:g}, but {selected[position]:g} in another row of the reply; "
            "write one"
        )


def _higher_is_better(row: Row, place: str) -> bool | None:
    """Returns whether a high rating is good; None if the row does not state it."""
    value = row.get("higher_is_better")
    if is_missing(value) or str(value).strip() == "":
        return None
    found = TRUTHS.get(str(value).strip().lower())
    if found is None:
        raise InputError(f"{place}: higher_is_better is {value!r}, expected true or false; correct the row")
    return found


def _format_scales(scales: Iterable[Scale]) -> str:
    return " and ".join(f"{low:g} to {high:g}" for low, high in sorted(scales))


def _first_names(names: Sequence[str]) -> str:
    return ", ".join([*names[:3], *(["..."] if len(names) > 3 else [])])
