import hashlib
import json
import time
from pathlib import Path

import pytest

from fcconan.errors import InputError
from fcconan.parallel import Portion, Shard, claim_shards, make_shards

PLAN = {"lists": 2, "scorer": {"kind": "tfidf"}}


def test_shards_are_cut_evenly_and_named_by_their_place() -> None:
    assert make_shards(7, 3) == [Shard(0, 3, 0, 3), Shard(1, 3, 3, 6), Shard(2, 3, 6, 7)]
    assert [(shard.name, shard.size) for shard in make_shards(7, 3)] == [
        ("part-00000-of-00003.parquet", 3),
        ("part-00001-of-00003.parquet", 3),
        ("part-00002-of-00003.parquet", 1),
    ]
    assert make_shards(6, 3)[-1] == Shard(1, 2, 3, 6)
    assert make_shards(0, 3) == []


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


def test_a_folder_is_claimed_once_and_for_one_plan(tmp_path: Path) -> None:
    folder = tmp_path / "shards"
    claim_shards(folder, "plan.json", PLAN)
    written = (folder / "plan.json").stat().st_mtime_ns
    assert json.loads((folder / "plan.json").read_text()) == PLAN
    time.sleep(0.01)
    claim_shards(folder, "plan.json", PLAN)
    assert (folder / "plan.json").stat().st_mtime_ns == written
    with pytest.raises(InputError) as caught:
        claim_shards(folder, "plan.json", {"lists": 3, "scorer": {"kind": "dense"}})
    assert str(caught.value) == (
        f"{folder / 'plan.json'}: found the plan of another pairing, expected the plan of this one "
        "(lists 2 instead of 3, another scorer): give an empty folder or delete this one"
    )
    (folder / "part-00000-of-00001.parquet").touch()
    (folder / "plan.json").unlink()
    with pytest.raises(InputError, match=r"found shards without plan\.json"):
        claim_shards(folder, "plan.json", PLAN)
