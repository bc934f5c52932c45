"""What `fcconan evaluate-generators` does: every step is a verb of the command line, and so are its figures."""

import io
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import typer

from fcconan.cli import models
from fcconan.cli.evaluating_rehearsal import rehearsed
from fcconan.cli.evaluating_verbs import COMPARISONS, RATINGS, REPLIES, Verbs, step_of, verb_of
from fcconan.errors import InputError
from fcconan.generation import (
    ComparisonConfig,
    LoadedSuite,
    RatingConfig,
    Steps,
    content_of,
    join_comparisons,
    join_ratings,
    judges_of,
    key_of,
    known,
    missing_in,
    replies_of,
    write_replies,
)

DATASET, METRICS, REPORT = "dataset", "metrics", "report"
_FEWEST_RESAMPLES = 100  # of the audit, which has no point without intervals


class Evaluation:
    """One run of a suite.

    Args:
        loaded: The suite.
        out: The folder of results.
        connection: How models are asked.
        json_file: For the summary.
    """

    def __init__(self, loaded: LoadedSuite, out: Path, connection: models.Connection, json_file: Path | None) -> None:
        self.loaded, self.suite, self.out, self.json_file = loaded, loaded.suite, out, json_file
        self.connection = replace(connection, journal=connection.journal or out / "journal.sqlite", dry_run=False)
        self._verbs = Verbs(loaded, out, self.connection)

    def check(self) -> None:
        """Checks that the run destroys nothing.

        Raises:
            InputError: It would.
        """
        from fcconan.cli.output import check_json_target

        _ = self._steps  # which refuses a folder with other things
        read = self.loaded.read()
        self.connection.check_files(
            {"--out": self.out / "suite.json", "--json": self.json_file},
            read=[path for path in read if not path.is_dir()],
            folders=[path for path in read if path.is_dir()],
            names=self._verbs.models,
        )
        check_json_target(self.json_file, self.out)

    def rehearse(self) -> None:
        """Prints what the models of all steps would be asked, and writes nothing.

        Raises:
            InputError: Something in the suite cannot be used.
        """
        from fcconan.cli.output import print_table, write_json

        with tempfile.TemporaryDirectory() as folder:
            if self.loaded.dataset is None and not (self._verbs.dataset / "manifest.json").is_file():
                self._verbs.dataset = self._built(Path(folder) / DATASET)
            found, written = rehearsed(self._verbs, self._steps, Path(folder), whole=True)
        if not found:
            print("No model would be asked anything.")
        else:
            names = list(dict.fromkeys(name for row in found for name in row))
            cells = [["" if row.get(name) is None else row[name] for name in names] for row in found]
            print_table("What would be asked (nothing was sent)", names, cells)
        if not written:
            print("Replies that are not written yet are counted at their longest.")
        if self.json_file is not None:
            write_json(self.json_file, {"dry_run": found})

    def run(self) -> bool:
        """Does all that is not done yet; returns whether nothing is missing.

        Raises:
            InputError: Something in the suite cannot be used; then nothing was generated.
        """
        self._build()
        with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
            rehearsed(self._verbs, self._steps, Path(folder), whole=False)
        self._steps.write()
        for name in self._verbs.systems:
            self._answer(name)
        self._gather()
        self._measure()
        for place, rating in enumerate(self.suite.ratings, start=1):
            self._judge(RATINGS, place, rating, self._verbs.rate)
        for place, comparison in enumerate(self.suite.comparisons, start=1):
            self._judge(COMPARISONS, place, comparison, self._verbs.compare)
        rated = self._join(RATINGS, len(self.suite.ratings), join_ratings)
        compared = self._join(COMPARISONS, len(self.suite.comparisons), join_comparisons)
        self._score(rated, compared)
        missing = missing_in(self._verbs.replies, rated, compared)
        self._report(missing)
        self._steps.finish()
        self._tell(missing)
        return not any(missing.values()) and all(each in ("kept", "done") for each in self._steps.statuses.values())

    def _tell(self, missing: Mapping[str, int]) -> None:
        """Prints how the systems stand, and what became of every step."""
        from fcconan.cli.output import print_table, write_json
        from fcconan.reporting import gist_of

        for table in gist_of(self.out):
            print_table(table.title, table.columns, table.rows)
        steps = [
            {"step": name, "status": status, "problem": self._steps.problems.get(name)}
            for name, status in self._steps.statuses.items()
        ]
        cells = [[each or "" for each in step.values()] for step in steps]
        print_table(f"Steps of {self.suite.name}", ("step", "status", "problem"), cells)
        if any(missing.values()):
            print("Without a value: " + ", ".join(f"{what} {n}" for what, n in missing.items() if n))
        print(f"Report: {self.out / 'report.html'}")
        if self.json_file is not None:
            result = {"out": str(self.out), "suite": self.suite.name, "steps": steps, "missing": missing}
            write_json(self.json_file, result)

    @cached_property
    def _steps(self) -> Steps:
        import fcconan

        config = self.suite.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        return Steps(self.out, {"version": fcconan.__version__, "suite": config})

    # Steps

    def _build(self) -> None:
        """Builds a dataset that the suite names."""
        from fcconan.data import recipe_path

        if self.loaded.dataset is None:
            folder = self._verbs.dataset
            key = key_of(step=DATASET, name=self.suite.dataset, recipe=content_of(recipe_path(self.suite.dataset)))
            # A build replaces an older one in one step.
            self._do(DATASET, key, [folder], lambda: self._built(folder), clear=False)
            if DATASET in self._steps.problems:
                raise InputError(self._steps.problems[DATASET])

    def _built(self, folder: Path) -> Path:
        from fcconan.building import build

        return build(self.suite.dataset, folder).folder

    def _answer(self, name: str) -> None:
        files = self._verbs.files_of(name)

        def work() -> None:
            self._verbs.generate(name, files[0], files[1], self.connection, self.suite.limit)

        self._do(step_of(name), self._verbs.key_of_system(name), files, work)

    def _gather(self) -> None:
        """Puts the replies of all systems into one file, a row for every item and system."""
        from fcconan.cli.output import write_json
        from fcconan.reporting import safety_report

        files = [self.out / "replies.parquet", self.out / "safety.json"]

        def work() -> None:
            rows = [
                row
                for name in self._verbs.systems
                for row in replies_of(name, self._verbs.items, self._verbs.files_of(name)[0])
            ]
            write_replies(files[0], rows)
            write_json(files[1], safety_report(rows))

        key = key_of(
            step=REPLIES, systems=[[name, _content(self._verbs.files_of(name)[0])] for name in self._verbs.systems]
        )
        self._do(REPLIES, key, files, work)

    def _measure(self) -> None:
        if self.suite.metrics is None:
            return
        options = self.loaded.options(self.suite.metrics)
        files = [self.out / "metrics.parquet", self.out / "metrics.json"]

        def work() -> None:
            given = {"device": self.connection.device, **options}
            _measured(files[1], self._verbs.replies, files[0], given)

        key = key_of(step=METRICS, options=known(options), replies=_content(self._verbs.replies))
        self._do(METRICS, key, files, work)

    def _judge(self, kind: str, place: int, config: RatingConfig | ComparisonConfig, verb: Callable[..., None]) -> None:
        options = self.loaded.options(config)
        files = [self.out / kind / f"{place}.parquet", self.out / kind / f"{place}.json"]

        def work() -> None:
            verb(self._verbs.replies, files[0], options, files[1], self.connection)

        self._do(f"{kind}/{place}", self._verbs.key_of_judge(kind, options), files, work)

    def _join(self, kind: str, number: int, join: Callable[[Iterable[Path], Path], None]) -> Path | None:
        """Puts ratings or comparisons of all judges into one file."""
        parts = [self.out / kind / f"{place}.parquet" for place in range(1, number + 1)]
        parts = [part for part in parts if part.is_file()]
        if not parts:
            return None
        path = self.out / f"{kind}.parquet"
        key = key_of(step=kind, parts=[_content(part) for part in parts])
        self._do(kind, key, [path], lambda: join(parts, path))
        return path if path.is_file() else None

    def _score(self, rated: Path | None, compared: Path | None) -> None:
        suite = self.suite
        replies, draws = str(self._verbs.replies), {"resamples": suite.resamples, "seed": suite.seed}
        scored = self.out / "metrics.parquet"
        if compared is not None:
            given = suite.tournament.model_dump() | draws
            more = {"replies": replies} if suite.tournament.length_control else {}
            self._scoring("rank", _ranked, [compared], {"comparisons": [str(compared)], **given, **more})
        if rated is not None:
            self._scoring("leaderboard", _on_board, [rated], {"ratings": [str(rated)], "replies": replies, **draws})
        if rated is not None or compared is not None:
            given = {"resamples": max(suite.resamples, _FEWEST_RESAMPLES), "seed": suite.seed}
            files = {
                "ratings": None if rated is None else [rated],
                "comparisons": None if compared is None else [compared],
            }
            read = [path for path in (rated, compared) if path is not None]
            self._scoring("audit", _audited, read, {**files, "replies": self._verbs.replies, **given})
        if rated is not None and scored.is_file():
            judges = judges_of(rated)
            options = {"ratings": [str(rated), str(scored)], "human": judges, "replies": replies, **draws}
            self._scoring("correlate", _correlated, [rated, scored], options)

    def _scoring(self, name: str, verb: Callable[..., None], read: Iterable[Path], options: dict[str, Any]) -> None:
        file = self.out / f"{name}.json"
        shown = {key: value for key, value in options.items() if key not in (RATINGS, COMPARISONS, REPLIES)}
        content = [_content(path) for path in (*read, self._verbs.replies)]
        key = key_of(step=name, options=shown, read=content)

        def work() -> None:
            with redirect_stdout(io.StringIO()):  # the report has it all
                verb_of(verb)(json_file=file, **options)

        self._do(name, key, [file], work)

    def _report(self, missing: Mapping[str, int]) -> None:
        from fcconan.reporting import results_of, signatures_of, write_generator_report

        path = self.out / "report.html"
        results = results_of(self.out)
        self._steps.about |= {
            "dataset": {"name": self.suite.dataset, "content": self._verbs.dataset_content, **self._verbs.terms},
            "models": [self._verbs.model(name) for name in self._verbs.models],
            "missing": dict(missing),
            "signatures": signatures_of(results),
        }
        about = {**self._steps.about, "problems": self._steps.problems}

        def work() -> None:
            write_generator_report(path, about, results, self._verbs.replies)

        key = key_of(step="report", about=about, results=results, replies=_content(self._verbs.replies))
        self._do(REPORT, key, [path], work)

    def _do(
        self, step: str, key: str, files: Sequence[Path], work: Callable[[], object], *, clear: bool = True
    ) -> None:
        """Does a step, unless it is done; what fails stands in the record, and others go on."""
        if self._steps.is_kept(step, key):
            self._steps.keep(step)
            return
        print(f"== {step}", flush=True)
        self._steps.begin(files if clear else ())
        complete = True
        try:
            work()
        except typer.Exit as stopped:
            complete = stopped.exit_code == 0
        except InputError as error:
            self._steps.fail(step, str(error))
            print(f"{step} failed: {error}")
            return
        self._steps.end(step, key, files, complete=complete)


