"""Pairwise comparisons of systems (cn-eval): replies, human and JudgeLM verdicts, feature ratings, and the corpora."""

import math
from collections import Counter
from collections.abc import Iterator
from itertools import permutations
from typing import TYPE_CHECKING

from fcconan.building.kinds.pairs import pairs_tables
from fcconan.building.kinds.replies import reply_row
from fcconan.building.rows import Row, comparison_row, rating_row
from fcconan.building.source_files import SourceFiles, coded, numbers, wrong_row
from fcconan.building.tables import Built, Table, group_values
from fcconan.data import (
    COMPARISON,
    RATING,
    REPLY,
    make_cn_id,
    make_hs_id,
    make_item_id,
    make_pair_id,
    normalise,
    read_rows,
)
from fcconan.errors import InputError
from fcconan.groups import Bootstrap
from fcconan.parsing import parse_comparison
from fcconan.scoring import measure_agreement

if TYPE_CHECKING:
    from pandas import DataFrame

JUDGES = ("7b", "13b", "33b")
HUMANS = ("1", "2", "3")
VERDICT = {"A": "a", "B": "b", "T": "tie", "a": "a", "b": "b", "t": "tie"}
WHERE = {"corpus": "string", "question_id": "int"}
ITEM = {
    "item_id": "string",
    "hs_id": "string",
    "cn_id": "string",
    "hate_speech": "text",
    "reference": "text",
    "question_id": "int",
    "compared_by_humans": "bool",
}
JUDGED = {  # names of this package -> keys in records of JudgeLM
    "hate_speech": "question_body",
    "text_a": "answer1_body",
    "text_b": "answer2_body",
    "system_a": "answer1_model_id",
    "system_b": "answer2_model_id",
    "output": "pred_text",
}
PROMPT_HEAD = "Provide a brief counter-narrative in response to the following hate speech: "
PROMPT_TAIL = " It is very important for the counter-narrative to be relevant to the hate speech."
Texts = tuple[str, str, str]


def build(upstream: SourceFiles) -> Built:
    """Builds replies, comparisons, ratings, items and pairs of every corpus of the recipe.

    Args:
        upstream: The recipe, with `corpora`, `systems` and rated features (`aspects`), and its files, whose names begin
            with that of the corpus (`conan_judged_7b`).

    Raises:
        InputError: A file has an invalid format, or a verdict has no matching reply.
    """
    recipe = upstream.recipe
    built = Built([])
    comparisons: dict[str, list[Row]] = {name: [] for name in ("human", "human_majority", "judgelm", "tournament")}
    replies_of: dict[str, list[Row]] = {}
    for corpus in recipe.corpora:
        replies_of[corpus] = _add_corpus(upstream, corpus, comparisons, built)
    ratings, further = _feature_rows(upstream, replies_of[recipe.corpora[0]], built)
    replies_of[recipe.corpora[0]] += further
    if further:
        built.notes.append(
            f"{len(further)} replies of gold_truth that were rated for features belong to other items than the "
            "compared replies; they are in `replies` too."
        )
    for corpus, replies in replies_of.items():
        built.tables.append(Table.from_rows("replies", _prefix(corpus), REPLY.kinds | WHERE, replies, ("reply_id",)))
    key = ("item_id", "system_a", "system_b", "rater")
    for split, rows in comparisons.items():
        built.tables.append(Table.from_rows("comparisons", split, COMPARISON.kinds | WHERE, rows, key))
        built.facts[f"{split}_invalid"] = sum(row["verdict"] == "invalid" for row in rows)
    built.tables.append(Table.from_rows("ratings", "features", RATING.kinds, ratings, ("reply_id", "rater", "aspect")))
    pairs, notes = pairs_tables(upstream)
    built.tables += pairs
    built.notes += notes
    return built


def _prefix(corpus: str) -> str:
    """Returns the name of a corpus in splits, sources and facts."""
    return corpus.replace("-", "_")


