"""What came of rating, counted as the rows go by."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

Row = dict[str, Any]


class RatingSummary:
    """Counts and means for every rater and aspect; nothing else of the rows is kept."""

    def __init__(self) -> None:
        self._parts: dict[tuple[str, str], dict[str, Any]] = {}

    def add(self, rows: Sequence[Row]) -> None:
        """Counts rows of ratings or of labels."""
        for row in rows:
            what = (row["rater"], row.get("aspect") or "label")
            part = self._parts.setdefault(
                what,
                {"n": 0, "sum": 0.0, "missing": Counter(), "labels": Counter(), "cited": Counter(), "suspicious": 0},
            )
            if row.get("low") is not None:
                part["scale"] = row["low"], row["high"]
            value = row["label"] if "label" in row else row["value"]
            if value is None:
                part["missing"][str(row["reason"])] += 1
            else:
                part["n"] += 1
                if isinstance(value, str):
                    part["labels"][value] += 1
                else:
                    part["sum"] += value
            if row.get("cited") is not None:
                part["cited"][row["cited"]] += 1
            if row.get("retained_mass") is not None:
                part["mass"] = part.get("mass", 0.0) + row["retained_mass"]
            part["suspicious"] += row.get("suspicious") is not None

    def result(self, **further: Any) -> dict[str, Any]:
        """Returns the counts as JSON-able values.

        `mean` is over what is there; `bounds` are the mean if all that is missing had the lowest or the highest grade.

        Args:
            further: Put beside them.
        """
        rows = []
        for (rater, aspect), part in self._parts.items():
            cited = part["cited"]
            n_missing = sum(part["missing"].values())
            bounds = [(part["sum"] + n_missing * end) / (part["n"] + n_missing) for end in part.get("scale", ())]
            row: dict[str, Any] = {
                "rater": rater,
                "aspect": aspect,
                "n": part["n"],
                "n_missing": n_missing,
                "missing": dict(sorted(part["missing"].items())),
                "mean": part["sum"] / part["n"] if part["n"] and not part["labels"] else None,
                "bounds": bounds or None,
                "cited": cited[True] / sum(cited.values()) if cited else None,
                "retained_mass": part["mass"] / part["n"] if part.get("mass") is not None and part["n"] else None,
                "n_suspicious": part["suspicious"],
            }
            if part["labels"]:
                row["labels"] = dict(sorted(part["labels"].items()))
            rows.append(row)
        return {"rows": rows, **further}
