import random

import pytest

from fcconan.places import Places


def test_places_are_those_of_a_dict_of_lists() -> None:
    draw = random.Random(0)
    keys = [draw.getrandbits(64) for _ in range(3000)]
    keys[:4] = [0, (1 << 64) - 1, 1024, 2048]  # the last two begin at the slot of the first
    places, known = Places(), dict[int, list[int]]()
    for place in range(10_000):
        key = draw.choice(keys)
        if place % 7 == 0 and known.get(key):
            gone = known[key].pop(draw.randrange(len(known[key])))
            places.remove(key, gone)
        places.add(key, place)
        known.setdefault(key, []).append(place)
    assert {key: places.of(key) for key in keys} == {key: known.get(key, []) for key in keys}
    assert len(places) == sum(bool(each) for each in known.values())


def test_places_of_one_key_stay_in_order_where_they_go_around_the_end() -> None:
    places, last = Places(), (1 << 64) - 1
    for place in range(1000):  # all begin at the last slot, before and after the table grows
        places.add(last, place)
    assert (places.of(last), places.of(last >> 1), len(places)) == (list(range(1000)), [], 1)


def test_a_place_is_gone_only_once() -> None:
    places = Places()
    places.add(5, 0)
    places.add(5, 9)
    places.remove(5, 0)
    assert (places.of(5), len(places)) == ([9], 1)
    places.remove(5, 9)
    assert (places.of(5), len(places)) == ([], 0)


@pytest.mark.parametrize("number", [1, 896, 897, 100_000])
def test_memory_is_a_fraction_of_a_dict(number: int) -> None:
    places = Places()
    for each in range(number):
        places.add(hash(str(each)) & (1 << 64) - 1, each)
    size = memoryview(places._keys).nbytes + memoryview(places._after).nbytes
    assert (len(places), size <= max(16 * 1024, 37 * number)) == (number, True)
