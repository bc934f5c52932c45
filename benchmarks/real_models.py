"""Run every step of the papers with real models, and write docs/real-models.md and benchmarks/results/real-models.json.

The weights and the server are those of `make check-models`, which has to run first. Answers are stored, so an
interrupted run continues, and a second run sends no request.

Example: FCCONAN_MIRROR=FOLDER python benchmarks/real_models.py .venv-models
"""

import json
import math
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from tables import RESAMPLES, mean_with_interval, to_markdown

import fcconan
from fcconan import Bootstrap, Endpoint
from fcconan.data import leakage_groups

ROOT = Path(__file__).parents[1]
PAGE, RESULTS = ROOT / "docs" / "real-models.md", ROOT / "benchmarks" / "results" / "real-models.json"
QWEN, PORT = "qwen2.5-coder-1.5b-instruct", 8011  # the address is part of the key of a stored answer
ENDPOINT = Endpoint(f"http://127.0.0.1:{PORT}/v1", concurrency=2, timeout=3600, structured_output=False)
ASPECTS = ("relevance", "coherence", "aggressiveness", "suitableness")
SEED = 0
PLAN = ROOT / "benchmarks" / "real_models_plan.md"  # was committed before the first result


class Run:
    """The environment of models, and the measured values.

    Args:
        environment: Folder of `make check-models`.
    """

    def __init__(self, environment: Path) -> None:
        self.environment, self.data = environment, environment / "data"
        (self.mpnet,) = (path.parent for path in (environment / "mpnet").rglob("modules.json"))
        self.gemma = environment / "gemma"
        self.tables: dict[str, pd.DataFrame] = {}
        self.grades: dict[str, dict[str, float]] = {}  # of replies of cn-ranking, by model and aspect
        self._times = environment / "times.json"
        self.times: dict[str, dict[str, float]] = json.loads(self._times.read_text()) if self._times.exists() else {}

    def rows(self, dataset: str, config: str, split: str) -> pd.DataFrame:
        """Returns the rows of a split, which is built if it is not there."""
        if not (self.data / dataset).exists():
            fcconan.build(dataset, out=self.data / dataset)
        return pd.read_parquet(next((self.data / dataset / config).glob(f"{split}-*.parquet")))

    def timed(self, part: str, ask: Callable[[], fcconan.Result]) -> fcconan.Result:
        """Returns a result, and adds its time and tokens to those of earlier runs if it sent requests."""
        started = time.monotonic()
        result = ask()
        usage = result.tables["usage"]
        if (sent := usage["requests"].sum()) > 0:
            known = self.times.setdefault(part, dict.fromkeys(("seconds", "requests", "tokens"), 0.0))
            known["seconds"] += time.monotonic() - started
            known["requests"] += float(sent)
            known["tokens"] += float(usage[["prompt_tokens", "completion_tokens"]].sum().sum())
            self._times.write_text(json.dumps(self.times))
        return result

    def rate(self, part: str, replies: pd.DataFrame, **how: Any) -> pd.DataFrame:
        """Returns ratings by Qwen."""
        rated = self.timed(part, lambda: fcconan.rate(replies, model=QWEN, endpoint=ENDPOINT, **how))
        return rated.to_frame("ratings")


@contextmanager
def serving(environment: Path) -> Iterator[None]:
    """Runs the server."""
    words = [environment / "bin" / "python", "-m", "llama_cpp.server", "--port", PORT, "--model_alias", QWEN]
    words += ["--model", environment / "qwen.gguf", "--n_ctx", 8192, "--n_threads", 2]
    with (environment / "server.log").open("wb") as log:
        server = subprocess.Popen([*map(str, words)], stdout=log, stderr=log)
    try:
        while server.poll() is None:
            try:
                urllib.request.urlopen(f"{ENDPOINT.base_url}/models", timeout=5).close()
                break
            except OSError:
                time.sleep(0.5)
        else:
            raise SystemExit(f"the server ended: see {environment / 'server.log'}")
        yield
    finally:
        server.kill()
        server.wait()


