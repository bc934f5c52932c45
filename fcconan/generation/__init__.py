"""Counter-narrative generation: prompts, decoding, retrieval baseline and fine-tuning."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
