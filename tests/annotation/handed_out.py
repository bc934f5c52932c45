"""Small campaigns about invented peoples, one for each kind of unit, with a round that two raters judge."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from fcconan.annotation import Assignment, Campaign, Rater, Settings, Unit, create
from fcconan.judging import load_task

HS = {"hs-1": "The Ombrey never return a book.", "hs-2": 'Every Tessok "cheats" at cards; always.'}
CN = {
    "cn-1": "The library's list shows\nthat Ombrey readers return books early.",
    "cn-2": "Cards, dice and bets were banned: who would have learnt to cheat?",
}
REPLIES = {
    "re-1": ("it-1", "lamp", "They return them early, says the library."),
    "re-2": ("it-1", "salt", "Überall liest man; they do."),
    "re-3": ("it-1", "glass", ""),
}
RATERS = ("ombrey-1", "tessok-2")
_NAMES = {"pair": "tarn-pairs", "reply": "tarn-replies", "comparison": "tarn-duels"}


def campaign_of(task: str, folder: Path, **context: Any) -> Campaign:
    """Makes a campaign of a task of the catalogue; both raters judge every unit, the second one in reverse order.

    Of a comparison, the second rater is shown the second reply as A.
    """
    loaded = load_task(task)
    if "context" in context:
        loaded = loaded.model_copy(update=context)
    hs = [{"hs_id": hs_id, "text": text} for hs_id, text in HS.items()]
    cn = [{"cn_id": cn_id, "text": text} for cn_id, text in CN.items()]
    replies = [
        {
            "reply_id": reply_id,
            "item_id": item,
            "hs_id": "hs-1",
            "hate_speech": HS["hs-1"],
            "text": text,
            "system": system,
            "references": ["A reference.", "Another one."],
            "background": "Velmari glass is blown in Tarn.",
        }
        for reply_id, (item, system, text) in REPLIES.items()
    ]
    names = list(REPLIES)
    units = {
        "pair": [Unit(f"{h}:{c}", hs_id=h, cn_id=c) for h in HS for c in CN],
        "reply": [Unit(name, hs_id="hs-1", item_id="it-1", reply_a=name) for name in names],
        "comparison": [
            Unit(f"{a}:{b}", hs_id="hs-1", item_id="it-1", reply_a=a, reply_b=b)
            for a, b in (names[:2], names[1:], names[::2])
        ],
    }[loaded.unit]
    texts: dict[str, Any] = {"hs.jsonl": hs, "cn.jsonl": cn} if loaded.unit == "pair" else {"replies.jsonl": replies}
    made = create(folder, Settings(name=_NAMES[loaded.unit]), loaded, units, texts)
    ids = [unit.unit_id for unit in units]
    first = [Assignment(RATERS[0], unit, place, session=1 + (place > 2)) for place, unit in enumerate(ids, start=1)]
    second = [
        Assignment(RATERS[1], unit, place, swapped=loaded.unit == "comparison")
        for place, unit in enumerate(reversed(ids), start=1)
    ]
    with made.changing():
        made.write("raters.csv", [Rater(name) for name in (*RATERS, "velmari-3")])
        made.write("rounds/main.jsonl", first + second)
    return made


def withdraw(campaign: Campaign, rater: str, unit_id: str) -> None:
    """Takes a unit back from a rater."""
    assignments = [
        replace(each, withdrawn=True) if (each.rater, each.unit_id) == (rater, unit_id) else each
        for each in campaign.assignments()
    ]
    with campaign.changing():
        campaign.write("rounds/main.jsonl", assignments)