def cells(rows: pd.DataFrame) -> pd.Series:
    """Returns values with their intervals as texts."""
    texts = rows.apply(lambda row: f"{row['value']:.3f} [{row['low']:.3f}, {row['high']:.3f}]", axis=1)
    return texts.where(rows["value"].notna(), "–")


def spearman(ratings: pd.DataFrame, replies: pd.DataFrame) -> pd.DataFrame:
    """Returns the correlation of raters with people."""
    rows = ratings[ratings["reply_id"].isin(replies["reply_id"])].drop(columns=["item_id", "system"])
    how: dict[str, Any] = {"level": ("pooled",), "coefficient": ("spearman",), "bootstrap": Bootstrap(RESAMPLES)}
    found = fcconan.correlate(rows, replies=replies, **how).to_frame()
    return found[["aspect", "metric", "n"]].assign(spearman=cells(found))


def cseval(run: Run) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Returns independent rows of CSEval for calibration and for rating, and the released ratings of both."""
    replies, ratings = (run.rows("cseval", config, "test") for config in ("replies", "ratings"))
    people = ratings[(ratings["rater"] == "annotators") & ratings["value"].notna()]
    complete = people.groupby("reply_id").size().loc[lambda n: n == len(ASPECTS)].index
    clean = replies[replies["independent"] & replies["reply_id"].isin(complete)]
    drawn = {system: own.sample(88, random_state=SEED) for system, own in clean.groupby("system")}
    rated = pd.concat([own[:50] for own in drawn.values()])
    return pd.concat([own[50:] for own in drawn.values()])[:75], rated, ratings


def calibration(run: Run) -> Path:
    """Calibrates the steps of relevance, and returns their file."""
    replies, _, ratings = cseval(run)
    people = ratings[(ratings["rater"] == "annotators") & ratings["reply_id"].isin(replies["reply_id"])]
    steps = run.environment / "relevance.yaml"
    how: dict[str, Any] = {"aspect": "relevance", "trials": 1, "keep": 1, "out": steps, "endpoint": ENDPOINT}
    found = run.timed("calibration", lambda: fcconan.calibrate(replies, ratings=people, model=QWEN, **how))
    run.tables["calibration"] = found.shown("scores")
    run.tables["calibration_gain"] = found.shown("gain")
    run.tables["calibration_candidates"] = found.to_frame("candidates")[["candidate", "how", "value", "n", "status"]]
    return steps


def learned(run: Run) -> Path:
    """Trains the learned rater as `learned:cseval`, and returns its folder, with out-of-fold ratings."""
    folder = run.environment / "cseval"
    if not folder.exists():
        replies, ratings = (run.rows("cseval", config, "test") for config in ("replies", "ratings"))
        replies = replies[replies["independent"]]
        people = ratings[(ratings["rater"] == "annotators") & ratings["reply_id"].isin(replies["reply_id"])]
        fcconan.train_rater(people, replies=replies, out=folder, bootstrap=Bootstrap(0))
    return folder


def rating(run: Run, steps: Path) -> None:
    """Correlates ratings with people."""
    _, replies, released = cseval(run)
    others = ["annotators", "gpt-4", "gpt-4-zs"]
    known = [released[released["rater"].isin(others)], pd.read_parquet(learned(run) / "out-of-fold.parquet")]
    rubric = [run.rate("rating: rubric", replies, task="cseval", aspect=(aspect,)) for aspect in ASPECTS]
    few = replies.groupby("system").head(15)
    methods: list[Any] = ["direct", "g-eval", "auto-cseval", "prometheus"]
    further: dict[str, Any] = {"g-eval": {"logprobs": True}, "auto-cseval": {"steps": (steps,)}}
    common: dict[str, Any] = {"task": "cseval", "aspect": ("relevance",)}
    by_method = [
        run.rate(f"methods: {method}", few, rating_method=method, **common, **further.get(method, {}))
        for method in methods
    ]
    run.rows("kn-conan", "pairs", "train")
    how: dict[str, Any] = {"rating_method": "grounded", "background": run.data / "kn-conan"}
    grounded = run.rate("methods: grounded", few, task="grounded", **how)
    run.tables["grounded"] = grounded.groupby("aspect", sort=False)["value"].agg(["count", "mean", "std"]).reset_index()
    by_method.append(grounded[grounded["aspect"] == "relatedness"].assign(aspect="relevance"))
    for name, table, part in (("rating", replies, rubric), ("methods", few, [rubric[0], *by_method])):
        rows = pd.concat([*known, *part])
        run.tables[name] = spearman(rows[rows["aspect"] == "relevance"] if name == "methods" else rows, table)
        own = pd.concat(part)
        own = own[own["reply_id"].isin(table["reply_id"])]
        unread = own.assign(reason=own["reason"].fillna("read")).groupby(["rater", "reason"]).size()
        run.tables[f"{name}_answers"] = unread.rename("n").reset_index()
    costs = pd.DataFrame(run.times).T.filter(regex="^(methods|rating)", axis=0)
    per_request = costs[["seconds", "tokens"]].div(costs["requests"], axis=0).map("{:.1f}".format)
    run.tables["methods_times"] = costs[["requests"]].join(per_request).rename_axis("method").reset_index()


def multi_aspect(run: Run) -> None:
    """Rates the aspects of Jones et al., and correlates them with people's suitableness."""
    _, replies, released = cseval(run)
    few = replies.groupby("system").head(15)
    graded = run.rate("multi-aspect", few, task="multi-aspect")
    people = released[(released["rater"] == "annotators") & (released["aspect"] == "suitableness")]
    found = spearman(pd.concat([people, graded.assign(rater=graded["aspect"], aspect="suitableness")]), few)
    means = graded.groupby("aspect", sort=False)["value"].agg(["mean", "std"]).reset_index()
    run.tables["multi_aspect"] = means.merge(found.drop(columns="aspect"), left_on="aspect", right_on="metric").drop(
        columns="metric"
    )


