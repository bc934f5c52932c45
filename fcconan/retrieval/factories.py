"""Systems of users, from `module:factory` or from objects."""

import inspect
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from fcconan.data import TRACEBACK
from fcconan.errors import InputError
from fcconan.retrieval.systems import Retriever, TrainingPair, pass_on_signal, reason_of


def load_system(name: str, train: Sequence[TrainingPair]) -> Retriever:
    """Makes a system from `module:factory`.

    Args:
        name: Module and factory.
        train: The training pairs of the dataset.

    Raises:
        InputError: The module cannot be imported, or the factory gives no system.
    """
    module_name, _, factory_name = name.partition(":")
    if not (all(part.isidentifier() for part in module_name.split(".")) and factory_name.isidentifier()):
        raise InputError(
            f"{name} is not module:factory: name both as in Python, such as mine:Shortest for a class in mine.py"
        )
    try:
        module = import_module(module_name)
    except (Exception, SystemExit) as error:  # whatever a user's module raises
        pass_on_signal(error)
        if module_name.endswith(".py"):
            given = f"{module_name.removesuffix('.py')}:{factory_name}, without .py"
        else:
            given = "module:factory, with the module on the Python path"
        raise InputError(f"{name} cannot be imported ({reason_of(error)}): give {given}; {TRACEBACK}") from error
    if not hasattr(module, factory_name):
        raise InputError(f"{name}: the module {module_name} has no {factory_name}: check the name of the factory")
    return as_retriever(name, call_factory(name, getattr(module, factory_name), train))


def call_factory(name: str, factory: Any, train: Sequence[TrainingPair]) -> Any:
    """Calls a user's factory, with the training pairs if it has a parameter called `train`.

    Raises:
        InputError: The factory raised.
    """
    if not callable(factory):
        return factory
    try:
        takes_train = "train" in inspect.signature(factory).parameters
        return factory(train=list(train)) if takes_train else factory()
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        pass_on_signal(error)
        raise InputError(
            f"{name} raised {reason_of(error)}: a factory is called without arguments, or with train=; {TRACEBACK}"
        ) from error


def as_retriever(name: str, system: Any) -> Retriever:
    """Checks that an object is a system.

    Raises:
        InputError: It has no `name` or no `rank`.
    """
    if not isinstance(getattr(system, "name", None), str) or not callable(getattr(system, "rank", None)):
        raise InputError(
            f"{name} gave {type(system).__name__}: a system has a name (a string) and rank(queries, corpus, k)"
        )
    retriever: Retriever = system
    return retriever