def _add_corpus(upstream: SourceFiles, corpus: str, comparisons: dict[str, list[Row]], built: Built) -> list[Row]:
    """Adds items, comparisons and facts of one corpus, and returns the compared replies."""
    prefix = _prefix(corpus)
    test = upstream.read(f"{prefix}_test", "hate_speech", "counter_narrative")
    question = {
        make_pair_id(make_hs_id(hs), make_cn_id(cn)): row
        for row, (hs, cn) in enumerate(zip(test["hate_speech"], test["counter_narrative"], strict=True))
    }
    judged = {judge: _read_judged(upstream, f"{prefix}_judged_{judge}") for judge in JUDGES}
    compared = _Compared(judged["33b"], question, corpus, upstream.recipe.systems)
    for judge, records in judged.items():
        comparisons["judgelm"] += [_judged_row(compared, record, judge) for record in records]
    human, majority, unresolved = _human_rows(upstream, compared)
    by_comparison = group_values(((row["reply_a"], row["reply_b"]), row["verdict"]) for row in human)
    common = [given for given in by_comparison.values() if len(given) == len(HUMANS)]
    values = [[[*VERDICT.values()].index(given[at]) for given in common] for at in range(len(HUMANS))]
    kappa = measure_agreement(values, coefficients=["cohen"], bootstrap=Bootstrap(resamples=0))["value"][0]
    shown = f"{kappa:.3f}".replace("nan", "undefined")
    built.agreement.append(
        f"Mean pairwise Cohen's kappa, {corpus}: {shown} ({len(common)} comparisons judged by all three annotators)"
    )
    comparisons["human"] += human
    comparisons["human_majority"] += majority
    met = {reply["item_id"] for reply in compared.replies}
    items = []
    for at, (hate_speech, reference) in enumerate(zip(test["hate_speech"], test["counter_narrative"], strict=True)):
        hs, cn = make_hs_id(hate_speech), make_cn_id(reference)
        item = make_item_id(hs, [cn])
        texts = {"hs_id": hs, "cn_id": cn, "hate_speech": hate_speech, "reference": reference}
        items.append({"item_id": item, **texts, "question_id": at, "compared_by_humans": item in met})
    built.tables.append(Table.from_rows("items", prefix, ITEM, items, ("item_id",)))
    for judge in JUDGES:
        rows, missing = _tournament_rows(upstream, judge, items, corpus)
        comparisons["tournament"] += rows
        built.facts[f"{prefix}_{judge}_missing_pairs"] = missing
    built.facts[f"{prefix}_unresolved_majorities"] = unresolved
    _check_evaluation_file(upstream, compared, built)
    return compared.replies


class _Compared:
    """The instances that people compared, with the reply of each text according to the verdict files.

    An HS may have several instances with different replies. Texts that were compared with each other form an instance.
    """

    def __init__(self, records: list[Row], question: dict[str, int], corpus: str, systems: list[str]) -> None:
        self.corpus = corpus
        self.by_texts: dict[Texts, list[tuple[Row, Row]]] = {}
        self.replies: list[Row] = []
        instances = _instances(records)
        self.n_instances = len(instances)
        for hate_speech, texts in instances:
            if sorted(texts) != sorted(systems):
                raise InputError(f"{corpus}: an instance has the systems {sorted(texts)}, expected {sorted(systems)}")
            gold = texts["gold_truth"]
            pair = make_pair_id(make_hs_id(hate_speech), make_cn_id(gold))
            if pair not in question:
                raise InputError(f"{corpus}: the instance {pair} is not in the test set; the files do not go together")
            where = {"corpus": corpus, "question_id": question[pair]}
            replies = {system: reply_row(hate_speech, gold, texts[system], system) | where for system in systems}
            self.replies += replies.values()
            for a, b in permutations(systems, 2):
                key = (make_hs_id(hate_speech), normalise(texts[a]), normalise(texts[b]))
                self.by_texts.setdefault(key, []).append((replies[a], replies[b]))

    def find(self, hate_speech: str, text_a: str, text_b: str) -> list[tuple[Row, Row]]:
        """Returns the candidate pairs of replies of a verdict: none, or several if systems wrote the same text."""
        key = (make_hs_id(hate_speech), normalise(text_a), normalise(text_b))
        return self.by_texts.get(key, [])


