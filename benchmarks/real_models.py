"""Run every step of the papers with real models, and write docs/real-models.md and benchmarks/results/real-models.json.

The weights and the server are those of `make check-models`, which has to run first. Answers are stored, so an
interrupted run continues, and a second run sends no request.

Example: FCCONAN_MIRROR=FOLDER python benchmarks/real_models.py .venv-models
"""

import json
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
        for _ in range(240):
            try:
                urllib.request.urlopen(f"{ENDPOINT.base_url}/models", timeout=5).close()
                break
            except OSError:
                time.sleep(0.5)
        yield
    finally:
        server.kill()
        server.wait()


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
    by_method = [
        run.rate(f"methods: {method}", few, task="cseval", aspect=("relevance",), rating_method=method, **more)
        for method in methods
        for more in [further.get(method, {})]
    ]
    run.rows("kn-conan", "pairs", "train")
    how: dict[str, Any] = {"rating_method": "grounded", "background": run.data / "kn-conan"}
    grounded = run.rate("methods: grounded", few, task="grounded", **how)
    run.tables["grounded"] = grounded.groupby("aspect", sort=False)["value"].agg(["count", "mean", "std"]).reset_index()
    by_method.append(grounded[grounded["aspect"] == "relatedness"].assign(aspect="relevance"))
    for name, table, part in (("rating", replies, rubric), ("methods", few, [rubric[0], *by_method])):
        rows = pd.concat([*known, *part])
        rows = rows[rows["reply_id"].isin(table["reply_id"])]
        if name == "methods":
            rows = rows[rows["aspect"] == "relevance"]
        rows = rows.drop(columns=["item_id", "system"])
        how = {"level": ("pooled",), "coefficient": ("spearman",), "bootstrap": Bootstrap(RESAMPLES)}
        found = fcconan.correlate(rows, replies=table, **how)
        run.tables[name] = found.shown("correlations").drop(columns=["level", "coefficient"], errors="ignore")
        own = pd.concat(part)
        unread = own.assign(reason=own["reason"].fillna("read")).groupby(["rater", "reason"]).size()
        run.tables[f"{name}_answers"] = unread.rename("n").reset_index()
    costs = pd.DataFrame(run.times).T.filter(regex="^(methods|rating)", axis=0)
    per_request = costs[["seconds", "tokens"]].div(costs["requests"], axis=0).round(1)
    run.tables["methods_times"] = costs[["requests"]].join(per_request).rename_axis("method").reset_index()


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


def retrieval(run: Run) -> None:
    """Benchmarks retrieval on FC-CONAN."""
    fixed = ["tfidf", "bm25", "sbert-minilm", "sbert-mpnet", "qwen-zero-shot"]
    further = {
        "paper": [],
        "sound": ["popularity"],
        "cross-validated": ["popularity", "supervised", "supervised-mpnet"],
    }
    failures = []
    for protocol, more in further.items():
        how: dict[str, Any] = {"suite": suite(run), "protocol": protocol, "endpoint": ENDPOINT}
        if protocol != "paper":
            how |= {"baseline": ("sbert-minilm",), "metric": ("ndcg@10",)}
        found = run.timed(
            f"retrieval: {protocol}", partial(fcconan.bench, run.data / "fc-conan", system=[*fixed, *more], **how)
        )
        failures.append(found.to_frame("failures").assign(protocol=protocol))
        if protocol == "paper":
            run.tables["retrieval_paper"] = found.shown("tiers")
        else:
            judged = found.shown("judged_only")
            run.tables[f"retrieval_{protocol}"] = found.shown("systems")
            run.tables[f"retrieval_{protocol}_judged"] = judged[judged["partition"].isin(["silver", "bronze"])]
            run.tables[f"retrieval_{protocol}_message_auc"] = found.shown("message_auc")
    run.tables["retrieval_failures"] = pd.concat(failures)


