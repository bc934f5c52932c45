"""Zero-shot retrieval: a chat model reads the whole catalogue and names the best CNs."""

from collections.abc import Mapping
from typing import Any

from fcconan.errors import InputError
from fcconan.models import Client
from fcconan.retrieval.chat import ZERO_SHOT, Chat, RequestForm, Tally, labelled, read_choice
from fcconan.retrieval.systems import Rankings


class ZeroShot:
    """Asks a chat model once for every query; FC-CONAN's GPT-4o.

    The catalogue is shown in the dataset's order, whole: it must fit into the model's context.

    Args:
        name: The system's name.
        client: Sends the requests and keeps the answers.
        model: The endpoint's name of the model.
        n: How many CNs the model is asked for; a ranking is never longer.
        temperature: Of sampling; None for models that take none.
        seed: Of sampling; None for endpoints that take none.
        form: The form of requests.
    """

    def __init__(
        self,
        name: str = "gpt-4o",
        *,
        client: Client,
        model: str = "gpt-4o-2024-08-06",
        n: int = 10,
        temperature: float | None = 0.0,
        seed: int | None = 0,
        form: RequestForm | None = None,
    ) -> None:
        if n < 1:
            raise InputError(f"{name}: n is {n}: ask for 1 CN or more")
        self.name, self.n = name, n
        self._chat = Chat(client, model=model, temperature=temperature, seed=seed, form=form)
        self.configuration: dict[str, Any] = {
            "kind": "zero-shot",
            **self._chat.configuration,
            "n": n,
            "prompt": ZERO_SHOT.hash,
        }

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
        """Ranks at most min(n, k) CNs for every query, with the scores n, n - 1, ...

        `diagnostics` counts calls: `ok`, or all that was wrong with one (`chat.read_choice`). A query whose call failed
        or could not be read is in `failures`.

        Raises:
            EndpointError: The endpoint refuses everything, or nothing can be sent to it.
            InputError: The catalogue is empty.
        """
        if not corpus:
            raise InputError(f"{self.name}: the catalogue is empty: give one with a CN or more")
        tally, failures, explained, rankings = Tally(), {}, {}, {}
        catalogue = labelled("c", list(corpus.values()))
        shown, keys = [entry["id"] for entry in catalogue], list(corpus)
        wanted = min(self.n, len(keys))
        requests = [ZERO_SHOT.messages(catalogue=catalogue, wanted=wanted, message=text) for text in queries.values()]
        replies = self._chat.ask_all(ZERO_SHOT, requests, tally)
        for query, reply in zip(queries, replies, strict=True):
            choice = read_choice(reply, ids=shown, wanted=wanted)
            tally.count(choice.statuses, choice.reason)
            if choice.reason is not None:
                failures[query] = str(choice.reason)
                explained[query] = self._chat.explain(choice.reason, reply.detail)
                continue
            scored = [(keys[position], float(self.n - rank)) for rank, position in enumerate(choice.positions)]
            rankings[query] = scored[:k]
        return Rankings(
            rankings,
            failures=failures,
            explained=explained,
            diagnostics=tally.diagnostics(),
            resolved={"answered_by": sorted(tally.models)},
        )