def suite(run: Run) -> Path:
    """Writes the systems that are not in the package's suite, and returns the file."""
    mpnet, chat = {"model": str(run.mpnet)}, {"model": QWEN, "max_tokens": 250}
    again: dict[str, Any] = {"kind": "rerank", "top": 25, "window": 25, "step": 24, **chat}
    systems: dict[str, Any] = {
        "sbert-mpnet": {"kind": "dense", "encoder": mpnet},
        "supervised-mpnet": {"kind": "supervised", "encoder": mpnet, "temperature": 0.1, "prior": 3, "C": 1},
        "qwen-zero-shot": {"kind": "zero-shot", "n": 10, **chat},
        "rr25-1-minilm-qwen": {**again, "first_stage": "sbert-minilm"},
        "rr25-2-mpnet-qwen": {**again, "first_stage": "sbert-mpnet"},
    }
    path = run.environment / "suite.yaml"
    path.write_text(yaml.safe_dump({"systems": systems}), encoding="utf-8")
    run.rows("fc-conan", "queries", "test")
    return path


def ranked(found: fcconan.Result, system: str) -> pd.Series:
    """Returns the CNs of each HS in the order of a system."""
    run = next(text for name, text in found.files.items() if name.startswith(f"runs/{system}"))()
    lines = pd.DataFrame([line.split()[:3:2] for line in run.splitlines()], columns=["hs_id", "cn_id"])
    return lines.groupby("hs_id")["cn_id"].agg(tuple)


