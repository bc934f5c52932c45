"""The pages that are generated from the commands."""

import json
from pathlib import Path

import jsonschema
import pytest

from fcconan.errors import InputError
from fcconan.oldcli.reference import configuration_schema, reference

ROOT = Path(__file__).resolve().parents[2]


def test_the_option_reference_is_current() -> None:
    page = (ROOT / "docs" / "options.md").read_text(encoding="utf-8")
    assert page == reference(), "run `make schema`"


def test_the_schema_of_a_command_is_that_of_its_configuration() -> None:
    schema = json.loads(configuration_schema("publish"))
    jsonschema.Draft202012Validator.check_schema(schema)
    assert set(schema["properties"]) == {"dry_run", "tag", "private", "gated", "may_redistribute"}
    assert not jsonschema.Draft202012Validator(schema).is_valid({"gated": "sometimes"})
    with pytest.raises(InputError, match="found no command 'publsh'"):
        configuration_schema("publsh")
    with pytest.raises(InputError, match="fcconan list takes no configuration file"):
        configuration_schema("list")
