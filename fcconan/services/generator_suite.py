"""Comparisons of generators by one suite file: replies, metrics, judges, rankings and a report."""

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import fcconan
from fcconan.data import locked
from fcconan.errors import InputError
from fcconan.generation import (
    ComparisonConfig,
    LoadedSuite,
    RatingConfig,
    StepCache,
    cache_key,
    complete_replies,
    content_hash,
    count_missing,
    join_judgements,
    model_raters,
    suite_path,
    with_content_hashes,
    write_replies,
)
from fcconan.services.bias_audit import AuditOptions, audit
from fcconan.services.configuration import argument, output
from fcconan.services.connections import Connection, cache_path, connected
from fcconan.services.correlations import CorrelateOptions, correlate
from fcconan.services.locations import check_files, model_files
from fcconan.services.options import Endpoint
from fcconan.services.rankings import LeaderboardOptions, RankOptions, leaderboard, rank
from fcconan.services.results import DRY_RUN, Result, write_json
from fcconan.services.suite_steps import COMPARISONS, JUDGES, RATINGS, REPLIES, SuiteSteps, rehearsed, step_of

if TYPE_CHECKING:
    from fcconan.models import Client, Model

DATASET, METRICS, REPORT = "dataset", "metrics", "report"
_FEWEST_RESAMPLES = 100  # of the audit, which has no point without intervals


class GeneratorSuiteOptions(Endpoint):
    """Options of `evaluate_generators`: the endpoint of the models, and limits of cost."""


@dataclass(frozen=True, repr=False)
class GeneratorSuiteResult(Result):
    """The state of the steps of a suite, or the requests of each step after a dry run.

    Attributes:
        out: The folder of results.
        are_replies_written: Whether all replies are written; otherwise a dry run counts them at their longest.
        is_complete: Whether all steps are done and nothing is missing; always true after a dry run.
        signatures_of_results: The signature of each result.
    """

    out: Path
    are_replies_written: bool = True
    is_complete: bool = True
    signatures_of_results: Sequence[str] = ()
    table: ClassVar[str] = "steps"

    @property
    def signature(self) -> str:
        """The signatures of all results, separated by spaces; the package version after a dry run."""
        return " ".join(self.signatures_of_results) or f"fcconan:{fcconan.__version__}|suite"


def evaluate_generators(
    suite: Annotated[
        Path | str,
        argument(
            "A suite file (YAML) with systems and judges, or generation, the embedded example.",
            complete=lambda: ["generation"],
        ),
    ],
    out: Annotated[
        Path | str, output("Folder of replies, ratings, comparisons and the report; a further run continues.")
    ],
    options: GeneratorSuiteOptions = GeneratorSuiteOptions(),
    *,
    json_file: Annotated[
        Path | str | None, argument("Write the state of the steps to this file.", flag="--json", path=True)
    ] = None,
    client: "Client | Model | None" = None,
    progress: Callable[[str], None] = lambda line: None,
) -> GeneratorSuiteResult:
    """Generates replies with several systems, lets judges rate and compare them, ranks the systems, writes a report.

    A step is repeated only if its configuration or its input has changed.

    Args:
        suite: A suite file, or the name of an embedded suite.
        out: The folder of results.
        options: The options.
        json_file: Location of the result, for the check that it overwrites no input. This function does not write the
            file: see `GeneratorSuiteResult.to_json`.
        client: Client or model of the user, as in `rate`.
        progress: Function that receives a line for each step, and one for each failed step.

    Returns:
        The state of the suite. The main table has one row for each step, with the columns `step`, `status` and
        `problem` (None without a failure). `data["missing"]` has the numbers of missing replies, ratings and verdicts;
        `is_complete` is True if all steps are done and nothing is missing. After a dry run, the main table has the
        requests of each step.

    Raises:
        InputError: The suite is invalid, or one of its inputs cannot be used; nothing was generated.

    Examples:
        >>> result = evaluate_generators("generation", "results")  # doctest: +SKIP
        >>> result.to_frame()["status"].unique()  # doctest: +SKIP
        array(['done'], dtype=object)
    """
    loaded, folder = LoadedSuite(suite_path(str(suite))), Path(out)
    with connected("evaluate-generators", {"suite": loaded.path}, options, client=client) as connection:
        cache = options.response_cache or folder / "journal.sqlite"
        asking = connection.joined(options.model_copy(update={"response_cache": cache, "dry_run": False}))
        evaluation = _Evaluation(loaded, folder, asking, None if json_file is None else Path(json_file), progress)
        if options.dry_run:
            evaluation.check()
            return evaluation.rehearse()
        with locked(folder):
            evaluation.check()
            result = evaluation.run()
        if not result.is_complete:
            connection.keep_open()
        return result