def _ranked(json_file: Path, comparisons: Sequence[str], replies: str | None = None, **options: Any) -> None:
    from fcconan.services import RankOptions, rank

    rank(comparisons, RankOptions(**options), replies=replies).to_json(json_file)


def _audited(json_file: Path, ratings: Any, replies: Path, **options: Any) -> None:
    from fcconan.services import AuditOptions, audit

    comparisons = options.pop("comparisons")
    audit(ratings, AuditOptions(**options), comparisons=comparisons, replies=replies).to_json(json_file)


def _on_board(json_file: Path, ratings: Sequence[str], replies: str, **options: Any) -> None:
    from fcconan.services import LeaderboardOptions, leaderboard

    leaderboard(ratings, LeaderboardOptions(**options), replies=replies).to_json(json_file)


def _correlated(json_file: Path, ratings: Sequence[str], replies: str, **options: Any) -> None:
    from fcconan.services import CorrelateOptions, correlate

    correlate(ratings, CorrelateOptions(**options), replies=replies).to_json(json_file)


def _measured(json_file: Path, replies: Path, out: Path, given: dict[str, Any]) -> None:
    """Writes text metrics, whose options have other names in suites."""
    from fcconan.services import MetricsOptions, metrics

    options = {name: value for name, value in given.items() if value is not None}
    training = options.pop("train", None)
    options["multi_reference"] = options.pop("several", "max")
    if "question" in options:
        options["question"] = dict(each.split("=", 1) for each in options["question"])
    metrics(replies, MetricsOptions(**options), out=out, novelty_against=training).to_json(json_file)


def _content(path: Path) -> str | None:
    return content_of(path) if path.is_file() else None
