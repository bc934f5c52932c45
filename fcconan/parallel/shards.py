"""Shares of work that several machines divide."""

from dataclasses import dataclass

from fcconan.data import short_hash
from fcconan.errors import InputError


@dataclass(frozen=True)
class Portion:
    """The share of one machine in work that several machines divide: `--shard K/N`.

    Attributes:
        number: Number of the portion, from 1.
        count: Number of portions.

    Raises:
        InputError: The number is outside of 1 to `count`.
    """

    number: int
    count: int

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.count:
            raise InputError(f"shard {self.number}/{self.count} does not exist: give K/N with K from 1 to N")

    def holds(self, key: str) -> bool:
        """Returns whether a key, such as the id of an item, is in this portion. Each key is in exactly one portion."""
        return int(short_hash(key), 16) % self.count == self.number - 1
