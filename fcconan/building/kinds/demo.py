"""The demo: texts about invented peoples, and simulated annotators, systems and judge.

The rule of the labels: A CN is appropriate for an HS if it is civil and addresses the people and the topic of the HS.
A general CN addresses every people or every topic. A CN is a borderline case if it addresses the people but not the
topic, or if it is general in both. Three annotators label each pair. They may skip it (at least one of them answers),
differ in accuracy, and are often unsure of borderline cases.
"""

import hashlib
from dataclasses import dataclass
from itertools import combinations

from fcconan.building.kinds.replies import reply_row
from fcconan.building.recipes import Aspect, Rater, Recipe
from fcconan.building.rows import (
    FAILED_PARSE,
    Row,
    comparison_row,
    ids_of,
    rating_row,
    tier_members,
    tier_tables,
    vote_agreement,
)
from fcconan.building.source_files import SourceFiles
from fcconan.building.tables import Built, Table, group_values
from fcconan.building.tiers import agreement, tier
from fcconan.data import COMPARISON, PAIR, RATING, REPLY, TIERS, VOTE, content_folder, read_yaml

ACCURACY = {"simulated-annotator-1": 0.97, "simulated-annotator-2": 0.93, "simulated-annotator-3": 0.85}
SKIPPED = 0.35
UNSURE_OF_BORDERLINE = 0.5
CONFIRMED = 0.93
TIE_BELOW = 0.6
JUDGE = "simulated-judge"
JUDGE_FAILS = 0.03
# Latent quality (1 to 5) and aggressiveness (1 to 5) of the replies of each simulated system.
SYSTEMS = {
    "simulated-matched": (4.4, 1.2),
    "simulated-generic": (3.0, 1.4),
    "simulated-offtopic": (1.8, 1.3),
    "simulated-hostile": (1.4, 4.3),
}
RATING_NOISE = 0.8
COMPARED_BY = ("item_id", "system_a", "system_b", "rater")


@dataclass(frozen=True)
class Message:
    """One text of the corpus with its properties for the rule."""

    text: str
    people: str
    topics: tuple[str, ...]
    kind: str = ""
    tone: str = "civil"

    def speaks_to_people(self, other: "Message") -> bool:
        """Returns whether the text addresses the people of the other text."""
        return self.people in ("any", other.people)

    def speaks_to_topic(self, other: "Message") -> bool:
        """Returns whether the text addresses the topic of the other text."""
        return "any" in self.topics or other.topics[0] in self.topics


def uniform(seed: int, *names: str) -> float:
    """Returns a pseudo-random number in [0, 1) that depends only on the seed and the given names."""
    digits = hashlib.sha256("\n".join((str(seed), *names)).encode()).hexdigest()[:13]
    return float(int(digits, 16) / 16**13)


def true_label(hs: Message, cn: Message) -> tuple[str, bool]:
    """Returns the label of a pair by the rule, and whether the pair is a borderline case."""
    people, topic = cn.speaks_to_people(hs), cn.speaks_to_topic(hs)
    if cn.tone == "hostile" or not people:
        return "not_appropriate", False
    if not topic:
        return "not_appropriate", True
    return "appropriate", cn.people == "any" and "any" in cn.topics


def build(upstream: SourceFiles) -> Built:
    """Builds the demo dataset.

    Args:
        upstream: The recipe, with the seed of the simulation, and its tier rule; there are no files.
    """
    recipe, tier_rule = upstream.recipe, str(upstream.tier_rule)
    corpus = read_yaml(content_folder() / "builders" / "demo" / "texts.yaml")
    messages = [Message(hs["text"], hs["people"], (hs["topic"],)) for hs in corpus["hate_speech"]]
    catalogue = [
        Message(cn["text"], cn["people"], tuple(cn["topics"]), cn["kind"], cn["tone"])
        for cn in corpus["counter_narratives"]
    ]
    pairs, votes = _label(recipe.seed, messages, catalogue, tier_rule)
    members = tier_members(pairs, TIERS)
    tables, aliases = tier_tables(members)
    replies = _replies(recipe.seed, messages, catalogue)
    tables += [
        Table.from_rows("train", "train", PAIR.kinds, _train(corpus["train"]), ("pair_id",)),
        Table.from_rows("votes", "test", VOTE.kinds, votes, ("pair_id", "rater")),
        Table.from_rows("replies", "test", REPLY.kinds, replies, ("reply_id",)),
        Table.from_rows("ratings", "test", RATING.kinds, _ratings(recipe, replies), ("reply_id", "rater", "aspect")),
        Table.from_rows("comparisons", "test", COMPARISON.kinds, _comparisons(recipe.seed, replies), COMPARED_BY),
    ]
    facts = {f"{name}_appropriate": sum(p["label"] == "appropriate" for p in members[name]) for name in TIERS}
    facts |= {"hate_speech": len(messages), "counter_narratives": len(catalogue)}
    notes = ["Every label, rating and verdict is simulated."]
    return Built(tables, aliases, facts, vote_agreement(votes), notes)


def _label(seed: int, messages: list[Message], catalogue: list[Message], tier_rule: str) -> tuple[list[Row], list[Row]]:
    pairs: list[Row] = []
    votes: list[Row] = []
    for hs in messages:
        for cn in catalogue:
            pair = ids_of(hs.text, cn.text)
            truth, borderline = true_label(hs, cn)
            given = _votes(seed, pair["pair_id"], truth, borderline)
            label = _resolve(list(given.values()), truth)
            valid = uniform(seed, "valid", pair["pair_id"]) < (CONFIRMED if label == truth else 1 - CONFIRMED)
            pair |= {
                "label": label,
                "valid": valid,
                "n_votes": len(given),
                "agreement": agreement(list(given.values()), label),
                "tier": tier(list(given.values()), label, valid, tier_rule),
                "hs_type": hs.people,
                "hs_subtype": hs.topics[0],
                "cn_type": cn.kind,
                "source_id": f"demo-{len(pairs)}",
                "original_index": len(pairs),
            }
            pairs.append(pair)
            votes += [{"pair_id": pair["pair_id"], "rater": rater, "label": vote} for rater, vote in given.items()]
    return pairs, votes


