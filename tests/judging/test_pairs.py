import tracemalloc
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from fcconan.errors import InputError
from fcconan.judging.comparison.pairs import ReplyPair, all_pairs, budgeted_pairs


def reply(item: str, system: str, **changes: Any) -> dict[str, Any]:
    row = {
        "reply_id": f"re-{item}-{system}",
        "item_id": item,
        "hs_id": f"hs-{item}",
        "hate_speech": f"The Ombrey spoil {item}.",
        "text": f"{system} answers {item}.",
        "system": system,
        "strategy": None,
        "references": None,
    }
    return row | changes


def grid(systems: int, items: int) -> list[dict[str, Any]]:
    return [reply(f"i{item}", f"s{system}") for item in range(items) for system in range(systems)]


def keys(pairs: Iterable[ReplyPair]) -> list[tuple[str, str, str]]:
    """Item and systems of every pair; both replies must belong to the item."""
    found = []
    for pair in pairs:
        assert pair.a["item_id"] == pair.b["item_id"]
        found.append((pair.a["item_id"], pair.a["system"], pair.b["system"]))
    return found


def connected(systems: set[str], edges: Iterable[tuple[str, str]]) -> bool:
    """By walking from one system to all that can be reached; another way than the package's."""
    neighbours: dict[str, set[str]] = {system: set() for system in systems}
    for a, b in edges:
        neighbours[a].add(b)
        neighbours[b].add(a)
    reached: set[str] = set()
    front = {min(systems)}
    while front:
        reached |= front
        front = {other for system in front for other in neighbours[system]} - reached
    return reached == systems


def test_all_pairs_by_item_and_then_by_name() -> None:
    rows = [reply("i2", "tessok"), reply("i1", "velmari"), reply("i2", "dravene"), reply("i1", "dravene")]
    rows += [reply("i2", "quillish"), reply("i3", "alone")]
    assert keys(all_pairs(rows)) == [
        ("i2", "dravene", "quillish"),
        ("i2", "dravene", "tessok"),
        ("i2", "quillish", "tessok"),
        ("i1", "dravene", "velmari"),
    ]


def test_a_pair_holds_the_rows_themselves() -> None:
    rows = [reply("i1", "b"), reply("i1", "a")]
    (pair,) = all_pairs(iter(rows))
    assert pair.a is rows[1]
    assert pair.b is rows[0]


