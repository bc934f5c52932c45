import hashlib

import pytest

from fcconan.errors import InputError
from fcconan.parallel import Portion


def test_portions_share_the_keys_without_rest() -> None:
    portions = [Portion(number, 3) for number in (1, 2, 3)]
    keys = [f"item-{number}" for number in range(300)]
    held = [[key for key in keys if portion.holds(key)] for portion in portions]
    assert sorted(key for own in held for key in own) == sorted(keys)
    assert all(70 < len(own) < 130 for own in held)
    # By hand: sha256 of "i1" begins with the digits below.
    first = int(hashlib.sha256(b"i1").hexdigest()[:12], 16)
    assert [portion.holds("i1") for portion in portions] == [first % 3 == place for place in range(3)]
    assert all(Portion(1, 1).holds(key) for key in keys)
    for number, count in ((4, 3), (0, 3), (1, 0)):
        with pytest.raises(InputError, match=f"shard {number}/{count} does not exist"):
            Portion(number, count)
