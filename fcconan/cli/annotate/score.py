"""`fcconan annotate score`."""

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcconan.cli import models
from fcconan.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fcconan.annotation import JudgeScorer, Scorer, Scoring
    from fcconan.models import Model
    from fcconan.parallel import Progress, Shard

NAME = "score"
EXAMPLE = "Example: fcconan annotate score campaign --scorer tfidf --out scores --jobs 2"
JUDGE = "judge"


def run(
    sources: Annotated[
        list[Path], typer.Argument(help="A campaign, a dataset, a file of pairs; or a file of HS and one of CNs.")
    ],
    scorer: Annotated[
        str,
        typer.Option(
            "--scorer",
            help="tfidf, minilm, a model's folder or name, a system of the benchmark, module:factory, judge.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", help="Folder of the shards; a run that was stopped goes on there.")],
    top: Annotated[int | None, typer.Option("--top", min=1, help="Keep the best so many CNs of each HS.")] = None,
    at_least: Annotated[
        float | None, typer.Option("--at-least", min=-1e9, max=1e9, help="Keep pairs with this score or more.")
    ] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", min=1, help="Processes on this machine; default: 1.")] = None,
    scheduler: Annotated[
        str | None, typer.Option("--scheduler", help="Address of a Dask scheduler, whose workers see --out.")
    ] = None,
    rank: Annotated[int | None, typer.Option("--rank", min=0, help="Write this process's share, from 0.")] = None,
    world: Annotated[int | None, typer.Option("--world", min=1, help="Of so many processes.")] = None,
    rows_per_shard: Annotated[
        int | None, typer.Option("--rows-per-shard", min=1, help="Pairs in a shard, rounded to whole HS.")
    ] = None,
    task: Annotated[str, typer.Option("--task", help="Of a judge: one with labels, or --aspect.")] = "appropriateness",
    aspect: Annotated[str | None, typer.Option("--aspect", help="Of a judge: the aspect that is the score.")] = None,
    strategy: Annotated[str, typer.Option("--strategy", help="Of a judge: see `fcconan judge rate`.")] = "rubric",
    model: Annotated[
        str | None, typer.Option("--model", help="Of a judge: name at the endpoint, local:FOLDER, replay:FILE.")
    ] = None,
    base_url: Annotated[
        str | None, typer.Option("--base-url", help="Of a judge: the endpoint; default: $OPENAI_BASE_URL.")
    ] = None,
    concurrency: Annotated[
        int, typer.Option("--concurrency", min=1, help="Of a judge: requests at once, of each process.")
    ] = 8,
    prices: models.Prices = None,
    max_cost: models.MaxCost = None,
    dry_run: models.DryRun = False,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the counts to this file.")] = None,
) -> None:
    """Pair every HS with every CN and score each pair, in shards, on one machine or many."""
    from fcconan.annotation import Asking, JudgeScorer, Selection, open_questions, plan, read_lists, scoring_summary
    from fcconan.cli.files import check_files
    from fcconan.cli.output import check_json_target, print_table, write_json
    from fcconan.models import origins_of
    from fcconan.parallel import run, run_on_cluster, share
    from fcconan.services import built_folder

    if scheduler is not None and jobs is not None:
        raise InputError("--jobs is for processes here and --scheduler for a cluster: give one of them")
    if (rank is None) != (world is None):
        raise InputError("--rank and --world belong together: give both, or neither")
    several = (jobs or 1) > 1 or scheduler is not None
    if several and max_cost is not None:
        raise InputError("--max-cost is kept by one process: give --concurrency instead of --jobs or --scheduler")
    check_files({"--json": json_file}, read=[*sources, prices])
    check_json_target(json_file, out)
    selection = Selection(top, at_least)
    if scorer != JUDGE and (prices is not None or max_cost is not None or dry_run):
        raise InputError(f"--prices, --max-cost and --dry-run are for --scorer {JUDGE}, not {scorer}: leave them out")
    chosen = _scorer(scorer, task, aspect, strategy, model, base_url)
    opened = None
    if model is not None:
        connection = models.Connection(
            base_url=base_url, journal=Path("never-written.sqlite"), prices=prices, max_cost=max_cost
        )
        opened = connection.open(model)
    # Processes of their own count on their own.
    budget = None if several else getattr(getattr(opened, "client", None), "budget", None)
    lists = read_lists([built_folder(each) for each in sources])
    if dry_run and opened is not None and isinstance(chosen, JudgeScorer):
        questions = open_questions(
            lists.hs,
            lists.cn,
            chosen,
            out,
            selection=selection,
            rows_per_shard=rows_per_shard,
            rank=rank or 0,
            world=world or 1,
        )
        models.print_rehearsals([_rehearsed(opened, chosen, questions)], prices, json_file)
        return
    work, whole = plan(
        lists.hs,
        lists.cn,
        chosen,
        out,
        selection=selection,
        rows_per_shard=rows_per_shard,
        asking=Asking(concurrency=concurrency, budget=budget, origins=None if several else origins_of(opened)),
    )
    mine = whole if rank is None or world is None else share(whole, rank, world)
    with _finished_are_told(work, mine), _Bar(len(lists.cn)) as progress:
        if scheduler is not None:
            run_on_cluster(work, mine, scheduler, progress=progress)
        else:
            run(work, mine, jobs=jobs or 1, progress=progress)
    found = scoring_summary(work, whole)
    print_table(f"Scored pairs in {out}", list(found), [list(found.values())])
    if found["finished"] < found["shards"]:
        print(f"{found['shards'] - found['finished']} shards are left to other ranks")
    asked = [] if several or opened is None else [opened]
    used = models.print_used(asked, option="another --out")
    if json_file is not None:
        write_json(
            json_file, {"out": str(out), "scorer": chosen.configuration, **found, **({"used": used} if used else {})}
        )


