"""`annotate queue`: the next units to judge, the most valuable first, until enough positives are found.

Every queue is a round `queue-N` and a line in `queue.jsonl`, which lists the units drawn at random, their
probabilities, and the likely positives. Units that were assigned or answered before the first queue are `outside`: the
model learns from their answers, and the estimate leaves them out. A rater gets a unit only once, in all rounds.
"""

import json
import operator
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from cyclopts import Parameter, validators

from fcconan.annotation.campaigns import LABEL, VALIDATION, Assignment, Campaign, Row, Unit
from fcconan.annotation.ordering import derived_seed
from fcconan.annotation.progress import next_step
from fcconan.annotation.queue_estimate import estimate
from fcconan.annotation.queue_model import RANDOM_SHARE, Problem, choose, likeness, predict, standardised
from fcconan.annotation.rounds import active_annotators
from fcconan.annotation.sampling import TFIDF, default_encoder
from fcconan.annotation.votes import answer_table
from fcconan.data import make_pair_id, name_with_hash, read, read_file
from fcconan.errors import InputError
from fcconan.groups import AtLeastOne, NotNegative, Rows, Share
from fcconan.judging import Task
from fcconan.result import ROW_FILES, Result
from fcconan.retrieval import read_run
from fcconan.scoring import Floats

if TYPE_CHECKING:
    from pandas import DataFrame

FILE = "queue.jsonl"
USUAL = "appropriate"
UNDECIDED = ("not_sure", "tie")
OWN_ID = ("unit_id", "pair_id", "reply_id")
TWO_IDS = (("query_id", "corpus_id"), ("reply_a", "reply_b"))
WORDS = 5_000  # vocabulary of TF-IDF
Above = Annotated[float, Parameter(validator=validators.Number(gt=0, lte=1))]


# Name as in --positive, aspect, test of an answer, and the value that it is compared with.
Target = tuple[str, str, Callable[[Any, Any], bool], str | float]


