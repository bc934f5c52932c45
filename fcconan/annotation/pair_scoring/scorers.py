"""What scores a product of HS and CNs: vectors that are made once, a retrieval system, or a judge.

A scorer is prepared once, into files; every process that writes shards opens these and scores one block of pairs at a
time. The score of a pair does not depend on the block that it is in, as far as the system or judge behind it goes.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

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
    """The scores of some HS with some CNs.

    Attributes:
        scores: Of shape (HS, CNs); nan where there is none.
        reasons: Why there is none, by position in the flattened scores.
    """

    scores: npt.NDArray[np.float32]
    reasons: Mapping[int, str]


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


class Scores(Protocol):
    """A prepared scorer, opened."""

    def block(self, hs: range, cn: range, journal: Path) -> Block:
        """Scores HS with CNs, by their positions.

        Args:
            hs: The HS.
            cn: The CNs.
            journal: Where paid answers are kept.

        Raises:
            InputError: It cannot, or only another time.
        """
        ...


class Scorer(Protocol):
    """Something that a product can be scored with.

    Attributes:
        configuration: All that changes the scores, as JSON-able values.
        needs_texts: Whether the texts themselves are needed when shards are written.
        rows_per_shard: As many pairs as are worth losing when a worker is killed.
    """

    configuration: dict[str, Any]
    needs_texts: bool
    rows_per_shard: int

    def prepare(self, hs: Sequence[str], cn: Sequence[str], folder: Path) -> None:
        """Writes into a folder what scoring needs beside the lists.

        Raises:
            InputError: It cannot.
        """
        ...


class VectorScorer:
    """The cosine of dense vectors.

    Args:
        encoder: Makes the vectors.
    """

    needs_texts = False
    rows_per_shard = 1_000_000

    def __init__(self, encoder: "Encoder") -> None:
        self._encoder = encoder
        self.configuration: dict[str, Any] = {"kind": "dense", "encoder": dict(encoder.configuration)}

    def prepare(self, hs: Sequence[str], cn: Sequence[str], folder: Path) -> None:
        """Encodes all texts."""
        np.save(folder / "hs.npy", self._encoder.encode(hs, role="query"))
        np.save(folder / "cn.npy", self._encoder.encode(cn, role="document"))


class TfIdfScorer:
    """The cosine of TF-IDF vectors, fitted on the CNs.

    Args:
        options: Arguments of scikit-learn's `TfidfVectorizer`.
    """

    needs_texts = False
    rows_per_shard = 1_000_000

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        self._options = dict(options or {})
        self.configuration: dict[str, Any] = {"kind": "tfidf", "fit_on": "the CNs", "options": self._options}

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


class SystemScorer:
    """Any retrieval system that ranks the whole list of CNs: its scores.

    Args:
        name: The system, of `benchmarks/retrieval.yaml` or `module:factory`.
        configuration: What the system says of itself.
    """

    needs_texts = True
    rows_per_shard = 100_000

    def __init__(self, name: str, configuration: Mapping[str, Any]) -> None:
        self.configuration: dict[str, Any] = {"kind": "system", "system": name, "configuration": dict(configuration)}

    def prepare(self, hs: Sequence[str], cn: Sequence[str], folder: Path) -> None:
        """Nothing: the system is made where shards are written."""


class JudgeScorer:
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
        self.configuration: dict[str, Any] = {
            "kind": "judge",
            "task": self._asked["task"],
            "judge": json.loads(json.dumps(judge.configuration, default=str)),
        }

    def model(self, journal: Path) -> "Model":
        """Returns the model that is asked, with the answers that it gave before."""
        return _model(self._asked["model"], self._asked["base_url"], journal, Asking())

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


def opened(configuration: Mapping[str, Any], folder: Path, texts: Texts, asking: Asking) -> Scores:
    """Opens a prepared scorer.

    Args:
        configuration: Of the scorer.
        folder: Into which it was prepared.
        texts: The two lists.
        asking: How a judge's endpoint is asked.

    Raises:
        InputError: It cannot be opened.
    """
    kind = configuration["kind"]
    if kind == "dense":
        # Mapped, so that the processes of a machine share them.
        return _DenseScores(np.load(folder / "hs.npy", mmap_mode="r"), np.load(folder / "cn.npy", mmap_mode="r"))
    if kind == "tfidf":
        from scipy.sparse import load_npz

        return _SparseScores(load_npz(folder / "hs.npz").tocsr(), load_npz(folder / "cn.npz").tocsr())
    if kind == "judge":
        asked = json.loads((folder / _JUDGE).read_text(encoding="utf-8"))
        return _JudgeScores(asked, texts, asking)
    return _SystemScores(configuration["system"], texts)


@dataclass(frozen=True)
class _DenseScores:
    hs: npt.NDArray[np.float32]
    cn: npt.NDArray[np.float32]

    def block(self, hs: range, cn: range, journal: Path) -> Block:
        # Summed in 64 bits and rounded once: kernels of other processors then differ in no bit that is kept.
        asked = self.hs[hs.start : hs.stop].astype(np.float64)
        scores = np.empty((len(hs), len(cn)), dtype=np.float32)
        for start in range(cn.start, cn.stop, _CNS_AT_ONCE):
            stop = min(start + _CNS_AT_ONCE, cn.stop)
            scores[:, start - cn.start : stop - cn.start] = asked @ self.cn[start:stop].astype(np.float64).T
        return Block(scores, {})


@dataclass(frozen=True)
class _SparseScores:
    hs: Any
    cn: Any

    def block(self, hs: range, cn: range, journal: Path) -> Block:
        product = self.hs[hs.start : hs.stop] @ self.cn[cn.start : cn.stop].T
        return Block(product.toarray().astype(np.float32), {})


class _SystemScores:
    def __init__(self, name: str, texts: Texts) -> None:
        from fcconan.retrieval import Maker, load_suite

        self._system, self._texts = Maker(load_suite(), ()).make(name), texts

    def block(self, hs: range, cn: range, journal: Path) -> Block:
        from fcconan.retrieval import rank_all

        queries = dict(self._texts("hs", hs))
        corpus = dict(self._texts("cn", None))  # always the whole list: weights of words follow from it
        places = {key: place for place, key in enumerate(corpus)}
        scores = np.full((len(hs), len(corpus)), np.nan, dtype=np.float32)
        ranked = rank_all(self._system, queries, corpus, len(corpus))
        reasons: dict[int, str] = {}
        for row, query in enumerate(queries):
            for key, score in ranked.get(query, ()):
                scores[row, places[key]] = score
            reason = ranked.failures.get(query, UNSCORED)
            left_out = np.flatnonzero(np.isnan(scores[row, cn.start : cn.stop]))
            reasons |= {row * len(cn) + place: reason for place in left_out.tolist()}
        return Block(np.ascontiguousarray(scores[:, cn.start : cn.stop]), reasons)


@dataclass(frozen=True)
class _JudgeScores:
    asked: dict[str, Any]
    texts: Texts
    asking: Asking

    def block(self, hs: range, cn: range, journal: Path) -> Block:
        journal.parent.mkdir(parents=True, exist_ok=True)
        judge = _judge(self.asked, _model(self.asked["model"], self.asked["base_url"], journal, self.asking))
        labels = [label.name for label in judge.plan.task.labels]
        scores = np.full(len(hs) * len(cn), np.nan, dtype=np.float32)
        reasons: dict[int, str] = {}
        for place, (row,) in enumerate(judge.rate(pairs_of(self.texts("hs", hs), self.texts("cn", cn)))):
            value = row["label"] if labels else row["value"]
            if value is None:
                reasons[place] = row["reason"] or NO_VALUE
            else:
                scores[place] = labels.index(value) / (len(labels) - 1) if labels else value
        if judge.failed:
            # Written down, they would never be asked again.
            raise InputError(
                f"{judge.failed} requests had no answer for a reason that may pass: run the same command again, which "
                "asks for these only"
            )
        return Block(scores.reshape(len(hs), len(cn)), reasons)


def pairs_of(hs: Iterable[tuple[str, str]], cn: Sequence[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    """Yields the rows that a judge is asked about, from ids and texts."""
    for hs_key, message in hs:
        for cn_key, text in cn:
            key = make_pair_id(hs_key, cn_key)
            yield {"pair_id": key, "reply_id": key, "hate_speech": message, "text": text}


def _judge(asked: Mapping[str, Any], model: "Model") -> "ModelJudge":
    from fcconan.judging import ModelJudge, Plan, Task

    plan = Plan(Task.model_validate(asked["task"]), asked["strategy"])
    return ModelJudge(model, plan)


def _model(name: str, base_url: str | None, journal: Path, asking: Asking) -> "Model":
    kind, _, rest = name.partition(":")
    if kind == "replay" and rest:
        from fcconan.models import ReplayModel

        return ReplayModel(Path(rest))
    if kind == "local" and rest:
        from fcconan.models import LocalModel

        model = LocalModel(rest, journal=journal)
        model.origins = asking.origins or model.origins
        return model
    from fcconan.models import Client, EndpointModel

    client = Client(
        journal=journal,
        base_url=base_url,
        concurrency=asking.concurrency,
        retries=asking.retries,
        timeout=asking.timeout,
        budget=asking.budget,
    )
    client.origins = asking.origins or client.origins
    return EndpointModel(client, name)
