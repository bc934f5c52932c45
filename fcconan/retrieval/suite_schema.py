"""Prints the JSON Schema of suites of retrieval systems, for editors: `python -m fcconan.retrieval.suite_schema`."""

import json

from fcconan.retrieval.suites import Suite


def suite_schema() -> str:
    """Returns the JSON Schema of a suite file as text."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Suite.model_json_schema()}
    return json.dumps(schema, indent=2) + "\n"


if __name__ == "__main__":
    print(suite_schema(), end="")
