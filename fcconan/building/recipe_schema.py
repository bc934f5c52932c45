"""Prints the JSON Schema of recipes, for editors: `python -m fcconan.building.recipe_schema`."""

import json

from fcconan.building.recipes import Recipe


def recipe_schema() -> str:
    """Returns the JSON Schema of a recipe file as text."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Recipe.model_json_schema()}
    return json.dumps(schema, indent=2) + "\n"


if __name__ == "__main__":
    print(recipe_schema(), end="")
