"""Users' own systems, from `module:factory` or from objects."""

import inspect
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from fcconan.data import TRACEBACK
from fcconan.errors import InputError
from fcconan.retrieval.systems import Retriever, TrainingPair, format_error, reraise_sigterm


def load_system(name: str, train: Sequence[TrainingPair]) -> Retriever:
    """Loads a system from `module:factory`.

    Args:
        name: Module and factory.
        train: Training pairs of the dataset.

    Raises:
        InputError: The module cannot be imported, or the factory does not return a system.
    """
    module_name, _, factory_name = name.partition(":")
    if not (all(part.isidentifier() for part in module_name.split(".")) and factory_name.isidentifier()):
        raise InputError(
            f"{name} is not module:factory: name both as in Python, such as mine:Shortest for a class in mine.py"
        )
    try:
        module = import_module(module_name)
    except (Exception, SystemExit) as error:  # a user's module may raise any exception
        reraise_sigterm(error)
        if module_name.endswith(".py"):
            given = f"{module_name.removesuffix('.py')}:{factory_name}, without .py"
        else:
            given = "module:factory, with the module on the Python path"
        raise InputError(f"{name} cannot be imported ({format_error(error)}): give {given}; {TRACEBACK}") from error
    if not hasattr(module, factory_name):
        raise InputError(f"{name}: the module {module_name} has no {factory_name}: check the name of the factory")
    return as_retriever(name, call_factory(name, getattr(module, factory_name), train))


def call_factory(name: str, factory: Any, train: Sequence[TrainingPair]) -> Any:
    """Calls a user's factory, with the training pairs if it has a parameter `train`.

    Args:
        name: Name of the factory, for messages.
        factory: Class or function that returns a system; any other object is returned unchanged.
        train: Training pairs of the dataset.

    Raises:
        InputError: The factory raised an exception.
    """
    if not callable(factory):
        return factory
    try:
        takes_train = "train" in inspect.signature(factory).parameters
        return factory(train=list(train)) if takes_train else factory()
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        reraise_sigterm(error)
        raise InputError(
            f"{name} raised {format_error(error)}: a factory is called without arguments, or with train=; {TRACEBACK}"
        ) from error


def as_retriever(name: str, system: Any) -> Retriever:
    """Checks that an object is a system and returns it.

    Raises:
        InputError: The object lacks `name` or `rank`.
    """
    if not isinstance(getattr(system, "name", None), str) or not callable(getattr(system, "rank", None)):
        raise InputError(
            f"{name} is of type {type(system).__name__}: a system has a name (a string) and rank(queries, corpus, k)"
        )
    retriever: Retriever = system
    return retriever