class _Evaluation:
    """One run of a suite.

    Args:
        loaded: The suite.
        out: The folder of results.
        connection: Opens the models.
        json_file: The file of the result.
        progress: Receives a line for each step.
    """

    def __init__(
        self,
        loaded: LoadedSuite,
        out: Path,
        connection: Connection,
        json_file: Path | None,
        progress: Callable[[str], None],
    ) -> None:
        self.loaded, self.suite, self.out, self.json_file = loaded, loaded.suite, out, json_file
        self.connection, self._say = connection, progress
        self._services = SuiteSteps(loaded, out, connection)

    def check(self) -> None:
        """Checks that the run destroys nothing.

        Raises:
            InputError: It would.
        """
        from fcconan.models import store_path

        _ = self._steps  # which refuses a folder with other things
        read, options = self.loaded.read(), self.connection.options
        recorded, local = model_files(self._services.models)
        cache = cache_path(options.response_cache)
        store = {} if store_path(cache) == cache else {"the store of --response-cache": store_path(cache)}
        check_files(
            {"--out": self.out / "suite.json", "--json": self.json_file, "--response-cache": cache, **store},
            read=[*(path for path in read if not path.is_dir()), options.prices, *recorded],
            folders=[*(path for path in read if path.is_dir()), *local],
        )

    def rehearse(self) -> GeneratorSuiteResult:
        """Counts the requests to the models of all steps, and writes nothing.

        Raises:
            InputError: Something in the suite cannot be used.
        """
        with tempfile.TemporaryDirectory() as folder:
            if self.loaded.dataset is None and not (self._services.dataset / "manifest.json").is_file():
                self._services.dataset = self._built(Path(folder) / DATASET)
            found, are_written = rehearsed(self._services, self._steps, Path(folder), whole=True)
        return GeneratorSuiteResult({DRY_RUN: found}, self.out, are_replies_written=are_written)

    def run(self) -> GeneratorSuiteResult:
        """Does all that is not done yet.

        Raises:
            InputError: Something in the suite cannot be used; then nothing was generated.
        """
        self._build()
        with tempfile.TemporaryDirectory() as folder:
            rehearsed(self._services, self._steps, Path(folder), whole=False)
        self._steps.write()
        for name in self._services.systems:
            self._answer(name)
        self._gather()
        self._measure()
        for kind in JUDGES:
            for place, config in enumerate(self._services.judging(kind), start=1):
                self._judge(kind, place, config)
        rated = self._join(RATINGS)
        compared = self._join(COMPARISONS)
        self._score(rated, compared)
        missing = count_missing(self._services.replies, rated, compared)
        self._report(missing)
        self._steps.finish()
        return self._result(missing)

    def _result(self, missing: Mapping[str, int]) -> GeneratorSuiteResult:
        statuses, problems = self._steps.statuses, self._steps.problems
        steps = [{"step": name, "status": each, "problem": problems.get(name)} for name, each in statuses.items()]
        return GeneratorSuiteResult(
            {"out": str(self.out), "suite": self.suite.name, "steps": steps, "missing": missing},
            self.out,
            is_complete=not any(missing.values()) and all(each in ("kept", "done") for each in statuses.values()),
            signatures_of_results=self._steps.about["signatures"],
        )

    @cached_property
    def _steps(self) -> StepCache:
        config = self.suite.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        return StepCache(self.out, {"version": fcconan.__version__, "suite": config})

    # Steps

    def _build(self) -> None:
        """Builds a dataset that the suite names."""
        from fcconan.data import recipe_path

        if self.loaded.dataset is None:
            folder = self._services.dataset
            key = cache_key(step=DATASET, name=self.suite.dataset, recipe=content_hash(recipe_path(self.suite.dataset)))

            def work() -> None:
                self._built(folder)

            # A build replaces an older one in one step.
            self._do(DATASET, key, [folder], work, clear=False)
            if DATASET in self._steps.problems:
                raise InputError(self._steps.problems[DATASET])

    def _built(self, folder: Path) -> Path:
        from fcconan.building import build

        return build(self.suite.dataset, folder).folder

    def _answer(self, name: str) -> None:
        files = self._services.files_of(name)

        def work() -> bool:
            result = self._services.generate(name, files[0], self.connection, self.suite.limit)
            result.to_json(files[1])
            return not result.may_improve  # refused or empty replies stay so, and the step is done

        self._do(step_of(name), self._services.key_of_system(name), files, work)

    def _gather(self) -> None:
        """Puts the replies of all systems into one file, a row for every item and system."""
        from fcconan.reporting import safety_report

        files = [self.out / "replies.parquet", self.out / "safety.json"]

        def work() -> None:
            rows = [
                row
                for name in self._services.systems
                for row in complete_replies(name, self._services.items, self._services.files_of(name)[0])
            ]
            write_replies(files[0], rows)
            write_json(safety_report(rows), files[1])

        contents = [[name, _content(self._services.files_of(name)[0])] for name in self._services.systems]
        self._do(REPLIES, cache_key(step=REPLIES, systems=contents), files, work)

    def _measure(self) -> None:
        if self.suite.metrics is None:
            return
        entry = self.loaded.options(self.suite.metrics)
        files = [self.out / "metrics.parquet", self.out / "metrics.json"]

        def work() -> None:
            self._services.measure(files[0], entry).to_json(files[1])

        key = cache_key(step=METRICS, options=with_content_hashes(entry), replies=_content(self._services.replies))
        self._do(METRICS, key, files, work)

    def _judge(self, kind: str, place: int, config: RatingConfig | ComparisonConfig) -> None:
        entry = self.loaded.options(config)
        files = [self.out / kind / f"{place}.parquet", self.out / kind / f"{place}.json"]

        def work() -> bool:
            result = self._services.judge(kind, self._services.replies, files[0], entry, self.connection)
            result.to_json(files[1])
            return not result.failed

        self._do(f"{kind}/{place}", self._services.key_of_judge(kind, entry), files, work)

    def _join(self, kind: str) -> Path | None:
        """Puts ratings or comparisons of all judges into one file."""
        number = len(self._services.judging(kind))
        parts = [self.out / kind / f"{place}.parquet" for place in range(1, number + 1)]
        parts = [part for part in parts if part.is_file()]
        if not parts:
            return None
        path = self.out / f"{kind}.parquet"
        key = cache_key(step=kind, parts=[_content(part) for part in parts])
        self._do(kind, key, [path], lambda: join_judgements(kind, parts, path))
        return path if path.is_file() else None

    def _score(self, rated: Path | None, compared: Path | None) -> None:
        """Ranks the systems, audits the judges, and correlates metrics with them."""
        suite, replies = self.suite, str(self._services.replies)
        draws: dict[str, Any] = {"resamples": suite.resamples, "seed": suite.seed}
        scored = self.out / "metrics.parquet"
        read = [path for path in (rated, compared) if path is not None]
        if compared is not None:
            given = suite.tournament.model_dump() | draws
            self._do_scores("rank", [compared], given, lambda: rank(str(compared), RankOptions(**given)))
        if rated is not None:
            self._do_scores(
                "leaderboard",
                [rated],
                draws,
                lambda: leaderboard(str(rated), LeaderboardOptions(**draws), replies=replies),
            )
        if read:
            often = draws | {"resamples": max(suite.resamples, _FEWEST_RESAMPLES)}
            options = AuditOptions(**often)
            self._do_scores("audit", read, often, lambda: audit(rated, options, comparisons=compared, replies=replies))
        if rated is not None and scored.is_file():
            human = {"human": model_raters(rated)} | draws
            paths = [rated, scored]
            self._do_scores(
                "correlate", paths, human, lambda: correlate(paths, CorrelateOptions(**human), replies=replies)
            )

    def _do_scores(
        self, name: str, read: Iterable[Path], options: Mapping[str, Any], score: Callable[[], Result]
    ) -> None:
        """Does a step whose result is one JSON file."""
        file = self.out / f"{name}.json"
        content = [_content(path) for path in (*read, self._services.replies)]

        def work() -> None:
            score().to_json(file)

        self._do(name, cache_key(step=name, options=options, read=content), [file], work)

    def _report(self, missing: Mapping[str, int]) -> None:
        from fcconan.reporting import collect_signatures, read_results, write_generator_report

        path = self.out / "report.html"
        results, services = read_results(self.out), self._services
        self._steps.about |= {
            "dataset": {"name": self.suite.dataset, "content": services.dataset_content, **services.terms},
            "models": [services.model(name) for name in services.models],
            "missing": dict(missing),
            "signatures": collect_signatures(results),
        }
        about = {**self._steps.about, "problems": self._steps.problems}

        def work() -> None:
            write_generator_report(path, about, results, services.replies)

        key = cache_key(step="report", about=about, results=results, replies=_content(services.replies))
        self._do(REPORT, key, [path], work)

    def _do(
        self, step: str, key: str, files: Sequence[Path], work: Callable[[], bool | None], *, clear: bool = True
    ) -> None:
        """Does a step, unless it is done; a failure is recorded, and the other steps are done.

        Args:
            step: Its name.
            key: A digest of its configuration and input.
            files: The files that it writes.
            work: Does it; returns false if another run may complete it.
            clear: Whether earlier files are removed first.
        """
        if self._steps.is_reusable(step, key):
            self._steps.reuse(step)
            return
        self._say(f"== {step}")
        self._steps.begin(files if clear else ())
        try:
            complete = work() is not False
        except InputError as error:
            self._steps.fail(step, str(error))
            self._say(f"{step} failed: {error}")
            return
        self._steps.end(step, key, files, complete=complete)


def _content(path: Path) -> str | None:
    return content_hash(path) if path.is_file() else None