SECOND = reply("i1", "b")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "no item has replies of two systems to compare: check the column item_id"),
        (
            [reply("i1", "a"), reply("i2", "b")],
            "no item has replies of two systems to compare: check the column item_id",
        ),
        (
            [reply("i1", "a"), SECOND, reply("i1", "a", reply_id="re-other", text="Another.")],
            "reply 3: a second reply of a to the item i1: keep one of them",
        ),
        (
            [reply("i1", "a"), SECOND | {"hate_speech": "The Ostrun spoil i1."}],
            "reply 2: the item i1 has two HS, expected one: give each HS its own item_id",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused_at_once(rows: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(InputError) as error:
        all_pairs(rows)
    assert str(error.value) == message
    with pytest.raises(InputError) as error:
        budgeted_pairs(rows, budget=10, seed=0)
    assert str(error.value) == message


@settings(deadline=None)
@given(st.integers(2, 7), st.integers(1, 9), st.integers(0, 200), st.integers(0, 1000))
def test_a_budget_connects_all_systems_and_uses_them_equally(systems: int, items: int, more: int, seed: int) -> None:
    rows = grid(systems, items)
    budget = systems - 1 + more
    chosen = keys(budgeted_pairs(rows, budget=budget, seed=seed))
    everything = keys(all_pairs(rows))
    assert len(chosen) == len(set(chosen)) == min(budget, len(everything))
    assert set(chosen) <= set(everything)
    assert connected({row["system"] for row in rows}, [(a, b) for _, a, b in chosen])
    of_pairs = Counter({(a, b): 0 for _, a, b in everything})
    of_pairs.update((a, b) for _, a, b in chosen)
    assert max(of_pairs.values()) - min(of_pairs.values()) <= 1
    of_items = Counter({f"i{item}": 0 for item in range(items)})
    of_items.update(item for item, _, _ in chosen)
    assert max(of_items.values()) - min(of_items.values()) <= 1


@settings(deadline=None)
@given(st.sets(st.tuples(st.integers(0, 5), st.integers(0, 4)), min_size=4), st.integers(0, 60), st.integers(0, 50))
def test_a_budget_with_missing_replies(match_answers: set[tuple[int, int]], more: int, seed: int) -> None:
    rows = [reply(f"i{item}", f"s{system}") for item, system in sorted(match_answers)]
    systems = {row["system"] for row in rows}
    budget = len(systems) - 1 + more
    try:
        everything = keys(all_pairs(rows))
    except InputError:
        everything = []
    if not everything or not connected(systems, [(a, b) for _, a, b in everything]):
        with pytest.raises(InputError, match=r"no item has replies of two|have no common item"):
            budgeted_pairs(rows, budget=budget, seed=seed)
        return
    chosen = keys(budgeted_pairs(rows, budget=budget, seed=seed))
    assert len(chosen) == len(set(chosen)) == min(budget, len(everything))
    assert set(chosen) <= set(everything)
    if chosen:
        assert connected(systems, [(a, b) for _, a, b in chosen])
    # No pair of systems is used twice more than one that could be used again.
    available = Counter((a, b) for _, a, b in everything)
    used = Counter((a, b) for _, a, b in chosen)
    most = max(used.values(), default=0)
    assert all(used[pair] >= min(available[pair], most - 1) for pair in available)


def test_the_smallest_budget_is_a_tree() -> None:
    for seed in range(50):
        chosen = keys(budgeted_pairs(grid(6, 4), budget=5, seed=seed))
        assert connected({f"s{system}" for system in range(6)}, [(a, b) for _, a, b in chosen])
        # Neighbours on a circle that is open at one place: no system is compared with more than two.
        assert sorted(Counter(system for _, a, b in chosen for system in (a, b)).values()) == [1, 1, 2, 2, 2, 2]


def test_the_smallest_budget_is_a_tree_where_neighbours_have_no_common_item() -> None:
    # Three systems met each other, the other three met the first one only: a ring of three would waste one.
    rows = [reply("i0", system) for system in ("s0", "s1", "s2")]
    rows += [reply(f"i{number}", system) for number in (3, 4, 5) for system in ("s0", f"s{number}")]
    for seed in range(50):
        chosen = keys(budgeted_pairs(rows, budget=5, seed=seed))
        assert len(chosen) == 5
        assert connected({f"s{system}" for system in range(6)}, [(a, b) for _, a, b in chosen])


@pytest.mark.parametrize("budget", [4, 0, -1])
def test_a_budget_that_cannot_connect_the_systems_names_the_smallest_that_can(budget: int) -> None:
    with pytest.raises(InputError) as error:
        budgeted_pairs(grid(6, 4), budget=budget, seed=0)
    assert str(error.value) == (
        f"{budget} comparisons cannot connect 6 systems: give 5 comparisons or more, or compare fewer systems"
    )


def test_systems_that_nothing_connects_are_named() -> None:
    rows = [reply("i1", "a"), reply("i1", "b"), reply("i2", "c"), reply("i2", "d")]
    with pytest.raises(InputError) as error:
        budgeted_pairs(rows, budget=100, seed=0)
    assert str(error.value) == (
        "a and c have no common item, and no other systems connect them: compare them in separate runs"
    )


def test_a_smaller_budget_is_the_head_of_a_larger_one() -> None:
    rows = grid(5, 7)
    full = keys(budgeted_pairs(rows, budget=1000, seed=3))
    assert sorted(full) == sorted(keys(all_pairs(rows)))
    for budget in range(4, 70):
        assert keys(budgeted_pairs(rows, budget=budget, seed=3)) == full[:budget]


def test_the_choice_depends_on_the_seed_and_not_on_the_order_of_the_rows() -> None:
    rows = grid(5, 7)
    first = keys(budgeted_pairs(rows, budget=9, seed=1))
    assert keys(budgeted_pairs(reversed(rows), budget=9, seed=1)) == first
    assert keys(budgeted_pairs(rows, budget=9, seed=2)) != first


def test_pairs_are_made_one_by_one() -> None:
    rows = grid(30, 100)  # 43 500 pairs: as a list they would take more than 2 MB
    for pairs in (all_pairs(rows), budgeted_pairs(rows, budget=43_500, seed=0)):
        tracemalloc.start()
        count = sum(1 for _ in pairs)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert count == 43_500
        assert peak < 1_000_000


EMPTY = (None, "", " \n\u00a0")


@pytest.mark.parametrize("nothing", EMPTY)
def test_replies_without_text_cost_no_budget(nothing: str | None) -> None:
    whole = grid(3, 6)
    failed = [reply(f"i{item}", "failed", text=nothing) for item in range(6)]
    # One more reply is missing of a system that answers otherwise.
    rows = [row | {"text": nothing} if row["reply_id"] == "re-i2-s1" else row for row in whole]
    chosen = keys(budgeted_pairs([*rows, *failed], budget=8, seed=0))
    empty = {key for key in keys(all_pairs([*rows, *failed])) if "failed" in key}
    empty |= {("i2", "s0", "s1"), ("i2", "s1", "s2")}
    assert len(empty) == 6 * 3 + 2
    assert not empty & set(chosen[:8])
    assert chosen[8:] == [key for key in keys(all_pairs([*rows, *failed])) if key in empty]
    assert connected({"s0", "s1", "s2"}, [(a, b) for _, a, b in chosen[:8]])
    # What a system that failed changes is nothing but what is said of it, and it needs no place in the budget.
    alone = keys(budgeted_pairs([*whole, *failed], budget=2, seed=0))
    assert alone[:2] == keys(budgeted_pairs(whole, budget=2, seed=0))
    assert len(alone) == 2 + 18
    assert len(keys(budgeted_pairs([*failed, *grid(1, 6)], budget=1, seed=0))) == 6


def test_a_choice_among_replies_with_text_is_the_same_as_ever() -> None:
    # As drawn before replies without text were set apart.
    assert keys(budgeted_pairs(grid(4, 3), budget=6, seed=5)) == [
        ("i2", "s1", "s3"),
        ("i0", "s1", "s2"),
        ("i1", "s0", "s2"),
        ("i2", "s0", "s3"),
        ("i0", "s2", "s3"),
        ("i1", "s0", "s1"),
    ]
