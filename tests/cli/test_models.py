"""The options of a connection are written down once, and every verb that is connected has them."""

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from fcconan.cli import models
from fcconan.cli.models import Connection, Nobody
from fcconan.errors import InputError
from fcconan.models.calls import Call, Sampling
from fcconan.models.endpoint import EndpointModel


@pytest.fixture
def given() -> list[tuple[str, Connection]]:
    return []


def run(given: list[tuple[str, Connection]], *arguments: str, without: tuple[str, ...] = ()) -> Any:
    small = typer.Typer()

    @small.command()
    @models.connected(without=without)
    def verb(
        name: Annotated[str, typer.Argument()],
        connection: Connection = Connection(timeout=7.0, concurrency=3),  # noqa: B008
        last: Annotated[bool, typer.Option("--last")] = False,
    ) -> None:
        """Notes what it is given."""
        given.append((f"{name} {last}", connection))

    return CliRunner().invoke(small, [*arguments])


def test_what_is_not_said_is_the_verbs_own_default(given: list[tuple[str, Connection]]) -> None:
    assert run(given, "one").exit_code == 0
    assert given == [("one False", Connection(timeout=7.0, concurrency=3))]


def test_what_is_said_is_in_the_connection(given: list[tuple[str, Connection]]) -> None:
    told = ["--base-url", "u", "--api-key-variable", "K", "--journal", "j", "--concurrency", "2"]
    told += [
        "--requests-per-minute",
        "5",
        "--timeout",
        "9",
        "--retries",
        "0",
        "--no-schema",
        "--field",
        "a=1",
        "--prices",
        "p",
    ]
    told += ["--max-cost", "1.5", "--dry-run", "--device", "cpu", "--batch-size", "4", "--fresh"]
    done = run(given, "one", *told, "--last")
    assert done.exit_code == 0, done.output
    expected = Connection("u", "K", Path("j"), 2, 5.0, 9.0, 0, False, ["a=1"], Path("p"), 1.5, True, "cpu", 4, True)
    assert given == [("one True", expected)]
    assert all(getattr(expected, each.name) != each.default for each in fields(Connection) if each.name != "run")


def test_an_option_that_a_verb_does_not_have_is_refused(given: list[tuple[str, Connection]]) -> None:
    assert run(given, "one", "--concurrency", "2", without=("concurrency",)).exit_code == 2
    assert run(given, "one", "--retries", "2", without=("concurrency",)).exit_code == 0
    assert given == [("one False", Connection(timeout=7.0, concurrency=3, retries=2))]


def test_nobody_answers() -> None:
    with pytest.raises(NotImplementedError):
        Nobody().replies([])


def test_fields_of_a_request_are_put_in_and_left_out(tmp_path: Path) -> None:
    told = ["temperature=", "seed=", "reasoning_effort=low", "top_k=3", 'stop=["x"]']
    connection = Connection(base_url="http://127.0.0.1:9/v1", journal=tmp_path / "j", further=told)
    model = connection.open("m")
    assert isinstance(model, EndpointModel)
    body = model.body(Call([{"role": "user", "content": "x"}], Sampling(temperature=0.0, max_tokens=5, seed=1)))
    assert body == {
        "model": "m",
        "max_tokens": 5,
        "reasoning_effort": "low",
        "top_k": 3,
        "stop": ["x"],
        "messages": [{"role": "user", "content": "x"}],
    }
    assert model.configuration["temperature"] is None


@pytest.mark.parametrize("given", ["temperature", "=1", "messages=1", "response_format="])
def test_what_is_no_field_is_refused(tmp_path: Path, given: str) -> None:
    with pytest.raises(InputError, match="give NAME=VALUE, each name once and none of model, messages"):
        Connection(base_url="http://127.0.0.1:9/v1", journal=tmp_path / "j", further=[given]).open("m")