def reranking(run: Run) -> None:
    """Re-ranks the first 25 CNs under the protocol of the paper."""
    systems = ["sbert-minilm", "sbert-mpnet", "rr25-1-minilm-qwen", "rr25-2-mpnet-qwen"]
    how: dict[str, Any] = {"suite": suite(run), "protocol": "paper", "endpoint": ENDPOINT}
    found = run.timed("reranking", partial(fcconan.bench, run.data / "fc-conan", system=systems, **how))
    run.tables["reranking"] = found.shown("tiers")
    run.tables["reranking_failures"] = found.to_frame("failures")


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
        command = ["/usr/bin/env", sys.executable, "-m", "fcconan", *map(str, words)]
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
    measured = fcconan.metrics(replies[replies["text"].notna()], metric=wanted, novelty_against=pairs).to_frame()
    wide = measured.pivot(index="system", columns="metric", values="value")[[*wanted]]
    about = counts.set_index("system")[["n", "n_missing", "refusals", "truncated"]]
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
    found = run.timed("comparing", lambda: fcconan.compare(replies, model=QWEN, endpoint=ENDPOINT))
    own = found.to_frame("comparisons").assign(key=lambda rows: rows["item_id"])
    released = run.rows("cn-ranking", "comparisons", "judgelm")
    released = released.assign(key=keys(released))
    ids = pd.concat(sides).set_index(["item_id", "system"])["reply_id"]
    verdicts = [own, *(rows for _, rows in released[released["key"].isin(pairs["key"])].groupby("rater"))]
    rows = []
    for each in verdicts:
        given = pairs["key"].map(pd.Series(winners(each).to_numpy(), index=each["key"].to_numpy()))
        rows.append({"rater": each["rater"].iloc[0], **agreement(given, pairs["people"], pairs["item_id"])})
    run.tables["comparing"] = pd.DataFrame(rows)
    run.tables["comparing_orders"] = found.to_frame("raters")
    people = pairs.assign(rater="people", rater_kind="human")
    judged = pd.concat([*verdicts, people], ignore_index=True).assign(item_id=lambda rows: rows["key"])
    for side in ("a", "b"):
        judged[f"reply_{side}"] = ids.loc[[*zip(judged["key"], judged[f"system_{side}"], strict=True)]].to_numpy()
    checks = fcconan.audit(comparisons=judged, replies=replies, bootstrap=Bootstrap(RESAMPLES)).shown("checks")
    run.tables["comparing_biases"] = checks[checks["check"].isin(["length_wins", "first_position_wins"])]


def tournament(run: Run, generated: pd.DataFrame) -> None:
    """Ranks the generated replies among those of cn-ranking, by the learned rater and by Qwen."""
    replies = pd.concat([messages_of(run)[1], generated[generated["text"].notna()]], ignore_index=True)
    replies = replies[["reply_id", "item_id", "hate_speech", "text", "system"]]
    ids = replies["reply_id"].to_numpy()
    # Equal replies of two systems are one reply each.
    replies["reply_id"] = replies["item_id"] + " " + replies["system"]
    rubric = run.rate("tournament", replies, task="cseval", aspect=("suitableness",))
    by_features = fcconan.rate(replies, model="learned:cseval", aspect=("suitableness",)).to_frame("ratings")
    ratings = pd.concat([rubric, by_features], ignore_index=True)
    released = replies["system"].isin(messages_of(run)[1]["system"]).to_numpy()
    run.grades = {"Qwen, suitableness": dict(zip(ids[released], rubric["value"][released], strict=True))}
    ranked = fcconan.rank(ratings, aspect=("suitableness",), bootstrap=Bootstrap(RESAMPLES))
    means = ranked.to_frame("systems").pivot(index="system", columns="rater", values="value")
    places = means.rank(ascending=False, method="min").add_prefix("place ").astype(int)
    shown = ranked.shown("systems")
    run.tables["tournament"] = shown
    run.tables["tournament_places"] = places.sort_values(places.columns[0]).reset_index()
    run.tables["tournament_tau"] = pd.DataFrame([{"tau": means.corr("kendall").iloc[0, 1], "systems": len(means)}])
    pairs, rows = decided(run), []
    for rater, own in ratings.groupby("rater"):
        values = own.set_index("reply_id")["value"]
        a, b = (values.reindex(pairs["item_id"] + " " + pairs[name]).to_numpy() for name in ("system_a", "system_b"))
        better = pairs["system_a"].where(a > b, pairs["system_b"]).mask(a == b, "tie").mask(np.isnan(a - b))
        rows.append({"rater": rater, **agreement(better, pairs["people"], pairs["item_id"])})
    run.tables["tournament_people"] = pd.DataFrame(rows)


