"""Scoring of all pairs of HS and CNs in shards; the pairs are never in memory at once.

    _scoring.json        inputs of the shards: lists, scorer and selection; other inputs are refused
    _prepared-DIGEST/    ids, and files of the prepared scorer, shared by all processes
    _journals/           paid answers of a judge, by shard
    _checkpoints/        checkpoints of the plan and of every finished shard
    part-*.parquet       pair_id, hs_id, cn_id, score (float32), and reason if scores may be missing

A shard contains all pairs of its HS, in the order of the list. The pairs of an HS are in the order of the CNs, or the
best first if only the best are selected. The bytes of a shard depend on the plan and on library versions, not on the
process that writes it. Pairs without a score are always included; their score is null.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from fcconan.annotation.campaigns import SETTINGS
from fcconan.annotation.pair_scoring.scorers import RequestSettings, ScoreBlock, Scorer, open_scorer
from fcconan.building import PAIR_ID_SCHEMA, hash_texts, id_column, open_writer, require_distinct
from fcconan.data import is_sealed, new_folder, seal_folder
from fcconan.errors import InputError
from fcconan.parallel import Shard, claim_shards, is_finished, make_shards

PLAN_NAME = "_scoring.json"
ROWS_AT_ONCE = 125_000
_JOURNALS = "_journals"
_LAYOUT = 1  # increment it with changes that alter the bytes of a shard
_SIDES = ("hs", "cn")
_Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class PairSelection:
    """The selection of an HS's pairs.

    Attributes:
        top: Number of pairs with the highest scores, the best first, ties in the order of the CNs; None for all.
        at_least: Minimum score; None for all.
    """

    top: int | None = None
    at_least: float | None = None

    @property
    def everything(self) -> bool:
        """Whether all pairs are selected."""
        return self.top is None and self.at_least is None

    def of(self, scores: npt.NDArray[np.float32]) -> _Integers:
        """Returns the positions of the selected pairs of one HS; those without a score come last.

        Args:
            scores: Scores of the HS with all CNs; shape (CNs,).
        """
        missing = np.isnan(scores)
        kept = np.flatnonzero(~missing if self.at_least is None else scores >= self.at_least)
        if self.top is not None:
            kept = kept[np.argsort(-scores[kept], kind="stable")][: self.top]
            return np.concatenate([kept, np.flatnonzero(missing)])
        return np.union1d(kept, np.flatnonzero(missing))


@dataclass(frozen=True)
class ScoringJob:
    """The job of writing the shards; it is sent to workers.

    Attributes:
        folder: Folder of the shards, absolute.
        plan_digest: Digest of the plan, which detects workers that see another folder under the same path.
        versions: Versions of the libraries that affect the bytes.
        cn_count: Number of CNs.
        selection: Selection of pairs.
        asking: Settings of requests to a judge's endpoint.
    """

    folder: Path
    plan_digest: str
    versions: tuple[tuple[str, str], ...]
    cn_count: int
    selection: PairSelection
    asking: RequestSettings

    @property
    def inputs(self) -> dict[str, Any]:
        """Inputs that determine the bytes of the shards."""
        return {"plan": self.plan_digest, "versions": dict(self.versions)}

    def is_finished(self, shard: Shard) -> bool:
        """Returns whether the file of a shard is complete and unchanged."""
        return is_finished(self.folder, shard, self.inputs)

    def write(self, shard: Shard, path: Path) -> None:
        """Writes a shard.

        Raises:
            InputError: This process sees another folder, has other library versions, or cannot score.
        """
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

        pairs = zip(versions(), self.versions, strict=True)
        other = ", ".join(f"{name} {has}, expected {needed}" for (name, has), (_, needed) in pairs if has != needed)
        if other:
            raise InputError(f"a worker has other versions ({other}): install the same versions on all machines")
        product = _opened(self.folder, self.plan_digest, self.asking)
        # Sums would depend on the number of threads; the job is parallel over shards.
        with threadpool_limits(1), open_writer(path, product.schema, scores=["score"]) as writer:
            for table in _tables(product, shard, self.selection, self.journal(shard)):
                writer.write_table(table)

    def journal(self, shard: Shard) -> Path:
        """Returns the file of a judge's answers for a shard."""
        return self.folder / _JOURNALS / f"{shard.name}.sqlite"


