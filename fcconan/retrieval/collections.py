"""Retrieval datasets: queries, catalogue, training pairs and judgements.

Systems receive queries, catalogue and training pairs. Judgements are read by `Collection.qrels` when runs are scored.
Protocol `paper` also reads them earlier, because they define its catalogue.
"""

import hashlib
import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from fcconan.building import table_path
from fcconan.data import (
    MANIFEST,
    TIERS,
    check_built,
    hub_release,
    is_hub_name,
    one_line,
    read_manifest,
    read_rows,
    read_table,
)
from fcconan.errors import InputError
from fcconan.retrieval.systems import TrainingPair
from fcconan.retrieval.trec import check_qrels, read_qrels

Qrels = dict[str, dict[str, int]]
BROADEST = TIERS[-1]
FULL = "the full catalogue"


@dataclass(frozen=True)
class Collection:
    """A retrieval dataset.

    Attributes:
        name: Name of the dataset.
        title: Title of the dataset.
        fingerprint: Hash of the content.
        queries: Query id -> text.
        corpus: Corpus id -> text: the catalogue.
        train: Training pairs.
        partitions: Name of a partition -> function that reads its qrels.
        synthetic: Whether the texts are synthetic.
        redistributable: Whether the texts may be redistributed.
        population: Description of the catalogue, such as "the full catalogue".
        train_left_out: Number of training pairs that `without_leakage` removed.
        confirmed: Name of a partition -> function that returns whether validators confirmed all its labels. Partitions
            without this information are absent.
    """

    name: str
    title: str
    fingerprint: str
    queries: Mapping[str, str]
    corpus: Mapping[str, str]
    train: tuple[TrainingPair, ...]
    partitions: Mapping[str, Callable[[], Qrels]]
    synthetic: bool = False
    redistributable: bool = False
    population: str = FULL
    train_left_out: int = 0
    confirmed: Mapping[str, Callable[[], bool]] = field(default_factory=dict)

    def qrels(self, partition: str) -> Qrels:
        """Reads the judgements of a partition.

        Raises:
            InputError: The judgements contain an unknown query or CN.
        """
        qrels = self.partitions[partition]()
        check_qrels(partition, qrels, self.queries, self.corpus, whole=self.population == FULL)
        return qrels

    def with_partition(self, name: str, read: Callable[[], Qrels]) -> "Collection":
        """Returns a copy with a further partition; a partition of the same name is replaced.

        Args:
            name: Name of the partition.
            read: Function that reads its judgements.
        """
        confirmed = {key: value for key, value in self.confirmed.items() if key != name}
        return replace(self, partitions={**self.partitions, name: read}, confirmed=confirmed)

    def without_leakage(self) -> "Collection":
        """Returns a copy for protocol `sound`: training pairs in the leakage group of a query are removed.

        Leakage groups depend on texts only; no judgement is read.
        """
        from fcconan.data import LeakageIndex, message_leakage_keys

        pairs = [message_leakage_keys(pair.hate_speech, [pair.counter_narrative]) for pair in self.train]
        groups = LeakageIndex(pairs, [pair.hate_speech for pair in self.train])
        leaking = {
            index for message in self.queries.values() for index in groups.of(message_leakage_keys(message), message)
        }
        train = tuple(pair for index, pair in enumerate(self.train) if index not in leaking)
        return replace(self, train=train, train_left_out=len(leaking))

    def pool(self) -> "Collection":
        """Returns a copy with the catalogue of protocol `paper`: the CNs with a positive in Bronze.

        Raises:
            InputError: The dataset has no tiers.
        """
        missing = [tier for tier in TIERS if tier not in self.partitions]
        if missing:
            raise InputError(
                f"{self.name} has no partition {missing[0]!r}, and protocol paper is defined on {', '.join(TIERS)}: "
                "use --protocol sound"
            )
        positive = {key for judged in self.qrels(BROADEST).values() for key, value in judged.items() if value > 0}
        corpus = {key: text for key, text in self.corpus.items() if key in positive}
        if not corpus:
            raise InputError(f"{self.name} has no positive in {BROADEST}: there is nothing to retrieve")
        return replace(self, corpus=corpus, population=f"the {len(corpus)} CNs with a positive in {BROADEST}")


