"""The texts of all locally available source datasets, which must not occur in a publication."""

import os
from dataclasses import dataclass
from functools import lru_cache

from fcconan.building import Texts, table_texts
from fcconan.data import recipe_names
from fcconan.errors import InputError


@dataclass(frozen=True)
class KnownTexts:
    """Texts that must not be published.

    Attributes:
        parts: The texts.
        unavailable: Datasets of the catalogue whose texts are not available locally.
    """

    parts: tuple[Texts, ...]
    unavailable: tuple[str, ...] = ()

    def is_text(self, string: str) -> bool:
        """Returns whether a string is one of the texts (see `Texts.is_text`)."""
        return any(part.is_text(string) for part in self.parts)

    def quoted_in(self, public: str) -> bool:
        """Returns whether a document quotes one of the texts (see `Texts.quoted_in`)."""
        return any(part.quoted_in(public) for part in self.parts)


def load_known_texts() -> KnownTexts:
    """Loads the texts of all catalogue datasets that have local files; downloads nothing."""
    return _load_known_texts(os.environ.get("FCCONAN_MIRROR"), os.environ.get("FCCONAN_CACHE"))


def clear_known_texts() -> None:
    """Clears the cache of `load_known_texts`."""
    _load_known_texts.cache_clear()


@lru_cache(maxsize=2)
def _load_known_texts(mirror: str | None, cache: str | None) -> KnownTexts:  # arguments are the key of the cache
    texts: set[str] = set()
    missing = []
    for name in recipe_names():
        found = read_recipe_texts(name)
        if found is None:
            missing.append(name)
        else:
            texts |= found
    return KnownTexts((Texts(texts),), tuple(missing))


def read_recipe_texts(name: str) -> set[str] | None:
    """Returns the texts of a dataset, or None if its files are not available or differ from the recipe."""
    from fcconan.building import find_tier_rule, load_recipe, tables_of
    from fcconan.data import fetch, is_available

    recipe = load_recipe(name)
    present = {key: source for key, source in recipe.sources.items() if is_available(source, folder=recipe.folder)}
    if any(not source.optional for key, source in recipe.sources.items() if key not in present):
        return None
    try:
        files = {key: fetch(source, folder=recipe.folder) for key, source in present.items()}
        there = {key: path for key, path in files.items() if path}
        built = tables_of(recipe, there, find_tier_rule(recipe, None))
    except InputError:
        return None
    return {text for table in built.tables for text in table_texts(table)}
