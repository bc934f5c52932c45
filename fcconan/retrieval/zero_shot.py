"""Zero-shot retrieval: a chat model reads the whole catalogue and names the best CNs."""

from collections.abc import Mapping
from typing import Any

from fcconan.retrieval.chat import ZERO_SHOT, Calls, Chat, labelled, read_choice
from fcconan.retrieval.systems import Rankings


class ZeroShot:
    """Sends one request for every query to a chat model; FC-CONAN's GPT-4o.

    The catalogue is shown in the dataset's order, whole: it must fit into the model's context.

    Args:
        name: The system's name.
        chat: The model.
        n: Number of CNs that are requested, 1 or more; a ranking is never longer.
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
        """Ranks at most min(n, k) CNs for every query, with the scores n, n - 1, ...

        `diagnostics` counts calls: `ok`, or all that was wrong with one (`chat.read_choice`). A query whose call failed
        or could not be read is in `failures`.

        Raises:
            EndpointError: The endpoint refuses everything, or nothing can be sent to it.
        """
        calls, found = Calls(self._chat), {}
        catalogue, keys = labelled("c", list(corpus.values())), list(corpus)
        shown, wanted = [entry["id"] for entry in catalogue], min(self.n, len(keys))
        requests = [ZERO_SHOT.messages(catalogue=catalogue, wanted=wanted, message=text) for text in queries.values()]
        for query, reply in zip(queries, calls.send(ZERO_SHOT, requests), strict=True):
            choice = read_choice(reply, ids=shown, wanted=wanted)
            calls.note(query, reply, choice.statuses, choice.reason)
            scored = [(keys[position], float(self.n - rank)) for rank, position in enumerate(choice.positions)]
            found[query] = scored[:k]
        return calls.rankings(found)