def load_collection(dataset: str, *, shared_cn: bool = False) -> Collection:
    """Loads a retrieval dataset.

    Args:
        dataset: Folder of `fcconan build`, folder in BEIR format (`corpus.jsonl`, `queries.jsonl`, `qrels/*.tsv`), or
            folder or Hub name for `datasets.load_dataset`, with the configs `corpus`, `queries` and `qrels`.
        shared_cn: Whether training pairs that share a CN with the evaluation part are included, as in the paper.

    Raises:
        InputError: The dataset cannot be read or is not a retrieval dataset.
    """
    folder = (hub_release(dataset) if is_hub_name(dataset) else None) or Path(dataset)
    if folder.is_file():
        raise InputError(f"{folder} is a file: give the folder of a dataset")
    if (folder / MANIFEST).is_file():
        collection = _read_release(folder, shared_cn)
    elif (folder / "corpus.jsonl").is_file():
        collection = _read_beir(folder)
    else:
        collection = _read_hub_dataset(dataset)
    if not (collection.corpus and collection.queries and collection.partitions):
        raise InputError(
            f"{dataset} has {len(collection.corpus)} CNs to retrieve, {len(collection.queries)} queries and "
            f"{len(collection.partitions)} sets of qrels: give a dataset with all three, such as fc-conan or demo"
        )
    return collection


def _read_release(folder: Path, shared_cn: bool) -> Collection:
    manifest = read_manifest(folder)
    if manifest["labels_only"]:
        raise InputError(f"{folder} holds labels without texts: `fcconan hydrate {folder} --out DIR` adds the texts")
    counts, aliases = manifest["counts"], manifest.get("aliases", {})
    splits = [split for split in ("train", *(["shared_cn"] if shared_cn else [])) if split in counts.get("train", {})]
    qrels_configs = {tier: aliases.get(f"{tier}-qrels", f"{tier}-qrels") for tier in TIERS}
    qrels = {tier: config for tier, config in qrels_configs.items() if config in counts} or {"test": "qrels"}
    queries, corpus = (_read_texts(folder, config) if config in counts else {} for config in ("queries", "corpus"))
    return Collection(
        name=manifest["name"],
        title=manifest.get("title", manifest["name"]),
        fingerprint=manifest["fingerprint"],
        queries=queries,
        corpus=corpus,
        train=tuple(_read_pairs(folder, splits)),
        partitions={name: partial(_read_qrels, folder, config) for name, config in qrels.items() if config in counts},
        synthetic=manifest.get("synthetic", False),
        redistributable=manifest.get("redistributable", False),
        confirmed={tier: partial(_all_confirmed, folder, tier) for tier in qrels if tier in counts},
    )


def _read_config(folder: Path, config: str, split: str = "test") -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = read_table(folder / table_path(config, split)).to_pylist()
    return rows


def _read_texts(folder: Path, config: str) -> dict[str, str]:
    return {row["_id"]: row["text"] for row in _read_config(folder, config)}


def _read_pairs(folder: Path, splits: Iterable[str]) -> list[TrainingPair]:
    rows = [row for split in splits for row in _read_config(folder, "train", split)]
    rows.sort(key=lambda row: row.get("original_index") or 0)  # the released order, in which the splits alternate
    return [TrainingPair(row["hate_speech"], row["counter_narrative"]) for row in rows]


def _read_qrels(folder: Path, config: str) -> Qrels:
    return _as_qrels(_read_config(folder, config))


def _all_confirmed(folder: Path, tier: str) -> bool:
    """Returns whether all pairs of a tier are `valid`; False if this is unknown."""
    rows = _read_config(folder, tier) if (folder / table_path(tier, "test")).is_file() else []
    return bool(rows) and all(row.get("valid") is True for row in rows)


def _as_qrels(rows: list[dict[str, Any]]) -> Qrels:
    qrels: Qrels = {}
    for row in rows:
        qrels.setdefault(str(row["query-id"]), {})[str(row["corpus-id"])] = int(row["score"])
    return qrels


def _read_beir(folder: Path) -> Collection:
    files = {path.stem: path for path in sorted((folder / "qrels").glob("*.tsv"))}
    evaluated = [name for name in files if name == "test"] or [name for name in files if name != "train"]
    if not evaluated:
        raise InputError(f"{folder / 'qrels'} has no .tsv file for evaluation: add the file qrels/test.tsv of BEIR")
    sources = [folder / "corpus.jsonl", folder / "queries.jsonl"]
    corpus, queries = (_texts_by_id(str(path), read_rows(path)) for path in sources)
    judgements = {name: read_qrels(files[name]) for name in evaluated}
    judged = {query for qrels in judgements.values() for query in qrels}
    train = read_qrels(files["train"]) if "train" in files else {}
    train = {query: qrels for query, qrels in train.items() if query in queries and query not in judged}
    for name, qrels in {**judgements, "train": train}.items():
        check_qrels(name, qrels, queries, corpus, whole=True)
    digest = hashlib.sha256()
    for path in (*sources, *(files[name] for name in evaluated)):
        digest.update(path.read_bytes())
    return Collection(
        name=folder.resolve().name,
        title=folder.resolve().name,
        fingerprint=digest.hexdigest()[:12],
        queries={key: text for key, text in queries.items() if key in judged},
        corpus=corpus,
        train=tuple(
            TrainingPair(queries[query], corpus[key])
            for query, qrels in train.items()
            for key, value in qrels.items()
            if value > 0
        ),
        partitions={name: partial(judgements.__getitem__, name) for name in evaluated},
    )