def _scorer(
    name: str, task: str, aspect: str | None, strategy: str, model: str | None, base_url: str | None
) -> "Scorer":
    from fcconan.annotation import JudgeScorer, named

    if name != JUDGE:
        if model is not None or aspect is not None or base_url is not None:
            raise InputError(f"--model, --aspect and --base-url are for --scorer {JUDGE}, not {name}: leave them out")
        return named(name)
    from fcconan.judging import load_rubric

    if model is None:
        raise InputError(f"--scorer {JUDGE} asks a model: name it with --model")
    asked = load_rubric(task)
    if aspect is not None:
        asked = asked.model_copy(update={"aspects": [asked.aspect(aspect)]})
    return JudgeScorer(asked, model, strategy=strategy, base_url=base_url)


def _rehearsed(model: "Model", scorer: "JudgeScorer", questions: "Iterable[tuple[Path, Any]]") -> "models.Rehearsal":
    """Goes through all that the judge would be asked; every shard has a file of answers of its own."""
    rehearsal = models.Rehearsal(model)
    for journal, rows in questions:
        rehearsal.model = scorer.model(journal)
        for _ in scorer.judge(rehearsal).rate(rows):
            pass
    return rehearsal


@contextmanager
def _finished_are_told(work: "Scoring", mine: "Sequence[Shard]") -> "Iterator[None]":
    """Says how far the work has come where the money ends."""
    from fcconan.models import Answers, CostLimitError

    try:
        yield
    except CostLimitError as error:
        left = [shard for shard in mine if not work.is_finished(shard)]
        answers = sum(len(Answers(work.journal(shard))) for shard in left)
        raise CostLimitError(
            f"{error} ({len(mine) - len(left)} of {len(mine)} shards are finished, and there are {answers} answers for "
            "the others)"
        ) from error


class _Bar:
    """Shows on a terminal how many pairs are scored."""

    def __init__(self, width: int) -> None:
        self._width = width

    def __enter__(self) -> "Progress":
        from tqdm import tqdm

        self._bar = tqdm(desc="scoring", unit="pair", unit_scale=True, disable=None, leave=False)
        return self._show

    def _show(self, done: int, total: int) -> None:
        self._bar.total = total * self._width
        self._bar.update(done * self._width - self._bar.n)

    def __exit__(self, *_: object) -> None:
        self._bar.close()