def retrieval(run: Run) -> None:
    """Benchmarks retrieval on FC-CONAN."""
    fixed = ["tfidf", "bm25", "sbert-minilm", "sbert-mpnet", "qwen-zero-shot"]
    further = {
        "paper": [],
        "sound": ["popularity"],
        "cross-validated": ["popularity", "supervised", "supervised-mpnet"],
    }
    answers = []
    for protocol, more in further.items():
        how: dict[str, Any] = {"suite": suite(run), "protocol": protocol, "endpoint": ENDPOINT}
        if protocol != "paper":
            how |= {"baseline": ("sbert-minilm",), "metric": ("ndcg@10",)}
        found = run.timed(
            f"retrieval: {protocol}", partial(fcconan.bench, run.data / "fc-conan", system=[*fixed, *more], **how)
        )
        if protocol != "cross-validated":  # whose answers are those of sound
            chosen, unread = ranked(found, "qwen-zero-shot"), found.to_frame("failures")["system"].eq("qwen-zero-shot")
            answers.append(
                {
                    "protocol": protocol,
                    "answers": len(chosen) + unread.sum(),
                    "unreadable": unread.sum(),
                    "with ten CNs": chosen.map(len).eq(10).sum(),
                    "most frequent ranking": chosen.value_counts().max(),
                }
            )
        if protocol == "paper":
            run.tables["retrieval_paper"] = found.shown("tiers")
        else:
            judged = found.shown("judged_only")
            run.tables[f"retrieval_{protocol}"] = found.shown("systems")
            run.tables[f"retrieval_{protocol}_judged"] = judged[judged["partition"].isin(["silver", "bronze"])]
            auc = found.shown("message_auc")  # ranks do not compare between HS
            run.tables[f"retrieval_{protocol}_message_auc"] = auc[auc["system"] != "qwen-zero-shot"]
    run.tables["retrieval_answers"] = pd.DataFrame(answers)


def reranking(run: Run) -> None:
    """Re-ranks the first 25 CNs under the protocol of the paper."""
    systems = ["sbert-minilm", "sbert-mpnet", "rr25-1-minilm-qwen", "rr25-2-mpnet-qwen"]
    how: dict[str, Any] = {"suite": suite(run), "protocol": "paper", "endpoint": ENDPOINT}
    found = run.timed("reranking", partial(fcconan.bench, run.data / "fc-conan", system=systems, **how))
    shown, failed = found.shown("tiers"), found.to_frame("failures")["system"].value_counts()
    run.tables["reranking"] = shown[shown["system"].isin(systems[2:])]
    run.tables["reranking_answers"] = pd.DataFrame(
        {
            "system": name,
            "answers": 45,
            "unreadable": failed.get(name, 0),
            "first ten CNs unchanged": (ranked(found, name).str[:10] == ranked(found, first).str[:10]).sum(),
        }
        for name, first in zip(systems[2:], systems[:2], strict=True)
    )


def messages_of(run: Run) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Returns the 20 messages that people compared, and the replies of nine systems to them."""
    splits = ("conan", "mt_conan")
    items = pd.concat([run.rows("cn-ranking", "items", split) for split in splits])
    items = items[items["compared_by_humans"]]
    replies = pd.concat([run.rows("cn-ranking", "replies", split) for split in splits])
    messages = items[["item_id", "hs_id", "hate_speech"]].assign(references=items["reference"].map(lambda text: [text]))
    return messages.reset_index(drop=True), replies[replies["item_id"].isin(items["item_id"])].reset_index(drop=True)


def training_pairs(run: Run) -> pd.DataFrame:
    """Returns CONAN's training pairs whose message is in no leakage group of the 20 messages."""
    messages, _ = messages_of(run)
    pairs = run.rows("cn-ranking", "conan-pairs", "train")
    groups = leakage_groups([*messages["hate_speech"], *pairs["hate_speech"]])
    return pairs[~np.isin(groups[len(messages) :], groups[: len(messages)])].reset_index(drop=True)


