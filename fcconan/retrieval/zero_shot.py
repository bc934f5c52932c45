"""Zero-shot retrieval: a chat model receives the whole catalogue and returns the ids of the best CNs."""

from collections.abc import Mapping
from typing import Any

from fcconan.retrieval.chat import ZERO_SHOT, CallRecorder, Chat, parse_ranking, with_ids
from fcconan.retrieval.systems import Rankings


class ZeroShot:
    """Ranks with one chat request for each query, as GPT-4o in FC-CONAN.

    Each request contains the whole catalogue in the order of the dataset, which must fit into the model's context.

    Args:
        name: Name of the system.
        chat: The model.
        n: Number of requested CNs, 1 or more; rankings have at most this length.
    """

    def __init__(self, name: str, chat: Chat, *, n: int = 10) -> None:
        self.name, self.n, self._chat = name, n, chat
        self.configuration: dict[str, Any] = {
            "kind": "zero-shot",
            **chat.configuration,
            "n": n,
            "prompt": ZERO_SHOT.hash,
        }

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
        """Ranks at most min(n, k) CNs for each query, with the scores n, n - 1, ...

        `diagnostics` counts calls by status; see `chat.parse_ranking`. A query with a failed or unreadable call is in
        `failures`.

        Raises:
            EndpointError: The endpoint rejects all requests, or no request can be sent.
        """
        calls, found = CallRecorder(self._chat), {}
        catalogue, keys = with_ids("c", list(corpus.values())), list(corpus)
        shown, wanted = [entry["id"] for entry in catalogue], min(self.n, len(keys))
        requests = [ZERO_SHOT.messages(catalogue=catalogue, wanted=wanted, message=text) for text in queries.values()]
        for query, reply in zip(queries, calls.send(ZERO_SHOT, requests), strict=True):
            choice = parse_ranking(reply, ids=shown, wanted=wanted)
            calls.record(query, reply, choice.statuses, choice.reason)
            scored = [(keys[position], float(self.n - rank)) for rank, position in enumerate(choice.positions)]
            found[query] = scored[:k]
        return calls.rankings(found)
