"""Multi-turn dialogues between a hater and a counter-speaker (DIALOCONAN): one row a turn."""

from itertools import pairwise
from typing import Any

from fcconan.building.tables import Built, Table
from fcconan.building.upstream_csv import Upstream
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
ROLES = {"HS": "hs", "CN": "cn"}


def build(upstream: Upstream) -> Built:
    """Builds the table of turns.

    Args:
        upstream: The recipe and its file: `turns`.

    Raises:
        InputError: A file breaks a rule of the format, or the turns of a dialogue are not numbered 0, 1, 2, ...
    """
    turns: list[dict[str, Any]] = []
    roles: dict[str, list[str]] = {}
    targets: dict[str, set[str]] = {}
    for record in upstream.read("turns", text_columns=("text",)):
        role = record.one_of("role", ROLES)
        text, dialogue = record["text"], record["dialogue_id"]
        said = roles.setdefault(dialogue, [])
        if record.integer("turn_id") != len(said):
            raise record.fail(f"turn_id is {record['turn_id']}, expected {len(said)}, the next of dialogue {dialogue}")
        name = make_hs_id if role == "hs" else make_cn_id
        turns.append(
            {
                "dialogue_id": dialogue,
                "turn_id": len(said),
                "role": role,
                "text_id": name(text) if text.strip() else None,
                "text": text,
                "target": record["target"],
                "collection": record["collection"],
            }
        )
        said.append(role)
        targets.setdefault(dialogue, set()).add(record["target"])
    alternating = sum(all(a != b for a, b in pairwise(["cn", *said])) for said in roles.values())
    empty = sum(turn["text_id"] is None for turn in turns)
    facts = {"dialogues": len(roles), "alternating_dialogues": alternating, "empty_turns": empty}
    several = sum(len(names) > 1 for names in targets.values())
    notes = [
        f"{len(roles) - alternating} of {len(roles)} dialogues do not alternate between HS and CN; they are kept.",
        f"Turns that are empty upstream: {empty}; they are kept, without a text id.",
        f"Dialogues whose turns name more than one target: {several}.",
    ]
    return Built([Table.from_rows("turns", "train", TURN, turns, ("dialogue_id", "turn_id"))], facts=facts, notes=notes)
