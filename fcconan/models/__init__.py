"""Chat models: endpoints, local models and recorded answers, with a store of paid answers."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
