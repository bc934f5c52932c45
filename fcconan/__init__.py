"""Build counter-narrative datasets and measure the systems that retrieve, generate and judge them.

Importing this package is cheap: every name is loaded on first use, so that neither `datasets` nor any machine-learning
library is imported before it is needed. The names are listed in `__init__.pyi`.
"""

from importlib import import_module
from typing import Any

import lazy_loader

__version__ = "0.1.0"
_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    found = _load(name)
    if callable(found) and found.__module__.startswith("fcconan.services."):
        # By name, as the packages below import this module for the version and must not depend on services.
        found = globals()[name] = import_module("fcconan.services").checked(found)
    return found
