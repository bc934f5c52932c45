"""What scores a product of HS and CNs: vectors that are made once, a retrieval system, or a judge.

A scorer is prepared once, into files; every process that writes shards opens these and scores one block of pairs at a
time. The score of a pair does not depend on the block that it is in, as far as the system or judge behind it goes.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fcconan.data import endpoint_address, make_pair_id
from fcconan.errors import InputError

if TYPE_CHECKING:
    from fcconan.judging import ModelJudge, Task
    from fcconan.models import Budget, Model, Origins
    from fcconan.retrieval import Encoder

MINILM = "minilm"
UNSCORED = "not_scored"  # the reason of a pair that a system left out of its ranking
NO_VALUE = "no_value"  # of one that a judge left without saying why
_JUDGE = "judge.json"
_CNS_AT_ONCE = 8_192  # of dense vectors, which are widened to 64 bits for the product
# `hs` or `cn`, and positions or None for all -> ids and texts.
Texts = Callable[[str, range | None], list[tuple[str, str]]]


@dataclass(frozen=True)
class Block:
    """The scores of some HS with all CNs.

    Attributes:
        scores: Of shape (HS, CNs); nan where there is none.
        reasons: Why there is none, by position in the flattened scores.
    """

    scores: npt.NDArray[np.float32]
    reasons: Mapping[int, str]


# Scores HS, by their positions, with all CNs; the file keeps the answers that a judge paid for.
ScoreBlock = Callable[[range, Path], Block]


@dataclass(frozen=True)
class Asking:
    """How a judge's endpoint is asked, which changes no score.

    Attributes:
        concurrency: Requests at once, of each process.
        retries: Tries after a failed request.
        timeout: Seconds without a sign of the endpoint.
        budget: Counts what is used, and may limit its cost. It cannot travel to other processes.
        origins: Counts where the answers came from. It cannot travel, either.
    """

    concurrency: int = 8
    retries: int = 4
    timeout: float = 60.0
    budget: "Budget | None" = None
    origins: "Origins | None" = None


class Scorer:
    """Something that a product can be scored with.

    Attributes:
        configuration: All that changes the scores, as JSON-able values; its `kind` is a key of `KINDS`.
        needs_texts: Whether the texts themselves are needed when shards are written.
        rows_per_shard: As many pairs as are worth losing when a worker is killed.
    """

    configuration: dict[str, Any]
    needs_texts = False
    rows_per_shard = 1_000_000

    def prepare(self, hs: Sequence[str], cn: Sequence[str], folder: Path) -> None:
        """Writes into a folder what scoring needs beside the lists.

        Raises:
            InputError: It cannot.
        """


class VectorScorer(Scorer):
    """The cosine of dense vectors.

    Args:
        encoder: Makes the vectors.
    """

    def __init__(self, encoder: "Encoder") -> None:
        self._encoder = encoder
        self.configuration = {"kind": "dense", "encoder": dict(encoder.configuration)}

    def prepare(self, hs: Sequence[str], cn: Sequence[str], folder: Path) -> None:
        """Encodes all texts."""
        np.save(folder / "hs.npy", self._encoder.encode(hs, role="query"))
        np.save(folder / "cn.npy", self._encoder.encode(cn, role="document"))


class TfIdfScorer(Scorer):
    """The cosine of TF-IDF vectors, fitted on the CNs.

    Args:
        options: Arguments of scikit-learn's `TfidfVectorizer`.
    """

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        self._options = dict(options or {})
        self.configuration = {"kind": "tfidf", "fit_on": "the CNs", "options": self._options}

    def prepare(self, hs: Sequence[str], cn: Sequence[str], folder: Path) -> None:
        """Fits, and makes the vectors.

        Raises:
            InputError: No CN has a word.
        """
        from scipy.sparse import save_npz
        from sklearn.feature_extraction.text import TfidfVectorizer

        vectoriser = TfidfVectorizer(**self._options)
        try:
            catalogue = vectoriser.fit_transform(cn)
        except ValueError as error:
            raise InputError(f"TF-IDF cannot be fitted ({error}): give CNs with words of two letters or more") from None
        save_npz(folder / "hs.npz", vectoriser.transform(hs))
        save_npz(folder / "cn.npz", catalogue)


class SystemScorer(Scorer):
    """Any retrieval system that ranks the whole list of CNs: its scores. It is made where shards are written.

    Args:
        name: The system, of `benchmarks/retrieval.yaml` or `module:factory`.
        configuration: What the system says of itself.
    """

    needs_texts = True
    rows_per_shard = 100_000

    def __init__(self, name: str, configuration: Mapping[str, Any]) -> None:
        self.configuration = {"kind": "system", "system": name, "configuration": dict(configuration)}


class JudgeScorer(Scorer):
    """A judge that asks a model about every pair: its grade of one aspect, or its label as a share from 0 to 1.

    Labels count in the task's order: the first is 0, the last 1.

    Args:
        task: What is asked: a task with labels, or with one aspect.
        model: A name at the endpoint, `local:FOLDER` or `replay:FILE`.
        strategy: Of the judge.
        base_url: The endpoint; by default OPENAI_BASE_URL, then OpenAI.

    Raises:
        InputError: The task has several aspects, or the model cannot be asked for.
    """

    needs_texts = True
    rows_per_shard = 10_000

    def __init__(self, task: "Task", model: str, *, strategy: str = "rubric", base_url: str | None = None) -> None:
        if len(task.aspects) > 1:
            names = ", ".join(aspect.name for aspect in task.aspects)
            raise InputError(f"the task {task.name} has the aspects {names}, a score is of one: name it with --aspect")
        if base_url and (address := endpoint_address(base_url)).user is not None:
            raise InputError(
                f"--base-url: the address {address.url} has a user name and a password, which the folder of the scores "
                "would keep: leave --base-url out and set OPENAI_BASE_URL to the whole address"
            )
        self._asked: dict[str, Any] = {
            "task": task.model_dump(mode="json"),
            "model": model,
            "strategy": strategy,
            "base_url": base_url,
        }
        judge = self.judge(self.model(Path("never-written.sqlite")))
        self.configuration = {
            "kind": "judge",
            "task": self._asked["task"],
            "judge": json.loads(json.dumps(judge.configuration, default=str)),
        }

    def model(self, journal: Path) -> "Model":
        """Returns the model that is asked, with the answers that it gave before."""
        return _model(self._asked, journal, Asking())

    def judge(self, model: "Model") -> "ModelJudge":
        """Returns the judge that asks a model."""
        return _judge(self._asked, model)

    def prepare(self, hs: Sequence[str], cn: Sequence[str], folder: Path) -> None:
        """Writes down what is asked."""
        (folder / _JUDGE).write_text(json.dumps(self._asked, ensure_ascii=False), encoding="utf-8")


def named(name: str) -> Scorer:
    """Returns a scorer that is no judge.

    Args:
        name: `tfidf`, `minilm`, the folder or name of a sentence-transformers model, another system of
            `benchmarks/retrieval.yaml`, or `module:factory`.

    Raises:
        InputError: There is no such scorer, or its scores would mean nothing.
    """
    from fcconan.retrieval import Dense, Maker, Random, TfIdf, load_suite

    suite = load_suite()
    maker = Maker(suite, ())
    folder_or_hub = name == MINILM or Path(name).is_dir() or ("/" in name and ":" not in name)
    system = maker.dense(name) if folder_or_hub and name not in suite.systems else maker.make(name)
    if isinstance(system, Dense):
        return VectorScorer(system.encoder)
    if isinstance(system, TfIdf):
        return TfIdfScorer(system.options)
    if isinstance(system, Random):
        raise InputError("random scores mean nothing for a pair: draw pairs with `fcconan annotate new`")
    return SystemScorer(name, getattr(system, "configuration", {}))


def _dense_scores(configuration: Mapping[str, Any], folder: Path, texts: Texts, asking: Asking) -> ScoreBlock:
    # Mapped, so that the processes of a machine share them.
    all_hs, all_cns = (np.load(folder / f"{side}.npy", mmap_mode="r") for side in ("hs", "cn"))

    def score(hs: range, journal: Path) -> Block:
        # Summed in 64 bits and rounded once: kernels of other processors then differ in no bit that is kept.
        asked = all_hs[hs.start : hs.stop].astype(np.float64)
        scores = np.empty((len(hs), len(all_cns)), dtype=np.float32)
        for start in range(0, len(all_cns), _CNS_AT_ONCE):
            cns = slice(start, start + _CNS_AT_ONCE)
            scores[:, cns] = asked @ all_cns[cns].astype(np.float64).T
        return Block(scores, {})

    return score


def _sparse_scores(configuration: Mapping[str, Any], folder: Path, texts: Texts, asking: Asking) -> ScoreBlock:
    from scipy.sparse import load_npz

    all_hs, all_cns = (load_npz(folder / f"{side}.npz").tocsr() for side in ("hs", "cn"))

    def score(hs: range, journal: Path) -> Block:
        product = all_hs[hs.start : hs.stop] @ all_cns.T
        return Block(product.toarray().astype(np.float32), {})

    return score


def _system_scores(configuration: Mapping[str, Any], folder: Path, texts: Texts, asking: Asking) -> ScoreBlock:
    from fcconan.retrieval import Maker, load_suite, rank_all

    system = Maker(load_suite(), ()).make(configuration["system"])

    def score(hs: range, journal: Path) -> Block:
        queries, corpus = dict(texts("hs", hs)), dict(texts("cn", None))
        places = {key: place for place, key in enumerate(corpus)}
        scores = np.full((len(hs), len(corpus)), np.nan, dtype=np.float32)
        ranked = rank_all(system, queries, corpus, len(corpus))
        reasons: dict[int, str] = {}
        for row, query in enumerate(queries):
            for key, value in ranked.get(query, ()):
                scores[row, places[key]] = value
            reason = ranked.failures.get(query, UNSCORED)
            left_out = np.flatnonzero(np.isnan(scores[row]))
            reasons |= {row * len(corpus) + place: reason for place in left_out.tolist()}
        return Block(scores, reasons)

    return score


def _judge_scores(configuration: Mapping[str, Any], folder: Path, texts: Texts, asking: Asking) -> ScoreBlock:
    asked = json.loads((folder / _JUDGE).read_text(encoding="utf-8"))

    def score(hs: range, journal: Path) -> Block:
        journal.parent.mkdir(parents=True, exist_ok=True)
        judge = _judge(asked, _model(asked, journal, asking))
        labels = [label.name for label in judge.plan.task.labels]
        cns = texts("cn", None)
        scores = np.full(len(hs) * len(cns), np.nan, dtype=np.float32)
        reasons: dict[int, str] = {}
        for place, (row,) in enumerate(judge.rate(pairs_of(texts("hs", hs), cns))):
            value = row["label"] if labels else row["value"]
            if value is None:
                reasons[place] = row["reason"] or NO_VALUE
            else:
                scores[place] = labels.index(value) / (len(labels) - 1) if labels else value
        if judge.failed:
            # Written down, they would never be asked again.
            raise InputError(f"{judge.failed} requests had no answer: run the same command again to send these")
        return Block(scores.reshape(len(hs), len(cns)), reasons)

    return score


KINDS = {"dense": _dense_scores, "tfidf": _sparse_scores, "system": _system_scores, "judge": _judge_scores}


def open_scorer(configuration: Mapping[str, Any], folder: Path, texts: Texts, asking: Asking) -> ScoreBlock:
    """Opens a prepared scorer.

    Args:
        configuration: Of the scorer.
        folder: Into which it was prepared.
        texts: The two lists.
        asking: How a judge's endpoint is asked.

    Returns:
        What scores a block of pairs.

    Raises:
        InputError: It cannot be opened.
    """
    return KINDS[configuration["kind"]](configuration, folder, texts, asking)


def pairs_of(hs: Iterable[tuple[str, str]], cn: Sequence[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    """Yields the rows that a judge is asked about, from ids and texts."""
    for hs_key, message in hs:
        for cn_key, text in cn:
            key = make_pair_id(hs_key, cn_key)
            yield {"pair_id": key, "reply_id": key, "hate_speech": message, "text": text}


def _judge(asked: Mapping[str, Any], model: "Model") -> "ModelJudge":
    from fcconan.judging import ModelJudge, RatingPlan, Task

    return ModelJudge(model, RatingPlan(Task.model_validate(asked["task"]), asked["strategy"]))


def _model(asked: Mapping[str, Any], journal: Path, asking: Asking) -> "Model":
    from fcconan.models import Client, EndpointModel, LocalModel, ReplayModel

    name = asked["model"]
    kind, _, rest = name.partition(":")
    if kind == "replay" and rest:
        return ReplayModel(Path(rest))
    if kind == "local" and rest:
        model = LocalModel(rest, journal=journal)
        model.origins = asking.origins or model.origins
        return model
    client = Client(
        journal=journal,
        base_url=asked["base_url"],
        concurrency=asking.concurrency,
        retries=asking.retries,
        timeout=asking.timeout,
        budget=asking.budget,
    )
    client.origins = asking.origins or client.origins
    return EndpointModel(client, name)
