"""Summary of comparisons: verdicts, failures and consistency over the two orders."""

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

from fcconan.judging.comparison.pairs import Row


@dataclass
class ComparisonSummary:
    """Counts of verdicts, failures, flips and preferences for a position, added one comparison at a time.

    Attributes:
        comparisons: Number of comparisons.
        verdicts: Number of comparisons by verdict.
        invalid: Number of invalid verdicts by reason.
        both_orders: Comparisons with readable verdicts in both orders.
        flipped: Comparisons whose two orders gave different verdicts.
        reversed: Flipped comparisons with the verdict a in one order and b in the other.
        identical: Ties of equal texts, without a request.
        first_chosen: Single orders in which the reply shown first won, over comparisons with readable verdicts in both
            orders. In these, the quality of the replies cancels out.
        second_chosen: Single orders in which the reply shown second won, over the same comparisons.
    """

    comparisons: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    invalid: Counter[str] = field(default_factory=Counter)
    both_orders: int = 0
    flipped: int = 0
    reversed: int = 0
    identical: int = 0
    first_chosen: int = 0
    second_chosen: int = 0

    def add(self, result: Row) -> None:
        """Adds a comparison."""
        self.comparisons += 1
        self.verdicts[result["verdict"]] += 1
        if result["reason"] is not None:
            self.invalid[result["reason"]] += 1
        self.identical += result["identical"]
        self.both_orders += result["flipped"] is not None
        self.flipped += bool(result["flipped"])
        self.reversed += {result["verdict_ab"], result["verdict_ba"]} == {"a", "b"}
        if result["flipped"] is not None:
            self.first_chosen += (result["verdict_ab"] == "a") + (result["verdict_ba"] == "b")
            self.second_chosen += (result["verdict_ab"] == "b") + (result["verdict_ba"] == "a")

    def as_json(self) -> dict[str, Any]:
        """Returns counts and rates as JSON-serializable values.

        `flip_rate` is `flipped` over `both_orders`. `first_preference` is the share of `first_chosen` among all
        preferences; 0.5 means no position bias. Rates with a denominator of 0 are None.
        """
        counts = asdict(self) | {"verdicts": dict(sorted(self.verdicts.items()))}
        counts["invalid"] = dict(sorted(self.invalid.items()))
        chosen = self.first_chosen + self.second_chosen
        return counts | {
            "flip_rate": self.flipped / self.both_orders if self.both_orders else None,
            "first_preference": self.first_chosen / chosen if chosen else None,
        }
