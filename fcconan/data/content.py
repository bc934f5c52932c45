"""The content of the package: recipes, tasks, suites and the card template, in a checkout and in a wheel."""

import difflib
from collections.abc import Collection, Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from fcconan.data.messages import one_line
from fcconan.errors import InputError


def read_yaml(path: Path, schema: Any = dict[str, Any], *, strict: bool | None = None) -> Any:
    """Reads a YAML file and checks it.

    Args:
        path: The file.
        schema: Type of the content, such as a model of pydantic; by default a mapping.
        strict: Whether a value must have its type, so that `yes` is not 1; default: that of the schema.

    Returns:
        The content, of this type.

    Raises:
        InputError: The file is not YAML, or a key or value of it is wrong.
    """
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        return TypeAdapter(schema).validate_python(data, strict=strict)
    except yaml.YAMLError as error:
        raise InputError(f"{path} is not YAML ({one_line(error)}): correct it") from error
    except ValidationError as error:
        first, *others = sorted(error.errors(), key=lambda each: each["type"] != "extra_forbidden")
        key = ".".join(map(str, first["loc"])) or "the file"
        wrong = "unknown key" if first["type"] == "extra_forbidden" else first["msg"].removeprefix("Value error, ")
        found = "" if isinstance(first["input"], dict) else f" (found {repr(first['input'])[:80]})"
        more = f", and {len(others)} more" if others else ""
        raise InputError(f"{path}, {key}: {wrong}{found}{more}") from error


def count_noun(number: int, noun: str) -> str:
    """Returns a number with a noun, such as `1 rater` and `2 raters`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Returns a question with the most similar known name and a space, or an empty string if none is similar."""
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return f"did you mean {near[0]!r}? " if near else ""


def content_folder() -> Path:
    """Returns the folder that holds `builders/`, `annotations/`, `benchmarks/` and `dataset_card.md`."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "catalog_data"
    return installed if installed.is_dir() else package.parent


# Files of the catalogue by kind of entry. Entries have the names of their files, tasks those of their folders.
_FILES = {
    "recipe": "builders/*.yaml",
    "task": "annotations/*/task.yaml",
}


def _entries(kind: str) -> dict[str, Path]:
    """Returns the files of one kind of the catalogue by name, sorted."""
    return {
        path.parent.name if kind == "task" else path.stem: path for path in sorted(content_folder().glob(_FILES[kind]))
    }


def recipe_names() -> list[str]:
    """Returns the names of the recipes in the catalogue, sorted."""
    return list(_entries("recipe"))


def task_names() -> list[str]:
    """Returns the names of the annotation tasks in the catalogue, sorted."""
    return list(_entries("task"))


def recipe_path(name: str) -> Path:
    """Returns the file of a recipe.

    Args:
        name: A recipe of the catalogue, or the path of a recipe file (it ends in `.yaml` or `.yml`).

    Raises:
        InputError: The recipe does not exist; the message suggests a similar name.
    """
    return catalogue_entry("recipe", name, _entries("recipe"))


def task_path(name: str) -> Path:
    """Returns the file of an annotation task.

    Args:
        name: A task of the catalogue, or the path of a task file (it ends in `.yaml` or `.yml`) or of a folder with a
            `task.yaml`. A name of the catalogue takes precedence over a folder of that name; write `./name` for the
            folder.

    Raises:
        InputError: The task does not exist; the message suggests a similar name.
    """
    is_folder = name not in task_names() and Path(name).is_dir()
    return catalogue_entry("task", str(Path(name) / "task.yaml") if is_folder else name, _entries("task"))


def in_language(path: Path, language: str) -> Path:
    """Returns the translation of a file, such as `task.fr.yaml` of `task.yaml`; the file itself if there is none."""
    translated = path.with_suffix(f".{language}{path.suffix}")
    return translated if translated.is_file() else path


def catalogue_entry(
    kind: str, name: str, known: Mapping[str, Path], suffixes: tuple[str, ...] = (".yaml", ".yml")
) -> Path:
    """Returns the file of an entry of the catalogue, or a file of the user's own.

    Args:
        kind: The kind of entry, for messages.
        name: The name of an entry, or the path of a file.
        known: The entries by name.
        suffixes: Suffixes of file names.

    Raises:
        InputError: The entry or file does not exist; the message suggests a similar entry.
    """
    if name.endswith(suffixes):
        if not Path(name).is_file():
            raise InputError(f"no {kind} file at {name}: give a {suffixes[0]} file, or one of {', '.join(known)}")
        return Path(name)
    if name not in known:
        hint = did_you_mean(name.lower(), known)
        raise InputError(f"unknown {kind} {name!r}: {hint}known are {', '.join(known)}, or a {suffixes[0]} file")
    return known[name]


def as_names(given: Any) -> tuple[Any, ...]:
    """Returns the names or paths of an option; a text or a path is one of them, not several letters."""
    return (given,) if isinstance(given, str | PathLike) else tuple(given)


def check_names(kind: str, names: Iterable[str], known: Collection[str]) -> tuple[str, ...]:
    """Checks that names are known, and returns each once.

    Args:
        kind: Kind of the names, for the message.
        names: Names to check.
        known: All known names.

    Raises:
        InputError: A name is unknown.
    """
    chosen = tuple(dict.fromkeys(as_names(names)))
    for name in chosen:
        if name not in known:
            raise InputError(
                f"unknown {kind} {name!r}: {did_you_mean(name, known)}known are {', '.join(known) or 'none'}"
            )
    return chosen