def queue_units(
    campaign: Path,
    *,
    scores: Path | None = None,
    queue_size: AtLeastOne = 50,
    random_share: Share = RANDOM_SHARE,
    positive: str | None = None,
    target_recall: Above = 0.9,
    confidence: Annotated[float, Parameter(validator=validators.Number(gt=0, lt=1))] = 0.95,
    encoder: str | None = None,
    allow_pending: bool = False,
    status_only: bool = False,
    seed: Annotated[int | None, NotNegative] = None,
) -> Result:
    """Make the next queue of units: likely positives, ranked by a model of the labels so far, and a random sample.

    The random sample gives an estimate of the recall. No queue is made while answers to the last one are pending.

    Args:
        campaign: Folder of the campaign.
        scores: Scores of a retriever or judge: a TREC run, or rows with the ids of units and a score, value, label or
            verdict.
        queue_size: Units in the next queue.
        random_share: Share of randomly drawn units; it adapts to the number of likely positives, up to one half.
        positive: Target of the search: a label, or grades such as relevance>=4; default: that of the last queue, or
            appropriate.
        target_recall: Share of positives to find.
        confidence: Confidence level of the intervals.
        encoder: Encoder of texts: tfidf, minilm, or a sentence-transformers model; default: that of `annotate new`.
        allow_pending: Make a queue even if the last one has unanswered units.
        status_only: Print the state of the search and make no queue.
        seed: Seed of all random choices; default: derived from the seed of the campaign.

    Returns:
        `estimate`: the number of `unseen` positives and the `recall`, each with `value`, `low` and `high`. `units`: one
        row with numbers of units: `all` that are not `outside`, `judged`, `skipped` by all raters, `waiting` for an
        answer, `found` positives and `drawn` ones with an answer. `queues`: one row for each queue, with its `round`,
        `likely`, `drawn` and `again` (units of raters who left), `answered` and `positive` units.

    Raises:
        InputError: The campaign or the scores cannot be read, the target is not an answer of the task, or no rater is
            active.

    Examples:
        >>> queue_units(answered, status_only=True).to_frame("units")[["outside", "waiting"]].values.tolist()
        [[6, 0]]
    """
    opened = Campaign(Path(campaign))
    with opened.changing():
        queues = _queues(opened)
        target = read_target(positive or (queues[0]["positive"] if queues else None), opened.task)
        if queues and queues[0]["positive"] != target[0]:
            raise InputError(f"the queue searches {queues[0]['positive']}, found --positive {target[0]}: leave it out")
        state = _state(opened, queues, target)
        identity = {"campaign": opened.settings.name, "positive": target[0], "confidence": confidence}
        notes = []
        if (waiting := state["waiting"].sum()) and not (status_only or allow_pending):
            notes = [f"{waiting} units have no answer yet, so no queue is made: import answers, or --allow-pending."]
        elif not status_only and (state["left"] | state["again"]).any():
            active_annotators(opened)  # raises InputError if there are none
            seed = derived_seed(opened.settings.seed, "queue", seed)
            how: Row = {"size": queue_size, "random_share": random_share, "seed": seed}
            given, encoder = None, encoder or default_encoder(opened.settings.language)[0]
            if scores is not None:
                given, unknown = _scores(scores := Path(scores), opened.items(), target)
                if (lost := given.isna().any(axis=1).sum()) or unknown:
                    notes = [f"{lost} units have no score and get the mean; {unknown} scores belong to no unit."]
            _add_queue(opened, queues, state, target[0], _problem(opened, given, encoder), **how)
            queues, identity = _queues(opened), identity | how | {"encoder": encoder}
            identity["scores"] = scores and name_with_hash(scores)
            state = _state(opened, queues, target)
    known = _estimate(state, queues, confidence)
    if stuck := state["stuck"].sum():
        notes.append(f"{stuck} units need another rater: add one to {opened.folder / 'raters.csv'}.")
    if early := (state["outside"] & ~state["answered"]).sum():
        notes.append(
            f"{early} units were assigned before the first queue and have no answer yet: import their answers."
        )
    elif not known["left"]:
        notes.append("Stop: every unit is judged.")
    elif (known["recall_low"] or 0) >= target_recall:
        notes.append(f"Stop: {target_recall:.0%} of the positives are found.")
    elif (known["recall_likely"] or 0) >= target_recall:
        notes.append(f"{target_recall:.0%} of the positives are probably found; the interval has lower values.")
    tables = _tables(state, queues, known)
    return Result("annotate queue", tables, identity, [*notes, next_step(opened)], intervals={"estimate": "value"})


def _queues(campaign: Campaign) -> list[Row]:
    """Returns the queues so far, without one whose round was not written."""
    path = campaign.folder / FILE
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return [queue for queue in map(json.loads, lines) if queue["round"] in campaign.rounds()]


def read_target(text: str | None, task: Task) -> Target:
    """Returns the target of the search: its name, the aspect, and the test of an answer with its value.

    Args:
        text: A label of the task, or an aspect with a bound such as `relevance>=4`; None for `appropriate`.
        task: Task of the campaign.

    Raises:
        InputError: The task lacks the label or aspect, or all grades or none meet the bound.
    """
    labels = [label.name for label in task.labels]
    if (text or USUAL) in labels:
        return text or USUAL, LABEL, operator.eq, text or USUAL
    parts = re.fullmatch(r"(\w+)\s*(>=|<=)\s*(-?\d+(?:\.\d+)?)", text or "")
    if parts and not labels:
        aspect, high, bound = task.aspect(parts[1]), parts[2] == ">=", float(parts[3])
        if aspect.low < bound <= aspect.high if high else aspect.low <= bound < aspect.high:
            name = f"{aspect.name}{parts[2]}{bound:g}"
            return name, aspect.name, operator.ge if high else operator.le, bound
    expected = " or ".join(labels) or f"a bound that some grades meet, such as {task.aspects[0].name}>="
    expected += "" if labels else f"{task.aspects[0].high:g}"
    raise InputError(f"found --positive {text}, expected {expected}: choose another target")