def _instances(records: list[Row]) -> list[tuple[str, dict[str, str]]]:
    """Returns HS and replies by system of each instance, by first occurrence."""
    leader: dict[Texts, Texts] = {}

    def lead(reply: Texts) -> Texts:
        while leader.setdefault(reply, reply) != reply:
            reply = leader[reply]
        return reply

    for record in records:
        first, second = (
            lead((record["hate_speech"], record[f"system_{side}"], record[f"text_{side}"])) for side in ("a", "b")
        )
        leader[second] = first
    instances: dict[Texts, dict[str, str]] = {}
    for reply in leader:
        _, system, text = reply
        if instances.setdefault(lead(reply), {}).setdefault(system, text) != text:
            raise InputError(f"{system} has two replies in one instance; the verdict files changed")
    return [(first[0], texts) for first, texts in instances.items()]


def _comparison(a: Row, b: Row, rater: str, kind: str, verdict: str | None, reason: str | None = None) -> Row:
    where = {"corpus": a["corpus"], "question_id": a["question_id"]}
    return comparison_row(a, b, rater, kind, verdict, reason) | where


def _read_judged(upstream: SourceFiles, key: str) -> list[Row]:
    records = []
    for number, raw in enumerate(read_rows(upstream.path(key)), start=1):
        where = f"{upstream.recipe.sources[key].path}, line {number}"
        record: Row = {name: raw.get(column) for name, column in JUDGED.items()}
        if not all(isinstance(text, str) for text in record.values()):
            raise InputError(f"{where}: not a verdict of JudgeLM, which has the texts {', '.join(JUDGED.values())}")
        if not (record["hate_speech"].startswith(PROMPT_HEAD) and record["hate_speech"].endswith(PROMPT_TAIL)):
            raise InputError(f"{where}: the question is not in the known wording; the file changed")
        record["hate_speech"] = record["hate_speech"].removeprefix(PROMPT_HEAD).removesuffix(PROMPT_TAIL)
        records.append(record)
    return records


def _judged_row(compared: _Compared, record: Row, judge: str) -> Row:
    found = [
        (a, b)
        for a, b in compared.find(record["hate_speech"], record["text_a"], record["text_b"])
        if (a["system"], b["system"]) == (record["system_a"], record["system_b"])
    ]
    if len(found) != 1:
        raise InputError(
            f"{compared.corpus}: a verdict of JudgeLM {judge} belongs to {len(found) or 'no'} "
            f"instance{'s' * (len(found) > 1)} of JudgeLM 33b"
        )
    verdict = parse_comparison(record["output"])
    reasons = {None: None, "out_of_range": "out_of_scale", "unreadable": "no_scores" if record["output"] else "empty"}
    row = _comparison(*found[0], f"judgelm-{judge}", "model", verdict.value, reasons.get(verdict.reason, "no_scores"))
    return row | {"score_a": verdict.score_a, "score_b": verdict.score_b}


def _human_rows(upstream: SourceFiles, compared: _Compared) -> tuple[list[Row], list[Row], int]:
    rows_out: list[Row] = []
    verdicts: dict[tuple[str, str], list[str]] = {}
    for number in HUMANS:
        rows = upstream.read(f"{_prefix(compared.corpus)}_human_{number}")
        for (a, b), verdict in zip(_matched(rows, compared), coded(rows, "verdict", VERDICT), strict=True):
            verdicts.setdefault((a["reply_id"], b["reply_id"]), []).append(verdict)
            rows_out.append(_comparison(a, b, f"rater-{number}", "human", verdict))
    majority: list[Row] = []
    unresolved = 0
    rows = upstream.read(f"{_prefix(compared.corpus)}_common")
    cast = zip(*(coded(rows, f"rater_{number}", VERDICT) for number in HUMANS), strict=True)
    stated = zip(_matched(rows, compared), cast, coded(rows, "majority", VERDICT), strict=True)
    for at, ((a, b), given, released) in enumerate(stated):
        if sorted(verdicts.get((a["reply_id"], b["reply_id"]), [])) != sorted(given):
            raise wrong_row(rows, at, f"verdicts {given} differ from those of the annotators' own files")
        winner, count = Counter(given).most_common(1)[0]
        if count > 1 and released != winner:
            raise wrong_row(rows, at, f"the released majority is {released}, the verdicts give {winner}")
        unresolved += count == 1
        resolved = (winner, None) if count > 1 else (None, "unresolved")
        majority.append(_comparison(a, b, "majority", "human", *resolved))
        majority.append(_comparison(a, b, "majority-released", "human", released))
    return rows_out, majority, unresolved


