"""Replies of several systems to one test set (LLM-CN-Eval), and the rubrics of their ratings."""

from typing import Any

from fcconan.building.kinds.pairs import pairs_tables
from fcconan.building.source_files import SourceFiles, wrong_row
from fcconan.building.tables import Built, Table
from fcconan.data import REPLY, make_cn_id, make_hs_id, make_item_id, make_reply_id
from fcconan.errors import InputError

TEXTS = ("hate_speech", "counter_narrative")
EXTRA = {"target": "string"}
CHOSEN = {"chosen": "bool"}  # column of candidates
RUBRIC = {"aspect": "string", "prompt": "text"}


def build(upstream: SourceFiles) -> Built:
    """Builds replies, candidate replies, rubrics, and the training, validation and test pairs.

    Args:
        upstream: The recipe, whose `systems` name the columns of replies in the source `replies`, and its files:
            `replies`, `candidates`, `rubrics`, and those of `pairs`.

    Raises:
        InputError: A file has an invalid format.
    """
    recipe = upstream.recipe
    answered = upstream.read("replies", *TEXTS, *recipe.systems)
    names = [name for name in recipe.sources["candidates"].columns if name.startswith("candidate_")]
    proposed = upstream.read("candidates", *TEXTS, *names)
    if not answered[[*TEXTS]].equals(proposed[[*TEXTS]]):
        raise InputError(
            f"{proposed.attrs['name']} has other rows than {answered.attrs['name']}: give files of one run"
        )
    replies, candidates = [], []
    for at, (row, of_row) in enumerate(zip(answered.to_dict("records"), proposed.to_dict("records"), strict=True)):
        texts, target = (row["hate_speech"], row["counter_narrative"]), {"target": row["target"]}
        replies += [reply_row(*texts, row[system], system) | target for system in recipe.systems]
        chosen = row["dialogpt"]
        if chosen not in [of_row[name] for name in names]:
            raise wrong_row(answered, at, f"the reply of dialogpt is not among its {len(names)} candidates")
        candidates += [
            reply_row(*texts, of_row[name], "dialogpt", source_id=name) | target | {"chosen": of_row[name] == chosen}
            for name in names
        ]
    rubrics = upstream.read("rubrics")
    prompts = [{"aspect": aspect, "prompt": rubrics[aspect][0]} for aspect in rubrics]
    tables = [
        Table.from_rows("replies", "test", REPLY.kinds | EXTRA, replies, ("reply_id",)),
        Table.from_rows("candidates", "test", REPLY.kinds | EXTRA | CHOSEN, candidates, ("reply_id",)),
        Table.from_rows("rubrics", "test", RUBRIC, prompts, ("aspect",)),
    ]
    pairs, notes = pairs_tables(upstream)
    tables += pairs
    facts = {
        "systems": len(recipe.systems),
        "items": len({reply["item_id"] for reply in replies}),
        "hate_speech": len({reply["hs_id"] for reply in replies}),
    }
    notes += [f"Left out: {path} ({reason})" for path, reason in recipe.excluded.items()]
    return Built(tables, facts=facts, notes=notes)


def reply_row(hate_speech: str, reference: str, text: str, system: str, *, source_id: str = "") -> dict[str, Any]:
    """Returns the columns of a reply to an HS with one reference.

    Args:
        hate_speech: Text of the HS.
        reference: CN that was written for the HS.
        text: Text of the reply.
        system: Name of the system.
        source_id: Id of the source record, which distinguishes equal replies.
    """
    hs = make_hs_id(hate_speech)
    item = make_item_id(hs, [make_cn_id(reference)])
    return {
        "reply_id": make_reply_id(item, system, text, source_id),
        "item_id": item,
        "hs_id": hs,
        "hate_speech": hate_speech,
        "text": text,
        "system": system,
        "references": [reference],
    }
