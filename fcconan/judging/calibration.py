"""`judge calibrate`: evaluation steps by which a judge agrees with people (Auto-CSEval)."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from fcconan.data import RowSource, write_whole
from fcconan.errors import InputError
from fcconan.groups import Bootstrap, Endpoint, Rows
from fcconan.judging.calibration_data import describe_parts, rated_examples, split_examples
from fcconan.judging.drafting import EDITS, SCHEMA, copies_example, draft_messages, parse_steps, refine_messages
from fcconan.judging.methods import ask
from fcconan.judging.prompts import answer_line, prompt_variables, rating_prompt, rating_schema
from fcconan.judging.tasks import Aspect, Task, load_rubric
from fcconan.models import (
    ChatRequest,
    ChatResponse,
    Model,
    Sampling,
    model_notes,
    open_model,
    plan_requests,
    usage_table,
)
from fcconan.parsing import AspectField, Parsed, parse_multi
from fcconan.report import forest
from fcconan.result import Result
from fcconan.scoring import correlate

if TYPE_CHECKING:
    from pandas import DataFrame, Series

COVERAGE = 0.8  # smallest share of readable ratings by a candidate's steps
ERRORS = 3  # misjudged examples in a request for a refinement, as in the paper
TEMPERATURES = (0.0, 0.5)  # of drafts; refinements have the higher one
CALIBRATED, OWN = "calibrated steps", "the task's own steps"


def calibrate(
    replies: RowSource,
    *,
    aspect: str,
    model: str | Model,
    out: Path,
    task: str = "cseval",
    drafter: str | Model | None = None,
    ratings: RowSource | None = None,
    example: tuple[int, ...] = (3, 6),
    trials: int = 5,
    keep: int = 3,
    rounds: int = 1,
    limit: int | None = None,
    dry_run: bool = False,
    rows: Rows = Rows(),
    bootstrap: Bootstrap = Bootstrap(),
    endpoint: Endpoint = Endpoint(),
) -> Result:
    """Calibrate the evaluation steps of an aspect by people's ratings.

    Auto-CSEval (Hengle et al., 2025, Algorithm 1): a model drafts steps from rated examples, different ones for each
    draft. The drafts by which the judge correlates best with people are refined on the examples with the largest
    errors. The HS are in three parts: the drafter sees examples of the first part (20%), candidates are compared on the
    second (40%), and the best one and the task's own steps are scored once on the third. No two parts have a common HS,
    or a common CN if HS with common CNs are in small groups. A candidate needs readable ratings of 80% of the
    examples. An interrupted run takes the stored answers when the command is repeated.

    Args:
        replies: Rated replies: a file, dataset folder or name.
        aspect: Aspect of the task.
        model: The judge: a name at the endpoint, local:FOLDER_OR_NAME, or replay:FILE.
        out: YAML file for the steps, which `judge rate --steps` reads; the candidates are written next to it as JSON
            Lines.
        task: Annotation task: a name of the catalogue, a task.yaml, or a rubric file.
        drafter: Model that writes the steps; default: the judge.
        ratings: People's ratings; default: those of the dataset.
        example: Numbers of examples in a request for a draft.
        trials: Number of drafts for each number of examples.
        keep: Number of candidates that are refined in a round.
        rounds: Number of rounds of refinement.
        limit: Use only the first rated replies.
        dry_run: Count the requests and show the first prompt; send nothing.
        rows: Which rows are read.
        bootstrap: Resamples of HS; the seed is also that of parts, examples and temperatures.
        endpoint: Endpoint of the models.

    Returns:
        `scores`: Spearman's correlation with people on the third part, of the calibrated steps and of the task's own,
        with `value`, `low`, `high` and `n`. `gain`: their difference. `steps`. `candidates`: each with its steps,
        `value` and `n` on the second part, `status` (usable, failed, duplicate, undefined or too_many_missing) and
        `reason`. `parts`: `items`, `examples` and `shared_texts` (examples whose CN is in another part).

    Raises:
        InputError: A source or a model cannot be used, there are too few ratings, or no candidate is usable.

    Examples:
        >>> found = calibrate("demo", aspect="relevance", model="m", out=Path("steps.yaml"), dry_run=True)
        >>> found.to_frame()[["model", "requests"]].values.tolist()
        [['m', 22], ['m', 932]]
    """
    from pandas import DataFrame, concat

    if out.suffix not in (".yaml", ".yml"):
        raise InputError(f"found --out {out}, expected a name that ends in .yaml: choose another")
    if min(trials, keep, *example) < 1 or rounds < 0:
        raise InputError("found a number of examples, trials or candidates below 1, expected 1 or more: correct it")
    rubric = load_rubric(task)
    rated = rubric.aspect(aspect)
    frame, names, notes = rated_examples(rubric, rated, replies, ratings, limit, rows)
    parts = split_examples(frame, bootstrap.seed)
    if max(example) > len(parts["draft"]):
        raise InputError(
            f"found {max(example)} examples for a draft, expected at most {len(parts['draft'])}, the size of the first "
            "part: lower --example"
        )
    judge = open_model(model, endpoint)
    writer = judge if drafter in (None, model) else open_model(drafter or "", endpoint)
    grade = partial(_rate, judge, rubric, rated)
    drafts = _drafts(rated, parts["draft"], example, trials, bootstrap.seed)
    if dry_run:
        n = len(drafts) + rounds * keep * len(EDITS)
        later = [drafts[-1][1]] * (n - len(drafts))
        asked = [*_calls(rubric, rated, rated.steps, parts["select"])] * n
        asked += [*_calls(rubric, rated, rated.steps, parts["draft"])] * (rounds * keep)
        asked += [*_calls(rubric, rated, rated.steps, parts["report"])] * 2
        planned = plan_requests((writer, [*(call for _, call in drafts), *later]), (judge, asked))
        return Result("judge calibrate", planned, {})

    found: list[dict[str, Any]] = []
    _score(found, drafts, writer, grade, parts["select"])
    for turn in range(1, rounds + 1):
        refinements: list[tuple[dict[str, Any], ChatRequest]] = []
        for parent in _usable(found)[:keep]:
            rated_by = parts["draft"].assign(given=grade(parent["steps"], parts["draft"]))
            error = (rated_by["given"] - rated_by["value"]).abs()
            wrong = rated_by[error > 0]
            errors = wrong.iloc[np.argsort(-error[wrong.index].to_numpy(), kind="stable")[:ERRORS]]
            for edit in EDITS if len(errors) else ():
                made = {"candidate": len(found) + len(refinements) + 1, "how": edit, "round": turn}
                made |= {"parent": parent["candidate"], "temperature": TEMPERATURES[1], "examples": errors}
                messages = refine_messages(rated, parent["steps"], errors, edit)
                refinements.append((made, _draft_call(messages, made, bootstrap.seed, turn - 1)))
        _score(found, refinements, writer, grade, parts["select"])
    best = _usable(found)[0]

    report = parts["report"]
    values = {"people": report["value"], CALIBRATED: grade(best["steps"], report), OWN: grade(rated.steps, report)}
    about = {"reply_id": report["reply_id"], "item_id": report["item"], "aspect": aspect}
    table = concat(
        [
            DataFrame({**about, "rater": rater, "rater_kind": "human" if rater == "people" else "model", "value": each})
            for rater, each in values.items()
        ]
    )
    compared = correlate(table, level=("pooled",), coefficient=("spearman",), tests=True, bootstrap=bootstrap).tables
    scores = compared["correlations"].rename(columns={"metric": "steps"})
    scores = scores[["steps", "value", "low", "high", "n", "n_missing", "reason"]]
    gain = compared["differences"][["a", "b", "difference", "low", "high"]]
    records = [{name: each for name, each in one.items() if name != "examples"} for one in found]
    identity = {
        **names,
        "task": rubric.name,
        "aspect": aspect,
        "judge": judge.name,
        "drafter": writer.name,
        "examples": ",".join(map(str, example)),
        "trials": trials,
        "keep": keep,
        "rounds": rounds,
        **vars(bootstrap),
    }
    result = Result(
        "judge calibrate",
        {
            "scores": scores,
            "gain": gain,
            "steps": DataFrame({"step": best["steps"]}),
            "candidates": DataFrame(records),
            "parts": describe_parts(parts),
            "usage": usage_table({id(each): each for each in (judge, writer)}.values()),
        },
        identity,
        (*notes, *model_notes({id(each): each for each in (judge, writer)}.values())),
        intervals={"scores": "value", "gain": "difference"},
        plots={aspect: partial(forest, scores, label="steps", values="Spearman's correlation with people")},
    )
    calibrated, own = scores.set_index("steps")[["value", "low", "high", "n"]].to_dict("index").values()
    content = {
        "aspect": aspect,
        "low": rated.low,
        "high": rated.high,
        "steps": best["steps"],
        "signature": result.signature,
        "selection": {"value": best["value"], "n": best["n"]},
        "report": calibrated,
        "baseline": own,
        "gain": {"value": gain["difference"][0], "low": gain["low"][0], "high": gain["high"][0], "n": calibrated["n"]},
        "parts": result.tables["parts"].set_index("part").to_dict("index"),
    }
    write_whole(out.with_suffix(".log.jsonl"), "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in records))
    write_whole(
        out,
        yaml.safe_dump(
            json.loads(json.dumps(content, default=lambda each: each.item())),
            sort_keys=False,
            allow_unicode=True,
            width=10**6,
        ),
    )
    return result


def _drafts(
    aspect: Aspect, frame: "DataFrame", sizes: Sequence[int], trials: int, seed: int
) -> list[tuple[dict[str, Any], ChatRequest]]:
    """Returns the candidates of the first phase with their requests."""
    found = []
    for number, (size, trial) in enumerate(product(sizes, range(1, trials + 1)), start=1):
        # Each draft has its own generator, so that it does not depend on other sizes and trials.
        generator = np.random.default_rng([seed, size, trial])
        # A grade is repeated only after all grades have occurred.
        order = frame.iloc[generator.permutation(len(frame))]
        turns = order.groupby(order["value"].round()).cumcount()
        examples = order.iloc[np.argsort(turns.to_numpy(), kind="stable")[:size]]
        temperature = round(float(generator.uniform(*TEMPERATURES)), 2)
        made = {"candidate": number, "how": "draft", "round": 0, "parent": None, "temperature": temperature}
        made["examples"] = examples
        found.append((made, _draft_call(draft_messages(aspect, examples), made, seed, trial - 1)))
    return found


def _draft_call(messages: Any, made: dict[str, Any], seed: int, sample: int) -> ChatRequest:
    sampling = Sampling(temperature=made["temperature"], max_tokens=1024, seed=seed + sample)
    return ChatRequest(messages, sampling, schema=SCHEMA, sample=sample)


def _score(
    found: list[dict[str, Any]],
    requests: Sequence[tuple[dict[str, Any], ChatRequest]],
    writer: Model,
    grade: Callable[[Sequence[str], "DataFrame"], "Series[float]"],
    frame: "DataFrame",
) -> None:
    """Sends requests for steps, and adds the candidates with their correlation with people."""
    from scipy.stats import spearmanr

    answers = list(writer.replies([call for _, call in requests]))
    for (made, _), answer in zip(requests, answers, strict=True):
        steps, reason = parse_steps(answer.text) if answer.text is not None else ((), answer.reason)
        if copies_example(steps, made["examples"]):
            steps, reason = (), "copies_example"
        made |= {"steps": list(steps), "value": None, "n": 0, "status": "failed", "reason": reason}
        found.append(made)
        if any(made["steps"] == other["steps"] for other in found[:-1]):
            made["status"] = "duplicate" if steps else "failed"
        elif steps:
            given = grade(steps, frame)
            there = given.notna()
            made["n"] = int(there.sum())
            if made["n"] < COVERAGE * len(frame):
                made["status"] = "too_many_missing"
            elif given[there].nunique() == 1 or frame["value"][there].nunique() == 1:
                made["status"] = "undefined"
            else:
                value = float(spearmanr(given[there], frame["value"][there]).statistic)
                made |= {"value": value, "status": "usable"}


def _usable(found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the usable candidates, the best ones first; ties are in the order of the requests.

    Raises:
        InputError: No candidate is usable.
    """
    able = [each for each in found if each["status"] == "usable"]
    if not able:
        why = Counter(": ".join(filter(None, (each["status"], each["reason"]))) for each in found)
        raise InputError(
            f"none of {len(found)} candidates is usable ({', '.join(f'{n} {each}' for each, n in why.items())}): give "
            "another --drafter or --model"
        )
    return sorted(able, key=lambda each: -each["value"])


