"""The tables of a recipe whose sources are files in one folder, and the message where there are none."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from fcconan.building import Recipe, tables_of
from fcconan.errors import InputError


def build_in(folder: Path, data: Mapping[str, Any]) -> Any:
    recipe = Recipe.model_validate(data)
    return tables_of(recipe, {name: folder / source.path for name, source in recipe.sources.items()}, None)


def failure(build: Callable[..., Any], *given: Any) -> str:
    with pytest.raises(InputError) as caught:
        build(*given)
    return str(caught.value)
