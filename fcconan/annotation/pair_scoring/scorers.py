"""Scorers of all pairs of HS and CNs: vectors that are computed once, a retrieval system, or a judge.

A scorer is prepared once and writes files. Every process that writes shards opens these files and scores one block of
pairs at a time. Scores do not depend on the block, as far as the system or judge allows.
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
UNSCORED = "not_scored"  # reason of pairs that a system left out of its ranking
NO_VALUE = "no_value"  # reason of judgements without a value and a reason
_JUDGE = "judge.json"
_CNS_AT_ONCE = 8_192  # dense vectors converted to 64 bits at a time
# (`hs` or `cn`, positions or None for all) -> ids and texts
Texts = Callable[[str, range | None], list[tuple[str, str]]]


@dataclass(frozen=True)
class Block:
    """The scores of some HS with all CNs.

    Attributes:
        scores: Scores, nan where missing; shape (HS, CNs).
        reasons: Reasons of missing scores, by position in the flattened scores.
    """

    scores: npt.NDArray[np.float32]
    reasons: Mapping[int, str]


# (positions of HS, file of a judge's paid answers) -> scores of these HS with all CNs
ScoreBlock = Callable[[range, Path], Block]


@dataclass(frozen=True)
class RequestSettings:
    """The settings of requests to a judge's endpoint, which do not affect scores.

    Attributes:
        concurrency: Number of simultaneous requests of each process.
        retries: Number of retries of a failed request.
        timeout: Seconds without data after which a request fails.
        budget: Counter of usage, with an optional limit of its cost; it cannot be sent to other processes.
        origins: Counter of the origins of answers; it cannot be sent to other processes.
    """

    concurrency: int = 8
    retries: int = 4
    timeout: float = 60.0
    budget: "Budget | None" = None
    origins: "Origins | None" = None


class Scorer:
    """A scorer of pairs.

    Attributes:
        configuration: Values that affect the scores, serialisable as JSON; `kind` is a key of `KINDS`.
        needs_texts: Whether writing shards needs the texts.
        rows_per_shard: Number of pairs in a shard; an interrupted shard is computed again.
    """

    configuration: dict[str, Any]
    needs_texts = False
    rows_per_shard = 1_000_000

    def prepare(self, hs: Sequence[str], cn: Sequence[str], folder: Path) -> None:
        """Writes the files that scoring needs in addition to the lists.

        Args:
            hs: Texts of the HS.
            cn: Texts of the CNs.
            folder: Output folder.

        Raises:
            InputError: The scorer cannot be prepared.
        """


class VectorScorer(Scorer):
    """Cosine similarity of dense vectors.

    Args:
        encoder: Encoder of the texts.
    """

    def __init__(self, encoder: "Encoder") -> None:
        self._encoder = encoder
        self.configuration = {"kind": "dense", "encoder": dict(encoder.configuration)}

    def prepare(self, hs: Sequence[str], cn: Sequence[str], folder: Path) -> None:
        """Encodes all texts."""
        np.save(folder / "hs.npy", self._encoder.encode(hs, role="query"))
        np.save(folder / "cn.npy", self._encoder.encode(cn, role="document"))


class TfIdfScorer(Scorer):
    """Cosine similarity of TF-IDF vectors, fitted on the CNs.

    Args:
        options: Arguments of scikit-learn's `TfidfVectorizer`.
    """

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        self._options = dict(options or {})
        self.configuration = {"kind": "tfidf", "fit_on": "the CNs", "options": self._options}

    def prepare(self, hs: Sequence[str], cn: Sequence[str], folder: Path) -> None:
        """Fits the vectoriser and computes the vectors.

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
    """Scores of a retrieval system that ranks all CNs. The system is created by the processes that write shards.

    Args:
        name: Name of the system in `benchmarks/retrieval.yaml`, or `module:factory`.
        configuration: Configuration of the system.
    """

    needs_texts = True
    rows_per_shard = 100_000

    def __init__(self, name: str, configuration: Mapping[str, Any]) -> None:
        self.configuration = {"kind": "system", "system": name, "configuration": dict(configuration)}


