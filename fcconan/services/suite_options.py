"""From the keys of a suite of generators to the configurations of the services that it calls."""

from collections.abc import Mapping
from typing import Any

from fcconan.services.configuration import Model
from fcconan.services.options import Endpoint

# Keys of suites that are fields of another name.
_SYSTEM = {
    "task": "prompt", "format": "prompt_format", "pick": "selection", "top": "retrieved", "own": "allow_own_cns",
    "from": "replies", "system": "system_name", "column": "rename", "config": "subset",
}  # fmt: skip
_RATING = {"strategy": "rating_method", "name": "rater_name"}
_COMPARISON = {
    "protocol": "comparison_format", "reference": "show_reference", "budget": "pairs", "context": "context_tokens",
    "name": "rater_name",
}  # fmt: skip
_METRICS = {"train": "novelty_against", "several": "multi_reference"}
NAMES = {"systems": _SYSTEM, "ratings": _RATING, "comparisons": _COMPARISON, "metrics": _METRICS}


def configured(model: type[Model], kind: str, given: Mapping[str, Any], endpoint: Endpoint | None = None) -> Model:
    """Returns the configuration of a service.

    Args:
        model: Its class.
        kind: The part of the suite: `systems`, `ratings`, `comparisons` or `metrics`.
        given: The keys of an entry; None stands for a missing one. A seed below 0 is not sent to models.
        endpoint: The options of models, for all entries.

    Raises:
        ConfigurationError: A value cannot be used.
    """
    names, fields = NAMES[kind], model.model_fields
    values = {names.get(key, key): value for key, value in given.items() if value is not None and key != "title"}
    if values.get("seed", 0) < 0:
        values |= {"seed": 0, "send_seed": False}
    if isinstance(values.get("model"), str) and kind == "ratings":
        values["model"] = (values["model"],)
    shared = {} if endpoint is None else {name: getattr(endpoint, name) for name in Endpoint.model_fields}
    return model(**{name: value for name, value in shared.items() if name in fields}, **values)
