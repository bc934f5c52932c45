"""Retrieval datasets: HS as queries, CNs as the catalogue, training pairs and judgements."""

import hashlib
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcconan.building import dataset_folder, read_card
from fcconan.data import (
    LABELS,
    MANIFEST,
    TIERS,
    LeakageIndex,
    RowSource,
    hub_release,
    is_hub_name,
    make_cn_id,
    make_hs_id,
    message_leakage_keys,
    read,
    read_manifest,
    release_folder,
)
from fcconan.errors import InputError
from fcconan.retrieval.systems import TrainingPair
from fcconan.retrieval.trec import read_qrels

if TYPE_CHECKING:
    from pandas import DataFrame

Qrels = Mapping[str, Mapping[str, int]]
BROADEST = TIERS[-1]


@dataclass(frozen=True)
class Collection:
    """A retrieval dataset.

    Attributes:
        name: Name of the dataset.
        fingerprint: Hash of the content.
        queries: Query id -> text.
        corpus: Corpus id -> text: the catalogue.
        partitions: Name of a partition -> query id -> corpus id -> relevance.
        train: Training pairs.
        confirmed: Partitions whose labels were all confirmed by validators.
        train_left_out: Number of training pairs that `without_leakage` removed.
        redistributable: Whether the texts may be redistributed.

    Raises:
        InputError: There are no queries, CNs or judgements, or a judgement has an unknown id.
    """

    name: str
    fingerprint: str
    queries: Mapping[str, str]
    corpus: Mapping[str, str]
    partitions: Mapping[str, Qrels]
    train: Sequence[TrainingPair] = ()
    confirmed: frozenset[str] = frozenset()
    train_left_out: int = 0
    redistributable: bool = False

    def __post_init__(self) -> None:
        if not (self.queries and self.corpus and self.partitions):
            raise InputError(
                f"{self.name} has {len(self.queries)} queries, {len(self.corpus)} CNs and {len(self.partitions)} sets "
                "of judgements, expected all three: give a retrieval dataset, such as fc-conan or demo"
            )
        for name, qrels in self.partitions.items():
            judged = {key for row in qrels.values() for key in row}
            if unknown := ({*qrels} - {*self.queries}) | (judged - {*self.corpus}):
                raise InputError(
                    f"{name} judges {min(unknown)}, which is not in {self.name}: correct the judgements, or under "
                    "protocol paper use CNs with a positive in bronze only"
                )

    def without_leakage(self) -> "Collection":
        """Returns a copy without training pairs in the leakage group of a query; no judgement is read."""
        pairs = [message_leakage_keys(pair.hate_speech, [pair.counter_narrative]) for pair in self.train]
        groups = LeakageIndex(pairs, [pair.hate_speech for pair in self.train])
        leaking = {at for text in self.queries.values() for at in groups.of(message_leakage_keys(text), text)}
        train = [pair for at, pair in enumerate(self.train) if at not in leaking]
        return replace(self, train=train, train_left_out=len(leaking))

    def pool(self) -> "Collection":
        """Returns a copy with the catalogue of protocol `paper`: the CNs with a positive in Bronze.

        Raises:
            InputError: The dataset has no tiers, or no positive in Bronze.
        """
        if missing := [tier for tier in TIERS if tier not in self.partitions]:
            raise InputError(
                f"{self.name} has no partition {missing[0]}, and protocol paper needs {', '.join(TIERS)}: use "
                "--protocol sound"
            )
        positive = {key for row in self.partitions[BROADEST].values() for key, value in row.items() if value > 0}
        corpus = {key: text for key, text in self.corpus.items() if key in positive}
        kept = {
            name: {query: {key: value for key, value in row.items() if key in corpus} for query, row in qrels.items()}
            for name, qrels in self.partitions.items()
        }
        return replace(self, corpus=corpus, partitions=kept)


def load_collection(dataset: RowSource, *, shared_cn: bool = False) -> Collection:
    """Loads a retrieval dataset.

    Args:
        dataset: Name or folder of a dataset of this package, folder in the format of BEIR, or folder or Hub name for
            `datasets.load_dataset` with the configs `corpus`, `queries` and `qrels`. Or judged pairs in memory, with
            `hate_speech`, `counter_narrative` and `label`; then there are no training pairs.
        shared_cn: Whether training pairs that share a CN with the evaluation part are included, as in the paper.

    Raises:
        InputError: The dataset cannot be read, or is not a retrieval dataset.
    """
    if not isinstance(dataset, str | PathLike):
        return _of_pairs(*read("pairs", dataset)[::2])
    folder = Path(dataset)
    if not folder.exists():
        is_on_hub = is_hub_name(str(dataset))
        folder = (hub_release(str(dataset)) or folder) if is_on_hub else dataset_folder(str(dataset))
    if (folder / MANIFEST).is_file():
        return _of_release(folder, shared_cn)
    if (folder / "corpus.jsonl").is_file():
        return _of_beir(folder)
    return _of_hub(str(dataset))