def _texts_by_id(source: str, rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Returns the texts of a corpus or of queries by id, each with its title in front."""
    texts: dict[str, str] = {}
    for number, row in enumerate(rows, start=1):
        location = f"{source}, row {number}"
        text, title = row.get("text"), row.get("title") or ""
        if "_id" not in row or not isinstance(text, str) or not isinstance(title, str):
            raise InputError(
                f"{location}: found {', '.join(row)}; expected _id, and strings as text and title: correct the row"
            )
        key = str(row["_id"])
        if key in texts:
            raise InputError(f"{location}: the id {key!r} occurs twice: use unique ids")
        texts[key] = f"{title} {text}".strip()
    return texts


def _read_hub_dataset(dataset: str) -> Collection:
    """Reads a dataset with the configs of MTEB through `datasets`."""
    _check_is_dataset(dataset)
    import datasets

    if not sys.stderr.isatty():
        datasets.disable_progress_bars()
    # `datasets` caches local folders by their last path component: a shared cache could return rows of another folder.
    cache = tempfile.TemporaryDirectory() if Path(dataset).is_dir() else nullcontext()
    with _input_errors(dataset), cache as cache_dir:
        configs = datasets.get_dataset_config_names(dataset)
        names = [name for name in configs if name == "qrels" or name.endswith("-qrels")]
        names = names or [name for name in configs if name == "default"]
        if not names or not {"corpus", "queries"} <= set(configs):
            raise InputError(
                f"{dataset} has the configs {', '.join(configs)}: a retrieval dataset has corpus, queries and qrels"
            )

        def rows(config: str, split: str = "test") -> list[dict[str, Any]]:
            splits: Any = datasets.load_dataset(dataset, config, cache_dir=cache_dir)
            return list(splits[split] if split in splits else splits[next(iter(splits))])

        corpus, queries = rows("corpus"), rows("queries")
        config_by_partition = {name.removesuffix("-qrels"): name for name in names if name.endswith("-qrels")}
        judgements = {
            partition: _as_qrels(rows(name)) for partition, name in (config_by_partition or {"test": names[0]}).items()
        }
        train = rows("train", "train") if "train" in configs else []
        texts = _texts_by_id(f"{dataset}, queries", ({"_id": row["_id"], "text": row["text"] or ""} for row in queries))
        catalogue = _texts_by_id(f"{dataset}, corpus", ({**row, "text": row["text"] or ""} for row in corpus))
    content = json.dumps([corpus, queries, judgements], sort_keys=True, default=str)
    order = {tier: index for index, tier in enumerate(TIERS)}
    return Collection(
        name=Path(dataset).name,
        title=dataset,
        fingerprint=hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:12],
        queries=texts,
        corpus=catalogue,
        train=tuple(
            TrainingPair(row["hate_speech"], row["counter_narrative"])
            for row in train
            if row.get("hate_speech") and row.get("counter_narrative")
        ),
        partitions={
            name: partial(judgements.__getitem__, name)
            for name in sorted(judgements, key=lambda name: (order.get(name, 9), name))
        },
    )


def _check_is_dataset(dataset: str) -> None:
    """Checks that a source is a folder with a dataset or a name on the Hub, before any request."""
    check_built(dataset)
    is_name = not dataset.startswith((".", "/", "~")) and dataset.count("/") == 1
    if not (_looks_like_dataset(Path(dataset)) if Path(dataset).is_dir() else is_name):
        raise InputError(
            f"no dataset at {dataset}: give a folder with {MANIFEST} (of `fcconan build`), corpus.jsonl (BEIR), a "
            "README.md that declares configs, or the folders corpus and queries; or a name on the Hub such as "
            "owner/dataset"
        )


@contextmanager
def _input_errors(dataset: str) -> Iterator[None]:
    """Converts any error while a dataset is loaded to an `InputError`."""
    try:
        yield
    except InputError:
        raise
    except KeyError as error:
        raise InputError(
            f"{dataset} has no column {error}: corpus and queries have _id and text, qrels query-id, corpus-id and "
            "score"
        ) from error
    except Exception as error:  # many types, from the Hub, the file system and pyarrow
        raise InputError(
            f"{dataset} cannot be loaded as a dataset ({one_line(error)}): check the name or folder"
        ) from error


def _looks_like_dataset(folder: Path) -> bool:
    """Returns whether the top level of a folder looks like a dataset; `datasets` would search all subfolders."""
    if (folder / "corpus").is_dir() and (folder / "queries").is_dir():
        return True
    try:
        readme = (folder / "README.md").read_text(encoding="utf-8-sig", errors="replace")
    except OSError:
        return False
    header = readme.split("\n---")[0].splitlines()
    return readme.startswith("---") and any(line.startswith("configs:") for line in header)
