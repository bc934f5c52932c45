"""The explorer of a dataset folder: its figures, the matrix of its pairs, and every row with all that is known of it.

Ids and labels are always on the page. Texts are only where the folder has them and they are asked for, and then hidden
until somebody says that they want to see them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import fcconan
from fcconan.errors import InputError
from fcconan.reporting.explorer_data import Source, browsable, encode, read_release
from fcconan.reporting.explorer_matrix import Matrix, matrix_of
from fcconan.reporting.explorer_tables import all_tables
from fcconan.reporting.page import Page, markup, texts_gate, texts_notice, texts_warning
from fcconan.reporting.sections import Section, sections_page
from fcconan.reporting.tables import MISSING, Table

WITHOUT_SCRIPTS = 50  # rows of each table with their texts


def explorer_page(folder: Path, *, texts: bool = True) -> Page:
    """Returns the explorer of a dataset folder as a page.

    Args:
        folder: A folder that `fcconan build` or `fcconan hydrate` wrote, of any kind, with texts or labels only.
        texts: Whether the page may hold texts; without them it has ids and labels.

    Raises:
        InputError: The folder is no release, or one of its tables cannot be read.
    """
    release = read_release(folder)
    manifest = release.manifest
    shown, left_out = browsable(release.sources)
    with_texts = texts and any(source.texts for source in shown)
    matrix = matrix_of(release.sources)
    tables = all_tables(release)
    figures = [table for table in tables if not table.title.startswith("Rows by")]
    sections = [
        Section(
            "What is here", [*map(str, manifest.get("notes", ())), *_texts_notes(manifest, release.has_texts, texts)]
        )
    ]
    sections[0] = replace(sections[0], tables=tables[:1])
    if figures or matrix is not None:
        drawn = None if matrix is None else matrix.drawing
        sections.append(Section("Figures", tables=[*figures, *([] if matrix is None else [matrix.table])], more=drawn))
    rows = markup(
        "explorer.html.jinja",
        gate=texts_gate(texts_warning(manifest)) if with_texts else None,
        warning=texts_warning(manifest),
        tables=[(source.title, source.table.num_rows) for source in shown],
        written=[_written(source) for source in shown if source.texts] if with_texts else [],
        most=WITHOUT_SCRIPTS,
    )
    sections.append(Section("Rows", left_out, more=rows))
    page = sections_page(
        f"dataset-{manifest['name']}",
        f"Dataset: {manifest.get('title') or manifest['name']}",
        f"The dataset {manifest['name']}, kind {manifest.get('kind', 'unknown')}: {len(release.sources)} tables.",
        sections,
        signatures=[f"fcconan:{fcconan.__version__}|data:{manifest['name']}@{manifest.get('fingerprint', 'unknown')}"],
        headline=_headline(tables),
        notice=texts_notice(manifest) if with_texts else None,
    )
    data = {
        "tables": [encode(source, texts=texts) for source in shown],
        "rule": _rule(manifest),
        "matrix": _matrix_data(matrix, shown),
        "texts": with_texts,
    }
    return replace(page, data=data, scripts=("explorer.js",), styles=("explorer.css",))


def _headline(tables: Sequence[Table]) -> Table:
    """Returns the table that says most in few lines."""
    rows = tables[0]._replace(columns=tables[0].columns[:3], rows=[row[:3] for row in tables[0].rows])
    return next((table for table in tables if table.title.startswith("How sparse")), rows)


def _texts_notes(manifest: Mapping[str, Any], has_texts: bool, texts: bool) -> list[str]:
    if manifest.get("labels_only") or not has_texts:
        return [
            "This folder holds ids and labels, no texts. `fcconan hydrate LABELS --out FULL` brings the texts back "
            "from the upstream files; a report of that folder shows them."
        ]
    return [] if texts else ["Texts are left out of this page: it holds ids and labels."]


def _rule(manifest: Mapping[str, Any]) -> list[dict[str, str]]:
    """Returns what every tier asks for, the best first; nothing where the rule is not one of the catalogue."""
    from fcconan.building import TIER_RULES

    name = manifest.get("tier_rule")
    try:
        rule = TIER_RULES[name] if name else None
    except (KeyError, InputError):
        return []
    return [] if rule is None else [{"tier": tier.name, "asks": tier.in_words()} for tier in rule.complete]


def _matrix_data(matrix: Matrix | None, shown: Sequence[Source]) -> dict[str, Any] | None:
    if matrix is None:
        return None
    places = [place for place, one in enumerate(shown) if (one.config, one.split) == (matrix.config, matrix.split)]
    if not places:
        return None
    return {"table": places[0], "hs": list(matrix.hs_ids), "cn": list(matrix.cn_ids), "tiers": list(matrix.tiers)}


def _written(source: Source) -> tuple[str, int, list[str], list[list[str]]]:
    """Returns the first rows of a table with their texts, for readers without scripts."""
    ids = [name for name in ("pair_id", "reply_id", "_id", "item_id") if name in source.table.column_names][:1]
    names = [*ids, *(name for name in source.table.column_names if name in source.texts and source.has(name))]
    rows = source.table.select(names).slice(0, WITHOUT_SCRIPTS).to_pylist()
    cells = [[_said(row[name]) for name in names] for row in rows]
    return source.title, source.table.num_rows, names, cells


def _said(value: Any) -> str:
    if value is None:
        return MISSING
    return " / ".join(map(str, value)) if isinstance(value, list) else str(value)