def finetuning(run: Run) -> Path:
    """Trains adapters of Gemma in a process of its own, whose memory is measured, and returns their folder."""
    folder, measured, pairs = (run.environment / name for name in ("tuned", "tuned.json", "pairs.parquet"))
    if not measured.exists():
        training_pairs(run).to_parquet(pairs)
        words = ["finetune", pairs, "--model", run.gemma, "--prompt-format", "dialogpt", "--prompt", "message"]
        words += ["--learning-rate", 3e-4, "--epochs", 1, "--max-steps", 200, "--batch-size", 4, "--out", folder]
        words += ["--json", run.environment / "tuned.partial", "--force"]
        command = [sys.executable, "-m", "fcconan", *map(str, words)]
        started = time.monotonic()
        script = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True)\n"
        script += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
        done = subprocess.run([sys.executable, "-c", script, *command], check=True, capture_output=True, text=True)
        result = json.loads((run.environment / "tuned.partial").read_text(encoding="utf-8"))
        result |= {"seconds": time.monotonic() - started, "gigabytes": int(done.stdout.split()[-1]) / 1e6}
        measured.write_text(json.dumps(result), encoding="utf-8")
    found = json.loads(measured.read_text(encoding="utf-8"))
    run.tables["finetuning"] = pd.DataFrame(found["tables"]["runs"]).assign(
        seconds=round(found["seconds"]), gigabytes=round(found["gigabytes"], 1)
    )
    run.tables["finetuning_pairs"] = pd.DataFrame(found["tables"]["splits"])
    return folder


def generation(run: Run) -> pd.DataFrame:
    """Writes replies to the 20 messages, measures them, and returns them."""
    messages, pairs = messages_of(run)[0], training_pairs(run)
    run.rows("kn-conan", "pairs", "train")
    chat: dict[str, Any] = {"model": QWEN, "max_tokens": 160, "endpoint": ENDPOINT}
    tuned: dict[str, Any] = {"model": f"local:{finetuning(run)}", "prompt": "message", "prompt_format": "dialogpt"}
    settings: dict[str, dict[str, Any]] = {
        "qwen-zero-shot": chat,
        "qwen-few-shot": {**chat, "strategy": "few-shot", "background": pairs},
        "qwen-grounded": {**chat, "strategy": "grounded", "background": run.data / "kn-conan"},
        "gemma-lora": {**tuned, "decoding": "one-line", "max_tokens": 80},
        "bm25-first": {"strategy": "retrieval", "background": pairs},
        "mpnet-first": {"strategy": "retrieval", "retriever": str(run.mpnet), "background": pairs},
        "reference": {"strategy": "reference"},
    }
    made = {
        name: run.timed(f"generation: {name}", partial(fcconan.generate, messages, system=name, **how))
        if "model" in how
        else fcconan.generate(messages, system=name, **how)
        for name, how in settings.items()
    }
    replies = pd.concat([each.to_frame("replies") for each in made.values()], ignore_index=True)
    counts = pd.concat([each.to_frame("systems") for each in made.values()])
    wanted = ("repetition-rate", "novelty", "bleu-4", "rouge-l", "length-words")
    measured = fcconan.metrics(replies[replies["text"].notna()], metric=wanted, novelty_against=pairs)
    wide = measured.to_frame().pivot(index="system", columns="metric", values="value")[[*wanted]]
    wide = wide.map("{:.3f}".format).replace("nan", "–")
    by_reply = measured.to_frame("ratings").dropna(subset="value")
    by_reply = by_reply[by_reply["rater"] != "bleu-4"]  # which is not a mean over replies
    for (system, metric), own in by_reply.groupby(["system", "rater"]):
        value, low, high = mean_with_interval(own["value"], own["item_id"])
        wide.loc[system, metric] = f"{value:.3f} [{low:.3f}, {high:.3f}]"
    seconds = {
        name.partition(": ")[2]: f"{each['seconds'] / each['requests']:.1f}"
        for name, each in run.times.items()
        if name.startswith("generation: ")
    }
    about = counts.set_index("system")[["n", "n_missing", "refusals", "truncated"]]
    about["seconds a reply"] = pd.Series(seconds)
    run.tables["generation"] = about.join(wide).reset_index()
    return replies


def winners(verdicts: pd.DataFrame) -> pd.Series:
    """Returns the system that wins, "tie", or nothing if there is no verdict."""
    named = verdicts["verdict"].map({"tie": "tie"})
    return named.mask(verdicts["verdict"] == "a", verdicts["system_a"]).mask(
        verdicts["verdict"] == "b", verdicts["system_b"]
    )


