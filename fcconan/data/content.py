"""The content of the package: recipes, tasks, suites and the card template, in a checkout and in a wheel."""

import difflib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from fcconan.errors import InputError


def counted(number: int, what: str) -> str:
    """Returns a number with a noun, such as `1 rater` and `2 raters`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Returns a question with the nearest of the known names, and a space after it; nothing if none is near."""
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return f"did you mean {near[0]!r}? " if near else ""


def failed(requests: int) -> str:
    """Says how many requests failed in a way that may be over when they are sent again."""
    return f"{counted(requests, 'request')} failed for a passing reason"


def content_folder() -> Path:
    """Returns the folder that holds `builders/`, `annotations/`, `benchmarks/` and `dataset_card.md`."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "catalog_data"
    return installed if installed.is_dir() else package.parent


def recipe_names() -> list[str]:
    """Returns the names of the recipes in the catalogue, sorted."""
    return sorted(path.stem for path in (content_folder() / "builders").glob("*.yaml"))


def check_built(name: str) -> None:
    """Checks that what is named as a folder is not a dataset of the catalogue that nobody has built here.

    Raises:
        InputError: It is one.
    """
    if name in recipe_names() and not Path(name).exists():
        raise InputError(
            f"{name} is a dataset to be built first: run `fcconan build {name} --out data/{name}`, and give data/{name}"
        )


def recipe_path(name: str) -> Path:
    """Returns the file of a recipe.

    Args:
        name: A recipe of the catalogue, or the path of a recipe file of one's own (it ends in `.yaml` or `.yml`).

    Raises:
        InputError: There is no such recipe; the message names the nearest one.
    """
    if name.endswith((".yaml", ".yml")):
        path = Path(name)
        if not path.is_file():
            raise InputError(
                f"no recipe file at {path}: give a .yaml file, or one of the names that `fcconan list` prints"
            )
        return path
    if "/" in name or "." in name:
        raise InputError(
            f"{name} is no recipe: a recipe file ends in .yaml; `fcconan list` prints the names that need none"
        )
    names = recipe_names()
    if name not in names:
        hint = did_you_mean(name.lower(), names)
        raise InputError(f"unknown recipe {name!r}: {hint}known are {', '.join(names)}")
    return content_folder() / "builders" / f"{name}.yaml"


def task_names() -> list[str]:
    """Returns the names of the annotation tasks in the catalogue, sorted."""
    return sorted(path.parent.name for path in (content_folder() / "annotations").glob("*/task.yaml"))


def task_path(name: str) -> Path:
    """Returns the file of an annotation task.

    Args:
        name: A task of the catalogue, or the path of a task file of one's own (it ends in `.yaml` or `.yml`) or of the
            folder that holds a `task.yaml`. A name of the catalogue comes before a folder of that name; write
            `./name` for the folder.

    Raises:
        InputError: There is no such task; the message names the nearest one.
    """
    names = task_names()
    if name in names:
        return content_folder() / "annotations" / name / "task.yaml"
    path = Path(name)
    if name.endswith((".yaml", ".yml")):
        if not path.is_file():
            raise InputError(f"no task file at {path}: give a .yaml file, or one of {', '.join(names)}")
        return path
    if path.is_dir():
        if not (path / "task.yaml").is_file():
            raise InputError(f"the folder {path} holds no task.yaml: give a task file, or one of {', '.join(names)}")
        return path / "task.yaml"
    if "/" in name or "." in name:
        raise InputError(
            f"{name} is no task: a task file ends in .yaml and a task folder holds a task.yaml; known are "
            f"{', '.join(names)}"
        )
    hint = did_you_mean(name.lower(), names)
    raise InputError(f"unknown task {name!r}: {hint}known are {', '.join(names)}")


def tier_rule_names() -> list[str]:
    """Returns the names of the tier rules in the catalogue, sorted."""
    return sorted(path.stem for path in (content_folder() / "annotations" / "tier-rules").glob("*.yaml"))


def tier_rule_path(name: str) -> Path:
    """Returns the file of a tier rule.

    Args:
        name: A rule of the catalogue, or the path of a rule file of one's own (it ends in `.yaml` or `.yml`).

    Raises:
        InputError: There is no such rule; the message names the nearest one.
    """
    names = tier_rule_names()
    if name.endswith((".yaml", ".yml")):
        path = Path(name)
        if not path.is_file():
            raise InputError(f"no tier rule file at {path}: give a .yaml file, or one of {', '.join(names)}")
        return path
    if name not in names:
        hint = did_you_mean(name.lower(), names)
        raise InputError(f"unknown tier rule {name!r}: {hint}known are {', '.join(names)}, or a .yaml file")
    return content_folder() / "annotations" / "tier-rules" / f"{name}.yaml"


def card_template_path() -> Path:
    """Returns the Jinja template of every dataset card."""
    return content_folder() / "dataset_card.md"


@cache
def published_names() -> frozenset[str]:
    """Returns the names of all tables, rows and columns of the papers' figures in `benchmarks/published`."""
    import yaml

    found: set[str] = set()
    for path in sorted((content_folder() / "benchmarks" / "published").glob("*.yaml")):
        for table in yaml.safe_load(path.read_text(encoding="utf-8"))["tables"]:
            found |= {str(table["id"]), *map(str, table["columns"]), *map(str, table["rows"])}
    return frozenset(found)
