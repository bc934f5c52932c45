"""Notes on correlations: unknown items and systems, groups of two values, unrated replies, notes of datasets."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from fcconan.data import MANIFEST, Table, read_manifest
from fcconan.errors import InputError

if TYPE_CHECKING:
    from fcconan.scoring import Correlation, Ratings

_TWO = {
    "per_item": "per_item{whose} compares 2 replies of each item: every coefficient of an item is 1, -1 or undefined.",
    "per_system": (
        "per_system{whose} compares 2 replies of each system: every coefficient of a system is 1, -1 or undefined."
    ),
    "system_means": "system_means{whose} compares 2 systems: every coefficient is 1, -1 or undefined.",
}


def check_shared_replies(
    rated: "Ratings", people: Sequence[str], raters: Sequence[str], aspects: Sequence[str]
) -> list[str]:
    """Checks that models and metrics rated replies that people rated, and returns a note on those that did not.

    Args:
        rated: All ratings.
        people: Raters who represent people.
        raters: Models and metrics.
        aspects: Aspects that people rated.

    Raises:
        InputError: No rater shares a reply with people, or none of a file.
    """
    theirs = rated.replies_of(people, aspects)
    own = {name: rated.replies_of([name]) for name in raters}
    apart = [name for name, replies in own.items() if replies and theirs.keys().isdisjoint(replies)]
    if not apart or not theirs:
        return []
    others = [name for name in raters if name not in apart]
    used = {*rated.files_of(people), *rated.files_of(others)}
    files = [name for name in rated.files_of(apart) if name not in used]
    example = f"{next(iter(rated.replies_of(apart)))} against {next(iter(theirs))}, for example"
    if files or not others:
        raise InputError(
            f"no reply_id of {_few(files or apart)} occurs in people's ratings ({example}): give ratings of the same "
            "replies, and write the same reply_id into both files"
        )
    return [
        f"No reply_id of {_few(apart)} occurs in people's ratings ({example}), so there are no values for these raters."
    ]


def notes_on_metadata(levels: Sequence[str], rated: "Ratings") -> list[str]:
    """Returns sentences about items and systems that are not known."""
    from fcconan.scoring import UNKNOWN

    lacking = [name for name, known in (("items", rated.knows_items), ("systems", rated.knows_systems)) if not known]
    unknown = rated.systems.count(UNKNOWN) if rated.knows_systems else 0
    if unknown:
        return [f"Replies of no known system: {unknown} of {len(rated.systems)}, missing at the levels of systems."]
    if not lacking:
        return []
    notes = [f"Not all rows say the {' and the '.join(lacking)} of the replies: --replies names them."]
    if "items" in lacking:
        notes.append("A reply without an item is an item of its own, which makes the intervals too narrow.")
    return [*notes, *(f"{each} means nothing here." for each in levels if not is_known(each, rated))]


def is_known(level: str, rated: "Ratings") -> bool:
    """Returns whether the groups of a level are known."""
    from fcconan.scoring import PER_ITEM, PER_SYSTEM, SYSTEM_MEANS

    needed = {PER_ITEM: rated.knows_items, PER_SYSTEM: rated.knows_systems, SYSTEM_MEANS: rated.knows_systems}
    return needed.get(level, True)


def notes_on_pairs(rows: Iterable["Correlation"]) -> list[str]:
    """Returns a sentence for each level whose coefficients are of two values each, so that all coefficients agree."""
    from fcconan.scoring import DEFAULT_COEFFICIENTS, SYSTEM_MEANS

    raters: dict[str, dict[str, bool]] = {level: {} for level in _TWO}
    for row in rows:
        if row.level not in raters or row.coefficient not in DEFAULT_COEFFICIENTS or not row.n_groups:
            continue
        groups = row.n_groups + row.n_constant
        pair = row.n_groups == 2 if row.level == SYSTEM_MEANS else row.n == 2 * groups
        raters[row.level][row.metric] = raters[row.level].get(row.metric, True) and pair
    notes = []
    for level, pairs in raters.items():
        if of_two := [name for name, pair in pairs.items() if pair]:
            whose = "" if len(of_two) == len(pairs) else f" of {_few(of_two)}"
            notes.append(_TWO[level].format(whose=whose))
    return notes


def notes_of_datasets(ratings: Table, raters: Sequence[str]) -> list[str]:
    """Returns the notes in the manifests of datasets that name one of these models and metrics.

    Args:
        ratings: The ratings.
        raters: Models and metrics.
    """
    found: dict[str, None] = {}
    for folder in ratings.folders:
        if (folder / MANIFEST).is_file():
            notes = read_manifest(folder).get("notes", [])
            found |= dict.fromkeys(note for note in notes if any(f"`{name}`" in note for name in raters))
    return [*found]


def _few(names: Sequence[str]) -> str:
    return ", ".join([*names[:3], *(["..."] if len(names) > 3 else [])])