def plan_scoring(
    hs: dict[str, str],
    cn: dict[str, str],
    scorer: Scorer,
    folder: Path,
    *,
    selection: PairSelection | None = None,
    rows_per_shard: int | None = None,
    asking: RequestSettings | None = None,
    dry_run: bool = False,
) -> tuple[ScoringJob, list[Shard]]:
    """Claims a folder, prepares the scorer if necessary, and divides the pairs into shards.

    Args:
        hs: HS by id.
        cn: CNs by id.
        scorer: The scorer.
        folder: Folder of the shards.
        selection: Selection of pairs; by default all.
        rows_per_shard: Approximate number of pairs in a shard before the selection; by default that of the scorer.
        asking: Settings of requests to a judge's endpoint.
        dry_run: Whether nothing is written.

    Returns:
        The job, and all its shards.

    Raises:
        InputError: A list is empty, the folder has other content, or the scorer cannot be prepared.
    """
    require_distinct("HS", list(hs))
    require_distinct("CN", list(cn))
    for other in (SETTINGS, "manifest.json"):
        if (folder / other).exists():
            raise InputError(f"{folder} has a {other}, expected a folder of scores: choose another folder")
    selection = selection or PairSelection()
    hs_per_shard = max(1, (rows_per_shard or scorer.rows_per_shard) // len(cn))
    shards = make_shards(len(hs), hs_per_shard)
    content = {
        "layout": _LAYOUT,
        **{f"{name}_count": len(side) for name, side in (("hs", hs), ("cn", cn))},
        **{f"{name}_digest": hash_texts([*side, *side.values()]) for name, side in (("hs", hs), ("cn", cn))},
        "top": selection.top,
        "at_least": selection.at_least,
        "hs_per_shard": hs_per_shard,
        "shards": len(shards),
        "scorer": scorer.configuration,
    }
    if not dry_run or (folder / PLAN_NAME).exists():
        claim_shards(folder, PLAN_NAME, content, kind="scoring")
    plan_digest = _digest_of_plan(folder) if (folder / PLAN_NAME).exists() else ""
    if not dry_run:
        _prepare(folder, plan_digest, scorer, hs, cn)
    return ScoringJob(
        folder.resolve(), plan_digest, versions(), len(cn), selection, asking or RequestSettings()
    ), shards


def versions() -> tuple[tuple[str, str], ...]:
    """Returns the versions of the libraries that affect the bytes of a shard, in this process."""
    import fcconan

    others = ("numpy", "pyarrow", "scipy")
    return ("fcconan", fcconan.__version__), *((name, version(name)) for name in others)


def scoring_summary(work: ScoringJob, shards: Sequence[Shard]) -> dict[str, Any]:
    """Counts the rows of finished shards, from the metadata of their files.

    Args:
        work: The job.
        shards: Shards to count.

    Returns:
        `hs` and `pairs` (of all given shards), `shards`, `finished`, `rows` (selected pairs), `missing` (selected pairs
        without a score), and `lowest` and `highest` score (None without scores).
    """
    finished = [shard for shard in shards if work.is_finished(shard)]
    rows = missing = 0
    lowest: list[float] = []
    highest: list[float] = []
    for shard in finished:
        metadata = pq.read_metadata(work.folder / shard.name)
        rows += metadata.num_rows
        for group in range(metadata.num_row_groups):
            found = metadata.row_group(group).column(metadata.schema.names.index("score")).statistics
            missing += found.null_count
            if found.has_min_max:
                lowest.append(found.min)
                highest.append(found.max)
    return {
        "hs": sum(shard.size for shard in shards),
        "pairs": sum(shard.size for shard in shards) * work.cn_count,
        "shards": len(shards),
        "finished": len(finished),
        "rows": rows,
        "missing": missing,
        "lowest": min(lowest) + 0.0 if lowest else None,  # parquet metadata store the bound 0 as -0
        "highest": max(highest) + 0.0 if highest else None,
    }


def _prepare(folder: Path, plan_digest: str, scorer: Scorer, hs: dict[str, str], cn: dict[str, str]) -> None:
    """Prepares the scorer in its folder. Several processes may do so at once, with the same result."""
    final = _prepared(folder, plan_digest)
    inputs = {"plan": plan_digest}
    if is_sealed(final, inputs):
        return
    try:
        with new_folder(final) as stage:
            for name, side in (("hs", hs), ("cn", cn)):
                pq.write_table(_columns(side, texts=scorer.needs_texts), stage / f"{name}.parquet")
            scorer.prepare(list(hs.values()), list(cn.values()), stage)
            seal_folder(stage, inputs)
    except OSError as error:
        if not final.is_dir():  # not finished by another process
            raise InputError(f"{final} cannot be written ({error.strerror or error}): choose another folder") from error


def _columns(side: dict[str, str], *, texts: bool) -> pa.Table:
    columns = {"id": pa.array(side, pa.large_string())}
    if texts:
        columns["text"] = pa.array(side.values(), pa.large_string())
    return pa.table(columns)


@dataclass(frozen=True)
class _Product:
    hs: pa.Array
    cn: pa.Array
    score: ScoreBlock
    schema: pa.Schema


@lru_cache(maxsize=1)
def _opened(folder: Path, plan_digest: str, asking: RequestSettings) -> _Product:
    """Opens the prepared scorer, once in every process."""
    if not (folder / PLAN_NAME).is_file() or _digest_of_plan(folder) != plan_digest:
        raise InputError(
            f"a worker finds no {PLAN_NAME} of this job in {folder}: choose a folder shared by all workers"
        )
    configuration = json.loads((folder / PLAN_NAME).read_text(encoding="utf-8"))["scorer"]
    prepared = _prepared(folder, plan_digest)
    tables = {side: pq.read_table(prepared / f"{side}.parquet", memory_map=True) for side in _SIDES}
    hs, cn = (pa.array(tables[side]["id"].to_pylist(), pa.string()) for side in _SIDES)
    fields = [*PAIR_ID_SCHEMA, pa.field("score", pa.float32())]
    if configuration["kind"] in ("system", "judge"):
        fields.append(pa.field("reason", pa.dictionary(pa.int32(), pa.string())))

    def texts(side: str, part: range | None = None) -> list[tuple[str, str]]:
        rows = tables[side] if part is None else tables[side].slice(part.start, len(part))
        return list(zip(rows["id"].to_pylist(), rows["text"].to_pylist(), strict=True))

    score = open_scorer(configuration, prepared, texts, asking)
    return _Product(hs, cn, score, pa.schema(fields))


def _tables(product: _Product, shard: Shard, selection: PairSelection, journal: Path) -> Iterator[pa.Table]:
    """Yields the rows of a shard by row group."""
    waiting: list[pa.Table] = []
    for rows in _kept(product, shard, selection, journal):
        if waiting and sum(map(len, waiting)) + len(rows) > ROWS_AT_ONCE:
            yield _table(product, pa.concat_tables(waiting))
            waiting = []
        waiting.append(rows)
    if waiting:
        yield _table(product, pa.concat_tables(waiting))


def _kept(product: _Product, shard: Shard, selection: PairSelection, journal: Path) -> Iterator[pa.Table]:
    """Yields the selected pairs of a shard in order, at most a row group at a time.

    Columns are positions of `hs` and `cn`, `score` (nan if missing) and `reason`.
    """
    width = len(product.cn)
    step = max(1, ROWS_AT_ONCE // width)
    for first in range(shard.start, shard.stop, step):
        hs = range(first, min(first + step, shard.stop))
        block = product.score(hs, journal)
        columns = {"hs": np.repeat(hs, width), "cn": np.tile(np.arange(width), len(hs)), "score": block.scores.ravel()}
        reasons = pa.nulls(block.scores.size, pa.string())
        if block.reasons:
            reasons = pa.array([block.reasons.get(place) for place in range(block.scores.size)], pa.string())
        rows = pa.table({**columns, "reason": reasons})
        if not selection.everything:
            kept = [row * width + selection.of(scores) for row, scores in enumerate(block.scores)]
            rows = rows.take(pa.array(np.concatenate(kept)))
        for start in range(0, len(rows), ROWS_AT_ONCE):
            yield rows.slice(start, ROWS_AT_ONCE)


def _table(product: _Product, rows: pa.Table) -> pa.Table:
    rows = rows.combine_chunks()
    hs, cn = (rows[side].chunk(0) for side in _SIDES)
    wide = [ids.take(places).cast(pa.large_string()) for ids, places in ((product.hs, hs), (product.cn, cn))]
    first, last = pc.min(hs).as_py(), pc.max(hs).as_py()
    columns = [
        pc.binary_join_element_wise(*wide, pa.scalar(":", pa.large_string())),
        id_column(hs.to_numpy() - first, product.hs[first : last + 1]),
        id_column(cn.to_numpy(), product.cn),
        pa.array(rows["score"].to_numpy(), from_pandas=True),  # nan is null
    ]
    if len(product.schema) > len(columns):
        columns.append(rows["reason"].chunk(0).dictionary_encode())
    return pa.table(columns, schema=product.schema)


def _prepared(folder: Path, plan_digest: str) -> Path:
    return folder / f"_prepared-{plan_digest[:12]}"


def _digest_of_plan(folder: Path) -> str:
    return hash_texts([(folder / PLAN_NAME).read_text(encoding="utf-8")])
