"""Comparisons of the replies of systems by a language model."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from fcconan.services.configuration import option
from fcconan.services.connections import MODEL_HELP, connected, notices_of, usage_of
from fcconan.services.model_results import (
    Progress,
    RowsResult,
    WatchedModel,
    dry_run_of,
    reporting,
    row_target,
    why_nothing,
    written,
)
from fcconan.services.prompts import (
    COMPARISON_FORMATS,
    JUDGEMENTS,
    ComparisonPrompt,
    JudgeOptions,
    comparison_judge,
    task_option,
)
from fcconan.services.rows import REPLIES, Source, check_systems, open_rows

if TYPE_CHECKING:
    from fcconan.judging import Row
    from fcconan.models import Client, Model


class CompareOptions(JudgeOptions, ComparisonPrompt):
    """Which model compares replies, and how."""

    model: str = option(help=f"Language model: {MODEL_HELP}.", short="-m", metavar="NAME", role="model")
    task: str = task_option("pairwise", rare=True)
    orders: Literal["both", "ab", "seeded"] = option("both", help="Orders in which two replies are shown.")
    disagreement: Literal["tie", "invalid"] = option("tie", help="Verdict where the two orders differ.", rare=True)
    one_order: Literal["invalid", "take"] = option(
        "invalid", help="Verdict where one order has no readable answer.", rare=True
    )
    pairs: int | None = option(None, help="Number of comparisons to choose, spread over systems and items.", ge=1)


class CompareResult(RowsResult):
    """Comparisons; the main table has a row for each verdict with its number."""

    kind: ClassVar[str] = "comparisons"

    def rows(self) -> Any:
        """Returns the number of each verdict."""
        if self.is_dry_run:
            return super().rows()
        return [{"verdict": name, "n": number} for name, number in self.data["verdicts"].items()]

    def comparisons(self) -> "Sequence[Row]":
        """Returns the comparisons: a row for each pair of replies, in the columns of a Comparison."""
        from fcconan.judging import COMPARISON_COLUMNS

        return self.made(COMPARISON_COLUMNS)


def compare(
    replies: Annotated[Source, REPLIES],
    options: CompareOptions,
    *,
    out: Annotated[Path | str | None, JUDGEMENTS] = None,
    client: "Client | Model | None" = None,
    progress: Progress | None = None,
) -> CompareResult:
    """Compares the replies of systems in pairs; an unreadable verdict is invalid, with a reason.

    Args:
        replies: Rows of replies: files, folders, names, data frames, datasets or mappings.
        options: The options.
        out: The file of comparisons; without one, they are returned in memory.
        client: Client or model of the user, as in `rate`.
        progress: Function that receives the number of compared pairs and of all pairs.

    Returns:
        The comparisons (`comparisons()`), one row for each pair of replies. The main table has the columns `verdict`
        (`a`, `b`, `tie` or `invalid`) and `n` (pairs); `data["invalid"]` counts the reasons of invalid verdicts. After
        a dry run, the main table has the requests of each model instead.

    Raises:
        InputError: A source cannot be read, no reply names its system, or options do not go together.

    Examples:
        >>> from fcconan.models import ChatResponse
        >>> class Longer:
        ...     name, configuration = "longer", {"version": 1}
        ...     def replies(self, calls):
        ...         for call in calls:
        ...             yield ChatResponse('{"better": "a"}')
        >>> texts = [("one", "They return them."), ("two", "No.")]
        >>> rows = [{"hate_speech": "The Ombrey keep our books.", "text": text, "system": s} for s, text in texts]
        >>> compare(rows, CompareOptions(model="longer", orders="ab"), client=Longer()).rows()
        [{'verdict': 'a', 'n': 1}]
    """
    from fcconan.judging import all_pairs, budgeted_pairs, compare_pairs
    from fcconan.models import DryRun

    out = row_target(out)
    comparison_judge(options, options.task)  # refuses options that do not go together, before a model is loaded
    with connected("compare", {"replies": replies}, options, client=client) as connection:
        opened: Any = connection.open(options.model)
        judge = comparison_judge(
            options,
            options.task,
            temperature=0.0 if options.temperature is None else options.temperature,
            seed=options.sent_seed,
            max_tokens=options.max_tokens,
        )
        rows = open_rows("replies", replies, options)
        check_systems(replies, rows)

        def pairs() -> Any:
            number = options.pairs
            return all_pairs(rows) if number is None else budgeted_pairs(rows, budget=number, seed=options.seed)

        total = sum(1 for _ in pairs())
        watched = WatchedModel(opened)
        rehearsal = DryRun(opened) if options.dry_run else None
        results = compare_pairs(
            watched if rehearsal is None else rehearsal,
            pairs(),
            protocol=judge,
            orders=options.orders,
            disagreement=options.disagreement,
            one_order=options.one_order,
            seed=options.seed,
            rater=options.rater_name or _usual_name(opened.name, judge, options),
        )
        if rehearsal is not None:
            for _ in results:
                pass
            return CompareResult(dry_run_of([rehearsal], options.prices))
        counts, failed, memory = _write(reporting(results, total, progress), out)
        problems: tuple[str, ...] = ()
        if set(counts["verdicts"]) == {"invalid"} and "orders_disagree" not in counts["invalid"]:
            event, expected = f"{opened.name} compared nothing", COMPARISON_FORMATS[options.comparison_format]
            problems = (why_nothing(event, counts["invalid"], [watched], expected=expected),)
        is_failed = failed > 0 or bool(problems)
        if is_failed:
            connection.keep_open()
        data = {
            "out": None if out is None else str(out),
            **counts,
            "failed_requests": failed,
            "judge": {"model": opened.configuration, "protocol": judge.configuration, "orders": options.orders},
            "used": usage_of([opened]),
        }
        notices = notices_of([opened])
        return CompareResult(data, notices=notices, problems=problems, failed=is_failed, path=out, memory=memory)


def _write(results: "Iterable[Row]", out: Path | None) -> "tuple[dict[str, Any], int, list[Row]]":
    """Writes comparisons; returns their counts, the number of failed requests, and the rows if there is no file."""
    from fcconan.judging import COMPARISON_COLUMNS, ComparisonSummary
    from fcconan.models import PASSING_REASONS

    summary, failed = ComparisonSummary(), 0

    def count(rows: "Sequence[Row]") -> None:
        nonlocal failed
        for row in rows:
            summary.add(row)
            failed += sum(reason in PASSING_REASONS for reason in (row["reason_ab"], row["reason_ba"]))

    memory = written(([row] for row in results), COMPARISON_COLUMNS, out, count)
    return summary.as_json(), failed, memory


def _usual_name(model: str, judge: Any, options: CompareOptions) -> str:
    """Returns the model's name with its unusual settings: `m:judgelm-explain`, `m:choice-prompt-1a2b3c`."""
    found = judge.configuration
    parts = [each for each in ("explain", "reference") if found["protocol"] == "judgelm" and found[each]]
    if found["protocol"] == "choice" and options.task != "pairwise":
        parts.append(found["task"])
    if options.orders != "both":
        parts.append(options.orders)
    if options.prompt is not None:
        parts.append(f"prompt-{found['prompt'][:6]}")
    return model if not parts and found["protocol"] == "choice" else f"{model}:{'-'.join([found['protocol'], *parts])}"