def _state(campaign: Campaign, queues: Sequence[Row], target: Target) -> "DataFrame":
    """Returns the state of every unit.

    Returns:
        Rows by unit, in the order of the campaign: the share of positive answers as `label` (nan if it is unknown,
        skipped or discarded); the number of its `queue` (0 for none); the raters who may judge it as `free`; and
        whether it is `answered`, `outside`, `left` for a queue, `waiting` for an answer, to be assigned `again`
        because its raters left, or `stuck` because all raters had it.
    """
    import pandas as pd

    _, aspect, is_met, value = target
    said: dict[str, list[bool]] = {}
    rounds = [name for name in campaign.rounds_like() if name in campaign.rounds()]
    answers = answer_table(campaign, rounds)
    answers = answers[answers["aspect"] == aspect]
    for unit, given in zip(answers["unit_id"], answers["value"], strict=True):
        said[unit] = said.get(unit, []) + ([] if given is None else [is_met(given, value)])
    # A final label replaces the answers of the raters.
    said |= {each.unit_id: [each.label == value] * (each.label is not None) for each in campaign.decisions().values()}
    units = pd.Index([unit.unit_id for unit in campaign.items()])
    labels = {unit: float(np.mean(met)) for unit, met in said.items() if met}
    state = pd.DataFrame({"label": units.map(labels).astype(float), "answered": units.isin(said)}, index=units)
    assigned = [(name, each) for name in campaign.rounds() for each in campaign.assignments(name)]
    held = {each.unit_id for name, each in assigned if name != VALIDATION and not each.withdrawn}
    numbers = {unit: at for at, queue in enumerate(queues, 1) for unit in queue["drawn"] + queue["likely"]}
    state["queue"] = units.map(numbers).fillna(0).astype(int)
    state["outside"] = units.isin(queues[0]["outside"] if queues else said.keys() | held)
    state["left"] = ~state["outside"] & state["queue"].eq(0)
    had = {each.key for each in campaign.history()} | {each.key for _, each in assigned}
    raters = campaign.active("annotator")
    state["free"] = [[rater for rater in raters if (rater, unit) not in had] for unit in units]
    is_open, is_held = state["queue"].gt(0) & ~state["answered"], units.isin(held)
    state["waiting"] = is_open & is_held
    state["again"] = is_open & ~is_held & state["free"].astype(bool)
    state["stuck"] = is_open & ~is_held & ~state["free"].astype(bool)
    return state


def _estimate(state: "DataFrame", queues: Sequence[Row], confidence: float) -> Row:
    """Returns the estimate by the draws of all queues up to the first one that waits for an answer."""
    positive = state["label"].gt(0.5)
    draws, before = [], 0
    for number, queue in enumerate(queues, 1):
        own = state["queue"].eq(number)
        if not state["answered"][own].all():
            break
        met = positive[queue["drawn"]]
        draws += [*zip(met, queue["probabilities"], queue["smallest"], before + met.cumsum() - met, strict=True)]
        before += positive[own].sum()
    chosen = state["queue"].gt(0)
    left = int((state["left"] | chosen & ~state["answered"]).sum())
    return estimate(draws, found=int(positive[chosen].sum()), left=left, confidence=confidence)


