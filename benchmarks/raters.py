"""Test learned raters where they were not trained, and write docs/raters.md.

The design was chosen by `rater_design.py`, whose head has the plan; cn-ranking was read once, after the choice. The
page holds numbers only. Every random choice has a fixed seed, so a second run writes an equal page.

Run it with `python benchmarks/raters.py [--mpnet FOLDER]` (about ten minutes on one core; features stay in the cache).
Results that other scripts left in `benchmarks/results` are read: `rater-design.csv`, `queue-mpnet.json`
(`queue_savings.py`), and `real-models.json`, whose `cn_ranking` has for each model and aspect the grades by reply id.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Memory
from rater_design import (
    ASPECTS,
    BLOCKS,
    CHOSEN,
    DESIGNS,
    Floats,
    Replies,
    folds_of,
    labels,
    rated,
    regression,
    table,
    unified,
)
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold
from tables import to_markdown

from fcconan.data import cache_folder, leakage_groups
from fcconan.judging.features import SURFACE
from fcconan.retrieval import MINILM
from fcconan.scoring.messages import message_auc
from fcconan.scoring.powered import estimate, summarise

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
RESAMPLES, RETRAININGS, PERMUTATIONS, RANDOM, DRAWS, LOOPS = 2000, 25, 20, 5, 200, 150
LOW, HIGH = np.array([1, 1, 1, 1]), np.array([5, 5, 5, 3])
KERNEL, LINEAR = DESIGNS[CHOSEN], DESIGNS["surface, linear, as before"]
SURFACE_KERNEL = ("loops", (), True, "kernel", KERNEL[4], 1.0)
REPLY = ("reply", ("reply",), *KERNEL[2:])  # without the features that read the message
OF_MESSAGE = [SURFACE.index(name) for name in SURFACE if "message" in name]
Frame = pd.DataFrame
Direction = Callable[[Frame], Floats]  # pairs -> 1 where the first reply is better, -1 the second, 0 neither


@Memory(cache_folder() / "benchmarks", verbose=0).cache  # type: ignore[untyped-decorator]
def encoded(messages: list[str], texts: list[str], encoder: str, size: tuple[str, ...]) -> Replies:
    """Returns the features of replies; of `random:SEED`, vectors that know whether texts are equal only."""
    if not encoder.startswith("random:"):
        return Replies(messages, texts, encoder)
    found = Replies(messages, texts)
    generator = np.random.default_rng(int(encoder.removeprefix("random:")))
    known = {text: generator.normal(size=384) for text in sorted({*messages, *texts})}
    a, b = (np.array([known[each] / np.linalg.norm(known[each]) for each in side]) for side in (messages, texts))
    found.embedded = dict(zip(BLOCKS, (a, b, a * b, np.abs(a - b)), strict=True))
    found.cosine = (a * b).sum(axis=1, keepdims=True)
    return found


class Data:
    """The replies of CSEval (rated), cn-ranking and FC-CONAN (Bronze), with people's judgements."""

    def __init__(self) -> None:
        self.cseval, self.values = rated()
        ranked = [table("cn-ranking", "replies", each).assign(corpus=each) for each in ("conan", "mt_conan")]
        self.ranking = pd.concat(ranked, ignore_index=True)
        self.hs, self.cn, self.bronze, self.silver = labels()
        self.row, self.column = np.nonzero(np.isfinite(self.bronze))
        self.labels = self.bronze[self.row, self.column]
        grid = Frame({"hate_speech": self.hs["hate_speech"].to_numpy()[self.row]})
        self.fc = grid.assign(text=self.cn["counter_narrative"].to_numpy()[self.column])
        self.frames = {"cseval": self.cseval, "ranking": self.ranking, "fc": self.fc}
        messages = [*self.cseval["hate_speech"], *self.hs["hate_speech"]]
        self.groups, self.hs_groups = np.split(leakage_groups(messages), [len(self.cseval)])
        self.fc_groups = self.hs_groups[self.row]
        both = leakage_groups([*self.cseval["hate_speech"], *self.ranking["hate_speech"]])
        self.shared = np.isin(both[len(self.cseval) :], both[: len(self.cseval)])
        about = table("cseval", "ratings", "test").pivot_table("value", "reply_id", ["rater", "aspect"], dropna=False)
        about = about.reindex(self.cseval["reply_id"])
        self.gpt = {name: about[name][[*ASPECTS]].to_numpy(float) for name in ("gpt-4", "gpt-4-zs")}
        self.majority, self.people = self.pairs("human_majority", "majority"), self.pairs("human")

    def replies(self, name: str, encoder: str) -> Replies:
        """Returns the features of the replies of one dataset."""
        found: Replies = encoded([*self.frames[name]["hate_speech"]], [*self.frames[name]["text"]], encoder, SURFACE)
        return found

    def features(self, name: str, encoder: str, design: Any) -> Floats:
        """Returns the features of a design."""
        if design[0] == "reply":
            return np.delete(self.replies(name, encoder).of("loops", ("reply",)), [x - 21 for x in OF_MESSAGE], axis=1)
        return self.replies(name, encoder).of(*design[:2])

    def pairs(self, split: str, rater: str | None = None) -> Frame:
        """Returns comparisons of replies with positions of both, and the verdict 1, -1, 0, or nan if invalid."""
        found = table("cn-ranking", "comparisons", split)
        found = found[found["rater"] == rater] if rater else found
        place = dict(zip(self.ranking["reply_id"], range(len(self.ranking)), strict=True))
        verdict = found["verdict"].map({"a": 1.0, "b": -1.0, "tie": 0.0})
        a, b = (found[each].map(place).to_numpy() for each in ("reply_a", "reply_b"))
        return found.assign(a=a, b=b, v=verdict).reset_index(drop=True)