def load_with_card(dataset: str, revision: str | None = None) -> tuple[Collection, dict[str, Any]]:
    """Loads a retrieval dataset for another library.

    Args:
        dataset: As in `load_collection`; on the Hub, one that `fcconan publish` wrote.
        revision: Tag, branch or commit on the Hub.

    Returns:
        The dataset, and the content of its card, as `read_card` returns it.

    Raises:
        InputError: The dataset cannot be read.
    """
    folder = release_folder(dataset, revision=revision)
    folder = folder if folder.exists() else dataset_folder(dataset)
    collection = load_collection(folder)
    if (folder / MANIFEST).is_file():
        return collection, read_card(folder)
    return collection, {"title": collection.name, "summary": "", "language": ["en"]}  # a BEIR folder


def _of_pairs(pairs: "DataFrame", name: str) -> Collection:
    wanted = ["hate_speech", "counter_narrative", "label"]
    if lost := [column for column in wanted if column not in pairs]:
        raise InputError(f"{name} has no column {', '.join(lost)}, only {', '.join(pairs)}: name it so")
    if (gaps := pairs[wanted].replace("", None).isna().any(axis=1) | ~pairs["label"].isin(LABELS)).any():
        found = pairs.loc[gaps, wanted].iloc[0].to_dict()
        raise InputError(f"{name} has the row {found}, expected two texts and a label of {', '.join(LABELS)}")
    ids = {"hs_id": ("hate_speech", make_hs_id), "cn_id": ("counter_narrative", make_cn_id)}
    for column, (text, make) in ids.items():
        made = pairs[text].map(make)
        pairs = pairs.assign(**{column: pairs.get(column, made).fillna(made).astype(str)})
        if (texts := pairs.groupby(column)[text].nunique()).max() > 1:
            raise InputError(f"{name} has several texts of {texts.idxmax()}, expected one: correct {column}")
    pairs = pairs[["hs_id", "cn_id", *wanted]].drop_duplicates()
    if (twice := pairs.duplicated(["hs_id", "cn_id"])).any():
        row = pairs[twice].iloc[0]
        raise InputError(f"{name} has two labels of {row['hs_id']} and {row['cn_id']}, expected one: remove the other")
    triples = zip(pairs["hs_id"], pairs["cn_id"], pairs["label"].map(LABELS.index), strict=True)
    queries, corpus = (dict(zip(pairs[column], pairs[text], strict=True)) for column, (text, _) in ids.items())
    source, _, fingerprint = name.partition("@")
    return Collection(source, fingerprint, queries, corpus, {"test": _nested(triples)})


def _of_release(folder: Path, shared_cn: bool) -> Collection:
    from pandas import concat, read_parquet

    manifest = read_manifest(folder)
    counts, aliases = manifest["counts"], manifest.get("aliases", {})
    if manifest["labels_only"]:
        raise InputError(f"{folder} holds labels without texts: `fcconan hydrate {folder} --out DIR` adds the texts")

    def rows(config: str, split: str = "test") -> "DataFrame":
        return concat([read_parquet(file) for file in sorted((folder / config).glob(f"{split}-*.parquet"))])

    def texts(config: str) -> dict[str, str]:
        return dict(rows(config)[["_id", "text"]].itertuples(index=False)) if config in counts else {}

    configs = {tier: aliases.get(f"{tier}-qrels", f"{tier}-qrels") for tier in TIERS}
    configs = {tier: config for tier, config in configs.items() if config in counts} or {"test": "qrels"}
    splits = [split for split in ("train", *["shared_cn"] * shared_cn) if split in counts.get("train", {})]
    train: list[TrainingPair] = []
    if splits:
        pairs = concat([rows("train", split) for split in splits])
        if "original_index" in pairs:  # the released order, in which the splits alternate
            pairs = pairs.sort_values("original_index", kind="stable")
        train = [*map(TrainingPair._make, pairs[["hate_speech", "counter_narrative"]].itertuples(index=False))]

    def is_confirmed(tier: str) -> bool:
        valid = rows(tier).get("valid") if tier in counts else None
        return valid is not None and len(valid) > 0 and bool(valid.eq(True).all())

    return Collection(
        manifest["name"],
        manifest["fingerprint"],
        texts("queries"),
        texts("corpus"),
        {name: _qrels(rows(config).to_dict("records")) for name, config in configs.items() if config in counts},
        train,
        frozenset(filter(is_confirmed, configs)),
        redistributable=manifest.get("redistributable", False),
    )


