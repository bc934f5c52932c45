"""Writes release folders (parquet files, card and manifest) atomically."""

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import fcconan
from fcconan.building.cards import render_card, restricted_columns, statistics
from fcconan.building.quotations import beginning, find_quotation, open_names
from fcconan.building.recipes import Recipe
from fcconan.building.tables import Built, group_values, table_texts
from fcconan.data import (
    CARD,
    FORMAT,
    MANIFEST,
    NORMALISATION_VERSION,
    file_sha256,
    new_folder,
    read_manifest,
)
from fcconan.errors import InputError


def write_release(
    out: Path,
    recipe: Recipe,
    built: Built,
    *,
    labels_only: bool,
    tier_rule: str | None,
    left_out: list[str],
) -> dict[str, Any]:
    """Writes a release folder under a temporary name and then replaces `out` with it.

    The same input gives the same bytes. After an error, `out` is unchanged.

    Args:
        out: The folder to write or replace.
        recipe: The recipe.
        built: The full tables.
        labels_only: Whether to write the tables without their text columns.
        tier_rule: Tier rule of the catalogue, for a dataset with tiers.
        left_out: A sentence for each missing optional file.

    Returns:
        The manifest.

    Raises:
        InputError: The folder cannot be written or has other files than those of a release, or the card of a
            labels-only release quotes a text.
    """
    check_target(out, recipe.name)
    written = built.labels_only() if labels_only else built
    manifest = release_manifest(
        recipe,
        written,
        labels_only=labels_only,
        tier_rule=tier_rule,
        facts=built.facts,
        statistics=statistics(built),
        restricted_columns=restricted_columns(built.tables),
        sources=_sources(recipe),
        excluded=sorted(recipe.excluded),
        left_out=left_out,
        notes=built.notes,
    )
    card = render_card(recipe, written, manifest)
    if labels_only and not recipe.redistributable:
        names = [name for table in written.tables for name in open_names(table.config, table.data)]
        public = f"{card}\n{json.dumps(manifest, ensure_ascii=False)}".replace("\\n", "\n")
        texts = (text for table in built.tables for text in table_texts(table))
        if (found := find_quotation([public, *names], texts)) is not None:
            raise InputError(
                f"the card, a name or a column of {recipe.name} quotes a text ({beginning(found)}), which labels-only "
                "folders leave out: change the recipe, or declare the column as `text`"
            )
    try:
        with new_folder(out) as stage:
            manifest = write_files(stage, written, card, manifest)
            check_target(out, recipe.name)  # again, because the folder may have changed
    except OSError as error:
        raise _cannot_write(out, error) from error
    return manifest


def release_manifest(
    recipe: Recipe, built: Built, *, labels_only: bool, tier_rule: str | None, **further: Any
) -> dict[str, Any]:
    """Returns the manifest of a release without its files.

    Args:
        recipe: The recipe.
        built: The tables of the folder.
        labels_only: Whether the folder has no texts.
        tier_rule: Tier rule of the catalogue, for a dataset with tiers.
        further: Further entries.
    """
    versions = config_versions(built)
    splits = group_values((table.config, (table.split, len(table))) for table in built.tables)
    return {
        "format": FORMAT,
        "name": recipe.name,
        "title": recipe.title,
        "kind": recipe.kind,
        "synthetic": recipe.synthetic,
        "labels_only": labels_only,
        "redistributable": recipe.redistributable,
        "tier_rule": tier_rule,
        "package": {"name": "fcconan", "version": fcconan.__version__, "pyarrow": pa.__version__},
        "normalisation": NORMALISATION_VERSION,
        "fingerprint": fingerprint(versions),
        "versions": versions,
        "aliases": built.aliases,
        "counts": {config: dict(sizes) for config, sizes in splits.items()},
        **further,
    }


def write_files(folder: Path, built: Built, card: str, manifest: dict[str, Any]) -> dict[str, Any]:
    """Writes tables, card and manifest to an empty folder.

    Args:
        folder: The folder.
        built: The tables.
        card: The text of the card.
        manifest: The manifest without its files.

    Returns:
        The manifest, with hash and size of each file.
    """
    for table in built.tables:
        path = folder / table_path(table.config, table.split)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(table_bytes(table.arrow()))
    (folder / CARD).write_text(card, encoding="utf-8")
    return write_manifest(folder, manifest)


def table_path(config: str, split: str) -> str:
    """Returns the path of a table within a release folder."""
    return f"{config}/{split}-00000-of-00001.parquet"


