"""The catalogue and YAML files: one line for each mistake, with file, key and value."""

from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict, Field

from fcconan.data import catalogue_entry, check_names, read_yaml, recipe_path, task_path
from fcconan.errors import InputError


class Aspect(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str
    high: int = Field(5, ge=1)


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid")
    title: str
    aspects: list[Aspect] = []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("title: T\naspects: [{name: kind, hihg: 3}]", "aspects.0.hihg: unknown key (found 3)"),
        ("titel: T", "titel: unknown key (found 'T'), and 1 more"),
        ("aspects: []", "title: Field required"),
        ("title: 5", "title: Input should be a valid string (found 5)"),
        ("title: T\naspects: kind", "aspects: Input should be a valid list (found 'kind')"),
        ("title: T\naspects: [{name: kind, high: 0}]", "aspects.0.high: Input should be greater than or equal to 1"),
        ("title: T\naspects: [{name: kind, high: yes}]", "aspects.0.high: Input should be a valid integer"),
        ("- title", "the file: Input should be a valid dictionary or instance of Settings (found ['title'])"),
        ("", "the file: Input should be a valid dictionary"),
    ],
)
def test_a_wrong_key_or_value_is_named(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_yaml(path, Settings, strict=True)
    assert str(caught.value).startswith(f"{path}, {message}")


@pytest.mark.parametrize("content", ["title: [T", "title: T\n\tmore: 1", "title: *lost", "a: 1\n---\na: 2"])
def test_a_file_that_is_not_yaml_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=r"own\.yaml is not YAML \(.*line \d.*\): correct it$"):
        read_yaml(path)


def test_a_valid_file_has_the_type_that_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text("title: &t Tiny\naspects: [{name: *t}]\n", encoding="utf-8")
    assert read_yaml(path, Settings) == Settings(title="Tiny", aspects=[Aspect(name="Tiny")])
    assert read_yaml(path)["aspects"] == [{"name": "Tiny"}]


def test_unknown_names_are_refused_with_the_nearest_one() -> None:
    with pytest.raises(InputError, match="unknown recipe 'fc-conam': did you mean 'fc-conan'"):
        recipe_path("fc-conam")
    with pytest.raises(InputError, match=r"no task file at none\.yaml: give a \.yaml file, or one of"):
        task_path("none.yaml")
    with pytest.raises(InputError, match=r"unknown preset 'x': known are a, or a \.yaml file"):
        catalogue_entry("preset", "x", {"a": Path()})
    with pytest.raises(InputError, match=r"unknown rater 'ana': did you mean 'anna'\?"):
        check_names("rater", ["anna", "ana"], ["anna", "ben"])
    assert check_names("rater", ["ben", "anna", "ben"], ["anna", "ben"]) == ("ben", "anna")


def test_a_task_may_be_a_name_a_file_or_a_folder(tmp_path: Path) -> None:
    (tmp_path / "task.yaml").write_text("name: own", encoding="utf-8")
    assert task_path(str(tmp_path)) == task_path(str(tmp_path / "task.yaml")) == tmp_path / "task.yaml"
    assert task_path("cseval").parts[-2:] == ("cseval", "task.yaml")
