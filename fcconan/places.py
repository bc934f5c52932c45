"""Where very many things are, in little memory."""

from array import array

_FEWEST = 1024  # slots
_REMOVED = (1 << 64) - 1


class Places:
    """Places of things that are known by 64 bits, in 18 to 37 bytes each; a dict of numbers takes some 120.

    A hash table with open addressing in two arrays, doubled when seven eighths of its slots are taken.
    """

    def __init__(self) -> None:
        self._keys, self._after = _slots(_FEWEST), _slots(_FEWEST)  # after a place, so that 0 is a free slot
        self._taken = self._distinct = 0

    def __len__(self) -> int:
        """The number of keys that have a place."""
        return self._distinct

    def add(self, key: int, place: int) -> None:
        """Adds a place.

        Args:
            key: From 0 to 2**64 - 1, evenly spread, as hashes are; it may have places already.
            place: From 0 to 2**63.
        """
        if 8 * (self._taken + 1) > 7 * len(self._keys):
            old = zip(self._keys, self._after, strict=True)
            kept = ((key, after) for key, after in old if after and after != _REMOVED)
            self._keys, self._after = _slots(2 * len(self._keys)), _slots(2 * len(self._keys))
            self._taken = self._distinct = 0
            for each, after in kept:
                self._put(each, after)
        self._put(key, place + 1)

    def of(self, key: int) -> list[int]:
        """Returns the places of a key, in ascending order."""
        keys, after = self._keys, self._after
        last = len(keys) - 1
        slot, found = key & last, []
        while after[slot]:
            if keys[slot] == key and after[slot] != _REMOVED:
                found.append(after[slot] - 1)
            slot = (slot + 1) & last
        return sorted(found) if len(found) > 1 else found

    def remove(self, key: int, place: int) -> None:
        """Removes a place that was added."""
        slot = key & (len(self._keys) - 1)
        while self._keys[slot] != key or self._after[slot] != place + 1:
            slot = (slot + 1) % len(self._keys)
        self._after[slot] = _REMOVED
        self._distinct -= not self.of(key)

    def _put(self, key: int, after: int) -> None:
        slot, known = key & (len(self._keys) - 1), 0
        while there := self._after[slot]:
            known |= self._keys[slot] == key and there != _REMOVED
            slot = (slot + 1) % len(self._keys)
        self._keys[slot], self._after[slot] = key, after
        self._taken += 1
        self._distinct += not known


def _slots(number: int) -> "array[int]":
    return array("Q", bytes(8 * number))
