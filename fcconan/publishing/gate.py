"""Restricted texts: their confirmation, and the access to a repository that holds them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fcconan.building import find_quotation, load_recipe, open_names
from fcconan.data import CARD, MANIFEST, TEXT_COLUMNS, read_table, recipe_names
from fcconan.errors import InputError

GATES = ("auto", "manual")
ACCESS_OPTIONS = "--private or --gated manual"


def check_texts(folder: Path, manifest: Mapping[str, Any], *, may_redistribute: bool) -> dict[str, list[str]]:
    """Checks that restricted texts are confirmed, and that card and manifest, which are always public, quote none.

    Args:
        folder: Dataset folder.
        manifest: Its manifest.
        may_redistribute: Confirmation of the user.

    Returns:
        The columns that must not be redistributed, by config.

    Raises:
        InputError: The folder has restricted texts without confirmation, the card or the manifest quotes one, or a
            labels-only folder has a string without a closed form.
    """
    name = manifest["name"]
    if manifest["redistributable"] and (name not in recipe_names() or load_recipe(name).redistributable):
        return {}
    restricted, texts = dict[str, list[str]](), list[str]()
    for path in sorted(folder.glob("*/*.parquet")):
        config, table = path.parent.name, read_table(path).to_pydict()
        if manifest["labels_only"]:
            open_names(config, table)
            continue
        columns = [each for each in table if each in {*manifest["restricted_columns"].get(config, ()), *TEXT_COLUMNS}]
        if columns:
            restricted[config] = columns
        texts += [
            text
            for column in columns
            for value in table[column]
            for text in (value if isinstance(value, list) else [value])
            if text
        ]
    if restricted and not may_redistribute:
        advice = f"publish the output of `fcconan build {name if name in recipe_names() else 'RECIPE'} --labels-only`"
        if name not in recipe_names():
            advice += "; or, if everyone may have the texts, set `redistributable: true` in the recipe and build again"
        raise InputError(
            f"{name} contains text that must not be redistributed ({format_columns(restricted)}): {advice}; or, if you "
            f"have the right to redistribute it, give --may-redistribute and {ACCESS_OPTIONS}"
        )
    for file in (CARD, MANIFEST):
        public = (folder / file).read_text(encoding="utf-8")
        if find_quotation([public.replace("\\n", "\n")], texts) is not None:
            raise InputError(
                f"{file} quotes a restricted text, and is public even in a gated repository: remove the quotation from "
                "the recipe and build again"
            )
    return restricted


def format_columns(columns: Mapping[str, Sequence[str]]) -> str:
    """Returns columns as `config: column, column; config: ...`."""
    return "; ".join(f"{config}: {', '.join(names)}" for config, names in columns.items())


def gate_of(remote: Any) -> str | None:
    """Returns the gate of a repository; None without a gate or repository."""
    return remote.gated if remote is not None and remote.gated in GATES else None


def check_plan(repo_id: str, remote: Any, restricted: Mapping[str, Any], *, private: bool, gated: str | None) -> None:
    """Checks that a repository for restricted text is private or gated, or will be, and that no gate becomes weaker.

    Args:
        repo_id: `owner/name`.
        remote: The repository as the Hub describes it; None if it does not exist.
        restricted: Columns that must not be redistributed, by config.
        private: Whether the user asks for a private repository.
        gated: Gate that the user asks for.

    Raises:
        InputError: The repository is or would be public, or the gate would become weaker.
    """
    if gated == "auto" and gate_of(remote) == "manual":
        raise InputError(
            f"{repo_id} is gated with manual approval, which --gated auto would weaken: leave --gated out, or change "
            "it in the settings of the repository"
        )
    is_closed = remote is not None and (remote.private or gate_of(remote))
    if restricted and not (private or gated or is_closed):
        state = "would be public" if remote is None else "is public and not gated"
        raise InputError(
            f"{repo_id} {state}, and must not give public access to the texts of {', '.join(restricted)}: give "
            f"{ACCESS_OPTIONS}"
        )


def check_access(repo_id: str, remote: Any, restricted: Mapping[str, Any], *, private: bool, gated: str | None) -> None:
    """Checks that the Hub reports the requested access, before anything is uploaded.

    Args:
        repo_id: As in `check_plan`, like the other arguments.
        remote: The repository after the change.
        restricted: Columns that must not be redistributed, by config.
        private: Whether the user asks for a private repository.
        gated: Gate that the user asks for.

    Raises:
        InputError: The repository has another access.
    """
    needs = {
        "private": private and not remote.private,
        "gated": gated and not gate_of(remote),
        "private or gated": restricted and not (remote.private or gate_of(remote)),
    }
    if missing := next((name for name, lacks in needs.items() if lacks), None):
        raise InputError(
            f"{repo_id} must be {missing}, but is not according to the Hub: nothing was published; check its settings "
            "on the Hub"
        )
