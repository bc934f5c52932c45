"""Counts what a reader needs to trust a set of comparisons."""

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

from fcconan.judging.comparison.pairs import Row


@dataclass
class ComparisonSummary:
    """Counts what a reader needs to trust a set of comparisons; results are added one by one.

    Attributes:
        comparisons: All.
        verdicts: How often each verdict was given.
        invalid: Why verdicts are invalid, and how often.
        both_orders: Comparisons with a readable verdict in both orders.
        flipped: Those of them whose orders gave different verdicts.
        reversed: Those of the flipped ones where one order said a and the other b.
        identical: Ties of equal texts, which no model was asked about.
        shortened: Comparisons in which words of a reply were left out.
        suspicious: Comparisons in which a reply may have told the judge its verdict.
        first_chosen: How often the reply shown first was preferred, an order being counted by itself. Comparisons
            without a readable verdict in both orders are left out: only there does the quality of the replies cancel
            out.
        second_chosen: How often the reply shown second was preferred.
    """

    comparisons: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    invalid: Counter[str] = field(default_factory=Counter)
    both_orders: int = 0
    flipped: int = 0
    reversed: int = 0
    identical: int = 0
    shortened: int = 0
    suspicious: int = 0
    first_chosen: int = 0
    second_chosen: int = 0

    def add(self, result: Row) -> None:
        """Counts one comparison."""
        self.comparisons += 1
        self.verdicts[result["verdict"]] += 1
        if result["reason"] is not None:
            self.invalid[result["reason"]] += 1
        self.identical += result["identical"]
        self.shortened += result["shortened"]
        self.suspicious += result["suspicious"] is not None
        self.both_orders += result["flipped"] is not None
        self.flipped += bool(result["flipped"])
        self.reversed += {result["verdict_ab"], result["verdict_ba"]} == {"a", "b"}
        if result["flipped"] is not None:
            self.first_chosen += (result["verdict_ab"] == "a") + (result["verdict_ba"] == "b")
            self.second_chosen += (result["verdict_ab"] == "b") + (result["verdict_ba"] == "a")

    def as_json(self) -> dict[str, Any]:
        """Returns counts and rates as JSON-able values.

        `flip_rate` is the share of flipped comparisons among those with a readable verdict in both orders;
        `first_preference` that of the reply shown first among all preferences, where 0.5 is none. A rate of nothing is
        None.
        """
        counts = asdict(self) | {"verdicts": dict(sorted(self.verdicts.items()))}
        counts["invalid"] = dict(sorted(self.invalid.items()))
        chosen = self.first_chosen + self.second_chosen
        return counts | {
            "flip_rate": self.flipped / self.both_orders if self.both_orders else None,
            "first_preference": self.first_chosen / chosen if chosen else None,
        }
