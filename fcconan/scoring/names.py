"""Checks of names that users give, and the parts of signatures."""

from collections.abc import Collection, Iterable, Mapping

from fcconan.data import did_you_mean
from fcconan.errors import InputError


def check_names(kind: str, names: Iterable[str], known: Collection[str]) -> tuple[str, ...]:
    """Checks that names are known, and returns each once.

    Args:
        kind: Kind of the names, for the message.
        names: Names to check.
        known: All known names.

    Raises:
        InputError: A name is unknown.
    """
    chosen = (names,) if isinstance(names, str) else tuple(dict.fromkeys(names))
    for name in chosen:
        if name not in known:
            raise InputError(
                f"unknown {kind} {name!r}: {did_you_mean(name, known)}known are {', '.join(known) or 'none'}"
            )
    return chosen


def join_parts(parts: Mapping[str, object]) -> str:
    """Returns the parts of a signature as one string, `part:value|...`."""
    return "|".join(f"{part}:{value}" for part, value in parts.items())


def bootstrap_parts(resamples: int, seed: int, confidence: float, *, unit: str = "item") -> dict[str, object]:
    """Returns the parts of a signature that name a bootstrap.

    Args:
        resamples: Number of resamples.
        seed: Seed of the resamples.
        confidence: Confidence level of the intervals.
        unit: Unit that is resampled.
    """
    return {"bootstrap": f"{resamples}-by-{unit}", "confidence": f"{confidence:g}", "seed": seed}
