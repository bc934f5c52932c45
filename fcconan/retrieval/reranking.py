"""Re-ranking: a chat model reorders the first CNs of another system.

There are three strategies. With n candidates of a query, they make this number of calls:

- `listwise`: sliding windows from the end of the ranking to its head, so that the best candidates move up (RankGPT, Sun
  et al. 2023); 1 + ceil((n - window) / step) calls.
- `pointwise`: a grade from 0 to 10 for each candidate; n calls.
- `pairwise`: all pairs in both orders (all-pair prompting, Qin et al. 2024); n (n - 1) calls.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from fcconan.errors import InputError
from fcconan.models import ChatResponse
from fcconan.retrieval.chat import (
    LISTWISE,
    PAIRWISE,
    POINTWISE,
    CallRecorder,
    Chat,
    parse_field,
    parse_ranking,
    with_ids,
)
from fcconan.retrieval.systems import Rankings, Retriever, rank_all

Strategy = Literal["listwise", "pointwise", "pairwise"]
_PROMPTS = {"listwise": LISTWISE, "pointwise": POINTWISE, "pairwise": PAIRWISE}
_MAX_GRADE = 10


class Reranker:
    """Re-ranks the first CNs of another system; the order of the others is unchanged.

    After a failed or unreadable call, the order of the first stage is used: a window is unchanged, a candidate retains
    its rank, or the higher candidate of a pair gets half a point. Such calls are counted in `kept_first_stage_order`. A
    query has no ranking if all its calls failed. Ties are resolved by the order of the first stage.

    Args:
        name: Name of the system.
        first_stage: System whose rankings are re-ranked.
        chat: The model.
        top: Number of CNs that are re-ranked, 1 or more.
        strategy: `listwise`, `pointwise` or `pairwise`.
        window: Number of candidates in a window, 2 or more; listwise only.
        step: Distance between consecutive windows, 1 or more; listwise only.

    Raises:
        InputError: The step is not smaller than the window.
    """

    def __init__(
        self,
        name: str,
        first_stage: Retriever,
        chat: Chat,
        *,
        top: int = 25,
        strategy: Strategy = "listwise",
        window: int = 20,
        step: int = 10,
    ) -> None:
        if step >= window:
            raise InputError(f"{name}: step {step} is not smaller than window {window}: give a smaller step")
        self.name, self.first_stage, self.top, self.strategy = name, first_stage, top, strategy
        self.window, self.step, self._chat = window, step, chat
        first = getattr(first_stage, "configuration", None)
        self.configuration: dict[str, Any] | None = None
        if first is not None:  # without it, the run cannot be cached
            self.configuration = {
                "kind": "rerank",
                **chat.configuration,
                "strategy": strategy,
                "top": top,
                **({"window": window, "step": step} if strategy == "listwise" else {}),
                "prompt": _PROMPTS[strategy].hash,
                "first_stage": {"name": first_stage.name, "configuration": first},
            }

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
        """Ranks with the first stage, to the depth max(k, top), and re-ranks.

        New scores decrease by 1 from rank to rank; the first score is the length of the ranking. `failures` and
        `diagnostics` of the first stage are included.

        Raises:
            EndpointError: The endpoint rejects all requests, or no request can be sent.
            InputError: The run of the first stage is invalid.
        """
        first = rank_all(self.first_stage, queries, corpus, max(k, self.top))
        # `sorted` is stable: ties remain in the order of the first stage.
        first_orders = {
            query: [key for key, _ in sorted(ranking, key=lambda entry: -entry[1])] for query, ranking in first.items()
        }
        candidate_texts = {query: [corpus[key] for key in keys[: self.top]] for query, keys in first_orders.items()}
        calls = CallRecorder(self._chat)
        if self.strategy == "listwise":
            orders = _listwise(calls, queries, candidate_texts, self.window, self.step)
        else:
            order = {"pointwise": _pointwise, "pairwise": _pairwise}[self.strategy]
            orders = {query: order(calls, query, queries[query], texts) for query, texts in candidate_texts.items()}
        rankings = {}
        for query, keys in first_orders.items():
            after = [keys[position] for position in orders[query]] + keys[self.top :]
            rankings[query] = [(key, float(len(after) - rank)) for rank, key in enumerate(after)][:k]
        found = calls.rankings(rankings)
        found.failures = first.failures | found.failures
        found.explained = first.explained | found.explained
        found.diagnostics |= {"kept_first_stage_order": calls.failed.total(), "first_stage": first.diagnostics}
        found.resolved["first_stage"] = first.resolved
        return found


def _listwise(
    calls: CallRecorder,
    messages: Mapping[str, str],
    candidate_texts: Mapping[str, Sequence[str]],
    window: int,
    step: int,
) -> dict[str, list[int]]:
    """Orders the candidates of all queries, one window of each query at a time.

    A window contains candidates that the previous window moved up, so the windows of a query are sequential.

    Returns:
        Query id -> positions of the candidates in the first stage, best first.
    """
    orders = {query: list(range(len(texts))) for query, texts in candidate_texts.items()}
    plans = {query: list(window_bounds(len(texts), window, step)) for query, texts in candidate_texts.items()}
    for turn in range(max(map(len, plans.values()), default=0)):
        bounds = {query: plan[turn] for query, plan in plans.items() if turn < len(plan)}
        shown = {query: orders[query][start:end] for query, (start, end) in bounds.items()}
        candidates = {
            query: with_ids("p", [candidate_texts[query][each] for each in order]) for query, order in shown.items()
        }
        requests = [LISTWISE.messages(candidates=each, message=messages[query]) for query, each in candidates.items()]
        for query, reply in zip(bounds, calls.send(LISTWISE, requests), strict=True):
            order = shown[query]
            choice = parse_ranking(reply, ids=[each["id"] for each in candidates[query]], wanted=len(order))
            calls.record(query, reply, choice.statuses, choice.reason)
            left_out = [place for place in range(len(order)) if place not in choice.positions]
            start, end = bounds[query]
            orders[query][start:end] = [order[place] for place in (*choice.positions, *left_out)]
    return orders


def _pointwise(calls: CallRecorder, query: str, message: str, texts: Sequence[str]) -> list[int]:
    """Orders the candidates of a query by one call each; a candidate without a grade retains its rank."""
    order = list(range(len(texts)))
    if len(texts) < 2:
        return order
    replies = calls.send(POINTWISE, [POINTWISE.messages(candidate=text, message=message) for text in texts])
    grades = [_parse_value(calls, query, reply, "grade", range(_MAX_GRADE + 1)) for reply in replies]
    graded = [position for position, grade in enumerate(grades) if grade is not None]
    best_first = sorted(graded, key=lambda position: (-grades[position], position))
    for rank, position in zip(graded, best_first, strict=True):
        order[rank] = position
    return order


def _pairwise(calls: CallRecorder, query: str, message: str, texts: Sequence[str]) -> list[int]:
    """Orders the candidates of a query by two calls for each pair.

    Each response counts half a point, so that contradictory responses are a tie.
    """
    pairs = [(a, b) for a in range(len(texts)) for b in range(len(texts)) if a != b]
    requests = [PAIRWISE.messages(candidates={"a": texts[a], "b": texts[b]}, message=message) for a, b in pairs]
    points = [0.0] * len(texts)
    for (a, b), reply in zip(pairs, calls.send(PAIRWISE, requests) if requests else (), strict=True):
        verdict = _parse_value(calls, query, reply, "better", ("a", "b"))
        points[min(a, b) if verdict is None else {"a": a, "b": b}[verdict]] += 0.5
    return sorted(range(len(texts)), key=lambda position: (-points[position], position))


def _parse_value(calls: CallRecorder, query: str, reply: ChatResponse, field: str, allowed: Sequence[Any]) -> Any:
    """Returns a field of a response, or None if its value is not allowed, and counts the call."""
    kind = type(allowed[0])  # rejects 4.0 and true as grades
    value, status, reason = parse_field(reply, field, lambda value: type(value) is kind and value in allowed)
    calls.record(query, reply, (status,), reason)
    return value


def window_bounds(n: int, window: int, step: int) -> Iterator[tuple[int, int]]:
    """Yields start and end of each window over n candidates, from the end to the head.

    The last window starts at 0. All windows have the same length, at most n. Fewer than two candidates have no window.
    """
    if n < 2:
        return
    start = max(n - window, 0)
    while True:
        yield start, min(start + window, n)
        if start == 0:
            return
        start = max(start - step, 0)