def _add_queue(
    campaign: Campaign, queues: list[Row], state: "DataFrame", target: str, problem: Problem, *, size: int, **how: Any
) -> None:
    """Writes the next queue and its round: each unit for the rater with the fewest units of queues."""
    name, seed = f"queue-{len(queues) + 1}", how.pop("seed")
    generator = np.random.default_rng([seed, len(queues) + 1])
    again = state.index[state["again"]][:size].tolist()
    left, expected = state["left"].to_numpy(), predict(problem, state["label"].to_numpy())
    chosen = choose(expected, left, problem.columns, size=size - len(again), generator=generator, **how)
    chosen |= {part: state.index[chosen[part]].tolist() for part in ("drawn", "likely")}
    outside = [] if queues else state.index[state["outside"]].tolist()
    new = {"round": name, "positive": target, "seed": seed, "outside": outside, "again": again, **chosen}
    lines = "".join(json.dumps(queue, ensure_ascii=False) + "\n" for queue in [*queues, new])
    # First, as a line without its round is ignored.
    (campaign.folder / FILE).write_text(lines, encoding="utf-8")
    before = (each for queue in queues for each in campaign.assignments(queue["round"]))
    load = Counter(each.rater for each in before if not each.withdrawn)
    units = again + chosen["drawn"] + chosen["likely"]
    lots: dict[str, list[str]] = {rater: [] for rater in campaign.active("annotator")}
    # In random order, so that raters cannot distinguish likely units from random ones.
    for unit in (units[place] for place in generator.permutation(len(units))):
        if not state["answered"][unit] and state["free"][unit]:  # another round may have its answer
            rater = min(state["free"][unit], key=load.__getitem__)
            lots[rater].append(unit)
            load[rater] += 1
    turns = campaign.task.unit == "comparison"
    assignments = [
        Assignment(rater, unit, position, swapped=bool(turns and generator.random() < 0.5))
        for rater, lot in lots.items()
        for position, unit in enumerate(lot, start=1)
    ]
    campaign.write(f"rounds/{name}.jsonl", assignments)


def _scores(path: Path, units: Sequence[Unit], target: Target) -> tuple["DataFrame", int]:
    """Returns scores of units by scorer (rater and aspect), and the number of scores of other units.

    Units that a run lacks get the lowest score of their HS in it. Rows of one unit and scorer are averaged.

    Raises:
        InputError: Ids or scores are missing, or no unit has a score.
    """
    import pandas as pd

    _, aspect, is_met, value = target
    if path.suffix in ROW_FILES:
        frame = read_file(path)
        ids = [frame[name] for name in OWN_ID if name in frame]
        ids += [frame[a] + ":" + frame[b] for a, b in TWO_IDS if {a, b} <= {*frame}]
        column = next((name for name in ("score", "value", LABEL, "verdict") if name in frame), None)
        if not ids or column is None:
            raise InputError(
                f"{path} has the columns {', '.join(frame)}, expected unit_id, pair_id, reply_id or two ids, and "
                "score, value, label or verdict: rename them"
            )
        found = frame[column]
        if column in ("score", "value"):
            # If low grades are positive, a judge's grade of the same aspect changes its sign.
            signs = frame["aspect"].eq(aspect).map({True: -1, False: 1}) if "aspect" in frame else 1
            found = read("rows", path, rows=Rows(rename={"value": column}))[0]["value"].set_axis(frame.index)
            found *= signs if is_met is operator.le else 1
        else:
            is_positive = found.eq(value).astype(float).mask(found.isin(UNDECIDED), 0.5)
            found = is_positive.where(found.notna())
        by = [frame[name] for name in ("rater", "aspect") if name in frame]
        rows = pd.DataFrame({"unit": ids[0], "score": found, "scorer": "" if not by else by[0].str.cat(by[1:], ":")})
    else:
        run = [(hs, cn, score) for hs, ranking in read_run(path).run.items() for cn, score in ranking]
        rows = pd.DataFrame(run, columns=["hs", "cn", "score"]).assign(scorer="")
        rows["unit"] = [*map(make_pair_id, rows["hs"], rows["cn"])]
    wide = rows.pivot_table(index="unit", columns="scorer", values="score", aggfunc="mean")
    scores = wide.reindex([unit.unit_id for unit in units])
    if scores.isna().all(axis=None):
        raise InputError(f"{path} has no score of a unit of the campaign: give scores of its pairs or replies, by id")
    unknown = len(wide.index.difference(scores.index))
    if "hs" in rows:
        lowest = pd.Series([unit.hs_id for unit in units], scores.index).map(rows.groupby("hs")["score"].min())
        scores[""] = scores[""].fillna(lowest)
    return scores, unknown