def _matched(rows: "DataFrame", compared: _Compared) -> Iterator[tuple[Row, Row]]:
    """Yields the two replies of each row, by HS and texts, and by systems if the file names them."""
    for at, record in enumerate(rows.to_dict("records")):
        found = compared.find(record["hate_speech"], record["text_a"], record["text_b"])
        named = (record.get("system_a"), record.get("system_b"))
        matching = [pair for pair in found if named in ((None, None), tuple(each["system"] for each in pair))]
        if len(matching) != 1:
            raise wrong_row(rows, at, f"HS and texts are {len(matching)} pairs of systems in the verdict files, not 1")
        yield matching[0]


def _tournament_rows(upstream: SourceFiles, judge: str, items: list[Row], corpus: str) -> tuple[list[Row], int]:
    """Returns the verdicts of the full tournament of one judge, and the number of missing pairs."""
    known = set(upstream.recipe.systems)
    found, met = [], set()
    rows = upstream.read(f"{_prefix(corpus)}_outcomes_{judge}")
    sides = rows["system_a"], rows["system_b"], rows["winner"]
    outcomes = zip(*sides, numbers(rows, "question_id", whole=True), strict=True)
    for at, (a, b, winner, number) in enumerate(outcomes):
        if not {a, b} <= known or a == b or winner not in (a, b, "tie"):
            raise wrong_row(rows, at, f"found {winner!r} of {a!r} and {b!r}, expected one of the two, or 'tie'")
        met.add(frozenset((a, b)))
        found.append(
            {
                "item_id": items[number]["item_id"],
                "system_a": a,
                "system_b": b,
                "rater": f"judgelm-{judge}",
                "rater_kind": "model",
                "verdict": "tie" if winner == "tie" else "a" if winner == a else "b",
                "corpus": corpus,
                "question_id": number,
            }
        )
    return found, math.comb(len(known), 2) - len(met)


def _check_evaluation_file(upstream: SourceFiles, compared: _Compared, built: Built) -> None:
    """Checks the file of the compared replies against the verdict files, and counts missing instances."""
    prefix = _prefix(compared.corpus)
    rows = upstream.read(f"{prefix}_evaluation")
    known = {(reply["hs_id"], reply["system"], normalise(reply["text"])) for reply in compared.replies}
    for at, record in enumerate(rows.to_dict("records")):
        for system in upstream.recipe.systems:
            if (make_hs_id(record["hate_speech"]), system, normalise(record[system])) not in known:
                raise wrong_row(rows, at, f"the reply of {system} is not the one of the verdict files")
    built.facts[f"{prefix}_instances"] = compared.n_instances
    lacking = compared.n_instances - len(rows)
    if lacking:
        built.notes.append(
            f"{compared.corpus}: the upstream file of the replies lacks {lacking} of {compared.n_instances} "
            "instances; they come from the verdict files."
        )


def _feature_rows(upstream: SourceFiles, replies: list[Row], built: Built) -> tuple[list[Row], list[Row]]:
    """Returns the ratings of features, and the replies with ratings but without comparisons."""
    corpus = upstream.recipe.corpora[0]
    items = built.table("items", _prefix(corpus)).data
    questions = dict(zip(items["item_id"], items["question_id"], strict=True))
    known = {(r["hs_id"], r["system"], normalise(r["text"])): r["reply_id"] for r in replies}
    ratings: list[Row] = []
    extra: dict[str, Row] = {}
    for rater in upstream.recipe.raters:
        rows = upstream.read(rater.source, "hate_speech", "text")
        given = [numbers(rows, name) for name in upstream.recipe.aspects]
        texts = zip(rows["hate_speech"], rows["text"], rows["system"], strict=True)
        for at, (hate_speech, text, system) in enumerate(texts):
            reply = known.get((make_hs_id(hate_speech), system, normalise(text)))
            if reply is None:
                if system != "gold_truth":
                    raise wrong_row(rows, at, f"this reply of {system} is in no verdict file")
                added = reply_row(hate_speech, text, text, system) | {"corpus": corpus}
                added["question_id"] = questions.get(added["item_id"])
                reply = added["reply_id"]
                extra[reply] = added
            ratings += [
                rating_row(reply, rater, name, aspect, values[at])
                for (name, aspect), values in zip(upstream.recipe.aspects.items(), given, strict=True)
            ]
    return ratings, list(extra.values())
