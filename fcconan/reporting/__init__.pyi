from .tables import (
    DisplayTable as DisplayTable,
    format_counts as format_counts,
    format_number as format_number,
    format_row_interval as format_row_interval,
    format_value as format_value,
    make_table as make_table,
    number_columns as number_columns,
)