def _problem(campaign: Campaign, scores: "DataFrame | None", encoder: str) -> Problem:
    """Returns the features of a campaign's units.

    The row of a unit is its HS, or its item if no HS is known. The column of a pair is its CN, that of a reply its
    system, and that of a comparison its two systems. HS and CNs have similarities of texts; different systems have
    none.
    """
    import pandas as pd

    texts, units = campaign.texts(), campaign.items()
    places = []
    for unit in units:
        row = unit.hs_id or unit.item_id or unit.unit_id
        if unit.cn_id:
            places.append((row, texts[row]["text"], unit.cn_id, texts[unit.cn_id]["text"]))
        else:
            replies = [texts[each] for each in (unit.reply_a, unit.reply_b) if each]
            systems = "\n".join(str(reply.get("system") or "") for reply in replies)
            places.append((row, replies[0].get("hate_speech") or "", systems, ""))
    frame = pd.DataFrame(places, columns=["row", "row_text", "column", "column_text"])
    codes = [pd.factorize(frame[side])[0] for side in ("row", "column")]
    alike = [_likeness(frame.drop_duplicates(side)[f"{side}_text"].tolist(), encoder) for side in ("row", "column")]
    given = np.zeros((len(units), 0)) if scores is None else standardised(scores.to_numpy())
    return Problem(codes[0], codes[1], alike[0], alike[1], given)


def _likeness(texts: Sequence[str], encoder: str) -> Floats:
    """Returns similarities of texts; an empty text is similar only to itself."""
    found = np.eye(len(texts))
    there = [place for place, text in enumerate(texts) if text.strip()]
    if len(there) < 2:
        return found
    spoken = [texts[place] for place in there]
    if encoder == TFIDF:
        from sklearn.feature_extraction.text import TfidfVectorizer

        vectors = TfidfVectorizer(sublinear_tf=True, max_features=WORDS).fit_transform(spoken).toarray()
    else:
        from fcconan.retrieval import DOCUMENT, SentenceEncoder

        vectors = SentenceEncoder(encoder).encode(spoken, role=DOCUMENT)
    found[np.ix_(there, there)] = likeness(vectors)
    return found


def _tables(state: "DataFrame", queues: Sequence[Row], known: Row) -> dict[str, "DataFrame"]:
    """Returns the estimate, the numbers of units, and the queues, as the verb returns them."""
    import pandas as pd

    judged = state[state["queue"].gt(0) & state["answered"]]
    unseen, recall = ("unseen", "low", "high"), ("recall", "recall_low", "recall_high")
    rows = [[float("nan") if known[key] is None else float(known[key]) for key in keys] for keys in (unseen, recall)]
    estimated = pd.DataFrame(rows, columns=["value", "low", "high"])
    counts = {"all": (~state["outside"]).sum(), "judged": len(judged), "skipped": judged["label"].isna().sum()}
    counts |= {each: state[each].sum() for each in ("waiting", "outside")}
    counts |= {"found": known["found"], "drawn": known["n_draws"]}
    queued = pd.DataFrame(queues, columns=["round", "likely", "drawn", "again"])
    queued[["likely", "drawn", "again"]] = queued[["likely", "drawn", "again"]].map(len)
    own = judged.assign(positive=judged["label"] > 0.5).groupby("queue")["positive"].agg(["size", "sum"])
    queued[["answered", "positive"]] = own.reindex(queued.index + 1, fill_value=0).to_numpy()
    estimated.insert(0, "name", ["unseen", "recall"])
    return {"estimate": estimated, "units": pd.DataFrame([counts]), "queues": queued}
