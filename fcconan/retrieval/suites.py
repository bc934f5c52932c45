"""Systems by name: suites, which are YAML files with their settings, and users' own systems."""

import inspect
import json
import pkgutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fcconan.data import content_folder, did_you_mean, read_yaml
from fcconan.errors import InputError
from fcconan.groups import Endpoint
from fcconan.models import Model, open_model
from fcconan.retrieval.chat import GPT, Reranker, ZeroShot
from fcconan.retrieval.dense import Dense, Encoder, SentenceEncoder, has_minilm
from fcconan.retrieval.label_systems import LongestFirst, Popularity, Supervised
from fcconan.retrieval.lexical import BM25, BM25Fast, Random, TfIdf
from fcconan.retrieval.openai_embeddings import EMBEDDINGS, OpenAIEncoder
from fcconan.retrieval.systems import FinishedRun, Retriever, TrainingPair, format_error

# Kind of a system -> its constructor; a suite names its arguments, but for `name` and `train`.
KINDS: dict[str, Callable[..., Retriever]] = {
    "random": Random,
    "longest": LongestFirst,
    "popularity": Popularity,
    "tfidf": TfIdf,
    "bm25": BM25,
    "bm25-fast": BM25Fast,
    "dense": Dense,
    "supervised": Supervised,
    "zero-shot": ZeroShot,
    "rerank": Reranker,
}
ENCODERS: dict[str, Callable[..., Encoder]] = {"local": SentenceEncoder, "openai": OpenAIEncoder}
SUITE = "compare with benchmarks/retrieval.yaml"
Settings = dict[str, Any]


def load_suite(path: Path | None = None) -> dict[str, Settings]:
    """Returns the settings of systems by name: the built-in ones and those of a file, which replace them.

    Args:
        path: YAML file with the key `systems`: name of a system -> its kind and the arguments of the kind.

    Raises:
        InputError: The file is not such a file.
    """
    found: dict[str, Settings] = {}
    for each in (content_folder() / "benchmarks" / "retrieval.yaml", path):
        data = {"systems": {}} if each is None else read_yaml(each)
        systems = data.get("systems")
        if {*data} != {"systems"} or not all(isinstance(one, dict) for one in (systems, *(systems or {}).values())):
            raise InputError(f"{each} has {', '.join(data)}, expected `systems:` with a mapping for each: {SUITE}")
        found |= systems or {}
    return found


def open_by_name(name: str) -> Model:
    """Returns the model of a name, with the defaults of an endpoint."""
    return open_model(name, Endpoint())


def make_systems(
    names: Iterable[Any],
    *,
    suite: Path | None = None,
    train: Sequence[TrainingPair] = (),
    open_model: Callable[[str], Model] = open_by_name,
    device: str | None = None,
) -> list[Retriever]:
    """Makes systems, which share encoders, so that texts are encoded once.

    Args:
        names: Names of the suite; `module:factory`, from the current folder or installed; or objects with a `name` and
            a method `rank`, classes or functions that return one (with the training pairs, if they have a parameter
            `train`), or runs of ranx.
        suite: File with further systems; see `load_suite`.
        train: Training pairs of the dataset.
        open_model: Function that returns the chat model or encoder of a name.
        device: Device of local models.

    Raises:
        InputError: A name, kind or argument is unknown, a system cannot be made.
    """
    suites, encoders = load_suite(suite), dict[str, Encoder]()

    def encoder_of(owner: str, given: Settings) -> Encoder:
        key = json.dumps(given, sort_keys=True)
        if key not in encoders:
            where, arguments = given.get("endpoint", "local"), {**given}
            arguments.pop("endpoint", None)
            if where == "local":
                arguments["device"] = device
            else:
                arguments["model"] = open_model(str(arguments.get("model", EMBEDDINGS)))
            encoders[key] = _made(f"the encoder of {owner}", ENCODERS, where, arguments)
        return encoders[key]

    def of_suite(name: str, above: tuple[str, ...]) -> Retriever:
        if name in above:
            raise InputError(f"system {name!r} contains itself through {above[-1]!r}: correct the suite")
        if name not in suites:
            known = ", ".join(suites)
            raise InputError(
                f"unknown system {name!r}: {did_you_mean(name, suites)}known are {known}; give your own as "
                "module:factory"
            )
        arguments = {"name": name, **suites[name]}
        kind = arguments.pop("kind", None)
        takes = inspect.signature(KINDS[kind]).parameters if kind in KINDS else {}
        if isinstance(arguments.get("encoder"), dict):
            arguments["encoder"] = encoder_of(name, arguments["encoder"])
        if isinstance(arguments.get("first_stage"), str):
            arguments["first_stage"] = make(arguments["first_stage"], (*above, name))
        if "model" in takes:
            arguments["model"] = open_model(str(arguments.get("model", GPT)))
        if "train" in takes:
            arguments["train"] = train
        return _made(f"system {name}", KINDS, kind, arguments)

    def make(given: Any, above: tuple[str, ...] = ()) -> Retriever:
        if isinstance(given, str) and ":" not in given:
            return of_suite(given, above)
        return _own(given, train)

    return [make(each) for each in names]