def learn(data: Data, chosen: Floats, y: Floats, encoder: str, design: Any, asked: list[Floats]) -> list[Floats]:
    """Returns predictions of a regression that is trained on rows of CSEval (positions `chosen`)."""
    return learned(data.features("cseval", encoder, design)[chosen], y[chosen], design, asked)


def learned(training: Floats, y: Floats, design: Any, asked: list[Floats]) -> list[Floats]:
    """Returns predictions of a regression."""
    n = {"cosine": len(SURFACE) + 1, "loops": len(SURFACE), "before": 20, "reply": len(SURFACE) - len(OF_MESSAGE)}
    width = training.shape[1] - n[design[0]]
    fitted = regression(width, n[design[0]], *design[2:]).fit(training, y)
    return [fitted.predict(each) for each in asked]


def scored(scores: Floats) -> Direction:
    """Returns the direction of pairs by scores of replies; a missing score is neither."""
    return lambda pairs: np.nan_to_num(np.sign(scores[pairs["a"]] - scores[pairs["b"]]))


def said(verdicts: Frame) -> Direction:
    """Returns the direction of pairs by verdicts; ties and invalid answers are neither."""
    known = {(row.a, row.b): row.v for row in verdicts.itertuples() if row.v == row.v}
    known |= {(b, a): -v for (a, b), v in known.items()}
    return lambda pairs: np.array([known.get(each, 0.0) for each in zip(pairs["a"], pairs["b"], strict=True)])


def win_rates(data: Data, by_corpus: bool) -> Direction:
    """Returns the direction by the systems' win rates on the other messages; a tie is half a win."""

    def direction(pairs: Frame) -> Floats:
        found = []
        for row in pairs.itertuples():
            others = data.majority[(data.majority["item_id"] != row.item_id) & data.majority["v"].notna()]
            own = others[others["corpus"] == row.corpus] if by_corpus else others
            rates = []
            for system in (row.system_a, row.system_b):
                points = [*(1 + own["v"][own["system_a"] == system]), *(1 - own["v"][own["system_b"] == system])]
                rates.append(np.mean(points))
            found.append(np.sign(rates[0] - rates[1]))
        return np.array(found)

    return direction


def agreement(direction: Direction, pairs: Frame) -> Floats:
    """Returns 1 for each decided pair with the verdict of people, 0 for the opposite, and one half for neither."""
    return (1 + direction(pairs) * pairs["v"].to_numpy()) / 2


