"""Tables of columns for dataset cards."""

from collections.abc import Sequence

from fcconan.building.tables import Table, group_values
from fcconan.data import DTYPES, LIST_TYPES, RESTRICTED_TYPES, describe_column

# The config that `load_dataset` loads without a name: the first of these that a dataset has, else its first one.
_DEFAULTS = ("gold", "silver", "bronze", "comparisons", "ratings", "replies", "pairs")
_UNKNOWN = "further column of the source file"


def default_table(tables: Sequence[Table]) -> Table:
    """Returns the first split of the config that `load_dataset` loads if no config is named."""
    first = {table.config: table for table in reversed(tables)}
    return next((first[config] for config in _DEFAULTS if config in first), tables[0])


def type_name(kind: str) -> str:
    """Returns the type of a column as cards show it, such as `string` or `list of strings`."""
    name = "text" if kind in RESTRICTED_TYPES else DTYPES[kind]
    return f"list of {name}s" if kind in LIST_TYPES else name


def columns_in_markdown(tables: Sequence[Table]) -> str:
    """Returns a table of columns for each group of configs with the same columns.

    Args:
        tables: All tables of a dataset. A column without any value in a group is marked as empty.
    """
    by_config = group_values((table.config, table) for table in tables)
    groups = group_values(
        (tuple(_column_rows(config, parts)), config) for config, parts in by_config.items() if any(map(len, parts))
    )
    return "\n\n".join(
        "\n".join([f"{', '.join(f'`{config}`' for config in configs)}:", "", *table_lines(rows)])
        for rows, configs in groups.items()
    )


def table_lines(rows: Sequence[tuple[str, str, str]]) -> list[str]:
    """Returns the lines of a Markdown table of columns, given name, type and meaning of each."""
    return ["| column | type | meaning |", "|---|---|---|", *(f"| `{a}` | {b} | {c} |" for a, b, c in rows)]


def _column_rows(config: str, parts: Sequence[Table]) -> list[tuple[str, str, str]]:
    rows = []
    for name, kind in parts[0].columns.items():
        meaning = describe_column(config, name) or _UNKNOWN
        if all(value is None or value == [] for part in parts for value in part.data[name]):
            meaning = f"empty in this config ({meaning.partition(';')[0].partition(':')[0]})"
        rows.append((name, type_name(kind), meaning))
    return rows
