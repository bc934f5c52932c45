"""Re-ranking: a chat model puts the top of another system's ranking into a new order.

Three strategies, with n candidates of a query:

- `listwise`: sliding windows from the tail to the head, so that the best ones move up (RankGPT, Sun et al. 2023);
  1 + ceil((n - window) / step) calls.
- `pointwise`: a grade from 0 to 10 for each candidate by itself; n calls.
- `pairwise`: all pairs, each asked in both orders (all-pair prompting, Qin et al. 2024); n (n - 1) calls.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from fcconan.errors import InputError
from fcconan.models import Client, Reply
from fcconan.retrieval.chat import (
    LISTWISE,
    PAIRWISE,
    POINTWISE,
    Chat,
    Reason,
    RequestForm,
    Tally,
    labelled,
    read_choice,
    read_field,
)
from fcconan.retrieval.systems import Rankings, Retriever, rank_all

Strategy = Literal["listwise", "pointwise", "pairwise"]
_PROMPTS = {"listwise": LISTWISE, "pointwise": POINTWISE, "pairwise": PAIRWISE}
_BEST_GRADE = 10


class Reranker:
    """Re-ranks the first CNs of another system; below them the others keep their order.

    A call that fails or cannot be read leaves what it asked about in the order of the first stage: its window, its
    candidate's rank, or half a point to the higher one of its pair. It is counted as `kept_first_stage_order`. A query
    of which every call failed has no ranking. Ties are resolved by the first stage's order.

    Args:
        name: The system's name.
        first_stage: The system whose rankings are re-ranked.
        client: Sends the requests and keeps the answers.
        model: The endpoint's name of the model.
        top: How many CNs are re-ranked.
        strategy: `listwise`, `pointwise` or `pairwise`.
        window: Candidates in a window; listwise only.
        step: How far a window lies above the last one; listwise only.
        temperature: Of sampling; None for models that take none.
        seed: Of sampling; None for endpoints that take none.
        form: The form of requests.
    """

    def __init__(
        self,
        name: str,
        first_stage: Retriever,
        *,
        client: Client,
        model: str = "gpt-4o-2024-08-06",
        top: int = 25,
        strategy: Strategy = "listwise",
        window: int = 20,
        step: int = 10,
        temperature: float | None = 0.0,
        seed: int | None = 0,
        form: RequestForm | None = None,
    ) -> None:
        if strategy not in _PROMPTS:
            raise InputError(f"{name}: there is no strategy {strategy!r}: choose one of {', '.join(_PROMPTS)}")
        if top < 1:
            raise InputError(f"{name}: top is {top}: re-rank 1 CN or more")
        if window < 2 or not 1 <= step < window:
            raise InputError(
                f"{name}: window {window} and step {step}: a window holds 2 or more, and a step is shorter than it"
            )
        self.name, self.first_stage, self.top, self.strategy = name, first_stage, top, strategy
        self.window, self.step = window, step
        self._chat = Chat(client, model=model, temperature=temperature, seed=seed, form=form)
        first = getattr(first_stage, "configuration", None)
        self.configuration: dict[str, Any] | None = None
        if first is not None:  # a first stage that does not say what it is has to be ranked every time
            self.configuration = {
                "kind": "rerank",
                **self._chat.configuration,
                "strategy": strategy,
                "top": top,
                **({"window": window, "step": step} if strategy == "listwise" else {}),
                "prompt": _PROMPTS[strategy].hash,
                "first_stage": {"name": first_stage.name, "configuration": first},
            }

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
        """Ranks with the first stage, to the depth max(k, top), and re-ranks.

        Scores are fresh: the length of the ranking, and 1 less at every rank. `failures` and `diagnostics` of the first
        stage are carried over.

        Raises:
            EndpointError: The endpoint refuses everything, or nothing can be sent to it.
            InputError: The first stage returned no usable ranking.
        """
        first = rank_all(self.first_stage, queries, corpus, max(k, self.top))
        # `sorted` is stable: equal scores stay as the first stage returned them.
        before = {
            query: [key for key, _ in sorted(ranking, key=lambda entry: -entry[1])] for query, ranking in first.items()
        }
        tops = {query: [corpus[key] for key in keys[: self.top]] for query, keys in before.items()}
        messages = {query: queries[query] for query in tops}
        work = _Work(self._chat, messages, tops)
        if self.strategy == "listwise":
            work.listwise(self.window, self.step)
        elif self.strategy == "pointwise":
            work.pointwise()
        else:
            work.pairwise()
        failures = work.failures()
        rankings = {}
        for query, keys in before.items():
            if query not in failures:
                after = [keys[position] for position in work.orders[query]] + keys[self.top :]
                rankings[query] = [(key, float(len(after) - rank)) for rank, key in enumerate(after)][:k]
        return Rankings(
            rankings,
            failures=first.failures | failures,
            explained=first.explained | {query: work.explained[query] for query in failures},
            diagnostics={
                **work.tally.diagnostics(),
                "kept_first_stage_order": work.kept,
                "first_stage": first.diagnostics,
            },
            resolved={"answered_by": sorted(work.tally.models), "first_stage": first.resolved},
        )


class _Work:
    """The re-ranking of all queries: for every one the order of its candidates, as positions in the first stage."""

    def __init__(self, chat: Chat, messages: Mapping[str, str], tops: Mapping[str, Sequence[str]]) -> None:
        self.chat, self.messages, self.tops = chat, messages, tops
        self.orders = {query: list(range(len(texts))) for query, texts in tops.items()}
        self.tally, self.kept = Tally(), 0
        self._worked: dict[str, bool] = {}
        self._first_reason: dict[str, str] = {}
        self.explained: dict[str, str] = {}

    def failures(self) -> dict[str, str]:
        """The queries of which every call failed, with the reason of the first one."""
        return {query: self._first_reason[query] for query, worked in self._worked.items() if not worked}

    def listwise(self, window: int, step: int) -> None:
        """One window of every query at a time: a window needs what the last one brought up."""
        plans = {query: list(windows(len(texts), window, step)) for query, texts in self.tops.items()}
        for turn in range(max(map(len, plans.values()), default=0)):
            asked = {query: plan[turn] for query, plan in plans.items() if turn < len(plan)}
            requests = [
                LISTWISE.messages(
                    candidates=labelled("p", [self.tops[query][each] for each in self.orders[query][start:end]]),
                    message=self.messages[query],
                )
                for query, (start, end) in asked.items()
            ]
            replies = self.chat.ask_all(LISTWISE, requests, self.tally)
            for (query, (start, end)), reply in zip(asked.items(), replies, strict=True):
                shown = self.orders[query][start:end]
                ids = [f"p{number}" for number in range(1, len(shown) + 1)]
                choice = read_choice(reply, ids=ids, wanted=len(shown))
                self._note(query, reply, choice.statuses, choice.reason)
                left_out = [place for place in range(len(shown)) if place not in choice.positions]
                self.orders[query][start:end] = [shown[place] for place in (*choice.positions, *left_out)]

    def pointwise(self) -> None:
        """One call for every candidate; those without a grade keep their rank, the others share the other ranks."""
        for query, texts in self.tops.items():
            if len(texts) < 2:
                continue
            requests = [POINTWISE.messages(candidate=text, message=self.messages[query]) for text in texts]
            replies = self.chat.ask_all(POINTWISE, requests, self.tally)
            grades = [self._grade(query, reply) for reply in replies]
            graded = [position for position, grade in enumerate(grades) if grade is not None]
            best_first = sorted(graded, key=lambda position: (-(grades[position] or 0), position))
            for rank, position in zip(graded, best_first, strict=True):
                self.orders[query][rank] = position

    def pairwise(self) -> None:
        """Two calls for every pair: half a point for each verdict, so that a disagreement is a tie."""
        for query, texts in self.tops.items():
            pairs = [(a, b) for a in range(len(texts)) for b in range(len(texts)) if a != b]
            requests = [
                PAIRWISE.messages(candidates={"a": texts[a], "b": texts[b]}, message=self.messages[query])
                for a, b in pairs
            ]
            if not requests:
                continue
            points = [0.0] * len(texts)
            replies = self.chat.ask_all(PAIRWISE, requests, self.tally)
            for (a, b), reply in zip(pairs, replies, strict=True):
                verdict = self._verdict(query, reply)
                winner = min(a, b) if verdict is None else {"a": a, "b": b}[verdict]
                points[winner] += 0.5
            self.orders[query] = [position for _, position in sorted((-won, place) for place, won in enumerate(points))]

    def _grade(self, query: str, reply: Reply) -> int | None:
        value, status, reason = read_field(reply, "grade")
        if reason is None and (type(value) is not int or not 0 <= value <= _BEST_GRADE):
            value, status, reason = None, "wrong_format", "wrong_format"
        self._note(query, reply, (status,), reason)
        return value if type(value) is int else None

    def _verdict(self, query: str, reply: Reply) -> str | None:
        value, status, reason = read_field(reply, "better")
        if reason is None and value not in ("a", "b"):
            value, status, reason = None, "wrong_format", "wrong_format"
        self._note(query, reply, (status,), reason)
        return value if isinstance(value, str) else None

    def _note(self, query: str, reply: Reply, statuses: Sequence[str], reason: Reason | None) -> None:
        self.tally.count(statuses, reason)
        self._worked[query] = self._worked.get(query, False) or reason is None
        if reason is not None:
            self.kept += 1
            self._first_reason.setdefault(query, reason)
            self.explained.setdefault(query, self.chat.explain(reason, reply.detail))


def windows(n: int, window: int, step: int) -> Iterator[tuple[int, int]]:
    """Yields start and end of every window over n candidates, from the tail to the head; the last one starts at 0.

    The last one is as long as the others where there are as many candidates. Fewer than two need no window.
    """
    if n < 2:
        return
    start = max(n - window, 0)
    while True:
        yield start, min(start + window, n)
        if start == 0:
            return
        start = max(start - step, 0)
