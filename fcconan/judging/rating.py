"""`judge rate`: ratings of replies by language models, learned raters and judges of one's own."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol, runtime_checkable

import numpy as np
from cyclopts import Parameter

from fcconan.data import (
    ABOUT_REPLY,
    LABELLED,
    RATED,
    UNKNOWN,
    RowSource,
    as_names,
    cell_list,
    file_sha256,
    first_column,
    is_blank,
    read,
)
from fcconan.errors import InputError
from fcconan.groups import AtLeastOne, Endpoint, Rows
from fcconan.judging.methods import (
    EXCERPT,
    METHODS,
    TOP_LOGPROBS,
    Answer,
    Grade,
    RatingMethod,
    RatingPlan,
    ask,
    calls_of,
    combine,
    merge_answers,
    plan_rating,
    read_answer,
)
from fcconan.judging.prompts import TEXTS
from fcconan.models import Sampling, check_names_of, identified, model_notes, open_model, plan_requests, usage_table
from fcconan.result import Result

if TYPE_CHECKING:
    from pandas import DataFrame

    Models = Any  # names, and in Python models and judges
else:
    Models = tuple[str, ...]

Row = dict[str, Any]
LEARNED = "learned:"
_LACKS = {
    "hate_speech": "no_hate_speech",
    "counter_narrative": "empty_reply",
    "reference": "no_reference",
    "background": "no_background",
}
_ADVICE = {
    "truncated": "raise --max-tokens; models that think before they answer need thousands",
    "empty": "raise --max-tokens, if the model thinks before it answers",
    "no_logprobs": "--logprobs needs an endpoint that gives log-probabilities, and answers that are a grade alone",
    "not_recorded": "check the columns and texts of the recorded file",
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


def rate(
    *replies: RowSource,
    model: Models,
    task: str = "multi-aspect",
    aspect: tuple[str, ...] = (),
    rating_method: RatingMethod = "rubric",
    prompt: Path | None = None,
    steps: tuple[Path, ...] = (),
    samples: AtLeastOne | None = None,
    logprobs: bool = False,
    background: Path | None = None,
    temperature: float | None = None,
    max_tokens: AtLeastOne | None = None,
    limit: AtLeastOne | None = None,
    ask_again: Annotated[bool, Parameter(negative="--no-ask-again")] = True,
    dry_run: bool = False,
    seed: int = 0,
    rows: Rows = Rows(),
    endpoint: Endpoint = Endpoint(),
) -> Result:
    """Rate each reply on each aspect of a task, with language models or learned raters.

    Methods: direct shows the scale; rubric also the meaning of each grade; g-eval also evaluation steps, and averages
    20 samples or weights grades by their probability (Liu et al. 2023, equation 1); auto-cseval shows calibrated steps
    (CSEval, Algorithm 1); prometheus shows a reference and asks for feedback and [RESULT] (Kim et al. 2024); grounded
    shows background and asks for explanations that cite the texts. Prompts show the texts that the context of the task
    names. A failed rating is missing, with a reason.

    Args:
        replies: Files, dataset folders, or names of datasets with replies.
        model: Models: names at the endpoint, local:FOLDER_OR_NAME, replay:FILE of recorded outputs, or learned:FOLDER
            of judge train, or learned:cseval and learned:cseval-surface, which are trained on first use; in Python also
            models, and judges with `name` and `rate(replies)`.
        task: Annotation task: a name of the catalogue, a task.yaml, or a rubric file (CSV or JSON).
        aspect: Aspects of the task; default: all.
        rating_method: Method of rating.
        prompt: YAML list of messages with role and content, instead of the prompt of the method. Its variables are
            {{hate_speech}}, {{counter_narrative}}, {{reference}}, {{background}}, {{texts}} (those that the method
            shows, as JSON), and of an aspect {{aspect}}, {{question}}, {{grades}}, {{steps}}, {{low}} and {{high}}.
        steps: Files of judge calibrate, for auto-cseval.
        samples: Answers to each question: the mean of grades, or the label of more than half; default: 20 for g-eval
            without log-probabilities, otherwise 1.
        logprobs: Weight grades by their probability (g-eval).
        background: Folder or file of passages for replies without background: three for each message, by BM25.
        temperature: Sampling temperature; default: 0, or 1 for several samples.
        max_tokens: Longest answer; default: as the form of the answer needs.
        limit: Use only the first replies.
        ask_again: Ask once more where an answer of an endpoint cannot be read.
        dry_run: Count requests, tokens and cost, and show the first prompt; send nothing.
        seed: Seed of sampling.
        rows: Which rows are read.
        endpoint: Address and limits of requests.

    Returns:
        `raters`: one row for each rater and aspect, with `n`, `n_missing`, `value` (mean), `labels` (counts), `cited`
        (share of explanations that quote a text), `retained_mass` (mean probability of the grades on the scale) and
        `reason` (counts). `ratings`, the rows of `--out`: one row for each rater, reply and aspect with the columns of
        a Rating, or of a vote if the task has labels. `missing`: counts by reason. `usage`: requests, tokens and cost,
        with `asked_again`. After a dry run, `requests` and `messages`.

    Raises:
        InputError: A source, task, prompt or model cannot be used, texts are missing, the endpoint fails, or there is
            no rating at all.

    Examples:
        >>> from fcconan.models import ChatResponse
        >>> class Mine:
        ...     name = "mine"
        ...     def replies(self, calls):
        ...         return (ChatResponse('{"relevance": 4}') for _ in calls)
        >>> reply = {"hate_speech": "The Ombrey keep our books.", "text": "They return them.", "system": "one"}
        >>> rate([reply], model=Mine(), task="cseval", aspect=["relevance"]).to_frame()["value"].tolist()
        [4.0]
    """
    import pandas as pd

    aspect, steps = map(as_names, (aspect, steps))
    table, _, name = read("replies", *replies, rows=rows)
    for each in ("text", "hate_speech"):
        if theirs := first_column(dict.fromkeys(table), each):
            table[each] = table[theirs]
    table = table[:limit]
    given = [model] if isinstance(model, str) or hasattr(model, "name") else dict.fromkeys(model)
    judges: list[Any] = [
        each if hasattr(each, "rate") or str(each).startswith(LEARNED) else open_model(each, endpoint) for each in given
    ]
    asked = [each for each in judges if hasattr(each, "replies")]
    check_names_of(judges)
    if dry_run and not asked:
        raise InputError("found --dry-run with learned raters only, which send no requests: leave it out")
    folders: dict[str, Path] = {}
    if any(isinstance(each, str) for each in judges):
        from fcconan.judging.learned import RATER, find_rater, rate_learned

        folders = {each: find_rater(each.removeprefix(LEARNED)) for each in judges if isinstance(each, str)}
    hashed = {each: f"{each}@{file_sha256(folder / RATER)[:12]}" for each, folder in folders.items()}
    identity: Row = {
        "data": name,
        "limit": limit,
        "model": "+".join(hashed[each] if isinstance(each, str) else identified(each) for each in judges),
    }
    plan, shown = None, []
    calls: list[Any] = []
    if asked:
        settings = Sampling(temperature, max_tokens, seed=seed, top_logprobs=TOP_LOGPROBS * logprobs)
        plan = plan_rating(task, aspect, rating_method, prompt, steps, samples, settings)
        identity |= plan.identity | {"ask_again": None if ask_again else "no"}
        passages = None
        if background is not None and "background" in plan.shown:
            from fcconan.judging.background import Passages

            passages = Passages(background)
            identity["background"] = passages.hash
        shown = _shown(plan, table, name, passages.find if passages else None)
        calls = [call for texts, reason in shown if reason is None for call in calls_of(plan, texts)]
    if dry_run:
        prompts = [f"{each['role']}:\n{each['content']}" for each in (calls[0].messages if calls else ())]
        return Result("judge rate", plan_requests(*((each, calls) for each in asked)), identity, prompts)
    found: list[pd.DataFrame] = []
    notes: list[str] = []
    again: dict[str, int] = {}
    for each in judges:
        if plan is not None and hasattr(each, "replies"):
            answers, again[each.name] = ask(
                each, calls, read_answer, lambda call: call.question.line, merge_answers, again=ask_again
            )
            part = pd.DataFrame(_rows(f"{each.name}:{plan.label}", plan, table, shown, answers))
        elif hasattr(each, "rate"):
            part = pd.DataFrame([row for rated in each.rate(table.to_dict("records")) for row in rated])
        else:
            part, further = rate_learned(folders[each], table, aspect)
            notes += further
        found.append(part.astype(object))
    ratings = pd.concat(found, ignore_index=True).infer_objects()
    ratings = ratings.reindex(columns=[*dict.fromkeys([*ratings, "reason", "explanation"])])  # of judges of one's own
    column = "label" if "label" in ratings else "value"
    by_aspect = ratings if "aspect" in ratings else ratings.assign(aspect="label")
    missing = by_aspect[by_aspect[column].isna()]
    if len(missing) == len(ratings):
        reason, n = Counter(missing["reason"]).most_common(1)[0]
        said = " ".join(str(missing["explanation"][missing["reason"] == reason].iloc[0] or "").split())
        advice = _ADVICE.get(
            reason, f"check the texts and the model, expected: {plan.questions[0].line if plan else ''}"
        )
        raise InputError(f"found no rating: {n} of {len(ratings)} are {reason} ({said[:EXCERPT]}): {advice}")
    usage = usage_table(asked)
    tables = {
        "raters": _summary(by_aspect, column),
        "ratings": ratings,
        "missing": missing.groupby(["rater", "aspect", "reason"], sort=False).size().rename("n").reset_index(),
        "usage": usage.assign(asked_again=usage["model"].map(again)),
    }
    return Result("judge rate", tables, identity, [*notes, *model_notes(asked)], out="ratings")


def _shown(
    plan: RatingPlan, table: "DataFrame", name: str, find: Callable[[str], str | None] | None
) -> list[tuple[dict[str, str], str | None]]:
    """Returns the texts of each reply for the prompt, or the reason why it cannot be rated.

    Args:
        plan: How replies are rated.
        table: The replies.
        name: Name of the data, for messages.
        find: Returns the background of a message.

    Raises:
        InputError: The replies have no column of a text.
    """
    columns = {each: first_column(dict.fromkeys(table), TEXTS[each]) for each in plan.shown}
    for each, column in columns.items():
        if column is None and (each != "background" or find is None):
            cure = "give --background, or " * (each == "background") + f"name it with --rename.{TEXTS[each]} COLUMN"
            raise InputError(f"{name} has no column {TEXTS[each]}, only {', '.join(table)}: {cure}")
    found: list[tuple[dict[str, str], str | None]] = []
    for row in table.to_dict("records"):
        texts: dict[str, str] = {}
        for each, column in columns.items():
            cell = row.get(column)
            cells = [*cell] if isinstance(cell, np.ndarray) else cell_list(cell) if each == "reference" else [cell]
            if each == "background" and find is not None and is_blank(cell):
                cells = [find(str(row["hate_speech"]))]
            text = next((each for each in cells if not is_blank(each)), None)
            if text is None:
                found.append(({}, _LACKS[each]))
                break
            texts[each] = text
        else:
            found.append((texts, None))
    return found


def _rows(
    rater: str,
    plan: RatingPlan,
    table: "DataFrame",
    shown: Sequence[tuple[Mapping[str, str], str | None]],
    answers: Iterable[Answer],
) -> Iterator[Row]:
    """Yields a row for each reply and aspect, with the columns of a rating or of a label."""
    columns, rest = (LABELLED if plan.task.labels else RATED).kinds, iter(answers)
    about = table.reindex(columns=["reply_id", "pair_id", *ABOUT_REPLY])
    about = about.astype(object).where(about.notna() & (about != UNKNOWN), None)
    cites = METHODS[plan.method].cites
    for row, (texts, reason) in zip(about.to_dict("records"), shown, strict=True):
        row["pair_id"] = row["pair_id"] or row["reply_id"]
        for question in plan.questions:
            said = [next(rest) for _ in range(plan.samples)] if reason is None else []
            for aspect in question.aspects or (None,):
                grades = [each.grades[aspect.name if aspect else "label"] for each in said]
                grade = combine(grades) if grades else Grade(None, reason)
                found = row | grade._asdict()
                found |= {"rater": rater, "rater_kind": "model", "strategy": plan.method, "n_samples": len(grades)}
                found["n_read"] = sum(each.value is not None for each in grades)
                found["cited"] = _cites(grade.explanation, texts) if cites and grade.value is not None else None
                if aspect is None:
                    found["label"] = grade.value
                else:
                    low, high = aspect.scale
                    found |= {"aspect": aspect.name, "low": low, "high": high}
                    found["higher_is_better"] = aspect.higher_is_better
                yield {column: found[column] for column in columns}


# An apostrophe within a word does not end a quotation.
_QUOTED = re.compile(
    r"\"([^\"]{1,400})\"|“([^“”]{1,400})”|„([^„“”\"]{1,400})[“”\"]|«([^«»]{1,400})»|»([^«»]{1,400})«|‹([^‹›]{1,400})›"
    r"|「([^「」]{1,400})」|『([^『』]{1,400})』|[‘‚]((?:[^‘’]|’(?=\w)){1,400})[’‘](?!\w)"
    r"|(?<!\w)'((?:[^']|'(?=\w)){1,400})'(?!\w)"
)
_LEFT_OUT = re.compile(r"[\[(]?(?:\.{3}|…)[\])]?")
_LONG_WORD = 5


def _cites(explanation: str | None, texts: Mapping[str, str]) -> bool:
    """Returns whether an explanation quotes two words of a text, or one with five letters.

    Case and spacing are ignored. The parts of a quotation with an ellipsis must be in the same text.
    """
    plain = [_plain(text) for text in texts.values()]
    for found in _QUOTED.findall(explanation or ""):
        parts = [_plain(part).strip(" .,;:!?") for part in _LEFT_OUT.split(next(filter(None, found)))]
        is_long = any(" " in part or len(part) >= _LONG_WORD for part in parts)
        if is_long and any(all(part in text for part in parts) for text in plain):
            return True
    return False


def _plain(text: str) -> str:
    return " ".join(text.replace("’", "'").casefold().split())


def _summary(ratings: "DataFrame", column: str) -> "DataFrame":
    """Returns counts and means by rater and aspect."""
    import pandas as pd

    rows = []
    for (rater, aspect), own in ratings.groupby(["rater", "aspect"], sort=False):
        there = own[column].dropna()
        lost = own["reason"][own[column].isna()]
        rows.append(
            {
                **{"rater": rater, "aspect": aspect, "n": len(there), "n_missing": len(lost)},
                "value": there.mean() if column == "value" else math.nan,
                "labels": _counts(there) if column == "label" else None,
                **{each: own[each].dropna().mean() for each in ("cited", "retained_mass") if each in own},
                "reason": _counts(lost),
            }
        )
    return pd.DataFrame(rows)


def _counts(values: Iterable[Any]) -> str | None:
    return ", ".join(f"{value} {n}" for value, n in Counter(values).most_common()) or None
