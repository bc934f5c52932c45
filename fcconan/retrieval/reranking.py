"""Re-ranking: a chat model reorders the first CNs of another system.

Sliding windows run from the end of the ranking to its head, so that the best candidates move up (RankGPT, Sun et al.
2023). For n candidates of a query, these are 1 + ceil((n - window) / step) calls.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fcconan.errors import InputError
from fcconan.retrieval.chat import LISTWISE, CallRecorder, Chat, parse_ranking, with_ids
from fcconan.retrieval.systems import Rankings, Retriever, rank_all


class Reranker:
    """Re-ranks the first CNs of another system; the order of the others is unchanged.

    After a failed or unreadable call, a window is unchanged. Such calls are counted in `kept_first_stage_order`.
    A query has no ranking if all its calls failed.

    Args:
        name: Name of the system.
        first_stage: System whose rankings are re-ranked.
        chat: The model.
        top: Number of CNs that are re-ranked, 1 or more.
        window: Number of candidates in a window, 2 or more.
        step: Distance between consecutive windows, 1 or more.

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
        window: int = 20,
        step: int = 10,
    ) -> None:
        if step >= window:
            raise InputError(f"{name}: step {step} is not smaller than window {window}: give a smaller step")
        self.name, self.first_stage, self.top = name, first_stage, top
        self.window, self.step, self._chat = window, step, chat
        first = getattr(first_stage, "configuration", None)
        self.configuration: dict[str, Any] | None = None
        if first is not None:  # without it, the run cannot be cached
            self.configuration = {
                "kind": "rerank",
                **chat.configuration,
                "top": top,
                "window": window,
                "step": step,
                "prompt": LISTWISE.hash,
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
        orders = _listwise(calls, queries, candidate_texts, self.window, self.step)
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
