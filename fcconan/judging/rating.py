"""Ratings of replies by a model: a row for each reply and aspect, with a value or a reason, and their summary."""

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeGuard, runtime_checkable

from fcconan.data import LABELLED as LABELLED_SCHEMA, RATED as RATED_SCHEMA, Columns, reply_metadata, short_hash
from fcconan.judging.answer_checks import cites_texts
from fcconan.judging.judgements import Judgement, RowReason, read_answers
from fcconan.judging.strategies import TEXTS, RatingPlan, RatingQuestion, prompt_variables
from fcconan.judging.streams import match_answers
from fcconan.models import PASSING_REASONS, ChatRequest, ChatResponse, Model, Sampling

Row = dict[str, Any]
RATED: Columns = RATED_SCHEMA.kinds
LABELLED: Columns = LABELLED_SCHEMA.kinds
_Shown = tuple[dict[str, str], RowReason | None]
_MISSING: dict[str, RowReason] = {
    "hate_speech": "no_hate_speech",
    "counter_narrative": "empty_reply",
    "reference": "no_reference",
    "background": "no_background",
}


@runtime_checkable
class Judge(Protocol):
    """Interface of judges that rate replies.

    Attributes:
        name: Name of the rater in its ratings.
    """

    name: str

    def rate(self, replies: Iterable[Row]) -> Iterator[list[Row]]:
        """Yields the ratings of each reply, in order: rows with the columns of a Rating."""
        ...


class ModelJudge:
    """Judge that rates replies with a chat model.

    Args:
        model: Chat model.
        plan: Task, rating method and sampling.
        name: Name of the rater; default: the model, the rating method and its unusual settings (`strategy_label`).
        background: Function that finds background knowledge for a row without any. Its attribute `configuration`, if
            there is one, becomes part of the judge's configuration.

    Attributes:
        name: Name of the rater.
        configuration: All settings that change the ratings.
        columns: Names and types of the columns of the ratings.
        failed: Number of calls so far that failed for a temporary reason; another run repeats them.
    """

    def __init__(
        self,
        model: Model,
        plan: RatingPlan,
        *,
        name: str | None = None,
        background: Callable[[Row], str | None] | None = None,
    ) -> None:
        self.model, self.plan = model, plan
        self.name = name or f"{model.name}:{strategy_label(plan)}"
        self._questions = plan.questions()
        self._texts = plan.texts
        self._background = background
        self.columns = LABELLED if plan.task.labels else RATED
        self.failed = 0
        self.configuration: dict[str, Any] = {
            "model": model.configuration,
            "task": plan.task.name,
            "strategy": plan.strategy,
            "prompts": [question.prompt.hash for question in self._questions],
            "samples": [question.samples for question in self._questions],
            "sampling": [vars(question.sampling) for question in self._questions],
            "background": getattr(background, "configuration", None),
        }

    def calls(self, row: Row) -> list[ChatRequest]:
        """Returns the calls for one reply; none if it cannot be rated."""
        return self._calls(*self._shown(row))

    def _calls(self, texts: dict[str, str], reason: RowReason | None) -> list[ChatRequest]:
        if reason is not None:
            return []
        filled = prompt_variables(texts)
        return [
            ChatRequest(
                question.prompt.render(filled),
                _sampling_for(question.sampling, sample),
                question.schema,
                sample,
                {**texts, "aspect": question.aspects[0].name if len(question.aspects) == 1 else ""},
            )
            for question in self._questions
            for sample in range(question.samples)
        ]

    def rate(self, replies: Iterable[Row]) -> Iterator[list[Row]]:
        """Yields the ratings of each reply, in order, while requests for later replies are in progress.

        Args:
            replies: Rows with `reply_id` (or `pair_id`), `text`, and the other texts of the prompt: `hate_speech`,
                `references` (the first one with text) and `background`.

        Yields:
            The ratings of one reply: one for each aspect, or one with a label.
        """
        shown = ((row, self._shown(row)) for row in replies)
        asked = ((each, self._calls(*each[1])) for each in shown)
        for (row, texts), answers in match_answers(self.model.name, self.model.replies, asked):
            yield self._rows(row, texts, answers)

    def _shown(self, row: Row) -> _Shown:
        """Returns the texts of a row for the prompt, or the reason why it cannot be rated."""
        texts = {}
        for name in self._texts:
            value = row.get(TEXTS[name])
            if name == "reference" and isinstance(value, list | tuple):
                value = next((each for each in value if _has_text(each)), None)
            if name == "background" and not _has_text(value) and self._background is not None:
                value = self._background(row)
            if not _has_text(value):
                return {}, _MISSING[name]
            texts[name] = value
        return texts, None

    def _rows(self, row: Row, shown: _Shown, replies: Sequence[ChatResponse]) -> list[Row]:
        texts, reason = shown
        labels = [label.name for label in self.plan.task.labels]
        rows = []
        rest = iter(replies)
        for question in self._questions:
            if reason is not None:
                outcomes = {name: Judgement(None, reason) for name in _names(question)}
            else:
                said = [next(rest) for _ in range(question.samples)]
                without = [reply.reason for reply in said if reply.text is None]
                self.failed += sum(reason in PASSING_REASONS for reason in without)
                outcomes = read_answers(question, said, labels)
            rows += [self._row(row, name, outcome, question, texts) for name, outcome in outcomes.items()]
        return rows

    def _row(self, row: Row, name: str, outcome: Judgement, question: RatingQuestion, texts: Mapping[str, str]) -> Row:
        judged: Row = {
            "rater": self.name,
            "rater_kind": "model",
            "reason": outcome.reason,
            "explanation": outcome.explanation,
            "strategy": self.plan.strategy,
            "n_samples": outcome.n_samples,
            "n_read": outcome.n_read,
            "retained_mass": outcome.retained_mass,
            "cited": cites_texts(outcome.explanation, texts) if question.cited and outcome.value is not None else None,
        }
        if self.plan.task.labels:
            judged |= {
                "pair_id": row.get("pair_id") or row.get("reply_id"),
                "label": outcome.value,
            }
        else:
            aspect = self.plan.task.aspect(name)
            judged |= {
                "reply_id": row.get("reply_id") or row.get("pair_id"),
                "aspect": name,
                "value": outcome.value,
                "low": aspect.scale[0],
                "high": aspect.scale[1],
                "higher_is_better": aspect.higher_is_better,
                **reply_metadata(row),
            }
        return {column: judged[column] for column in self.columns}