def _calls(task: Task, aspect: Aspect, steps: Sequence[str], frame: "DataFrame") -> list[ChatRequest]:
    """Returns the requests that rate examples by evaluation steps."""
    how = {"explained": task.explain}
    prompt = rating_prompt(task, [aspect], "object", grades=True, steps={aspect.name: steps}, **how)
    sampling, schema = Sampling(max_tokens=512 if task.explain else 64), rating_schema([aspect], **how)
    return [
        ChatRequest(
            prompt.render(prompt_variables(texts)), sampling, schema, variables={**texts, "aspect": aspect.name}
        )
        for texts in frame["texts"]
    ]


def _rate(model: Model, task: Task, aspect: Aspect, steps: Sequence[str], frame: "DataFrame") -> "Series[float]":
    """Returns the rating of each example by these steps; nan if it failed."""
    from pandas import Series

    fields = {aspect.name: AspectField((aspect.name, aspect.title, *aspect.also), aspect.scale, aspect.decimals)}

    def grade_of(_: ChatRequest, response: ChatResponse) -> Parsed:
        return Parsed(None) if response.text is None else parse_multi(response.text, aspects=fields)[aspect.name]

    form = answer_line([aspect], "object", explained=task.explain)
    found, _ = ask(model, _calls(task, aspect, steps, frame), grade_of, lambda _: form)
    return Series([np.nan if each.value is None else each.value for each in found], frame.index, dtype=float)