# Part -> title, commands, and the tables with their captions.
SECTIONS: dict[str, tuple[str, str, dict[str, str]]] = {
    "retrieval": (
        "Retrieval",
        "`fcconan bench fc-conan --protocol PROTOCOL`; intervals over 45 HS. Qwen replaces GPT-4o.",
        {
            "retrieval_paper": "Protocol `paper`: average, minimum, maximum and CV (percent) over tiers, as in Table 4",
            "retrieval_sound": "Protocol `sound`: NDCG@10",
            "retrieval_sound_judged": "Protocol `sound`: NDCG@10 on judged CNs only",
            "retrieval_cross-validated": "Protocol `cross-validated`: NDCG@10",
            "retrieval_cross-validated_judged": "Protocol `cross-validated`: NDCG@10 on judged CNs only",
            "retrieval_cross-validated_message_auc": "Message AUC, and its differences from MiniLM",
            "retrieval_failures": "Answers that could not be read",
        },
    ),
    "reranking": (
        "Re-ranking",
        "`fcconan bench fc-conan --protocol paper`; Qwen re-ranks 25 CNs of MiniLM (system 1) and of MPNET (system 2).",
        {
            "reranking": "Average, minimum, maximum and CV (percent) over tiers, as in Table 4",
            "reranking_failures": "Answers that could not be read",
        },
    ),
    "generation": (
        "Generation",
        "`fcconan generate MESSAGES --model MODEL --strategy STRATEGY` and `fcconan metrics`; 20 messages.",
        {"generation": "Replies to 20 messages. `reference` has no reference left for BLEU and ROUGE"},
    ),
    "finetuning": (
        "Fine-tuning",
        "Gemma 3 270M (base): `fcconan finetune PAIRS --model FOLDER --max-steps 200 --batch-size 4`.",
        {
            "finetuning": "Perplexity of held-out pairs, before (step 0) and after; time and memory of the run",
            "finetuning_pairs": "Pairs",
        },
    ),
    "rating": (
        "Rating",
        "`fcconan judge rate REPLIES --task cseval --aspect ASPECT`; Spearman's correlation with people over 100 rows.",
        {
            "rating": "Correlation with people",
            "rating_answers": "Answers",
        },
    ),
    "methods": (
        "Rating methods",
        "`fcconan judge rate REPLIES --task cseval --aspect relevance --rating-method METHOD`; 30 of the 100 rows.",
        {
            "methods": "Correlation with people's relevance",
            "methods_answers": "Answers",
            "methods_times": "Requests",
            "grounded": "Grades of the grounded judge: number, mean and standard deviation",
        },
    ),
    "calibration": (
        "Calibration (Auto-CSEval)",
        "`fcconan judge calibrate REPLIES --aspect relevance --trials 1 --keep 1`; 75 rows.",
        {
            "calibration": "Correlation with people on rows that the search has not seen",
            "calibration_gain": "Gain",
            "calibration_candidates": "Candidates, with their correlation on the second part",
        },
    ),
    "comparing": (
        "Comparing",
        "`fcconan judge compare REPLIES`, both orders; 100 pairs of cn-ranking that a majority of people decided.",
        {
            "comparing": "Agreement with the majority, a tie being half; intervals over eight messages",
            "comparing_orders": "Shares of the places of winners, and of flips",
            "comparing_biases": "Share of wins of the longer reply, and of the reply shown first",
        },
    ),
    "tournament": (
        "Tournament",
        "`fcconan judge rate REPLIES --task cseval --aspect suitableness` and `fcconan rank`; 20 messages. The learned "
        "rater leaves out replies to a message, or with a text, of its training.",
        {
            "tournament": "Mean suitableness of systems",
            "tournament_places": "Places",
            "tournament_tau": "Kendall's tau-b between both orders",
            "tournament_people": "Agreement with the majority of people in 244 pairs of eight messages; a tie is half",
        },
    ),
}
MODELS = f"""\
Qwen2.5-Coder-1.5B-Instruct (Q4_K_M, `{QWEN}`, Apache-2.0) ran behind llama-cpp-python's server
with temperature 0; Gemma 3 270M (base, converted from Q4_K_M), all-MiniLM-L6-v2 and all-mpnet-base-v2 on the same two
cores. Seconds include other work on the machine. Small models give modest results: the tables show that each step runs
with real weights. They hold no texts of the data and no generated replies. Intervals are 95 % intervals.

The command is `python benchmarks/real_models.py .venv-models`, after `make check-models`. It writes this page.

## Plan

The plan was committed before the first result.
"""


def write(run: Run) -> None:
    """Writes the page and the results of the parts that are finished."""
    done = {part: each for part, each in SECTIONS.items() if {*each[2]} <= {*run.tables}}
    page = f"# Real models\n\n{MODELS}\n{PLAN.read_text(encoding='utf-8').strip()}\n"
    if rest := [each[0] for part, each in SECTIONS.items() if part not in done]:
        page += f"\nNot finished yet: {', '.join(rest)}.\n"
    for part, (title, about, tables) in done.items():
        own = [each for name, each in run.times.items() if name.partition(":")[0] == part]
        sums = pd.DataFrame(own).sum()
        page += f"\n## {title}\n\n{about}"
        if own:
            page += f" {sums['requests']:.0f} timed requests; {sums['seconds'] / sums['requests']:.1f} s and "
            page += f"{sums['tokens'] / sums['requests']:.0f} tokens each."
        page += "\n" + "".join(f"\n{caption}:\n\n{to_markdown(run.tables[name])}" for name, caption in tables.items())
    PAGE.write_text(page, encoding="utf-8")
    tables = {
        name: json.loads(run.tables[name].to_json(orient="records")) for each in done.values() for name in each[2]
    }
    RESULTS.write_text(json.dumps({"tables": tables, "cn_ranking": run.grades}, indent=1) + "\n", encoding="utf-8")


def main(environment: Path) -> None:
    """Runs all parts, and writes the page after each."""
    run = Run(environment)
    with serving(environment):
        steps = calibration(run)
        write(run)
        rating(run, steps)
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