def strategy_label(plan: RatingPlan) -> str:
    """Returns a rating method with its unusual settings: `g-eval-logprobs`, `rubric-5-samples-prompt-1a2b3c`.

    The task, its aspects and calibrated steps are not included.
    """
    asked = plan.questions()
    mine, usual = asked[0], replace(plan, samples=None, temperature=None, max_tokens=None).questions()[0]
    usual_temperature = replace(plan, temperature=None).questions()[0].sampling.temperature
    further = {
        "logprobs": plan.logprobs,
        f"{mine.samples}-samples": mine.samples != usual.samples,
        f"temperature-{mine.sampling.temperature:g}": mine.sampling.temperature != usual_temperature,
        f"{mine.sampling.max_tokens}-tokens": mine.sampling.max_tokens != usual.sampling.max_tokens,
        "no-seed" if plan.seed is None else f"seed-{plan.seed}": plan.seed != 0,
        f"prompt-{short_hash(*(each.prompt.hash for each in asked))[:6]}": plan.prompt is not None,
    }
    return "-".join([plan.strategy, *(name for name, differs in further.items() if differs)])


def _has_text(value: object) -> TypeGuard[str]:
    """Returns whether a value is a text with other characters than white space and invisible ones, such as U+200B."""
    return isinstance(value, str) and any(
        not each.isspace() and unicodedata.category(each) not in ("Cc", "Cf") for each in value
    )


def _names(question: RatingQuestion) -> list[str]:
    return ["label"] if question.form == "label" else [aspect.name for aspect in question.aspects]


def _sampling_for(sampling: Sampling, sample: int) -> Sampling:
    # With the same seed, an endpoint would return the same answer for all samples.
    return sampling if sampling.seed is None or sample == 0 else replace(sampling, seed=sampling.seed + sample)


class RatingSummary:
    """Counts and means of ratings by rater and aspect, added row by row."""

    def __init__(self) -> None:
        self._parts: dict[tuple[str, str], dict[str, Any]] = {}

    def add(self, rows: Sequence[Row]) -> None:
        """Adds ratings or labels."""
        for row in rows:
            what = (row["rater"], row.get("aspect") or "label")
            part = self._parts.setdefault(
                what,
                {"n": 0, "sum": 0.0, "missing": Counter(), "labels": Counter(), "cited": Counter()},
            )
            if row.get("low") is not None:
                part["scale"] = row["low"], row["high"]
            value = row["label"] if "label" in row else row["value"]
            if value is None:
                part["missing"][str(row["reason"])] += 1
            else:
                part["n"] += 1
                if isinstance(value, str):
                    part["labels"][value] += 1
                else:
                    part["sum"] += value
            if row.get("cited") is not None:
                part["cited"][row["cited"]] += 1
            if row.get("retained_mass") is not None:
                part["mass"] = part.get("mass", 0.0) + row["retained_mass"]

    def result(self, **further: Any) -> dict[str, Any]:
        """Returns the summary as JSON-serializable values.

        `mean` is the mean of the available ratings; `bounds` are the means if all missing ratings were the lowest or
        the highest grade.

        Args:
            further: Further keys of the result.
        """
        rows = []
        for (rater, aspect), part in self._parts.items():
            cited = part["cited"]
            n_missing = sum(part["missing"].values())
            bounds = [(part["sum"] + n_missing * end) / (part["n"] + n_missing) for end in part.get("scale", ())]
            row: dict[str, Any] = {
                "rater": rater,
                "aspect": aspect,
                "n": part["n"],
                "n_missing": n_missing,
                "missing": dict(sorted(part["missing"].items())),
                "mean": part["sum"] / part["n"] if part["n"] and not part["labels"] else None,
                "bounds": bounds or None,
                "cited": cited[True] / sum(cited.values()) if cited else None,
                "retained_mass": part["mass"] / part["n"] if part.get("mass") is not None and part["n"] else None,
            }
            if part["labels"]:
                row["labels"] = dict(sorted(part["labels"].items()))
            rows.append(row)
        return {"rows": rows, **further}
