"""Families of tests in signatures and notes."""

from collections import Counter
from collections.abc import Iterable, Sequence

from fcconan.score.max_t import Family


def family_parts(families: Iterable[Family], by: str) -> dict[str, str]:
    """Returns the parts of a signature that declare families: their numbers of tests, smallest p and correction.

    Args:
        families: The families.
        by: Rule that divides the tests into families.
    """
    listed = list(families)
    counts = Counter(each.n_tests for each in listed)
    floors = sorted({each.floor for each in listed if each.floor is not None})
    return {
        "family": by,
        "tests": "+".join(str(n) if times == 1 else f"{times}x{n}" for n, times in counts.items()) or "0",
        "floor": ",".join(f"{floor:.3g}" for floor in floors) or "none",
        "correction": "+".join(dict.fromkeys(each.correction for each in listed)) or "none",
    }


def floor_notes(families: Sequence[Family], option: str) -> list[str]:
    """Returns a sentence about the families no test of which can be significant, or none.

    Args:
        families: The families.
        option: Option that sets the number of draws.
    """
    notes = [note for each in families if (note := each.note(option)) is not None]
    if not notes:
        return []
    more = f"; the same holds for {len(notes) - 1} more of {len(families)} families" if len(notes) > 1 else ""
    return [f"{notes[0][0].upper()}{notes[0][1:]}{more}."]