def encoder_system(model: str, name: str | None = None, device: str | None = None) -> Retriever:
    """Returns the system that ranks by the cosine of a sentence-transformers model.

    Args:
        model: Folder or Hub name of the model, or `minilm`.
        name: Name of the system; default: the last component of `model`.
        device: Device of the model.

    Raises:
        InputError: The model is not found.
    """
    return Dense(name or "-".join(Path(model).name.split()), SentenceEncoder(model, device=device))


def offline_systems(protocol: str = "sound", suite: Path | None = None) -> list[str]:
    """Returns the names of the systems that run by default, which need no network.

    Args:
        protocol: Evaluation protocol; `cross-validated` adds systems that learn from labels.
        suite: File whose systems are added, but for those behind an endpoint.
    """
    neural = ["sbert-minilm", *(["supervised"] if protocol == "cross-validated" else [])]
    built_in, systems = load_suite(), load_suite(suite)
    remote = ("zero-shot", "rerank")
    added = [
        name
        for name, one in systems.items()
        if one != built_in.get(name) and one.get("kind") not in remote and "endpoint" not in (one.get("encoder") or {})
    ]
    names = ["random", "longest", "popularity", "tfidf", "bm25", *(neural if has_minilm() else []), *added]
    return [*dict.fromkeys(names)]


def _made(what: str, kinds: Mapping[str, Callable[..., Any]], kind: Any, arguments: Settings) -> Any:
    if kind not in kinds:
        raise InputError(f"{what} has the kind {kind!r}, expected {', '.join(kinds)}: {SUITE}")
    try:
        return kinds[kind](**arguments)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what}: {error}: {SUITE}") from error


def _own(given: Any, train: Sequence[TrainingPair]) -> Retriever:
    """Returns the system of a Python object or `module:factory`.

    Raises:
        InputError: The module or the factory raises an exception, or the object is not a system.
    """
    name = given if isinstance(given, str) else getattr(given, "__name__", type(given).__name__)
    try:
        if isinstance(given, str):
            if (folder := str(Path.cwd())) not in sys.path:
                sys.path.insert(0, folder)
            given = pkgutil.resolve_name(given)
        if inspect.isclass(given) or inspect.isroutine(given):
            asked = {"train": [*train]} if "train" in inspect.signature(given).parameters else {}
            given = given(**asked)
    except InputError:
        raise
    except Exception as error:  # of a user's code
        raise InputError(
            f"{name} raised {format_error(error)}: give module:factory, as mine:Shortest for a class in mine.py, that "
            "is called without arguments or with train=; `fcconan --debug COMMAND` shows the traceback"
        ) from error
    if type(given).__module__.startswith("ranx") and given.name:
        run = {str(query): [(str(key), float(score)) for key, score in row.items()] for query, row in given.run.items()}
        return FinishedRun(str(given.name), run)
    if not isinstance(getattr(given, "name", None), str) or not callable(getattr(given, "rank", None)):
        raise InputError(
            f"{name} is of type {type(given).__name__}, expected a system with a name (a string) and rank(queries, "
            "corpus, k), or a run of ranx with a name"
        )
    retriever: Retriever = given
    return retriever