def _votes(seed: int, pair: str, truth: str, borderline: bool) -> dict[str, str]:
    skips = {rater: uniform(seed, "skip", pair, rater) for rater in ACCURACY}
    keenest = max(skips, key=lambda rater: skips[rater])
    given = {}
    for rater, accuracy in ACCURACY.items():
        if skips[rater] < SKIPPED and rater != keenest:
            continue
        if borderline and uniform(seed, "unsure", pair, rater) < UNSURE_OF_BORDERLINE:
            given[rater] = "not_sure"
        elif uniform(seed, "vote", pair, rater) < accuracy:
            given[rater] = truth
        else:
            given[rater] = "not_appropriate" if truth == "appropriate" else "appropriate"
    return given


def _resolve(votes: list[str], truth: str) -> str:
    """Returns the final label: the majority of the votes without `not_sure`, or else the true label."""
    in_favour, against = votes.count("appropriate"), votes.count("not_appropriate")
    if in_favour == against:
        return truth
    return "appropriate" if in_favour > against else "not_appropriate"


def _train(entries: list[Row]) -> list[Row]:
    pairs = [(entry, text) for entry in entries for text in entry["counter_narratives"]]
    return [
        ids_of(entry["hate_speech"], text)
        | {
            "label": "appropriate",
            "hs_type": entry["people"],
            "hs_subtype": entry["topic"],
            "source_id": f"demo-train-{number}",
            "original_index": number,
        }
        for number, (entry, text) in enumerate(pairs)
    ]


def _replies(seed: int, messages: list[Message], catalogue: list[Message]) -> list[Row]:
    replies = []
    for hs in messages:
        fitting = [cn for cn in catalogue if cn.people != "any" and true_label(hs, cn)[0] == "appropriate"]
        choices = {
            "simulated-matched": fitting[1:] or fitting,
            "simulated-generic": [
                cn for cn in catalogue if cn.people == "any" and cn.tone == "civil" and cn.speaks_to_topic(hs)
            ],
            "simulated-offtopic": [
                cn for cn in catalogue if cn.tone == "civil" and true_label(hs, cn)[0] != "appropriate"
            ],
            "simulated-hostile": [cn for cn in catalogue if cn.tone == "hostile"],
        }
        for system, candidates in choices.items():
            pick = int(uniform(seed, "reply", hs.text, system) * len(candidates))
            replies.append(reply_row(hs.text, fitting[0].text, candidates[pick].text, system))
    return replies


def _ratings(recipe: Recipe, replies: list[Row]) -> list[Row]:
    raters = [Rater(name=name, kind="human", source="simulation") for name in ACCURACY]
    raters.append(Rater(name=JUDGE, kind="model", source="simulation"))
    rows = []
    for reply in replies:
        for rater in raters:
            for name, aspect in recipe.aspects.items():
                failed = rater.name == JUDGE and uniform(recipe.seed, "fails", reply["reply_id"], name) < JUDGE_FAILS
                value = FAILED_PARSE if failed else _value(recipe.seed, reply, rater.name, name, aspect)
                rows.append(rating_row(reply["reply_id"], rater, name, aspect, value))
    return rows


def _value(seed: int, reply: Row, rater: str, name: str, aspect: Aspect) -> float:
    low, high = aspect.low or 0.0, aspect.high or 5.0
    latent = SYSTEMS[reply["system"]][name == "aggressiveness"]
    noise = (2 * uniform(seed, "rating", reply["reply_id"], rater, name) - 1) * RATING_NOISE
    on_scale = low + (latent + noise - 1) / 4 * (high - low)
    return float(min(high, max(low, round(on_scale))))


def _comparisons(seed: int, replies: list[Row]) -> list[Row]:
    rows = []
    for item, answers in group_values((reply["item_id"], reply) for reply in replies).items():
        for pair in combinations(answers, 2):
            shown_first = uniform(seed, "order", item, *(reply["system"] for reply in pair)) < 0.5
            first, second = pair if shown_first else pair[::-1]
            rows += [_verdict(seed, item, first, second, rater, "human") for rater in ACCURACY]
            rows += [_verdict(seed, item, a, b, JUDGE, "model") for a, b in (pair, pair[::-1])]
    return rows


def _verdict(seed: int, item: str, a: Row, b: Row, rater: str, kind: str) -> Row:
    if kind == "model" and uniform(seed, "verdict fails", a["reply_id"], b["reply_id"]) < JUDGE_FAILS:
        return comparison_row(a, b, rater, kind, None, "no_scores")
    noise = (2 * uniform(seed, "verdict", item, rater, a["reply_id"], b["reply_id"]) - 1) * 2 * RATING_NOISE
    difference = SYSTEMS[a["system"]][0] - SYSTEMS[b["system"]][0] + noise
    verdict = "tie" if abs(difference) < TIE_BELOW else "a" if difference > 0 else "b"
    row = comparison_row(a, b, rater, kind, verdict)
    if kind == "model":
        low_score = 5 + round(SYSTEMS[a["system"]][0] - 3)
        shift = {"a": -1, "tie": 0, "b": 1}[verdict]
        row |= {"score_a": float(low_score), "score_b": float(low_score + shift)}
    return row
