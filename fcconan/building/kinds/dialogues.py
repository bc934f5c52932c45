"""Multi-turn dialogues between a hater and a counter-speaker (DIALOCONAN), one row per turn."""

from itertools import pairwise

from fcconan.building.source_files import SourceFiles, coded, numbers, wrong_row
from fcconan.building.tables import Built, Table, group_values
from fcconan.data import make_cn_id, make_hs_id

TURN = {
    "dialogue_id": "string",
    "turn_id": "int",
    "role": "string",
    "text_id": "string",
    "text": "text",
    "target": "string",
    "collection": "string",
}
ROLES = {"HS": ("hs", make_hs_id), "CN": ("cn", make_cn_id)}


def build(upstream: SourceFiles) -> Built:
    """Builds the table of turns.

    Args:
        upstream: The recipe and its file: `turns`.

    Raises:
        InputError: A file has an invalid format, or the turns of a dialogue are not numbered 0, 1, 2, ...
    """
    rows = upstream.read("turns", "text")
    turns = [
        {**row, "turn_id": number, "role": role, "text_id": make(row["text"]) if row["text"].strip() else None}
        for row, number, (role, make) in zip(
            rows.to_dict("records"), numbers(rows, "turn_id", whole=True), coded(rows, "role", ROLES), strict=True
        )
    ]
    for at, (turn, number) in enumerate(zip(turns, rows.groupby("dialogue_id").cumcount(), strict=True)):
        if turn["turn_id"] != number:
            found = f"turn_id is {turn['turn_id']}, expected {number}, the next of dialogue {turn['dialogue_id']}"
            raise wrong_row(rows, at, f"{found}: correct the order of the rows")
    dialogues = [*group_values((turn["dialogue_id"], turn) for turn in turns).values()]
    alternating = sum(all(a != b for a, b in pairwise(["cn", *(turn["role"] for turn in own)])) for own in dialogues)
    several = sum(len({turn["target"] for turn in own}) > 1 for own in dialogues)
    empty = sum(turn["text_id"] is None for turn in turns)
    facts = {"dialogues": len(dialogues), "alternating_dialogues": alternating, "empty_turns": empty}
    notes = [
        f"{len(dialogues) - alternating} of {len(dialogues)} dialogues do not alternate between HS and CN; they are "
        "included.",
        f"Turns that are empty upstream: {empty}; they are included without a text id.",
        f"Dialogues whose turns name more than one target: {several}.",
    ]
    return Built([Table.from_rows("turns", "train", TURN, turns, ("dialogue_id", "turn_id"))], facts=facts, notes=notes)
