from .benchmark_names import (
    label_notes as label_notes,
)
from .benchmark_reports import (
    check_report as check_report,
    write_report as write_report,
)
from .benchmark_tables import (
    answer_tables as answer_tables,
    terminal_tables as terminal_tables,
)
from .html_tables import (
    table_html as table_html,
)
from .page import (
    Page as Page,
    check_page as check_page,
    write_page as write_page,
)
from .plots import (
    curve_plot as curve_plot,
)
from .tables import (
    DisplayTable as DisplayTable,
    format_counts as format_counts,
    format_interval as format_interval,
    format_number as format_number,
    format_row_interval as format_row_interval,
    format_value as format_value,
    make_table as make_table,
    number_columns as number_columns,
)
