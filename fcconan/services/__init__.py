"""One function per command: it takes sources and a configuration, and returns a typed result. Nothing is printed."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
