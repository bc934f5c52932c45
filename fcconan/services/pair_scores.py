"""Scores of all pairs of HS and CNs, in shards, on one machine or many."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import fcconan
from fcconan.data import task_names
from fcconan.errors import InputError
from fcconan.services.configuration import LARGEST, argument, option, output
from fcconan.services.connections import Connection, notices_of, usage_of
from fcconan.services.locations import dataset_folder
from fcconan.services.model_results import ModelResult, Progress
from fcconan.services.options import Calls, Endpoint
from fcconan.services.parallelism import Parallel
from fcconan.services.prompts import RatingMethod, task_of
from fcconan.services.results import DRY_RUN

if TYPE_CHECKING:
    from fcconan.annotation import JudgeScorer, Lists, Scorer, ScoringJob
    from fcconan.models import DryRun, Model
    from fcconan.parallel import Shard

JUDGE = "judge"


class PairScoreOptions(Calls, Parallel):
    """Options of `score_pairs`: the scorer, the selection of pairs, and parallel processing."""

    scorer: str = option(
        help="Scorer of pairs: tfidf, minilm, an encoder, a retrieval system, module:factory, or judge.", metavar="NAME"
    )
    keep_top: int | None = option(None, help="Highest-scored CNs of each HS to keep; default: all.", metavar="N", ge=1)
    min_score: float | None = option(None, help="Smallest score of pairs to keep.", metavar="FLOAT", ge=-LARGEST)
    rows_per_shard: int | None = option(
        None, help="Pairs in a shard, rounded to whole HS.", rare=True, metavar="N", ge=1
    )
    model: str | None = option(
        None,
        help="Language model of a judge: a name at the endpoint, local:FOLDER, or replay:FILE.",
        short="-m",
        metavar="NAME",
        role="model",
    )
    task: str = option(
        "appropriateness",
        help="Annotation task of a judge: one with labels, or with --aspect.",
        rare=True,
        metavar="NAME|FILE",
        complete=task_names,
    )
    aspect: str | None = option(None, help="Aspect of the task whose value is the score.", rare=True, metavar="NAME")
    rating_method: RatingMethod | None = option(
        None,
        help="Method of rating of a judge, as in `fcconan judge rate`; default: rubric.",
        rare=True,
    )


class PairScoreResult(ModelResult):
    """Counts of the scores in a folder; after a dry run, the requests that a judge would send."""

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """Returns one row with the counts, or with those of a dry run."""
        if self.is_dry_run:
            return super().rows()
        return [{name: value for name, value in self.data.items() if name not in ("out", "scorer", "used")}]

    @property
    def signature(self) -> str:
        """The package version and the scorer."""
        from fcconan.data import short_hash

        return f"fcconan:{fcconan.__version__}|scorer:{short_hash(str(self.data.get('scorer')))}"


def score_pairs(
    sources: Annotated[
        Sequence[Path | str],
        argument(
            "A campaign, a dataset or a file of pairs; or a file of HS and a file of CNs.", many=True, role="read"
        ),
    ],
    out: Annotated[Path | str, output("Folder of the shards; an interrupted run continues there.")],
    options: PairScoreOptions,
    *,
    executor: Any = None,
    progress: Progress | None = None,
) -> PairScoreResult:
    """Pairs every HS with every CN and scores each pair, in shards of whole HS.

    Args:
        sources: The folder of a campaign or of a dataset, a dataset's name, a file of pairs; or two files of texts.
        out: The folder to write; a run that was interrupted continues there.
        options: The options.
        executor: A `concurrent.futures.Executor` or a Dask client for the work, whose workers can write to `out`.
        progress: Function that receives the number of scored pairs and of all pairs.

    Returns:
        The counts of the shards in the folder: one row with `hs`, `pairs`, `shards`, `finished` (shards), `rows`
        (selected pairs), `missing` (selected pairs without a score), and the `lowest` and `highest` score. After a dry
        run with a judge, the row has its requests instead.

    Raises:
        InputError: Options contradict each other, a source cannot be read, or the folder contains other scores.

    Examples:
        >>> found = score_pairs([campaign], folder / "scores", PairScoreOptions(scorer="tfidf"))
        >>> found.to_frame()[["hs", "pairs", "missing"]].values.tolist()
        [[2, 4, 0]]
    """
    from fcconan.annotation import (
        JudgeScorer,
        PairSelection,
        RequestSettings,
        plan_scoring,
        read_lists,
        scoring_summary,
    )
    from fcconan.models import find_origins
    from fcconan.parallel import run_shards

    out, portion = Path(out), options.portion
    is_parallel = (options.jobs or 1) > 1 or options.scheduler is not None or executor is not None
    if is_parallel and options.max_cost is not None:
        raise InputError("--max-cost works in one process only: give --concurrency instead of --jobs or --scheduler")
    scorer = _scorer(options)
    opened = None if options.model is None else _opened(options.model, options)
    lists = read_lists([dataset_folder(each) for each in sources])
    # Other processes have counters of their own.
    asking = RequestSettings(
        concurrency=options.concurrency,
        retries=options.retries,
        timeout=options.timeout,
        budget=None if is_parallel else getattr(getattr(opened, "client", None), "budget", None),
        origins=None if is_parallel else find_origins(opened),
    )
    work, shards = plan_scoring(
        lists.hs,
        lists.cn,
        scorer,
        out,
        selection=PairSelection(options.keep_top, options.min_score),
        rows_per_shard=options.rows_per_shard,
        asking=asking,
        dry_run=options.dry_run,
    )
    mine = portion.select(shards)
    if options.dry_run and opened is not None and isinstance(scorer, JudgeScorer):
        rehearsal = _rehearsed(opened, scorer, lists, work, mine)
        return PairScoreResult({DRY_RUN: [rehearsal.summary(options.prices)]})
    width = len(lists.cn)

    def report(done: int, total: int) -> None:
        if progress is not None:
            progress(done * width, total * width)

    with _counted_at_limit(work, mine), options.workers(executor) as workers:
        run_shards(work, mine, workers, progress=report)
    models = [] if is_parallel or opened is None else [opened]
    used = usage_of(models)
    data = {"out": str(out), "scorer": scorer.configuration, **scoring_summary(work, shards)}
    return PairScoreResult(data | ({"used": used} if used else {}), notices_of(models, option="another --out"))


def _scorer(options: PairScoreOptions) -> "Scorer":
    from fcconan.annotation import JudgeScorer, make_scorer

    if options.scorer != JUDGE:
        for_judges = ("model", "aspect", "base_url", "prices", "max_cost", "dry_run")
        options.refuse(*for_judges, why=f"only for --scorer {JUDGE}, not {options.scorer}")
        return make_scorer(options.scorer)
    if options.model is None:
        raise InputError(f"--scorer {JUDGE} asks a model: name it with --model")
    task = task_of(options.task, () if options.aspect is None else (options.aspect,))
    return JudgeScorer(task, options.model, strategy=options.rating_method or "rubric", base_url=options.base_url)


def _opened(name: str, options: PairScoreOptions) -> "Model":
    """Returns the model, which counts requests and cost; each shard has its own file of answers."""
    endpoint = Endpoint(
        base_url=options.base_url,
        response_cache=Path("never-written.sqlite"),
        prices=options.prices,
        max_cost=options.max_cost,
    )
    return Connection(endpoint).open(name)


def _rehearsed(
    model: "Model", scorer: "JudgeScorer", lists: "Lists", work: "ScoringJob", shards: "Sequence[Shard]"
) -> "DryRun":
    """Makes all requests of the judge and sends none; each shard has its own file of answers."""
    from fcconan.annotation import pair_rows
    from fcconan.models import DryRun

    rehearsal = DryRun(model)
    hs, cn = list(lists.hs.items()), list(lists.cn.items())
    for shard in shards:
        if not work.is_finished(shard):
            rehearsal.model = scorer.model(work.journal(shard))
            for _ in scorer.judge(rehearsal).rate(pair_rows(hs[shard.start : shard.stop], cn)):
                pass
    return rehearsal


@contextmanager
def _counted_at_limit(work: "ScoringJob", mine: "Sequence[Shard]") -> Iterator[None]:
    """Adds the number of finished shards to the error of a reached cost limit."""
    from fcconan.models import AnswerStore, CostLimitError

    try:
        yield
    except CostLimitError as error:
        left = [shard for shard in mine if not work.is_finished(shard)]
        answers = sum(len(AnswerStore(work.journal(shard))) for shard in left)
        raise CostLimitError(
            f"{error} ({len(mine) - len(left)} of {len(mine)} shards are finished, and there are {answers} answers for "
            "the others)"
        ) from error
