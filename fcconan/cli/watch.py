"""Older commands import from here what is in `fcconan.services.failures` now; deleted with the last of them."""

from fcconan.services import WatchedModel as Watched, why_nothing

__all__ = ["Watched", "why_nothing"]
