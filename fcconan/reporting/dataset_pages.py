"""The page of a dataset folder: its counts, the matrix of its pairs, and its rows.

Ids and labels are always on the page. Texts are included if the folder has them and `texts` is true; they are hidden
until the reader shows them.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import fcconan
from fcconan.data import read_manifest
from fcconan.errors import InputError
from fcconan.reporting.dataset_counts import all_tables
from fcconan.reporting.dataset_folders import Source, browsable, read_sources
from fcconan.reporting.dataset_matrix import matrix_of
from fcconan.reporting.html_tables import View
from fcconan.reporting.page import Page, Section, texts_gate, texts_notice
from fcconan.reporting.tables import MISSING, Columns, DisplayTable, make_table

DIGITS = 4  # of a number with a fraction: more are not read
MOST_VALUES, MOST_FILTERS = 40, 6  # a column of fewer values can filter the rows


def dataset_page(folder: Path, *, texts: bool = True) -> Page:
    """Returns a dataset folder as a page.

    Args:
        folder: A folder that `fcconan build` or `fcconan hydrate` wrote, of any kind, with texts or labels only.
        texts: Whether the page may hold texts; without them it has ids and labels.

    Raises:
        InputError: The folder is not a release, or one of its tables cannot be read.
    """
    manifest, sources = read_manifest(folder), read_sources(folder)
    shown, left_out = browsable(sources)
    with_texts = texts and any(source.texts for source in shown)
    drawing, by_hs = matrix_of(sources) or (None, None)
    figures = all_tables(sources)
    headline = _headline(figures)
    figures.sort(key=lambda table: not table.title.startswith("How sparse"))
    sections = [
        Section(
            "Counts",
            [*map(str, manifest.get("notes", ())), *_texts_notes(manifest, sources, texts)],
            [*figures, *([] if by_hs is None else [by_hs])],
            more=drawing,
        ),
        Section(
            "Rows",
            left_out,
            [rows_table(source, texts=texts) for source in shown],
            more=texts_gate(manifest) if with_texts else None,
            folded=True,
        ),
        *_rule(manifest),
    ]
    return Page(
        f"Dataset: {manifest.get('title') or manifest['name']}",
        f"The dataset {manifest['name']}, kind {manifest.get('kind', 'unknown')}: {len(sources)} tables.",
        sections,
        signatures=[f"fcconan:{fcconan.__version__}|data:{manifest['name']}@{manifest.get('fingerprint', 'unknown')}"],
        notice=texts_notice(manifest) if with_texts else None,
        finding=_finding(headline),
    )


def rows_table(source: Source, *, texts: bool) -> View:
    """Returns the rows of a table as a page shows them; columns without any value are left out.

    Args:
        source: The table.
        texts: Whether columns of text are in it.
    """
    names = [name for name in source.table.column_names if source.has(name) and (texts or name not in source.texts)]
    ids = [name for name in ("pair_id", "reply_id", "_id", "query-id", "item_id") if name in names]
    names.sort(key=lambda name: (name not in ids[:1], name not in source.texts))  # texts next to the id
    columns = {name: [_said(value) for value in source.values(name)] for name in names}
    few = [
        name
        for name in names[1:]
        if name not in source.texts
        and not name.endswith(("_id", "-id", "_index"))
        and 1 < len(set(columns[name])) <= MOST_VALUES
    ]
    return View(
        DisplayTable(source.title, names, [list(row) for row in zip(*columns.values(), strict=True)]),
        filters=tuple(few[:MOST_FILTERS]),
        texts=tuple(name for name in names if name in source.texts),
    )


def _said(value: Any) -> str:
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{round(value, DIGITS):g}"
    return " / ".join(map(_said, value)) if isinstance(value, list) else str(value)


def _headline(tables: Sequence[DisplayTable]) -> DisplayTable:
    """Returns the most informative short table."""
    return next((table for table in tables if table.title.startswith("How sparse")), tables[0].first_columns(3))


def _finding(headline: DisplayTable) -> str:
    """Returns a sentence about the judged share of the matrix in the broadest tier; empty without tiers."""
    if not headline.title.startswith("How sparse"):
        return ""
    tier, pairs, share, good, share_good, *_ = headline.rows[-1]
    matrix = headline.title.partition(": ")[2]
    return f"{pairs} pairs in {tier}, {share} of the matrix of {matrix}; {good} of them ({share_good}) are appropriate."


def _texts_notes(manifest: Mapping[str, Any], sources: Sequence[Source], texts: bool) -> list[str]:
    if manifest.get("labels_only") or not any(source.texts for source in sources):
        return [
            "This folder holds ids and labels, no texts. `fcconan hydrate LABELS --out FULL` restores the texts from "
            "the upstream files."
        ]
    return [] if texts else ["This page holds ids and labels, no texts."]


def _rule(manifest: Mapping[str, Any]) -> list[Section]:
    """Returns the conditions of each tier, the best first; nothing if the rule is not one of the catalogue."""
    from fcconan.building import TIER_RULES

    name = manifest.get("tier_rule") or ""
    try:
        tiers = TIER_RULES[name].complete
    except (KeyError, InputError):
        return []
    columns: Columns = {"tier": lambda tier: tier.name, "condition": lambda tier: tier.in_words()}
    return [Section("Tiers", tables=[make_table(f"Conditions of the tiers, rule {name}", tiers, columns)])]