def table_bytes(table: pa.Table) -> bytes:
    """Returns the Parquet file of a table; the same rows give the same bytes with one version of pyarrow."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    content: bytes = sink.getvalue().to_pybytes()
    return content


def write_manifest(folder: Path, manifest: dict[str, Any]) -> dict[str, Any]:
    """Writes and returns the manifest of a folder, with hash and size of every file in it."""
    files = {
        path.relative_to(folder).as_posix(): {"sha256": file_sha256(path), "bytes": path.stat().st_size}
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    manifest = {**manifest, "files": files}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return manifest


def config_versions(built: Built) -> dict[str, str]:
    """Returns a version of each config that changes with its content.

    `datasets` caches loaded data and detects a rebuilt folder only by this version. A version must have three numbers;
    the last two are the first 64 bits of the sha256 of the content.
    """
    versions = {}
    for config, parts in group_values((table.config, table.content_hash()) for table in built.tables).items():
        content = hashlib.sha256("".join(parts).encode()).hexdigest()
        versions[config] = f"{FORMAT}.{int(content[:8], 16)}.{int(content[8:16], 16)}"
    return versions | {alias: versions[config] for alias, config in built.aliases.items()}


def fingerprint(versions: dict[str, str]) -> str:
    """Returns 12 hexadecimal digits that change with the content of any config."""
    return hashlib.sha256(json.dumps(versions, sort_keys=True).encode()).hexdigest()[:12]


def output_folder(out: Path | str) -> Path:
    """Returns the absolute path of an output folder, without `.` and `..`; symbolic links are not resolved.

    Raises:
        InputError: The path is empty, or is or contains the current folder.
    """
    if not str(out) or (isinstance(out, str) and not out.strip()):
        raise InputError("--out is empty: name the folder to write")
    folder = Path(os.path.abspath(out))  # noqa: PTH100 - Path.absolute keeps `..`
    real = Path(os.path.realpath(folder))  # `//` and links lead to the current folder, too
    if Path.cwd().is_relative_to(folder) or (not folder.is_symlink() and Path.cwd().is_relative_to(real)):
        raise InputError(f"{folder} is or holds the current folder, which cannot be replaced: choose a folder below it")
    return folder


def check_target(out: Path, name: str) -> None:
    """Checks that a release may be written to a path.

    Args:
        out: The path.
        name: Name of the dataset. The release of another dataset is not replaced.

    Raises:
        InputError: The path is a file, a folder with other files than those of a release of this dataset, or in a
            folder that cannot be written.
    """
    parent = next(folder for folder in out.absolute().parents if folder.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise InputError(f"{parent} cannot be written to: choose another --out, or change its permissions")
    files = set()
    if (out / MANIFEST).is_file():
        manifest = read_manifest(out)
        files = {*manifest["files"], MANIFEST}
        if manifest["name"] != name:
            raise InputError(
                f"{out} holds the dataset {manifest['name']!r}, not {name!r}: choose another --out, or remove it"
            )
    check_replaceable(out, MANIFEST, lambda path: path.as_posix() in files)


def check_replaceable(folder: Path, entry: str, is_ours: Callable[[Path], bool]) -> None:
    """Checks that a folder is new or empty, or has only an earlier output of the same command.

    Args:
        folder: The folder.
        entry: A file that every output of the command has.
        is_ours: Function that returns whether the command wrote a file, given its path within the folder.

    Raises:
        InputError: The path is not a folder, or the folder has files that would be lost.
    """
    if folder.is_symlink():
        raise InputError(f"{folder} is a symbolic link: give its target folder")
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is not a folder: choose another one, or move it away")
    present = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    if present and Path(entry) not in present:
        raise InputError(f"{folder} holds files but no {entry} (such as {present[0]}): choose an empty or new folder")
    foreign = next((path for path in present if not is_ours(path)), None)
    if foreign is not None:
        raise InputError(f"{folder} holds other files (such as {foreign}): move them away, or choose another folder")


def _sources(recipe: Recipe) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "repository": source.repository,
            "commit": source.commit,
            "path": None if source.path_names_people else source.path,
            "sha256": source.sha256,
        }
        for name, source in recipe.sources.items()
    ]


def _cannot_write(out: Path, error: OSError) -> InputError:
    reason = os.strerror(error.errno) if error.errno else str(error)
    return InputError(
        f"{out} cannot be written ({reason}): free space or change permissions, and build again; nothing was changed"
    )