class JudgeScorer(Scorer):
    """Answers of a model about every pair: the grade of one aspect, or the label as a value from 0 to 1.

    Labels are equally spaced in the task's order: the first is 0, the last 1.

    Args:
        task: A task with labels, or with one aspect.
        model: Name of a model at the endpoint, `local:FOLDER` or `replay:FILE`.
        strategy: Strategy of the judge.
        base_url: Address of the endpoint; by default OPENAI_BASE_URL, then OpenAI.

    Raises:
        InputError: The task has several aspects, or the model cannot be used.
    """

    needs_texts = True
    rows_per_shard = 10_000

    def __init__(self, task: "Task", model: str, *, strategy: str = "rubric", base_url: str | None = None) -> None:
        if len(task.aspects) > 1:
            names = ", ".join(aspect.name for aspect in task.aspects)
            raise InputError(f"the task {task.name} has the aspects {names}, expected one: choose it with --aspect")
        if base_url and (address := endpoint_address(base_url)).user is not None:
            raise InputError(
                f"--base-url: the address {address.url} has a user name and a password, which the folder of the scores "
                "would store: leave --base-url out and set OPENAI_BASE_URL to the whole address"
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
        """Returns the model, with stored answers.

        Args:
            journal: File of stored answers.
        """
        return _model(self._asked, journal, RequestSettings())

    def judge(self, model: "Model") -> "ModelJudge":
        """Returns the judge of a model."""
        return _judge(self._asked, model)

    def prepare(self, hs: Sequence[str], cn: Sequence[str], folder: Path) -> None:
        """Writes the configuration of the judge."""
        (folder / _JUDGE).write_text(json.dumps(self._asked, ensure_ascii=False), encoding="utf-8")


def make_scorer(name: str) -> Scorer:
    """Returns a scorer other than a judge.

    Args:
        name: `tfidf`, `minilm`, the folder or name of a sentence-transformers model, another system of
            `benchmarks/retrieval.yaml`, or `module:factory`.

    Raises:
        InputError: The scorer is not found, or has no meaningful scores of single pairs.
    """
    from fcconan.retrieval import Dense, Random, SystemFactory, TfIdf, load_suite

    suite = load_suite()
    maker = SystemFactory(suite, ())
    folder_or_hub = name == MINILM or Path(name).is_dir() or ("/" in name and ":" not in name)
    system = maker.dense(name) if folder_or_hub and name not in suite.systems else maker.make(name)
    if isinstance(system, Dense):
        return VectorScorer(system.encoder)
    if isinstance(system, TfIdf):
        return TfIdfScorer(system.options)
    if isinstance(system, Random):
        raise InputError("scores of single pairs cannot be random: sample pairs with `fcconan annotate new`")
    return SystemScorer(name, getattr(system, "configuration", {}))


def _dense_scores(configuration: Mapping[str, Any], folder: Path, texts: Texts, asking: RequestSettings) -> ScoreBlock:
    # Memory-mapped: the processes of a machine share the vectors.
    all_hs, all_cns = (np.load(folder / f"{side}.npy", mmap_mode="r") for side in ("hs", "cn"))

    def score(hs: range, journal: Path) -> Block:
        # Summed in 64 bits and rounded once, so that the result is the same on all processors.
        asked = all_hs[hs.start : hs.stop].astype(np.float64)
        scores = np.empty((len(hs), len(all_cns)), dtype=np.float32)
        for start in range(0, len(all_cns), _CNS_AT_ONCE):
            cns = slice(start, start + _CNS_AT_ONCE)
            scores[:, cns] = asked @ all_cns[cns].astype(np.float64).T
        return Block(scores, {})

    return score


def _sparse_scores(configuration: Mapping[str, Any], folder: Path, texts: Texts, asking: RequestSettings) -> ScoreBlock:
    from scipy.sparse import load_npz

    all_hs, all_cns = (load_npz(folder / f"{side}.npz").tocsr() for side in ("hs", "cn"))

    def score(hs: range, journal: Path) -> Block:
        product = all_hs[hs.start : hs.stop] @ all_cns.T
        return Block(product.toarray().astype(np.float32), {})

    return score


def _system_scores(configuration: Mapping[str, Any], folder: Path, texts: Texts, asking: RequestSettings) -> ScoreBlock:
    from fcconan.retrieval import SystemFactory, load_suite, rank_all

    system = SystemFactory(load_suite(), ()).make(configuration["system"])

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


def _judge_scores(configuration: Mapping[str, Any], folder: Path, texts: Texts, asking: RequestSettings) -> ScoreBlock:
    asked = json.loads((folder / _JUDGE).read_text(encoding="utf-8"))

    def score(hs: range, journal: Path) -> Block:
        journal.parent.mkdir(parents=True, exist_ok=True)
        judge = _judge(asked, _model(asked, journal, asking))
        labels = [label.name for label in judge.plan.task.labels]
        cns = texts("cn", None)
        scores = np.full(len(hs) * len(cns), np.nan, dtype=np.float32)
        reasons: dict[int, str] = {}
        for place, (row,) in enumerate(judge.rate(pair_rows(texts("hs", hs), cns))):
            value = row["label"] if labels else row["value"]
            if value is None:
                reasons[place] = row["reason"] or NO_VALUE
            else:
                scores[place] = labels.index(value) / (len(labels) - 1) if labels else value
        if judge.failed:
            # Missing answers would be final in a finished shard.
            raise InputError(f"{judge.failed} requests had no answer: run the same command again to repeat them")
        return Block(scores.reshape(len(hs), len(cns)), reasons)

    return score


KINDS = {"dense": _dense_scores, "tfidf": _sparse_scores, "system": _system_scores, "judge": _judge_scores}


def open_scorer(configuration: Mapping[str, Any], folder: Path, texts: Texts, asking: RequestSettings) -> ScoreBlock:
    """Opens a prepared scorer.

    Args:
        configuration: Configuration of the scorer.
        folder: Folder of the prepared files.
        texts: Function that returns the lists.
        asking: Settings of requests to a judge's endpoint.

    Returns:
        A function that scores a block of pairs.

    Raises:
        InputError: The scorer cannot be opened.
    """
    return KINDS[configuration["kind"]](configuration, folder, texts, asking)


def pair_rows(hs: Iterable[tuple[str, str]], cn: Sequence[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    """Yields the rows for a judge, from ids and texts."""
    for hs_key, message in hs:
        for cn_key, text in cn:
            key = make_pair_id(hs_key, cn_key)
            yield {"pair_id": key, "reply_id": key, "hate_speech": message, "text": text}


def _judge(asked: Mapping[str, Any], model: "Model") -> "ModelJudge":
    from fcconan.judging import ModelJudge, RatingPlan, Task

    return ModelJudge(model, RatingPlan(Task.model_validate(asked["task"]), asked["strategy"]))


def _model(asked: Mapping[str, Any], journal: Path, asking: RequestSettings) -> "Model":
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
