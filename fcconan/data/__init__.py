"""Data layer: row schemas, ids, readers, atomic writes, pinned sources and the content catalogue."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
