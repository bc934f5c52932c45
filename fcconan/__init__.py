"""Build counter-narrative datasets and measure the systems that retrieve, generate and judge them.

Importing this package is cheap: every name is loaded on first use, so that neither `datasets` nor any machine-learning
library is imported before it is needed. The names are listed in `__init__.pyi`.
"""

import lazy_loader

__version__ = "0.2.0"
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
