"""Writes release folders (parquet files, card and manifest) atomically."""

import hashlib
import json
from dataclasses import replace
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
    short_hash,
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
        InputError: The folder has other files than those of a release, or the card of a labels-only release quotes a
            text.
    """
    if out.is_dir() and any(out.iterdir()) and not (out / MANIFEST).is_file():
        raise InputError(f"{out} has files but no {MANIFEST}, expected a new folder or a dataset: choose another --out")
    built = replace(built, tables=[table for table in built.tables if len(table)])  # `datasets` reads no empty file
    written = built.labels_only() if labels_only else built
    versions = config_versions(written)
    manifest = {
        "format": FORMAT,
        **{name: getattr(recipe, name) for name in ("name", "title", "kind", "synthetic", "redistributable")},
        "labels_only": labels_only,
        "tier_rule": tier_rule,
        "package": {"name": "fcconan", "version": fcconan.__version__, "pyarrow": pa.__version__},
        "normalisation": NORMALISATION_VERSION,
        "fingerprint": short_hash(json.dumps(versions, sort_keys=True)),
        "versions": versions,
        "aliases": built.aliases,
        "counts": {
            config: dict(sizes)
            for config, sizes in group_values((each.config, (each.split, len(each))) for each in built.tables).items()
        },
        "facts": built.facts,
        "statistics": statistics(built),
        "restricted_columns": restricted_columns(built.tables),
        "sources": [
            {
                "name": name,
                "repository": source.repository,
                "commit": source.commit,
                "path": None if source.path_names_people else source.path,
                "sha256": source.sha256,
            }
            for name, source in recipe.sources.items()
        ],
        "excluded": sorted(recipe.excluded),
        "left_out": left_out,
        "notes": built.notes,
    }
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
    with new_folder(out) as stage:
        for table in written.tables:
            path = stage / table_path(table.config, table.split)
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(table_bytes(table.arrow()))
        (stage / CARD).write_text(card, encoding="utf-8")
        manifest["files"] = {
            path.relative_to(stage).as_posix(): {"sha256": file_sha256(path), "bytes": path.stat().st_size}
            for path in sorted(stage.rglob("*"))
            if path.is_file()
        }
        (stage / MANIFEST).write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return manifest


def table_path(config: str, split: str) -> str:
    """Returns the path of a table within a release folder."""
    return f"{config}/{split}-00000-of-00001.parquet"


def table_bytes(table: pa.Table) -> bytes:
    """Returns the Parquet file of a table; the same rows give the same bytes with one version of pyarrow."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    content: bytes = sink.getvalue().to_pybytes()
    return content


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