def weights(pairs: Frame, with_systems: bool) -> Floats:
    """Returns the weight of each pair in resamples of messages, and of systems; shape (resamples, pairs)."""
    generator = np.random.default_rng(0)
    items, of = np.unique(pairs["item_id"], return_inverse=True)
    found = generator.multinomial(len(items), np.full(len(items), 1 / len(items)), RESAMPLES)[:, of].astype(float)
    if with_systems:
        names = np.unique(pairs[["system_a", "system_b"]])
        drawn = generator.multinomial(len(names), np.full(len(names), 1 / len(names)), RESAMPLES)
        for side in ("system_a", "system_b"):
            found *= drawn[:, np.searchsorted(names, pairs[side])]
    return found[found.sum(axis=1) > 0]


def ends(values: Floats, weight: Floats) -> str:
    """Returns the 95 % percentile interval of a weighted mean."""
    low, high = np.percentile(weight @ values / weight.sum(axis=1), [2.5, 97.5])
    return f"[{text(low)}, {text(high)}]"


def text(value: float, digits: int = 3) -> str:
    """Returns a number without a leading zero; a missing one as a dash."""
    return "–" if not np.isfinite(value) else f"{value:.{digits}f}".replace("0.", ".", 1).replace("-", "−")


def trained(data: Data, encoder: str) -> dict[str, dict[str, Any]]:
    """Returns the scores of raters that are trained on FC-CONAN and on both, and of the one on CSEval, by dataset."""
    x = {name: data.features(name, encoder, KERNEL) for name in data.frames}
    z = (unified(data.values) - unified(data.values).mean()) / unified(data.values).std()
    labelled = (data.labels - data.labels.mean()) / data.labels.std()
    folds = [*GroupKFold(5).split(x["fc"], groups=data.fc_groups)]
    fold = np.zeros(len(data.hs), dtype=int)
    found: dict[str, dict[str, Any]] = {"CSEval": {}, "FC-CONAN": {}, "both": {}}
    free = ~np.isin(data.groups, data.hs_groups)
    [found["CSEval"]["fc"]] = learned(x["cseval"][free], z[free], KERNEL, [x["fc"]])
    for name, cs in (("FC-CONAN", np.zeros(0, dtype=int)), ("both", np.arange(len(z)))):
        out = np.zeros(len(labelled))
        for number, (rest, held) in enumerate(folds):
            fold[np.unique(data.row[held])] = number
            own = cs[~np.isin(data.groups[cs], data.fc_groups[held])]
            stacked = np.vstack([x["cseval"][own], x["fc"][rest]]), np.concatenate([z[own], labelled[rest]])
            [out[held]] = learned(*stacked, KERNEL, [x["fc"][held]])
        found[name] |= {"fc": out, "fold": fold}
        stacked = np.vstack([x["cseval"][cs], x["fc"]]), np.concatenate([z[cs], labelled])
        [found[name]["ranking"]] = learned(*stacked, KERNEL, [x["ranking"]])
        oof = np.zeros(len(z))
        for rest, held in GroupKFold(5).split(z, groups=data.groups):
            rest = rest if len(cs) else rest[:0]
            kept = ~np.isin(data.fc_groups, data.groups[held])
            stacked = np.vstack([x["cseval"][rest], x["fc"][kept]]), np.concatenate([z[rest], labelled[kept]])
            [oof[held]] = learned(*stacked, KERNEL, [x["cseval"][held]])
        found[name]["cseval"] = oof
    return found


