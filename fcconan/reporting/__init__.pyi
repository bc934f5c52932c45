from .tables import (
    DisplayTable as DisplayTable,
    format_number as format_number,
    format_value as format_value,
    make_table as make_table,
    number_columns as number_columns,
)
