"""Scores: retrieval metrics, agreement, correlation, significance, rankings and text metrics."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