def main() -> None:
    """Computes all tables and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpnet", help="folder of all-mpnet-base-v2; without it, its rows are left out")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "raters.md")
    given = parser.parse_args()
    data, encoders = Data(), {"MiniLM": MINILM} | ({"MPNet": given.mpnet} if given.mpnet else {})
    everything, best = np.arange(len(data.cseval)), unified(data.values)
    more = {name: trained(data, encoder) for name, encoder in encoders.items()}

    # cn-ranking: directions of pairs by each rater.
    def by_cseval(design: Any, encoder: str = MINILM, kept: Any = everything, y: Floats = data.values) -> Floats:
        asked = [data.features("ranking", encoder, design)]
        found: Floats = learn(data, kept, y, encoder, design, asked)[0].clip(LOW, HIGH)
        return found

    rows: dict[str, Direction] = {}
    for name, encoder in encoders.items():
        predicted = by_cseval(KERNEL, encoder)
        own = "`learned:cseval`" if encoder == MINILM else f"`learned:cseval` with {name}"
        rows |= {own: scored(unified(predicted)), f"{own}, suitableness": scored(predicted[:, 3])}
        rows |= {f"trained on {each}, {name}": scored(more[name][each]["ranking"]) for each in ("FC-CONAN", "both")}
    gpt = {
        name: np.where(np.isfinite(each), each, np.nanmean(each, axis=0)).clip(LOW, HIGH)
        for name, each in data.gpt.items()
    }
    rows |= {f"trained on CSEval's {name} ratings": scored(unified(by_cseval(KERNEL, y=y))) for name, y in gpt.items()}
    rows["reply alone"] = scored(unified(by_cseval(REPLY)))
    rows["surface, kernel: `learned:cseval-surface`"] = scored(unified(by_cseval(SURFACE_KERNEL)))
    rows["surface, linear"] = scored(unified(by_cseval(LINEAR)))
    for name, encoder in encoders.items():
        rows[f"cosine, {name}"] = scored(data.replies("ranking", encoder).cosine[:, 0])
    words = {name: each["text"].str.split().str.len().to_numpy() for name, each in data.frames.items()}
    rows["length in words"] = scored(words["ranking"])
    rows["win rate of the system on the other messages"] = win_rates(data, False)
    rows["win rate on the other messages of the corpus"] = win_rates(data, True)
    judges = [f"judgelm-{size}b" for size in (7, 13, 33)]
    rows |= {each.replace("judgelm", "JudgeLM"): said(data.pairs("judgelm", each)) for each in judges}
    real = RESULTS / "real-models.json"
    for name, grades in (json.loads(real.read_text()).get("cn_ranking", {}) if real.is_file() else {}).items():
        rows[name] = scored(data.ranking["reply_id"].map(grades).to_numpy(float))
    pairs = data.majority[data.majority["v"].abs() == 1].reset_index(drop=True)
    loops = np.maximum(words["ranking"][pairs["a"]], words["ranking"][pairs["b"]]) > LOOPS
    unshared = ~data.shared[pairs["a"]]
    of_corpus = {name: (pairs["corpus"] == name).to_numpy() for name in ("conan", "mt-conan")}
    single = [data.people[(data.people["rater"] == f"rater-{n}") & (data.people["v"].abs() == 1)] for n in (1, 2, 3)]
    by_message, by_both = weights(pairs, False), weights(pairs, True)
    linear = agreement(rows["surface, linear"], pairs)

    def line(name: str, found: Floats, people: list[str], interval: bool = True) -> dict[str, str]:
        return {
            "rater": name,
            f"all {len(pairs)}": text(found.mean()),
            "over messages": ends(found, by_message) if interval else "–",
            "over messages and systems": ends(found, by_both) if interval else "–",
            **{f"{each.upper()} ({own.sum()})": text(found[own].mean()) for each, own in of_corpus.items()},
            f"unshared message ({unshared.sum()})": text(found[unshared].mean()),
            f"loops ({loops.sum()})": text(found[loops].mean()),
            f"other ({(~loops).sum()})": text(found[~loops].mean()),
            **{f"person {n}": each for n, each in enumerate(people, 1)},
            "minus surface, linear": f"{text((found - linear).mean())} {ends(found - linear, by_message)}"
            if interval
            else "–",
        }

    transfer = []
    for name, direction in rows.items():
        people = [text(agreement(direction, own).mean()) for own in single]
        transfer.append(line(name, agreement(direction, pairs), people))
    generator = np.random.default_rng(0)
    shuffled = np.stack([generator.permutation(best) for _ in range(PERMUTATIONS)], axis=1)
    [by_chance] = learn(data, everything, shuffled, MINILM, KERNEL, [data.features("ranking", MINILM, KERNEL)])
    chance = np.stack([agreement(scored(each), pairs) for each in by_chance.T])
    transfer.append(line(f"permuted labels, mean of {PERMUTATIONS}", chance.mean(axis=0), ["–"] * 3, False))
    vectors = [by_cseval(KERNEL, f"random:{seed}") for seed in range(RANDOM)]
    randoms = np.stack([agreement(scored(unified(each)), pairs) for each in vectors])
    transfer.append(line(f"random vectors, mean of {RANDOM}", randoms.mean(axis=0), ["–"] * 3, False))
    common = data.people.pivot_table("v", ["item_id", "a", "b"], "rater").dropna()
    persons = []
    for name in common:
        rest = common.drop(columns=name)
        sure = (rest.iloc[:, 0] == rest.iloc[:, 1]) & (rest.iloc[:, 0] != 0)
        persons.append(((1 + common[name][sure] * rest.iloc[:, 0][sure]) / 2).mean())
    # Retrainings on resampled groups of messages.
    again = []
    places = {group: np.flatnonzero(data.groups == group) for group in np.unique(data.groups)}
    for seed in range(RETRAININGS):
        drawn = np.random.default_rng(seed).choice([*places], len(places))
        predicted = by_cseval(KERNEL, kept=np.concatenate([places[each] for each in drawn]))
        again.append([agreement(scored(each), pairs).mean() for each in (unified(predicted), predicted[:, 3])])
    retrained, of_suitable = np.array(again).T
    # Leakage.
    replies = [data.replies(each, MINILM).embedded for each in ("ranking", "cseval")]
    used = np.unique(pairs[["a", "b"]])
    near = [
        int(((replies[0][each][used] @ replies[1][each].T).max(axis=1) > 0.9).sum()) for each in ("message", "reply")
    ]

    # CSEval.
    folds = folds_of(data.cseval, data.groups)

    def out_of_fold(design: Any, encoder: str = MINILM, y: Floats = data.values) -> tuple[Floats, list[float]]:
        found, others = np.zeros_like(data.values), []
        x = data.features("cseval", encoder, design)
        for split, parts in folds.items():
            values = []
            for rest, held in parts:
                [predicted] = learned(x[rest], y[rest], design, [x[held]])
                if split == "messages":
                    found[held] = predicted.clip(LOW, HIGH)
                values.append([spearmanr(predicted[:, k], data.values[held, k]).statistic for k in range(4)])
            others.append(float(np.mean(values)))
        return found, others[1:]

    def follows(name: str, found: Floats, others: list[float]) -> dict[str, str]:
        found = found if found.ndim == 2 else np.stack([found, found, -found, found], axis=1)
        own = [spearmanr(found[:, k], data.values[:, k], nan_policy="omit").statistic for k in range(4)]
        cells = {"rater": name} | {each: text(value) for each, value in zip(ASPECTS, own, strict=True)}
        return cells | {"systems left out": text(others[0]), "rounds left out": text(others[1])}

    none, held_out, inside = [np.nan, np.nan], {}, []
    for name, encoder in encoders.items():
        own = "`learned:cseval`" if encoder == MINILM else f"`learned:cseval` with {name}"
        held_out[own] = out_of_fold(KERNEL, encoder)
        inside.append(follows(own, *held_out[own]))
        inside += [
            follows(f"trained on {each}, {name}", more[name][each]["cseval"], none) for each in ("FC-CONAN", "both")
        ]
    inside += [follows(f"trained on {name} ratings", *out_of_fold(KERNEL, y=y)) for name, y in gpt.items()]
    inside.append(follows("reply alone", *out_of_fold(REPLY)))
    inside.append(follows("surface, kernel: `learned:cseval-surface`", *out_of_fold(SURFACE_KERNEL)))
    inside.append(follows("surface, linear", *out_of_fold(LINEAR)))
    inside += [
        follows(f"cosine, {name}", data.replies("cseval", each).cosine[:, 0], none) for name, each in encoders.items()
    ]
    inside.append(follows("length in words", words["cseval"].astype(float), none))
    inside.append(follows("random vectors", *out_of_fold(KERNEL, "random:0")))
    inside.append(follows("permuted labels", *out_of_fold(KERNEL, y=np.random.default_rng(0).permutation(data.values))))
    inside += [follows(f"{name}, as released", each, none) for name, each in data.gpt.items()]

    # FC-CONAN.
    def aucs(name: str, scores: Floats, fold: Any = None, other: Floats | None = None) -> dict[str, str]:
        cells = {"rater": name}
        for tier, grid in (("Silver", data.silver), ("Bronze", data.bronze)):
            drawn = []
            for each in (scores, other):
                if each is not None:
                    matrix = np.full(grid.shape, np.nan)
                    matrix[data.row, data.column] = np.round(each, 9)  # equal scores differ in the last bits
                    matrix = np.where(np.isnan(matrix), -np.inf, matrix)
                    drawn.append(message_auc(matrix, grid, fold, resamples=1000, seed=0))
            there = np.isfinite(grid[data.row, data.column])
            cells[f"{tier}, AUC"] = text(roc_auc_score(grid[data.row, data.column][there], scores[there]))
            low, high = np.percentile(drawn[0][2], [2.5, 97.5])
            cells[f"{tier}, message AUC"] = f"{text(drawn[0][0])} [{text(low)}, {text(high)}]"
            if len(drawn) > 1:
                low, high = np.percentile(drawn[0][2] - drawn[1][2], [2.5, 97.5])
                cells[f"{tier}, minus cosine"] = f"{text(drawn[0][0] - drawn[1][0])} [{text(low)}, {text(high)}]"
            else:
                cells[f"{tier}, minus cosine"] = "–"
        return cells

    last = [*encoders][-1]
    cosine = {name: data.replies("fc", each).cosine[:, 0] for name, each in encoders.items()}
    answered = []
    for name in encoders:
        for each, own in more[name].items():
            answered.append(aucs(f"trained on {each}, {name}", own["fc"], own.get("fold"), cosine[last]))
    free = np.flatnonzero(~np.isin(data.groups, data.hs_groups))
    for name, design in (("reply alone", REPLY), ("surface, kernel", SURFACE_KERNEL), ("surface, linear", LINEAR)):
        [found] = learn(data, free, best, MINILM, design, [data.features("fc", MINILM, design)])
        answered.append(aucs(f"trained on CSEval, {name}", found, None, cosine[last]))
    answered += [aucs(f"cosine, {name}", each) for name, each in cosine.items()]
    answered.append(aucs("length in words", words["fc"].astype(float)))

    # Ratings saved.
    saved = []

    def saves(name: str, judge: str, people: Floats, judged: Floats, parts: list[Any], units: Any) -> None:
        row, n = {"system means of": name, "judge": judge}, int(units.max()) + 1
        for share in (0.05, 0.1, 0.2, 0.5):
            found = []
            for seed in range(DRAWS):
                drawn = np.isin(units, np.random.default_rng(seed).permutation(n)[: round(share * n)])
                for own in parts:
                    few = np.where(drawn[own], people[own], np.nan)
                    sample = summarise(few, judged[own], units[own], n, np.ones(len(own)))
                    each = estimate(sample, 0.95) if sample is not None else {"reason": "none"}
                    if each["reason"] is None and each["people_high"] > each["people_low"]:
                        truth = people[own].mean()
                        width = (each["high"] - each["low"]) / (each["people_high"] - each["people_low"])
                        hits = [each[f"{kind}low"] <= truth <= each[f"{kind}high"] for kind in ("", "people_")]
                        found.append([width, *hits, 1 - width**2])
            width, covered, alone, spared = np.mean(found, axis=0)
            row[f"{100 * share:.0f} % rated"] = (
                f"{100 * spared:.0f} % ({text(width, 2)}; {text(covered)}, {text(alone)})"
            )
        saved.append(row)

    systems = [np.flatnonzero(data.cseval["system"] == each) for each in ("dialogpt", "unknown")]
    for k, aspect in enumerate(ASPECTS):
        for judge, values in (
            ("`learned:cseval`", held_out["`learned:cseval`"][0]),
            ("GPT-4, zero-shot", data.gpt["gpt-4-zs"]),
        ):
            saves(f"CSEval, {aspect}", judge, data.values[:, k], values[:, k], systems, everything)
    decided = data.people[data.people["v"].notna()]
    once = decided.groupby(["corpus", "item_id", "a", "b", "system_a", "system_b"])["v"].mean().reset_index()
    unit = np.tile(np.arange(len(once)), 2)
    sides = np.concatenate([once["system_a"], once["system_b"]])
    points = np.concatenate([1 + once["v"], 1 - once["v"]]) / 2
    for name, direction in (("`learned:cseval`", rows["`learned:cseval`"]), ("JudgeLM-33b", rows["JudgeLM-33b"])):
        own = direction(once)
        judged = np.concatenate([1 + own, 1 - own]) / 2
        saves(
            "cn-ranking, points",
            name,
            points,
            judged,
            [np.flatnonzero(sides == each) for each in np.unique(sides)],
            unit,
        )

    main_row = agreement(rows["`learned:cseval`"], pairs)
    first = inside[0]

    def aim(name: str, value: str, reached: bool) -> dict[str, str]:
        return {"aim": name, "value": value, "reached": "yes" if reached else "no"}

    gap = ends(main_row - linear, by_message)
    aims = [
        aim("mean of the retrainings at least .74", text(retrained.mean()), retrained.mean() >= 0.74),
        aim("worst retraining at least .70", text(retrained.min()), retrained.min() >= 0.7),
        aim(
            "above surface, linear, by an interval over messages that excludes 0",
            f"{text((main_row - linear).mean())} {gap}",
            "−" not in gap and (main_row - linear).mean() > 0,
        ),
    ]
    for row in answered[: 3 * len(encoders)]:
        value = row["Silver, message AUC"].split()[0]
        name = f"message AUC on Silver above .792, {row['rater']}"
        aims.append(aim(name, f"{value}; difference {row['Silver, minus cosine']}", float(value) > 0.792))
    for each, least in zip(ASPECTS, (0.7, 0.68, 0.55, 0.66), strict=True):
        aims.append(
            aim(f"CSEval out of fold, {each} at least {text(least, 2)}", first[each], float(first[each]) >= least)
        )
    designs = pd.read_csv(RESULTS / "rater-design.csv")
    chosen = [
        {
            key: text(value) if isinstance(value, float) else str(value)
            for key, value in row.items()
            if "suit" not in key
        }
        for row in designs.drop(columns=[*ASPECTS]).to_dict("records")
    ]
    queue_file = RESULTS / "queue-mpnet.json"
    queue = []
    if queue_file.is_file():
        for name, cases in json.loads(queue_file.read_text()).items():
            if name != "seeds":
                row = {"features": {"tiers": "MiniLM", "tiers, encoder": "MPNet"}.get(name, "MPNet, scores of both")}
                for case in cases:
                    row[case["case"]] = f"{case['saved'][2]:.1f} [{case['low'][2]:.1f}, {case['high'][2]:.1f}]"
                queue.append(row)
    tables = {"AIMS": aims, "TRANSFER": transfer, "CSEVAL": inside, "FCCONAN": answered, "SAVED": saved, "QUEUE": queue}
    shared = json.dumps({"cn-ranking": transfer, "cseval": inside}, ensure_ascii=False, indent=1)
    (RESULTS / "raters.json").write_text(f"{shared}\n", encoding="utf-8")  # for leaderboard.py
    parts = {
        name: to_markdown(Frame(each)) if each else "Not measured.\n"
        for name, each in (tables | {"DESIGNS": chosen}).items()
    }
    parts |= {
        "PERSONS": f"{text(min(persons))} to {text(max(persons))}",
        "RETRAINED": f"mean {text(retrained.mean())}, {text(retrained.min())} to {text(retrained.max())}",
        "SUITABLE": f"mean {text(of_suitable.mean())}, {text(of_suitable.min())} to {text(of_suitable.max())}",
        "CHANCE": f"{text(chance.mean(axis=1).min())} and {text(chance.mean(axis=1).max())}",
        "NEAR": f"{near[0]} of the messages of the {len(used)} compared replies and {near[1]} of these replies",
        "LAST": last,
    }
    page = (Path(__file__).parent / "raters.md.template").read_text(encoding="utf-8")
    for name, part in parts.items():
        page = page.replace(f"@{name}@", part)
    given.out.write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