def _of_beir(folder: Path) -> Collection:
    files = {path.stem: path for path in sorted((folder / "qrels").glob("*.tsv"))}
    evaluated = [name for name in files if name != "train"]
    sources = [folder / "corpus.jsonl", folder / "queries.jsonl"]
    try:
        rows = [[json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line] for path in sources]
    except ValueError as error:
        raise InputError(f"{folder} has a line that is not JSON ({error}): correct corpus or queries") from error
    corpus, queries = (_texts(str(path), each) for path, each in zip(sources, rows, strict=True))
    qrels = {name: read_qrels(path) for name, path in files.items()}
    judged = {query for name in evaluated for query in qrels[name]}
    train = [
        TrainingPair(queries[query], corpus[key])
        for query, row in qrels.get("train", {}).items()
        for key, value in row.items()
        if value > 0 and query in queries and query not in judged and key in corpus
    ]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in (*sources, *map(files.__getitem__, evaluated))))
    queries = {key: text for key, text in queries.items() if key in judged} or queries
    partitions = {name: qrels[name] for name in evaluated}
    return Collection(folder.resolve().name, digest.hexdigest()[:12], queries, corpus, partitions, train)


def _of_hub(dataset: str) -> Collection:
    """Reads a dataset with the configs of MTEB through `datasets`."""
    if not Path(dataset).is_dir() and not is_hub_name(dataset):
        raise InputError(f"no dataset at {dataset}: give a name, a folder, or owner/dataset on the Hub")
    with _loading(dataset) as (configs, rows):
        names = [name for name in configs if name == "qrels" or name.endswith("-qrels")] or ["default"]
        corpus, queries = (_texts(f"{dataset}, {config}", rows(config)) for config in ("corpus", "queries"))
        found = {name.removesuffix("-qrels"): name for name in sorted(names) if name.endswith("-qrels")}
        tiers = {name: _qrels(rows(found[name])) for name in dict.fromkeys([*TIERS, *found]) if name in found}
        partitions = tiers or {"test": _qrels(rows(names[0]))}
        train = [
            TrainingPair(row["hate_speech"], row["counter_narrative"])
            for row in (rows("train", "train") if "train" in configs else ())
            if row.get("hate_speech") and row.get("counter_narrative")
        ]
    content = json.dumps([corpus, queries, partitions], sort_keys=True).encode("utf-8", "surrogatepass")
    fingerprint = hashlib.sha256(content).hexdigest()[:12]
    return Collection(Path(dataset).name, fingerprint, queries, corpus, partitions, train)


@contextmanager
def _loading(dataset: str) -> Iterator[tuple[Sequence[str], Any]]:
    """Yields the configs of a dataset, and a function that returns the rows of one.

    Raises:
        InputError: Anything fails while the dataset is loaded.
    """
    import datasets

    # `datasets` caches local folders by their last path component: a shared cache could return rows of another folder.
    with tempfile.TemporaryDirectory() as folder:

        def rows(config: str, split: str = "test") -> list[dict[str, Any]]:
            splits: Any = datasets.load_dataset(dataset, config, cache_dir=folder if Path(dataset).is_dir() else None)
            return [*splits[split if split in splits else next(iter(splits))]]

        try:
            yield datasets.get_dataset_config_names(dataset), rows
        except InputError:
            raise
        except Exception as error:  # many types, from the Hub, the file system and pyarrow
            raise InputError(
                f"{dataset} cannot be loaded ({type(error).__name__}: {error}), expected the configs corpus and "
                "queries with _id and text, and qrels with query-id, corpus-id and score: check the name or folder"
            ) from error


def _texts(source: str, rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Returns texts by id, each with its title in front."""
    found: dict[str, str] = {}
    for row in rows:
        key = str(row.get("_id"))
        if "_id" not in row or not isinstance(row.get("text"), str) or key in found:
            raise InputError(f"{source} has a row {key} with {', '.join(row)}, expected a unique _id and a text")
        found[key] = f"{row.get('title') or ''} {row['text']}".strip()
    return found


def _qrels(rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    return _nested((str(row["query-id"]), str(row["corpus-id"]), int(row["score"])) for row in rows)


def _nested(triples: Iterable[tuple[str, str, int]]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for query, key, value in triples:
        found.setdefault(query, {})[key] = value
    return found
