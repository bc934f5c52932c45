"""Names that users choose among, and signatures, which name what changes a result."""

from collections.abc import Collection, Iterable, Mapping

from fcconan.data import did_you_mean
from fcconan.errors import InputError


def known_names(kind: str, names: Iterable[str], known: Collection[str]) -> tuple[str, ...]:
    """Returns names, once each.

    Args:
        kind: What they name, for the message.
        names: The names.
        known: All names that there are.

    Raises:
        InputError: A name is unknown.
    """
    chosen = tuple(dict.fromkeys(names))
    for name in chosen:
        if name not in known:
            raise InputError(
                f"unknown {kind} {name!r}: {did_you_mean(name, known)}known are {', '.join(known) or 'none'}"
            )
    return chosen


def joined_parts(parts: Mapping[str, object]) -> str:
    """Returns the parts of a signature as one string, `part:value|...`."""
    return "|".join(f"{part}:{value}" for part, value in parts.items())


def bootstrap_parts(resamples: int, seed: int, confidence: float, *, unit: str = "item") -> dict[str, object]:
    """Returns the parts of a signature that name a bootstrap.

    Args:
        resamples: Number of resamples.
        seed: Their seed.
        confidence: Confidence level of the intervals.
        unit: What is resampled.
    """
    return {"bootstrap": f"{resamples}-by-{unit}", "confidence": f"{confidence:g}", "seed": seed}