def agreement(given: pd.Series, people: pd.Series, items: pd.Series) -> dict[str, float]:
    """Returns the share of pairs with the same winner, a tie being half, with an interval over messages."""
    agreed = given.eq(people).where(given != "tie", 0.5).where(given.notna()).astype(float)
    return dict(zip(("value", "low", "high"), mean_with_interval(agreed, items), strict=True)) | {"n": agreed.count()}


def decided(run: Run) -> pd.DataFrame:
    """Returns the pairs that a majority of people decided, with `people` (the winner) and `key` (item and systems)."""
    verdicts = run.rows("cn-ranking", "comparisons", "human_majority")
    verdicts = verdicts[(verdicts["rater"] == "majority") & verdicts["verdict"].isin(["a", "b"])]
    return verdicts.assign(people=winners(verdicts), key=keys(verdicts)).reset_index(drop=True)


def keys(verdicts: pd.DataFrame) -> list[str]:
    """Returns a name for each pair of replies in any order."""
    columns = (verdicts[name] for name in ("item_id", "system_a", "system_b"))
    return [" ".join([item, *sorted(pair)]) for item, *pair in zip(*columns, strict=True)]


def comparing(run: Run) -> None:
    """Compares pairs of replies in both orders."""
    pairs = decided(run).sample(100, random_state=SEED).sort_values("key").reset_index(drop=True)
    texts = messages_of(run)[1].set_index(["item_id", "system"])[["hate_speech", "text"]]
    # Each pair is an item of its own, so that no other pairs are compared.
    sides = [
        texts.loc[[*zip(pairs["item_id"], pairs[name], strict=True)]]
        .reset_index()
        .assign(item_id=pairs["key"], reply_id=pairs["key"] + f" {name}")
        for name in ("system_a", "system_b")
    ]
    replies = pd.concat(sides, ignore_index=True)
    found = [run.timed("comparing", lambda: fcconan.compare(replies, model=QWEN, endpoint=ENDPOINT))]
    rows = []
    few = replies[replies["item_id"].isin(pairs["key"][:30])]
    how: dict[str, Any] = {"model": QWEN, "endpoint": ENDPOINT, "comparison_format": "judgelm"}
    try:
        found.append(run.timed("judgelm format", lambda: fcconan.compare(few, **how)))
    except fcconan.InputError as error:
        if not str(error).startswith("found no verdict"):
            raise
        rows.append({"rater": f"{QWEN}:judgelm", "n": 0})
    own = [each.to_frame("comparisons").assign(key=lambda rows: rows["item_id"]) for each in found]
    released = run.rows("cn-ranking", "comparisons", "judgelm")
    released = released.assign(key=keys(released))
    ids = pd.concat(sides).set_index(["item_id", "system"])["reply_id"]
    verdicts = [*own, *(rows for _, rows in released[released["key"].isin(pairs["key"])].groupby("rater"))]
    for each in verdicts:
        given = pairs["key"].map(pd.Series(winners(each).to_numpy(), index=each["key"].to_numpy()))
        rows.append({"rater": each["rater"].iloc[0], **agreement(given, pairs["people"], pairs["item_id"])})
    agreed = pd.DataFrame(rows)
    run.tables["comparing"] = agreed[["rater", "n"]].assign(agreement=cells(agreed))
    people = pairs.assign(rater="people", rater_kind="human")
    judged = pd.concat([*verdicts, people], ignore_index=True)
    judged["item_id"] = judged["key"].str.split().str[0]  # intervals are over messages
    for side in ("a", "b"):
        judged[f"reply_{side}"] = ids.loc[[*zip(judged["key"], judged[f"system_{side}"], strict=True)]].to_numpy()
    replies["item_id"] = replies["item_id"].str.split().str[0]
    checks = fcconan.audit(comparisons=judged, replies=replies, bootstrap=Bootstrap(RESAMPLES)).to_frame()
    wanted = checks["check"].isin(["length_wins", "first_position_wins", "position_flips"])
    checks = checks[wanted & checks["value"].notna()]
    run.tables["comparing_biases"] = checks[["rater", "check", "baseline", "n"]].assign(value=cells(checks))


def tournament(run: Run, generated: pd.DataFrame) -> None:
    """Ranks the generated replies among those of cn-ranking, by the learned rater and by Qwen."""
    generated = generated[generated["text"].notna() & (generated["system"] != "reference")]  # which is gold_truth
    replies = pd.concat([messages_of(run)[1], generated], ignore_index=True)
    replies = replies[["reply_id", "item_id", "hate_speech", "text", "system"]]
    ids = replies["reply_id"].to_numpy()
    # Equal replies of two systems are one reply each.
    replies["reply_id"] = replies["item_id"] + " " + replies["system"]
    rubric = run.rate("tournament", replies, task="cseval", aspect=("suitableness",))
    by_features = fcconan.rate(replies, model="learned:cseval", aspect=("suitableness",)).to_frame("ratings")
    ratings = pd.concat([rubric, by_features], ignore_index=True)
    unrated = ~replies["reply_id"].isin(by_features["reply_id"][by_features["value"].notna()])
    ratings = ratings[~ratings["item_id"].isin(replies["item_id"][unrated])]
    released = replies["system"].isin(messages_of(run)[1]["system"]).to_numpy()
    run.grades = {"Qwen, suitableness": dict(zip(ids[released], rubric["value"][released], strict=True))}
    found = fcconan.rank(ratings, aspect=("suitableness",), bootstrap=Bootstrap(RESAMPLES))
    means = found.to_frame("systems").pivot(index="system", columns="rater", values="value")
    places = means.rank(ascending=False, method="min").add_prefix("place ").astype(int)
    run.tables["tournament"] = found.shown("systems")
    run.tables["tournament_places"] = places.sort_values(places.columns[0]).reset_index()
    tau = {"tau": means.corr("kendall").iloc[0, 1], "systems": len(means), "messages": ratings["item_id"].nunique()}
    run.tables["tournament_tau"] = pd.DataFrame([tau])
    pairs, rows = decided(run), []
    pairs = pairs[pairs["item_id"].isin(ratings["item_id"])]
    for rater, own in ratings.groupby("rater"):
        values = own.set_index("reply_id")["value"]
        a, b = (values.reindex(pairs["item_id"] + " " + pairs[name]).to_numpy() for name in ("system_a", "system_b"))
        better = pairs["system_a"].where(a > b, pairs["system_b"]).mask(a == b, "tie").mask(np.isnan(a - b))
        rows.append({"rater": rater, **agreement(better, pairs["people"], pairs["item_id"])})
    agreed = pd.DataFrame(rows)
    run.tables["tournament_people"] = agreed[["rater", "n"]].assign(agreement=cells(agreed))


def write(run: Run) -> None:
    """Writes the page and the results of the parts that are finished."""

    def part(found: re.Match[str]) -> str:
        kind, _, name = found[1].partition(" ")
        if kind == "PLAN":
            return PLAN.read_text(encoding="utf-8")
        if kind == "time":
            seconds, requests, tokens = run.times.get(name, dict.fromkeys("srt", math.nan)).values()
            return f" {requests:.0f} requests; {seconds / requests:.1f} s and {tokens / requests:.0f} tokens each."
        return to_markdown(run.tables[kind]) if kind in run.tables else "Not finished yet.\n"

    template = Path(__file__).with_suffix(".md.template").read_text(encoding="utf-8")
    PAGE.write_text(re.sub("@([a-zA-Z_: -]+)@", part, template), encoding="utf-8")
    tables = {name: json.loads(table.to_json(orient="records")) for name, table in run.tables.items()}
    RESULTS.write_text(json.dumps({"tables": tables, "cn_ranking": run.grades}, indent=1) + "\n", encoding="utf-8")


def main(environment: Path) -> None:
    """Runs all parts, and writes the page after each."""
    run = Run(environment)
    with serving(environment):
        steps = calibration(run)
        write(run)
        rating(run, steps)
        write(run)
        multi_aspect(run)
        write(run)
        replies = generation(run)
        write(run)
        comparing(run)
        write(run)
        tournament(run, replies)
        write(run)
        retrieval(run)
        write(run)
        reranking(run)
        write(run)


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
